//! Translates the sampler's ids into the capture's.
//!
//! Samples refer to tasks. A task refers to a process only once that process is decided ([`super::owners`]); the
//! tasks of a decided image are forgotten with it.

use super::batch::{self, Batch, Copied, Image, KernelFrame, Step, Task, ThreadName};
use super::kernel::KERNEL;
use super::owners::{Decided, Owners};
use super::registers::Start;
use super::without_agent::WithoutAgent;
use crate::base::capture_writer::Writer;
use crate::base::clock::Clock;
use crate::remote_unwind::files::KnownFile;
use crate::tables::addresses::Addresses;
use crate::tables::anonymous_code::{AnonymousCode, JitReport};
use crate::tables::module::module_of;
use crate::tables::processes::Processes;
use crate::tables::unnamed::CodeFrame;
use capture::{
    Error, Fault, Frame, FrameId, MappedCode, Module, ModuleId, NodeId, ProcessId, Sample, SourceFrame,
    StackCopy, Symbolized, TaskId, Thread, ThreadId,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::time::Instant;

/// Most thread names that are kept, for threads whose name could not be read from `/proc`.
const MOST_NAMES: usize = 1 << 16;

/// Writes samples, and knows what of the sampler's ids has been written.
#[derive(Debug, Default)]
pub(crate) struct SampleWriter {
    modules: Vec<ModuleId>,
    kernel: Vec<FrameId>,
    /// Frames of the kernel proper, by offset from its beginning.
    pub(crate) kernel_frames: Vec<CodeFrame>,
    /// The first is the empty stack.
    nodes: Vec<NodeId>,
    /// By the sampler's number; only of images that are not decided yet.
    tasks: FxHashMap<u32, (TaskId, Task)>,
    /// The last name of each thread, by pid and tid.
    names: FxHashMap<(u32, u32), String>,
    owners: Owners,
    /// Code that the kernel did not report, by pid of the process, while that runs: each entry holds a descriptor.
    anonymous: FxHashMap<u32, AnonymousCode>,
    /// What processes that have ended reported about such code, by module.
    jit_reports: Vec<(ModuleId, JitReport)>,
    samples: u64,
    faults: u64,
    faults_without_stack: u64,
}

impl SampleWriter {
    /// Writes a whole batch.
    pub(crate) fn take(
        &mut self,
        mut batch: Batch,
        clock: &Clock,
        writer: &mut Writer,
        addresses: &mut Addresses,
    ) -> Result<(), Error> {
        self.take_stacks(&mut batch, writer, addresses)?;
        self.take_processes(&mut batch, writer)?;
        self.take_samples(&mut batch, clock, writer)?;
        self.take_faults(batch.faults, clock, writer)
    }

    /// Writes new modules, frames and stacks.
    fn take_stacks(
        &mut self,
        batch: &mut Batch,
        writer: &mut Writer,
        addresses: &mut Addresses,
    ) -> Result<(), Error> {
        for file in batch.modules.drain(..) {
            self.modules.push(module(file, writer, addresses)?);
        }
        for frame in batch.kernel.drain(..) {
            let code = kernel_frame(&frame, writer)?;
            self.kernel.push(code.frame);
            if frame.module == KERNEL {
                self.kernel_frames.push(code);
            }
        }
        if self.nodes.is_empty() {
            self.nodes.push(NodeId::ROOT);
        }
        for (parent, step) in batch.nodes.drain(..) {
            let frame = self.frame(step, writer, addresses)?;
            let parent = self.nodes.get(parent as usize).copied().unwrap_or(NodeId::ROOT);
            self.nodes.push(writer.node(parent, frame)?);
        }
        Ok(())
    }

    /// Takes images and threads that are new, have changed, or are gone.
    fn take_processes(&mut self, batch: &mut Batch, writer: &mut Writer) -> Result<(), Error> {
        for (id, image) in batch.images.drain(..) {
            if image.ended.is_some()
                && let Some(mut anonymous) = self.anonymous.remove(&image.pid)
            {
                self.jit_reports.extend(anonymous.jit_reports());
            }
            self.owners.put(id, image);
        }
        for (id, task) in batch.tasks.drain(..) {
            let row = capture::Task { pid: task.pid, tid: task.tid, name: task.name.clone(), process: None };
            let row = writer.task(row)?;
            self.tasks.insert(id, (row, task));
        }
        batch.gone.drain(..).for_each(|id| self.owners.leave(id));
        for ThreadName { pid, tid, name } in batch.names.drain(..) {
            if self.names.len() < MOST_NAMES || self.names.contains_key(&(pid, tid)) {
                self.names.insert((pid, tid), name);
            }
        }
        Ok(())
    }

    fn take_samples(&mut self, batch: &mut Batch, clock: &Clock, writer: &mut Writer) -> Result<(), Error> {
        let mut copies = batch.copies.drain(..).peekable();
        for (place, sample) in batch.samples.iter().enumerate() {
            let copy = copies.next_if(|copy| copy.sample == place);
            let (Some((task, _)), Some(stack)) =
                (self.tasks.get(&sample.task), self.nodes.get(sample.node as usize))
            else {
                continue;
            };
            if clock.is_before(sample.ticks) {
                continue;
            }
            let (time, task, stack) = (clock.nanoseconds_of(sample.ticks), *task, *stack);
            writer.sample(Sample { time, task, cpu: sample.cpu, stack, weight: sample.weight })?;
            if let Some(copy) = copy {
                writer.stack_copy(&self.stack_copy(copy))?;
            }
            self.samples += 1;
        }
        Ok(())
    }

    fn take_faults(
        &mut self,
        faults: Vec<batch::Fault>,
        clock: &Clock,
        writer: &mut Writer,
    ) -> Result<(), Error> {
        for fault in faults.into_iter().filter(|fault| !clock.is_before(fault.ticks)) {
            let Some((task, _)) = self.tasks.get(&fault.task) else { continue };
            let stack = fault.node.and_then(|node| self.nodes.get(node as usize)).copied();
            let (time, task) = (clock.nanoseconds_of(fault.ticks), *task);
            self.faults += 1;
            self.faults_without_stack += u64::from(stack.is_none());
            let stack = stack.unwrap_or(NodeId::ROOT);
            writer.fault(Fault { time, task, address: fault.address, stack, region: fault.region })?;
        }
        Ok(())
    }

    /// What the next sample was unwound from, with the capture's ids.
    fn stack_copy(&self, copy: Copied) -> StackCopy {
        let Copied { sample: _, start: Start { ip, sp, bp, link }, is_cut, stack, code } = copy;
        let code = code.into_iter().map(|code| MappedCode {
            start: code.start,
            end: code.end,
            offset: code.offset,
            module: code.module.and_then(|module| self.modules.get(module as usize).copied()),
        });
        StackCopy { sample: self.samples, ip, sp, bp, is_cut, stack, code: code.collect(), link }
    }

    fn frame(
        &mut self,
        step: Step,
        writer: &mut Writer,
        addresses: &mut Addresses,
    ) -> Result<FrameId, Error> {
        match step {
            Step::Kernel(id) => match self.kernel.get(id as usize) {
                Some(frame) => Ok(*frame),
                None => writer.frame(Frame::Pseudo(capture::Pseudo::NotTaken)),
            },
            Step::End(pseudo) => writer.frame(Frame::Pseudo(pseudo)),
            Step::Code { module, address, exact } => {
                let module = self.modules.get(module as usize).copied();
                code(Frame::Code { module, address, exact }, writer, addresses)
            }
            Step::Unfiled { pid, address, exact } => {
                let anonymous = self.anonymous.entry(pid).or_insert_with(|| AnonymousCode::new(pid));
                let (module, bias) = match anonymous.find(address, writer)? {
                    Some(found) => {
                        found.file.map(|file| addresses.files.entry(found.module).or_insert(file));
                        found.handle.into_iter().for_each(|handle| addresses.hold(found.module, handle));
                        (Some(found.module), found.bias)
                    }
                    None => (None, 0),
                };
                let address = address.wrapping_sub(bias);
                code(Frame::Code { module, address, exact }, writer, addresses)
            }
        }
    }

    /// What sampled processes reported about code that they generated, by module.
    pub(crate) fn jit_reports(&mut self) -> Vec<(ModuleId, JitReport)> {
        let still = self.anonymous.values_mut().flat_map(AnonymousCode::jit_reports);
        std::mem::take(&mut self.jit_reports).into_iter().chain(still).collect()
    }

    /// Number of samples in the capture.
    pub(crate) fn samples(&self) -> u64 {
        self.samples
    }

    /// Number of page faults in the capture, and how many of them have no stack.
    pub(crate) fn faults(&self) -> (u64, u64) {
        (self.faults, self.faults_without_stack)
    }

    /// Programs that recorded processes started and that have no agent, among the images decided so far.
    pub(crate) fn without_agent(&mut self) -> WithoutAgent {
        std::mem::take(&mut self.owners.without_agent)
    }

    /// Number of sampled processes whose program is unknown, among the images decided so far.
    pub(crate) fn nameless(&self) -> u64 {
        self.owners.nameless
    }

    /// Images that are kept.
    #[cfg(test)]
    pub(super) fn images(&self) -> usize {
        self.owners.count()
    }

    /// Tasks that are kept.
    #[cfg(test)]
    pub(super) fn tasks(&self) -> usize {
        self.tasks.len()
    }

    /// True when [`SampleWriter::settle`] has something to do.
    pub(crate) fn are_due(&self, before: Instant) -> bool {
        self.owners.are_due(before)
    }

    /// Assigns each task of an image that was gone before `before` to its process, and forgets both.
    pub(crate) fn settle(
        &mut self,
        before: Instant,
        processes: &mut Processes,
        clock: &Clock,
        writer: &mut Writer,
    ) -> Result<(), Error> {
        let decided = self.owners.settle(before, processes, clock, writer)?;
        let recorded = decided.values().filter(|decided| decided.is_recorded);
        let of = recorded.filter_map(|decided| decided.owner).collect();
        self.name(&decided, processes.take_nameless(Some(&of)), writer)?;
        let mut over: FxHashSet<u32> = decided.values().map(|decided| decided.image.pid).collect();
        let known = self.owners.pids();
        over.retain(|pid| !known.contains(pid));
        self.names.retain(|(pid, _), _| !over.contains(pid));
        Ok(())
    }

    /// Forgets images that were gone before the recording began.
    pub(crate) fn forget(&mut self, before: Instant) {
        let gone = self.owners.forget(before);
        self.tasks.retain(|_, (_, task)| !gone.contains(&task.image));
        let known = self.owners.pids();
        self.names.retain(|(pid, _), _| known.contains(pid));
    }

    /// Assigns every remaining task to its process, at the end.
    pub(crate) fn finish(
        &mut self,
        processes: &mut Processes,
        clock: &Clock,
        writer: &mut Writer,
    ) -> Result<(), Error> {
        let decided = self.owners.finish(processes, clock, writer)?;
        self.name(&decided, processes.take_nameless(None), writer)
    }

    /// Writes the names and processes of these images' tasks. Also names threads that ended before anybody could read
    /// their name, if the kernel has reported it.
    fn name(
        &mut self,
        decided: &FxHashMap<u32, Decided>,
        nameless: Vec<(ThreadId, u32, Thread)>,
        writer: &mut Writer,
    ) -> Result<(), Error> {
        let tasks = self.tasks.extract_if(|_, (_, task)| decided.contains_key(&task.image));
        let tasks: BTreeMap<u32, (TaskId, Task)> = tasks.collect();
        let mut sampled: FxHashMap<(u32, u32), String> = FxHashMap::default();
        for (_, (id, Task { image, pid, tid, name })) in tasks {
            let process = decided.get(&image).and_then(|decided| decided.owner);
            let called = self.names.get(&(pid, tid)).cloned().unwrap_or_else(|| name.clone());
            writer.update_task(id, capture::Task { pid, tid, name: called, process })?;
            sampled.insert((pid, tid), name);
        }
        let owned = decided.values().filter_map(|it| Some(((it.owner?, it.image.pid), &it.image)));
        let images: FxHashMap<(ProcessId, u32), &Image> = owned.collect();
        for (id, pid, thread) in nameless {
            let place = (pid, thread.tid);
            // The name of a main thread is that of its image.
            let of_image =
                || images.get(&(thread.process, pid)).map(|image| &image.name).filter(|_| thread.tid == pid);
            let name = self.names.get(&place).or_else(|| sampled.get(&place)).or_else(of_image);
            if let Some(name) = name.filter(|name| !name.is_empty()) {
                writer.update_thread(id, Thread { name: name.clone(), ..thread })?;
            }
        }
        Ok(())
    }
}

/// Writes a code frame and queues it for symbolization.
fn code(code: Frame, writer: &mut Writer, addresses: &mut Addresses) -> Result<FrameId, Error> {
    let frame = writer.frame(code)?;
    if let Frame::Code { module, address, exact } = code {
        addresses.frames.add(CodeFrame { frame, module, address, exact });
    }
    Ok(frame)
}

fn module(mut known: KnownFile, writer: &mut Writer, addresses: &mut Addresses) -> Result<ModuleId, Error> {
    let id = writer.module(module_of(&known.file))?;
    let handle = known.handle.take();
    addresses.files.entry(id).or_insert_with(|| known.source());
    handle.into_iter().for_each(|handle| addresses.hold(id, handle));
    Ok(id)
}

fn kernel_frame(frame: &KernelFrame, writer: &mut Writer) -> Result<CodeFrame, Error> {
    let module = Some(writer.module(Module { path: frame.module.clone(), ..Module::default() })?);
    let &KernelFrame { address, exact, .. } = frame;
    let id = writer.frame(Frame::Code { module, address, exact })?;
    let names = match &frame.name {
        Ok(name) => vec![SourceFrame { function: Some(writer.string(name)?), file: None, line: None }],
        Err(_) => Vec::new(),
    };
    let reason = frame.reason().map(|reason| writer.string(&reason.to_string())).transpose()?;
    writer.symbolized(Symbolized { frame: id, names, reason, ..Symbolized::default() })?;
    Ok(CodeFrame { frame: id, module, address, exact })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that nothing is kept of an ended process with code in no file, except what it reported about that code.
    #[test]
    fn processes_that_have_ended_hold_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ended.memprof");
        let mut writer = crate::base::capture_writer::create(&path).unwrap();
        let (clock, pid) = (Clock::start(), std::process::id());
        let mut sample_writer = SampleWriter::default();
        let mut take = |batch| {
            sample_writer.take(batch, &clock, &mut writer, &mut Addresses::default()).unwrap();
            sample_writer.anonymous.len()
        };
        let code = Step::Unfiled { pid, address: 1, exact: true };
        let image = |ended| Image { pid, ended, ..Image::default() };
        let runs = Batch { nodes: vec![(0, code)], images: vec![(0, image(None))], ..Batch::default() };
        assert_eq!(take(runs), 1);
        assert_eq!(take(Batch { images: vec![(0, image(Some(1)))], ..Batch::default() }), 0);
        assert_eq!(sample_writer.jit_reports().len(), 1);
    }
}
