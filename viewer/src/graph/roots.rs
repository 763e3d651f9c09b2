//! What memory is that holds blocks and is none, and what it is called.

use super::arenas::Arenas;
use super::holder::{RootId, Source};
use crate::analysis::{Pages, file_name};
use crate::symbolize::{Naming, module_file};
use capture::{Area, AreaKind, Module, Scan, Tables};
use std::collections::HashMap;
use symbols::{ModuleSymbols, Symbolizer};

/// File names of the C library with the allocator of nearly all programs.
const LIBC: [&str; 2] = ["libc.so", "libc-2."];

/// Whose memory is which.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// What was mapped in the sight of the agent.
    pub(crate) pages: Pages,
    /// What glibc has mapped for blocks by itself.
    pub(crate) arenas: Arenas,
    /// The program has moved the end of the heap itself, so what lies there may be its own.
    pub(crate) has_own_break: bool,
}

/// Tells what holds the pointers of a scan.
pub(crate) struct Roots<'t> {
    tables: &'t Tables,
    areas: &'t [Area],
    symbolizer: Option<Symbolizer>,
    memory: &'t Memory,
    is_partial: bool,
    /// Place of the last area, where the next pointer mostly lies, too.
    near: usize,
    /// The last file whose variables were looked for: pointers come by their places.
    opened: Option<(String, Option<ModuleSymbols>)>,
    ids: HashMap<String, RootId>,
    names: Vec<String>,
}

impl<'t> Roots<'t> {
    /// Of a scan. `is_partial` says that there are blocks that are not known.
    pub(crate) fn new(
        tables: &'t Tables,
        scan: &'t Scan,
        naming: &Naming,
        memory: &'t Memory,
        is_partial: bool,
    ) -> Self {
        let symbolizer = match naming {
            Naming::Stored => None,
            Naming::FromFiles(options) => Some(Symbolizer::new((**options).clone())),
        };
        Self {
            tables,
            areas: &scan.areas,
            symbolizer,
            memory,
            is_partial,
            near: 0,
            opened: None,
            ids: HashMap::new(),
            names: Vec::new(),
        }
    }

    /// What holds a pointer that lies in no block.
    pub(crate) fn source(&mut self, from: u64) -> Source {
        let Some(area) = self.area(from) else { return Source::Ignored };
        if area.kind == AreaKind::Ended || !self.is_partial && self.is_free(&area, from) {
            return Source::Ignored;
        }
        let exact = area.kind == AreaKind::Variables && is_libc(self.tables.string(area.name));
        let name = self.name(&area, from);
        Source::Root { root: self.id(name), exact }
    }

    /// True of a place on the stack of a thread that runs there, whatever else it is.
    pub(crate) fn is_in_use(&mut self, from: u64) -> bool {
        self.area(from).is_some_and(|area| area.kind == AreaKind::Stack)
    }

    /// What the roots are called, by their ids.
    pub(crate) fn into_names(self) -> Vec<String> {
        self.names
    }

    /// True of memory that the allocator keeps for blocks: what lies there in no block is free.
    fn is_free(&self, area: &Area, from: u64) -> bool {
        match area.kind {
            AreaKind::Heap => !self.memory.has_own_break,
            AreaKind::Anonymous => {
                let mapped = self.memory.pages.owner(from);
                mapped.map_or_else(|| self.memory.arenas.contains(from), |is_own| !is_own)
            }
            AreaKind::Other => self.memory.pages.owner(from) == Some(false),
            AreaKind::Ended => true,
            AreaKind::Stack | AreaKind::Variables => false,
        }
    }

    fn area(&mut self, from: u64) -> Option<Area> {
        let lies_in = |area: &Area| (area.start..area.end).contains(&from);
        if let Some(area) = self.areas.get(self.near).filter(|area| lies_in(area)) {
            return Some(*area);
        }
        self.near = self.areas.partition_point(|area| area.start <= from).checked_sub(1)?;
        self.areas.get(self.near).copied().filter(lies_in)
    }

    fn id(&mut self, name: String) -> RootId {
        let next = RootId(self.names.len() as u32);
        *self.ids.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            next
        })
    }

    fn name(&mut self, area: &Area, from: u64) -> String {
        let path = self.tables.string(area.name);
        match area.kind {
            AreaKind::Variables => match self.variable(path, from.wrapping_sub(area.base)) {
                Some(variable) if area.base != 0 => format!("{variable} [{}]", file_name(path)),
                _ => format!("variables of {}", file_name(path)),
            },
            AreaKind::Stack => {
                let thread = self.tables.threads.iter().find(|thread| thread.tid == area.tid);
                match thread.map_or("", |thread| thread.name.as_str()) {
                    "" => format!("stack of thread {}", area.tid),
                    name => format!("stack of thread {} ({name})", area.tid),
                }
            }
            AreaKind::Heap => "heap outside of known blocks".into(),
            AreaKind::Anonymous | AreaKind::Ended => "mapped memory".into(),
            AreaKind::Other if path.is_empty() => "shared memory".into(),
            AreaKind::Other => format!("mapped {}", file_name(path)),
        }
    }

    /// The variable at so many bytes from the beginning of a file, if that is here and the same.
    fn variable(&mut self, path: &str, offset: u64) -> Option<String> {
        if self.opened.as_ref().is_none_or(|(opened, _)| opened != path) {
            let module = self.tables.modules.iter().find(|module: &&Module| module.path == path);
            let file = module.and_then(module_file);
            let symbols = self.symbolizer.as_ref().zip(file).and_then(|(all, file)| all.open(&file).ok());
            self.opened = Some((path.to_owned(), symbols));
        }
        self.opened.as_ref()?.1.as_ref()?.variable(offset)
    }
}

/// True of the file that glibc's allocator lies in. Its bins point at headers of free chunks, which lie in the last bytes of the block
/// before them: so only the beginning of a block counts.
fn is_libc(path: &str) -> bool {
    LIBC.iter().any(|name| file_name(path).starts_with(name))
}
