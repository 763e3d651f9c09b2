//! Finds the generated function at an address.
//!
//! A JIT compiler moves functions and reuses their memory. An address that belonged to several functions, one after
//! the other, has no name: which of them it was is no longer known.
//!
//! ```text
//! told         [ f         )                              then  [ f again  )
//!                    [ g          )  later                      [ f         )  moved here, or compiled anew
//! segments     [ f   | none | g   )  nothing              [ f              )
//! ```

use super::function_name::FunctionName;
use super::{dump, perf_map};
use crate::lookup::{Lookup, SourceFrame};
use crate::reason::Reason;
use crate::resolver::{printable, readable};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::BufRead;
use std::ops::Range;
use std::sync::Arc;

/// Most functions of one process; further ones have no names. Large Java programs have some hundred thousand.
const MOST_FUNCTIONS: usize = 1 << 22;

/// The functions that a process generated at run time.
#[derive(Debug, Default)]
pub struct JitCode {
    functions: Vec<Function>,
    /// Ascending; each segment ends where the next begins.
    starts: Vec<u64>,
    /// Parallel to `starts`: what is there.
    owners: Vec<Owner>,
}

/// A function as it was reported.
#[derive(Debug, Default)]
pub(super) struct Function {
    pub(super) code: Range<u64>,
    /// As the compiler wrote it. Moves share the name: a log may repeat them without end.
    pub(super) name: Arc<str>,
    /// Ascending; where each line begins.
    pub(super) lines: Vec<Line>,
}

/// Where code of a line begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) address: u64,
    pub(super) file: Arc<str>,
    pub(super) line: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Nobody,
    /// Index of a function.
    One(u32),
    /// Several functions with different names.
    Several,
}

