//! Call stacks, frames and their names, each with an id from its first use on.

use crate::protobuf::Message;
use analysis::{LabelId, Step, functions_of};
use capture::NodeId;
use engine::Loaded;
use std::collections::HashMap;

/// Numbers of the fields of `InternedData`.
mod field {
    pub(super) const FUNCTION_NAMES: u32 = 5;
    pub(super) const FRAMES: u32 = 6;
    pub(super) const CALLSTACKS: u32 = 7;
    pub(super) const MAPPING_PATHS: u32 = 17;
    pub(super) const SOURCE_PATHS: u32 = 18;
    pub(super) const MAPPINGS: u32 = 19;
}

/// The function of a stack without any.
const NO_STACK: &str = "[no stack]";
/// The module of a function that has none.
const NO_MODULE: &str = "[unknown]";

/// What has an id already.
pub(super) struct Stacks<'a> {
    loaded: &'a Loaded,
    stacks: HashMap<NodeId, u64>,
    frames: HashMap<(LabelId, Option<&'a str>, u32), u64>,
    /// By the field in which they are: ids of different fields are independent.
    strings: HashMap<(u32, &'a str), u64>,
    mappings: HashMap<&'a str, u64>,
    /// The frame of the empty stack.
    empty: Option<u64>,
    /// What was not written yet.
    new: Message,
}

impl<'a> Stacks<'a> {
    pub(super) fn new(loaded: &'a Loaded) -> Stacks<'a> {
        Stacks {
            loaded,
            stacks: HashMap::new(),
            frames: HashMap::new(),
            strings: HashMap::new(),
            mappings: HashMap::new(),
            empty: None,
            new: Message::new(),
        }
    }

    /// What got an id since the last call.
    pub(super) fn take_new(&mut self) -> Message {
        std::mem::take(&mut self.new)
    }

    /// The id of a stack.
    pub(super) fn id(&mut self, node: NodeId) -> u64 {
        if let Some(id) = self.stacks.get(&node) {
            return *id;
        }
        let steps: Vec<Step> =
            functions_of(&self.loaded.tables, &self.loaded.names, node).map(|(_, step)| step).collect();
        // The outermost function comes first.
        let mut frames: Vec<u64> = steps.iter().rev().map(|step| self.frame(step)).collect();
        if frames.is_empty() {
            frames.push(self.empty_frame());
        }
        let id = self.stacks.len() as u64 + 1;
        self.stacks.insert(node, id);
        let mut stack = Message::new();
        stack.uint(1, id);
        frames.into_iter().for_each(|frame| {
            stack.uint(2, frame);
        });
        self.new.message(field::CALLSTACKS, &stack);
        id
    }

    fn frame(&mut self, step: &Step) -> u64 {
        let loaded = self.loaded;
        let file = step.file.map(|file| loaded.tables.string(file)).filter(|path| !path.is_empty());
        let key = (step.label, file, step.line.unwrap_or(0));
        if let Some(id) = self.frames.get(&key) {
            return *id;
        }
        let name = self.string(field::FUNCTION_NAMES, &loaded.names.label(step.label).name);
        let mapping = self.mapping(loaded.module_of(step.label).unwrap_or(NO_MODULE));
        let source = file.map_or(0, |file| self.string(field::SOURCE_PATHS, file));
        let id = self.next_frame();
        self.frames.insert(key, id);
        let mut frame = Message::new();
        frame.uint(1, id).uint(2, name).uint(3, mapping).uint(5, source).uint(6, key.2.into());
        self.new.message(field::FRAMES, &frame);
        id
    }

    fn empty_frame(&mut self) -> u64 {
        if let Some(id) = self.empty {
            return id;
        }
        let name = self.string(field::FUNCTION_NAMES, NO_STACK);
        let mapping = self.mapping(NO_MODULE);
        let id = self.next_frame();
        self.empty = Some(id);
        self.new.message(field::FRAMES, Message::new().uint(1, id).uint(2, name).uint(3, mapping));
        id
    }

    fn next_frame(&self) -> u64 {
        self.frames.len() as u64 + u64::from(self.empty.is_some()) + 1
    }

    /// The id of a module, whose path is a list of its parts.
    fn mapping(&mut self, path: &'a str) -> u64 {
        if let Some(id) = self.mappings.get(path) {
            return *id;
        }
        let parts: Vec<u64> = path
            .split('/')
            .filter(|part| !part.is_empty())
            .map(|part| self.string(field::MAPPING_PATHS, part))
            .collect();
        let id = self.mappings.len() as u64 + 1;
        self.mappings.insert(path, id);
        let mut mapping = Message::new();
        mapping.uint(1, id);
        parts.into_iter().for_each(|part| {
            mapping.uint(7, part);
        });
        self.new.message(field::MAPPINGS, &mapping);
        id
    }

    fn string(&mut self, field: u32, text: &'a str) -> u64 {
        let next = self.strings.len() as u64 + 1;
        let new = &mut self.new;
        *self.strings.entry((field, text)).or_insert_with(|| {
            new.message(field, Message::new().uint(1, next).bytes(2, text.as_bytes()));
            next
        })
    }
}
