//! The log `jit-PID.dump`, in which JIT compilers report their functions, moves and lines.
//!
//! ```text
//! header      | magic "JiTD" | version | length of the header | …
//! record      | kind u32 | length u32 | time u64 | body
//!   0 load    | pid u32 | tid u32 | vma u64 | address u64 | size u64 | index u64 | name, 0 | code …
//!   1 move    | pid u32 | tid u32 | vma u64 | old u64 | new u64 | size u64 | index u64
//!   2 lines   | address u64 | count u64 | count × ( address u64 | line u32 | discriminator u32 | file, 0 )
//!             | lines come before the function that they belong to; the file "\xff" is that of the line before
//!   3 close, 4 unwinding: passed over
//! ```
//!
//! The format is the kernel's, `tools/perf/Documentation/jitdump-specification.txt`. The log may be growing, with an
//! incomplete last record.

use super::code::{Function, Line};
use std::collections::HashMap;
use std::sync::Arc;

/// `JiTD` as a number of the machine that wrote it.
const MAGIC: u32 = 0x4A69_5444;
/// The shortest header; it states its own length.
const HEADER: usize = 40;
/// Kind, length and time.
const PREFIX: usize = 16;
const LOAD: u32 = 0;
const MOVE: u32 = 1;
const LINES: u32 = 2;
const CLOSE: u32 = 3;
/// "The same file as the line before."
const SAME_FILE: &[u8] = b"\xff";
/// Longest name that is kept whole.
const LONGEST_NAME: usize = 1 << 16;

/// Adds the functions of a log, up to `most` in all.
pub(super) fn read(log: &[u8], functions: &mut Vec<Function>, most: usize) {
    let mut reader = Bytes(log);
    let (Some(MAGIC), Some(_version), Some(length)) = (reader.u32(), reader.u32(), reader.u32()) else {
        return;
    };
    let Some(records) = log.get((length as usize).max(HEADER)..) else { return };
    let mut log = Log { functions, by_index: HashMap::new(), lines: HashMap::new(), files: HashMap::new() };
    let mut rest = records;
    while log.functions.len() < most {
        let mut reader = Bytes(rest);
        let (Some(kind), Some(length), Some(_time)) = (reader.u32(), reader.u32(), reader.u64()) else {
            return;
        };
        let Some(body) = rest.get(PREFIX..length as usize) else { return };
        rest = &rest[length as usize..];
        // A damaged record is skipped: its length leads to the next one.
        let _ = match kind {
            LOAD => log.load(Bytes(body)),
            MOVE => log.moved(Bytes(body)),
            LINES => log.lines(Bytes(body)),
            CLOSE => return,
            _ => None,
        };
    }
}

struct Log<'a, 'b> {
    functions: &'a mut Vec<Function>,
    /// Functions that may move, by their index in the log.
    by_index: HashMap<u64, usize>,
    /// Lines that wait for their function, by its address.
    lines: HashMap<u64, Vec<Line>>,
    files: HashMap<&'b [u8], Arc<str>>,
}

