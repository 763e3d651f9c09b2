//! The callgrind format: what each line of each function costs itself, and what its calls cost.
//!
//! ```text
//! events: PeakBytes PeakBlocks …
//! ob=(1) /bin/app
//! fl=(1) parse.c
//! fn=(1) parse
//! 30 4096 1                    line 30 allocates this itself
//! cfn=(2) push
//! calls=17 0                   17 allocations were made below this call
//! 31 1048576 17                by a call in line 31
//! ```
//!
//! `calls=` has the number of allocations in place of the number of calls, which is not recorded. The inclusive cost
//! of a function is charged once for each stack, however often it is on it; a viewer that adds up the calls of a
//! recursive function shows more, as with callgrind's own files.

use super::call_graph::CallGraph;
use super::places::{Place, source_files};
use crate::origin::{CREATOR, command};
use analysis::{Amount, Cost, LabelId};
use engine::Loaded;
use report::text::{caveats, escape, scope};
use std::collections::HashMap;
use std::io::{self, Write};

/// Name, description, and value.
type Event = (&'static str, &'static str, fn(&Cost) -> i64);

const EVENTS: [Event; 11] = [
    ("PeakBytes", "bytes held at the peak", |cost| cost.peak.bytes),
    ("PeakBlocks", "blocks held at the peak", |cost| cost.peak.blocks),
    ("LeakedBytes", "bytes still allocated at the end", |cost| cost.leaked.bytes),
    ("LeakedBlocks", "blocks still allocated at the end", |cost| cost.leaked.blocks),
    ("LiveBytes", "bytes never freed, for any reason", |cost| cost.live().bytes),
    ("LiveBlocks", "blocks never freed, for any reason", |cost| cost.live().blocks),
    ("AllocatedBytes", "bytes of all allocations", |cost| cost.allocated.bytes),
    ("Allocations", "allocations", |cost| cost.allocated.blocks),
    ("TemporaryBytes", "bytes of temporary allocations", |cost| cost.temporary.bytes),
    ("Temporary", "temporary allocations", |cost| cost.temporary.blocks),
    ("Cpu", "CPU samples", |cost| cost.cpu.blocks),
];

/// Two more if the stacks of frees were recorded.
const FREES: [Event; 2] = [
    ("FreedHereBytes", "bytes of blocks freed here, wherever allocated", |cost| cost.frees.bytes),
    ("FreesHere", "blocks freed here, wherever allocated", |cost| cost.frees.blocks),
];

fn events(loaded: &Loaded) -> impl Iterator<Item = Event> {
    EVENTS.into_iter().chain(loaded.has_free_stacks().then_some(FREES).into_iter().flatten())
}

/// Writes all metrics of all functions.
pub(super) fn write(out: &mut dyn Write, loaded: &Loaded) -> io::Result<()> {
    let graph = CallGraph::new(loaded);
    head(out, loaded)?;
    let mut writer = Writer {
        out,
        loaded,
        files: source_files(loaded),
        names: [(); 3].map(|()| HashMap::new()),
        now: None,
    };
    let mut calls = graph.calls().into_iter().peekable();
    let mut own = graph.own().into_iter().peekable();
    // Both are ordered by function, then by line.
    for (label, _) in graph.total() {
        while let Some((place, cost)) = own.next_if(|(place, _)| place.label == label) {
            writer.own(place, &cost)?;
        }
        while let Some(((place, callee), cost)) = calls.next_if(|((place, _), _)| place.label == label) {
            writer.call(place, callee, &cost)?;
        }
    }
    write!(out, "\ntotals:")?;
    costs(out, loaded, &loaded.profile.total)
}

fn head(out: &mut dyn Write, loaded: &Loaded) -> io::Result<()> {
    writeln!(out, "# callgrind format\nversion: 1\ncreator: {CREATOR}")?;
    writeln!(out, "cmd: {}", escape(&command(loaded)))?;
    writeln!(out, "desc: File: {}", scope(loaded))?;
    for caveat in caveats(loaded) {
        writeln!(out, "desc: Note: {caveat}")?;
    }
    writeln!(out, "positions: line")?;
    for (name, what, _) in events(loaded) {
        writeln!(out, "event: {name} : {what}")?;
    }
    let names: Vec<&str> = events(loaded).map(|(name, _, _)| name).collect();
    writeln!(out, "events: {}", names.join(" "))
}

/// The three kinds of names, which are numbered separately.
#[derive(Clone, Copy)]
enum Name {
    Object,
    File,
    Function,
}

struct Writer<'a, 'o> {
    out: &'o mut dyn Write,
    loaded: &'a Loaded,
    /// By label.
    files: Vec<Option<&'a str>>,
    /// Numbers of the names that have been written.
    names: [HashMap<&'a str, usize>; 3],
    /// The function whose costs are being written.
    now: Option<LabelId>,
}

impl Writer<'_, '_> {
    fn own(&mut self, place: Place, cost: &Cost) -> io::Result<()> {
        self.enter(place.label)?;
        write!(self.out, "{}", place.line)?;
        costs(self.out, self.loaded, cost)
    }

    fn call(&mut self, place: Place, callee: LabelId, cost: &Cost) -> io::Result<()> {
        self.enter(place.label)?;
        self.function("c", callee)?;
        let Amount { blocks, .. } = cost.allocated;
        write!(self.out, "calls={blocks} 0\n{}", place.line)?;
        costs(self.out, self.loaded, cost)
    }

    /// Begins a function.
    fn enter(&mut self, label: LabelId) -> io::Result<()> {
        if self.now.replace(label) == Some(label) {
            return Ok(());
        }
        writeln!(self.out)?;
        self.function("", label)
    }

    fn function(&mut self, prefix: &str, label: LabelId) -> io::Result<()> {
        let loaded = self.loaded;
        self.name(prefix, "ob", Name::Object, loaded.module_of(label).unwrap_or("???"))?;
        // The file of a called function is written as `cfi`, not `cfl`, in both old and new files.
        let file = if prefix.is_empty() { "fl" } else { "fi" };
        self.name(prefix, file, Name::File, self.files[label.index()].unwrap_or("???"))?;
        self.name(prefix, "fn", Name::Function, &loaded.names.label(label).name)
    }
}

impl<'a> Writer<'a, '_> {
    /// A line with a name: in full the first time, afterwards by its number.
    fn name(&mut self, prefix: &str, word: &str, kind: Name, name: &'a str) -> io::Result<()> {
        let known = &mut self.names[kind as usize];
        let next = known.len() + 1;
        let number = *known.entry(name).or_insert(next);
        write!(self.out, "{prefix}{word}=({number})")?;
        if number == next {
            write!(self.out, " {}", escape(name))?;
        }
        writeln!(self.out)
    }
}

fn costs(out: &mut dyn Write, loaded: &Loaded, cost: &Cost) -> io::Result<()> {
    for (_, _, number) in events(loaded) {
        write!(out, " {}", number(cost))?;
    }
    writeln!(out)
}
