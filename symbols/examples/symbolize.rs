//! Prints functions and lines of addresses, as `addr2line -a -f -i -C` does, or addresses to try it with.
//!
//! ```text
//! symbolize FILE < ADDRESSES             hexadecimal, one a line; those of the file itself
//! symbolize FILE --spread N              N addresses within its functions, evenly spread
//! symbolize FILE --debug-dir DIR < …     looks for debug files there first
//! symbolize FILE --no-demangle < …       names as they are in the file
//! ```

use object::{Object, ObjectSymbol, SymbolKind};
use std::io::{self, BufRead, BufWriter, Write};
use symbols::{ModuleFile, Options, Symbolizer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| {
        let place = arguments.iter().position(|argument| argument == name)?;
        arguments.get(place + 1)
    };
    let file = arguments.first().ok_or("usage: symbolize FILE [--spread N] [--debug-dir DIR]")?;
    let mut out = BufWriter::new(io::stdout().lock());
    if let Some(count) = option("--spread") {
        let addresses = spread(&std::fs::read(file)?, count.parse()?)?;
        for address in addresses {
            writeln!(out, "{address:x}")?;
        }
        return Ok(());
    }
    let demangle = !arguments.iter().any(|argument| argument == "--no-demangle");
    let mut options = Options { demangle, ..Options::default() };
    options.debug_dirs.splice(0..0, option("--debug-dir").map(Into::into));
    let module = Symbolizer::new(options).open(&ModuleFile::at(file))?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let address = u64::from_str_radix(line.trim().trim_start_matches("0x"), 16)?;
        let lookup = module.lookup(address);
        writeln!(out, "{address:#x}")?;
        for frame in &lookup.frames {
            let (file, line) = (frame.file.as_deref().unwrap_or("??"), frame.line.unwrap_or(0));
            writeln!(out, "{}\n{file}:{line}", frame.function.as_deref().unwrap_or("??"))?;
        }
        if let (true, Some(reason)) = (lookup.frames.is_empty(), lookup.reason) {
            writeln!(out, "??\n??:0 ({reason})")?;
        }
    }
    Ok(())
}

/// Addresses within the functions of a file, evenly spread over all of their bytes.
fn spread(bytes: &[u8], count: u64) -> Result<Vec<u64>, Box<dyn std::error::Error>> {
    let file = object::File::parse(bytes)?;
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let functions = symbols.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
    let mut ranges: Vec<(u64, u64)> = functions.map(|symbol| (symbol.address(), symbol.size())).collect();
    ranges.sort_unstable();
    let mut end = 0;
    ranges.retain(|&(start, size)| {
        let is_new = start >= end;
        end = end.max(start + size);
        is_new
    });
    let total: u64 = ranges.iter().map(|(_, size)| size).sum();
    let step = (total / count.max(1)).max(1) as usize;
    let all = ranges.into_iter().flat_map(|(start, size)| start..start + size);
    Ok(all.step_by(step).take(count as usize).collect())
}
