//! Captures made by hand, for tests.

#![allow(dead_code, reason = "each test uses a part of it")]

pub(crate) mod fixtures;
pub(crate) mod golden;

use analysis::{Counting, Profile, ProfileBuilder, SampleSites};
use capture::{
    Action, Area, Counter, CounterKind, Create, Ended, Event, Frame, FrameId, Mark, MarkId, MarkKind, Module,
    ModuleId, Node, NodeId, Object, Observer, Pointer, Process, ProcessEnd, ProcessId, Pseudo,
    ReallocOutcome, Sample, Scan, ScanId, SourceFrame, StringId, Symbolized, Tables, Task, TaskId, Thread,
    ThreadId, Writer,
};
use std::fs::File;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Tables and events that grow by calls that read like a program.
#[derive(Default)]
pub(crate) struct Made {
    pub(crate) tables: Tables,
    pub(crate) events: Vec<Event>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) counters: Vec<Counter>,
    pub(crate) pointers: Vec<Vec<Pointer>>,
    pub(crate) objects: Vec<Vec<Object>>,
    pub(crate) time: u64,
}

/// A capture in a file, which lasts as long as this.
pub(crate) struct Saved {
    path: PathBuf,
    _folder: TempDir,
}

impl Deref for Saved {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl Made {
    /// A capture with nothing in it, not even a summary.
    pub(crate) fn new() -> Self {
        let mut made = Self::default();
        made.tables.nodes.push(Node { parent: NodeId::ROOT, frame: FrameId(0) });
        made
    }

    /// A capture of a process with one thread.
    pub(crate) fn app() -> (Self, ProcessId, ThreadId) {
        let mut made = Self::new();
        let (process, thread) = made.process("app");
        (made, process, thread)
    }

    /// The same, and stacks.
    pub(crate) fn app_with<const N: usize>(stacks: [&str; N]) -> (Self, ProcessId, ThreadId, [NodeId; N]) {
        let (mut made, process, thread) = Self::app();
        let stacks = stacks.map(|stack| made.stack(stack));
        (made, process, thread, stacks)
    }

    /// A process with one thread, whose start is recorded.
    pub(crate) fn process(&mut self, name: &str) -> (ProcessId, ThreadId) {
        self.process_row(Process { name: name.to_owned(), ..Process::default() })
    }

    /// The same with everything given but the pid.
    pub(crate) fn process_row(&mut self, row: Process) -> (ProcessId, ThreadId) {
        let process = ProcessId::from_index(self.tables.processes.len());
        let pid = 1000 + process.0;
        self.tables.processes.push(Process { pid, ..row });
        let thread = self.thread(process);
        self.event(thread, Action::ProcessStart { process, fork: 0 });
        (process, thread)
    }

    /// A forked child with one thread.
    pub(crate) fn fork(&mut self, parent: ProcessId) -> (ProcessId, ThreadId) {
        let row = self.tables.processes[parent.index()].clone();
        self.process_row(Process { parent: Some(parent), forked: true, end: None, ..row })
    }

    pub(crate) fn thread(&mut self, process: ProcessId) -> ThreadId {
        let thread = ThreadId::from_index(self.tables.threads.len());
        self.tables.threads.push(Thread { process, tid: 5000 + thread.0, name: String::new() });
        thread
    }

    pub(crate) fn string(&mut self, text: &str) -> StringId {
        let place = self.tables.strings.iter().position(|string| string == text);
        StringId::from_index(place.unwrap_or_else(|| {
            self.tables.strings.push(text.to_owned());
            self.tables.strings.len() - 1
        }))
    }

    pub(crate) fn module(&mut self, path: &str) -> ModuleId {
        let place = self.tables.modules.iter().position(|module| module.path == path);
        ModuleId::from_index(place.unwrap_or_else(|| {
            self.tables.modules.push(Module { path: path.to_owned(), ..Module::default() });
            self.tables.modules.len() - 1
        }))
    }

    /// A frame with these functions, innermost first, in a file; every call makes a new one.
    pub(crate) fn frame(&mut self, module: Option<&str>, functions: &[&str]) -> FrameId {
        let module = module.map(|path| self.module(path));
        let id = FrameId::from_index(self.tables.frames.len());
        let address = 0x1000 + u64::from(id.0) * 16;
        self.tables.frames.push(Frame::Code { module, address, exact: false });
        let names = functions.iter().map(|function| {
            let line = 10 + u32::try_from(function.len()).unwrap();
            let file = self.string(&format!("/src/{}.c", function.chars().next().unwrap_or('x')));
            SourceFrame { function: Some(self.string(function)), file: Some(file), line: Some(line) }
        });
        let names: Vec<SourceFrame> = names.collect();
        self.tables.symbols.resize(id.index(), None);
        self.tables.symbols.push((!names.is_empty()).then_some(Symbolized {
            frame: id,
            names,
            ..Symbolized::default()
        }));
        id
    }

