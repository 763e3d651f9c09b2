//! Finds the words in a process's memory that are addresses of its memory, all as of one moment: the process is
//! stopped meanwhile.
//!
//! ```text
//!  Held ────── all threads stop, their registers are read ──────────────────────┐
//!  mappings ── what lies where, as /proc tells ─► areas: what is to be searched │ the process
//!  pages ───── which pages of that there are ──► reading: copies of them        │ stands still
//!  words ───── which words are addresses ──► found, packed                      │
//!  classes ─── of which classes objects are, by their first words               │
//!  Held ────── all threads go on ───────────────────────────────────────────────┘
//! ```
//!
//! The agent's own memory in the process is not searched: it holds copies of the program's addresses. The writer's
//! thread writes the result to the capture, piece by piece between the batches of events.

mod areas;
mod classes;
mod ended;
mod mappings;
mod pages;
#[expect(unsafe_code, reason = "copies the memory of another process")]
mod reading;
#[expect(unsafe_code, reason = "asks the kernel which pages of another process there are")]
mod touched;
mod words;

pub(crate) use areas::Place;
pub(crate) use words::Found;

use crate::base::clock::Clock;
use crate::proc::namespace;
use crate::ptrace::hold::Held;
use crate::ptrace::refusal::Refusal;
use capture::AreaKind;
use classes::Classes;
use mappings::Mapping;
use reading::Reading;
use std::time::Duration;
use words::{Target, Targets};

/// Bytes of a page.
const PAGE: u64 = 4096;

/// What was found in the memory of a process.
#[derive(Debug)]
pub(crate) struct Scanned {
    pub(crate) pid: u32,
    /// Ticks of the recording's clock, halfway through the search.
    pub(crate) time: u64,
    /// From the first thread's stop to the last one's resumption.
    pub(crate) still: Duration,
    /// Bytes searched.
    pub(crate) searched: u64,
    /// Bytes that could not be read.
    pub(crate) unread: u64,
    /// What was searched, in order of address.
    pub(crate) places: Vec<Place>,
    pub(crate) found: Found,
    /// Names of the objects' classes.
    pub(crate) classes: Vec<String>,
}

impl Scanned {
    /// What the user is told.
    pub(crate) fn summary(&self) -> String {
        let milliseconds = self.still.as_secs_f64() * 1e3;
        let mut text = format!(
            "scanned {} in {milliseconds:.0} ms: {} pointers",
            mebibytes(self.searched),
            grouped(self.found.count())
        );
        if self.unread > 0 {
            text += &format!("; {} could not be read", mebibytes(self.unread));
        }
        if self.found.lost > 0 {
            text += &format!("; {} more had no room", grouped(self.found.lost));
        }
        text
    }
}

/// Searches the memory of a process, which is stopped meanwhile. Calls `is_searched` just before the process resumes.
///
/// # Errors
/// Why it cannot be stopped.
pub(crate) fn scan(pid: u32, clock: Clock, is_searched: impl FnOnce()) -> Result<Scanned, Refusal> {
    // Allocates everything before any thread is stopped.
    let mut reading = Reading::of(pid).map_err(|error| Refusal::of(pid, error))?;
    let mut found = Found::default();
    let mut classes = Classes::of_process(pid);
    let held = Held::on(pid)?;
    let begun = clock.now();
    let searched = search(pid, &held, &mut reading, &mut found, &mut classes);
    let ended = clock.now();
    let searched = searched.map(|mut places| {
        for place in places.iter_mut().filter(|place| place.tid != 0) {
            // The number by which the process itself knows the thread; it may be gone soon.
            place.tid = namespace::own(place.tid).unwrap_or(place.tid);
        }
        places
    });
    is_searched();
    let still = held.let_go();
    let places = searched.map_err(|error| Refusal::of(pid, error))?;
    let time = begun + ended.saturating_sub(begun) / 2;
    let Reading { searched, unread, .. } = reading;
    Ok(Scanned { pid, time, still, searched, unread, places, found, classes: classes.into_names() })
}

/// Searches everything that has to be searched, and returns what that was.
fn search(
    pid: u32,
    held: &Held,
    reading: &mut Reading,
    found: &mut Found,
    classes: &mut Classes,
) -> std::io::Result<Vec<Place>> {
    let mappings = Mapping::all(pid)?;
    let threads = held.threads();
    let stacks: Vec<areas::Stack> = threads.iter().map(areas::Stack::of).collect();
    let mut places = areas::of(pid, &mappings, &stacks, |start| reading.image(start));
    let constants = areas::constants(&mappings, |start| reading.image(start));
    // musl makes heap blocks from the unused ends of modules' pages.
    let has_blocks_in_modules = mappings.iter().any(Mapping::is_musl);
    let may_have_blocks = |place: &&Place| match place.kind {
        AreaKind::Variables => {
            has_blocks_in_modules && !constants.iter().any(|range| range.contains(&place.start))
        }
        AreaKind::Stack => false,
        _ => true,
    };
    let blocks = places.iter().filter(may_have_blocks).map(|place| (place.start..place.end, Target::Blocks));
    let targets =
        Targets::new(blocks.chain(constants.iter().cloned().map(|range| (range, Target::Constants))));
    for place in &places {
        let may_have_blocks = may_have_blocks(&place);
        if place.kind == AreaKind::Stack {
            let thread = threads.iter().find(|thread| thread.tid == place.tid);
            found.note(place.start, thread.map_or(&[], |thread| &thread.words), &targets);
        }
        if place.is_there {
            reading.each(place.start..place.end, |start, words| {
                found.search(start, words, &targets, may_have_blocks.then_some(&mut *classes));
            })?;
        }
    }
    ended::tell(&mut places, &stacks, found, reading);
    Ok(places)
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// A number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests;
