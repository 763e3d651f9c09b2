//! Several captures shown as one.

use crate::shown;
use crate::support::Made;
use crate::support::fixtures::sampled;
use analysis::query::{Filter, Labelled, Part, Query, Selected};
use analysis::{Cost, Metric, Spelling, rows_as_read};
use capture::{Ended, Lost, Summary};
use engine::lens::Lens;
use engine::{Analyzer, Captures, Error, Grouping, Loaded, Naming, compare_shown};
use proptest::prelude::*;
use report::{ReportOptions, Shape};
use serde_json::{Value, json};
use std::path::PathBuf;
use tempfile::TempDir;

/// One host's capture: `work` and `idle` leak as many bytes. Each build has other addresses and lines.
fn host(host: &str, version: &str, work: u64, idle: u64) -> Made {
    let mut made = Made::new();
    let build = version.as_bytes().to_vec();
    // Other functions before them move the frames of later builds.
    (0..build[0]).for_each(|number| {
        made.stack(&format!("main > of_build_{number}"));
    });
    let (process, thread) = made.process("app");
    made.tables.processes[process.index()].labels = vec![("service.version".into(), version.into())];
    made.tables.metadata.labels = vec![("host.name".into(), host.into()), ("team".into(), "a".into())];
    let [working, idling] = ["main > work", "main > idle"].map(|stack| made.stack(stack));
    made.tables.modules[0].build_id = build;
    made.alloc(thread, 0x1000, work, working);
    made.alloc(thread, 0x9000, 1 << 20, idling);
    made.free(thread, 0x9000);
    made.alloc(thread, 0x2000, idle, idling);
    made.end(process, thread, Ended::Exited(0));
    made.tables.summary = Some(Summary { duration_ns: 9_000_000, ..Summary::default() });
    made
}

/// Two hosts of version 1, whose stack `work` holds 1000 bytes, and two of version 2, where it holds 5000.
fn fleet() -> (TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let hosts = [("a", "1", 1000, 10), ("b", "1", 1000, 20), ("c", "2", 5000, 10), ("d", "2", 5000, 20)];
    let write = |(name, version, work, idle)| {
        let path = folder.path().join(format!("{name}.memprof"));
        host(name, version, work, idle).write(&path);
        path
    };
    let files = hosts.map(write).to_vec();
    (folder, files)
}

fn all(files: &[PathBuf]) -> Captures<'_> {
    Captures { files, only: None }
}

fn seen(captures: &Captures<'_>, query: &Query, lens: &Lens) -> Loaded {
    captures.seen(query, lens, &Naming::Stored).unwrap()
}

/// The functions of the rows, with what they leaked.
fn leaked(loaded: &Loaded) -> Vec<(String, i64)> {
    let rows = rows_as_read(&loaded.profile, &loaded.tables, &loaded.names, Metric::Leaked);
    let name = |node| {
        let (_, node) = loaded.tables.stack(node).next().unwrap();
        loaded.names.label(loaded.names.steps(node.frame)[0].label).name.clone()
    };
    rows.iter().map(|row| (name(row.node), row.cost.leaked.bytes)).collect()
}

fn group(name: &str) -> Lens {
    Lens { group: Some(Grouping::from(name)), ..Lens::default() }
}

/// Check that the same stack of all hosts is one row, whichever build it is of, that stacks of one build are even one
/// stack in memory, and that the peak is that of each, added up.
#[test]
fn a_stack_of_all_hosts_is_one_row() {
    let (_folder, files) = fleet();
    let loaded = seen(&all(&files), &Query::default(), &Lens::default());
    assert_eq!(leaked(&loaded), [("work".to_owned(), 12000), ("idle".to_owned(), 60)]);
    assert_eq!(loaded.profile.total.peak.bytes, 12000 + (4 << 20));
    assert_eq!(loaded.profile.peak.held, loaded.profile.total.peak);
    assert_eq!(loaded.tables.processes.len(), 4);
    let of = |files: &[PathBuf]| seen(&all(files), &Query::default(), &Lens::default()).tables.nodes.len();
    assert_eq!(of(&files[..2]), of(&files[..1]));
    assert_eq!(of(&files), of(&files[..1]) + of(&files[2..3]) - 1);
    let document = shown::report_json(&loaded, &ReportOptions::default());
    let file = format!("{} and 3 more", files[0].display());
    assert_eq!(document["file"], json!(file));
    assert_eq!((&document["captures"], &document["peak_time_ns"]), (&json!(4), &Value::Null));
    let text = shown::report(&loaded, &ReportOptions::default());
    assert!(text.contains(" in 8 blocks, held at the peak of each"), "{text}");
}

