//! A reader of Perfetto's traces that shares nothing with the writer: what a packet refers to has to be interned before it,
//! once.

use super::protobuf::Message;
use analysis::Metric;
use std::collections::HashMap;
use std::fmt::Write;

/// When the recording begins in the trace.
const START: i64 = 1_000_000_000;

/// A stack of a process and what it has allocated and freed: bytes, then blocks.
type HeapRow = ((i64, i64), [i64; 4]);

/// A trace.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// By field of the interned data, then by id.
    strings: HashMap<(u64, i64), String>,
    /// Paths by id.
    mappings: HashMap<i64, String>,
    /// Name, module, file and line by id.
    frames: HashMap<i64, String>,
    /// Frames by id, outermost first.
    stacks: HashMap<i64, Vec<i64>>,
    /// What each track is by id.
    tracks: HashMap<i64, String>,
    /// The last profile of each stack.
    heap: HashMap<(i64, i64), [i64; 4]>,
    samples: i64,
    /// Regions that have begun and not ended, by track.
    open: HashMap<i64, i64>,
    lines: String,
}

impl Trace {
    pub(super) fn decode(bytes: &[u8]) -> Trace {
        let mut trace = Trace::default();
        for (place, packet) in Message::decode(bytes).messages(1).enumerate() {
            assert_eq!(packet.int(10), 1, "one sequence");
            assert_eq!(packet.int(13), if place == 0 { 1 } else { 2 }, "interned data begins with the first");
            packet.messages(12).for_each(|data| trace.intern(&data));
            packet.messages(60).for_each(|track| trace.define(&track));
            let time = packet.int(8) - START;
            assert!(place == 0 || time >= 0, "each packet has a time");
            packet.messages(37).for_each(|profile| trace.profile(time, &profile));
            packet.messages(66).for_each(|sample| trace.sample(time, &sample));
            packet.messages(11).for_each(|event| trace.event(time, &event));
        }
        assert!(trace.open.values().all(|open| *open == 0), "regions end");
        trace
    }

    fn intern(&mut self, data: &Message) {
        for field in [5, 17, 18] {
            for string in data.messages(field) {
                let text = string.bytes(2).next().expect("a text").to_vec();
                let text = String::from_utf8(text).expect("strings are UTF-8");
                assert!(self.strings.insert((field, string.int(1)), text).is_none(), "one string of an id");
            }
        }
        for mapping in data.messages(19) {
            let parts = mapping.all_ints(7).into_iter().map(|part| self.strings[&(17, part)].clone());
            let path = parts.collect::<Vec<_>>().join("/");
            assert!(self.mappings.insert(mapping.int(1), path).is_none(), "one mapping of an id");
        }
        for frame in data.messages(6) {
            let (name, mapping) = (&self.strings[&(5, frame.int(2))], &self.mappings[&frame.int(3)]);
            let mut text = format!("{name:?} in {mapping}");
            if frame.int(5) != 0 {
                write!(text, " {}:{}", self.strings[&(18, frame.int(5))], frame.int(6)).unwrap();
            }
            assert!(self.frames.insert(frame.int(1), text).is_none(), "one frame of an id");
        }
        for stack in data.messages(7) {
            let frames = stack.all_ints(2);
            assert!(!frames.is_empty() && frames.iter().all(|frame| self.frames.contains_key(frame)));
            assert!(self.stacks.insert(stack.int(1), frames).is_none(), "one stack of an id");
        }
    }

    fn define(&mut self, track: &Message) {
        let text = |message: &Message, field| {
            message
                .bytes(field)
                .next()
                .map(|text| String::from_utf8_lossy(text).into_owned())
                .unwrap_or_default()
        };
        let mut what = text(track, 2);
        for process in track.messages(3) {
            write!(what, "process {} {:?}", process.int(1), text(&process, 6)).unwrap();
        }
        for thread in track.messages(4) {
            write!(what, "thread {} of {} {:?}", thread.int(2), thread.int(1), text(&thread, 5)).unwrap();
        }
        if track.int(5) != 0 {
            write!(what, " of {}", self.tracks[&track.int(5)]).unwrap();
        }
        for counter in track.messages(8) {
            write!(what, ", a counter in {} {:?}", counter.int(3), text(&counter, 6)).unwrap();
        }
        writeln!(self.lines, "track {what}").unwrap();
        assert!(self.tracks.insert(track.int(1), what).is_none(), "one track of an id");
    }

    fn profile(&mut self, time: i64, profile: &Message) {
        for dump in profile.messages(5) {
            assert_eq!(dump.int(9) - START, time);
            let mut rows: Vec<HeapRow> = Vec::new();
            for sample in dump.messages(2) {
                let row = [2, 3, 5, 6].map(|field| sample.int(field));
                let key = (dump.int(1), sample.int(1));
                let before = self.heap.insert(key, row).unwrap_or_default();
                assert!(self.stacks.contains_key(&key.1) && row != before, "{row:?} and before {before:?}");
                assert!(row.iter().zip(before).all(|(now, before)| *now >= before), "{row:?}, {before:?}");
                rows.push((key, row));
            }
            writeln!(self.lines, "heap of {} at {time}", dump.int(1)).unwrap();
            rows.iter().for_each(|((_, stack), row)| {
                writeln!(self.lines, "  {row:?} {}", self.stack(*stack)).unwrap();
            });
        }
    }

    fn sample(&mut self, time: i64, sample: &Message) {
        self.samples += 1;
        let [cpu, pid, tid, stack] = [1, 2, 3, 4].map(|field| sample.int(field));
        writeln!(self.lines, "sample at {time}: {cpu}, {tid} of {pid}, {}", self.stack(stack)).unwrap();
    }

    fn event(&mut self, time: i64, event: &Message) {
        let (kind, track) = (event.int(9), event.int(11));
        let name = event.bytes(23).next().map(|name| String::from_utf8_lossy(name).into_owned());
        let open = self.open.entry(track).or_default();
        *open += i64::from(kind == 1) - i64::from(kind == 2);
        assert!((0..2).contains(open), "one region at a time");
        let kind = ["", "begin", "end", "instant", "value"][usize::try_from(kind).unwrap()];
        let value = event.int(30);
        let name = name.unwrap_or_default();
        writeln!(self.lines, "{kind} at {time} of {}: {value} {name}", self.tracks[&track]).unwrap();
    }

    fn stack(&self, id: i64) -> String {
        let frames: Vec<&str> = self.stacks[&id].iter().map(|frame| self.frames[frame].as_str()).collect();
        frames.join(" > ")
    }

    /// What was allocated by the last profiles, and the samples.
    pub(super) fn sums(&self) -> Vec<(Metric, i64)> {
        let allocated = self.heap.values().map(|[allocated, ..]| allocated).sum();
        vec![(Metric::Bytes, allocated), (Metric::Cpu, self.samples)]
    }

    /// A line for each thing.
    pub(super) fn text(&self) -> String {
        self.lines.clone()
    }
}
