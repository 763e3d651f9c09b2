//! Merges captures into one set of tables, so that whatever can be shown of one can be shown of all.
//!
//! ```text
//!  first   nodes 0 1 2 3              stay as they are
//!  next    nodes 0 1 2 3      ──►     0 2 4 5: stacks that are there already are found, others follow
//! ```
//!
//! A stack is there already if all of its frames are: the same address of the same build of a file, with the same
//! names. So many captures of one build take little more room than one.
//!
//! Functions get their [normal names](super::normal_name). A file is identified with one that is there if it has the
//! same path, or else the same name, provided no other file has that name; a version after `.so` does not count. The
//! program itself may have been [renamed](super::renamed) between the sides of a comparison. The start address of an
//! unnamed function identifies it only within the same build.

use super::matcher::{Spelling, normal_name};
use super::renamed::rename;
use crate::count::profile::{ProcessProfile, Profile};
use crate::names::file_name::file_name;
use capture::{
    Frame, FrameId, Module, ModuleId, Node, NodeId, ProcessId, SourceFrame, StringId, Symbolized, Tables,
    ThreadId,
};
use hashbrown::HashTable;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

/// The tables of several captures in one. Ids of the first one stay valid; those of the others are mapped.
#[derive(Debug)]
pub struct Union {
    tables: Tables,
    spelling: Spelling,
    hashes: RandomState,
    /// The id of each string, by its hash.
    strings: HashTable<StringId>,
    /// The build that each frame's address is of.
    builds: Vec<Build>,
    /// The id of each frame, by what it is.
    frames: HashTable<FrameId>,
    nodes: HashMap<Node, NodeId>,
    /// Files of which there are different builds: addresses of functions differ between these, so only the file is
    /// comparable.
    rebuilt: HashSet<ModuleId>,
}

/// A build id; empty if unknown, and for frames in no file.
type Build = Vec<u8>;

/// Where the rows of a capture are in the tables of a union.
#[derive(Debug)]
pub struct IdMap {
    nodes: Vec<NodeId>,
    strings: Vec<StringId>,
    /// What to add to ids of processes and threads.
    processes: usize,
    threads: usize,
}

impl IdMap {
    /// Changes the ids in a profile to those in the union's tables.
    pub fn adopt(&self, profile: &mut Profile) {
        let node = |node: NodeId| self.nodes.get(node.index()).copied().unwrap_or(NodeId::ROOT);
        // It knows nothing of the other captures' processes.
        let others = std::iter::repeat_n(ProcessProfile::default(), self.processes);
        profile.processes.splice(0..0, others);
        for site in &mut profile.sites {
            site.node = node(site.node);
            site.process = self.process(site.process);
            site.thread = site.thread.map(|thread| self.thread(thread));
        }
        for failure in &mut profile.failures {
            failure.node = node(failure.node);
            failure.process = self.process(failure.process);
            failure.threads.iter_mut().for_each(|thread| *thread = self.thread(*thread));
        }
        for pool in &mut profile.pools {
            pool.name = self.strings.get(pool.name.index()).copied().unwrap_or(pool.name);
        }
    }

    /// Where a process is now.
    pub fn process(&self, id: ProcessId) -> ProcessId {
        ProcessId::from_index(id.index() + self.processes)
    }

    fn thread(&self, id: ThreadId) -> ThreadId {
        ThreadId::from_index(id.index() + self.threads)
    }
}

/// The tables of both sides of a comparison, and where the older side's rows are.
pub fn unite(mut old: Tables, new: Tables, spelling: Spelling) -> (Tables, IdMap) {
    rename(&mut old, &new);
    let mut union = Union::new(new, spelling);
    let moved = union.add(old);
    (union.finish(), moved)
}

impl Union {
    /// The tables of one capture, to which those of others are added.
    pub fn new(mut tables: Tables, spelling: Spelling) -> Self {
        let frames = std::mem::take(&mut tables.frames);
        let mut symbols = std::mem::take(&mut tables.symbols);
        symbols.resize(frames.len(), None);
        let nodes = tables.nodes.iter().enumerate().skip(1);
        let nodes = nodes.map(|(index, node)| (*node, NodeId::from_index(index))).collect();
        let mut union = Self {
            tables,
            spelling,
            hashes: RandomState::new(),
            strings: HashTable::new(),
            builds: Vec::new(),
            frames: HashTable::new(),
            nodes,
            rebuilt: HashSet::new(),
        };
        for index in 0..union.tables.strings.len() {
            union.note_string(StringId::from_index(index));
        }
        for (frame, mut symbol) in frames.into_iter().zip(symbols) {
            symbol.iter_mut().for_each(|symbol| union.normalize(symbol));
            let build = build(&frame, &union.tables.modules);
            union.push_frame(frame, build, symbol);
        }
        union
    }

