//! Tracks: processes and threads with their names, counters, marks and regions.

use super::packets::Packets;
use super::pid_of;
use crate::held::{Held, Holding};
use crate::notes::{Happenings, Note, NoteKind, notes_of};
use crate::origin::creator_and_caveats;
use crate::protobuf::Message;
use crate::readings::{Quantity, Readings};
use analysis::Instant;
use capture::{Event, ProcessId};
use engine::Loaded;
use std::collections::HashMap;
use std::io;

/// Fields of `TracePacket`.
const DESCRIPTOR: u32 = 60;
const EVENT: u32 = 11;

/// Most notes from events: there may be many losses.
const MOST_NOTES: usize = 1 << 16;

/// What a track is about; each has an id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Track {
    /// By pid.
    Process(u64),
    /// By pid and tid.
    Thread(u64, u64),
    /// Bytes that a process holds, by pid.
    Held(u64),
    Reading(Quantity),
    /// Notes of one kind and name in a process; none overlaps another one of the same lane.
    Notes {
        pid: u64,
        name: String,
        lane: usize,
    },
}

/// What types of events there are on a track.
#[derive(Clone, Copy)]
enum Kind {
    Begin = 1,
    End = 2,
    Instant = 3,
    Counter = 4,
}

/// What a counter counts.
enum Unit {
    Bytes,
    Percent,
}

/// All tracks.
pub(super) struct Tracks<'a> {
    loaded: &'a Loaded,
    known: HashMap<Track, u64>,
    held: Held,
    happenings: Happenings,
    notes: Vec<Note>,
    /// When the last note of each lane ends.
    lanes: HashMap<(u64, String), Vec<u64>>,
}

impl<'a> Tracks<'a> {
    pub(super) fn new(loaded: &'a Loaded) -> Tracks<'a> {
        Tracks {
            loaded,
            known: HashMap::new(),
            held: Held::new(loaded),
            happenings: Happenings::default(),
            notes: notes_of(loaded),
            lanes: HashMap::new(),
        }
    }

    pub(super) fn loaded(&self) -> &'a Loaded {
        self.loaded
    }

    /// Writes which processes and threads there are.
    pub(super) fn describe(&mut self, packets: &mut Packets<'_>) -> io::Result<()> {
        let loaded = self.loaded;
        for place in 0..loaded.tables.processes.len() {
            let process = ProcessId::from_index(place);
            let name = &loaded.names.label(loaded.names.process(process)).name;
            let pid = pid_of(loaded, process);
            let mut body = Message::new();
            body.uint(1, pid).bytes(6, name.as_bytes());
            self.define(packets, Track::Process(pid), &[], |message| {
                message.message(3, &body);
            })?;
        }
        let threads = loaded.tables.threads.iter().map(|thread| (thread.process, thread.tid, &thread.name));
        let owners = analysis::owners(&loaded.tables);
        let tasks = loaded.tables.tasks.iter().zip(owners);
        let tasks = tasks.filter_map(|(task, owner)| Some((owner?, task.tid, &task.name)));
        for (process, tid, name) in threads.chain(tasks) {
            let (pid, tid) = (pid_of(loaded, process), u64::from(tid));
            let mut body = Message::new();
            body.uint(1, pid).uint(2, tid).bytes(5, name.as_bytes());
            self.define(packets, Track::Thread(pid, tid), &[], |message| {
                message.message(4, &body);
            })?;
        }
        Ok(())
    }

    /// Notes what an event tells apart from allocations.
    pub(super) fn event(&mut self, at: Instant, event: &Event) {
        if self.notes.len() < MOST_NOTES {
            self.notes.extend(self.happenings.event(self.loaded, at, event));
        }
    }

    /// Adds bytes to what a process holds at a time; an error is kept in `written`.
    // Cost: one comparison, unless a step of time is over.
    pub(super) fn hold(
        &mut self,
        packets: &mut Packets<'_>,
        time: u64,
        process: ProcessId,
        bytes: i64,
        written: &mut io::Result<()>,
    ) {
        if let Some(over) = self.held.over(time)
            && written.is_ok()
        {
            *written = self.step(packets, over, time);
        }
        self.held.change(process, bytes);
    }

    fn step(&mut self, packets: &mut Packets<'_>, over: u64, time: u64) -> io::Result<()> {
        let mut changes: Vec<(ProcessId, Holding)> = Vec::new();
        self.held.step(time, |process, holding| changes.push((process, holding)));
        for (process, holding) in changes {
            let pid = pid_of(self.loaded, process);
            let track = Track::Held(pid);
            self.count(packets, (track, "heap", Unit::Bytes), Some(pid), over, holding.bytes)?;
        }
        Ok(())
    }

