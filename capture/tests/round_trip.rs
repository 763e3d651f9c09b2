//! What is written is what is read.

use capture::{
    Action, Event, Frame, FrameId, Metadata, NodeId, Process, ProcessEnd, ProcessId, Pseudo, Reader,
    SourceFrame, Summary, Symbolized, Thread, ThreadId, Writer,
};
use proptest::prelude::*;

use crate::fixture::{self, contents, read};

/// Check that every table, every kind of event and every update come back from a finished file.
#[test]
fn fixture_comes_back() {
    let file = fixture::file();
    assert_eq!(read(file.as_slice()).unwrap(), contents());
    let reader = Reader::from_source(file).unwrap();
    assert_eq!((reader.cut(), reader.skipped(), reader.written_by()), (None, 0, "0.1.0"));
    assert_eq!(reader.event_count(), contents().events.len() as u64);
}

/// Check that a recording without events and rows is a capture too.
#[test]
fn empty_recording_comes_back() {
    let writer = Writer::new(Vec::new(), &Metadata::default()).unwrap();
    let found = read(writer.finish(&Summary::default()).unwrap()).unwrap();
    assert_eq!(found.events, []);
    assert_eq!(found.tables.summary, Some(Summary::default()));
    assert_eq!(found.tables.nodes.len(), 1);
}

/// Check that a pid used twice stays two processes, each with its own threads and end.
#[test]
fn reused_pid_is_two_processes() {
    let mut writer = Writer::new(Vec::new(), &Metadata::default()).unwrap();
    let process = |start_ticks| Process { pid: 42, start_ticks, ..Process::default() };
    let [first, second] = [100, 900].map(|ticks| writer.process(process(ticks)).unwrap());
    let thread = |process| Thread { process, tid: 42, name: String::new() };
    let [early, late] = [first, second].map(|process| writer.thread(thread(process)).unwrap());
    let ended = Process { end: Some(ProcessEnd::default()), ..process(100) };
    writer.update_process(first, ended.clone()).unwrap();
    let tables = read(writer.finish(&Summary::default()).unwrap()).unwrap().tables;
    assert_eq!(tables.processes, [ended, process(900)]);
    assert_eq!((tables.process_of(early), tables.process_of(late)), (Some(first), Some(second)));
}

/// Check that stacks that do not reach the root say why, in the capture as in the collector.
#[test]
fn end_states_of_stacks_come_back() {
    let mut writer = Writer::new(Vec::new(), &Metadata::default()).unwrap();
    for state in
        [Pseudo::Truncated, Pseudo::NoUnwindInfo, Pseudo::Broken, Pseudo::StackTableFull, Pseudo::NotTaken]
    {
        let outermost = writer.frame(Frame::Pseudo(state)).unwrap();
        let code = writer.frame(Frame::Code { module: None, address: 0x1000, exact: false }).unwrap();
        let parent = writer.node(NodeId::ROOT, outermost).unwrap();
        writer.node(parent, code).unwrap();
    }
    let tables = read(writer.finish(&Summary::default()).unwrap()).unwrap().tables;
    let ends: Vec<Frame> = (2..=10)
        .step_by(2)
        .map(|stack| {
            tables.stack(NodeId(stack)).last().map(|(_, node)| tables.frames[node.frame.index()]).unwrap()
        })
        .collect();
    let expected =
        [Pseudo::Truncated, Pseudo::NoUnwindInfo, Pseudo::Broken, Pseudo::StackTableFull, Pseudo::NotTaken];
    assert_eq!(ends, expected.map(Frame::Pseudo));
}

/// Check that chunks are found again when there are more than one index chunk lists, by the index and by a scan.
#[test]
fn long_recordings_have_a_chain_of_indices() {
    let mut writer = Writer::new(Vec::new(), &Metadata::default()).unwrap();
    writer.process(Process::default()).unwrap();
    writer.thread(Thread::default()).unwrap();
    for time in 0..2500 {
        writer.event(Event { time: time * 1000, thread: ThreadId(0), action: Action::ThreadStart }).unwrap();
        writer.flush().unwrap();
    }
    let file = writer.finish(&Summary::default()).unwrap();
    let unfinished = &file[..file.len() - 1];
    for bytes in [&file[..], unfinished] {
        let reader = Reader::from_source(bytes).unwrap();
        assert_eq!(reader.cut().is_none(), bytes.len() == file.len());
        let times: Vec<u64> = reader.events().unwrap().map(|event| event.unwrap().time).collect();
        assert!(times.iter().copied().eq((0..2500).map(|time| time * 1000)));
        let chunks = reader.index().iter();
        assert!(
            chunks
                .filter_map(capture::Chunk::times)
                .eq((0..2500u64).map(|time| time.saturating_sub(1) * 1000..=(time + 1) * 1000))
        );
    }
}

