//! Joins symbol tables and debug information of a binary and its debug files.

use crate::answers::Origin;
use crate::arena::Arena;
use crate::cache::Cache;
use crate::debug_cache::DebugCache;
use crate::debug_files::DebugFiles;
use crate::debug_files::{DebugFile, Home, Search};
use crate::demangle::demangle;
use crate::elf::Elf;
use crate::function_start::{function_start, is_one_function};
use crate::identity::FileIdentity;
use crate::lines::{LineFrame, Lines};
use crate::lookup::{Lookup, SourceFrame};
use crate::main_function::main_function;
use crate::options::Places;
use crate::reason::Reason;
use crate::shift::Shift;
use crate::table::{Covering, SymbolTable};
use std::cell::OnceCell;
use std::ops::Range;
use std::path::Path;

/// Tables up to this many bytes are read within a millisecond or two.
const LITTLE_WORK: usize = 256 << 10;

/// Everything that is known about one module, borrowed from its files. Each part is read on first use.
pub(crate) struct Resolver<'a> {
    files: Files<'a>,
    symbols: OnceCell<SymbolTable<'a>>,
    variables: OnceCell<SymbolTable<'a>>,
    /// Lines of the whole file.
    lines: OnceCell<Option<Lines<'a>>>,
    /// Lines of the units that the expected addresses need.
    selected: OnceCell<Option<Lines<'a>>>,
    /// Addresses that will be looked up, sorted.
    expected: Vec<u64>,
    debug_files: DebugFiles,
    cache: Option<Cache>,
    /// Where main begins, if the program's entry tells.
    main: OnceCell<Option<u64>>,
    demangle: bool,
}

/// The files of a module: found, and not read yet.
struct Files<'a> {
    binary: Elf<'a>,
    /// None where no file holds the binary.
    identity: Option<FileIdentity>,
    chain: Vec<DebugFile<'a>>,
    /// The file named by `.gnu_debugaltlink`, with what several debug files have in common; borrowed from when they
    /// are read.
    alternate: Option<DebugFile<'a>>,
    /// Which of the binary and its chain of debug files has debug information, where that file lives, and the shift
    /// from the binary's addresses to its own.
    informed: Option<(usize, Home, Shift)>,
    arena: &'a Arena,
}

impl<'a> Files<'a> {
    /// Whether any file has more symbols than the dynamic linker needs.
    fn has_symbol_table(&self) -> bool {
        self.all().any(|elf| elf.has(b".symtab"))
    }

    /// Identities of the files in [`Files::all`], in the same order.
    fn identities(&self) -> impl Iterator<Item = Option<FileIdentity>> {
        std::iter::once(self.identity).chain(self.chain.iter().map(|file| Some(file.identity)))
    }

    /// The binary, and then its debug files.
    fn all(&self) -> impl Iterator<Item = &Elf<'a>> {
        std::iter::once(&self.binary).chain(self.chain.iter().map(|file| &file.elf))
    }
}

/// The function that a program's header names as its entry, as C libraries call it.
const ENTRY: &str = "_start";

/// The function whose address the entry passes to the C library, as crt1.o calls it.
const MAIN: &str = "main";

/// The return trampoline of signal handlers in C libraries. Its symbol is local, so a stripped library has no name
/// for it.
const TRAMPOLINE: &str = "__restore_rt";

/// `rt_sigreturn`: `mov $15,%rax` or `mov $15,%eax`, then `syscall`.
const RETURNS_FROM_SIGNALS: [&[u8]; 2] = [b"\x48\xc7\xc0\x0f\0\0\0\x0f\x05", b"\xb8\x0f\0\0\0\x0f\x05"];

