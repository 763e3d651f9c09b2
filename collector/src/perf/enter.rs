//! From the sampler's ids to the capture's.
//!
//! Samples refer to tasks, and tasks to processes only when the recording ends: an agent may tell of a process later
//! than the kernel does. Then each process that an agent told of belongs to the image that ran when it connected, and
//! images of which no agent told are added to the table of processes.

use super::batch::{Batch, Copied, Image, KernelFrame, Step, Task, ThreadName};
use super::images::Images;
use super::kernel::KERNEL;
use super::registers::Start;
use super::strangers;
use crate::addresses::Addresses;
use crate::anonymous_code::{AnonymousCode, Told};
use crate::clock::Clock;
use crate::modules::module_of;
use crate::processes::Processes;
use crate::stacks::CodeFrame;
use capture::{
    Ended, Error, Fault, Frame, FrameId, Hit, MappedCode, Module, ModuleId, NodeId, Process, ProcessEnd,
    ProcessId, Sample, SourceFrame, StackCopy, Symbolized, TaskId, Thread, TracepointId, Writer,
};
use rustc_hash::FxHashMap;
use symbols::ModuleFile;

/// Nanoseconds within which an agent has told of a program that was executed.
const LONG_ENOUGH: u64 = 1_000_000_000;

/// The pid of samples that the kernel takes of a task which it is done with.
const NOBODY: u32 = u32::MAX;

/// Names of threads that are kept for those that a name could not be read of.
const MOST_NAMES: usize = 1 << 16;

/// What has been entered.
#[derive(Debug, Default)]
pub(crate) struct Entered {
    modules: Vec<ModuleId>,
    kernel: Vec<FrameId>,
    /// Those of the kernel itself, by where they are from its beginning.
    pub(crate) kernel_frames: Vec<CodeFrame>,
    /// The empty stack first.
    nodes: Vec<NodeId>,
    tasks: Vec<(TaskId, Task)>,
    /// What threads were called last, by the numbers of process and thread.
    names: FxHashMap<(u32, u32), String>,
    tracepoints: Vec<TracepointId>,
    images: Vec<Image>,
    /// Code of processes that the kernel did not tell of, by pid, while they run: each holds a descriptor.
    anonymous: FxHashMap<u32, AnonymousCode>,
    /// What those that have ended told of it, by module.
    told: Vec<(ModuleId, Told)>,
    samples: u64,
    faults: u64,
    faults_without_stack: u64,
    hits: u64,
    without_agent: Vec<String>,
    nameless: u64,
}

