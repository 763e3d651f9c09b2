//! Interprets records, one after the other.

use super::Plan;
use super::batch::{Batch, Fault, Sample, Step};
use super::kernel::Kernel;
use super::pairs::Pairs;
use super::record::{self, Layout, Payload, User};
use super::sampled::Sampled;
use super::stacks::Stacks;
use super::tasks::Tasks;
use super::unsampled::SampledWork;
use super::walk::Walk;
use crate::base::clock::Clock;
use crate::base::cpu_options::{CpuOptions, Scope};
use crate::proc::subjects::{Subject, Subjects};
use crate::remote_unwind::files::{FileId, Files};
use capture::Pseudo;
use rustc_hash::FxHashMap;
use std::time::{Duration, Instant};
use unwind::Scratch;

/// Records of an ended process may come for so long.
const PAST: Duration = Duration::from_secs(2);

/// All that is needed to interpret records.
pub(super) struct State {
    pub(super) tasks: Tasks,
    pub(super) files: Files,
    /// Numbers of modules in the batches, by file.
    modules: FxHashMap<FileId, u32>,
    kernel: Kernel,
    stacks: Stacks,
    scratch: Box<Scratch>,
    pub(super) batch: Batch,
    pairs: Pairs,
    pub(super) sampled: Sampled,
    /// Totals over all samples of the kernel, wanted or not.
    pub(super) sampled_work: SampledWork,
    pub(super) options: CpuOptions,
    /// Processes that have an agent, and when each was last among them.
    recorded: Subjects,
    recent: FxHashMap<u32, Instant>,
    max_depth: usize,
    /// Frames of the current stack, innermost first.
    frames: Vec<Step>,
}

impl State {
    /// The state at the beginning of a recording.
    pub(super) fn new(plan: Plan, sampled: Sampled, clock: Clock, recorded: Subjects) -> State {
        let Plan { options, only, skip, max_depth, cache } = plan;
        State {
            tasks: Tasks::new(only, skip, clock),
            files: Files::default(),
            modules: FxHashMap::default(),
            kernel: Kernel::new(cache),
            stacks: Stacks::default(),
            scratch: Box::default(),
            batch: Batch::default(),
            pairs: Pairs::default(),
            sampled,
            sampled_work: SampledWork::default(),
            options,
            recorded,
            recent: FxHashMap::default(),
            max_depth: max_depth as usize,
            frames: Vec::new(),
        }
    }

    /// Takes a record. Records come in order of time.
    pub(super) fn take(&mut self, ticks: u64, layout: Layout, payload: Payload<'_>) {
        let State { tasks, files, batch, .. } = self;
        match payload {
            Payload::Sample(sample) => self.sample(ticks, &sample),
            Payload::Fault(fault) => self.fault(ticks, &fault),
            Payload::Map(map) => tasks.map(&map, ticks, files, batch),
            Payload::Comm { pid, tid, name, is_exec } => {
                tasks.comm(pid, tid, name, is_exec.then_some(ticks), batch);
            }
            Payload::Fork { pid, parent, tid, parent_tid } => {
                self.sampled_work.threads += 1;
                tasks.fork((pid, parent, tid), parent_tid, ticks, files, batch);
            }
            Payload::Exit { pid, tid } => tasks.exit(pid, tid, ticks, batch),
            Payload::Lost { records } => self.lost(layout, records),
            Payload::Gap => tasks.doubt(ticks),
            Payload::Throttle => self.sampled.cpu.throttled += 1,
            Payload::KernelCode => self.kernel.changed(),
            Payload::Other => {}
        }
    }

    /// Counts records that a ring had no room for. A fault whose stack is lost is still recorded, without it.
    pub(super) fn lost(&mut self, layout: Layout, records: u64) {
        let lost = match layout {
            Layout::CpuSamples => &mut self.sampled.cpu.lost,
            Layout::Faults => &mut self.sampled.faults.lost,
            Layout::ProcessRecords => &mut self.sampled.untold,
            Layout::FaultsWithStacks => return,
        };
        *lost = lost.saturating_add(records);
    }