/// Check that labels group hosts and versions, by short names and by full ones, whether they are those of recordings
/// or of processes, and that one that none has is said to be missing, with those that are there.
#[test]
fn captures_are_grouped_by_labels() {
    let (_folder, files) = fleet();
    for (label, expected) in [
        ("version", vec![("2", 10030), ("1", 2030)]),
        ("service.version", vec![("2", 10030), ("1", 2030)]),
        ("label:host", vec![("d", 5020), ("c", 5010), ("b", 1020), ("a", 1010)]),
        ("team", vec![("a", 12060)]),
        ("region", vec![("[no region]", 12060)]),
        (
            "process",
            vec![
                ("app (1000) on d", 5020),
                ("app (1000) on c", 5010),
                ("app (1000) on b", 1020),
                ("app (1000) on a", 1010),
            ],
        ),
    ] {
        let loaded = seen(&all(&files), &Query::default(), &group(label));
        let expected: Vec<_> = expected.iter().map(|(name, bytes)| ((*name).to_owned(), *bytes)).collect();
        assert_eq!(leaked(&loaded), expected, "{label}");
        let unmatched = loaded.seen.unwrap().unmatched;
        match label {
            "region" => {
                let text = unmatched[0].to_string();
                let there = "host.name, service.version, team";
                assert_eq!(text, format!("the capture has no label `region`; the nearest: {there}"));
            }
            _ => assert_eq!(unmatched, [], "{label}"),
        }
    }
}

/// Check that sides of a comparison are chosen by labels, with the rows that a comparison of two captures has, and
/// that a label that none has is refused.
#[test]
fn sides_are_chosen_by_labels() {
    let (_folder, files) = fleet();
    let compare = |from: &str, to: &str| {
        let side = |label: &str| {
            let label: Labelled = label.parse().unwrap();
            let captures = Captures { files: &files, only: Some(&label) };
            captures.loaded(&Query::default(), &Lens::default(), &Naming::Stored).unwrap()
        };
        let compared = compare_shown(side(from), side(to), &Lens::default(), Spelling::Exact);
        let (tables, names) = (&compared.loaded.tables, &compared.loaded.names);
        let rows = compared.diff.changed_as_read(tables, names, Metric::Leaked);
        let changes: Vec<_> =
            rows.iter().map(|row| (row.before.leaked.bytes, row.after.leaked.bytes)).collect();
        (changes, compared.before.source.file, compared.after.source.file)
    };
    let name = |place: usize| files[place].display().to_string();
    assert_eq!(
        compare("version=1", "version=2"),
        (vec![(2000, 10000)], format!("{} and 1 more", name(0)), format!("{} and 1 more", name(2)))
    );
    assert_eq!(compare("host=a", "host=d"), (vec![(1000, 5000), (10, 20)], name(0), name(3)));
    assert_eq!(compare("host=?", "team=a").0, []);
    let none: Labelled = "version=3".parse().unwrap();
    let captures = Captures { files: &files, only: Some(&none) };
    let refused = captures.loaded(&Query::default(), &Lens::default(), &Naming::Stored).unwrap_err();
    let text = "the capture has no label `version=3`; the nearest: version=1, version=2";
    assert_eq!(refused.to_string(), text);
}

/// Check that only those processes of a capture count that have the label.
#[test]
fn a_capture_may_be_on_both_sides() {
    let mut made = Made::new();
    for (number, version) in ["1", "2"].iter().enumerate() {
        let (process, thread) = made.process("app");
        made.tables.processes[process.index()].labels = vec![("version".into(), (*version).into())];
        let stack = made.stack("main > work");
        made.alloc(thread, 0x1000, 100 << number, stack);
    }
    let both = made.saved("both.memprof");
    let files = [both.to_path_buf()];
    for (label, bytes) in [("version=1", 100), ("version=2", 200), ("version=*", 300)] {
        let label: Labelled = label.parse().unwrap();
        let captures = Captures { files: &files, only: Some(&label) };
        let total = seen(&captures, &Query::default(), &Lens::default()).profile.total;
        assert_eq!(total.leaked.bytes, bytes, "{label}");
    }
}

/// Check that what one of them lacks, or has lost, is said of all, and that what only some have can be asked for.
#[test]
fn what_one_lacks_is_told_of_all() {
    let (folder, mut files) = fleet();
    let lost = |events| Lost { reason: "ring_full".into(), events, advice: String::new() };
    for (name, events) in [("e", 3), ("f", 4)] {
        let mut made = host(name, "3", 1, 1);
        made.process("helper");
        let remarks = ["first", "second"].map(str::to_owned).to_vec();
        made.tables.summary = Some(Summary { lost: vec![lost(events)], remarks, ..Summary::default() });
        files.push(folder.path().join(format!("{name}.memprof")));
        made.write(files.last().unwrap());
    }
    let whole = std::fs::read(&files[1]).unwrap();
    std::fs::write(&files[1], &whole[..whole.len() - 40]).unwrap();
    let loaded = seen(&all(&files), &Query::default(), &Lens::default());
    assert_eq!(loaded.lost_events(), 7);
    assert_eq!(loaded.tables.summary.as_ref().unwrap().remarks, ["first", "second"]);
    let cut = loaded.source.cut.unwrap();
    assert!(cut.starts_with(&format!("{}: ", files[1].display())), "{cut}");
    let of = |name: &str| {
        let filter = Filter { processes: vec![name.parse::<Selected>().unwrap()], ..Filter::default() };
        let query = Query { filter, ..Query::default() };
        all(&files).seen(&query, &Lens::default(), &Naming::Stored)
    };
    assert_eq!(of("helper").unwrap().profile.others, 1);
    assert!(matches!(of("nobody"), Err(Error::Unknown(_))));
}

