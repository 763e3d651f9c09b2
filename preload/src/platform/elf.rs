//! Constants of the ELF format that the `libc` crate lacks: tags of dynamic sections, and relocation types.

pub(crate) const DT_NULL: u64 = 0;
pub(crate) const DT_NEEDED: u64 = 1;
pub(crate) const DT_PLTRELSZ: u64 = 2;
pub(crate) const DT_STRTAB: u64 = 5;
pub(crate) const DT_SYMTAB: u64 = 6;
pub(crate) const DT_RELA: u64 = 7;
pub(crate) const DT_RELASZ: u64 = 8;
pub(crate) const DT_JMPREL: u64 = 23;
pub(crate) const DT_GNU_HASH: u64 = 0x6fff_fef5;

#[cfg(target_arch = "x86_64")]
mod machine {
    pub(crate) const MACHINE: u16 = libc::EM_X86_64;
    pub(crate) const R_ABSOLUTE: u32 = 1;
    pub(crate) const R_GLOB_DAT: u32 = 6;
    pub(crate) const R_JUMP_SLOT: u32 = 7;
    pub(crate) const R_TLS_MODULE: u32 = 16;
    pub(crate) const R_TLS_OFFSET: u32 = 18;
}

#[cfg(target_arch = "aarch64")]
mod machine {
    pub(crate) const MACHINE: u16 = libc::EM_AARCH64;
    pub(crate) const R_ABSOLUTE: u32 = 257;
    pub(crate) const R_GLOB_DAT: u32 = 1025;
    pub(crate) const R_JUMP_SLOT: u32 = 1026;
    pub(crate) const R_TLS_MODULE: u32 = 1028;
    pub(crate) const R_TLS_OFFSET: u32 = 1030;
}

pub(crate) use machine::*;
