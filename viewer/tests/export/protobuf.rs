//! A reader of protocol buffers, and of pprof's profiles, that shares nothing with the writer, and checks what pprof itself
//! checks.

use flate2::read::GzDecoder;
use std::collections::HashMap;
use std::fmt::Write;
use std::io::Read;

/// What a field holds.
#[derive(Clone, Debug)]
enum Value {
    Int(i64),
    Bytes(Vec<u8>),
}

/// A message: numbers of fields and what they hold, in order.
pub(super) struct Message(Vec<(u64, Value)>);

/// Mapping, address, and lines: function and number.
type Location = (i64, i64, Vec<(i64, i64)>);

/// A profile.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    pub(crate) sample_types: Vec<(String, String)>,
    pub(crate) samples: Vec<Sample>,
    /// Files of the mappings, in order.
    pub(crate) files: Vec<String>,
    /// Start, limit, file and build id by id.
    mappings: HashMap<i64, (i64, i64, String, String)>,
    /// Mapping, address and lines of function and line by id.
    locations: HashMap<i64, Location>,
    /// Name, system name and file by id.
    functions: HashMap<i64, (String, String, String)>,
    head: Vec<String>,
}

/// A stack.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) locations: Vec<i64>,
    pub(crate) values: Vec<i64>,
    labels: Vec<(String, String)>,
}

impl Message {
    pub(super) fn decode(mut bytes: &[u8]) -> Message {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let value = match key & 7 {
                0 => Value::Int(varint(&mut bytes).cast_signed()),
                2 => {
                    let length = usize::try_from(varint(&mut bytes)).unwrap();
                    let (value, rest) = bytes.split_at(length);
                    bytes = rest;
                    Value::Bytes(value.to_vec())
                }
                other => panic!("a field of wire type {other}"),
            };
            fields.push((key >> 3, value));
        }
        Message(fields)
    }

    fn all(&self, field: u64) -> impl Iterator<Item = &Value> {
        self.0.iter().filter(move |(number, _)| *number == field).map(|(_, value)| value)
    }

    pub(super) fn int(&self, field: u64) -> i64 {
        self.all_ints(field).last().copied().unwrap_or(0)
    }

    pub(super) fn bytes(&self, field: u64) -> impl Iterator<Item = &[u8]> {
        self.all(field).map(move |value| match value {
            Value::Bytes(bytes) => &bytes[..],
            Value::Int(_) => panic!("field {field} is an integer"),
        })
    }

    /// All integers of a field that is not packed.
    pub(super) fn all_ints(&self, field: u64) -> Vec<i64> {
        let int = |value: &Value| match value {
            Value::Int(value) => *value,
            Value::Bytes(_) => panic!("field {field} is no integer"),
        };
        self.all(field).map(int).collect()
    }

    pub(super) fn messages(&self, field: u64) -> impl Iterator<Item = Message> {
        self.bytes(field).map(Message::decode)
    }

    fn ints(&self, field: u64) -> Vec<i64> {
        let mut ints = Vec::new();
        for mut packed in self.bytes(field) {
            while !packed.is_empty() {
                ints.push(varint(&mut packed).cast_signed());
            }
        }
        ints
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first().expect("a whole integer");
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return value;
        }
    }
    panic!("an integer of more than 64 bits");
}

impl Profile {
    /// Reads a profile, and checks that all that is referred to is there, once.
    pub(crate) fn decode(zipped: &[u8]) -> Profile {
        let mut bytes = Vec::new();
        GzDecoder::new(zipped).read_to_end(&mut bytes).expect("a whole gzip file");
        let message = Message::decode(&bytes);
        let strings: Vec<String> = message
            .bytes(6)
            .map(|text| String::from_utf8(text.to_vec()).expect("strings are UTF-8"))
            .collect();
        assert_eq!(strings[0], "", "the first string is empty");
        let string = |place: i64| strings[usize::try_from(place).unwrap()].clone();
        let kind = |part: &Message| (string(part.int(1)), string(part.int(2)));
        let mut profile = Profile {
            sample_types: message.messages(1).map(|part| kind(&part)).collect(),
            ..Profile::default()
        };
        let types =
            |name: &str, part: &Message| format!("{name} {} {}", string(part.int(1)), string(part.int(2)));
        profile.head.extend(message.messages(1).map(|part| types("sample_type", &part)));
        profile.head.extend(message.messages(11).map(|part| types("period_type", &part)));
        profile.head.extend(message.ints(13).into_iter().map(|place| format!("comment {}", string(place))));
        profile.head.push(format!("default {}", string(message.int(14))));
        profile.head.extend([9, 10, 12].map(|field| format!("field {field}: {}", message.int(field))));
        for part in message.messages(3) {
            let row = (part.int(2), part.int(3), string(part.int(5)), string(part.int(6)));
            profile.files.push(row.2.clone());
            assert!(profile.mappings.insert(part.int(1), row).is_none(), "one mapping of an id");
        }
        for part in message.messages(4) {
            let lines = part.messages(4).map(|line| (line.int(1), line.int(2))).collect();
            let row = (part.int(2), part.int(3), lines);
            assert!(profile.locations.insert(part.int(1), row).is_none(), "one location of an id");
        }
        for part in message.messages(5) {
            let row = (string(part.int(2)), string(part.int(3)), string(part.int(4)));
            assert!(profile.functions.insert(part.int(1), row).is_none(), "one function of an id");
        }
        for part in message.messages(2) {
            let label = |label: Message| match label.int(2) {
                0 => (string(label.int(1)), label.int(3).to_string()),
                text => (string(label.int(1)), string(text)),
            };
            let labels = part.messages(3).map(label).collect();
            profile.samples.push(Sample { locations: part.ints(1), values: part.ints(2), labels });
        }
        profile.check();
        profile
    }

    fn check(&self) {
        assert!(!self.locations.contains_key(&0) && !self.functions.contains_key(&0));
        for sample in &self.samples {
            assert_eq!(sample.values.len(), self.sample_types.len());
            assert!(sample.locations.iter().all(|id| self.locations.contains_key(id)));
        }
        for (mapping, address, lines) in self.locations.values() {
            assert!(lines.iter().all(|(function, _)| self.functions.contains_key(function)));
            if *mapping != 0 {
                let (start, limit, _, _) = self.mappings[mapping];
                assert!((start..limit).contains(address), "{address:#x} in {start:#x}..{limit:#x}");
            }
        }
    }

    /// The names of a location's functions, innermost first.
    pub(crate) fn functions_at(&self, location: i64) -> Vec<String> {
        let (_, _, lines) = &self.locations[&location];
        lines.iter().map(|(function, _)| self.functions[function].0.clone()).collect()
    }
}

/// The profile as text, a line for each thing.
pub(crate) fn text(zipped: &[u8]) -> String {
    let profile = Profile::decode(zipped);
    let mut text = profile.head.join("\n") + "\n";
    let mut mappings: Vec<_> = profile.mappings.iter().collect();
    mappings.sort();
    for (id, (start, limit, file, build_id)) in mappings {
        writeln!(text, "mapping {id} {start:#x}..{limit:#x} {file} {build_id:?}").unwrap();
    }
    for Sample { locations, values, labels } in &profile.samples {
        writeln!(text, "sample {values:?} {labels:?}").unwrap();
        for id in locations {
            let (mapping, address, lines) = &profile.locations[id];
            writeln!(text, "  location {id} in {mapping} at {address:#x}").unwrap();
            for (function, line) in lines {
                let (name, system_name, file) = &profile.functions[function];
                writeln!(text, "    {name:?} {system_name:?} {file}:{line}").unwrap();
            }
        }
    }
    text
}