/// Check that a moment is that moment of each capture, and that the report does not say when it was.
#[test]
fn a_moment_is_that_of_each() {
    let (_folder, files) = fleet();
    let query = Query::of(Part::At("end".parse().unwrap()));
    let before = Query::of(Part::At("peak".parse().unwrap()));
    let loaded = seen(&all(&files), &before, &Lens::default());
    assert_eq!(loaded.profile.total.leaked.bytes, 12000 + (4 << 20));
    assert_eq!(seen(&all(&files), &query, &Lens::default()).profile.total.leaked.bytes, 12060);
    assert_eq!(shown::report_json(&loaded, &ReportOptions::default())["at_ns"], Value::Null);
    assert!(shown::report(&loaded, &ReportOptions::default()).contains(" at that moment of each: "));
}

/// Check that a set of one capture is that capture, in every document, and that estimates of several have the errors of all.
#[test]
fn one_capture_is_a_set_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let files = [folder.path().join("one.memprof"), folder.path().join("two.memprof")];
    files.iter().for_each(|path| sampled().write(path));
    for shape in [Shape::Stacks, Shape::Tree, Shape::Functions, Shape::Inverted] {
        for lens in [Lens::default(), group("module"), group("process")] {
            let alone = Analyzer::open(&files[0]).unwrap();
            let alone = alone.seen(&Query::default(), &lens, Naming::Stored).unwrap();
            let set = seen(&all(&files[..1]), &Query::default(), &lens);
            let options = ReportOptions { shape, ..ReportOptions::default() };
            assert_eq!(
                shown::report_json(&set, &options),
                shown::report_json(&alone, &options),
                "{shape:?} {lens:?}"
            );
        }
    }
    let of = |files: &[PathBuf]| seen(&all(files), &Query::default(), &Lens::default()).profile;
    let (one, both) = (of(&files[..1]), of(&files));
    let mut twice = one.total_spread;
    twice += one.total_spread;
    assert_eq!(both.total_spread, twice);
    assert_eq!(both.sampling, one.sampling);
    assert!(!one.spreads.is_empty() && both.spreads.len() == both.sites.len());
}

proptest! {
    /// Check that the numbers of a set are the sums of its captures, row by row and in any order, whatever they have in
    /// common.
    #[test]
    fn sets_have_the_sums_of_their_captures(
        hosts in prop::collection::vec((0..3_u8, 1..3_u8, prop::collection::vec((0..6_usize, 1..5000_u64), 0..12)), 1..5),
    ) {
        const STACKS: [&str; 6] =
            ["main", "main > a", "main > a > b", "main > c", "main > c > calloc", "other > a"];
        let folder = tempfile::tempdir().unwrap();
        let mut files = Vec::new();
        let mut sums = std::collections::BTreeMap::new();
        for (place, (host, build, blocks)) in hosts.iter().enumerate() {
            let (mut made, _, thread) = Made::app();
            made.module("/bin/app");
            made.tables.modules[0].build_id = vec![*build];
            made.tables.metadata.labels = vec![("host.name".into(), host.to_string())];
            for (number, (stack, size)) in blocks.iter().enumerate() {
                let node = made.stack(STACKS[*stack]);
                made.alloc(thread, 0x1000 * (number as u64 + 1), *size, node);
                *sums.entry((STACKS[*stack], host.to_string())).or_insert(0) += i64::try_from(*size).unwrap();
            }
            files.push(folder.path().join(format!("{place}.memprof")));
            made.write(files.last().unwrap());
        }
        let sum = |is_in: &dyn Fn(&str, &str) -> bool| -> i64 {
            sums.iter().filter(|((stack, host), _)| is_in(stack, host)).map(|(_, bytes)| bytes).sum()
        };
        for _ in 0..2 {
            let loaded = seen(&all(&files), &Query::default(), &Lens::default());
            let total: Cost = loaded.profile.sites.iter().map(|site| site.cost).sum();
            prop_assert_eq!(total, loaded.profile.total);
            prop_assert_eq!(total.leaked.bytes, sum(&|_, _| true));
            prop_assert_eq!(loaded.profile.processes.len(), hosts.len());
            let rows = rows_as_read(&loaded.profile, &loaded.tables, &loaded.names, Metric::Leaked);
            let mut found: Vec<i64> = rows.iter().map(|row| row.cost.leaked.bytes).collect();
            let mut expected: Vec<i64> =
                STACKS.iter().map(|known| sum(&|stack, _| stack == *known)).filter(|bytes| *bytes > 0).collect();
            found.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
            for host in ["0", "1", "2"] {
                let of_host = leaked(&seen(&all(&files), &Query::default(), &group("host")));
                let found = of_host.iter().find(|(name, _)| name == host).map_or(0, |(_, bytes)| *bytes);
                prop_assert_eq!(found, sum(&|_, known| known == host));
            }
            files.reverse();
        }
    }
}
