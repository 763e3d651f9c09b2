//! Run by both the fuzzer and its replay in the tests. Nothing is asserted: all that must hold is that an answer
//! comes, soon, within the memory that the files' sizes allow.

use crate::jit::JitCode;
use crate::options::Options;
use crate::symbolizer::Symbolizer;

/// Sections of debug information whose contents a fuzzer chooses.
const DEBUG: [&str; 8] = [
    ".debug_abbrev",
    ".debug_info",
    ".debug_line",
    ".debug_str",
    ".debug_line_str",
    ".debug_rnglists",
    ".debug_addr",
    ".debug_str_offsets",
];
/// Start and length of the code in generated files.
const CODE: (u64, u64) = (0x1000, 0x1_0000);

/// Opens any bytes as a module and looks up addresses.
pub fn read_elf(bytes: &[u8]) {
    let options = Options { debug_dirs: Vec::new(), ..Options::default() };
    let Ok(mut module) = Symbolizer::new(options).open_image(bytes.to_vec()) else { return };
    let spread = (0..64).map(|step| CODE.0 + step * 97);
    // Depending on their length, files are read with and without selecting the units of these addresses.
    if bytes.len().is_multiple_of(2) {
        module.expect(spread.clone().take(4).collect());
    }
    for address in spread.chain([0, 0x40_1000, u64::MAX - 1, u64::MAX]) {
        module.lookup(address);
        module.variable(address);
    }
}

/// Makes a file with these bytes as debug information: two-byte lengths of the sections, then the sections.
pub fn read_dwarf(bytes: &[u8]) {
    let Some((lengths, mut rest)) = bytes.split_at_checked(DEBUG.len() * 2) else { return };
    let mut sections = Vec::new();
    for (name, length) in DEBUG.iter().zip(lengths.as_chunks().0) {
        let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
        let (section, after) = rest.split_at(length);
        sections.push((*name, section));
        rest = after;
    }
    read_elf(&elf_with(&sections));
}

/// Demangles any bytes as names, one per line.
pub fn read_names(bytes: &[u8]) {
    for name in String::from_utf8_lossy(bytes).lines() {
        crate::demangle(name);
    }
}

/// Reads any bytes as a jitdump log, and as a perf map.
pub fn read_jit(bytes: &[u8]) {
    for code in [JitCode::parse(bytes, []), JitCode::parse(b"", [bytes])] {
        for address in (0..64).map(|step| step * 97).chain([u64::MAX - 1, u64::MAX]) {
            code.lookup(address, true);
        }
    }
}

/// A 64-bit ELF file with these sections, and a code section without contents.
///
/// ```text
/// header 64 | contents of sections | names | table of sections: null, .text, sections …, names
/// ```
fn elf_with(sections: &[(&str, &[u8])]) -> Vec<u8> {
    let (nothing, bits, strings, no_bits) = (0, 1, 3, 8);
    let code_flags = u64::from(object::elf::SHF_ALLOC | object::elf::SHF_EXECINSTR);
    let mut file = vec![0; 64];
    let mut names = b"\0.text\0".to_vec();
    let mut table = header(0, nothing, 0, 0, 0, 0);
    table.extend(header(1, no_bits, code_flags, CODE.0, 0, CODE.1));
    for (name, contents) in sections {
        table.extend(header(names.len(), bits, 0, 0, file.len(), contents.len() as u64));
        names.extend(name.as_bytes());
        names.push(0);
        file.extend(*contents);
    }
    let name = names.len();
    names.extend(b".shstrtab\0");
    table.extend(header(name, strings, 0, 0, file.len(), names.len() as u64));
    file.extend(names);
    let count = (sections.len() + 3) as u16;
    let start = file.len() as u64;
    file[..20].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0");
    file[20] = 1;
    file[40..48].copy_from_slice(&start.to_le_bytes());
    for (at, value) in [(52, 64), (58, 64), (60, count), (62, count - 1)] {
        file[at..at + 2].copy_from_slice(&u16::to_le_bytes(value));
    }
    file.extend(table);
    file
}

/// A row of the section table.
fn header(name: usize, kind: u32, flags: u64, address: u64, offset: usize, size: u64) -> Vec<u8> {
    let mut row = [(name as u32).to_le_bytes(), kind.to_le_bytes()].concat();
    for word in [flags, address, offset as u64, size, 0, 1, 0] {
        row.extend(word.to_le_bytes());
    }
    row.truncate(64);
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that generated files are read as intended.
    #[test]
    fn made_files_are_read() {
        let file = elf_with(&[(".debug_abbrev", b"one"), (".debug_info", b"more")]);
        let elf = crate::elf::Elf::parse(&file).unwrap();
        let arena = crate::arena::Arena::default();
        assert_eq!(elf.contents(".debug_info", &arena), Some(&b"more"[..]));
        assert_eq!(elf.contents(".debug_abbrev", &arena), Some(&b"one"[..]));
        assert_eq!(elf.code_start(), CODE.0);
    }
}
