//! Counts a recording while it is written.

use crate::base::cost::Amount;
use crate::count::builder::ProfileBuilder;
use crate::count::checkpoint::Saving;
use crate::count::profile::Profile;
use crate::timeline::buckets::Timeline;
use capture::{
    BlockNumber, Event, Metadata, Observer, Process, ProcessId, Sampling, Tables, Thread, ThreadId,
};
use serde::{Deserialize, Serialize};

/// Version of the stored results and states: increase it when any of the structures in them changes.
pub const VERSION: u32 = 2;

/// Steps of the stored timeline.
pub const STEPS: usize = 2048;

/// What a capture has of its events, so that views of the whole need no pass over them.
#[derive(Debug, Serialize, Deserialize)]
pub struct Results {
    /// The numbers of the whole.
    pub profile: Profile,
    /// The heap over the whole time.
    pub timeline: Timeline,
}

impl Results {
    /// True when they can belong to a capture with these tables: every id is in range.
    pub fn fit(&self, tables: &Tables) -> bool {
        self.profile.fits(tables) && self.timeline.is_sound(STEPS)
    }
}

/// The pass over the events of a recording, while these are written.
#[derive(Clone)]
pub struct Counting {
    builder: ProfileBuilder<'static, Timeline>,
    /// Totals are counted as fast as results are read.
    is_aggregated: bool,
}

impl Counting {
    /// For a recording that begins.
    pub fn new(metadata: &Metadata) -> Self {
        let timeline = Timeline::new(STEPS, Sampling::new(metadata.sample_interval));
        let mut builder = ProfileBuilder::of_recording(metadata, timeline);
        builder.make_room();
        Self { builder, is_aggregated: metadata.aggregate().is_some() }
    }

    /// What all processes together hold now.
    pub fn held(&self) -> Amount {
        self.builder.held()
    }

    /// What running processes hold and have allocated now: see [`ProfileBuilder::so_far`].
    pub fn so_far(&self) -> Profile {
        self.builder.so_far()
    }
}

impl Observer for Counting {
    const VERSION: u32 = VERSION;
    type Results = Results;
    type State<'s> = Saving<'s>;

    fn process(&mut self, id: ProcessId, row: &Process) {
        self.builder.set_process(id, row);
    }

    fn thread(&mut self, id: ThreadId, row: &Thread) {
        self.builder.set_thread(id, row);
    }

    fn stacks(&mut self, count: usize) {
        self.builder.set_nodes(count);
    }

    #[inline]
    fn look_ahead(&self, events: &[Event]) {
        self.builder.look_ahead(events);
    }

    #[inline]
    fn event(&mut self, event: &Event) -> Option<BlockNumber> {
        self.builder.event(event)
    }

    fn weight(&self) -> Option<u64> {
        (!self.is_aggregated).then(|| self.builder.weight())
    }

    fn state(&self) -> Saving<'_> {
        self.builder.saving()
    }

    fn results(&mut self, duration: u64) -> Option<Results> {
        if self.is_aggregated {
            return None;
        }
        let empty = ProfileBuilder::of_recording(&Metadata::default(), Timeline::new(0, None));
        let (profile, timeline) = std::mem::replace(&mut self.builder, empty).finish_watched();
        let end = profile.last_time.max(duration);
        Some(Results { profile, timeline: timeline.ended(end) })
    }
}
