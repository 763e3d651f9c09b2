//! What a thread knows of its interpreter's version.

use crate::process;
use core::sync::atomic::Ordering;

/// That, with the layout of a version whose frames are read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Version<Layout> {
    /// Nobody has looked, or the interpreter has not got so far as to say.
    Unknown,
    /// Its frames cannot be read.
    Refused,
    /// The same, and the recording has been told.
    Told,
    Known(Layout),
}

impl<Layout: Copy> Version<Layout> {
    /// That of a layout, if there is one.
    pub(crate) fn of(layout: Option<Layout>) -> Self {
        layout.map_or(Self::Refused, Self::Known)
    }

    /// The layout; `None` while it is not known.
    #[inline(always)]
    pub(crate) fn known(&self) -> Option<&Layout> {
        if let Self::Known(layout) = self { Some(layout) } else { None }
    }

    /// The layout, for which `look` looks until it is known whether there is one. That there is none is told to the
    /// recording.
    #[inline(always)]
    pub(crate) fn layout(&mut self, look: impl FnOnce() -> Self) -> Option<Layout> {
        if let Self::Unknown = self {
            *self = look();
        }
        match self {
            Self::Known(layout) => Some(*layout),
            Self::Unknown | Self::Told => None,
            Self::Refused => {
                *self = Self::Told;
                tell();
                None
            }
        }
    }
}

/// Tells the recording that the frames of an interpreter cannot be read.
#[cold]
fn tell() {
    if let Some(slot) = process::slot() {
        // Relaxed: a flag that is looked at when the process has ended.
        slot.unread_scripts.fetch_or(shared_ring::process_slot::UNKNOWN_INTERPRETER, Ordering::Relaxed);
    }
}