impl<'b> Log<'_, 'b> {
    fn load(&mut self, mut body: Bytes<'b>) -> Option<()> {
        let _pid_tid_vma = (body.u32()?, body.u32()?, body.u64()?);
        let (address, size, index) = (body.u64()?, body.u64()?, body.u64()?);
        let name = body.string()?;
        let name = String::from_utf8_lossy(&name[..name.len().min(LONGEST_NAME)]).into();
        let lines = self.lines.remove(&address).unwrap_or_default();
        self.by_index.insert(index, self.functions.len());
        self.functions.push(Function { code: address..address.saturating_add(size), name, lines });
        Some(())
    }

    /// Records the function at both places: here it is not known which samples came before the move.
    fn moved(&mut self, mut body: Bytes<'b>) -> Option<()> {
        let _pid_tid_vma = (body.u32()?, body.u32()?, body.u64()?);
        let (old, new, size, index) = (body.u64()?, body.u64()?, body.u64()?, body.u64()?);
        let function = &self.functions[*self.by_index.get(&index)?];
        if function.code.start != old {
            return None;
        }
        // Lines are not copied with the move, which a log could repeat without end.
        let moved =
            Function { code: new..new.saturating_add(size), name: function.name.clone(), lines: Vec::new() };
        self.by_index.insert(index, self.functions.len());
        self.functions.push(moved);
        Some(())
    }

    fn lines(&mut self, mut body: Bytes<'b>) -> Option<()> {
        let (address, count) = (body.u64()?, body.u64()?);
        let mut lines: Vec<Line> = Vec::new();
        for _ in 0..count {
            let (at, line, _discriminator) = (body.u64()?, body.u32()?, body.u32()?);
            let file = match body.string()? {
                SAME_FILE => lines.last()?.file.clone(),
                file => self.file(file),
            };
            lines.push(Line { address: at, file, line });
        }
        lines.sort_by_key(|line| line.address);
        self.lines.insert(address, lines);
        Some(())
    }

    /// Returns a shared copy of a path.
    fn file(&mut self, path: &'b [u8]) -> Arc<str> {
        let path = &path[..path.len().min(LONGEST_NAME)];
        self.files.entry(path).or_insert_with(|| String::from_utf8_lossy(path).into()).clone()
    }
}

