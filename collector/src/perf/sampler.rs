//! The thread that reads the rings and finds out what samples mean.
//!
//! ```text
//!  a round:  sleep until a ring is a quarter full, or half a second
//!            pair of clocks ─► rings copied, their room given back ─► sorted by time
//!            all that is old enough: processes, mappings, samples ─► batch ─► writer
//! ```
//!
//! While the writer has no room for another batch, the rings are left alone: the kernel counts what it has no room for.

use super::batch::{Batch, Sample, Samples, Step};
use super::event::Events;
use super::files::{FileId, Files};
use super::kernel::Kernel;
use super::order::{HOLD, Order};
use super::record::{self, User, What};
use super::refusal::{Refusal, without_kernel};
use super::ring::Ring;
use super::space::{Space, View};
use super::stacks::{EMPTY, Stacks, marker};
use super::tasks::Tasks;
use super::time::Times;
use super::{CpuOptions, Scope};
use crate::alarm::Alarm;
use crate::clock::{Clock, thread_cpu_ns};
use crate::log::debug;
use capture::{CpuSummary, Pseudo};
use rustc_hash::FxHashMap;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use unwind::{CodeAddress, Registers, Scratch, StackSample, unwind_sample};

/// Longest time between two looks at the rings: busy ones wake.
const ROUND: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };
/// Batches that wait for the writer.
const QUEUE: usize = 64;

/// The sampler, from the outside.
#[derive(Debug)]
pub(crate) struct Sampler {
    thread: JoinHandle<CpuSummary>,
    alarm: Arc<Alarm>,
    stop: Arc<AtomicBool>,
}

impl Sampler {
    /// Opens the events and starts the thread, whose batches come out of the receiver.
    ///
    /// # Errors
    /// The summary of a recording without samples: it says why.
    pub(crate) fn start(
        options: CpuOptions,
        (only, skip): (Vec<String>, Vec<String>),
        max_depth: u32,
        clock: Clock,
    ) -> Result<(Sampler, Samples), CpuSummary> {
        let options = options.bounded();
        let refused = |error| CpuSummary {
            refused: Refusal::new(error, options.scope).text(),
            ..CpuSummary::default()
        };
        let events = Events::open(options, clock.is_tsc()).map_err(refused)?;
        let alarm = Arc::new(Alarm::new().map_err(refused)?);
        let stop = Arc::new(AtomicBool::new(false));
        let (batches, receiver) = mpsc::sync_channel(QUEUE);
        let (heard, stopped) = (alarm.clone(), stop.clone());
        let length = events.rings.first().map_or(0, Ring::length);
        debug!("{}, {} rings of {length} bytes, {:?}", events.name, events.rings.len(), events.clock);
        let thread = std::thread::Builder::new().name("sampler".into()).spawn(move || {
            Round::new(events, options, Tasks::new(only, skip), max_depth, clock, batches)
                .run(&heard, &stopped)
        });
        Ok((Sampler { thread: thread.map_err(refused)?, alarm, stop }, Samples::from(receiver)))
    }

    /// Ends it. All that was sampled until now is in the batches. `clock_error_ns` of the answer is in ticks, and its
    /// samples are those that were sent.
    pub(crate) fn stop(self) -> CpuSummary {
        // Release pairs with the Acquire load of the thread: its last round comes after this.
        self.stop.store(true, Ordering::Release);
        self.alarm.call();
        self.thread.join().unwrap_or_default()
    }
}

/// The thread at work.
struct Round {
    rings: Vec<Ring>,
    /// By ring, false once its event is at its end.
    is_alive: Vec<bool>,
    clock: Clock,
    times: Times,
    order: Order,
    batches: mpsc::SyncSender<Batch>,
    /// A batch that the writer had no room for.
    waiting: Option<Batch>,
    state: State,
}

/// What samples are understood by.
struct State {
    tasks: Tasks,
    files: Files,
    /// Modules of the batches, by file.
    modules: FxHashMap<FileId, u32>,
    kernel: Kernel,
    stacks: Stacks,
    scratch: Box<Scratch>,
    batch: Batch,
    summary: CpuSummary,
    options: CpuOptions,
    max_depth: usize,
    /// Frames of the stack at hand, innermost first.
    frames: Vec<Step>,
}

