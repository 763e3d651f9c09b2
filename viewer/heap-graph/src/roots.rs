//! Classifies and names the memory outside of blocks that refers to blocks.

use super::arenas::Arenas;
use super::holder::{Rank, RootId, Source};
use analysis::{Pages, file_name};
use capture::{Area, AreaKind, Module, Scan, Tables};
use std::collections::HashMap;
use std::ops::Range;
use symbols::ModuleSymbols;

/// File names of the C library, which contains the allocator of nearly all programs.
const LIBC: [&str; 2] = ["libc.so", "libc-2."];

/// Who owns which memory.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// Mappings that the agent saw being made.
    pub pages: Pages,
    /// Memory that glibc mapped for blocks itself.
    pub arenas: Arenas,
    /// The program has moved the break itself, so the memory below may be its own.
    pub has_own_break: bool,
}

/// Opens the symbols of a module; none without names from files, or where its file is not this module's.
pub type Open<'t> = Box<dyn FnMut(&Module) -> Option<ModuleSymbols> + 't>;

/// Finds the roots of a scan's pointers.
pub struct Roots<'t> {
    tables: &'t Tables,
    areas: &'t [Area],
    open: Open<'t>,
    memory: &'t Memory,
    is_partial: bool,
    /// Names of the process' threads.
    threads: HashMap<u32, &'t str>,
    /// Index of the last area, which usually contains the next pointer, too.
    near: usize,
    /// The last root and its address range.
    last: (Range<u64>, RootId),
    /// The last file whose variables were looked up: pointers come in address order.
    opened: Option<(String, Option<ModuleSymbols>)>,
    ids: HashMap<String, RootId>,
    names: Vec<String>,
}

impl<'t> Roots<'t> {
    /// For a scan. `is_partial` says that some blocks are unknown.
    pub fn new(
        tables: &'t Tables,
        scan: &'t Scan,
        open: Open<'t>,
        memory: &'t Memory,
        is_partial: bool,
    ) -> Self {
        Self {
            tables,
            areas: &scan.areas,
            open,
            memory,
            is_partial,
            threads: tables
                .threads
                .iter()
                .filter(|thread| thread.process == scan.process)
                .map(|thread| (thread.tid, thread.name.as_str()))
                .collect(),
            near: 0,
            last: (0..0, RootId(0)),
            opened: None,
            ids: HashMap::new(),
            names: Vec::new(),
        }
    }

    /// What holds a pointer that is in no block.
    pub fn source(&mut self, from: u64) -> Source {
        let Some(area) = self.area(from) else { return Source::Ignored };
        if self.is_left(&area, from) || !self.is_partial && self.is_free(&area, from) {
            return Source::Ignored;
        }
        let exact = area.kind == AreaKind::Variables && is_libc(self.tables.string(area.name));
        if !self.last.0.contains(&from) {
            let (range, name) = self.name(&area, from);
            self.last = (range, self.id(name));
        }
        let rank = if area.kind == AreaKind::Stack { Rank::Passing } else { Rank::Lasting };
        Source::Root { root: self.last.1, rank, exact }
    }

    /// True for a place on the stack of a thread that is running on it, whatever else it is.
    pub fn is_in_use(&mut self, from: u64) -> bool {
        self.area(from).is_some_and(|area| area.kind == AreaKind::Stack)
    }

    /// The names of the roots, by id.
    pub fn into_names(self) -> Vec<String> {
        self.names
    }

    /// True for the unused part of a stack that libc made for a thread. A stack that the program mapped may share its
    /// mapping with other data.
    fn is_left(&self, area: &Area, from: u64) -> bool {
        area.kind == AreaKind::Left && self.memory.pages.owner(from) != Some(true)
    }

    /// True for memory that the allocator keeps for blocks: outside of blocks it is free.
    fn is_free(&self, area: &Area, from: u64) -> bool {
        match area.kind {
            AreaKind::Heap => !self.memory.has_own_break,
            AreaKind::Anonymous => {
                let mapped = self.memory.pages.owner(from);
                mapped.map_or_else(|| self.memory.arenas.contains(from), |is_own| !is_own)
            }
            AreaKind::Other => self.memory.pages.owner(from) == Some(false),
            AreaKind::Stack | AreaKind::Left | AreaKind::Variables => false,
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

    /// The name of what holds the pointers at an address, and its address range.
    fn name(&mut self, area: &Area, from: u64) -> (Range<u64>, String) {
        let path = self.tables.string(area.name);
        let whole = area.start..area.end;
        let name = match area.kind {
            AreaKind::Variables => return self.variable(area, path, from),
            AreaKind::Stack => match self.threads.get(&area.tid) {
                Some(name) if !name.is_empty() => format!("stack of thread {} ({name})", area.tid),
                _ => format!("stack of thread {}", area.tid),
            },
            AreaKind::Heap => "heap outside known blocks".into(),
            AreaKind::Anonymous | AreaKind::Left => "mapped memory".into(),
            AreaKind::Other if path.is_empty() => "shared memory".into(),
            AreaKind::Other => format!("mapped {}", file_name(path)),
        };
        (whole, name)
    }

    /// The same for a variable, which has a name if this machine has the same file.
    fn variable(&mut self, area: &Area, path: &str, from: u64) -> (Range<u64>, String) {
        let whole = area.start..area.end;
        let nameless = || format!("variables of {}", file_name(path));
        if area.base == 0 {
            return (whole, nameless());
        }
        if self.opened.as_ref().is_none_or(|(opened, _)| opened != path) {
            let module = self.tables.modules.iter().find(|module: &&Module| module.path == path);
            let symbols = module.and_then(|module| (self.open)(module));
            self.opened = Some((path.to_owned(), symbols));
        }
        let Some((_, Some(symbols))) = &self.opened else { return (whole, nameless()) };
        let (range, name) = symbols.variable(from.wrapping_sub(area.base));
        let start = range.start.saturating_add(area.base).max(area.start);
        let range = start..range.end.saturating_add(area.base).min(area.end);
        (range, name.map_or_else(nameless, |name| format!("{name} [{}]", file_name(path))))
    }
}

/// True for the file that contains glibc's allocator. Its bins point at headers of free chunks, which overlap the
/// last bytes of the block before them: so only pointers to the beginning of a block count.
fn is_libc(path: &str) -> bool {
    LIBC.iter().any(|name| file_name(path).starts_with(name))
}
