//! Names that a capture lacks, from the files of this machine.
//!
//! A recording that was told not to look names up, or was killed while it did, has addresses only; and one made
//! without debug symbols gets names once they are installed. A file is used only if it is the one that was mapped: by
//! its build id, or else by inode and time. If the capture does not identify the file, none is used.

use analysis::{Cost, Profile};
use capture::{Frame, FrameId, Module, ModuleId, NodeId, SourceFrame, StringId, Symbolized, Tables};
use hashbrown::HashTable;
use heap_graph::Open;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use symbols::{Batch, Lookup, ModuleFile, Source, Symbolizer};

/// Most addresses that are looked up. The largest programs have some hundred thousand; what a file claims beyond that
/// stays unnamed.
const MOST_ADDRESSES: usize = 1 << 20;

/// Most bytes of names and paths that are accepted; a large C++ program has some dozen megabytes.
const MOST_TEXT: usize = 1 << 29;

/// Where names come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// From the capture alone.
    #[default]
    Stored,
    /// Names that the capture lacks are looked up in the recorded files, where this machine has them.
    FromFiles(Box<symbols::Options>),
}

impl Naming {
    /// From files at the paths they had when they were recorded.
    pub fn from_files() -> Self {
        Naming::FromFiles(Box::default())
    }

    /// Opens the symbols of modules; of none where names come from the capture alone.
    pub(crate) fn opener(&self) -> Open<'static> {
        let Naming::FromFiles(options) = self else { return Box::new(|_| None) };
        let symbolizer = Symbolizer::new((**options).clone());
        Box::new(move |module| symbolizer.open(&module_file(module)?).ok())
    }
}

/// How a search for names went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LookedUp {
    /// Addresses that the recording had not looked up.
    pub unresolved: u64,
    /// Addresses that have a name now.
    pub named: u64,
    /// Addresses that were not looked up because they are in no stack that can be shown.
    pub unneeded: u64,
}

impl LookedUp {
    /// Two searches together.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            unresolved: self.unresolved + other.unresolved,
            named: self.named + other.named,
            unneeded: self.unneeded + other.unneeded,
        }
    }
}

/// Which names are looked for.
#[derive(Clone, Copy, Debug)]
pub enum Needed<'a> {
    /// All that the capture lacks.
    All,
    /// Those of stacks that have any number in these profiles.
    Shown(&'a [&'a Profile]),
}

impl Needed<'_> {
    /// By [`FrameId`], whether its name is needed.
    fn frames(self, tables: &Tables) -> Vec<bool> {
        let Needed::Shown(profiles) = self else { return vec![true; tables.frames.len()] };
        let (mut frames, mut nodes) = (vec![false; tables.frames.len()], vec![false; tables.nodes.len()]);
        let sites = profiles.iter().flat_map(|profile| &profile.sites);
        let sites = sites.filter(|site| site.cost != Cost::default()).map(|site| site.node);
        let failures = profiles.iter().flat_map(|profile| &profile.failures).map(|failure| failure.node);
        for mut next in sites.chain(failures) {
            // The callers of a node that was met have been met, too. The root is the empty stack and has no frame.
            while next != NodeId::ROOT
                && let (Some(node), Some(is_met)) =
                    (tables.nodes.get(next.index()), nodes.get_mut(next.index()))
                && !std::mem::replace(is_met, true)
            {
                if let Some(is_needed) = frames.get_mut(node.frame.index()) {
                    *is_needed = true;
                }
                next = node.parent;
            }
        }
        frames
    }
}

/// Looks names up, unless those of the capture are to do.
pub fn named(tables: &mut Tables, needed: Needed<'_>, naming: Naming) -> LookedUp {
    match naming {
        Naming::Stored => LookedUp::default(),
        Naming::FromFiles(options) => symbolize(tables, needed, &options),
    }
}

/// Looks up the names that are missing and needed, and puts them into the tables.
pub(crate) fn symbolize(tables: &mut Tables, needed: Needed<'_>, options: &symbols::Options) -> LookedUp {
    let needed = needed.frames(tables);
    let mut looked_up = LookedUp::default();
    let missing = missing(tables, |frame| {
        let is_needed = needed[frame.index()];
        looked_up.unneeded += u64::from(!is_needed);
        is_needed
    });
    let unresolved = |frame: &&FrameId| tables.symbol(**frame).is_none();
    looked_up.unresolved = missing.values().flatten().filter(unresolved).count() as u64;
    let batches: Vec<Batch> = missing
        .iter()
        .filter_map(|(module, frames)| {
            Some(batch(tables, module_file(&tables.modules[module.index()])?, frames))
        })
        .collect();
    let frames: Vec<Vec<FrameId>> = missing.into_values().collect();
    let mut found: Vec<(FrameId, Lookup)> = Vec::new();
    let mut text = 0;
    // What exceeds the limits stays unnamed.
    let _ = Symbolizer::new(options.clone()).look_up(
        &batches,
        &AtomicBool::new(false),
        |(batch, place, lookup)| {
            text += text_of(&lookup);
            found.push((frames[batch][place], lookup));
            if text <= MOST_TEXT { Ok(()) } else { Err(TooMuch) }
        },
    );
    // Threads answer in any order, but the names of a capture must be the same each time.
    found.sort_unstable_by_key(|(frame, _)| *frame);
    tables.symbols.resize(tables.frames.len(), None);
    let mut texts = Texts::new(tables);
    for (frame, lookup) in found {
        looked_up.named += u64::from(texts.enter(frame, lookup));
    }
    looked_up
}