impl Round {
    fn new(
        events: Events,
        options: CpuOptions,
        tasks: Tasks,
        max_depth: u32,
        clock: Clock,
        batches: mpsc::SyncSender<Batch>,
    ) -> Round {
        let summary = CpuSummary {
            event: events.name.into(),
            frequency: options.frequency,
            is_system_wide: options.scope == Scope::System,
            has_kernel: events.has_kernel,
            refused: if events.has_kernel { String::new() } else { without_kernel() },
            ..CpuSummary::default()
        };
        let conversion = events.rings.first().and_then(Ring::conversion);
        let state = State {
            tasks,
            files: Files::default(),
            modules: FxHashMap::default(),
            kernel: Kernel::default(),
            stacks: Stacks::default(),
            scratch: Box::default(),
            batch: Batch::default(),
            summary,
            options,
            max_depth: max_depth as usize,
            frames: Vec::new(),
        };
        Round {
            is_alive: vec![true; events.rings.len()],
            times: Times::new(events.clock, conversion),
            rings: events.rings,
            clock,
            order: Order::default(),
            batches,
            waiting: None,
            state,
        }
    }

    fn run(mut self, alarm: &Alarm, stop: &AtomicBool) -> CpuSummary {
        self.times.measure(&self.clock);
        if self.state.options.scope == Scope::System {
            // The events count already: what begins from now on tells of itself.
            self.state.tasks.look_around(&mut self.state.files, &mut self.state.batch);
        }
        loop {
            let is_last = stop.load(Ordering::Acquire);
            // Before the rings are read: however long that takes, what is older by then has been read.
            let now = self.clock.ticks();
            let limit = match (is_last, self.waiting.is_some()) {
                (true, _) => u64::MAX,
                (false, false) => now.saturating_sub(HOLD),
                (false, true) => 0,
            };
            self.read();
            self.order.until(limit, |ticks, what| self.state.take(ticks, what));
            if !self.send(is_last) || is_last {
                break;
            }
            self.sleep(alarm);
        }
        let mut summary = self.state.summary;
        summary.late = self.order.late;
        summary.clock_error_ns = self.times.error();
        summary.cost_ns = thread_cpu_ns();
        debug!(
            "{} bytes that were no records, {} files",
            self.order.malformed,
            self.state.files.opened.get()
        );
        summary
    }

    /// Copies the rings, unless the writer is behind.
    fn read(&mut self) {
        if self.waiting.is_some() {
            return;
        }
        self.times.measure(&self.clock);
        for ring in &mut self.rings {
            self.order.add(&self.times, |bytes| {
                // What the kernel cannot have written is as good as lost.
                if ring.take(bytes).is_none() {
                    self.state.summary.lost += 1;
                }
            });
        }
        // What was written while we read lies before this pair.
        self.times.measure(&self.clock);
    }

    /// Sends what there is; false when nobody takes it any more.
    fn send(&mut self, is_last: bool) -> bool {
        if let Some(batch) = self.waiting.take()
            && !self.try_send(batch)
        {
            return false;
        }
        if self.waiting.is_some() || self.state.batch.is_empty() {
            return !is_last || self.send_rest();
        }
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
        let alive =
            self.rings.iter().zip(&self.is_alive).filter(|(_, alive)| **alive && self.waiting.is_none());
        let mut all: Vec<PollFd<'_>> = alive.map(|(ring, _)| PollFd::new(ring, PollFlags::IN)).collect();
        all.push(PollFd::new(alarm, PollFlags::IN));
        // An interrupted wait is a short one.
        let _ = poll(&mut all, Some(&ROUND));
        let ended =
            |descriptor: &PollFd<'_>| descriptor.revents().intersects(PollFlags::HUP | PollFlags::ERR);
        let mut ended: std::vec::IntoIter<bool> = all.iter().map(ended).collect::<Vec<_>>().into_iter();
        if self.waiting.is_none() {
            // An event whose processes have all ended says so without end.
            for alive in self.is_alive.iter_mut().filter(|alive| **alive) {
                *alive = !ended.next().unwrap_or(false);
            }
        }
        alarm.hear();
    }
}