    /// Where the function begins of a frame without a name.
    pub(crate) fn start(&mut self, frame: FrameId, start: u64) {
        let symbol = Symbolized { frame, start: Some(start), ..Symbolized::default() };
        self.tables.symbols[frame.index()] = Some(symbol);
    }

    /// Why a frame has no name.
    pub(crate) fn reason(&mut self, frame: FrameId, reason: &str) {
        let reason = Some(self.string(reason));
        self.tables.symbols[frame.index()] = Some(Symbolized { frame, reason, ..Symbolized::default() });
    }

    pub(crate) fn pseudo(&mut self, pseudo: Pseudo) -> FrameId {
        let known = self.tables.frames.iter().position(|frame| *frame == Frame::Pseudo(pseudo));
        FrameId::from_index(known.unwrap_or_else(|| {
            self.tables.frames.push(Frame::Pseudo(pseudo));
            self.tables.symbols.push(None);
            self.tables.frames.len() - 1
        }))
    }

    pub(crate) fn node(&mut self, parent: NodeId, frame: FrameId) -> NodeId {
        let node = Node { parent, frame };
        let place = self.tables.nodes.iter().skip(1).position(|other| *other == node).map(|place| place + 1);
        NodeId::from_index(place.unwrap_or_else(|| {
            self.tables.nodes.push(node);
            self.tables.nodes.len() - 1
        }))
    }

    /// A stack in the file `/bin/app`, outermost first, as in `main > f > g`. `calloc` and the like at the end,
    /// and `[truncated stack]` at the beginning, are the pseudo frames.
    pub(crate) fn stack(&mut self, functions: &str) -> NodeId {
        functions.split(" > ").fold(NodeId::ROOT, |parent, function| {
            let frame = self.frame_of(function);
            self.node(parent, frame)
        })
    }

    /// A stack of functions in these files, outermost first; every call makes new frames.
    pub(crate) fn stack_in(&mut self, functions: &[(&str, &str)]) -> NodeId {
        functions.iter().fold(NodeId::ROOT, |parent, (module, function)| {
            let frame = self.frame(Some(module), &[function]);
            self.node(parent, frame)
        })
    }

    fn frame_of(&mut self, function: &str) -> FrameId {
        if let Some(pseudo) = Pseudo::ALL.into_iter().find(|pseudo| pseudo.label() == function) {
            return self.pseudo(pseudo);
        }
        let known = self.tables.symbols.iter().position(|symbol| {
            let name = symbol.as_ref().and_then(|symbol| symbol.names.first()?.function);
            name.is_some_and(|name| self.tables.string(name) == function)
        });
        known.map(FrameId::from_index).unwrap_or_else(|| self.frame(Some("/bin/app"), &[function]))
    }

    pub(crate) fn event(&mut self, thread: ThreadId, action: Action) {
        self.time += 1_000_000;
        self.events.push(Event { time: self.time, thread, action });
    }

    pub(crate) fn alloc(&mut self, thread: ThreadId, address: u64, size: u64, stack: NodeId) {
        self.event(thread, Action::Alloc { address, size, alignment: 0, stack });
    }

    pub(crate) fn free(&mut self, thread: ThreadId, address: u64) {
        self.event(thread, Action::Free { address, stack: NodeId::ROOT });
    }

    pub(crate) fn realloc(&mut self, thread: ThreadId, serial: u16, old: u64, outcome: ReallocOutcome) {
        self.event(thread, Action::ReallocBegin { address: old, serial });
        self.event(thread, Action::ReallocEnd { serial, outcome });
    }

    pub(crate) fn mark(&mut self, thread: ThreadId, kind: MarkKind, name: &str) {
        let (mark, name) = (MarkId::from_index(self.tables.marks.len()), self.string(name));
        self.event(thread, Action::Mark { mark });
        self.tables.marks.push(Mark { time: self.time, thread, kind, name });
    }

    /// A thread of a process as samples know it.
    pub(crate) fn task(&mut self, process: ProcessId, tid: u32, name: &str) -> TaskId {
        let pid = self.tables.processes[process.index()].pid;
        self.tables.tasks.push(Task { pid, tid, name: name.to_owned(), process: Some(process) });
        TaskId::from_index(self.tables.tasks.len() - 1)
    }

