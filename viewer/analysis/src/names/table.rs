//! The names of frames.
//!
//! | known | shown |
//! |---|---|
//! | the function | its name |
//! | only the file, and where in it the function begins | `<in libx.so.1+0x4a2b0>` |
//! | only the file | `<in libx.so.1>` |
//! | only what memory it is in | `<in heap>`, `<in stack of thread 12>`, `<in anonymous code (JIT?)>`, `<in data of libx.so>` |
//! | only the file, and that the program's entry passes it to the C library as main | `<main of prog>` |
//! | nothing | `???` |
//! | the function, and another file has one of that name | `name [libx.so.1]` |
//!
//! A process address is never shown: it means nothing to people, and it differs from run to run. The offset of a
//! function in its file is stable: it tells functions of stripped programs apart, and `objdump` and debuggers accept
//! it. Stacks themselves contain only addresses; every name in a view comes from mapping their frames through this
//! table.

use super::file_name::{file_name, place};
use super::interpreters::{interpreters, is_part_of_interpreter, script_of};
use super::library_frames::is_library_function;
use super::same_file::representatives;
use super::short_path::ShortPaths;
use super::templates::without_templates;
use crate::names::process_name::process_name;
use crate::names::short_name::short_name;
use capture::{Frame, FrameId, ModuleId, ProcessId, Pseudo, StringId, Symbolized, Tables, ThreadId};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// Index of a [`Label`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LabelId(pub u32);

impl LabelId {
    /// The root of every tree.
    pub const EVERYTHING: LabelId = LabelId(0);

    /// The position in the table.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Something that a view shows as one thing: to it, all frames of one label are one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The name for people, including the suffix that tells namesakes apart. As recorded: escape it before printing.
    pub name: String,
    /// Length of the suffix within `name`, 0 for a name that is unique.
    pub(crate) suffix: usize,
    /// Where an unnamed function begins in its file, if known; it is part of the name then.
    pub start: Option<u64>,
    /// What it stands for.
    pub kind: Kind,
    /// True for library frames, see [`is_library_function`].
    pub is_library: bool,
    /// True for functions of an interpreter whose scripts are on stacks themselves, and for scripts inside it.
    pub is_interpreter: bool,
    /// How it is run, if it is a function of a script.
    pub script: Option<Script>,
}

/// How a function of a script is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// By an interpreter: its file stands in for a module, and has no addresses.
    Interpreted,
    /// As code that was made at run time; of this file, if that is known.
    Compiled(Option<StringId>),
}

impl Label {
    /// The name as it was recorded, without the suffix that tells namesakes apart.
    pub fn base(&self) -> &str {
        &self.name[..self.name.len() - self.suffix]
    }

    /// The binary that it is in, if it is a function and that is known.
    pub fn module(&self) -> Option<ModuleId> {
        match self.kind {
            Kind::Function(_, module) => module,
            Kind::InModule(module) => Some(module),
            _ => None,
        }
    }

    /// Only the file of an unnamed function, `<in libx.so.1>`; the full name of any other.
    pub fn without_start(&self) -> Cow<'_, str> {
        match self.start.and_then(|start| self.base().strip_suffix(&place_in_file(start))) {
            Some(file) => Cow::Owned(format!("{file}>{}", &self.name[self.base().len()..])),
            None => Cow::Borrowed(&self.name),
        }
    }

    /// The same without parameters and generic arguments: see [`short_name`].
    pub fn short_base(&self) -> Cow<'_, str> {
        match self.kind {
            Kind::Function(..) => short_name(self.base()),
            _ => Cow::Borrowed(self.base()),
        }
    }

    /// The name for a narrow column: see [`short_name`]. The suffix stays.
    pub fn short(&self) -> Cow<'_, str> {
        let Kind::Function(..) = self.kind else { return Cow::Borrowed(&self.name) };
        let (base, suffix) = self.name.split_at(self.name.len() - self.suffix);
        match short_name(base) {
            Cow::Borrowed(_) => Cow::Borrowed(&self.name),
            Cow::Owned(short) => Cow::Owned(short + suffix),
        }
    }
}