impl Entered {
    /// Takes all of a batch in.
    pub(crate) fn take(
        &mut self,
        batch: Batch,
        clock: &Clock,
        writer: &mut Writer,
        addresses: &mut Addresses,
    ) -> Result<(), Error> {
        for file in batch.modules {
            self.modules.push(module(file, writer, addresses)?);
        }
        for frame in batch.kernel {
            let code = kernel_frame(&frame, writer)?;
            self.kernel.push(code.frame);
            if frame.module == KERNEL {
                self.kernel_frames.push(code);
            }
        }
        if self.nodes.is_empty() {
            self.nodes.push(NodeId::ROOT);
        }
        for (parent, step) in batch.nodes {
            let frame = self.frame(step, writer, addresses)?;
            let parent = self.nodes.get(parent as usize).copied().unwrap_or(NodeId::ROOT);
            self.nodes.push(writer.node(parent, frame)?);
        }
        for (id, image) in batch.images {
            if image.ended.is_some()
                && let Some(mut anonymous) = self.anonymous.remove(&image.pid)
            {
                self.told.extend(anonymous.told());
            }
            put(&mut self.images, id, image);
        }
        for (id, task) in batch.tasks {
            let row = capture::Task { pid: task.pid, tid: task.tid, name: task.name.clone(), process: None };
            let row = writer.task(row)?;
            put(&mut self.tasks, id, (row, task));
        }
        for ThreadName { pid, tid, name } in batch.names {
            if self.names.len() < MOST_NAMES || self.names.contains_key(&(pid, tid)) {
                self.names.insert((pid, tid), name);
            }
        }
        let mut copies = batch.copies.into_iter().peekable();
        for (place, sample) in batch.samples.iter().enumerate() {
            let copy = copies.next_if(|copy| copy.sample == place);
            let (Some((task, _)), Some(stack)) =
                (self.tasks.get(sample.task as usize), self.nodes.get(sample.node as usize))
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
        for fault in batch.faults.into_iter().filter(|fault| !clock.is_before(fault.ticks)) {
            let Some((task, _)) = self.tasks.get(fault.task as usize) else { continue };
            let stack = fault.node.and_then(|node| self.nodes.get(node as usize)).copied();
            let (time, task) = (clock.nanoseconds_of(fault.ticks), *task);
            self.faults += 1;
            self.faults_without_stack += u64::from(stack.is_none());
            let stack = stack.unwrap_or(NodeId::ROOT);
            writer.fault(Fault { time, task, address: fault.address, stack, region: fault.region })?;
        }
        for tracepoint in batch.tracepoints {
            self.tracepoints.push(writer.tracepoint(&tracepoint)?);
        }
        for hit in batch.hits.into_iter().filter(|hit| !clock.is_before(hit.ticks)) {
            let (Some((task, _)), Some(stack), Some(tracepoint)) = (
                self.tasks.get(hit.task as usize),
                self.nodes.get(hit.node as usize),
                self.tracepoints.get(hit.tracepoint as usize),
            ) else {
                continue;
            };
            let (time, task, stack, tracepoint) =
                (clock.nanoseconds_of(hit.ticks), *task, *stack, *tracepoint);
            writer.hit(Hit { time, task, tracepoint, stack, cookie: hit.cookie, size: hit.size })?;
            self.hits += 1;
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
                        (Some(found.module), found.bias)
                    }
                    None => (None, 0),
                };
                let address = address.wrapping_sub(bias);
                code(Frame::Code { module, address, exact }, writer, addresses)
            }
        }
    }

    /// What sampled processes have told of code that they made, by module.
    pub(crate) fn told(&mut self) -> Vec<(ModuleId, Told)> {
        let still = self.anonymous.values_mut().flat_map(AnonymousCode::told);
        std::mem::take(&mut self.told).into_iter().chain(still).collect()
    }

    /// Samples in the capture.
    pub(crate) fn samples(&self) -> u64 {
        self.samples
    }

    /// Page faults in the capture, and those of them that have no stack.
    pub(crate) fn faults(&self) -> (u64, u64) {
        (self.faults, self.faults_without_stack)
    }

    /// Hits of tracepoints in the capture.
    pub(crate) fn hits(&self) -> u64 {
        self.hits
    }

    /// Names of programs that recorded ones have started and that have no agent, once it was said whose images are whose.
    pub(crate) fn without_agent(&mut self) -> Vec<String> {
        std::mem::take(&mut self.without_agent)
    }

    /// Processes with samples of which nobody knows what they ran, once it was said whose images are whose.
    pub(crate) fn nameless(&self) -> u64 {
        self.nameless
    }

    /// Says which process each task belongs to. Images that only the kernel told of become processes of the capture.
    pub(crate) fn finish(
        &mut self,
        processes: &Processes,
        clock: &Clock,
        writer: &mut Writer,
    ) -> Result<(), Error> {
        let mut owners: Vec<Option<ProcessId>> = vec![None; self.images.len()];
        let mut recorded = vec![None; self.images.len()];
        let images = Images::of(&self.images);
        for (id, process, started) in processes.with_starts() {
            if let Some(image) = images.of_process(process, started, clock) {
                owners[image] = Some(id);
                recorded[image] = Some(process.attached);
            }
        }
        let now = clock.nanoseconds(clock.now());
        let lived = |image: &Image| {
            image.ended.is_some() || now.saturating_sub(clock.nanoseconds_of(image.started)) > LONG_ENOUGH
        };
        self.without_agent = strangers::without_agent(&self.images, &recorded, lived);
        for (index, image) in self.images.iter().enumerate() {
            if owners[index].is_some() || !image.is_chosen {
                continue;
            }
            let parent = image.parent.and_then(|parent| owners.get(parent as usize).copied().flatten());
            owners[index] = match parent {
                // A fork that no agent told of has executed nothing: it is still its parent's program.
                Some(parent) if !image.is_exec => Some(parent),
                parent if image.is_sampled || (image.is_exec && image.started > 0) => {
                    self.nameless += u64::from(image.is_sampled && image.is_unknown() && image.pid != NOBODY);
                    Some(writer.process(process_of(image, parent, clock))?)
                }
                _ => None,
            };
        }
        for (id, task) in &self.tasks {
            let process = owners.get(task.image as usize).copied().flatten();
            let Task { pid, tid, name, .. } = task.clone();
            let name = self.names.get(&(pid, tid)).cloned().unwrap_or(name);
            writer.update_task(*id, capture::Task { pid, tid, name, process })?;
        }
        self.name_threads(processes, &owners, writer)
    }

    /// Names threads that were gone before anybody could read what they were called: the kernel has told it.
    fn name_threads(
        &self,
        processes: &Processes,
        owners: &[Option<ProcessId>],
        writer: &mut Writer,
    ) -> Result<(), Error> {
        let sampled: FxHashMap<_, _> =
            self.tasks.iter().map(|(_, task)| ((task.pid, task.tid), &task.name)).collect();
        let images: FxHashMap<_, _> =
            owners.iter().zip(&self.images).filter_map(|(owner, image)| Some(((*owner)?, image))).collect();
        for (id, pid, thread) in processes.nameless_threads() {
            let place = (pid, thread.tid);
            // A main thread's name is that of its image.
            let of_image =
                || images.get(&thread.process).map(|image| &image.name).filter(|_| thread.tid == pid);
            let name = self.names.get(&place).or_else(|| sampled.get(&place).copied()).or_else(of_image);
            if let Some(name) = name.filter(|name| !name.is_empty()) {
                writer.update_thread(id, Thread { name: name.clone(), ..thread.clone() })?;
            }
        }
        Ok(())
    }
}

