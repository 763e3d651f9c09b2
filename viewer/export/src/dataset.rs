//! Adds captures to a dataset: files of Parquet by service, version and day, which engines read as one table.
//!
//! ```text
//!  stacks/service=shop/version=1.2/day=2026-11-29/ID.parquet      a row for each stack
//!  captures/service=shop/version=1.2/day=2026-11-29/ID.parquet    one row, written last: what counts has its stacks
//! ```
//!
//! Folders have the names that Hive gives to partitions. An id is that of a recording on a host, so what is added again
//! takes its own place. Each file appears whole or not at all, and no two captures share one, so any number of
//! exporters may add at once.

mod parquet_file;
mod stack_ids;

use super::amounts::{COLUMNS, Columns, FREES};
use super::origin::labels;
use super::places::places;
use analysis::query::label;
use analysis::{Amount, Cost, Site, meaningful, process_name};
use capture::{AtomicFile, ProcessId, Tables};
use engine::Loaded;
use jiff::Timestamp;
use parquet_file::{Column, Values, write};
use report::csv::folded;
use sha2::{Digest, Sha256};
use stack_ids::{StackIds, function};
use std::collections::{BTreeMap, BTreeSet};
use std::{fs, io, path::Path};

/// Adds what each service, version and host of a capture holds, all of it in files of its own, and returns their
/// folders within `stacks` and `captures`; none if the capture has no process.
///
/// # Errors
/// When a folder cannot be made, or a file not written; what was complete before stays.
pub fn add(dataset: &Path, loaded: &Loaded) -> io::Result<Vec<String>> {
    let tables = &loaded.tables;
    let mut subjects: BTreeMap<Subject, BTreeSet<ProcessId>> = BTreeMap::new();
    for process in (0..tables.processes.len()).map(ProcessId::from_index) {
        subjects.entry(Subject::of(tables, process)).or_default().insert(process);
    }
    let (ids, day) = (StackIds::of(loaded), day(loaded));
    let mut added = Vec::new();
    for (subject, processes) in subjects {
        let folder = subject.folder(&day);
        let is_ours = |site: &&Site| processes.contains(&site.process);
        let sites: Vec<&Site> = loaded.profile.sites.iter().filter(is_ours).collect();
        let about = About { capture: subject.capture(tables), subject, loaded };
        let files =
            [("stacks", about.stacks(&sites, &ids)), ("captures", about.captures(&sites, processes.first()))];
        for (table, columns) in files {
            let folder = dataset.join(table).join(&folder);
            fs::create_dir_all(&folder).map_err(|error| {
                io::Error::new(error.kind(), format!("cannot create {}: {error}", folder.display()))
            })?;
            let file = AtomicFile::create(folder.join(format!("{}.parquet", about.capture)));
            let file = write(file.map_err(io::Error::other)?, &columns).map_err(io::Error::other)?;
            file.commit().map_err(io::Error::other)?;
        }
        added.push(folder);
    }
    Ok(added)
}

/// The UTC day of the moment that is shown.
fn day(loaded: &Loaded) -> String {
    let (_, shown) = loaded.profile.span.times(loaded.duration_ns());
    let seconds = loaded.tables.metadata.started_unix_ns.saturating_add(shown) / 1_000_000_000;
    Timestamp::from_second(seconds.cast_signed()).unwrap_or_default().strftime("%Y-%m-%d").to_string()
}

/// Whose numbers a file has.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Subject {
    service: String,
    version: String,
    host: String,
}

impl Subject {
    fn of(tables: &Tables, process: ProcessId) -> Self {
        let recorded = tables.processes.first().map_or_else(String::new, process_name);
        let value = |name, other: &str| {
            let value =
                label(tables, &tables.processes[process.index()], name).filter(|value| !value.is_empty());
            value.unwrap_or(other).to_owned()
        };
        let [version, host] = ["version", "host"].map(|name| value(name, "unknown"));
        Self { service: value("service", &recorded), version, host }
    }

    fn folder(&self, day: &str) -> String {
        format!("service={}/version={}/day={day}", escaped(&self.service), escaped(&self.version))
    }

