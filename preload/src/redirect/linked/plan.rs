//! The functions of one module to redirect to us.

use super::code::{Code, has_code};
use super::list::List;
use super::symbols::Symbols;
use super::text::{self, Change, Page};
use super::{Function, Hooks, moved};
use crate::modules::dynamic::Symbol;

/// A function that the module has.
#[derive(Clone, Copy)]
struct Found {
    function: Function,
    address: u64,
    size: usize,
}

/// The changes to make: all of them or none.
pub(super) struct Plan {
    hooks: Hooks,
    code: Code,
    all: List<Found>,
    /// No function was left out.
    is_whole: bool,
}

impl Plan {
    /// An empty plan.
    pub(super) fn new(code: Code, hooks: Hooks) -> Self {
        Self { hooks, code, all: List::new(), is_whole: true }
    }

    /// Starts over with another module.
    pub(super) fn begin(&mut self, code: Code) {
        (self.code, self.is_whole) = (code, true);
        self.all.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.all().is_empty()
    }

    /// Notes the program's functions: those by which it precedes all libraries, whatever else of an allocator it
    /// exports, and those of an allocator that it hides.
    pub(super) fn note_program(&mut self) {
        if self.code.tables().exported(c"malloc").is_some() {
            (self.hooks.exported)(&mut |function| self.note_exported(function));
        }
        (self.hooks.others)(&mut |function| self.note_exported(function));
        self.note_hidden();
    }

    /// Notes the functions of a library that we do not export.
    pub(super) fn note_library(&mut self) {
        (self.hooks.in_libraries)(&mut |function| self.note_exported(function));
    }

    fn note_exported(&mut self, function: Function) {
        if let Some(symbol) = self.code.tables().exported(function.name) {
            self.note(function, symbol);
        }
    }

    fn note_hidden(&mut self) {
        let Some(symbols) = Symbols::of(c"/proc/self/exe") else { return };
        let mut wanted = List::new();
        (self.hooks.others)(&mut |function| self.is_whole &= wanted.push(function));
        symbols.find(wanted.all(), &mut |function, symbol| self.note(*function, symbol));
        symbols.give_up();
    }

    /// Notes a function. If it has several names, the first counts.
    fn note(&mut self, function: Function, symbol: &Symbol) {
        let address = self.code.tables().bias().wrapping_add(symbol.value);
        // Without a size nobody knows what belongs to it.
        self.is_whole &= symbol.size != 0 || !symbol.is_function();
        let before = || self.all.all().iter();
        if !has_code(&symbol) || before().any(|other| other.address == address) {
            return;
        }
        // A hook goes on to one function.
        let goes_on = |other: &Function| other.index != usize::MAX && other.hook == function.hook;
        self.is_whole &= !goes_on(&function) || !before().any(|other| goes_on(&other.function));
        self.is_whole &= self.all.push(Found { function, address, size: symbol.size as usize });
    }

    /// Redirects all of them to us; false when one cannot be, and then nothing is changed.
    pub(super) fn change(&self) -> bool {
        let Some(mut page) = Page::below(self.code.start()).filter(|_| self.is_whole) else { return false };
        let is_done = self.fill(&mut page).is_some_and(|changes| {
            page.finish() && {
                // Published before the first call can arrive.
                for (place, found) in self.all.all().iter().enumerate() {
                    (found.function.keep)(found.function.index, page.moved(place));
                }
                text::change(changes.all()) && {
                    for (place, found) in self.all.all().iter().enumerate() {
                        let function = core::ptr::with_exposed_provenance_mut(found.address as usize);
                        (self.hooks.note_moved)(function, page.moved(place));
                    }
                    true
                }
            }
        });
        if !is_done {
            page.give_up();
        }
        is_done
    }

    /// Moves all beginnings, and returns what is to replace them.
    fn fill(&self, page: &mut Page) -> Option<List<Change>> {
        let mut changes = List::new();
        for (place, Found { function, address, size }) in self.all.all().iter().enumerate() {
            let bytes = moved::bytes_of(*size);
            let code = self.code.bytes(*address, bytes)?;
            let moved = moved::beginning(code, *size, *address, page.moved(place).addr() as u64)?;
            page.fill(place, function.hook, moved);
            let to = moved::jump(*address, page.entry(place))?;
            changes.push(Change { address: *address, from: *code.first_chunk()?, to }).then_some(())?;
        }
        Some(changes)
    }
}