struct TooMuch;

/// Bytes of the names and paths in a result.
fn text_of(lookup: &Lookup) -> usize {
    let texts = lookup.frames.iter().flat_map(|frame| [&frame.function, &frame.file]);
    texts.chain([&lookup.linkage]).flatten().map(|text| text.len() + size_of::<String>()).sum()
}

/// Needed frames without a function, by module; only modules whose file can be identified.
fn missing(tables: &Tables, mut is_needed: impl FnMut(FrameId) -> bool) -> BTreeMap<ModuleId, Vec<FrameId>> {
    let mut missing: BTreeMap<ModuleId, Vec<FrameId>> = BTreeMap::new();
    let lacks_name = |frame: FrameId| {
        let owner = tables.symbol(frame).and_then(|symbol| symbol.names.last());
        owner.and_then(|owner| owner.function).is_none()
    };
    let frames = tables.frames.iter().enumerate().filter_map(|(index, frame)| match frame {
        Frame::Code { module: Some(module), .. } => Some((FrameId::from_index(index), *module)),
        _ => None,
    });
    let is_known = |module: ModuleId| tables.modules.get(module.index()).is_some_and(has_identity);
    let frames = frames.filter(|&(frame, module)| lacks_name(frame) && is_known(module) && is_needed(frame));
    for (frame, module) in frames.take(MOST_ADDRESSES) {
        missing.entry(module).or_default().push(frame);
    }
    missing
}

/// True when the recording kept enough to identify the file of this module.
fn has_identity(module: &Module) -> bool {
    let is_known = !module.build_id.is_empty() || (module.inode != 0 && module.modified_ns != 0);
    is_known && module.path.starts_with('/')
}

/// The file of a module as recorded; none when it cannot be told from other files.
pub(crate) fn module_file(module: &Module) -> Option<ModuleFile> {
    has_identity(module).then(|| ModuleFile {
        path: PathBuf::from(&module.path),
        build_id: module.build_id.clone(),
        device: module.device,
        inode: module.inode,
        modified_ns: module.modified_ns,
    })
}

/// Frames of a file, to be looked up.
pub(crate) fn batch(tables: &Tables, file: ModuleFile, frames: &[FrameId]) -> Batch {
    let address = |frame: &FrameId| match tables.frames[frame.index()] {
        Frame::Code { address, exact: true, .. } => address,
        // A return address: the call may be the last instruction of its function.
        Frame::Code { address, .. } => address.wrapping_sub(1),
        Frame::Pseudo(_) => 0,
    };
    Batch { source: Source::File(file), addresses: frames.iter().map(address).collect() }
}

/// The strings of the tables, each stored once.
pub(crate) struct Texts<'a> {
    tables: &'a mut Tables,
    /// The id of each string, by its hash.
    known: HashTable<StringId>,
    hashes: RandomState,
}

impl<'a> Texts<'a> {
    /// An index of the strings of these tables.
    pub(crate) fn new(tables: &'a mut Tables) -> Self {
        let (mut known, hashes) = (HashTable::with_capacity(tables.strings.len()), RandomState::new());
        for (index, text) in tables.strings.iter().enumerate() {
            let hash_again = |id: &StringId| hashes.hash_one(tables.string(*id));
            known.insert_unique(hashes.hash_one(text.as_str()), StringId::from_index(index), hash_again);
        }
        Self { tables, known, hashes }
    }

    /// Enters a result if it says more than what is known; returns whether it has a name.
    pub(crate) fn enter(&mut self, frame: FrameId, lookup: Lookup) -> bool {
        let is_named = lookup.function().is_some();
        if is_named || self.tables.symbol(frame).is_none() {
            let names = lookup.frames.into_iter().map(|source| SourceFrame {
                function: source.function.map(|text| self.string(text)),
                file: source.file.map(|text| self.string(text)),
                line: source.line,
            });
            let names = names.collect();
            let reason = lookup.reason.map(|reason| self.string(reason.to_string()));
            let linkage = lookup.linkage.map(|name| self.string(name));
            self.tables.symbols[frame.index()] =
                Some(Symbolized { frame, names, reason, linkage, start: lookup.start });
        } else {
            let linkage = lookup.linkage.map(|name| self.string(name));
            if let Some(known) = self.tables.symbols[frame.index()].as_mut() {
                known.linkage = known.linkage.or(linkage);
            }
        }
        is_named
    }

    fn string(&mut self, text: String) -> StringId {
        let Self { tables, known, hashes } = self;
        let hash = hashes.hash_one(text.as_str());
        if let Some(id) = known.find(hash, |id| tables.string(*id) == text) {
            return *id;
        }
        let id = StringId::from_index(tables.strings.len());
        tables.strings.push(text);
        *known.insert_unique(hash, id, |id| hashes.hash_one(tables.string(*id))).get()
    }
}