impl<'a> Resolver<'a> {
    /// Finds the debug files of `binary`.
    pub(crate) fn of(
        binary: Elf<'a>,
        path: &Path,
        identity: Option<FileIdentity>,
        places: Places<'_>,
        arena: &'a Arena,
    ) -> Resolver<'a> {
        let mut search = Search::new(arena, places, identity);
        let chain = search.chain(&binary, path);
        let mut files = Files { binary, identity, chain, alternate: None, informed: None, arena };
        let paths = std::iter::once(path).chain(files.chain.iter().map(|file| file.path.as_path()));
        let found = files.all().zip(paths).enumerate().find(|(_, (elf, _))| elf.has_debug_info());
        if let Some((index, (elf, path))) = found {
            let home = search.home(path);
            let alternate = search.alternate(elf, path);
            let shift = Shift::between(&files.binary, elf);
            (files.informed, files.alternate) = (Some((index, home, shift)), alternate);
        }
        Resolver {
            files,
            symbols: OnceCell::new(),
            variables: OnceCell::new(),
            lines: OnceCell::new(),
            selected: OnceCell::new(),
            expected: Vec::new(),
            debug_files: search.outcome,
            cache: places.options.cache.clone(),
            main: OnceCell::new(),
            demangle: places.options.demangle,
        }
    }

    /// Announces which addresses will be looked up, before the first lookup. Others may be looked up, too.
    pub(crate) fn expect(&mut self, mut addresses: Vec<u64>) {
        addresses.sort_unstable();
        self.expected = addresses;
    }

    /// Symbols of all files: any of them may have some that the others lack.
    fn symbols(&self) -> &SymbolTable<'a> {
        self.symbols.get_or_init(|| {
            let Files { binary, chain, arena, .. } = &self.files;
            let mut tables = vec![(binary, Shift::none())];
            tables.extend(chain.iter().map(|file| (&file.elf, Shift::between(&file.elf, binary))));
            let mini = if self.files.has_symbol_table() { None } else { binary.mini_debug_file(arena) };
            tables.extend(mini.iter().map(|elf| (elf, Shift::between(elf, binary))));
            SymbolTable::of(&tables)
        })
    }

    /// The name of the variable at `offset` bytes from where the file's beginning is mapped, and the range of offsets
    /// it covers.
    pub(crate) fn variable(&self, offset: u64) -> (Range<u64>, Option<String>) {
        if !self.files.binary.holds_code() {
            // The segments of a debug file that stands in for its binary have other offsets.
            return (0..u64::MAX, None);
        }
        let variables = self.variables.get_or_init(|| {
            let Files { binary, chain, .. } = &self.files;
            let mut tables = vec![(binary, Shift::none())];
            tables.extend(chain.iter().map(|file| (&file.elf, Shift::of_variables(&file.elf, binary))));
            SymbolTable::of_variables(&tables)
        });
        let origin = self.files.binary.origin();
        let (range, found) = variables.around(origin.wrapping_add(offset));
        let name = found.and_then(|found| self.readable(&String::from_utf8_lossy(found.name)));
        // Nothing ends the range behind the last variable.
        let end = if range.end == u64::MAX { u64::MAX } else { range.end.saturating_sub(origin) };
        (range.start.saturating_sub(origin)..end, name)
    }

    /// Lines of the first file that has any, and the address in that file.
    fn lines(&self, address: u64) -> Option<(&Lines<'a>, u64)> {
        let (index, home, shift) = self.files.informed.as_ref()?;
        let Files { arena, alternate, .. } = &self.files;
        let (elf, identity) = self.files.all().zip(self.files.identities()).nth(*index)?;
        let cache = DebugCache::new(self.cache.as_ref(), identity);
        let is_expected = alternate.is_none() && self.expected.binary_search(&address).is_ok();
        let selected = is_expected.then(|| {
            self.selected.get_or_init(|| {
                if cache.survey(elf).flatten().is_some_and(|survey| survey.refers_far) {
                    return None;
                }
                let mut moved: Vec<u64> =
                    self.expected.iter().filter_map(|&address| shift.apply(address)).collect();
                moved.sort_unstable();
                Lines::select(&moved, elf, &cache, home, arena)
            })
        });
        let lines = selected.and_then(Option::as_ref).or_else(|| {
            let alternate = alternate.as_ref().map(|file| &file.elf);
            let all = || Lines::load(elf, &cache, home, alternate, arena);
            self.lines.get_or_init(all).as_ref()
        })?;
        Some((lines, shift.apply(address)?))
    }

    /// Why an address has no name.
    fn nameless(&self) -> Reason {
        let has_lines =
            [&self.selected, &self.lines].iter().any(|lines| lines.get().is_some_and(Option::is_some));
        if !has_lines && !self.files.has_symbol_table() && !self.debug_files.refused.is_empty() {
            Reason::DebugFileRefused
        } else if self.symbols().is_empty() && !has_lines {
            Reason::NoSymbols
        } else {
            Reason::NoSymbolHere
        }
    }

    /// The inputs that decide this module's answers, as far as they are files: while they are the same, so are the
    /// answers. None where they cannot be told, and where the tables are too small for the cache to save anything.
    pub(crate) fn origin(&self) -> Option<Origin> {
        let debug_files = self.files.chain.iter().chain(&self.files.alternate);
        let files = std::iter::once(self.files.identity?).chain(debug_files.map(|file| file.identity));
        let work: usize = self.files.all().map(Elf::table_bytes).sum();
        (work >= LITTLE_WORK && self.debug_files.refused.is_empty()).then(|| Origin {
            build_id: self.files.binary.build_id().to_vec(),
            files: files.collect(),
            demangle: self.demangle,
        })
    }

    /// Whether an answer came from files that [`Resolver::origin`] does not name: those of split debug information.
    pub(crate) fn has_read_others(&self) -> bool {
        let loaded = [&self.selected, &self.lines].into_iter().filter_map(|lines| lines.get()?.as_ref());
        loaded.into_iter().any(Lines::has_read_others)
    }

    /// The debug files that were used or refused.
    pub(crate) fn debug_files(&self) -> &DebugFiles {
        &self.debug_files
    }

    /// Names and lines of an address of the binary.
    ///
    /// The owning function is named by the symbol table if a symbol with a size covers the address: then its name
    /// is the same whether or not debug information is installed, and captures of two machines compare. DWARF
    /// calls `malloc` of glibc `__libc_malloc`.
    pub(crate) fn lookup(&self, address: u64) -> Lookup {
        let symbol = self
            .symbols()
            .find(address)
            .filter(|symbol| symbol.is_exact || is_one_function(&self.files.binary, symbol.start, address));
        let lines = self.line_frames(address, symbol);
        let mut linkage = lines.last().and_then(|owner| owner.function.clone());
        let mut frames: Vec<SourceFrame> = lines.into_iter().map(|frame| self.source_frame(frame)).collect();
        if let Some(symbol) = symbol {
            if frames.is_empty() {
                frames.push(SourceFrame::default());
            }
            if let Some(owner) = frames.last_mut()
                && (symbol.is_exact || owner.function.is_none())
            {
                let name = String::from_utf8_lossy(symbol.name);
                owner.function = self.readable(&name);
                linkage = Some(name.into_owned());
            }
        }
        let is_named = frames.last().is_some_and(|owner| owner.function.is_some());
        let start = if is_named { None } else { function_start(&self.files.binary, address) };
        if frames.is_empty() {
            let is_entry = start.is_some() && start == self.files.binary.program_entry();
            let known = if is_entry { Some(ENTRY) } else { self.trampoline(address) };
            frames.extend(
                known.map(|name| SourceFrame { function: Some(name.to_owned()), ..SourceFrame::default() }),
            );
        }
        let shown = frames.last().and_then(|owner| owner.function.as_deref());
        let linkage =
            linkage.filter(|name| shown.is_some_and(|shown| shown != name) && *name == printable(name));
        let reason = shown.is_none().then(|| self.nameless());
        let start = start.filter(|_| reason.is_some());
        let main = || *self.main.get_or_init(|| main_function(&self.files.binary));
        let linkage = linkage.or_else(|| (start.is_some() && start == main()).then(|| MAIN.to_owned()));
        Lookup { frames, linkage, start, reason }
    }

    /// The signal trampoline, if it begins right behind this address. A handler returns there without having been
    /// called from there: its return address is the trampoline's first byte, so the byte before it, which is looked
    /// up, lies outside.
    fn trampoline(&self, address: u64) -> Option<&'static str> {
        let Files { binary, .. } = &self.files;
        let code = address.checked_add(1).and_then(|next| binary.bytes_at(next))?;
        let is_it = binary.is_x86_64() && RETURNS_FROM_SIGNALS.iter().any(|way| code.starts_with(way));
        is_it.then_some(TRAMPOLINE)
    }

    /// What debug information says about an address, if it can be trusted.
    fn line_frames(&self, address: u64, symbol: Option<Covering<'_>>) -> Vec<LineFrame> {
        let Some((lines, moved)) = self.lines(address) else { return Vec::new() };
        let frames = lines.frames(moved);
        let function = frames.last().and_then(|owner| owner.function.as_deref());
        let is_believed = match (symbol, function) {
            _ if !lines.is_doubtful(moved) => true,
            (Some(symbol), Some(function)) => is_same_function(symbol.name, function),
            _ => false,
        };
        if is_believed { frames } else { Vec::new() }
    }

    fn source_frame(&self, frame: LineFrame) -> SourceFrame {
        SourceFrame {
            function: frame.function.and_then(|name| self.readable(&name)),
            file: frame.file.filter(|file| !file.is_empty()).map(|file| printable(&file)),
            line: frame.line.filter(|&line| line > 0),
        }
    }

    fn readable(&self, name: &str) -> Option<String> {
        readable(name, self.demangle)
    }
}

/// A readable name; none for an empty one.
pub(crate) fn readable(name: &str, is_demangled: bool) -> Option<String> {
    let name = if is_demangled { demangle(name) } else { name.to_owned() };
    (!name.is_empty()).then(|| printable(&name))
}

/// Whether a symbol is the function that debug information calls `function`, or a clone of it. Debug information
/// has plain names where the producer wrote no linkage names.
fn is_same_function(symbol: &[u8], function: &str) -> bool {
    let symbol = String::from_utf8_lossy(symbol);
    let base = symbol.split('.').next().unwrap_or_default();
    let readable = demangle(base);
    let plain = readable.split('(').next().unwrap_or_default();
    base == function || plain == function || plain.ends_with(&format!("::{function}"))
}

/// A name without anything that could control the terminal it is printed on.
pub(crate) fn printable(name: &str) -> String {
    let is_plain = name.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if !is_plain && name.contains(char::is_control) {
        name.replace(char::is_control, "\u{fffd}")
    } else {
        name.to_owned()
    }
}