/// Check that names can be added to a finished capture of any number of chunks, again and again, and that all else stays
/// as it was, whether its index is used or not.
#[test]
fn names_are_added_to_finished_captures() {
    for chunks in [0, 1023, 1024, 2500] {
        let mut writer = Writer::new(Vec::new(), &Metadata::default()).unwrap();
        writer.process(Process::default()).unwrap();
        writer.thread(Thread::default()).unwrap();
        writer.string("before").unwrap();
        let frame = writer.frame(Frame::Code { module: None, address: 7, exact: true }).unwrap();
        for time in 0..chunks {
            let event = Event { time: time * 1000, thread: ThreadId(0), action: Action::ThreadStart };
            writer.event(event).unwrap();
            writer.flush().unwrap();
        }
        let summary = Summary { duration_ns: 9, ..Summary::default() };
        let mut file = writer.finish(&summary).unwrap();
        let mut expected = read(file.as_slice()).unwrap();
        for name in ["f", "g"] {
            let reader = Reader::from_source(file.as_slice()).unwrap();
            let mut end = Writer::after(reader.index(), reader.tables()).unwrap().unwrap();
            let place = end.length() as usize;
            let function = end.string(name).unwrap();
            let names = vec![SourceFrame { function: Some(function), file: None, line: None }];
            let symbol = Symbolized { frame, names, ..Symbolized::default() };
            end.symbolized(symbol.clone()).unwrap();
            let end = end.finish(&summary).unwrap();
            assert!(end.len() > file.len() - place, "none of the old end is left");
            file.splice(place.., end);
            expected.tables.strings.push(name.into());
            expected.tables.symbols = vec![Some(symbol)];
            assert_eq!(read(file.as_slice()).unwrap(), expected, "{chunks}");
            let scanned = read(&file[..file.len() - 1]).unwrap();
            assert_eq!(scanned.tables, expected.tables, "{chunks}");
        }
    }
    let unfinished = fixture::file();
    let reader = Reader::from_source(&unfinished[..unfinished.len() / 2]).unwrap();
    assert!(Writer::after(reader.index(), reader.tables()).unwrap().is_none());
}

/// Check that a chunk never exceeds the format's limits: half a million of the largest events come back in several.
#[test]
fn largest_events_fit_their_chunks() {
    let mut writer = Writer::new(Vec::new(), &Metadata::default()).unwrap();
    writer.process(Process::default()).unwrap();
    writer.thread(Thread::default()).unwrap();
    let event = |n: u64| {
        let odd = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 << 63;
        let action = Action::Remap {
            old_address: odd,
            old_length: !odd,
            address: odd.rotate_left(17),
            length: odd,
            stack: NodeId::ROOT,
        };
        Event { time: odd, thread: ThreadId(0), action }
    };
    let count = 500_000;
    (0..count).for_each(|n| writer.event(event(n)).unwrap());
    let reader = Reader::from_source(writer.finish(&Summary::default()).unwrap()).unwrap();
    let mut next = 0;
    let visit = |batch: &[Event]| {
        for found in batch {
            assert!(fixture::are_close(&[*found], &[event(next)]));
            next += 1;
        }
    };
    reader.for_each_batch(visit).unwrap();
    assert_eq!(next, count);
}

/// Check that a cursor starts at any chunk, and reads on from there to the end.
#[test]
fn cursor_starts_at_any_chunk() {
    let reader = Reader::from_source(fixture::file()).unwrap();
    let events = fixture::events();
    let second = reader.index().iter().rposition(|chunk| chunk.times().is_some()).unwrap();
    let mut cursor = reader.cursor().unwrap();
    for (chunk, expected) in
        [(second, &events[events.len() / 2..]), (0, &events), (reader.index().len(), &[])]
    {
        cursor.seek(chunk);
        let mut found = Vec::new();
        while let Some(batch) = cursor.next_batch().unwrap() {
            found.extend_from_slice(batch);
        }
        assert_eq!(found, expected, "from chunk {chunk}");
    }
}