impl State {
    /// Takes in a record, in the order of times.
    fn take(&mut self, ticks: u64, what: What<'_>) {
        let State { tasks, files, batch, .. } = self;
        match what {
            What::Sample(sample) => self.sample(ticks, &sample),
            What::Map(map) => tasks.map(&map, files, batch),
            What::Comm { pid, tid, name, is_exec } => {
                tasks.comm(pid, tid, name, is_exec.then_some(ticks), batch);
            }
            What::Fork { pid, parent, tid } => tasks.fork(pid, parent, tid, ticks, batch),
            What::Exit { pid, tid } => tasks.exit(pid, tid, ticks, batch),
            What::Lost { records } => self.summary.lost = self.summary.lost.saturating_add(records),
            What::Throttle => self.summary.throttled += 1,
            What::KernelCode => self.kernel.changed(),
            What::Other => {}
        }
    }

    fn sample(&mut self, ticks: u64, sample: &record::Sample<'_>) {
        let State { tasks, files, kernel, stacks, batch, .. } = self;
        if self.options.scope == Scope::System && sample.pid == std::process::id() {
            return;
        }
        let Some((task, space)) = tasks.sampled(sample.pid, sample.tid, files, batch) else { return };
        self.frames.clear();
        let walk = Walk {
            files,
            space,
            pid: sample.pid,
            modules: &mut self.modules,
            scratch: &mut self.scratch,
            max_depth: self.max_depth,
            added: &mut batch.modules,
        };
        let end = walk.user(sample.user, &mut self.frames);
        match end {
            Some(Pseudo::Truncated) => self.summary.truncated += 1,
            Some(_) => self.summary.incomplete += 1,
            None => {}
        }
        let mut node = EMPTY;
        let user = end.map(Step::End).into_iter().chain(self.frames.iter().rev().copied());
        for step in user {
            node = stacks.node(node, step, batch);
        }
        let mut chain = Vec::new();
        kernel.frames(sample.chain, batch, |frame| chain.push(frame));
        for frame in chain {
            node = stacks.node(node, Step::Kernel(frame), batch);
        }
        self.summary.samples += 1;
        batch.samples.push(Sample { ticks, task, cpu: sample.cpu, node, weight: sample.period });
    }
}

/// One walk.
struct Walk<'a> {
    files: &'a Files,
    space: &'a Space,
    pid: u32,
    modules: &'a mut FxHashMap<FileId, u32>,
    scratch: &'a mut Scratch,
    max_depth: usize,
    /// Modules that are new in this batch.
    added: &'a mut Vec<symbols::ModuleFile>,
}

impl Walk<'_> {
    /// The user's frames, innermost first, and why there are no more.
    fn user(mut self, user: User<'_>, frames: &mut Vec<Step>) -> Option<Pseudo> {
        let (registers, stack, is_cut) = match user {
            User::None => return None,
            // Its rules would be others: the place alone is known.
            User::Narrow { ip } => {
                frames.push(self.step(CodeAddress::Exact(ip)));
                return Some(Pseudo::NoUnwindInfo);
            }
            User::Wide { ip, sp, bp, stack, is_cut } => {
                (Registers { ip: CodeAddress::Exact(ip), sp, bp }, stack, is_cut)
            }
        };
        let view = View { space: self.space, files: self.files, pid: self.pid };
        let sample = StackSample { registers, stack, max_depth: self.max_depth };
        let mut codes = Vec::new();
        let end = unwind_sample(&sample, &view, self.scratch, |frame| codes.push(frame.code()));
        if codes.is_empty() {
            // Interrupted where no code is known to be: it is somewhere all the same.
            codes.push(registers.ip);
        }
        frames.extend(codes.into_iter().map(|code| self.step(code)));
        match marker(end) {
            // The copy ends where the stack does, not before it.
            Some(Pseudo::Truncated) if !is_cut && frames.len() < self.max_depth => Some(Pseudo::Broken),
            marker => marker,
        }
    }

    fn step(&mut self, code: CodeAddress) -> Step {
        let (address, exact) = (code.address(), matches!(code, CodeAddress::Exact(_)));
        let found = self.space.find(code.lookup());
        let Some((start, mapping, file)) = found.and_then(|(start, map)| Some((start, map, map.file?)))
        else {
            return Step::Unfiled { pid: self.pid, address, exact };
        };
        let bias = match self.files.code(file, self.pid) {
            Some(code) => code.bias(start, mapping.offset),
            None => start.wrapping_sub(mapping.offset),
        };
        let next = self.modules.len() as u32;
        let module = *self.modules.entry(file).or_insert_with(|| {
            self.added.push(self.files.file(file, self.pid));
            next
        });
        Step::Code { module, address: address.wrapping_sub(bias), exact }
    }
}
