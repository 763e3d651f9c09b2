//! The running kernel's own file, which has lines and inlined functions where `/proc/kallsyms` has only names.
//!
//! It is looked for wherever distributions and kernel developers leave it, and counts if its build id is that of
//! `/sys/kernel/notes`. The kernel's address changes with each boot, so addresses count from its symbol `_stext`.

use crate::binary::Binary;
use crate::identity::ModuleFile;
use object::{Object, ObjectSymbol};
use std::path::PathBuf;

/// A note of ELF: lengths of name and contents, its kind, and both, each up to a multiple of four bytes.
const NOTE_HEADER: usize = 12;
/// Kind of the note with the build id.
const BUILD_ID: u32 = 3;

/// The file of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelImage {
    /// The file.
    pub file: ModuleFile,
    /// Address of `_stext` in it.
    pub start: u64,
}

impl KernelImage {
    /// The image of the running kernel, if it is on this machine.
    pub fn of_this_kernel() -> Option<KernelImage> {
        let build_id = build_id(&std::fs::read("/sys/kernel/notes").ok()?)?.to_vec();
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
        let release = release.trim();
        let places = [
            format!("/usr/lib/debug/boot/vmlinux-{release}"),
            format!("/usr/lib/debug/lib/modules/{release}/vmlinux"),
            format!("/usr/lib/debug/boot/vmlinux-{release}.debug"),
            format!("/lib/modules/{release}/build/vmlinux"),
            format!("/lib/modules/{release}/vmlinux"),
            format!("/boot/vmlinux-{release}"),
        ];
        KernelImage::find(&build_id, places.map(PathBuf::from))
    }

    /// The first of these files with this build id and the symbol that addresses count from.
    pub fn find(build_id: &[u8], places: impl IntoIterator<Item = PathBuf>) -> Option<KernelImage> {
        places.into_iter().find_map(|path| {
            let file = ModuleFile { build_id: build_id.to_vec(), ..ModuleFile::at(path) };
            let binary = Binary::open(&file).ok()?;
            let elf = object::File::parse(binary.bytes()).ok()?;
            let start = elf.symbols().find(|symbol| symbol.name() == Ok("_stext"))?.address();
            Some(KernelImage { file, start })
        })
    }
}

/// The build id among notes.
fn build_id(mut notes: &[u8]) -> Option<&[u8]> {
    loop {
        let (header, rest) = notes.split_at_checked(NOTE_HEADER)?;
        let word = |at: usize| header[at..].first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
        let (name, contents, kind) = (word(0)? as usize, word(4)? as usize, word(8)?);
        let begin = name.checked_next_multiple_of(4)?;
        let end = begin.checked_add(contents)?;
        let (found, is_gnu) = (rest.get(begin..end)?, rest.get(..name)? == b"GNU\0");
        if kind == BUILD_ID && is_gnu {
            return Some(found);
        }
        notes = rest.get(end.checked_next_multiple_of(4)?..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn note(name: &[u8], kind: u32, contents: &[u8]) -> Vec<u8> {
        let mut note = [name.len() as u32, contents.len() as u32, kind].map(u32::to_ne_bytes).concat();
        for part in [name, contents] {
            note.extend(part);
            note.resize(note.len().next_multiple_of(4), 0);
        }
        note
    }

    /// Check that the build id is found among other notes, and that damaged notes have none.
    #[test]
    fn build_id_is_found_among_notes() {
        let notes =
            [note(b"Xen\0", 3, b"other"), note(b"GNU\0", 1, b"abi"), note(b"GNU\0", 3, b"the id")].concat();
        assert_eq!(build_id(&notes), Some(&b"the id"[..]));
        assert_eq!(build_id(&notes[..notes.len() - 4]), None);
        assert_eq!(build_id(&[]), None);
        assert_eq!(build_id(&[0xff; 100]), None);
    }

    proptest! {
        /// Check that any bytes parse as notes or as none.
        #[test]
        fn any_bytes_are_notes(bytes in prop::collection::vec(prop_oneof![0..8_u8, any::<u8>()], 0..80)) {
            build_id(&bytes);
        }
    }
}
