//! Addresses of a profile, and the functions there.

use super::strings::Strings;
use crate::addresses::{Range, build_id, call_address, ranges};
use crate::protobuf::Message;
use analysis::{Kind, LabelId, Step};
use capture::{Frame, FrameId, ModuleId, ProcessId, StringId, Tables};
use engine::Loaded;
use std::collections::HashMap;

const MAPPING: u32 = 3;
const LOCATION: u32 = 4;
const FUNCTION: u32 = 5;

/// Which locations, and records they refer to, have been written. Ids count from 1; 0 is none.
#[derive(Debug)]
pub(super) struct Locations {
    ranges: Vec<Range>,
    /// By frame, whether it has been written.
    frames: Vec<bool>,
    /// By module, whether it has been written.
    modules: Vec<bool>,
    functions: HashMap<(LabelId, Option<StringId>), u64>,
}

impl Locations {
    pub(super) fn new(tables: &Tables) -> Self {
        Self {
            ranges: ranges(tables),
            frames: vec![false; tables.frames.len()],
            modules: vec![false; tables.modules.len()],
            functions: HashMap::new(),
        }
    }

    /// The id of a frame's location; a new one is added to the message with all that it refers to. None for a call
    /// kind, which is not a place.
    pub(super) fn of(
        &mut self,
        loaded: &Loaded,
        frame: FrameId,
        strings: &mut Strings,
        message: &mut Message,
    ) -> Option<i64> {
        let steps = loaded.names.steps(frame);
        if steps.is_empty() {
            return None;
        }
        let id = frame.index() as u64 + 1;
        if !std::mem::replace(self.frames.get_mut(frame.index())?, true) {
            let mut location = Message::new();
            location.uint(1, id);
            if let Some(Frame::Code { module, address, exact }) = loaded.tables.frames.get(frame.index()) {
                let address = call_address(*address, *exact);
                let mut start = 0;
                if let Some(module) = module.filter(|module| module.index() < self.modules.len()) {
                    self.mapping(loaded, module, strings, message);
                    location.uint(2, module.index() as u64 + 1);
                    start = self.ranges[module.index()].start;
                }
                location.uint(3, start.saturating_add(address));
            }
            for step in steps {
                let function = self.function(loaded, step, strings, message);
                let line = i64::from(step.line.unwrap_or(0));
                location.message(4, Message::new().uint(1, function).int(2, line));
            }
            message.message(LOCATION, &location);
        }
        i64::try_from(id).ok()
    }

    /// Adds the mapping of the main program: readers take the first mapping for it.
    pub(super) fn main_program(&mut self, loaded: &Loaded, strings: &mut Strings, message: &mut Message) {
        if let Some(module) = main_program(loaded) {
            self.mapping(loaded, module, strings, message);
        }
    }

    fn mapping(&mut self, loaded: &Loaded, id: ModuleId, strings: &mut Strings, message: &mut Message) {
        if std::mem::replace(&mut self.modules[id.index()], true) {
            return;
        }
        let Range { start, limit } = self.ranges[id.index()];
        let file = strings.id(&loaded.tables.modules[id.index()].path, message);
        let build_id = strings.id(&build_id(&loaded.tables, id), message);
        let mut mapping = Message::new();
        mapping.uint(1, id.index() as u64 + 1).uint(2, start).uint(3, limit);
        mapping.int(5, file).int(6, build_id);
        // It has functions, files, lines and inlined functions as far as they are known: pprof should not symbolize
        // again.
        (7..=10).for_each(|known| {
            mapping.uint(known, 1);
        });
        message.message(MAPPING, &mapping);
    }

    fn function(
        &mut self,
        loaded: &Loaded,
        step: &Step,
        strings: &mut Strings,
        message: &mut Message,
    ) -> u64 {
        let key = (step.label, step.file);
        if let Some(&id) = self.functions.get(&key) {
            return id;
        }
        let id = self.functions.len() as u64 + 1;
        self.functions.insert(key, id);
        let label = loaded.names.label(step.label);
        let name = strings.id(&label.name, message);
        // The name without what tells namesakes apart.
        let system_name = match label.kind {
            Kind::Function(function, _) => strings.id(loaded.tables.string(function), message),
            _ => name,
        };
        let file = strings.id(step.file.map_or("", |file| loaded.tables.string(file)), message);
        let mut function = Message::new();
        function.uint(1, id).int(2, name).int(3, system_name).int(4, file);
        message.message(FUNCTION, &function);
        id
    }
}

/// The executable of the first process with stacks here; if that executed another program, as `env` does, then that
/// program.
fn main_program(loaded: &Loaded) -> Option<ModuleId> {
    let Tables { processes, modules, .. } = &loaded.tables;
    let first = loaded.profile.sites.iter().map(|site| site.process.index()).min()?;
    let mut main = first;
    // A later image has a higher number, so each comes after the one that it replaced.
    for (index, process) in processes.iter().enumerate().skip(first + 1) {
        if process.image > 0 && process.parent == Some(ProcessId::from_index(main)) {
            main = index;
        }
    }
    let executable = &processes.get(main)?.executable;
    let module = modules.iter().position(|module| module.path == *executable)?;
    Some(ModuleId::from_index(module))
}