/// Sets a row, which is the next new one or one that is there.
fn put<T>(rows: &mut Vec<T>, id: u32, row: T) {
    match rows.get_mut(id as usize) {
        Some(place) => *place = row,
        None => rows.push(row),
    }
}

/// Enters a frame of code and notes that it wants a name.
fn code(code: Frame, writer: &mut Writer, addresses: &mut Addresses) -> Result<FrameId, Error> {
    let frame = writer.frame(code)?;
    if let Frame::Code { module, address, exact } = code {
        addresses.frames.add(CodeFrame { frame, module, address, exact });
    }
    Ok(frame)
}

fn module(file: ModuleFile, writer: &mut Writer, addresses: &mut Addresses) -> Result<ModuleId, Error> {
    let id = writer.module(module_of(&file))?;
    addresses.files.entry(id).or_insert(file);
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

fn process_of(image: &Image, parent: Option<ProcessId>, clock: &Clock) -> Process {
    let ended = |ticks| ProcessEnd { ended: Ended::Unknown, time: clock.nanoseconds_of(ticks) };
    Process {
        pid: image.pid,
        parent,
        image: u32::from(image.is_exec),
        name: image.program(),
        executable: image.executable.clone(),
        end: image.ended.map(ended),
        ..Process::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capture::{Create, Metadata};

    /// Check that of a process with code in no file nothing is held when it has ended, but what it told of that code.
    #[test]
    fn processes_that_have_ended_hold_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ended.memprof");
        let mut writer = Writer::create(&path, Create::New, &Metadata::default()).unwrap();
        let (clock, pid) = (Clock::start(), std::process::id());
        let mut entered = Entered::default();
        let mut take = |batch| {
            entered.take(batch, &clock, &mut writer, &mut Addresses::default()).unwrap();
            entered.anonymous.len()
        };
        let code = Step::Unfiled { pid, address: 1, exact: true };
        let image = |ended| Image { pid, ended, ..Image::default() };
        let runs = Batch { nodes: vec![(0, code)], images: vec![(0, image(None))], ..Batch::default() };
        assert_eq!(take(runs), 1);
        assert_eq!(take(Batch { images: vec![(0, image(Some(1)))], ..Batch::default() }), 0);
        assert_eq!(entered.told().len(), 1);
    }
}
