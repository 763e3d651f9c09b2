//! The images of a recording, as the drain thread visits them.
//!
//! A round visits all images, unless there are more than the kernel lets the thread wait for: then some are left out.
//!
//! ```text
//!   busy   new, read from lately, or about to end         every round: copied out of their rings
//!   idle   nothing to read at the last whole round        whole rounds, which merge what was copied
//! ```
//!
//! So what short processes cost does not depend on how many others sleep. Only a whole round has seen all rings since
//! its watermark, so others merge nothing; they come between two whole rounds, which are due as often as idle images
//! have to be polled.

use super::image_drain::ImageDrain;
use crate::image::ImageId;
use crate::image::wakeup::MOST;
use std::collections::BTreeMap;

/// The images.
#[derive(Debug, Default)]
pub(crate) struct ReadySet {
    busy: Vec<ImageDrain>,
    idle: BTreeMap<ImageId, ImageDrain>,
}

impl ReadySet {
    /// Adds an image, which is busy at first.
    pub(crate) fn add(&mut self, image: ImageDrain) {
        self.busy.push(image);
    }

    /// Something has happened to this image: it is busy.
    pub(crate) fn wake(&mut self, image: ImageId) {
        self.busy.extend(self.idle.remove(&image));
    }

    /// True when there are too many to visit them all in each round.
    pub(crate) fn is_too_large(&self) -> bool {
        self.busy.len() + self.idle.len() >= MOST
    }

    /// The busy images, which came last first.
    pub(crate) fn busy(&self) -> impl Iterator<Item = &ImageDrain> + Clone {
        self.busy.iter().rev()
    }

    /// All images.
    pub(crate) fn all(&self) -> impl Iterator<Item = &ImageDrain> {
        self.busy.iter().chain(self.idle.values())
    }

    /// Those that a round visits: the busy ones and, in a whole round, the others, too; and whether it is busy.
    pub(crate) fn visit(&mut self, is_whole: bool) -> impl Iterator<Item = (&mut ImageDrain, bool)> {
        let busy = self.busy.iter_mut().map(|image| (image, true));
        let idle = is_whole.then(|| self.idle.values_mut().map(|image| (image, false)));
        busy.chain(idle.into_iter().flatten())
    }

    /// After a whole round: parts those that have nothing to read from the others.
    pub(crate) fn part(&mut self) {
        let is_too_large = self.is_too_large();
        let again = self.idle.extract_if(.., |_, image| !is_too_large || !image.is_idle());
        let again: Vec<ImageDrain> = again.map(|(_, image)| image).collect();
        if is_too_large {
            let idle = self.busy.extract_if(.., |image| image.is_idle());
            self.idle.extend(idle.map(|image| (image.image.id, image)));
        }
        self.busy.extend(again);
    }

    /// Keeps the images for which this returns true; only busy ones may be left out.
    pub(crate) fn retain(&mut self, keeps: impl FnMut(&ImageDrain) -> bool) {
        self.busy.retain(keeps);
    }

    /// The recording ends: all are busy.
    pub(crate) fn wake_all(&mut self) {
        self.busy.extend(std::mem::take(&mut self.idle).into_values());
    }
}
