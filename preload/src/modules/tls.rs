//! Variables of which each thread has its own, in another module, without asking the loader.
//!
//! Its `__tls_get_addr` allocates a block for a thread that has not used the module yet. So the words are read that it
//! reads: the loader has written the module's number, or the variable's distance from the thread pointer, into the
//! words that relocations name, and each thread has a vector of its blocks by the numbers of modules.
//!
//! ```text
//!  x86-64            thread pointer + 8 ─► vector          64-bit ARM: thread pointer + 0
//!  glibc   │ count, – │ 0 │ block 1, – │ block 2, – │ …     −1: the thread has none
//!  musl               │ count │ block 1 │ block 2 │ …
//! ```

use crate::modules::c_library;
use crate::modules::dynamic::{Dynamic, Relocation};
use crate::modules::loader::LinkMap;
use crate::platform::arch;
use crate::platform::elf::{DT_RELA, DT_RELASZ, R_TLS_MODULE, R_TLS_OFFSET};
use core::ffi::CStr;

/// Where the thread pointer leads to the vector.
const VECTOR: u64 = if cfg!(target_arch = "x86_64") { 8 } else { 0 };
/// The number of the program itself.
const PROGRAM: u64 = 1;

/// In place of an offset: somewhere in the block.
const SOMEWHERE: u64 = u64::MAX;

/// Where a variable is in each thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TlsVariable {
    /// So far from the thread pointer.
    FromPointer(u64),
    /// In the block of the module with this number, at this offset, or somewhere.
    InBlock { module: u64, offset: u64 },
}

impl TlsVariable {
    /// The variable that has this name in a module, somewhere in its block if it is not exported; `None` if the module
    /// reaches it in another way.
    #[cold]
    pub(crate) fn find(name: &CStr, module: Dynamic<'_>, map: &LinkMap) -> Option<Self> {
        let symbol = module.exported(name).filter(|symbol| symbol.is_thread_local());
        let offset = symbol.map_or(SOMEWHERE, |symbol| symbol.value);
        let own = |relocation: &&Relocation| {
            let symbol = module.symbol(relocation.symbol);
            relocation.symbol == 0
                || symbol
                    .is_some_and(|symbol| module.text(symbol.name.into()).is_some_and(|other| other == name))
        };
        let word = |relocation: &Relocation| {
            let place = module.bias().wrapping_add(relocation.offset) as usize;
            // SAFETY: a word that a relocation of a loaded module names, which the loader has filled in.
            unsafe { core::ptr::with_exposed_provenance::<u64>(place).read_volatile() }
        };
        let relocations = module.relocations(DT_RELA, DT_RELASZ);
        if let Some(relocation) =
            relocations.iter().filter(|one| one.kind == R_TLS_MODULE).find(own).filter(|one| word(one) != 0)
        {
            return Some(Self::InBlock { module: word(relocation), offset });
        }
        let is_it = |one: &&Relocation| one.kind == R_TLS_OFFSET && one.symbol != 0;
        if let Some(relocation) = relocations.iter().filter(is_it).find(own) {
            return Some(Self::FromPointer(word(relocation)));
        }
        // SAFETY: the loader's string, null if there is none.
        let is_program = map.name.is_null() || unsafe { map.name.read() } == 0;
        is_program.then_some(Self::InBlock { module: PROGRAM, offset })
    }

    /// False if it is somewhere in the block.
    pub(crate) fn is_exact(self) -> bool {
        !matches!(self, Self::InBlock { offset: SOMEWHERE, .. })
    }

    /// The variable of the calling thread, or the beginning of the block that has it; `None` if the thread has none
    /// yet. `word` reads memory.
    pub(crate) fn address(self, mut word: impl FnMut(u64) -> Option<u64>) -> Option<u64> {
        let pointer = arch::thread_pointer().addr() as u64;
        let (module, offset) = match self {
            Self::FromPointer(distance) => return Some(pointer.wrapping_add(distance)),
            Self::InBlock { module, offset } => (module, offset),
        };
        let vector = word(pointer.wrapping_add(VECTOR))?;
        let (count, width) =
            if c_library::is_musl() { (word(vector)?, 8) } else { (word(vector.checked_sub(16)?)?, 16) };
        if module > count {
            return None;
        }
        let block = word(vector.checked_add(module.checked_mul(width)?)?)?;
        let offset = if self.is_exact() { offset } else { 0 };
        (block != 0 && block != u64::MAX).then(|| block.wrapping_add(offset))
    }

    /// The variable as words, which are 0 for none.
    pub(crate) fn into_words(self) -> [u64; 2] {
        match self {
            Self::FromPointer(distance) => [u64::MAX, distance],
            Self::InBlock { module, offset } => [module, offset],
        }
    }

    /// The inverse of [`Self::into_words`].
    pub(crate) fn from_words([module, offset]: [u64; 2]) -> Option<Self> {
        match module {
            0 => None,
            u64::MAX => Some(Self::FromPointer(offset)),
            module => Some(Self::InBlock { module, offset }),
        }
    }
}
