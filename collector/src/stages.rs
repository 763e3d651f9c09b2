//! The stages of a recording one by one, over rings filled without an agent, for the benchmark. Not part of the
//! interface.

use crate::base::clock::Clock;
use crate::drain::batch::Batch;
use crate::drain::image_drain::{Counts, ImageDrain, Sweep};
use crate::drain::merge::Merger;
use crate::drain::message::{Lifecycle, Message};
use crate::image::liveness::Liveness;
use crate::image::memory::{Memory, Policy};
use crate::image::watcher::Watcher;
use crate::image::{Image, ImageId};
use crate::proc::process::Info;
use crate::tables::processes::Rules;
use crate::writer::pipeline::Pipeline;
use shared_ring::Geometry;
use shared_ring::record::{Record, encode};
use shared_ring::ring::Producer;
use std::path::Path;
use std::sync::Arc;

/// A recording whose threads are simulated by the caller.
pub struct Stages {
    image: Arc<Image>,
    drained: ImageDrain,
    merger: Merger,
    /// Merged but not written; spare ones are empty.
    batches: Vec<Batch>,
    spares: Vec<Batch>,
    pipeline: Pipeline,
    counts: Counts,
    watcher: Watcher,
    clock: Clock,
    producers: Vec<(Producer<'static>, u64)>,
}

impl Stages {
    /// A recording of this many threads, written to `capture`.
    ///
    /// # Panics
    /// When the system refuses memory, threads or the file.
    pub fn new(threads: u32, capture: &Path) -> Stages {
        let liveness = Arc::new(Liveness::start().expect("a thread starts"));
        let policy = Policy::default();
        let memory = Memory::new(Geometry::default(), policy, liveness.keeper().expect("it has started"))
            .expect("there is memory");
        let info = Info { pid: std::process::id(), ..Info::default() };
        let image = Image::new(ImageId(0), memory, info, Arc::default(), liveness, Arc::default());
        let clock = Clock::start();
        let writer = crate::base::capture_writer::create(capture).expect("a file is made");
        let mut batch = Batch::default();
        batch.note(Message { time: 0, image: image.id, event: Lifecycle::Image(image.clone()) });
        let (watcher, _) = Watcher::start(clock).expect("a thread starts");
        let segment = image.memory.segment();
        segment.slots()[0].claim(std::process::id(), None);
        let now = clock.now();
        let producers = (0..threads as usize).map(|ring| {
            let (head, tail) = (&segment.directory()[ring].front.head, image.memory.control().tail(ring));
            (Producer::new(segment.ring(ring), head, tail), now)
        });
        let mut stages = Stages {
            producers: producers.collect(),
            drained: ImageDrain::new(image.clone()),
            merger: Merger::default(),
            batches: vec![batch],
            spares: Vec::new(),
            pipeline: Pipeline::new(writer, clock, Rules::default()),
            counts: Counts::default(),
            watcher,
            clock,
            image,
        };
        stages
            .image
            .memory
            .segment()
            .header()
            .rings_used
            .store(threads, std::sync::atomic::Ordering::Release);
        for thread in 0..threads {
            let owner = Record::Owner { slot: 0, tid: 1 + thread, time: now };
            assert!(stages.produce(thread, owner, 0), "the ring is empty");
        }
        stages.check();
        stages.merge();
        stages.write();
        stages
    }

    /// A thread writes a record, `delta` shifted ticks after its last; false when its ring is full.
    pub fn produce(&mut self, thread: u32, record: Record, delta: u64) -> bool {
        let Some((producer, time)) = self.producers.get_mut(thread as usize) else { return false };
        let (words, length) = encode(record, delta);
        let Some(mut room) = producer.reserve(length, 0) else { return false };
        words.iter().take(length).for_each(|word| room.push(*word));
        *time += delta;
        true
    }

    /// First stage: copies everything from the rings, frees the space, and checks it. Returns the number of words.
    pub fn check(&mut self) -> usize {
        let Stages { drained, merger, counts, watcher, clock, .. } = self;
        drained.sweep(&mut Sweep { turn: usize::MAX, merger, counts, watcher, clock, has_met: false })
    }

    /// Second stage: merges it into batches.
    pub fn merge(&mut self) {
        loop {
            let mut batch = self.spares.pop().unwrap_or_default();
            let is_more = self.merger.merge(u64::MAX, &mut batch);
            self.batches.push(batch);
            if !is_more {
                break;
            }
        }
        self.merger.compact(usize::MAX);
    }

    /// Third stage: translates, makes columns, compresses, writes.
    pub fn write(&mut self) {
        for mut batch in self.batches.drain(..) {
            self.pipeline.take(&mut batch).expect("the file takes it");
            self.spares.push(batch);
        }
    }
}
