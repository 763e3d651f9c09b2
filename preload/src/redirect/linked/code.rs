//! The code of a loaded module, and what it exports.

use crate::modules;
use crate::modules::dynamic::{Dynamic, Symbol};
use core::ffi::{CStr, c_int, c_void};

/// Functions that a sanitizer's runtime defines beside a `malloc`, which nobody may interpose.
const SANITIZERS: [&CStr; 4] = [c"__asan_init", c"__tsan_init", c"__msan_init", c"__lsan_init"];

/// The code of a module that is never unloaded.
pub(super) struct Code {
    tables: Dynamic<'static>,
    headers: &'static [libc::Elf64_Phdr],
    start: usize,
}

/// Whether it is a function whose code can be examined.
pub(super) fn has_code(symbol: &&Symbol) -> bool {
    symbol.is_function() && symbol.size != 0
}

impl Code {
    /// The code of the executable.
    pub(super) fn of_program() -> Option<Self> {
        // SAFETY: reads a number.
        let first = unsafe { libc::getauxval(libc::AT_PHDR) };
        // SAFETY: as above.
        let count = unsafe { libc::getauxval(libc::AT_PHNUM) };
        if first == 0 {
            return None;
        }
        // SAFETY: the kernel has placed so many headers of the executable there.
        let headers: &[libc::Elf64_Phdr] = unsafe {
            core::slice::from_raw_parts(core::ptr::with_exposed_provenance(first as usize), count as usize)
        };
        // The difference between where the headers are and where they say they are.
        Self::of(first.wrapping_sub(address_of(headers, libc::PT_PHDR)?), headers)
    }

    fn of(bias: u64, headers: &'static [libc::Elf64_Phdr]) -> Option<Self> {
        let section = bias.wrapping_add(address_of(headers, libc::PT_DYNAMIC)?);
        // SAFETY: the module's own section, and the module is never unloaded.
        let tables = unsafe { Dynamic::at(bias, core::ptr::with_exposed_provenance(section as usize)) };
        let start = bias.wrapping_add(address_of(headers, libc::PT_LOAD)?) as usize;
        Some(Self { tables, headers, start })
    }

    pub(super) fn tables(&self) -> Dynamic<'static> {
        self.tables
    }

    /// Where the module begins in memory.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// Whether the module has a sanitizer's allocator.
    pub(super) fn has_sanitizer(&self) -> bool {
        SANITIZERS.into_iter().any(|name| self.tables.exported(name).is_some())
    }

    /// `bytes` of the code from an address on, or fewer where code ends.
    pub(super) fn bytes(&self, address: u64, bytes: usize) -> Option<&'static [u8]> {
        let offset = address.wrapping_sub(self.tables.bias());
        let segment = self.headers.iter().find(|header| {
            header.p_type == libc::PT_LOAD
                && header.p_flags & libc::PF_X != 0
                && offset.wrapping_sub(header.p_vaddr) < header.p_filesz
        })?;
        let left = segment.p_vaddr.wrapping_add(segment.p_filesz).wrapping_sub(offset) as usize;
        let start = core::ptr::with_exposed_provenance(address as usize);
        // SAFETY: within a segment of the module, which nobody changes but us.
        Some(unsafe { core::slice::from_raw_parts(start, bytes.min(left)) })
    }
}

/// The address of the first header of a kind, according to the file.
fn address_of(headers: &[libc::Elf64_Phdr], kind: u32) -> Option<u64> {
    headers.iter().find(|header| header.p_type == kind).map(|header| header.p_vaddr)
}

type Tell<'t> = &'t mut dyn FnMut(Code);

/// Lists the libraries that the program began with, which are never unloaded.
#[expect(
    clippy::disallowed_methods,
    reason = "the loader holds this lock for moments only, and waits for nobody meanwhile"
)]
pub(super) fn each_library(mut tell: Tell<'_>) {
    // SAFETY: the callback gets `tell` and keeps nothing.
    unsafe { libc::dl_iterate_phdr(Some(library), (&raw mut tell).cast()) };
}

unsafe extern "C" fn library(info: *mut libc::dl_phdr_info, _: usize, tell: *mut c_void) -> c_int {
    // SAFETY: `dl_iterate_phdr` passes a valid description.
    let info = unsafe { &*info };
    // SAFETY: the pointer that `each_library` passed, which nobody else uses.
    let tell = unsafe { &mut *tell.cast::<Tell<'_>>() };
    // SAFETY: the loader passes so many headers, which stay mapped as long as the library.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    // The program's name is empty. A module without a description is the kernel's.
    // SAFETY: the loader's own string.
    let is_program = unsafe { CStr::from_ptr(info.dlpi_name) }.is_empty();
    if !is_program
        && modules::around(info.dlpi_phdr.cast()).is_some()
        && let Some(code) = Code::of(info.dlpi_addr, headers)
    {
        tell(code);
    }
    0
}
