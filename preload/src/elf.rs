//! Numbers of the ELF format that libc's package does not name: tags of a dynamic section, and kinds of relocations.

pub(crate) const DT_NULL: u64 = 0;
pub(crate) const DT_NEEDED: u64 = 1;
pub(crate) const DT_PLTRELSZ: u64 = 2;
pub(crate) const DT_STRTAB: u64 = 5;
pub(crate) const DT_SYMTAB: u64 = 6;
pub(crate) const DT_RELA: u64 = 7;
pub(crate) const DT_RELASZ: u64 = 8;
pub(crate) const DT_JMPREL: u64 = 23;
pub(crate) const DT_GNU_HASH: u64 = 0x6fff_fef5;

pub(crate) const R_X86_64_64: u32 = 1;
pub(crate) const R_X86_64_GLOB_DAT: u32 = 6;
pub(crate) const R_X86_64_JUMP_SLOT: u32 = 7;