/// What a label stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The sum of all processes.
    Everything,
    /// All processes of this name.
    Process,
    /// A function: its name without suffix, and the file it is in.
    Function(StringId, Option<ModuleId>),
    /// An unknown function of a known file.
    InModule(ModuleId),
    /// Nothing is known, except possibly the reason.
    Unknown(Option<StringId>),
    /// Not code: why the stack ends here.
    Marker(Pseudo),
    /// Several functions that a view shows as one: those of a file, or a folded path.
    Group,
}

/// One function of a frame; a frame has several if the compiler inlined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// Its name.
    pub label: LabelId,
    /// Source file.
    pub file: Option<StringId>,
    /// Line in it, from 1.
    pub line: Option<u32>,
    /// True when this function was inlined into the next one.
    pub inlined: bool,
}

/// The names of all frames and processes of a capture.
#[derive(Debug)]
pub struct Names {
    labels: Vec<Label>,
    steps: Vec<Step>,
    /// By frame, its range in `steps`.
    frames: Vec<Range<u32>>,
    processes: Vec<LabelId>,
    files: ShortPaths,
    /// The process or thread that a group stands for.
    owners: HashMap<LabelId, Owner>,
}

/// The process or thread that a group stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The process.
    pub process: ProcessId,
    /// The thread; none for the whole process.
    pub thread: Option<ThreadId>,
}

impl Names {
    /// Names everything in these tables.
    pub fn new(tables: &Tables) -> Self {
        let mut builder = Builder::new(tables);
        let everything = builder.label(Key::Everything, Kind::Everything);
        debug_assert_eq!(everything, LabelId::EVERYTHING);
        let processes = tables.processes.iter().map(|process| {
            let name = process_name(process);
            builder.label(Key::Process(name), Kind::Process)
        });
        let processes = processes.collect();
        let frames =
            (0..tables.frames.len()).map(|index| builder.frame(FrameId::from_index(index))).collect();
        let Builder { mut labels, steps, .. } = builder;
        super::namesakes::tell_apart(&mut labels, tables);
        let files = ShortPaths::new(&steps, tables);
        Self { labels, steps, frames, processes, files, owners: HashMap::new() }
    }