    /// The id of what a recording has of it, whatever moment is shown and however often.
    fn capture(&self, tables: &Tables) -> String {
        let (metadata, first) = (&tables.metadata, &tables.processes[0]);
        let recording = (&metadata.boot_id, metadata.started_unix_ns, first.pid, first.start_ticks);
        let text = serde_json::to_string(&(recording, &self.service, &self.version, &self.host));
        Sha256::digest(text.unwrap_or_default())[..16].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A value in the name of a folder, as Hive writes it: bytes of other letters stay, which it reads as such.
fn escaped(value: &str) -> String {
    let is_plain = |char: char| !char.is_ascii() || char.is_ascii_alphanumeric() || "_-.~".contains(char);
    let one = |char| if is_plain(char) { String::from(char) } else { format!("%{:02X}", u32::from(char)) };
    value.chars().map(one).collect()
}

/// What every row of a subject is about.
struct About<'a> {
    capture: String,
    subject: Subject,
    loaded: &'a Loaded,
}

impl About<'_> {
    /// A row for each stack. Stacks of the same functions are one, whatever addresses they have. Neighbours begin alike,
    /// which makes a file a third smaller.
    fn stacks(&self, sites: &[&Site], ids: &StackIds) -> Vec<Column> {
        let loaded = self.loaded;
        let stack = |site: &Site| {
            let mut names: Vec<_> = places(loaded, site).map(|place| function(loaded, place.label)).collect();
            names.reverse();
            names.iter().map(|name| folded(name)).collect::<Vec<_>>().join(";")
        };
        let mut rows: BTreeMap<(String, i64), (&Site, Cost)> = BTreeMap::new();
        for &site in sites {
            let key = (stack(site), ids.id(loaded, site));
            rows.entry(key).or_insert((site, Cost::default())).1 += site.cost;
        }
        let innermost = |(site, _): &(&Site, Cost)| {
            let step = meaningful(&loaded.tables, &loaded.names, site.node).next();
            let label = step.map_or(loaded.names.process(site.process), |(_, step)| step.label);
            function(loaded, label).into_owned()
        };
        let mut columns = self.ids(rows.len());
        columns.push(("stack_id", Values::Numbers(rows.keys().map(|(_, id)| *id).collect())));
        columns.push(("function", Values::texts(rows.values().map(innermost))));
        columns.extend(amounts(&rows.values().map(|(_, cost)| *cost).collect::<Vec<_>>()));
        columns.push(("stack", Values::texts(rows.into_keys().map(|(stack, _)| stack))));
        columns
    }

    /// The row of the capture, with the sums of its stacks.
    fn captures(&self, sites: &[&Site], first: Option<&ProcessId>) -> Vec<Column> {
        let (loaded, metadata) = (self.loaded, &self.loaded.tables.metadata);
        let number = |number: u64| Values::Numbers(vec![number.cast_signed()]);
        let text = |text: &str| Values::texts([text.to_owned()]);
        let total: Cost = sites.iter().map(|site| site.cost).sum();
        let mut columns = self.ids(1);
        columns.extend([
            ("started", Values::Times(vec![(metadata.started_unix_ns / 1000).cast_signed()])),
            ("duration_ns", number(loaded.duration_ns())),
            ("command", text(&metadata.command.join(" "))),
            (
                "labels",
                text(&first.map_or_else(String::new, |first| {
                    labels(metadata, &loaded.tables.processes[first.index()])
                })),
            ),
            ("sample_interval", number(metadata.sample_interval)),
            ("lost_events", number(loaded.lost_events())),
            ("cut", text(loaded.source.cut.as_deref().unwrap_or_default())),
        ]);
        columns.extend(amounts(&[total]));
        columns
    }

    fn ids(&self, rows: usize) -> Vec<Column> {
        let same = |text: &String| Values::texts(vec![text.clone(); rows]);
        vec![("capture", same(&self.capture)), ("host", same(&self.subject.host))]
    }
}

/// All numbers of some rows; every file has the same columns.
fn amounts(costs: &[Cost]) -> impl Iterator<Item = Column> {
    COLUMNS.into_iter().chain([FREES]).flat_map(move |(blocks, bytes, amount): Columns| {
        let numbers =
            |of: fn(Amount) -> i64| Values::Numbers(costs.iter().map(|cost| of(amount(cost))).collect());
        [(blocks, numbers(|amount| amount.blocks)), (bytes, numbers(|amount| amount.bytes))]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Check that no value leaves its folder or is cut short in it, and that each is found again as Hive reads it.
        #[test]
        fn values_are_found_again(value in "(\\PC|[\\x00-\\x7f]){0,40}") {
            let name = escaped(&value);
            prop_assert!(!name.contains(['/', '=', '\0', '\\', ' ']), "{name}");
            let mut parts = name.split('%');
            let mut read = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                read.push(char::from(u8::from_str_radix(&part[..2], 16).unwrap()));
                read.push_str(&part[2..]);
            }
            prop_assert_eq!(read, value);
        }
    }
}
