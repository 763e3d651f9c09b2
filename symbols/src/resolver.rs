//! Joins symbol tables and debug information of a binary and its debug files.

use crate::answers::Origin;
use crate::arena::Arena;
use crate::debug_files::{DebugFile, Home, Search};
use crate::demangle::demangle;
use crate::elf::Elf;
use crate::identity::FileIdentity;
use crate::lines::{LineFrame, Lines};
use crate::shift::Shift;
use crate::symbolizer::Places;
use crate::table::{Covering, SymbolTable};
use crate::{DebugFiles, Lookup, Reason, SourceFrame};
use std::cell::OnceCell;
use std::path::Path;

/// Bytes of tables that are read within a millisecond or two.
const LITTLE_WORK: usize = 256 << 10;

/// Everything that is known about one module, borrowed from the files that say it.
pub(crate) struct Resolver<'a> {
    files: Files<'a>,
    /// Read when the first address is looked up.
    tables: OnceCell<Tables<'a>>,
    debug_files: DebugFiles,
    demangle: bool,
}

/// The files of a module: found, and not read yet.
struct Files<'a> {
    binary: Elf<'a>,
    /// None where no file holds the binary.
    identity: Option<FileIdentity>,
    chain: Vec<DebugFile<'a>>,
    /// What several debug files have in common, beside the one that is read.
    alternate: Option<DebugFile<'a>>,
    /// Which of the binary and the chain has debug information, and where it lives.
    informed: Option<(usize, Home)>,
    arena: &'a Arena,
}

/// What the files say.
struct Tables<'a> {
    symbols: SymbolTable<'a>,
    /// Debug information, and the way from the binary's addresses to those of the file that holds it.
    lines: Option<(Lines<'a>, Shift)>,
    /// The reason for an address without a name.
    nameless: Reason,
}

impl<'a> Files<'a> {
    /// The binary, and then its debug files.
    fn all(&self) -> impl Iterator<Item = &Elf<'a>> {
        std::iter::once(&self.binary).chain(self.chain.iter().map(|file| &file.elf))
    }
}

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
            (files.informed, files.alternate) = (Some((index, home)), alternate);
        }
        let demangle = places.options.demangle;
        Resolver { files, tables: OnceCell::new(), debug_files: search.outcome, demangle }
    }

    /// Reads the tables of all files.
    fn read(&self) -> Tables<'a> {
        let Files { binary, chain, arena, .. } = &self.files;
        // Either file may lack what the other has: symbols come from all, lines from the first that has any.
        let mut tables = vec![(binary, Shift::none())];
        tables.extend(chain.iter().map(|file| (&file.elf, Shift::between(&file.elf, binary))));
        let has_table = tables.iter().any(|(elf, _)| elf.has(b".symtab"));
        let mini = if has_table { None } else { binary.mini_debug_file(arena) };
        tables.extend(mini.iter().map(|elf| (elf, Shift::between(elf, binary))));
        let symbols = SymbolTable::of(&tables);

        let lines = self.files.informed.as_ref().and_then(|(index, home)| {
            let elf = self.files.all().nth(*index)?;
            let alternate = self.files.alternate.as_ref().map(|file| &file.elf);
            Some((Lines::load(elf, home, alternate, arena)?, Shift::between(binary, elf)))
        });

        let is_stripped = lines.is_none() && tables.iter().all(|(elf, _)| !elf.has(b".symtab"));
        let nameless = if is_stripped && !self.debug_files.refused.is_empty() {
            Reason::DebugFileRefused
        } else if symbols.is_empty() && lines.is_none() {
            Reason::NoSymbols
        } else {
            Reason::NoSymbolHere
        };
        Tables { symbols, lines, nameless }
    }

    /// The tables, which the first address waits for.
    fn tables(&self) -> &Tables<'a> {
        self.tables.get_or_init(|| self.read())
    }

    /// What decides the answers of this module, as far as files do: as long as it is the same, answers are. None where that
    /// cannot be said, and where reading the tables is no work worth saving.
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
        let lines = self.tables.get().and_then(|tables| tables.lines.as_ref());
        lines.is_some_and(|(lines, _)| lines.has_read_others())
    }

    /// The debug files that were taken or refused.
    pub(crate) fn debug_files(&self) -> &DebugFiles {
        &self.debug_files
    }

    /// Names and lines of an address of the binary.
    ///
    /// The owning function is named by the symbol table if a symbol with a size covers the address: then its name
    /// is the same whether or not debug information is installed, and captures of two machines compare. DWARF
    /// calls `malloc` of glibc `__libc_malloc`.
    pub(crate) fn lookup(&self, address: u64) -> Lookup {
        let symbol = self.tables().symbols.find(address);
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
        let shown = frames.last().and_then(|owner| owner.function.as_deref());
        let linkage =
            linkage.filter(|name| shown.is_some_and(|shown| shown != name) && *name == printable(name));
        let reason = shown.is_none().then_some(self.tables().nameless);
        Lookup { frames, linkage, reason }
    }

    /// What debug information says about an address, if that can be believed.
    fn line_frames(&self, address: u64, symbol: Option<Covering<'_>>) -> Vec<LineFrame> {
        let Some((lines, shift)) = &self.tables().lines else { return Vec::new() };
        let Some(moved) = shift.apply(address) else { return Vec::new() };
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

/// A name for people; none for an empty one.
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

/// A name that a hostile file cannot use to steer the terminal it is printed on.
pub(crate) fn printable(name: &str) -> String {
    if name.contains(char::is_control) { name.replace(char::is_control, "\u{fffd}") } else { name.to_owned() }
}
