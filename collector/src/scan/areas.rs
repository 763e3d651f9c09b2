//! Which of a process's memory is searched, and what kind of memory it is.
//!
//! ```text
//!  libc's stack   │ Left          │ red zone │ in use ··· thread pointer │ rest of the mapping
//!                 │               │ Stack                                │ Anonymous
//!
//!  another stack  │ before        │ red zone │ behind
//!                 │ as it is      │ Stack    │ as it is
//! ```
//!
//! In a stack that libc has made, which lies above a guard, everything below the red zone is left over: it keeps
//! nothing alive. If a thread runs on memory of the program's own, as coroutines do, the stack's bounds are unknown,
//! so that memory is searched as what it is. Only the red zone is attributed to the thread, as the place of its
//! registers.

use super::mappings::Mapping;
use crate::ptrace::hold::Thread;
use capture::AreaKind;
use std::collections::HashSet;
use std::ops::Range;

/// Bytes below the stack pointer that are in use, on x86-64. 64-bit ARM has none: there an old pointer in them may keep
/// a block.
const RED_ZONE: u64 = 128;
const PAGE: u64 = 4096;

/// A piece of memory that is searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) start: u64,
    /// The end, exclusive.
    pub(crate) end: u64,
    pub(crate) kind: AreaKind,
    /// The thread whose stack it is, by its number in our pid namespace; 0 for none.
    pub(crate) tid: u32,
    /// The file; empty if there is none.
    pub(crate) name: String,
    /// For variables, where the beginning of their file is mapped; 0 if unknown.
    pub(crate) base: u64,
    /// Some of its pages may be present.
    pub(super) is_there: bool,
    /// An inaccessible mapping lies directly below it, as below stacks.
    pub(super) is_guarded: bool,
}

/// A thread's stack and thread pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stack {
    pub(super) tid: u32,
    pub(super) pointer: u64,
    /// Where its thread-local memory begins; `None` for a thread that has not stopped.
    pub(super) thread_pointer: Option<u64>,
}

impl Stack {
    pub(super) fn of(thread: &Thread) -> Stack {
        let &Thread { tid, pointer, thread_pointer, .. } = thread;
        Stack { tid, pointer, thread_pointer }
    }
}

/// A module's image in memory, by offsets from its first page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Image {
    /// Up to the end of its last page.
    pub(super) length: u64,
    /// The unused ends of its writable segments' pages. musl's allocator makes blocks from them, in all modules.
    pub(super) gaps: Vec<Range<u64>>,
    /// It is linked to a fixed address, so its addresses need no relocation.
    pub(super) is_fixed: bool,
}

impl Image {
    /// The gaps of an image that begins at `start`.
    fn gaps_at(&self, start: u64) -> impl Iterator<Item = Range<u64>> {
        self.gaps.iter().map(move |gap| start.wrapping_add(gap.start)..start.wrapping_add(gap.end))
    }
}

/// Files that have a mapping with code.
fn files_of_modules(mappings: &[Mapping]) -> HashSet<(u64, u64)> {
    mappings.iter().filter(|mapping| mapping.is_executable).map(Mapping::file).collect()
}

/// Memory of modules that never changes once the loader has relocated it, such as virtual tables.
pub(super) fn constants(
    mappings: &[Mapping],
    mut image: impl FnMut(u64) -> Option<Image>,
) -> Vec<Range<u64>> {
    let code = files_of_modules(mappings);
    let is_modules = |mapping: &&Mapping| {
        mapping.inode != 0 && !mapping.is_shared && !mapping.is_own && code.contains(&mapping.file())
    };
    let mut fixed: Option<(u64, u64)> = None;
    let mut constants = Vec::new();
    for mapping in mappings.iter().filter(is_modules) {
        if mapping.offset == 0 && image(mapping.start).is_some_and(|image| image.is_fixed) {
            fixed = Some(mapping.file());
        }
        let is_constant = mapping.is_readable && !mapping.is_writable && !mapping.is_executable;
        if is_constant && (mapping.is_written || fixed == Some(mapping.file())) {
            constants.push(mapping.start..mapping.end);
        }
    }
    constants
}

