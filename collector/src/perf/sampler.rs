//! The thread that reads the rings and finds out what samples mean.
//!
//! ```text
//!  a round:  sleep until a ring is a quarter full, or half a second
//!            pair of clocks ─► rings copied, their room given back ─► sorted by time
//!            all that is old enough: processes, mappings, samples ─► batch ─► writer
//! ```
//!
//! While the writer has no room for another batch, the rings are left alone: the kernel counts what it has no room for.

use super::batch::{Batch, Fault, Sample, Samples, Step};
use super::event::{Channel, Events};
use super::files::{FileId, Files};
use super::huge;
use super::kernel::Kernel;
use super::order::{HOLD, Order};
use super::pairs::Pairs;
use super::record::{self, Layout, User, What};
use super::refusal::{FAULTS, PROCESSORS, Refusal, without_kernel};
use super::space::{Space, View};
use super::stacks::{EMPTY, Stacks, marker};
use super::tasks::Tasks;
use super::time::Times;
use super::{CpuOptions, Scope};
use crate::alarm::Alarm;
use crate::clock::{Clock, thread_cpu_ns};
use crate::counters::Subjects;
use crate::log::debug;
use capture::{CpuSummary, FaultSummary, Pseudo};
use rustc_hash::FxHashMap;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use unwind::{CodeAddress, Registers, Scratch, StackSample, unwind_sample};

/// Longest time between two looks at the rings: busy ones wake.
const ROUND: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };
/// Records of a process that has ended may come so long after.
const PAST: Duration = Duration::from_secs(2);
/// Batches that wait for the writer.
const QUEUE: usize = 64;

/// What the capture says about samples and page faults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sampled {
    pub(crate) cpu: CpuSummary,
    pub(crate) faults: FaultSummary,
}

/// The sampler, from the outside.
#[derive(Debug)]
pub(crate) struct Sampler {
    thread: JoinHandle<Sampled>,
    alarm: Arc<Alarm>,
    stop: Arc<AtomicBool>,
}

impl Sampler {
    /// Opens the events and starts the thread, whose batches come out of the receiver. `recorded` are the processes that
    /// agents tell of.
    ///
    /// # Errors
    /// The summary of a recording without samples and page faults: it says why.
    pub(crate) fn start(
        options: CpuOptions,
        (only, skip): (Vec<String>, Vec<String>),
        max_depth: u32,
        clock: Clock,
        recorded: Subjects,
    ) -> Result<(Sampler, Samples), Box<Sampled>> {
        let options = options.bounded();
        let refused = |error| {
            let refused = Refusal::new(error, options.scope, PROCESSORS).text();
            Box::new(Sampled { cpu: CpuSummary { refused, ..CpuSummary::default() }, ..Sampled::default() })
        };
        let mut events = Events::open(options, clock.is_tsc());
        let sampled = told(&mut events, options);
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
            let (tasks, max_depth) = (Tasks::new(only, skip), max_depth as usize);
            let state = State::new(sampled, options, tasks, max_depth, recorded);
            Round::new(events, state, clock, batches).run(&heard, &stopped)
        });
        Ok((Sampler { thread: thread.map_err(refused)?, alarm, stop }, Samples::from(receiver)))
    }

    /// Ends it. All that was sampled until now is in the batches. `clock_error_ns` of the answer is in ticks, and its
    /// samples are those that were sent.
    pub(crate) fn stop(self) -> Sampled {
        // Release pairs with the Acquire load of the thread: its last round comes after this.
        self.stop.store(true, Ordering::Release);
        self.alarm.call();
        self.thread.join().unwrap_or_default()
    }
}

