//! The allocator that a program has inside.
//!
//! Where an executable defines `malloc` itself, whether it was linked with an allocator or brings its own, that comes before ours in
//! the order of the search; and what it calls inside itself goes by no order. So the first bytes of such functions are
//! changed, before the program begins: a jump leads to a hook, and what stood there is done elsewhere, where the hook goes on to.
//!
//! ```text
//!  program   malloc: jmp ──────┐                             ┌──► rest of malloc
//!  page                        └─► jmp [hook]   moved: … jmp ┘
//!  agent                                │           ▲
//!                                       hook ───────┘
//! ```
//!
//! All of its functions are led to us or none: of blocks that only come or only go half would be seen. Whether they are is said with
//! the first words to the collector.

mod instruction;
mod moved;
mod symbols;
mod text;

use crate::dynamic::{Dynamic, Symbol};
use crate::interpose;
use crate::real::{Next, next};
use crate::sys;
use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering};
use shared_ring::handshake::Inside;
use symbols::Symbols;
use text::{Change, PLACES, Page};

type Pointer = *mut c_void;

next! {
    /// Its `malloc`.
    MALLOC, malloc = c"malloc": fn(size: usize) -> Pointer;
    /// Its `free`.
    FREE, free = c"free": fn(block: Pointer);
    /// Its `calloc`.
    CALLOC, calloc = c"calloc": fn(count: usize, size: usize) -> Pointer;
    /// Its `realloc`.
    REALLOC, realloc = c"realloc": fn(block: Pointer, size: usize) -> Pointer;
    /// Its `reallocarray`.
    REALLOCARRAY, reallocarray = c"reallocarray": fn(block: Pointer, count: usize, size: usize) -> Pointer;
    /// Its `posix_memalign`.
    POSIX_MEMALIGN, posix_memalign = c"posix_memalign": fn(place: *mut Pointer, alignment: usize, size: usize) -> c_int;
    /// Its `aligned_alloc`.
    ALIGNED_ALLOC, aligned_alloc = c"aligned_alloc": fn(alignment: usize, size: usize) -> Pointer;
    /// Its `memalign`.
    MEMALIGN, memalign = c"memalign": fn(alignment: usize, size: usize) -> Pointer;
    /// Its `valloc`.
    VALLOC, valloc = c"valloc": fn(size: usize) -> Pointer;
    /// Its `pvalloc`.
    PVALLOC, pvalloc = c"pvalloc": fn(size: usize) -> Pointer;
}

/// What a sanitizer's runtime defines beside a `malloc`, which nobody may stand before.
const SANITIZERS: [&CStr; 4] = [c"__asan_init", c"__tsan_init", c"__msan_init", c"__lsan_init"];

/// An [`Inside`].
static INSIDE: AtomicU32 = AtomicU32::new(Inside::Nothing as u32);

/// Whether the program has an allocator inside, and whether that is led to us.
pub(crate) fn inside() -> Inside {
    [Inside::Led, Inside::Unseen]
        .into_iter()
        .find(|inside| *inside as u32 == INSIDE.load(Ordering::Relaxed))
        .unwrap_or_default()
}

/// A function that can be led to us.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    /// Under which the program defines it.
    pub(crate) name: &'static CStr,
    /// Where its calls are to go.
    pub(crate) hook: *const c_void,
    /// Makes its moved beginning known, of the function with this number.
    pub(crate) keep: fn(usize, *mut c_void),
    /// Its number.
    pub(crate) index: usize,
}

impl Function {
    const NOTHING: Self = Self { name: c"", hook: core::ptr::null(), keep, index: usize::MAX };
}

/// Leads the allocator inside the program to us, if it has one. Called before the program begins; in a child that was forked while its
/// parent was at that it may be done already, and would lead to itself if it were done twice.
#[cold]
pub(crate) fn lead() {
    if inside() != Inside::Nothing {
        return;
    }
    let Some(program) = Program::find() else { return };
    let mut work = Work { program: &program, all: [Found::NOTHING; PLACES], count: 0, is_whole: true };
    work.note_exported();
    work.note_hidden();
    if work.count == 0 || program.has_sanitizer() {
        return;
    }
    let is_led = work.is_whole && sys::is_single_threaded() && work.change().is_some();
    let inside = if is_led { Inside::Led } else { Inside::Unseen };
    // Relaxed: nobody else is there yet.
    INSIDE.store(inside as u32, Ordering::Relaxed);
}

/// A function of the program that is to be led to us.
#[derive(Clone, Copy)]
struct Found {
    function: Function,
    address: u64,
    size: usize,
}

impl Found {
    const NOTHING: Self = Self { function: Function::NOTHING, address: 0, size: 0 };
}

/// The functions that are to be led to us.
struct Work<'p> {
    program: &'p Program,
    all: [Found; PLACES],
    count: usize,
    /// No one is missing.
    is_whole: bool,
}

