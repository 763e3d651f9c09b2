//! Profiles of OTLP, signal *development*, as version 1.10.0 of <https://github.com/open-telemetry/opentelemetry-proto>
//! has them: the request `ExportProfilesServiceRequest` of `profiles_service.proto`.
//!
//! ```text
//!  request ─┬─ resource_profiles ── Resource: service.name, labels
//!           │    └─ scope_profiles ─┬─ Profile  alloc_objects ─┐
//!           │                       ├─ Profile  alloc_space    │ samples: a stack, one value,
//!           │                       ├─ Profile  inuse_objects  │ the process
//!           │                       └─ Profile  inuse_space   ─┘
//!           └─ dictionary            mappings, locations, functions, strings, attributes, stacks; each first one is empty
//! ```
//!
//! Addresses are those that pprof has.

use crate::addresses::{Range, build_id, call_address, ranges};
use crate::origin::CREATOR;
use crate::protobuf::Message;
use analysis::{Cost, LabelId, Site, Step, process_name};
use capture::{Frame, FrameId, ModuleId, NodeId, ProcessId, StringId};
use engine::Loaded;
use std::collections::HashMap;

/// Whom a profile is of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resource {
    /// `service.name`.
    pub service: String,
    /// Further attributes.
    pub labels: Vec<(String, String)>,
}

/// A kind of value: name, unit, and which part of the cost it is.
type Value = (&'static str, &'static str, fn(&Cost) -> i64);

/// Those of Go's heap profiles, which every receiver knows.
const VALUES: [Value; 4] = [
    ("alloc_objects", "count", |cost| cost.allocated.blocks),
    ("alloc_space", "bytes", |cost| cost.allocated.bytes),
    ("inuse_objects", "count", |cost| cost.live().blocks),
    ("inuse_space", "bytes", |cost| cost.live().bytes),
];

/// A request with four profiles, uncompressed.
pub(super) fn request(loaded: &Loaded, resource: &Resource, id: [u8; 16]) -> Vec<u8> {
    let mut dictionary = Dictionary::new(loaded);
    let mut scope_profiles = Message::new();
    let mut scope = Message::new();
    scope.bytes(1, CREATOR.as_bytes());
    scope_profiles.message(1, &scope);
    let samples: Vec<(&Site, Message)> =
        loaded.profile.sites.iter().map(|site| (site, dictionary.sample(site))).collect();
    for (place, value) in (0..).zip(VALUES) {
        // Each profile has an id of its own, which is the same whenever the same interval is sent.
        let mut id = id;
        id[15] ^= place;
        scope_profiles.message(2, &dictionary.profile(value, &samples, &id));
    }
    let mut resource_profiles = Message::new();
    resource_profiles.message(1, &self::resource(resource)).message(2, &scope_profiles);
    let mut request = Message::new();
    request.message(1, &resource_profiles).message(2, &dictionary.message);
    request.as_bytes().to_vec()
}

fn resource(resource: &Resource) -> Message {
    let own = [("service.name", resource.service.as_str())];
    let labels = resource.labels.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let mut message = Message::new();
    for (name, value) in own.into_iter().chain(labels) {
        message.message(1, Message::new().bytes(1, name.as_bytes()).message(2, &text(value)));
    }
    message
}

/// An `AnyValue` with a text.
fn text(value: &str) -> Message {
    Message::new().bytes(1, value.as_bytes()).clone()
}

/// Fields of `ProfilesDictionary`.
mod table {
    pub(super) const MAPPING: u32 = 1;
    pub(super) const LOCATION: u32 = 2;
    pub(super) const FUNCTION: u32 = 3;
    pub(super) const STRING: u32 = 5;
    pub(super) const ATTRIBUTE: u32 = 6;
    pub(super) const STACK: u32 = 7;
}

/// The tables that all samples share. A row is written when it is first used, after the rows that it refers to.
struct Dictionary<'a> {
    loaded: &'a Loaded,
    ranges: Vec<Range>,
    message: Message,
    strings: HashMap<String, i64>,
    mappings: HashMap<ModuleId, i64>,
    locations: HashMap<FrameId, i64>,
    functions: HashMap<(LabelId, Option<StringId>), i64>,
    stacks: HashMap<NodeId, i64>,
    /// Attributes of samples, by process.
    processes: HashMap<ProcessId, Vec<i64>>,
    /// The number of attributes in the table.
    attributes: i64,
}