    fn sample(&mut self, ticks: u64, sample: &record::Sample<'_>) {
        self.sampled_work.add(sample.period);
        if self.options.scope == Scope::System && sample.pid == std::process::id() {
            return;
        }
        let user = self.of_this_program(sample.pid, sample.chain, sample.user);
        let Some((task, node, end)) = self.stack((sample.pid, sample.tid), sample.chain, user) else {
            return;
        };
        match end {
            Some(Pseudo::Truncated) => self.sampled.cpu.truncated += 1,
            Some(_) => self.sampled.cpu.incomplete += 1,
            None => {}
        }
        self.sampled.cpu.samples += 1;
        if self.options.keep_stacks {
            self.keep(&record::Sample { user, ..*sample });
        }
        self.batch.samples.push(Sample { ticks, task, cpu: sample.cpu, node, weight: sample.period });
    }

    /// Keeps what a sample was unwound from; that sample must be the next one pushed to the batch.
    fn keep(&mut self, sample: &record::Sample<'_>) {
        let State { tasks, files, batch, .. } = self;
        let Some((_, space)) = tasks.sampled(sample.pid, sample.tid, files, batch) else { return };
        let walk = Walk {
            files,
            space,
            pid: sample.pid,
            modules: &mut self.modules,
            scratch: &mut self.scratch,
            max_depth: self.max_depth,
            added: &mut batch.modules,
        };
        batch.copies.extend(walk.copied(sample.user, batch.samples.len()));
    }

    fn fault(&mut self, ticks: u64, fault: &record::Fault<'_>) {
        let &record::Fault { pid, tid, address, sp, stack } = fault;
        if !self.wants(pid) {
            return;
        }
        let found = match stack {
            Some((chain, user)) => {
                let user = self.of_this_program(pid, chain, user);
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

    /// True if the process is to be recorded, if its events do not decide that already.
    fn wants(&self, pid: u32) -> bool {
        match self.options.scope {
            Scope::Tree { .. } => true,
            Scope::Recorded => self.recent.contains_key(&pid),
            Scope::System => pid != std::process::id(),
        }
    }

    /// The user part of a sample, unless it belongs to the program before an exec: while the kernel sets up the new
    /// program, registers and stack are still those of the old one.
    fn of_this_program<'u>(&self, pid: u32, chain: &[u8], user: User<'u>) -> User<'u> {
        if self.tasks.is_executing(pid) && Kernel::has_frames(chain) { User::None } else { user }
    }

    /// The thread's task, its stack with the kernel's frames on top of the user's, and why that ends early, if it
    /// does. `None` if the user does not want the process.
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
        let mut inner = Vec::new();
        kernel.frames(chain, batch, |frame| inner.push(Step::Kernel(frame)));
        let outermost = end.map(Step::End).into_iter().chain(self.frames.iter().rev().copied());
        let (node, is_whole) = stacks.stack(outermost.chain(inner), batch);
        self.sampled.cut += u64::from(!is_whole);
        Some((task, node, if is_whole { end } else { Some(Pseudo::StackTableFull) }))
    }

    /// Updates whose faults are wanted, if their events do not decide that already.
    pub(super) fn look_who_is_recorded(&mut self) {
        if self.options.scope != Scope::Recorded {
            return;
        }
        let now = Instant::now();
        self.recent.extend(self.recorded.pids().into_iter().map(|pid| (pid, now)));
        self.recent.retain(|_, seen| now.duration_since(*seen) < PAST);
    }

    /// Processes that are recorded now.
    pub(super) fn alive(&self) -> Vec<Subject> {
        self.recorded.alive()
    }

    /// True if records tell what every process on the system executes and maps.
    pub(super) fn is_told_of_all(&self) -> bool {
        !self.options.follows() || self.options.faults
    }

    /// After the last record: saves what the next recording can use.
    pub(super) fn finish(&self) {
        self.kernel.keep();
    }

    /// After every record read so far has been taken.
    pub(super) fn end_round(&mut self) {
        self.files.end_round();
        self.kernel.end_round(&self.batch);
        self.batch.faults.extend(self.pairs.rest());
        self.batch.faults.sort_by_key(|fault| fault.ticks);
    }
}

#[cfg(test)]
mod tests;