/// What is to be searched, in order of address. `image` returns the image in memory that begins at an address.
pub(super) fn of(
    pid: u32,
    mappings: &[Mapping],
    stacks: &[Stack],
    mut image: impl FnMut(u64) -> Option<Image>,
) -> Vec<Place> {
    let code = files_of_modules(mappings);
    let mut stacks = stacks.to_vec();
    stacks.sort_by_key(|stack| stack.pointer);
    let mut places = Vec::new();
    let mut module: Option<Module<'_>> = None;
    let is_musl = mappings.iter().any(Mapping::is_musl);
    let mut left: Vec<Range<u64>> = Vec::new();
    let mut guard = 0;
    for mapping in mappings {
        let is_guarded = guard == mapping.start;
        guard = if mapping.is_readable || mapping.is_writable { 0 } else { mapping.end };
        let is_modules = mapping.is_private_file() && code.contains(&mapping.file());
        if is_modules {
            match &mut module {
                Some(module) if module.goes_on_with(mapping) => module.mapped = mapping.end,
                _ => {
                    let image = image(mapping.start);
                    if mapping.is_own && is_musl {
                        // The gaps that musl may have made blocks from, in our own modules.
                        left.extend(image.iter().flat_map(|image| image.gaps_at(mapping.start)));
                    }
                    module = Some(Module::new(mapping, image));
                }
            }
        }
        let piece = Piece { mapping, module: module.as_ref(), is_modules, is_guarded };
        if piece.is_ours() && mapping.is_writable {
            let here = left.iter().filter(|gap| mapping.start <= gap.start && gap.end <= mapping.end);
            places.extend(here.map(|gap| piece.part(gap.start, gap.end, AreaKind::Anonymous, "")));
        }
        if piece.is_searched() {
            let is_here = |stack: &&Stack| (mapping.start..mapping.end).contains(&stack.pointer);
            let here: Vec<Stack> = stacks.iter().filter(is_here).copied().collect();
            piece.search(pid, &here, &mut places);
        }
    }
    add_missing(&stacks, &mut places);
    places
}

/// The module that the current mappings belong to.
struct Module<'m> {
    /// Its first mapping.
    first: &'m Mapping,
    /// The end of what was mapped of it so far.
    mapped: u64,
    /// The end of its variables; `None` if its header does not say.
    end: Option<u64>,
}

impl<'m> Module<'m> {
    fn new(first: &'m Mapping, image: Option<Image>) -> Module<'m> {
        let end = image.map(|image| first.start.saturating_add(image.length));
        Module { first, mapped: first.end, end }
    }

    /// True if the mapping continues this module; false for the first mapping of the same file loaded once more.
    fn goes_on_with(&self, mapping: &Mapping) -> bool {
        let is_within = self.end.map_or(mapping.offset != 0, |end| mapping.start < end);
        self.first.file() == mapping.file() && is_within
    }

    /// Where its variables end within memory without a file; `None` if there are none.
    fn border(&self, mapping: &Mapping) -> Option<u64> {
        // If the file's header does not say, adjoining memory is taken for its variables.
        let end = self.end.or((self.mapped == mapping.start).then_some(mapping.end))?;
        (mapping.start >= self.mapped).then_some(end.min(mapping.end))
    }

    /// Where the beginning of its file is mapped.
    fn base(&self) -> u64 {
        if self.first.offset == 0 { self.first.start } else { 0 }
    }
}

/// A mapping and its surroundings.
struct Piece<'m> {
    mapping: &'m Mapping,
    /// The last module before it, which may end within it.
    module: Option<&'m Module<'m>>,
    /// It is a mapping of that module's file.
    is_modules: bool,
    /// An inaccessible mapping lies directly below it.
    is_guarded: bool,
}

impl Piece<'_> {
    /// True for the agent's mappings and variables.
    fn is_ours(&self) -> bool {
        let is_its = self.module.is_some_and(|module| module.first.is_own);
        self.mapping.is_own || is_its && self.mapping.is_anonymous()
    }

    /// Memory that was written may have been made read-only since, and blocks inaccessible; pointers still lead
    /// there.
    fn is_searched(&self) -> bool {
        let mapping = self.mapping;
        let may_hold = mapping.is_writable || mapping.is_written || mapping.is_anonymous();
        let is_code = mapping.is_executable && !mapping.is_writable;
        may_hold && !is_code && !mapping.is_device && !mapping.is_own
    }

    fn part(&self, start: u64, end: u64, kind: AreaKind, name: &str) -> Place {
        Place {
            start,
            end,
            kind,
            tid: 0,
            name: name.to_owned(),
            base: 0,
            is_there: self.mapping.is_there && self.mapping.is_readable,
            is_guarded: self.is_guarded && start == self.mapping.start,
        }
    }

    /// Adds everything to be searched in it, with the stacks of the threads whose stack pointers lie in it.
    fn search(&self, pid: u32, here: &[Stack], places: &mut Vec<Place>) {
        let mapping = self.mapping;
        let whole = |kind, name: &str| self.part(mapping.start, mapping.end, kind, name);
        match mapping.path.as_str() {
            "[stack]" => main_stack(&Place { tid: pid, ..whole(AreaKind::Stack, "") }, here, places),
            "[heap]" => split(whole(AreaKind::Heap, ""), here, places),
            _ if mapping.is_anonymous() => self.search_anonymous(here, places),
            path if path.starts_with('[') && !path.starts_with("[anon_shmem:") => {}
            path if self.is_modules => {
                let base = self.module.map_or(0, Module::base);
                split(Place { base, ..whole(AreaKind::Variables, path) }, here, places);
            }
            path => split(whole(AreaKind::Other, path), here, places),
        }
    }

    /// Searches memory without a file, which may begin with variables of the module before it.
    fn search_anonymous(&self, here: &[Stack], places: &mut Vec<Place>) {
        let Mapping { start, end, .. } = *self.mapping;
        let border = self.module.and_then(|module| module.border(self.mapping)).unwrap_or(0).max(start);
        if let Some(module) = self.module.filter(|module| border > start && !module.first.is_own) {
            let place = self.part(start, border, AreaKind::Variables, &module.first.path);
            split(Place { base: module.base(), ..place }, here, places);
        }
        if border < end {
            split(self.part(border, end, AreaKind::Anonymous, ""), here, places);
        }
    }
}