/// Check that ids which the writer never gave out are refused, naming what refers and to what.
#[test]
fn unknown_ids_are_refused() {
    let mut writer = Writer::new(Vec::new(), &Metadata::default()).unwrap();
    let alloc = |stack| Action::Alloc { address: 1, size: 1, alignment: 0, stack };
    let event = |action| Event { time: 0, thread: ThreadId(0), action };
    let parent = Some(ProcessId(0));
    let refused = [
        writer.event(event(Action::ThreadStart)).unwrap_err(),
        writer.thread(Thread::default()).unwrap_err(),
        writer.process(Process { parent, ..Process::default() }).unwrap_err(),
        writer.node(NodeId(1), FrameId(0)).unwrap_err(),
        writer.node(NodeId::ROOT, FrameId(0)).unwrap_err(),
        writer
            .frame(Frame::Code { module: Some(capture::ModuleId(5)), address: 0, exact: true })
            .unwrap_err(),
        writer.symbolized(capture::Symbolized::default()).unwrap_err(),
        writer.mark(capture::Mark::default()).unwrap_err(),
    ];
    let expected = [
        "an event refers to thread 0",
        "a thread refers to process 0",
        "a process refers to parent 0",
        "a stack refers to stack 1",
        "a stack refers to frame 0",
        "a frame refers to module 5",
        "a symbol refers to frame 0",
        "a mark refers to thread 0",
    ];
    for (error, start) in refused.iter().zip(expected) {
        assert!(error.to_string().starts_with(start), "{error}");
    }
    // None of the refused calls took an id or spoiled the file.
    assert_eq!(writer.process(Process::default()).unwrap(), ProcessId(0));
    assert_eq!(writer.thread(Thread::default()).unwrap(), ThreadId(0));
    let error = writer.event(event(alloc(NodeId(1)))).unwrap_err();
    assert!(error.to_string().starts_with("an event refers to stack 1"), "{error}");
    let error = writer.event(event(Action::Mark { mark: capture::MarkId(0) })).unwrap_err();
    assert!(error.to_string().starts_with("an event refers to mark 0"), "{error}");
    let pool = capture::StringId(0);
    let error = writer.event(event(Action::PoolFree { pool, address: 1 })).unwrap_err();
    assert!(error.to_string().starts_with("an event refers to name 0"), "{error}");
    let error = writer.mark(capture::Mark::default()).unwrap_err();
    assert!(error.to_string().starts_with("a mark refers to name 0"), "{error}");
    let found = read(writer.finish(&Summary::default()).unwrap()).unwrap();
    assert_eq!((found.tables.processes.len(), found.tables.threads.len(), found.events.len()), (1, 1, 0));
}

