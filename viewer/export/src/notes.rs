//! What happened apart from allocations, with times: marks of programs, beginnings and ends of processes, losses and
//! pauses.

use super::events::end;
use analysis::format::counted;
use analysis::{Instant, process_name};
use capture::{Action, Ended, Event, MarkKind, ProcessId, ThreadId};
use engine::Loaded;
use std::collections::HashMap;

/// Something to be shown at its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Note {
    /// What it is about.
    pub(super) kind: NoteKind,
    /// The process; none if the capture does not say.
    pub(super) process: Option<ProcessId>,
    /// The thread; none if it is about the whole process.
    pub(super) thread: Option<ThreadId>,
    /// Nanoseconds since the recording began.
    pub(super) from: u64,
    /// The same as `from` for a moment.
    pub(super) to: u64,
    /// A few words.
    pub(super) name: String,
    /// Details, possibly empty.
    pub(super) text: String,
}

analysis::named! {
    /// What notes are about.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum NoteKind {
        /// A moment or region that the program named.
        Mark = "Marks",
        /// A process begins or ends.
        Process = "Processes",
        /// The recording lacks something.
        Recording = "Recording",
    }
}

/// What the tables tell, in order of time: marks, and how processes ended.
pub(super) fn notes_of(loaded: &Loaded) -> Vec<Note> {
    let tables = &loaded.tables;
    let mut notes = Vec::new();
    let instants = tables.marks.iter().filter(|mark| mark.kind == MarkKind::Instant);
    notes.extend(instants.map(|mark| Note {
        kind: NoteKind::Mark,
        process: tables.process_of(mark.thread),
        thread: Some(mark.thread),
        from: mark.time,
        to: mark.time,
        name: tables.string(mark.name).to_owned(),
        text: String::new(),
    }));
    for name in loaded.marks_by_name() {
        notes.extend(name.regions.iter().map(|region| Note {
            kind: NoteKind::Mark,
            process: tables.process_of(region.thread),
            thread: Some(region.thread),
            from: region.from,
            to: region.to,
            name: tables.string(name.name).to_owned(),
            text: if region.has_ended { String::new() } else { "not ended".to_owned() },
        }));
    }
    notes.extend(tables.processes.iter().enumerate().filter_map(|(place, row)| {
        let end = row.end.as_ref()?;
        let name = if end.ended == Ended::Exec { "exec" } else { "end" };
        let process = Some(ProcessId::from_index(place));
        let text = how(end.ended);
        Some(Note { from: end.time, to: end.time, ..Note::new(NoteKind::Process, process, name, text) })
    }));
    notes.sort_by_key(|note| note.from);
    notes
}

fn how(ended: Ended) -> String {
    match ended {
        Ended::Unknown => String::new(),
        Ended::Exited(code) => format!("with exit code {code}"),
        Ended::Signaled(signal) => format!("killed by signal {signal}"),
        Ended::Exec => "replaced by another program".to_owned(),
        Ended::Running => "still running when the recording ended".to_owned(),
    }
}

impl Note {
    fn new(kind: NoteKind, process: Option<ProcessId>, name: &str, text: String) -> Self {
        Self { kind, process, thread: None, from: 0, to: 0, name: name.to_owned(), text }
    }
}

/// Follows the events, and derives notes from them.
#[derive(Debug, Default)]
pub(super) struct Happenings {
    /// When processes began, or the recording of them.
    starts: HashMap<ProcessId, u64>,
    /// When gaps began, by thread.
    gaps: HashMap<ThreadId, u64>,
    /// When pauses began, by process.
    pauses: HashMap<ProcessId, u64>,
}

impl Happenings {
    /// What this event ends.
    // Cost: one comparison for allocations and frees.
    pub(super) fn event(&mut self, loaded: &Loaded, at: Instant, event: &Event) -> Option<Note> {
        let tables = &loaded.tables;
        let process = || tables.process_of(event.thread);
        match event.action {
            Action::ProcessStart { process, .. } => {
                self.starts.entry(process).or_insert(at.time);
                let row = tables.processes.get(process.index())?;
                let parent = row.parent.and_then(|parent| tables.processes.get(parent.index()));
                let text = match parent {
                    Some(parent) if row.forked => {
                        format!("{}, forked from {}", process_name(row), parent.pid)
                    }
                    _ if row.attached => format!("{}, already running", process_name(row)),
                    _ => process_name(row),
                };
                let (from, to) = (at.time, at.time);
                Some(Note { from, to, ..Note::new(NoteKind::Process, Some(process), "first event", text) })
            }
            Action::GapBegin => {
                self.gaps.entry(event.thread).or_insert(at.time);
                None
            }
            Action::GapEnd { allocations, frees } => {
                let from = self.gaps.remove(&event.thread).unwrap_or(at.time);
                Some(gap(process(), event.thread, from..at.time, Some((allocations, frees))))
            }
            Action::Pause => {
                self.pauses.entry(process()?).or_insert(at.time);
                None
            }
            Action::Resume => {
                // A process that began paused has been paused since then.
                let process = process()?;
                let began = || self.starts.get(&process).map_or(at.time, |start| *start);
                let from = self.pauses.remove(&process).unwrap_or_else(began);
                Some(pause(Some(process), from..at.time))
            }
            _ => None,
        }
    }

    /// What is unfinished at the end.
    pub(super) fn finish(self, loaded: &Loaded) -> Vec<Note> {
        let last = |from: u64| from..end(loaded).max(from);
        let process = |thread| loaded.tables.process_of(thread);
        let gaps = self.gaps.into_iter().map(|(thread, from)| gap(process(thread), thread, last(from), None));
        let pauses = self.pauses.into_iter().map(|(process, from)| pause(Some(process), last(from)));
        let mut notes: Vec<Note> = gaps.chain(pauses).collect();
        notes.sort_by_key(|note| (note.from, note.process, note.thread));
        notes
    }
}

fn gap(
    process: Option<ProcessId>,
    thread: ThreadId,
    when: std::ops::Range<u64>,
    lost: Option<(u64, u64)>,
) -> Note {
    let text = lost.map_or_else(
        || "to the end".to_owned(),
        |(allocations, frees)| {
            format!("{} and {}", counted(allocations, "allocation"), counted(frees, "free"))
        },
    );
    let note = Note::new(NoteKind::Recording, process, "events lost", text);
    Note { thread: Some(thread), from: when.start, to: when.end, ..note }
}

fn pause(process: Option<ProcessId>, when: std::ops::Range<u64>) -> Note {
    let text = "paused by the program".to_owned();
    let note = Note::new(NoteKind::Recording, process, "pause", text);
    Note { from: when.start, to: when.end, ..note }
}
