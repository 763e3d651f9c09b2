//! The thread that reads the rings and interprets samples.
//!
//! ```text
//!  a round:  sleep until a ring is a quarter full, or half a second
//!            pair of clocks ─► rings copied, their room given back ─► sorted by time
//!            all that is old enough: processes, mappings, samples ─► batch ─► writer
//! ```
//!
//! While the writer has no room for another batch, rings of samples are left alone and the kernel counts what it
//! loses. Rings of process records are still read: these records are few, and all others depend on them.

use super::Plan;
use super::batch::{Batch, Samples};
use super::event::{Channel, Events, Followed};
use super::huge;
use super::order::{HOLD, Order, Reader};
use super::record::{self, Layout, Payload};
use super::refusal::{FAULTS, PROCESSORS, Refusal, without_kernel};
use super::ring::EventTotals;
use super::sampled::Sampled;
use super::state::State;
use super::time::Times;
use super::unsampled::{self, SampledWork};
use crate::base::alarm::Alarm;
use crate::base::clock::{Clock, thread_cpu_ns};
use crate::base::cpu_options::{CpuOptions, Scope};
use crate::base::log::debug;
use crate::proc::subjects::Subjects;
use capture::{CpuSummary, FaultSummary};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Longest time between two reads of the rings; full ones wake us earlier.
const ROUND: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };
/// Longest time between two reads of the rings while `/proc` is read or stacks are unwound.
const LOOK: Duration = Duration::from_millis(10);
/// Batches that wait for the writer, which may fetch them only once a second.
const QUEUE: usize = 64;
/// Shortest time between two batches: busy rings wake us a hundred times a second, each time for a few samples.
const REST: Duration = Duration::from_millis(100);
/// Longest time between two looks at which processes have joined the recording, if these are followed.
const ARRIVALS: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// The sampler's handle.
#[derive(Debug)]
pub(crate) struct Sampler {
    thread: JoinHandle<Sampled>,
    alarm: Arc<Alarm>,
    stop: Arc<AtomicBool>,
}

impl Sampler {
    /// Opens the events and starts the thread; the receiver delivers its batches. `recorded` are the processes that
    /// have an agent.
    ///
    /// # Errors
    /// The summary of a recording without samples and page faults, which says why there are none.
    pub(crate) fn start(
        mut plan: Plan,
        clock: Clock,
        recorded: Subjects,
    ) -> Result<(Sampler, Samples), Box<Sampled>> {
        plan.options = plan.options.bounded();
        let options = plan.options;
        let refused = |error| {
            let refused = Refusal::new(error, options.scope, PROCESSORS).text();
            Box::new(Sampled { cpu: CpuSummary { refused, ..CpuSummary::default() }, ..Sampled::default() })
        };
        let mut events = Events::open(options, clock.is_tsc());
        let sampled = summary_of(&mut events, options);
        if events.channels.is_empty() {
            return Err(Box::new(sampled));
        }
        let alarm = Arc::new(Alarm::new().map_err(refused)?);
        let stop = Arc::new(AtomicBool::new(false));
        let (batches, receiver) = mpsc::sync_channel(QUEUE);
        let (heard, stopped) = (alarm.clone(), stop.clone());
        let lengths: Vec<usize> = events.channels.iter().map(|channel| channel.ring.length()).collect();
        debug!("{}, rings of {lengths:?} bytes, {:?}", sampled.cpu.event, events.clock);
        let thread = std::thread::Builder::new().name("sampler".into()).spawn(move || {
            let state = State::new(plan, sampled, clock, recorded);
            Round::new(events, state, clock, batches).run(&heard, &stopped)
        });
        Ok((Sampler { thread: thread.map_err(refused)?, alarm, stop }, Samples::from(receiver)))
    }

    /// Stops the sampler. Everything sampled until now is in the batches. In the result `clock_error_ns` is in ticks,
    /// and samples are counted as sent.
    pub(crate) fn stop(self) -> Sampled {
        // Release pairs with the thread's Acquire load: its last round begins after this store.
        self.stop.store(true, Ordering::Release);
        self.alarm.call();
        self.thread.join().unwrap_or_default()
    }
}