/// What is known of a recording when its events are open, or refused.
fn told(events: &mut Events, options: CpuOptions) -> Sampled {
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

/// The thread at work.
struct Round {
    channels: Vec<Channel>,
    /// By channel, false once its event is at its end.
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
    pairs: Pairs,
    sampled: Sampled,
    options: CpuOptions,
    /// Processes that agents tell of, and when each was seen among them last.
    recorded: Subjects,
    recent: FxHashMap<u32, Instant>,
    max_depth: usize,
    /// Frames of the stack at hand, innermost first.
    frames: Vec<Step>,
}

impl State {
    fn new(
        sampled: Sampled,
        options: CpuOptions,
        tasks: Tasks,
        max_depth: usize,
        recorded: Subjects,
    ) -> State {
        State {
            tasks,
            files: Files::default(),
            modules: FxHashMap::default(),
            kernel: Kernel::default(),
            stacks: Stacks::default(),
            scratch: Box::default(),
            batch: Batch::default(),
            pairs: Pairs::default(),
            sampled,
            options,
            recorded,
            recent: FxHashMap::default(),
            max_depth,
            frames: Vec::new(),
        }
    }
}

impl Round {
    fn new(events: Events, state: State, clock: Clock, batches: mpsc::SyncSender<Batch>) -> Round {
        let conversion = events.channels.first().and_then(|channel| channel.ring.conversion());
        Round {
            is_alive: vec![true; events.channels.len()],
            times: Times::new(events.clock, conversion),
            channels: events.channels,
            clock,
            order: Order::default(),
            batches,
            waiting: None,
            state,
        }
    }

    fn run(mut self, alarm: &Alarm, stop: &AtomicBool) -> Sampled {
        self.times.measure(&self.clock);
        if matches!(self.state.options.scope, Scope::Recorded | Scope::System) {
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
            self.state.look_who_is_recorded();
            self.order.until(limit, |ticks, layout, what| self.state.take(ticks, layout, what));
            self.state.end_round();
            if !self.send(is_last) || is_last {
                break;
            }
            self.sleep(alarm);
        }
        let mut sampled = self.state.sampled;
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

    /// Copies the rings, unless the writer is behind.
    fn read(&mut self) {
        if self.waiting.is_some() {
            return;
        }
        self.times.measure(&self.clock);
        for Channel { ring, layout } in &mut self.channels {
            self.order.add(&self.times, *layout, |bytes| {
                // What the kernel cannot have written is as good as lost.
                if ring.take(bytes).is_none() {
                    self.state.lost(*layout, 1);
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
            self.channels.iter().zip(&self.is_alive).filter(|(_, alive)| **alive && self.waiting.is_none());
        let mut all: Vec<PollFd<'_>> =
            alive.map(|(channel, _)| PollFd::new(&channel.ring, PollFlags::IN)).collect();
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
    fn take(&mut self, ticks: u64, layout: Layout, what: What<'_>) {
        let State { tasks, files, batch, .. } = self;
        match what {
            What::Sample(sample) => self.sample(ticks, &sample),
            What::Fault(fault) => self.fault(ticks, &fault),
            What::Map(map) => tasks.map(&map, files, batch),
            What::Comm { pid, tid, name, is_exec } => {
                tasks.comm(pid, tid, name, is_exec.then_some(ticks), batch);
            }
            What::Fork { pid, parent, tid } => tasks.fork(pid, parent, tid, ticks, batch),
            What::Exit { pid, tid } => tasks.exit(pid, tid, ticks, batch),
            What::Lost { records } => self.lost(layout, records),
            What::Throttle => self.sampled.cpu.throttled += 1,
            What::KernelCode => self.kernel.changed(),
            What::Other => {}
        }
    }

    /// Counts what a ring had no room for. A fault whose stack is lost is there without.
    fn lost(&mut self, layout: Layout, records: u64) {
        let lost = match layout {
            Layout::Work => &mut self.sampled.cpu.lost,
            Layout::Touch => &mut self.sampled.faults.lost,
            Layout::Stack => return,
        };
        *lost = lost.saturating_add(records);
    }

    fn sample(&mut self, ticks: u64, sample: &record::Sample<'_>) {
        if self.options.scope == Scope::System && sample.pid == std::process::id() {
            return;
        }
        let Some((task, node, end)) = self.stack((sample.pid, sample.tid), sample.chain, sample.user) else {
            return;
        };
        match end {
            Some(Pseudo::Truncated) => self.sampled.cpu.truncated += 1,
            Some(_) => self.sampled.cpu.incomplete += 1,
            None => {}
        }
        self.sampled.cpu.samples += 1;
        self.batch.samples.push(Sample { ticks, task, cpu: sample.cpu, node, weight: sample.period });
    }

    fn fault(&mut self, ticks: u64, fault: &record::Fault<'_>) {
        let &record::Fault { pid, tid, address, sp, stack } = fault;
        let is_wanted = match self.options.scope {
            Scope::Tree { .. } => true,
            Scope::Recorded => self.recent.contains_key(&pid),
            Scope::System => pid != std::process::id(),
        };
        if !is_wanted {
            return;
        }
        let found = match stack {
            Some((chain, user)) => {
                self.stack((pid, tid), chain, user).map(|(task, node, _)| (task, Some(node)))
            }
            None => {
                let found = self.tasks.sampled(pid, tid, &mut self.files, &mut self.batch);
                found.map(|(task, _)| (task, None))
            }
        };
        let Some((task, node)) = found else { return };
        let region = self.tasks.region(pid, address, sp);
        self.batch.faults.extend(self.pairs.add(tid, Fault { ticks, task, address, node, region }));
    }

    /// The task of a thread, its stack with the kernel's frames on top of the user's, and why that ends before its root, if it
    /// does. None where the user does not want it.
    fn stack(
        &mut self,
        (pid, tid): (u32, u32),
        chain: &[u8],
        user: User<'_>,
    ) -> Option<(u32, u32, Option<Pseudo>)> {
        let State { tasks, files, kernel, stacks, batch, .. } = self;
        let (task, space) = tasks.sampled(pid, tid, files, batch)?;
        self.frames.clear();
        let walk = Walk {
            files,
            space,
            pid,
            modules: &mut self.modules,
            scratch: &mut self.scratch,
            max_depth: self.max_depth,
            added: &mut batch.modules,
        };
        let end = walk.user(user, &mut self.frames);
        let mut node = EMPTY;
        let outermost = end.map(Step::End).into_iter().chain(self.frames.iter().rev().copied());
        for step in outermost {
            node = stacks.node(node, step, batch);
        }
        let mut inner = Vec::new();
        kernel.frames(chain, batch, |frame| inner.push(frame));
        for frame in inner {
            node = stacks.node(node, Step::Kernel(frame), batch);
        }
        Some((task, node, end))
    }

    /// Knows whose page faults are wanted, where that is not decided by whose events they are.
    fn look_who_is_recorded(&mut self) {
        if self.options.scope != Scope::Recorded {
            return;
        }
        let now = Instant::now();
        self.recent.extend(self.recorded.pids().into_iter().map(|pid| (pid, now)));
        self.recent.retain(|_, seen| now.duration_since(*seen) < PAST);
    }

    /// All records up to now are there.
    fn end_round(&mut self) {
        self.batch.faults.extend(self.pairs.rest());
        self.batch.faults.sort_by_key(|fault| fault.ticks);
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