    /// The shortest unambiguous path of a source file: `parse.c`, or `json/parse.c` if there is another `parse.c`.
    pub fn short_path<'t>(&self, file: StringId, tables: &'t Tables) -> &'t str {
        self.files.of(file, tables)
    }

    /// A label.
    pub fn label(&self, id: LabelId) -> &Label {
        &self.labels[id.index()]
    }

    /// Number of labels: ids are smaller.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Never: there is always the root.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The ids of all labels, in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = LabelId> + use<> {
        let count = u32::try_from(self.len()).expect("labels are counted in u32");
        (0..count).map(LabelId)
    }

    /// All labels, in the order of their ids.
    pub fn labels(&self) -> impl ExactSizeIterator<Item = &Label> {
        self.labels.iter()
    }

    /// The functions of a frame, innermost first. Empty for kinds of calls, which views hide.
    pub fn steps(&self, frame: FrameId) -> &[Step] {
        let range = self.frames.get(frame.index()).cloned().unwrap_or(0..0);
        &self.steps[range.start as usize..range.end as usize]
    }

    /// Where the functions of a frame are among those of all frames.
    pub fn places(&self, frame: FrameId) -> Range<u32> {
        self.frames.get(frame.index()).cloned().unwrap_or(0..0)
    }

    /// The function at a place.
    pub fn step_at(&self, place: u32) -> &Step {
        &self.steps[place as usize]
    }

    /// How many places there are.
    pub fn step_count(&self) -> usize {
        self.steps.len()
    }

    /// Adds a function that stands for others, and returns its place.
    pub fn push_group(&mut self, name: String, file: Option<StringId>, line: Option<u32>) -> u32 {
        let label = LabelId(u32::try_from(self.labels.len()).expect("fewer groups than functions"));
        let (start, kind) = (None, Kind::Group);
        let (is_library, is_interpreter, script) = (false, false, None);
        self.labels.push(Label { name, suffix: 0, start, kind, is_library, is_interpreter, script });
        self.steps.push(Step { label, file, line, inlined: false });
        u32::try_from(self.steps.len() - 1).expect("fewer steps than 2^32")
    }

    /// The same for one that stands for a process or a thread.
    pub fn push_owner(&mut self, name: String, owner: Owner) -> u32 {
        let place = self.push_group(name, None, None);
        self.owners.insert(self.step_at(place).label, owner);
        place
    }

    /// Which process or thread a group stands for; none for all other labels.
    pub fn owner(&self, label: LabelId) -> Option<Owner> {
        self.owners.get(&label).copied()
    }

    /// Assigns other functions to frames: by frame, the range of its places.
    pub fn set_frames(&mut self, frames: Vec<Range<u32>>) {
        self.frames = frames;
    }

    /// Removes template and generic arguments from the names of functions. Labels stay distinct: several may have the
    /// same name afterwards.
    pub fn leave_out_arguments(&mut self) {
        for label in self.labels.iter_mut().filter(|label| matches!(label.kind, Kind::Function(..))) {
            let (base, suffix) = label.name.split_at(label.name.len() - label.suffix);
            if let Cow::Owned(plain) = without_templates(base) {
                label.name = plain + suffix;
            }
        }
    }

    /// The label of a process: processes of one name share it.
    pub fn process(&self, id: ProcessId) -> LabelId {
        self.processes.get(id.index()).copied().unwrap_or(LabelId::EVERYTHING)
    }
}