/// The summary of a recording whose events have just been opened or refused.
fn summary_of(events: &mut Events, options: CpuOptions) -> Sampled {
    let mut sampled = Sampled::default();
    match events.work.take() {
        None => {}
        Some(Err(error)) => sampled.cpu.refused = Refusal::new(error, options.scope, PROCESSORS).text(),
        Some(Ok(counted)) => {
            sampled.cpu = CpuSummary {
                event: counted.name.into(),
                frequency: options.frequency,
                is_system_wide: options.scope == Scope::System,
                has_kernel: counted.has_kernel,
                refused: if counted.has_kernel { String::new() } else { without_kernel(PROCESSORS) },
                ..CpuSummary::default()
            }
        }
    }
    match events.faults.take() {
        None => {}
        Some(Err(error)) => sampled.faults.refused = Refusal::new(error, options.scope, FAULTS).text(),
        Some(Ok(has_kernel)) => {
            sampled.faults = FaultSummary {
                is_recorded: true,
                has_kernel,
                huge_pages: huge::when(),
                page_bytes: rustix::param::page_size() as u64,
                huge_page_bytes: huge::bytes(),
                refused: if has_kernel { String::new() } else { without_kernel(FAULTS) },
                ..FaultSummary::default()
            }
        }
    }
    sampled
}

/// The sampler thread's own state.
struct Round {
    channels: Vec<Channel>,
    /// By channel; false once its event has ended.
    is_alive: Vec<bool>,
    followed: Option<Followed>,
    clock: Clock,
    times: Times,
    order: Order,
    batches: mpsc::SyncSender<Batch>,
    /// A batch that the writer had no room for.
    waiting: Option<Batch>,
    /// When the last batch was sent.
    sent: Instant,
    state: State,
}

impl Round {
    fn new(events: Events, state: State, clock: Clock, batches: mpsc::SyncSender<Batch>) -> Round {
        let conversion = events.channels.first().and_then(|channel| channel.ring.conversion());
        Round {
            is_alive: vec![true; events.channels.len()],
            times: Times::new(events.clock, conversion),
            channels: events.channels,
            followed: events.followed,
            clock,
            order: Order::default(),
            batches,
            waiting: None,
            sent: Instant::now(),
            state,
        }
    }

    fn run(mut self, alarm: &Alarm, stop: &AtomicBool) -> Sampled {
        self.times.measure(&self.clock);
        let (options, is_told_of_all) = (self.state.options, self.state.is_told_of_all());
        if matches!(options.scope, Scope::Recorded | Scope::System) && is_told_of_all {
            self.look_around();
        }
        loop {
            let is_last = stop.load(Ordering::Acquire);
            // Taken before the rings are read: however long that takes, everything older has been read then.
            let now = self.clock.ticks();
            let limit = match (is_last, self.waiting.is_some()) {
                (true, _) => u64::MAX,
                (false, false) => now.saturating_sub(HOLD),
                (false, true) => 0,
            };
            self.read(is_last || self.waiting.is_none());
            self.state.look_who_is_recorded();
            self.follow();
            self.unwind(limit);
            self.state.end_round();
            if !self.send(is_last) || is_last {
                break;
            }
            self.sleep(alarm);
        }
        self.state.finish();
        let unsampled = self.unsampled();
        let mut sampled = self.state.sampled;
        sampled.cpu.refused.extend(unsampled);
        sampled.cpu.late = self.order.late;
        sampled.cpu.clock_error_ns = self.times.error();
        sampled.cpu.cost_ns = thread_cpu_ns();
        debug!(
            "{} bytes that were no records, {} files",
            self.order.malformed,
            self.state.files.opened.get()
        );
        sampled
    }

    /// How much no sample accounts for. Known only of threads with events of their own, and if what is counted is
    /// what is sampled.
    fn unsampled(&self) -> Option<String> {
        let State { options, sampled, sampled_work, .. } = &self.state;
        let is_whole = sampled.cpu.has_kernel && sampled.cpu.throttled == 0;
        if !is_whole || !matches!(options.scope, Scope::Tree { .. }) {
            return None;
        }
        let work = self.channels.iter().filter(|channel| channel.layout == Layout::CpuSamples);
        let ran = work.filter_map(Channel::ran).fold(EventTotals::default(), EventTotals::and);
        unsampled::note(SampledWork { lost: sampled.cpu.lost, ..*sampled_work }, ran, *options)
    }