    /// Adds the tables of another capture.
    pub fn add(&mut self, mut other: Tables) -> IdMap {
        let [processes, threads] = [self.tables.processes.len(), self.tables.threads.len()];
        let strings: Vec<StringId> =
            std::mem::take(&mut other.strings).into_iter().map(|text| self.string(text)).collect();
        let modules = files(&other, &mut self.tables);
        self.tell_builds_apart(&other.modules, &modules);
        let mut symbols = std::mem::take(&mut other.symbols);
        symbols.resize(other.frames.len(), None);
        let mut frames = Vec::with_capacity(other.frames.len());
        for (frame, symbol) in other.frames.iter().zip(symbols) {
            let build = build(frame, &other.modules);
            let frame = match *frame {
                Frame::Code { module, address, exact } => {
                    let module = module.and_then(|module| modules.get(module.index()).copied());
                    Frame::Code { module, address, exact }
                }
                pseudo => pseudo,
            };
            let symbol = symbol.map(|symbol| {
                let mut symbol = in_strings(symbol, &strings);
                symbol.start = symbol.start.filter(|_| !self.is_rebuilt(&frame));
                self.normalize(&mut symbol);
                symbol
            });
            frames.push(self.frame(frame, build, symbol));
        }
        let mut nodes: Vec<NodeId> = vec![NodeId::ROOT];
        for node in other.nodes.iter().skip(1) {
            // Callers come before their callees.
            let parent = nodes.get(node.parent.index()).copied().unwrap_or(NodeId::ROOT);
            // A frame that the capture lacks stays one that nobody has.
            let frame = frames.get(node.frame.index()).copied().unwrap_or(FrameId(u32::MAX));
            nodes.push(self.node(Node { parent, frame }));
        }
        self.share_labels(&mut other);
        let moved = IdMap { nodes, strings, processes, threads };
        self.tables.processes.extend(other.processes.into_iter().map(|mut row| {
            row.parent = row.parent.map(|parent| moved.process(parent));
            row
        }));
        self.tables.threads.extend(other.threads.into_iter().map(|mut row| {
            row.process = moved.process(row.process);
            row
        }));
        moved
    }

    /// The tables so far. What they say of the recording is the first one's.
    pub fn tables_mut(&mut self) -> &mut Tables {
        &mut self.tables
    }

    /// The tables of all.
    pub fn finish(self) -> Tables {
        self.tables
    }

    /// Files that were built anew have no functions at known places.
    fn tell_builds_apart(&mut self, others: &[Module], modules: &[ModuleId]) {
        let pairs = others.iter().zip(modules);
        let differ =
            pairs.filter(|(other, module)| other.build_id != self.tables.modules[module.index()].build_id);
        let known = self.rebuilt.len();
        self.rebuilt.extend(differ.map(|(_, module)| *module));
        if self.rebuilt.len() == known {
            return;
        }
        let mut symbols = std::mem::take(&mut self.tables.symbols);
        for (symbol, frame) in symbols.iter_mut().zip(&self.tables.frames) {
            symbol.iter_mut().filter(|_| self.is_rebuilt(frame)).for_each(|symbol| symbol.start = None);
        }
        self.tables.symbols = symbols;
    }

    fn is_rebuilt(&self, frame: &Frame) -> bool {
        matches!(frame, Frame::Code { module: Some(module), .. } if self.rebuilt.contains(module))
    }

    /// Labels of whole recordings stay where all have them, and become those of processes where not.
    fn share_labels(&mut self, other: &mut Tables) {
        let ours = std::mem::take(&mut self.tables.metadata.labels);
        let (common, ours): (Vec<_>, Vec<_>) =
            ours.into_iter().partition(|label| other.metadata.labels.contains(label));
        let theirs = std::mem::take(&mut other.metadata.labels);
        let theirs: Vec<_> = theirs.into_iter().filter(|label| !common.contains(label)).collect();
        self.tables.metadata.labels = common;
        let rows = |rows: &mut Vec<capture::Process>, labels: &[(String, String)]| {
            for row in rows {
                row.labels.retain(|(name, _)| labels.iter().all(|(known, _)| known != name));
                row.labels.extend_from_slice(labels);
            }
        };
        rows(&mut self.tables.processes, &ours);
        rows(&mut other.processes, &theirs);
    }

    fn normalize(&mut self, symbol: &mut Symbolized) {
        for function in symbol.names.iter_mut().filter_map(|name| name.function.as_mut()) {
            let name = self.tables.string(*function);
            let normal = normal_name(name, self.spelling);
            if normal != name {
                let normal = normal.into_owned();
                *function = self.string(normal);
            }
        }
    }

    fn string(&mut self, text: String) -> StringId {
        let hash = self.hashes.hash_one(text.as_str());
        if let Some(id) = self.strings.find(hash, |id| self.tables.string(*id) == text) {
            return *id;
        }
        self.tables.strings.push(text);
        let id = StringId::from_index(self.tables.strings.len() - 1);
        self.note_string(id);
        id
    }

    fn note_string(&mut self, id: StringId) {
        let Self { tables, hashes, strings, .. } = self;
        let hash = |id: &StringId| hashes.hash_one(tables.string(*id));
        strings.insert_unique(hash(&id), id, hash);
    }