/// What identifies a label: text rather than ids, since a capture may contain a file twice, as two builds or under
/// two paths.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key<'a> {
    Everything,
    Process(String),
    Function(&'a str, Option<&'a str>),
    InModule(&'a str, Option<u64>),
    Main(&'a str),
    Unknown(&'a str),
    Marker(Pseudo),
}

struct Builder<'a> {
    tables: &'a Tables,
    /// By module, the one that represents its file.
    files: Vec<ModuleId>,
    /// By module, whether it is an interpreter whose scripts are on stacks.
    interpreters: Vec<bool>,
    labels: Vec<Label>,
    known: HashMap<Key<'a>, LabelId>,
    steps: Vec<Step>,
}

impl<'a> Builder<'a> {
    fn new(tables: &'a Tables) -> Self {
        let files = representatives(tables);
        let interpreters = interpreters(tables);
        Self { tables, files, interpreters, labels: Vec::new(), known: HashMap::new(), steps: Vec::new() }
    }

    fn frame(&mut self, id: FrameId) -> Range<u32> {
        let start = self.place();
        match self.tables.frames[id.index()] {
            Frame::Pseudo(pseudo) if pseudo.is_call() => {}
            Frame::Pseudo(pseudo) => {
                let label = self.label(Key::Marker(pseudo), Kind::Marker(pseudo));
                self.steps.push(Step { label, file: None, line: None, inlined: false });
            }
            Frame::Code { module, .. } => {
                let script = script_of(self.tables, id);
                self.code(module, self.tables.symbol(id), script);
                for step in self.steps[start as usize..].iter().filter(|_| script.is_some()) {
                    let label = &mut self.labels[step.label.index()];
                    label.script = script;
                    label.is_interpreter |=
                        step.file.is_some_and(|file| is_part_of_interpreter(self.tables.string(file)));
                }
            }
        }
        start..self.place()
    }

    fn code(&mut self, module: Option<ModuleId>, symbol: Option<&'a Symbolized>, script: Option<Script>) {
        let module = module.and_then(|module| self.files.get(module.index()).copied());
        let names = symbol.map_or(&[][..], |symbol| &symbol.names);
        for (depth, name) in names.iter().enumerate() {
            let inlined = depth + 1 < names.len();
            let linkage = symbol.filter(|_| !inlined).and_then(|symbol| symbol.linkage);
            let label = match name.function.filter(|&function| !self.tables.string(function).is_empty()) {
                Some(function) => self.function(function, module, linkage, script),
                None => self.nameless(module, symbol),
            };
            self.steps.push(Step { label, file: name.file, line: name.line, inlined });
        }
        if names.is_empty() {
            let label = self.nameless(module, symbol);
            self.steps.push(Step { label, file: None, line: None, inlined: false });
        }
    }

    fn function(
        &mut self,
        function: StringId,
        module: Option<ModuleId>,
        linkage: Option<StringId>,
        script: Option<Script>,
    ) -> LabelId {
        let tables = self.tables;
        let place = match script {
            Some(Script::Compiled(Some(file))) => Some(tables.string(file)),
            _ => module.map(|module| place(&tables.modules[module.index()].path)),
        };
        let name = tables.string(function);
        let count = self.labels.len();
        let id = self.label(Key::Function(name, place), Kind::Function(function, module));
        if self.labels.len() > count {
            self.labels[id.index()].is_library |=
                is_library_function(name, linkage.map(|linkage| tables.string(linkage)));
        }
        id
    }

    fn nameless(&mut self, module: Option<ModuleId>, symbol: Option<&'a Symbolized>) -> LabelId {
        let tables = self.tables;
        let (start, reason) = symbol.map_or((None, None), |symbol| (symbol.start, symbol.reason));
        let linkage = symbol.and_then(|symbol| symbol.linkage).map(|linkage| tables.string(linkage));
        match module.map(|module| (module, tables.modules[module.index()].path.as_str())) {
            Some((module, path)) if !path.is_empty() => {
                let key =
                    if linkage == Some("main") { Key::Main(path) } else { Key::InModule(place(path), start) };
                self.label(key, Kind::InModule(module))
            }
            _ => {
                let text = reason.map_or("", |reason| tables.string(reason));
                self.label(Key::Unknown(text), Kind::Unknown(reason))
            }
        }
    }

    fn label(&mut self, key: Key<'a>, kind: Kind) -> LabelId {
        if let Some(&id) = self.known.get(&key) {
            return id;
        }
        let name = match &key {
            Key::Everything => "[Everything]".to_owned(),
            Key::Process(name) => name.clone(),
            Key::Function(name, _) => (*name).to_owned(),
            Key::InModule(place, None) => format!("<in {}>", file_name(place)),
            Key::InModule(place, Some(start)) => {
                format!("<in {}{}", file_name(place), place_in_file(*start))
            }
            Key::Main(path) => format!("<main of {}>", file_name(path)),
            Key::Unknown(_) => "???".to_owned(),
            Key::Marker(pseudo) => pseudo.label().to_owned(),
        };
        let id = LabelId(u32::try_from(self.labels.len()).expect("fewer labels than frames and processes"));
        let start = if let Key::InModule(_, start) = key { start } else { None };
        let is_interpreter = match kind {
            Kind::Function(_, Some(module)) | Kind::InModule(module) => self.interpreters[module.index()],
            _ => false,
        };
        let (is_library, script) = (false, None);
        self.labels.push(Label { name, suffix: 0, start, kind, is_library, is_interpreter, script });
        self.known.insert(key, id);
        id
    }

    fn place(&self) -> u32 {
        u32::try_from(self.steps.len()).expect("fewer steps than 2^32")
    }
}

/// The suffix after the file in the name of an unnamed function.
fn place_in_file(start: u64) -> String {
    format!("+{start:#x}>")
}
