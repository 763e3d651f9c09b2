//! Modules that were opened with `RTLD_DEEPBIND`. They find libc's functions before ours, so of blocks that go to them or come from
//! them half is seen, as with extensions of PHP. The words through which they call are changed then, as those of a process that the
//! agent was loaded into are.
//!
//! Only those words are that lead where ours would go on to, or nowhere yet: what a module brings itself, it keeps.

use crate::elf::{
    DT_JMPREL, DT_NEEDED, DT_NULL, DT_PLTRELSZ, DT_RELA, DT_RELASZ, DT_STRTAB, DT_SYMTAB, R_X86_64_64,
    R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT,
};
use crate::interpose;
use crate::modules::{self, LinkMap};
use crate::real;
use crate::words;
use core::ffi::{CStr, c_char, c_int, c_void};

/// Modules of one `dlopen` that are looked at; those beyond keep their words.
const MODULES: usize = 128;

/// Entry of a dynamic section.
#[repr(C)]
#[derive(Clone, Copy)]
struct Dynamic {
    tag: u64,
    value: u64,
}

#[repr(C)]
struct Symbol {
    name: u32,
    kind: u8,
    other: u8,
    section: u16,
    value: u64,
    size: u64,
}

#[repr(C)]
struct Relocation {
    offset: u64,
    kind: u32,
    symbol: u32,
    addend: i64,
}

/// A module was opened past us, and what it needs with it. Who calls has a handle for it, and holds no lock.
#[cold]
pub(crate) fn bind(handle: *mut c_void) {
    let mut all = [core::ptr::null_mut(); MODULES];
    all[0] = handle.cast::<LinkMap>();
    let mut count = 1;
    let mut at = 0;
    while let Some(&map) = all.get(at).filter(|_| at < count) {
        at += 1;
        // SAFETY: a handle is such a description in glibc. This one is loaded as long as the first one is.
        let module = Module::of(unsafe { &*map });
        module.bind();
        for needed in module.needed() {
            let other = loaded(needed);
            let is_new = !other.is_null() && !all.contains(&other) && !is_left_alone(other);
            if let Some(place) = all.get_mut(count).filter(|_| is_new) {
                *place = other;
                count += 1;
            }
        }
    }
}

/// A module that is looked for.
struct Search<'n> {
    name: &'n [u8],
    found: *mut LinkMap,
}

/// The module of a name that others need; null when there is none, or under another name. The loader is not asked for it: it would
/// allocate.
#[expect(clippy::disallowed_methods, reason = "in a thread that holds no lock")]
fn loaded(name: &CStr) -> *mut LinkMap {
    let mut search = Search { name: name.to_bytes(), found: core::ptr::null_mut() };
    // SAFETY: the callback is given `search`, and keeps nothing.
    unsafe { libc::dl_iterate_phdr(Some(is_it), (&raw mut search).cast()) };
    search.found
}

unsafe extern "C" fn is_it(info: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> c_int {
    // SAFETY: `dl_iterate_phdr` passes a description.
    let info = unsafe { &*info };
    // SAFETY: what `loaded` gave it, which nobody else uses.
    let search = unsafe { &mut *search.cast::<Search<'_>>() };
    // SAFETY: of a loaded module: its path, or nothing for the program.
    let path = unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes();
    if path.rsplit(|byte| *byte == b'/').next() != Some(search.name) {
        return 0;
    }
    // Its headers lie in the module.
    search.found = modules::around(info.dlpi_phdr.cast()).unwrap_or(core::ptr::null_mut());
    1
}

/// True for ourselves, libc, and the allocator: they have no need of us.
fn is_left_alone(map: *mut LinkMap) -> bool {
    let of = |address: *const c_void| modules::around(address) == Some(map);
    of(bind as *const c_void) || of(libc::getauxval as *const c_void) || of(real::malloc_address())
}

/// The tables of a module.
struct Module<'m> {
    bias: u64,
    entries: &'m [Dynamic],
}

impl<'m> Module<'m> {
    fn of(map: &'m LinkMap) -> Self {
        let first = map.dynamic.cast::<Dynamic>();
        // SAFETY: of a loaded module: ends with an entry that says so.
        let length = (0..).take_while(|at| unsafe { (*first.wrapping_add(*at)).tag } != DT_NULL).count();
        // SAFETY: as many were just seen.
        Self { bias: map.address, entries: unsafe { core::slice::from_raw_parts(first, length) } }
    }

    fn value(&self, tag: u64) -> Option<u64> {
        self.entries.iter().find(|entry| entry.tag == tag).map(|entry| entry.value)
    }

    /// What an entry leads to. The loader puts addresses in the place of those of the file, where it may write.
    fn table<T>(&self, tag: u64) -> Option<*const T> {
        let value = self.value(tag)?;
        let address = if value < self.bias { value.wrapping_add(self.bias) } else { value };
        Some(core::ptr::with_exposed_provenance(address as usize))
    }

    fn text(&self, offset: u64) -> Option<&'m CStr> {
        let texts = self.table::<c_char>(DT_STRTAB)?;
        // SAFETY: of a loaded module: its texts lie there, each with an end.
        Some(unsafe { CStr::from_ptr(texts.wrapping_add(offset as usize)) })
    }

    /// Names of the modules that it needs.
    fn needed(&self) -> impl Iterator<Item = &'m CStr> {
        self.entries.iter().filter(|entry| entry.tag == DT_NEEDED).filter_map(|entry| self.text(entry.value))
    }

    fn relocations(&self, table: u64, length: u64) -> &'m [Relocation] {
        let (Some(first), Some(bytes)) = (self.table::<Relocation>(table), self.value(length)) else {
            return &[];
        };
        // SAFETY: of a loaded module: as many as it says.
        unsafe { core::slice::from_raw_parts(first, bytes as usize / size_of::<Relocation>()) }
    }

    /// Leads its words to us.
    fn bind(&self) {
        for (table, length) in [(DT_JMPREL, DT_PLTRELSZ), (DT_RELA, DT_RELASZ)] {
            for relocation in self.relocations(table, length) {
                let is_function =
                    matches!(relocation.kind, R_X86_64_JUMP_SLOT | R_X86_64_GLOB_DAT | R_X86_64_64);
                if is_function && relocation.symbol != 0 && relocation.addend == 0 {
                    self.bind_word(relocation);
                }
            }
        }
    }

    fn bind_word(&self, relocation: &Relocation) -> Option<()> {
        let symbols = self.table::<Symbol>(DT_SYMTAB)?;
        // SAFETY: of a loaded module: its relocations have symbols.
        let symbol = unsafe { &*symbols.wrapping_add(relocation.symbol as usize) };
        if symbol.section != 0 {
            return None;
        }
        // Of others nothing is asked: to look up in vain would allocate.
        let name = self.text(symbol.name.into()).filter(|name| interpose::has(name))?;
        // SAFETY: the name is a string.
        let ours = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        if !modules::is_own(ours.addr() as u64) {
            return None;
        }
        let word: *const usize =
            core::ptr::with_exposed_provenance(self.bias.wrapping_add(relocation.offset) as usize);
        // SAFETY: of a loaded module: a word of its own.
        let from = unsafe { word.read_volatile() };
        let leads_to = core::ptr::without_provenance(from);
        // Until the first call through it.
        let is_unbound = relocation.kind == R_X86_64_JUMP_SLOT
            && modules::around(leads_to).is_some_and(|module| Some(module) == modules::around(word.cast()));
        if is_unbound || leads_to == real::look_up(name) {
            words::lead(word.cast(), from, ours.addr());
        }
        Some(())
    }
}