/// The first thread's stack: all of it is stack, whichever threads run there. If none seems to, all of it is
/// searched.
fn main_stack(whole: &Place, here: &[Stack], places: &mut Vec<Place>) {
    if here.is_empty() {
        places.push(whole.clone());
    }
    for (at, stack) in here.iter().enumerate() {
        let end = here.get(at + 1).map_or(whole.end, |next| red_zone(next, whole.start));
        let start = red_zone(stack, whole.start);
        if start < end {
            places.push(Place { start, end, tid: stack.tid, ..whole.clone() });
        }
    }
}

/// Cuts the stacks out of a place.
fn split(whole: Place, here: &[Stack], places: &mut Vec<Place>) {
    let mut cursor = whole.start;
    for stack in here {
        // Without registers the thread needs no place for them.
        let Some(thread_pointer) = stack.thread_pointer.filter(|_| stack.pointer >= cursor) else { continue };
        let start = red_zone(stack, cursor);
        let is_libcs =
            whole.kind == AreaKind::Anonymous && (stack.pointer..whole.end).contains(&thread_pointer);
        // Without a guard it may be the program's own memory, with anything below.
        let is_guarded = whole.is_guarded && cursor == whole.start;
        if cursor < start {
            let kind = if is_libcs && is_guarded { AreaKind::Left } else { whole.kind };
            places.push(Place { start: cursor, end: start, kind, is_guarded: false, ..whole.clone() });
        }
        let end = if is_libcs {
            // Memory beyond that page may be a separately mapped block, and is searched as such.
            ((thread_pointer | (PAGE - 1)) + 1).min(whole.end)
        } else {
            (stack.pointer & !7).max(start + 8).min(whole.end)
        };
        places.push(Place {
            start,
            end,
            kind: AreaKind::Stack,
            tid: stack.tid,
            base: 0,
            is_guarded: false,
            ..whole.clone()
        });
        cursor = end;
    }
    if cursor < whole.end {
        let is_guarded = whole.is_guarded && cursor == whole.start;
        places.push(Place { start: cursor, is_guarded, ..whole });
    }
}

fn red_zone(stack: &Stack, least: u64) -> u64 {
    (stack.pointer.saturating_sub(RED_ZONE) & !7).max(least)
}

/// Gives a place to the registers of threads whose stack is in no memory that is searched.
fn add_missing(stacks: &[Stack], places: &mut Vec<Place>) {
    for stack in stacks.iter().filter(|stack| stack.thread_pointer.is_some()) {
        let (start, tid) = (stack.pointer & !7, stack.tid);
        let at = places.partition_point(|place| place.end <= start);
        let has_place = places.iter().any(|place| place.kind == AreaKind::Stack && place.tid == tid);
        let is_free = places.get(at).is_none_or(|next| start + 8 <= next.start);
        if !has_place && is_free {
            let kind = AreaKind::Stack;
            let place = Place {
                start,
                end: start + 8,
                kind,
                tid,
                name: String::new(),
                base: 0,
                is_there: false,
                is_guarded: false,
            };
            places.insert(at, place);
        }
    }
}

/// The image that begins with these bytes, according to its program headers.
pub(super) fn image(beginning: &[u8]) -> Option<Image> {
    const LOAD: u64 = 1;
    const FIXED: u64 = 2;
    const WRITABLE: u64 = 2;
    let number = |at: usize, bytes: usize| {
        let mut number = [0; 8];
        number[..bytes].copy_from_slice(beginning.get(at..at.checked_add(bytes)?)?);
        Some(u64::from_le_bytes(number))
    };
    // A 64-bit file.
    if beginning.get(..5)? != b"\x7fELF\x02" {
        return None;
    }
    let is_fixed = number(16, 2)? == FIXED;
    let (headers, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    let mut first = None;
    let mut end = 0;
    let mut gaps = Vec::new();
    for header in 0..count {
        let at = usize::try_from(headers.checked_add(header * size)?).ok()?;
        if number(at, 4)? == LOAD {
            let address = number(at.checked_add(16)?, 8)?;
            let start = *first.get_or_insert(address & !(PAGE - 1));
            let behind = address.checked_add(number(at.checked_add(40)?, 8)?)?;
            end = behind.max(end);
            if number(at.checked_add(4)?, 4)? & WRITABLE != 0 {
                let page = behind.checked_next_multiple_of(PAGE)?;
                let beside = [address & !(PAGE - 1)..address & !7, behind.next_multiple_of(8)..page];
                let from_first = beside.map(|gap| gap.start.wrapping_sub(start)..gap.end.wrapping_sub(start));
                gaps.extend(from_first.into_iter().filter(|gap| !gap.is_empty()));
            }
        }
    }
    Some(Image { length: end.checked_next_multiple_of(PAGE)?.checked_sub(first?)?, gaps, is_fixed })
}

#[cfg(test)]
mod tests;