impl<'a> Dictionary<'a> {
    fn new(loaded: &'a Loaded) -> Dictionary<'a> {
        let mut message = Message::new();
        for table in table::MAPPING..=table::STACK {
            message.bytes(table, b"");
        }
        Dictionary {
            loaded,
            ranges: ranges(&loaded.tables),
            message,
            strings: HashMap::from([(String::new(), 0)]),
            mappings: HashMap::new(),
            locations: HashMap::new(),
            functions: HashMap::new(),
            stacks: HashMap::new(),
            processes: HashMap::new(),
            attributes: 0,
        }
    }

    /// One of the profiles, with the samples that have a value in it.
    fn profile(&mut self, (kind, unit, part): Value, samples: &[(&Site, Message)], id: &[u8]) -> Message {
        let mut profile = Message::new();
        profile.message(1, &self.value_type(kind, unit));
        for (site, sample) in samples {
            let value = part(&site.cost);
            if value != 0 {
                profile.message(2, sample.clone().ints(4, [value]));
            }
        }
        let metadata = &self.loaded.tables.metadata;
        let (from, until) = self.loaded.profile.span.times(self.loaded.duration_ns());
        let period_type = self.value_type("space", "bytes");
        profile
            .fixed(3, metadata.started_unix_ns.saturating_add(from))
            .uint(4, until.saturating_sub(from))
            .message(5, &period_type)
            .uint(6, metadata.sample_interval.max(1))
            .bytes(7, id)
            .clone()
    }

    /// A sample without its value.
    fn sample(&mut self, site: &Site) -> Message {
        let stack = self.stack(site.node);
        let attributes = self.attributes(site.process);
        Message::new().int(1, stack).ints(2, attributes).clone()
    }

    /// The attributes of a process' samples.
    fn attributes(&mut self, id: ProcessId) -> Vec<i64> {
        if let Some(known) = self.processes.get(&id) {
            return known.clone();
        }
        let process = self.loaded.tables.processes.get(id.index());
        let pid = process.map_or(0, |process| process.pid);
        let name = process.map(process_name).unwrap_or_default();
        // The field is part of a `oneof`: it would be there even with its default value, which no pid is.
        let pid = Message::new().int(3, pid.into()).clone();
        let made = [("process.pid", pid), ("process.executable.name", text(&name))];
        let made: Vec<i64> = made.into_iter().map(|(key, value)| self.attribute(key, &value)).collect();
        self.processes.insert(id, made.clone());
        made
    }

    fn attribute(&mut self, key: &str, value: &Message) -> i64 {
        let key = self.string(key);
        self.message.message(table::ATTRIBUTE, Message::new().int(1, key).message(2, value));
        self.attributes += 1;
        self.attributes
    }

    fn stack(&mut self, node: NodeId) -> i64 {
        if let Some(&known) = self.stacks.get(&node) {
            return known;
        }
        let loaded = self.loaded;
        let frames = loaded.tables.stack(node).map(|(_, row)| row.frame);
        let locations: Vec<i64> = frames.filter_map(|frame| self.location(frame)).collect();
        self.message.message(table::STACK, Message::new().ints(1, locations));
        let place = self.stacks.len() as i64 + 1;
        self.stacks.insert(node, place);
        place
    }

    /// None for a call kind, which is not a place.
    fn location(&mut self, frame: FrameId) -> Option<i64> {
        if let Some(&known) = self.locations.get(&frame) {
            return Some(known);
        }
        let loaded = self.loaded;
        let steps = loaded.names.steps(frame);
        if steps.is_empty() {
            return None;
        }
        let mut location = Message::new();
        if let Some(Frame::Code { module, address, exact }) = loaded.tables.frames.get(frame.index()) {
            let range = module.and_then(|module| self.ranges.get(module.index()).copied());
            if let (Some(module), Some(range)) = (module, range) {
                location.int(1, self.mapping(*module, range));
            }
            let start = range.map_or(0, |range| range.start);
            location.uint(2, start.saturating_add(call_address(*address, *exact)));
        }
        for step in steps {
            let function = self.function(step);
            location.message(3, Message::new().int(1, function).int(2, step.line.unwrap_or(0).into()));
        }
        self.message.message(table::LOCATION, &location);
        let place = self.locations.len() as i64 + 1;
        self.locations.insert(frame, place);
        Some(place)
    }

    fn mapping(&mut self, module: ModuleId, range: Range) -> i64 {
        if let Some(&known) = self.mappings.get(&module) {
            return known;
        }
        let loaded = self.loaded;
        let path = loaded.tables.modules.get(module.index()).map_or("", |module| &module.path);
        let file = self.string(path);
        let mut mapping = Message::new();
        mapping.uint(1, range.start).uint(2, range.limit).int(4, file);
        let id = build_id(&loaded.tables, module);
        if !id.is_empty() {
            let attribute = self.attribute("process.executable.build_id.gnu", &text(&id));
            mapping.ints(5, [attribute]);
        }
        self.message.message(table::MAPPING, &mapping);
        let place = self.mappings.len() as i64 + 1;
        self.mappings.insert(module, place);
        place
    }

    fn function(&mut self, step: &Step) -> i64 {
        let key = (step.label, step.file);
        if let Some(&known) = self.functions.get(&key) {
            return known;
        }
        let loaded = self.loaded;
        let name = self.string(&loaded.names.label(step.label).name);
        let file = self.string(step.file.map_or("", |file| loaded.tables.string(file)));
        self.message.message(table::FUNCTION, Message::new().int(1, name).int(3, file));
        let place = self.functions.len() as i64 + 1;
        self.functions.insert(key, place);
        place
    }

    fn value_type(&mut self, kind: &str, unit: &str) -> Message {
        let (kind, unit) = (self.string(kind), self.string(unit));
        Message::new().int(1, kind).int(2, unit).clone()
    }

    fn string(&mut self, text: &str) -> i64 {
        if let Some(&known) = self.strings.get(text) {
            return known;
        }
        let place = self.strings.len() as i64;
        self.strings.insert(text.to_owned(), place);
        self.message.bytes(table::STRING, text.as_bytes());
        place
    }
}