    /// Looks up the processes that ran before the recording. The events count already, so later ones announce
    /// themselves. A thousand processes take so long that the rings would fill up, so these are read in between.
    fn look_around(&mut self) {
        let mut read = Instant::now();
        for process in procfs::process::all_processes().into_iter().flatten().flatten() {
            let State { tasks, files, batch, .. } = &mut self.state;
            tasks.look_up(process.pid.unsigned_abs(), files, batch);
            if read.elapsed() > LOOK {
                self.read(true);
                read = Instant::now();
            }
        }
    }

    /// Gives events to processes that have joined the recording. The events count before the processes' mappings are
    /// read.
    fn follow(&mut self) {
        let Some(followed) = &mut self.followed else { return };
        let (added, result) = followed.look(&self.state.alive());
        let is_told_of_all = self.state.is_told_of_all();
        let State { tasks, files, batch, sampled, options, .. } = &mut self.state;
        for pid in added.into_iter().filter(|_| !is_told_of_all) {
            tasks.look_up(pid, files, batch);
        }
        if let Err(error) = result
            && sampled.cpu.refused.is_empty()
        {
            sampled.cpu.refused = Refusal::new(error, options.scope, PROCESSORS).text();
        }
    }

    /// Processes what waits, up to a time. New code takes long to parse, or others keep us from the processors. The
    /// rings are read in between, since they would be full within a quarter of a second.
    fn unwind(&mut self, limit: u64) {
        let mut order = std::mem::take(&mut self.order);
        // Nothing after the end of the recording is wanted.
        let reads_on = limit < u64::MAX;
        order.until(limit, &mut Unwinding { round: self, reads_on, read: Instant::now() });
        self.order = order;
    }

    /// Copies all rings, or only those of process records.
    fn read(&mut self, reads_all: bool) {
        let mut order = std::mem::take(&mut self.order);
        self.read_into(&mut order, reads_all);
        self.order = order;
    }

    fn read_into(&mut self, order: &mut Order, reads_all: bool) {
        self.times.measure(&self.clock);
        for channel in &mut self.channels {
            let layout = channel.layout;
            let tells = layout == Layout::ProcessRecords;
            if !reads_all && (!tells || order.has_too_much()) {
                continue;
            }
            let mut before = channel.before.take();
            let mut most = 0;
            for ring in before.iter_mut().chain([&mut channel.ring]) {
                let mut had_room = true;
                let last = order.add(&self.times, layout, |bytes| {
                    let taken = ring.take(|first, second| record::append_all(first, second, layout, bytes));
                    // What the kernel cannot have written counts as lost.
                    if taken.is_none() {
                        self.state.lost(layout, 1);
                    }
                    had_room = taken.is_some_and(|taken| taken.had_room);
                    most = taken.map_or(0, |taken| taken.bytes);
                });
                if tells && !had_room {
                    order.add_gap(last, layout);
                }
            }
            channel.grow_for(most);
        }
        // What was written while we read lies before this pair.
        self.times.measure(&self.clock);
    }

    /// Sends the batch if it is due; false if the receiver is gone.
    fn send(&mut self, is_last: bool) -> bool {
        if let Some(batch) = self.waiting.take()
            && !self.try_send(batch)
        {
            return false;
        }
        let is_early = self.sent.elapsed() < REST;
        if self.waiting.is_some() || self.state.batch.is_empty() || is_early {
            return !is_last || self.send_rest();
        }
        self.sent = Instant::now();
        let batch = std::mem::take(&mut self.state.batch);
        self.try_send(batch) && (!is_last || self.send_rest())
    }

    fn try_send(&mut self, batch: Batch) -> bool {
        match self.batches.try_send(batch) {
            Ok(()) => true,
            Err(mpsc::TrySendError::Full(batch)) => {
                self.waiting = Some(batch);
                true
            }
            Err(mpsc::TrySendError::Disconnected(_)) => false,
        }
    }

    /// At the end there is time to wait for the writer.
    fn send_rest(&mut self) -> bool {
        let rest = [self.waiting.take(), Some(std::mem::take(&mut self.state.batch))];
        rest.into_iter().flatten().all(|batch| self.batches.send(batch).is_ok())
    }