    /// A sample so many nanoseconds after the last event, which stands for a millisecond.
    pub(crate) fn sample(&mut self, task: TaskId, after: u64, stack: NodeId) {
        let time = self.time + after;
        self.samples.push(Sample { time, task, cpu: 1, stack, weight: 1_000_000 });
    }

    /// What a counter says right after the last event.
    pub(crate) fn counter(&mut self, process: Option<ProcessId>, kind: CounterKind, value: u64) {
        self.counters.push(Counter { time: self.time, process, kind, instance: 0, value });
    }

    /// A scan of a process right after the last event, which has found these pointers.
    pub(crate) fn scan(&mut self, process: ProcessId, areas: &[Area], pointers: &[(u64, u64)]) {
        let (time, areas) = (self.time + 1000, areas.to_vec());
        self.tables.scans.push(Scan { process, time, still_ns: 500_000, areas, ..Scan::default() });
        self.pointers.push(pointers.iter().map(|&(from, to)| Pointer { from, to }).collect());
        self.objects.push(Vec::new());
    }

    /// The last scan has found objects of a class there, too.
    pub(crate) fn objects_of(&mut self, class: &str, places: &[u64]) {
        let class = self.string(class);
        let objects = self.objects.last_mut().expect("there is a scan");
        objects.extend(places.iter().map(|&at| Object { at, class }));
        objects.sort_unstable();
    }

    pub(crate) fn end(&mut self, process: ProcessId, thread: ThreadId, ended: Ended) {
        self.event(thread, Action::ProcessEnd { process });
        self.tables.processes[process.index()].end = Some(ProcessEnd { ended, time: self.time });
    }

    pub(crate) fn profile(&self) -> Profile {
        let mut builder = ProfileBuilder::new(&self.tables);
        builder.events(&self.events);
        let mut profile = builder.finish();
        let mut sites = SampleSites::new(&mut profile, &self.tables);
        self.samples.iter().for_each(|sample| sites.add(sample));
        profile
    }

    /// Writes a made capture to a file, with a flush between every few events.
    pub(crate) fn write(&self, path: &Path) {
        self.write_with(self.begin(path));
    }

    /// The same to a file of this name in a folder of its own.
    pub(crate) fn saved(&self, name: &str) -> Saved {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        self.write(&path);
        Saved { path, _folder: folder }
    }

    /// The same as a recording does it: the numbers of the whole are in the file, and a state after each twenty events.
    pub(crate) fn record(&self, path: &Path) {
        let metadata = &self.tables.metadata;
        let file = File::create(path).unwrap();
        let writer = Writer::observed(file, metadata, Counting::new(metadata)).unwrap();
        self.write_with(self.begun(writer.with_states(20, 0)));
    }

    fn write_with<O: Observer>(&self, mut writer: Writer<File, O>) {
        for events in self.events.chunks(5) {
            events.iter().for_each(|event| writer.event(*event).unwrap());
            writer.flush().unwrap();
        }
        writer.finish(&self.tables.summary.clone().unwrap_or_default()).unwrap();
    }

    /// Writes its tables to a file, for those who write the events.
    pub(crate) fn begin(&self, path: &Path) -> Writer {
        self.begun(Writer::create(path, Create::New, &self.tables.metadata).unwrap())
    }

    fn begun<O: Observer>(&self, mut writer: Writer<File, O>) -> Writer<File, O> {
        let tables = &self.tables;
        tables.strings.iter().for_each(|string| _ = writer.string(string).unwrap());
        tables.modules.iter().for_each(|module| _ = writer.module(module.clone()).unwrap());
        tables.processes.iter().for_each(|process| _ = writer.process(process.clone()).unwrap());
        tables.threads.iter().for_each(|thread| _ = writer.thread(thread.clone()).unwrap());
        tables.tasks.iter().for_each(|task| _ = writer.task(task.clone()).unwrap());
        tables.frames.iter().for_each(|frame| _ = writer.frame(*frame).unwrap());
        tables.nodes.iter().skip(1).for_each(|node| _ = writer.node(node.parent, node.frame).unwrap());
        tables.symbols.iter().flatten().for_each(|symbol| writer.symbolized(symbol.clone()).unwrap());
        tables.marks.iter().for_each(|mark| _ = writer.mark(*mark).unwrap());
        for ((scan, pointers), objects) in tables.scans.iter().zip(&self.pointers).zip(&self.objects) {
            let scan: ScanId = writer.scan(scan).unwrap();
            writer.pointers(scan, pointers).unwrap();
            writer.objects(scan, objects).unwrap();
        }
        self.samples.iter().for_each(|sample| writer.sample(*sample).unwrap());
        self.counters.iter().for_each(|counter| writer.counter(*counter).unwrap());
        writer
    }
}
