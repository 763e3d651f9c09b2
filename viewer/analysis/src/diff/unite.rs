//! Merges two captures into one set of tables, so that whatever can be shown of one capture can be shown of both.
//!
//! ```text
//!  new     nodes 0 1 2 3              stay as they are
//!  old     nodes 0 1 2        ──►     follow as 4, 5; the empty stack is the same
//! ```
//!
//! Functions get their [normal names](super::normal_name). A file of the old capture is identified with one of the
//! new capture if it has the same path, or else the same name, provided no other file has that name; a version after
//! `.so` does not count. The program itself may have been [renamed](super::renamed). The start address of an unnamed
//! function identifies it only within the same build.

use super::likeness::{Spelling, normal_name};
use super::renamed::rename;
use crate::count::profile::{ProcessProfile, Profile};
use crate::names::file_name::file_name;
use capture::{
    Frame, FrameId, ModuleId, Node, NodeId, ProcessId, SourceFrame, StringId, Symbolized, Tables, ThreadId,
};
use std::collections::{HashMap, HashSet};

/// The tables of two captures in one.
#[derive(Debug)]
pub struct United {
    /// Those of the new capture, followed by those of the old one.
    pub tables: Tables,
    /// Offsets to add to ids of the old capture, by table.
    nodes: usize,
    processes: usize,
    threads: usize,
}

impl United {
    /// Changes the ids in rows of the old capture to those in these tables.
    pub fn adopt(&self, old: &mut Profile) {
        // It knows nothing of the other capture's processes.
        let others = std::iter::repeat_n(ProcessProfile::default(), self.processes);
        old.processes.splice(0..0, others);
        for site in &mut old.sites {
            site.node = moved(site.node, self.nodes);
            site.process = ProcessId::from_index(site.process.index() + self.processes);
            site.thread = site.thread.map(|thread| ThreadId::from_index(thread.index() + self.threads));
        }
    }
}

/// The empty stack is shared by both.
fn moved(node: NodeId, by: usize) -> NodeId {
    match node {
        NodeId::ROOT => node,
        node => NodeId::from_index(node.index() - 1 + by),
    }
}

/// Appends an old capture's tables to those of a new one.
pub fn unite(mut old: Tables, new: Tables, spelling: Spelling) -> United {
    rename(&mut old, &new);
    let mut tables = new;
    let mut texts = Texts { spelling, normal: HashMap::new() };
    tables.symbols.resize(tables.frames.len(), None);
    let mut symbols = std::mem::take(&mut tables.symbols);
    symbols.iter_mut().flatten().for_each(|symbol| texts.normalize(symbol, &mut tables));
    tables.symbols = symbols;

    let [strings, frames, processes, threads] =
        [tables.strings.len(), tables.frames.len(), tables.processes.len(), tables.threads.len()];
    let modules = files(&old, &mut tables);
    let rebuilt = rebuilt(&old, &tables, &modules);
    let is_rebuilt =
        |frame: &Frame| matches!(frame, Frame::Code { module: Some(module), .. } if rebuilt.contains(module));
    let Tables { frames: new_frames, symbols: new_symbols, .. } = &mut tables;
    for (_, symbol) in new_frames.iter().zip(new_symbols).filter(|(frame, _)| is_rebuilt(frame)) {
        symbol.iter_mut().for_each(|symbol| symbol.start = None);
    }
    let Tables { strings: texts_of_old, frames: old_frames, symbols: old_symbols, .. } = old;
    tables.strings.extend(texts_of_old);
    tables.frames.extend(old_frames.iter().map(|frame| match *frame {
        Frame::Code { module, address, exact } => {
            let module = module.and_then(|module| modules.get(module.index()).copied());
            Frame::Code { module, address, exact }
        }
        pseudo => pseudo,
    }));
    let text = |id: StringId| StringId::from_index(id.index() + strings);
    for index in 0..old_frames.len() {
        let symbol = old_symbols.get(index).cloned().flatten().map(|symbol| {
            let name = |name: SourceFrame| SourceFrame {
                function: name.function.map(text),
                file: name.file.map(text),
                line: name.line,
            };
            let mut symbol = Symbolized {
                frame: FrameId::from_index(index + frames),
                names: symbol.names.into_iter().map(name).collect(),
                reason: symbol.reason.map(text),
                linkage: symbol.linkage.map(text),
                start: symbol.start.filter(|_| !is_rebuilt(&tables.frames[index + frames])),
            };
            texts.normalize(&mut symbol, &mut tables);
            symbol
        });
        tables.symbols.push(symbol);
    }
    let nodes = tables.nodes.len().max(1);
    tables.nodes.extend(old.nodes.iter().skip(1).map(|node| Node {
        parent: moved(node.parent, nodes),
        frame: FrameId::from_index(node.frame.index() + frames),
    }));
    let process = |id: ProcessId| ProcessId::from_index(id.index() + processes);
    tables.processes.extend(old.processes.into_iter().map(|mut row| {
        row.parent = row.parent.map(process);
        row
    }));
    tables.threads.extend(old.threads.into_iter().map(|mut row| {
        row.process = process(row.process);
        row
    }));
    United { tables, nodes, processes, threads }
}

/// Normal names, each stored once.
struct Texts {
    spelling: Spelling,
    normal: HashMap<String, StringId>,
}

impl Texts {
    fn normalize(&mut self, symbol: &mut Symbolized, tables: &mut Tables) {
        for function in symbol.names.iter_mut().filter_map(|name| name.function.as_mut()) {
            let name = tables.string(*function);
            let normal = normal_name(name, self.spelling);
            if normal == name {
                continue;
            }
            let normal = normal.into_owned();
            *function = *self.normal.entry(normal).or_insert_with_key(|normal| {
                tables.strings.push(normal.clone());
                StringId::from_index(tables.strings.len() - 1)
            });
        }
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

/// Files of which the captures have different builds: addresses of functions differ between these, so only the file
/// is comparable.
fn rebuilt(old: &Tables, tables: &Tables, modules: &[ModuleId]) -> HashSet<ModuleId> {
    let pairs = old.modules.iter().zip(modules);
    let differ = pairs.filter(|(old, new)| old.build_id != tables.modules[new.index()].build_id);
    differ.map(|(_, &new)| new).collect()
}

/// A file's name without folders and without a library's version.
fn stem(path: &str) -> &str {
    let name = file_name(path);
    name.find(".so.").map_or(name, |end| &name[..end + 3])
}