    /// Writes the rest: counters and notes.
    pub(super) fn finish(mut self, packets: &mut Packets<'_>) -> io::Result<()> {
        let end = crate::events::end(self.loaded);
        self.step(packets, end, end)?;
        for reading in Readings::new(&self.loaded.counters) {
            let elapsed = reading.time.saturating_sub(reading.since).max(1);
            let percent =
                i64::try_from(u128::from(reading.value) * 100 / u128::from(elapsed)).unwrap_or(i64::MAX);
            let known =
                |process: ProcessId| self.loaded.tables.processes.get(process.index()).map(|row| row.pid);
            let (name, unit, pid, value) = match reading.of {
                Quantity::Resident(process) => {
                    let Some(pid) = known(process) else { continue };
                    ("resident memory".to_owned(), Unit::Bytes, Some(pid), reading.value.cast_signed())
                }
                Quantity::Work(process) => {
                    let Some(pid) = known(process) else { continue };
                    ("CPU".to_owned(), Unit::Percent, Some(pid), percent)
                }
                Quantity::Busy(processor) => (format!("CPU {processor}"), Unit::Percent, None, percent),
            };
            let track = (Track::Reading(reading.of), name.as_str(), unit);
            self.count(packets, track, pid.map(u64::from), reading.time, value)?;
        }
        let rest = std::mem::take(&mut self.happenings).finish(self.loaded);
        let mut notes = std::mem::take(&mut self.notes);
        notes.extend(rest);
        notes.push(Note {
            kind: NoteKind::Recording,
            process: None,
            thread: None,
            from: 0,
            to: 0,
            name: creator_and_caveats(self.loaded),
            text: String::new(),
        });
        notes.sort_by_key(|note| note.from);
        notes.iter().try_for_each(|note| self.note(packets, note))
    }

    fn note(&mut self, packets: &mut Packets<'_>, note: &Note) -> io::Result<()> {
        let pid = note.process.map_or(0, |process| pid_of(self.loaded, process));
        let heading = match note.kind {
            NoteKind::Mark => note.name.clone(),
            NoteKind::Process | NoteKind::Recording => note.kind.name().to_owned(),
        };
        let lanes = self.lanes.entry((pid, heading.clone())).or_default();
        let lane = lanes.iter().position(|end| *end <= note.from).unwrap_or_else(|| {
            lanes.push(0);
            lanes.len() - 1
        });
        lanes[lane] = note.to;
        let track = Track::Notes { pid, name: heading.clone(), lane };
        let id = self.define(packets, track, &[(2, heading.as_bytes())], |message| {
            if note.process.is_some() {
                message.uint(5, id_of_process(pid));
            }
        })?;
        let mut body = Message::new();
        body.bytes(22, note.kind.name().as_bytes()).bytes(23, note.name.as_bytes());
        if !note.text.is_empty() {
            body.message(4, Message::new().bytes(10, b"details").bytes(6, note.text.as_bytes()));
        }
        if note.from == note.to {
            return event(packets, note.from, id, Kind::Instant, body);
        }
        event(packets, note.from, id, Kind::Begin, body)?;
        event(packets, note.to, id, Kind::End, Message::new())
    }

    /// Writes the value of a counter.
    fn count(
        &mut self,
        packets: &mut Packets<'_>,
        (track, name, unit): (Track, &str, Unit),
        pid: Option<u64>,
        time: u64,
        value: i64,
    ) -> io::Result<()> {
        let id = self.define(packets, track, &[(2, name.as_bytes())], |message| {
            let unit = match unit {
                Unit::Bytes => Message::new().uint(3, 3).clone(),
                Unit::Percent => Message::new().bytes(6, b"%").clone(),
            };
            message.message(8, &unit);
            if let Some(pid) = pid {
                message.uint(5, id_of_process(pid));
            }
        })?;
        event(packets, time, id, Kind::Counter, Message::new().any_int(30, value).clone())
    }

    /// The id of a track, which is described when it is first used.
    fn define(
        &mut self,
        packets: &mut Packets<'_>,
        track: Track,
        texts: &[(u32, &[u8])],
        describe: impl FnOnce(&mut Message),
    ) -> io::Result<u64> {
        if let Some(id) = self.known.get(&track) {
            return Ok(*id);
        }
        let id = match track {
            Track::Process(pid) => id_of_process(pid),
            _ => self.known.len() as u64 + 1,
        };
        self.known.insert(track, id);
        let mut body = Message::new();
        body.uint(1, id);
        for (field, text) in texts {
            body.bytes(*field, text);
        }
        describe(&mut body);
        packets.write(0, DESCRIPTOR, &body)?;
        Ok(id)
    }
}

/// The id of a process' track, beyond those of others.
fn id_of_process(pid: u64) -> u64 {
    1 << 40 | pid
}

fn event(packets: &mut Packets<'_>, time: u64, track: u64, kind: Kind, mut body: Message) -> io::Result<()> {
    body.uint(9, kind as u64).uint(11, track);
    packets.write(time, EVENT, &body)
}