impl JitCode {
    /// Reads the text of a perf map and the bytes of jitdump logs, as far as they are readable.
    pub fn parse<'a>(mut perf_map: &[u8], dumps: impl IntoIterator<Item = &'a [u8]>) -> JitCode {
        JitCode::read(&mut perf_map, dumps)
    }

    /// The same for a map that is not in memory.
    pub(super) fn read<'a>(perf_map: &mut dyn BufRead, dumps: impl IntoIterator<Item = &'a [u8]>) -> JitCode {
        let mut functions = Vec::new();
        for dump in dumps {
            dump::read(dump, &mut functions, MOST_FUNCTIONS);
        }
        // A compiler that writes both may name the same function differently in each, as Erlang's does
        // (`$lists:seq/2`). Where a log reports exactly the same bytes, the map's entry is dropped.
        let told: HashSet<Range<u64>> = functions.iter().map(|function| function.code.clone()).collect();
        let most = MOST_FUNCTIONS.saturating_sub(told.len()).saturating_add(functions.len());
        // What cannot be read is missing, as what was never written.
        let _rest = perf_map::functions(perf_map, |function| {
            if functions.len() < most && !told.contains(&function.code) {
                functions.push(function);
            }
            functions.len() < most
        });
        JitCode::from_functions(functions)
    }

    /// True when no function was reported.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// The function at an address of the process.
    // Cost: one binary search, and another for the line.
    pub fn lookup(&self, address: u64, demangle: bool) -> Lookup {
        let after = self.starts.partition_point(|&start| start <= address);
        let index = match self.owners[..after].last() {
            Some(Owner::One(index)) => *index,
            Some(Owner::Several) => return Lookup::without(Reason::SeveralFunctions),
            Some(Owner::Nobody) | None => return Lookup::without(Reason::Untold),
        };
        let function = &self.functions[index as usize];
        let name = FunctionName::of(&function.name);
        let mut frame = SourceFrame {
            function: readable(name.function, demangle),
            file: name.file.map(printable),
            line: name.line,
        };
        let after = function.lines.partition_point(|line| line.address <= address);
        if let Some(line) = function.lines[..after].last() {
            (frame.file, frame.line) =
                (Some(printable(&line.file)), Some(line.line).filter(|&line| line > 0));
        }
        let reason = frame.function.is_none().then_some(Reason::Untold);
        Lookup { frames: vec![frame], reason, ..Lookup::default() }
    }

    /// Sweeps over all starts and ends once, `n log n`, however the functions overlap.
    fn from_functions(functions: Vec<Function>) -> JitCode {
        let mut edges: Vec<(u64, bool, u32)> = Vec::with_capacity(functions.len() * 2);
        for (function, index) in functions.iter().zip(0..) {
            if !function.code.is_empty() && !function.name.is_empty() {
                edges.push((function.code.start, true, index));
                edges.push((function.code.end, false, index));
            }
        }
        edges.sort_unstable();
        let mut code = JitCode::default();
        // Open functions by name, those with lines first.
        let mut open: BTreeMap<&str, BTreeSet<(bool, u32)>> = BTreeMap::new();
        for edges in edges.chunk_by(|a, b| a.0 == b.0) {
            for &(_, is_start, index) in edges {
                let function = &functions[index as usize];
                let name = FunctionName::of(&function.name).function;
                let of_name = open.entry(name).or_default();
                if is_start {
                    of_name.insert((function.lines.is_empty(), index));
                } else {
                    of_name.remove(&(function.lines.is_empty(), index));
                    if of_name.is_empty() {
                        open.remove(name);
                    }
                }
            }
            let mut names = open.values();
            let owner = match (names.next().and_then(BTreeSet::first), names.next()) {
                (None, _) => Owner::Nobody,
                (Some(_), Some(_)) => Owner::Several,
                (Some(&(_, index)), None) => Owner::One(index),
            };
            if code.owners.last() != Some(&owner) {
                code.starts.push(edges[0].0);
                code.owners.push(owner);
            }
        }
        code.functions = functions;
        code
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn code(functions: &[(u64, u64, &str)]) -> JitCode {
        let function = |&(start, size, name): &(u64, u64, &str)| Function {
            code: start..start + size,
            name: name.into(),
            lines: Vec::new(),
        };
        JitCode::from_functions(functions.iter().map(function).collect())
    }

    fn name(code: &JitCode, address: u64) -> Result<String, Reason> {
        let lookup = code.lookup(address, true);
        lookup.function().map(str::to_owned).ok_or_else(|| lookup.reason.unwrap())
    }

    /// Check that a place that belonged to several functions has no name, and that a function reported twice keeps
    /// its own.
    #[test]
    fn reused_places_have_no_name() {
        let code =
            code(&[(10, 10, "f"), (15, 10, "g"), (100, 10, "again"), (100, 20, "again"), (40, 0, "empty")]);
        for (address, expected) in [
            (9, Err(Reason::Untold)),
            (10, Ok("f")),
            (14, Ok("f")),
            (15, Err(Reason::SeveralFunctions)),
            (19, Err(Reason::SeveralFunctions)),
            (20, Ok("g")),
            (25, Err(Reason::Untold)),
            (40, Err(Reason::Untold)),
            (105, Ok("again")),
            (119, Ok("again")),
            (120, Err(Reason::Untold)),
            (u64::MAX, Err(Reason::Untold)),
        ] {
            assert_eq!(name(&code, address).as_deref().map_err(|reason| *reason), expected, "{address}");
        }
    }

    proptest! {
        /// Check that any overlapping functions are answered as by asking each of them.
        #[test]
        fn sweep_agrees_with_asking_each(
            told in prop::collection::vec((0..60_u64, 0..20_u64, 0..3_usize), 0..20),
            address in 0..90_u64,
        ) {
            let names = ["f", "g", "h"];
            let told: Vec<_> = told.into_iter().map(|(start, size, name)| (start, size, names[name])).collect();
            let mut there: Vec<&str> = told
                .iter()
                .filter(|(start, size, _)| (*start..start + size).contains(&address))
                .map(|(_, _, name)| *name)
                .collect();
            there.sort_unstable();
            there.dedup();
            let expected = match there.as_slice() {
                [] => Err(Reason::Untold),
                [name] => Ok((*name).to_owned()),
                _ => Err(Reason::SeveralFunctions),
            };
            prop_assert_eq!(name(&code(&told), address), expected);
        }
    }
}