/// The unread rest of a record.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn u32(&mut self) -> Option<u32> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_ne_bytes(*bytes))
    }

    fn u64(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_ne_bytes(*bytes))
    }

    /// A string up to its NUL, which must be there.
    fn string(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|&byte| byte == 0)?;
        let (string, rest) = self.0.split_at(end);
        self.0 = &rest[1..];
        Some(string)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JitCode;
    use proptest::prelude::*;

    fn log(records: &[Vec<u8>]) -> Vec<u8> {
        let mut log = [MAGIC, 1, HEADER as u32].map(u32::to_ne_bytes).concat();
        log.resize(HEADER, 0);
        log.extend(records.iter().flatten());
        log
    }

    fn record(kind: u32, words: &[u64], rest: &[u8]) -> Vec<u8> {
        let body = [words.iter().flat_map(|word| word.to_ne_bytes()).collect(), rest.to_vec()].concat();
        let length = (PREFIX + body.len()) as u32;
        [[kind.to_ne_bytes(), length.to_ne_bytes()].concat(), 7_u64.to_ne_bytes().to_vec(), body].concat()
    }

    fn load(address: u64, size: u64, index: u64, name: &str) -> Vec<u8> {
        record(LOAD, &[0, address, address, size, index], &[name.as_bytes(), b"\0code"].concat())
    }

    fn line(address: u64, line: u32, file: &[u8]) -> Vec<u8> {
        [&address.to_ne_bytes()[..], &line.to_ne_bytes(), &[0; 4], file, b"\0"].concat()
    }

    fn place(code: &JitCode, address: u64) -> (Option<String>, Option<String>, Option<u32>) {
        let mut lookup = code.lookup(address, true);
        let frame = lookup.frames.pop().unwrap_or_default();
        (frame.function, frame.file, frame.line)
    }

    /// Check that functions are found where they were made and where they were moved, with their lines.
    #[test]
    fn functions_moves_and_lines_are_found() {
        let lines = [line(0x100, 3, b"/srv/a.py"), line(0x108, 4, b"\xff"), line(0x10c, 9, b"/srv/b.py")];
        let bytes = log(&[
            record(LINES, &[0x100, 3], &lines.concat()),
            load(0x100, 0x10, 1, "work"),
            record(4, &[1, 2, 3], b"unwinding"),
            load(0x200, 0x10, 2, "other"),
            record(MOVE, &[0, 0, 0x200, 0x300, 0x10, 2], b""),
            record(CLOSE, &[], b""),
            load(0x400, 0x10, 3, "after the end"),
        ]);
        let code = JitCode::parse(b"500 10 of_the_map\n", [&bytes[..]]);
        let named =
            |function: &str, file: &str, line| (Some(function.to_owned()), Some(file.to_owned()), Some(line));
        assert_eq!(place(&code, 0x100), named("work", "/srv/a.py", 3));
        assert_eq!(place(&code, 0x109), named("work", "/srv/a.py", 4));
        assert_eq!(place(&code, 0x10f), named("work", "/srv/b.py", 9));
        let plain = |function: &str| (Some(function.to_owned()), None, None);
        for (address, name) in [(0x200, "other"), (0x30f, "other"), (0x500, "of_the_map")] {
            assert_eq!(place(&code, address), plain(name), "{address:x}");
        }
        for address in [0xff, 0x110, 0x310, 0x400] {
            assert_eq!(place(&code, address), (None, None, None), "{address:x}");
        }
    }

    /// Check that a function has one name if a perf map and a log name it differently, and that places which the log
    /// lacks, or reports twice, have what each of the two says.
    #[test]
    fn map_and_log_tell_of_one_function() {
        let bytes = log(&[
            load(0x100, 0x10, 1, "lists:seq/2"),
            load(0x300, 0x10, 2, "old"),
            load(0x300, 0x10, 3, "new"),
        ]);
        let map = b"100 10 $lists:seq/2\n200 10 $maps:get/2\n300 10 $old\n308 18 $wide\n";
        let code = JitCode::parse(map, [&bytes[..]]);
        for (address, expected) in [
            (0x100, Some("lists:seq/2")),
            (0x10f, Some("lists:seq/2")),
            (0x200, Some("$maps:get/2")),
            (0x300, None),
            (0x30f, None),
            (0x310, Some("$wide")),
        ] {
            assert_eq!(place(&code, address).0.as_deref(), expected, "{address:x}");
        }
    }

    /// Check that a function which moves on and on has its name in memory only once.
    #[test]
    fn moves_copy_no_name() {
        let moves =
            (0..100).map(|turn| record(MOVE, &[0, 0, turn * 0x100, (turn + 1) * 0x100, 0x10, 1], b""));
        let name = "\u{fffd}".repeat(LONGEST_NAME / 3);
        let mut functions = Vec::new();
        read(
            &log(&[load(0, 0x10, 1, &name)].into_iter().chain(moves).collect::<Vec<_>>()),
            &mut functions,
            1000,
        );
        assert_eq!(functions.len(), 101);
        assert!(functions.iter().all(|function| Arc::ptr_eq(&function.name, &functions[0].name)));
    }

    /// Check that a log of the other byte order, and one that is none, have no functions.
    #[test]
    fn other_logs_are_empty() {
        let swapped: Vec<u8> =
            [MAGIC, 1, 40].iter().flat_map(|word: &u32| word.swap_bytes().to_ne_bytes()).collect();
        for bytes in [&b""[..], b"JiTD", &swapped, &[0; 100]] {
            assert!(JitCode::parse(b"", [bytes]).is_empty());
        }
    }

    proptest! {
        /// Check that a log cut anywhere, or with any byte changed, is read without a panic, and that what lies
        /// before is found.
        #[test]
        fn damaged_logs_are_read(cut in 0..400_usize, at in 0..400_usize, byte: u8) {
            let bytes = log(&[
                load(0x100, 0x10, 1, "first"),
                record(LINES, &[0x200, 2], &[line(0x200, 1, b"f"), line(0x208, 2, b"\xff")].concat()),
                load(0x200, 0x10, 2, "second"),
                record(MOVE, &[0, 0, 0x200, 0x300, 0x10, 2], b""),
            ]);
            let first = HEADER + load(0x100, 0x10, 1, "first").len();
            let whole = &bytes[..cut.min(bytes.len())];
            let code = JitCode::parse(b"", [whole]);
            prop_assert_eq!(place(&code, 0x100).0.is_some(), whole.len() >= first);
            let mut damaged = bytes.clone();
            let at = at % damaged.len();
            damaged[at] = byte;
            let code = JitCode::parse(b"", [&damaged[..]]);
            for address in [0, 0x100, 0x200, 0x300, u64::MAX] {
                code.lookup(address, true);
            }
        }
    }
}