    /// The frame with these names, which is added unless it is there.
    fn frame(&mut self, frame: Frame, build: Build, symbol: Option<Symbolized>) -> FrameId {
        let hash = self.hash(&frame, &build, symbol.as_ref());
        let found = self.frames.find(hash, |id| {
            let place = id.index();
            let is_named = match (&self.tables.symbols[place], &symbol) {
                (Some(known), Some(symbol)) => *known == Symbolized { frame: known.frame, ..symbol.clone() },
                (known, symbol) => known.is_none() && symbol.is_none(),
            };
            self.tables.frames[place] == frame && self.builds[place] == build && is_named
        });
        match found {
            Some(id) => *id,
            None => self.push_frame(frame, build, symbol),
        }
    }

    fn push_frame(&mut self, frame: Frame, build: Build, symbol: Option<Symbolized>) -> FrameId {
        let id = FrameId::from_index(self.tables.frames.len());
        let hash = self.hash(&frame, &build, symbol.as_ref());
        self.tables.frames.push(frame);
        self.builds.push(build);
        self.tables.symbols.push(symbol.map(|symbol| Symbolized { frame: id, ..symbol }));
        let Self { tables, builds, hashes, frames, .. } = self;
        let again = |id: &FrameId| {
            let place = id.index();
            hash_of(hashes, &tables.frames[place], &builds[place], tables.symbols[place].as_ref())
        };
        frames.insert_unique(hash, id, again);
        id
    }

    fn hash(&self, frame: &Frame, build: &Build, symbol: Option<&Symbolized>) -> u64 {
        hash_of(&self.hashes, frame, build, symbol)
    }

    fn node(&mut self, node: Node) -> NodeId {
        *self.nodes.entry(node).or_insert_with(|| {
            if self.tables.nodes.is_empty() {
                // The empty stack, whose contents mean nothing.
                self.tables.nodes.push(Node { parent: NodeId::ROOT, frame: FrameId(0) });
            }
            self.tables.nodes.push(node);
            NodeId::from_index(self.tables.nodes.len() - 1)
        })
    }
}

/// Of what stays when a file turns out to have several builds.
fn hash_of(hashes: &RandomState, frame: &Frame, build: &Build, symbol: Option<&Symbolized>) -> u64 {
    let names = symbol.into_iter().flat_map(|symbol| &symbol.names);
    let names: Vec<_> = names.map(|name| (name.function, name.file, name.line)).collect();
    hashes.hash_one((frame, build, names))
}

fn build(frame: &Frame, modules: &[Module]) -> Build {
    match frame {
        Frame::Code { module: Some(module), .. } => {
            modules.get(module.index()).map_or(Build::new(), |module| module.build_id.clone())
        }
        _ => Build::new(),
    }
}

/// The names with the ids of their strings in the union.
fn in_strings(symbol: Symbolized, strings: &[StringId]) -> Symbolized {
    let text = |id: StringId| strings.get(id.index()).copied().unwrap_or(id);
    let name = |name: SourceFrame| SourceFrame {
        function: name.function.map(text),
        file: name.file.map(text),
        line: name.line,
    };
    Symbolized {
        frame: symbol.frame,
        names: symbol.names.into_iter().map(name).collect(),
        reason: symbol.reason.map(text),
        linkage: symbol.linkage.map(text),
        start: symbol.start,
    }
}

/// Adds the files of the old capture; returns where each of them is now.
fn files(old: &Tables, tables: &mut Tables) -> Vec<ModuleId> {
    let mut by_name: HashMap<String, Option<usize>> = HashMap::new();
    let mut by_path: HashMap<String, usize> = HashMap::new();
    for (index, module) in tables.modules.iter().enumerate() {
        by_path.entry(module.path.clone()).or_insert(index);
        let name = by_name.entry(stem(&module.path).to_owned()).or_insert(Some(index));
        if name.is_some_and(|first| tables.modules[first].path != module.path) {
            *name = None;
        }
    }
    let mut names_of_old: HashMap<&str, &str> = HashMap::new();
    let mut ambiguous = Vec::new();
    for module in &old.modules {
        let first = *names_of_old.entry(stem(&module.path)).or_insert(&module.path);
        if first != module.path {
            ambiguous.push(stem(&module.path));
        }
    }
    let place = |path: &str| {
        let alone = || Some(stem(path)).filter(|name| !ambiguous.contains(name));
        by_path.get(path).copied().or_else(|| alone().and_then(|name| by_name.get(name).copied().flatten()))
    };
    let found: Vec<Option<usize>> = old.modules.iter().map(|module| place(&module.path)).collect();
    let ids = found.into_iter().zip(&old.modules).map(|(found, module)| {
        ModuleId::from_index(found.unwrap_or_else(|| {
            tables.modules.push(module.clone());
            tables.modules.len() - 1
        }))
    });
    ids.collect()
}

/// A file's name without folders and without a library's version.
fn stem(path: &str) -> &str {
    let name = file_name(path);
    name.find(".so.").map_or(name, |end| &name[..end + 3])
}