    fn sleep(&mut self, alarm: &Alarm) {
        let is_read = |layout| match self.waiting {
            None => true,
            Some(_) => layout == Layout::ProcessRecords && !self.order.has_too_much(),
        };
        let read: Vec<usize> = (0..self.channels.len())
            .filter(|place| self.is_alive[*place] && is_read(self.channels[*place].layout))
            .collect();
        let rings = read.iter().map(|place| PollFd::new(&self.channels[*place].ring, PollFlags::IN));
        let mut all: Vec<PollFd<'_>> = rings.chain([PollFd::new(alarm, PollFlags::IN)]).collect();
        // It does not matter if the wait is interrupted.
        let most = if self.followed.is_some() { ARRIVALS } else { ROUND };
        let _ = poll(&mut all, Some(&most));
        for (place, descriptor) in read.into_iter().zip(all) {
            // Once all its processes have ended, an event would wake every poll.
            self.is_alive[place] = !descriptor.revents().intersects(PollFlags::HUP | PollFlags::ERR);
        }
        alarm.clear();
    }
}

/// Processes records while the rings are still read.
struct Unwinding<'a> {
    round: &'a mut Round,
    /// Whether the rings are read meanwhile …
    reads_on: bool,
    /// … and when they were read last.
    read: Instant,
}

impl Reader for Unwinding<'_> {
    fn take(&mut self, ticks: u64, layout: Layout, payload: Payload<'_>) {
        self.round.state.take(ticks, layout, payload);
    }

    fn meanwhile(&mut self, order: &mut Order) {
        if self.reads_on && self.read.elapsed() > LOOK {
            self.round.read_into(order, self.round.waiting.is_none() && !order.has_enough());
            self.read = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::batch::Sample;
    use super::super::record::made;
    use super::super::ring::Ring;
    use super::super::room::Room;
    use super::*;

    /// A sampler thread's state with these channels, and the receiver of its batches.
    fn round(channels: Vec<Channel>) -> (Round, mpsc::Receiver<Batch>) {
        let mut events = Events::none(Room { pages: 0, tasks: 0 });
        events.channels = channels;
        let options = CpuOptions {
            processors: true,
            frequency: 999,
            stack_bytes: None,
            keep_stacks: false,
            faults: false,
            scope: Scope::System,
        };
        let state = State::new(Plan::of(options), Sampled::default(), Clock::start(), Subjects::default());
        let (batches, receiver) = mpsc::sync_channel(QUEUE);
        (Round::new(events, state, Clock::start(), batches), receiver)
    }

    /// Check that process records are read while samples have to wait, and that the samples are read later.
    #[test]
    fn processes_are_told_of_while_samples_wait() {
        struct Seen(Vec<Layout>);
        impl Reader for Seen {
            fn take(&mut self, _: u64, layout: Layout, _: Payload<'_>) {
                self.0.push(layout);
            }
        }
        let channel = |layout, records: &[u8]| Channel::new(Ring::made(records), layout);
        let channels = vec![
            channel(Layout::CpuSamples, &made::sample(7, 1)),
            channel(Layout::ProcessRecords, &made::fork(7, 2)),
        ];
        let (mut round, _receiver) = round(channels);
        for (reads_all, expected) in [
            (false, vec![Layout::ProcessRecords]),
            (false, vec![]),
            (true, vec![Layout::CpuSamples]),
            (true, vec![]),
        ] {
            round.read(reads_all);
            let mut seen = Seen(Vec::new());
            round.order.until(u64::MAX, &mut seen);
            assert_eq!(seen.0, expected, "{reads_all}");
        }
    }

    /// Check that samples which come one by one are sent together, so that there is room for them however seldom the
    /// writer looks, and that all of them arrive.
    #[test]
    fn batches_rest() {
        let (mut round, receiver) = round(Vec::new());
        for ticks in 0..1000 {
            round.state.batch.samples.push(Sample { ticks, task: 0, cpu: 0, node: 0, weight: 1 });
            assert!(round.send(ticks == 999) && round.waiting.is_none(), "sample {ticks}");
        }
        drop(round);
        let sent = receiver.iter().flat_map(|batch| batch.samples);
        assert!(sent.map(|sample| sample.ticks).eq(0..1000));
    }
}
