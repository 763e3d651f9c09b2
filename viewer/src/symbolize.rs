//! Names that a capture lacks, from the files of this machine.
//!
//! A recording that was told not to look names up, or was ended while it did, has addresses only; and one that was
//! made without debug symbols gets names once they are installed. A file counts only if it is the one that was
//! mapped, by its build id or else by inode and time; of a capture that does not say which file it was, none does.

use capture::{Frame, FrameId, Module, ModuleId, SourceFrame, StringId, Symbolized, Tables};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use symbols::{Batch, Lookup, ModuleFile, Source, Symbolizer};

/// Addresses that are looked up. The largest programs have some hundred thousand; what a file claims beyond stays
/// as it is.
const MOST_ADDRESSES: usize = 1 << 20;

/// Bytes of names and paths that are taken; a large C++ program has some dozen megabytes.
const MOST_TEXT: usize = 1 << 29;

/// Where names come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// From the capture alone.
    #[default]
    Stored,
    /// What the capture lacks is looked up in the files that were recorded, as far as they are here.
    FromFiles(Box<symbols::Options>),
}

impl Naming {
    /// From files where they were when they were recorded.
    pub fn from_files() -> Self {
        Naming::FromFiles(Box::default())
    }
}

/// How a search for names went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LookedUp {
    /// Addresses for which the recording had not looked for a name.
    pub unresolved: u64,
    /// Addresses that have a name now.
    pub named: u64,
}

/// Looks up the names that are missing and puts them into the tables.
pub(crate) fn symbolize(tables: &mut Tables, options: &symbols::Options) -> LookedUp {
    let missing = missing(tables);
    let mut looked_up = LookedUp::default();
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
    // What does not fit stays without a name.
    let _ = Symbolizer::new(options.clone()).look_up(
        &batches,
        &AtomicBool::new(false),
        |(batch, place, lookup)| {
            text += text_of(&lookup);
            found.push((frames[batch][place], lookup));
            if text <= MOST_TEXT { Ok(()) } else { Err(TooMuch) }
        },
    );
    // Threads answer in any order, but the names of a capture are the same each time.
    found.sort_unstable_by_key(|(frame, _)| *frame);
    tables.symbols.resize(tables.frames.len(), None);
    let mut texts = Texts::new(tables);
    for (frame, lookup) in found {
        looked_up.named += u64::from(texts.enter(frame, lookup));
    }
    looked_up
}

struct TooMuch;

/// Bytes of the names and paths of a result.
fn text_of(lookup: &Lookup) -> usize {
    let texts = lookup.frames.iter().flat_map(|frame| [&frame.function, &frame.file]);
    texts.chain([&lookup.linkage]).flatten().map(|text| text.len() + size_of::<String>()).sum()
}

/// Frames without a function, by module, of modules that can be told from others.
fn missing(tables: &Tables) -> BTreeMap<ModuleId, Vec<FrameId>> {
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
    let frames = frames.filter(|&(frame, module)| lacks_name(frame) && is_known(module));
    for (frame, module) in frames.take(MOST_ADDRESSES) {
        missing.entry(module).or_default().push(frame);
    }
    missing
}

/// True when a file of this name can be told from the one that was recorded.
fn has_identity(module: &Module) -> bool {
    let is_known = !module.build_id.is_empty() || (module.inode != 0 && module.modified_ns != 0);
    is_known && module.path.starts_with('/')
}

/// The file of a module, by what was recorded of it; none where that tells it from no other.
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
        // The call may be the last instruction of its function.
        Frame::Code { address, .. } => address.wrapping_sub(1),
        Frame::Pseudo(_) => 0,
    };
    Batch { source: Source::File(file), addresses: frames.iter().map(address).collect() }
}

/// The strings of the tables, each new one once.
pub(crate) struct Texts<'a> {
    tables: &'a mut Tables,
    known: HashMap<String, StringId>,
}

impl<'a> Texts<'a> {
    /// Those of these tables: strings that they have already are entered again.
    pub(crate) fn new(tables: &'a mut Tables) -> Self {
        Self { tables, known: HashMap::new() }
    }

    /// Puts a result in, if it says more than what is there; says whether it has a name.
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
            self.tables.symbols[frame.index()] = Some(Symbolized { frame, names, reason, linkage });
        }
        is_named
    }

    fn string(&mut self, text: String) -> StringId {
        *self.known.entry(text).or_insert_with_key(|text| {
            self.tables.strings.push(text.clone());
            StringId::from_index(self.tables.strings.len() - 1)
        })
    }
}