/// A call of the writer; ids are taken modulo what exists.
#[derive(Clone, Debug)]
enum Call {
    String(String),
    Frame(u64, bool),
    Node(u32, u32),
    Process(u32, String),
    UpdateProcess(u32, Option<i32>),
    Thread(u32, String),
    Event(u64, u32, u64, u64, u32),
    Flush,
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        2 => ".{0,12}".prop_map(Call::String),
        3 => (0..40u64, any::<bool>()).prop_map(|(address, exact)| Call::Frame(address, exact)),
        3 => any::<(u32, u32)>().prop_map(|(parent, frame)| Call::Node(parent, frame)),
        1 => (any::<u32>(), "[a-z]{0,6}").prop_map(|(pid, name)| Call::Process(pid, name)),
        1 => any::<(u32, Option<i32>)>().prop_map(|(id, code)| Call::UpdateProcess(id, code)),
        1 => (any::<u32>(), "[a-z]{0,6}").prop_map(|(process, name)| Call::Thread(process, name)),
        6 => any::<(u64, u32, u64, u64, u32)>().prop_map(|(t, th, a, s, st)| Call::Event(t, th, a, s, st)),
        1 => Just(Call::Flush),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Check that any sequence of calls comes back: equal strings, frames and stacks once, the last update of each
    /// row, and the events in order.
    #[test]
    fn any_calls_come_back(calls in proptest::collection::vec(call(), 0..200)) {
        let mut writer = Writer::new(Vec::new(), &Metadata::default()).unwrap();
        let mut expected = fixture::Contents::default();
        let tables = &mut expected.tables;
        tables.summary = Some(Summary::default());
        tables.nodes.push(capture::Node { parent: NodeId::ROOT, frame: FrameId(0) });
        let pick = |id: u32, length: usize| (length != 0).then(|| id % length as u32);
        for call in calls {
            match call {
                Call::String(text) => {
                    let id = writer.string(&text).unwrap();
                    if id.index() == tables.strings.len() {
                        tables.strings.push(text);
                    } else {
                        prop_assert_eq!(&tables.strings[id.index()], &text);
                    }
                }
                Call::Frame(address, exact) => {
                    let frame = Frame::Code { module: None, address, exact };
                    let id = writer.frame(frame).unwrap();
                    if id.index() == tables.frames.len() {
                        tables.frames.push(frame);
                        tables.symbols.push(None);
                    } else {
                        prop_assert_eq!(tables.frames[id.index()], frame);
                    }
                }
                Call::Node(parent, frame) => {
                    let Some(frame) = pick(frame, tables.frames.len()).map(FrameId) else { continue };
                    let parent = NodeId(parent % tables.nodes.len() as u32);
                    let id = writer.node(parent, frame).unwrap();
                    let node = capture::Node { parent, frame };
                    if id.index() == tables.nodes.len() {
                        tables.nodes.push(node);
                    } else {
                        prop_assert_eq!(tables.nodes[id.index()], node);
                    }
                }
                Call::Process(pid, name) => {
                    let process = Process { pid, name, ..Process::default() };
                    tables.processes.push(process.clone());
                    writer.process(process).unwrap();
                }
                Call::UpdateProcess(id, code) => {
                    let Some(id) = pick(id, tables.processes.len()).map(ProcessId) else { continue };
                    let process = &mut tables.processes[id.index()];
                    process.end = code.map(|code| ProcessEnd { ended: capture::Ended::Exited(code), time: 9 });
                    writer.update_process(id, process.clone()).unwrap();
                }
                Call::Thread(process, name) => {
                    let Some(process) = pick(process, tables.processes.len()).map(ProcessId) else { continue };
                    let thread = Thread { process, tid: 7, name };
                    tables.threads.push(thread.clone());
                    writer.thread(thread).unwrap();
                }
                Call::Event(time, thread, address, size, stack) => {
                    let Some(thread) = pick(thread, tables.threads.len()).map(ThreadId) else { continue };
                    let stack = NodeId(stack % tables.nodes.len() as u32);
                    let action = Action::Alloc { address, size, alignment: 0, stack };
                    writer.event(Event { time, thread, action }).unwrap();
                    expected.events.push(Event { time, thread, action });
                }
                Call::Flush => writer.flush().unwrap(),
            }
        }
        let found = read(writer.finish(&Summary::default()).unwrap()).unwrap();
        prop_assert!(fixture::are_close(&found.events, &expected.events), "{:?}", found.events);
        prop_assert_eq!(found.tables, expected.tables);
    }
}

/// Check that a process whose texts exceed a row is stored with as much of them as fits, and that the recording goes
/// on.
#[test]
fn process_with_endless_texts_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.memprof");
    let mut writer = Writer::create(&path, capture::Create::New, &Metadata::default()).unwrap();
    let process = Process { name: "x".into(), pid: 7, ..Process::default() };
    for command in [vec!["ü".repeat(6 << 20)], vec![String::new(); 2 << 20]] {
        writer.process(Process { command, ..process.clone() }).unwrap();
    }
    let executable = "y".repeat(9 << 20);
    writer.process(Process { executable, command: vec!["z".into()], ..process.clone() }).unwrap();
    writer.process(process).unwrap();
    writer.finish(&Summary::default()).unwrap();
    let tables = Reader::open(&path).unwrap().into_tables();
    let texts = |process: &Process| (process.command.len(), process.command.first().map_or(0, String::len));
    let [long, many, path, plain] = tables.processes.as_slice() else { panic!("{}", tables.processes.len()) };
    assert!(texts(long).0 == 1 && texts(long).1 > 4 << 19, "{:?}", texts(long));
    assert!(texts(many).0 > 4 << 16, "{:?}", texts(many));
    assert!(path.executable.len() > 4 << 19 && path.command.len() <= 1);
    assert_eq!((plain.name.as_str(), plain.pid), ("x", 7));
}
