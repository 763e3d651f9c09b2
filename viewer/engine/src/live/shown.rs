//! The tables of all rows ever shown: a small capture of its own, with the names found so far.

use super::namer::{Namer, Wanted};
use crate::loaded::{Loaded, Source};
use crate::symbolize::{Texts, batch, module_file};
use analysis::Profile;
use capture::{Frame, FrameId, ModuleId, Node, NodeId, SourceFrame, StringId, Symbolized, Tables};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use symbols::ModuleFile;

/// The stacks that were shown. Their ids refer to these tables, not to the capture's.
pub(super) struct Shown {
    tables: Tables,
    nodes: HashMap<NodeId, NodeId>,
    frames: HashMap<FrameId, FrameId>,
    modules: HashMap<ModuleId, ModuleId>,
    strings: HashMap<StringId, StringId>,
    /// Number of frames, from the first, whose names were requested.
    asked: usize,
    namer: Option<Namer>,
    /// The tables with their labels, until something is added.
    loaded: Option<Arc<Loaded>>,
    /// Root directory of the process.
    root: PathBuf,
}

impl Shown {
    /// For a process; without options, without names.
    pub(super) fn new(pid: u32, options: Option<symbols::Options>) -> io::Result<Self> {
        let root = Node { parent: NodeId::ROOT, frame: FrameId(0) };
        Ok(Self {
            tables: Tables { nodes: vec![root], ..Tables::default() },
            nodes: HashMap::new(),
            frames: HashMap::new(),
            modules: HashMap::new(),
            strings: HashMap::new(),
            asked: 0,
            namer: options.map(Namer::start).transpose()?,
            loaded: None,
            root: format!("/proc/{pid}/root").into(),
        })
    }

    /// The tables.
    pub(super) fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The tables and their names, as a capture without numbers.
    pub(super) fn loaded(&mut self) -> Arc<Loaded> {
        let Self { tables, loaded, .. } = self;
        let made = || Arc::new(Loaded::new(tables.clone(), Profile::default(), Source::default()));
        Arc::clone(loaded.get_or_insert_with(made))
    }

    /// Copies a stack of the capture; returns its id here.
    pub(super) fn enter(&mut self, stack: NodeId, of: &Tables) -> NodeId {
        if let Some(known) = self.nodes.get(&stack) {
            return *known;
        }
        self.loaded = None;
        let unknown = of.stack(stack).take_while(|(node, _)| !self.nodes.contains_key(node));
        let unknown: Vec<(NodeId, Node)> = unknown.collect();
        for (node, row) in unknown.into_iter().rev() {
            let parent = self.nodes.get(&row.parent).copied().unwrap_or(NodeId::ROOT);
            let frame = self.frame(row.frame, of);
            self.nodes.insert(node, NodeId::from_index(self.tables.nodes.len()));
            self.tables.nodes.push(Node { parent, frame });
        }
        self.nodes.get(&stack).copied().unwrap_or(NodeId::ROOT)
    }

    fn frame(&mut self, frame: FrameId, of: &Tables) -> FrameId {
        if let Some(known) = self.frames.get(&frame) {
            return *known;
        }
        let row = match of.frames.get(frame.index()) {
            Some(&Frame::Code { module, address, exact }) => {
                Frame::Code { module: module.map(|module| self.module(module, of)), address, exact }
            }
            Some(pseudo) => *pseudo,
            None => Frame::Code { module: None, address: 0, exact: true },
        };
        let id = FrameId::from_index(self.tables.frames.len());
        // Frames of scripts have names from the start.
        let symbol = of.symbol(frame).map(|symbol| self.symbol(id, symbol, of));
        self.tables.frames.push(row);
        self.tables.symbols.push(symbol);
        self.frames.insert(frame, id);
        id
    }

    fn symbol(&mut self, frame: FrameId, symbol: &Symbolized, of: &Tables) -> Symbolized {
        let mut string = |id: Option<StringId>| id.map(|id| self.string(id, of));
        let names = symbol.names.iter().map(|name| SourceFrame {
            function: string(name.function),
            file: string(name.file),
            line: name.line,
        });
        let names = names.collect();
        let (reason, linkage) = (string(symbol.reason), string(symbol.linkage));
        Symbolized { frame, names, reason, linkage, start: symbol.start }
    }

    fn string(&mut self, id: StringId, of: &Tables) -> StringId {
        let tables = &mut self.tables;
        *self.strings.entry(id).or_insert_with(|| {
            tables.strings.push(of.string(id).to_owned());
            StringId::from_index(tables.strings.len() - 1)
        })
    }

    fn module(&mut self, id: ModuleId, of: &Tables) -> ModuleId {
        let tables = &mut self.tables;
        *self.modules.entry(id).or_insert_with(|| {
            tables.modules.push(of.modules.get(id.index()).cloned().unwrap_or_default());
            ModuleId::from_index(tables.modules.len() - 1)
        })
    }

    /// Requests missing names, and enters those that were found; all of them if `waits`.
    pub(super) fn name(&mut self, waits: bool) {
        let wanted = self.wanted();
        let Some(namer) = &mut self.namer else { return };
        namer.ask(wanted);
        while let Some(found) = namer.answer(waits) {
            self.loaded = None;
            let mut texts = Texts::new(&mut self.tables);
            for (frame, lookup) in found {
                texts.enter(frame, lookup);
            }
        }
    }

    /// True while names are being looked up.
    pub(super) fn is_naming(&self) -> bool {
        self.namer.as_ref().is_some_and(Namer::is_busy)
    }

    /// Frames that were not requested yet, of files that can be identified.
    fn wanted(&mut self) -> Wanted {
        let Tables { frames, symbols, modules, .. } = &self.tables;
        let mut by_module: BTreeMap<ModuleId, Vec<FrameId>> = BTreeMap::new();
        for (index, frame) in frames.iter().enumerate().skip(self.asked) {
            if let (Frame::Code { module: Some(module), .. }, None) = (frame, &symbols[index]) {
                by_module.entry(*module).or_default().push(FrameId::from_index(index));
            }
        }
        self.asked = frames.len();
        let request = |(module, ids): (ModuleId, Vec<FrameId>)| {
            let file = self.seen_by_the_process(module_file(&modules[module.index()])?);
            let batch = batch(&self.tables, file, &ids);
            Some((ids, batch))
        };
        by_module.into_iter().filter_map(request).collect()
    }

    /// The file at a path that we can open: in a container, the path that the process sees leads us to another file,
    /// or to none.
    fn seen_by_the_process(&self, file: ModuleFile) -> ModuleFile {
        let is_it = |path: &Path| {
            std::fs::metadata(path).is_ok_and(|found| (found.dev(), found.ino()) == (file.device, file.inode))
        };
        let inside = self.root.join(file.path.strip_prefix("/").unwrap_or(&file.path));
        if !is_it(&file.path) && is_it(&inside) { ModuleFile { path: inside, ..file } } else { file }
    }
}