impl Work<'_> {
    /// Those by which the program stands before all libraries, and what else it exports of an allocator.
    fn note_exported(&mut self) {
        let tables = self.program.tables;
        let mut note = |function: Function| {
            if let Some(symbol) = tables.exported(function.name) {
                self.note(function, symbol);
            }
        };
        if tables.exported(c"malloc").is_some() {
            interpose::linked_functions(&mut note);
        }
        interpose::linked_others(&mut note);
    }

    /// Those by which it calls an allocator that is its own affair.
    fn note_hidden(&mut self) {
        let Some(symbols) = Symbols::of(c"/proc/self/exe") else { return };
        let (mut all, mut count) = ([Function::NOTHING; PLACES], 0);
        interpose::linked_others(&mut |function| {
            if let Some(place) = all.get_mut(count) {
                *place = function;
                count += 1;
            }
        });
        let names = all.map(|function| function.name);
        symbols.find(names.get(..count).unwrap_or(&[]), &mut |place, symbol| {
            if let Some(function) = all.get(place) {
                self.note(*function, symbol);
            }
        });
        symbols.give_up();
    }

    /// A function that the program has. Of several names of one the first counts.
    fn note(&mut self, function: Function, symbol: &Symbol) {
        let address = self.program.tables.bias().wrapping_add(symbol.value);
        if !is_function(&symbol) || self.all.iter().take(self.count).any(|other| other.address == address) {
            return;
        }
        match self.all.get_mut(self.count) {
            Some(place) => {
                *place = Found { function, address, size: symbol.size as usize };
                self.count += 1;
            }
            None => self.is_whole = false,
        }
    }

    /// Leads them all to us, or none.
    fn change(&self) -> Option<()> {
        let mut page = Page::below(self.program.start)?;
        let is_done = self.fill(&mut page).is_some_and(|changes| {
            page.finish() && {
                // They are known before anybody comes.
                for (place, found) in self.all.iter().take(self.count).enumerate() {
                    (found.function.keep)(found.function.index, page.moved(place));
                }
                text::change(changes.get(..self.count).unwrap_or(&[]))
            }
        });
        if !is_done {
            page.give_up();
        }
        is_done.then_some(())
    }

    /// Moves all beginnings, and gives what is to be in their place.
    fn fill(&self, page: &mut Page) -> Option<[Change; PLACES]> {
        let mut changes = [Change::NOTHING; PLACES];
        for (place, Found { function, address, size }) in self.all.iter().take(self.count).enumerate() {
            let bytes = moved::bytes_of(*size);
            let code = self.program.code(*address, bytes).filter(|_| *size <= moved::LONGEST_FUNCTION)?;
            let moved = moved::beginning(code, *size, *address, page.moved(place).addr() as u64)?;
            page.fill(place, function.hook, moved);
            let to = moved::jump(*address, page.entry(place))?;
            *changes.get_mut(place)? = Change { address: *address, from: *code.first_chunk()?, to };
        }
        Some(changes)
    }
}

/// Whether it is one whose code we can look at.
fn is_function(symbol: &&Symbol) -> bool {
    const STT_FUNC: u8 = 2;
    symbol.kind & 15 == STT_FUNC && symbol.section != 0 && symbol.size != 0
}

/// The executable.
struct Program {
    tables: Dynamic<'static>,
    headers: &'static [libc::Elf64_Phdr],
    /// Where it begins.
    start: usize,
}

impl Program {
    fn find() -> Option<Self> {
        // SAFETY: asks for a number.
        let first = unsafe { libc::getauxval(libc::AT_PHDR) };
        // SAFETY: as above.
        let count = unsafe { libc::getauxval(libc::AT_PHNUM) };
        if first == 0 {
            return None;
        }
        // SAFETY: the kernel has put the executable's headers there, so many.
        let headers: &[libc::Elf64_Phdr] = unsafe {
            core::slice::from_raw_parts(core::ptr::with_exposed_provenance(first as usize), count as usize)
        };
        let address_of =
            |kind| headers.iter().find(|header| header.p_type == kind).map(|header| header.p_vaddr);
        // Where they say that they are, and where they are.
        let bias = first.wrapping_sub(address_of(libc::PT_PHDR)?);
        let section = bias.wrapping_add(address_of(libc::PT_DYNAMIC)?);
        // SAFETY: the executable's own, which is never unloaded.
        let tables = unsafe { Dynamic::at(bias, core::ptr::with_exposed_provenance(section as usize)) };
        Some(Self { tables, headers, start: bias.wrapping_add(address_of(libc::PT_LOAD)?) as usize })
    }

    /// Whether it has a sanitizer's allocator.
    fn has_sanitizer(&self) -> bool {
        SANITIZERS.into_iter().any(|name| self.tables.exported(name).is_some())
    }

    /// So many bytes of its code, or fewer where that ends.
    fn code(&self, address: u64, bytes: usize) -> Option<&'static [u8]> {
        let offset = address.wrapping_sub(self.tables.bias());
        let segment = self.headers.iter().find(|header| {
            header.p_type == libc::PT_LOAD
                && header.p_flags & libc::PF_X != 0
                && offset.wrapping_sub(header.p_vaddr) < header.p_filesz
        })?;
        let left = segment.p_vaddr.wrapping_add(segment.p_filesz).wrapping_sub(offset) as usize;
        let start = core::ptr::with_exposed_provenance(address as usize);
        // SAFETY: within a segment of the executable, which nobody changes but us.
        Some(unsafe { core::slice::from_raw_parts(start, bytes.min(left)) })
    }
}

/// Makes the moved beginning of one of the functions above known.
pub(crate) fn keep(index: usize, moved: *mut c_void) {
    if let Some(next) = ALL.get(index) {
        next.set(moved);
    }
}

/// The number that [`keep`] takes, of a function's name.
pub(crate) fn index_of(name: &CStr) -> usize {
    ALL.iter().position(|next: &&Next| next.name() == name).unwrap_or(usize::MAX)
}
