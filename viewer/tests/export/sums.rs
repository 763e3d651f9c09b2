//! What a document says the sums are, read by means of its own.

use super::perfetto::Trace;
use super::protobuf::Profile;
use super::syscap;
use analysis::Metric;
use export::Format;
use serde_json::Value;
use std::collections::HashMap;

/// What tables have of stacks, in their order.
const METRICS: [Metric; 6] =
    [Metric::Peak, Metric::Leaked, Metric::Live, Metric::Allocations, Metric::Bytes, Metric::Temporary];

/// The sums of the metrics that a document of this format holds: the one that it was exported by, or all.
pub(crate) fn sums(format: Format, by: Metric, document: &[u8]) -> Vec<(Metric, i64)> {
    let text = || std::str::from_utf8(document).expect("text is UTF-8");
    match format {
        Format::Folded => vec![(by, folded(text()))],
        Format::Flamegraph => vec![(by, flamegraph(text()))],
        Format::Dot => vec![(by, dot(text()))],
        Format::Speedscope => speedscope(text()),
        Format::Pprof => pprof(document),
        Format::Callgrind => callgrind(text()),
        Format::Firefox => firefox(text()),
        Format::Massif => massif(text()),
        Format::Heaptrack => heaptrack(text()),
        Format::Syscap => syscap::sums(document),
        Format::Perfetto => Trace::decode(document).sums(),
        Format::Csv => csv(text()),
        Format::Json => json(text()),
    }
}

fn folded(text: &str) -> i64 {
    let line = |line: &str| line.rsplit_once(' ').expect("a stack and a number").1.parse::<i64>().unwrap();
    text.lines().map(line).sum()
}

/// The width of the boxes of each row is that of the boxes above which have them; the number of the outermost one.
fn flamegraph(text: &str) -> i64 {
    let boxes: Vec<&str> = text.lines().filter(|line| line.starts_with("<g class=\"box\">")).collect();
    let attribute = |line: &str, name: &str| {
        let (_, rest) = line.split_once(&format!(" {name}=\"")).expect("the attribute is there");
        rest.split_once('"').unwrap().0.parse::<f64>().unwrap()
    };
    let mut rows: HashMap<i64, f64> = HashMap::new();
    for line in &boxes {
        *rows.entry(attribute(line, "y") as i64).or_default() += attribute(line, "width");
        assert!(attribute(line, "x") >= 0.0 && attribute(line, "x") + attribute(line, "width") <= 1200.1);
    }
    assert!(rows.values().all(|width| *width <= 1200.1), "{rows:?}");
    number(text.split_once("data-total=\"").expect("a total").1)
}

/// Every line but the first and the last has whole strings only.
fn dot(text: &str) -> i64 {
    let quotes = |line: &str| line.replace("\\\\", "").replace("\\\"", "").matches('"').count();
    assert!(text.lines().all(|line| quotes(line) % 2 == 0), "{text}");
    assert!(text.ends_with("}\n"));
    number(text.split_once("// total ").expect("a total").1)
}

/// The number that a text begins with.
fn number(text: &str) -> i64 {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
    text[..end].parse().unwrap()
}

fn speedscope(text: &str) -> Vec<(Metric, i64)> {
    let document: Value = serde_json::from_str(text).unwrap();
    let frames = document["shared"]["frames"].as_array().unwrap();
    assert!(frames.iter().all(|frame| frame["name"].is_string()));
    let profiles = document["profiles"].as_array().unwrap().iter();
    let sum = |profile: &Value| {
        let (samples, weights) =
            (profile["samples"].as_array().unwrap(), profile["weights"].as_array().unwrap());
        assert_eq!(samples.len(), weights.len());
        for frame in samples.iter().flat_map(|sample| sample.as_array().unwrap()) {
            assert!(frame.as_u64().unwrap() < frames.len() as u64);
        }
        let sum: i64 = weights.iter().map(|weight| weight.as_i64().unwrap()).sum();
        assert_eq!(profile["endValue"].as_i64(), Some(sum));
        (profile["name"].as_str().unwrap().parse().unwrap(), sum)
    };
    profiles.map(sum).collect()
}

fn pprof(document: &[u8]) -> Vec<(Metric, i64)> {
    let profile = Profile::decode(document);
    let names = [
        (Metric::Allocations, "alloc_objects", "count"),
        (Metric::Bytes, "alloc_space", "bytes"),
        (Metric::Peak, "peak_space", "bytes"),
        (Metric::Temporary, "temporary_objects", "count"),
        (Metric::Cpu, "samples", "count"),
        (Metric::Leaked, "leaked_space", "bytes"),
        (Metric::Live, "inuse_space", "bytes"),
    ];
    let sum = |(metric, name, unit): (Metric, &str, &str)| {
        let place = profile.sample_types.iter().position(|kind| kind.0 == name && kind.1 == unit).unwrap();
        (metric, profile.samples.iter().map(|sample| sample.values[place]).sum())
    };
    names.map(sum).to_vec()
}

/// Adds up what lines cost themselves: those that do not follow a `calls=`.
fn callgrind(text: &str) -> Vec<(Metric, i64)> {
    let events: Vec<&str> =
        text.lines().find_map(|line| line.strip_prefix("events: ")).unwrap().split(' ').collect();
    let numbers =
        |line: &str| line.split(' ').skip(1).map(|word| word.parse().unwrap()).collect::<Vec<i64>>();
    let mut sums = vec![0; events.len()];
    let mut totals = Vec::new();
    let mut follows_call = false;
    for line in text.lines() {
        if line.starts_with(|c: char| c.is_ascii_digit()) && !follows_call {
            let costs = numbers(line);
            assert_eq!(costs.len(), events.len(), "{line}");
            sums.iter_mut().zip(costs).for_each(|(sum, cost)| *sum += cost);
        } else if line.starts_with("totals:") {
            totals = numbers(line);
        }
        follows_call = line.starts_with("calls=");
    }
    assert_eq!(sums, totals);
    let of = |name: &str| sums[events.iter().position(|event| *event == name).unwrap()];
    let names =
        ["PeakBytes", "LeakedBytes", "LiveBytes", "Allocations", "AllocatedBytes", "Temporary", "Cpu"];
    METRICS.into_iter().chain([Metric::Cpu]).zip(names.map(of)).collect()
}

/// What the native allocations and the samples of all threads add up to. Columns are equally long, and refer to what is there.
fn firefox(text: &str) -> Vec<(Metric, i64)> {
    let document: Value = serde_json::from_str(text).unwrap();
    assert!(document["meta"]["preprocessedProfileVersion"].as_u64() >= Some(50), "{}", document["meta"]);
    let (mut allocated, mut live, mut samples) = (0, 0, 0);
    for thread in document["threads"].as_array().unwrap() {
        samples += firefox_samples(thread);
        let table = &thread["nativeAllocations"];
        if table.is_null() {
            continue;
        }
        let length = table["length"].as_u64().unwrap();
        let column = |name: &str| table[name].as_array().unwrap_or_else(|| panic!("{name} of {table}"));
        for name in ["time", "weight", "stack", "memoryAddress", "threadId"] {
            assert_eq!(column(name).len() as u64, length, "{name}");
        }
        let times: Vec<f64> = column("time").iter().map(|time| time.as_f64().unwrap()).collect();
        assert!(times.is_sorted(), "{times:?}");
        let stacks = thread["stackTable"]["length"].as_u64().unwrap();
        assert!(column("stack").iter().all(|stack| stack.as_u64().is_none_or(|stack| stack < stacks)));
        for weight in column("weight").iter().map(|weight| weight.as_i64().unwrap()) {
            allocated += weight.max(0);
            live += weight;
        }
    }
    let counters = document["counters"].as_array().into_iter().flatten();
    let counters = counters.filter(|counter| counter["name"] == "malloc");
    let track = |counter: &Value| {
        let counts = counter["samples"]["count"].as_array().unwrap().iter();
        counts.map(|count| count.as_f64().unwrap()).sum::<f64>()
    };
    let track: f64 = counters.map(track).sum();
    // A number of this format has 53 bits.
    assert!((track - live as f64).abs() <= track.abs() * 1e-12, "{track} in the track, {live} in the table");
    vec![(Metric::Bytes, allocated), (Metric::Live, live), (Metric::Cpu, samples)]
}

/// Samples of a thread. None of them says that it worked longer than there was time since the last one.
fn firefox_samples(thread: &Value) -> i64 {
    let (table, markers) = (&thread["samples"], &thread["markers"]);
    let column = |table: &Value, name: &str| table[name].as_array().cloned().unwrap_or_default();
    for (table, names) in [
        (table, &["stack", "timeDeltas", "weight", "threadCPUDelta"][..]),
        (markers, &["category", "data", "endTime", "name", "phase", "startTime"][..]),
    ] {
        for name in names {
            assert_eq!(Some(column(table, name).len() as u64), table["length"].as_u64(), "{name}");
        }
    }
    let stacks = thread["stackTable"]["length"].as_u64().unwrap();
    assert!(column(table, "stack").iter().all(|stack| stack.as_u64().is_none_or(|stack| stack < stacks)));
    let times = column(table, "timeDeltas").into_iter().map(|time| time.as_f64().unwrap());
    // The profiler's command line fails where a thread ends at what its last sample's time is but for rounding.
    let end = times.clone().sum::<f64>();
    let gap = thread["unregisterTime"].as_f64().map_or(1.0, |over| over - end);
    assert!(gap.abs() > 5e-7, "{gap} ms between the last sample and the end, {end}");
    let worked = column(table, "threadCPUDelta").into_iter().map(|time| time.as_f64().unwrap());
    for (time, worked) in times.zip(worked) {
        assert!(worked <= time * 1000.0 * (1.0 + 1e-12) + 1e-6, "{worked} us of work in {time} ms");
    }
    column(table, "weight").iter().map(|weight| weight.as_i64().unwrap()).sum()
}

/// Snapshots in order of time, none above the peak; the leaves of its tree add up to it.
fn massif(text: &str) -> Vec<(Metric, i64)> {
    let field = |line: &str, name: &str| line.strip_prefix(name).map(|number| number.parse::<i64>().unwrap());
    let times: Vec<i64> = text.lines().filter_map(|line| field(line, "time=")).collect();
    assert!(times.is_sorted(), "{times:?}");
    let held = massif_held(text);
    let head = text.split_once("heap_tree=peak\n").expect("a peak").0;
    let peak = head.lines().filter_map(|line| field(line, "mem_heap_B=")).next_back().unwrap();
    assert_eq!(held.iter().max(), Some(&peak));
    let numbers = |line: &str| -> Option<(usize, i64)> {
        let (children, rest) = line.trim_start().strip_prefix('n')?.split_once(": ")?;
        Some((children.parse().ok()?, rest.split(' ').next()?.parse().ok()?))
    };
    let tree: Vec<(usize, i64)> = text.lines().filter_map(numbers).collect();
    let leaves: i64 = tree.iter().filter(|(children, _)| *children == 0).map(|(_, bytes)| bytes).sum();
    assert_eq!((tree[0].1, leaves), (peak, peak), "{text}");
    assert_eq!(tree.iter().map(|(children, _)| children).sum::<usize>(), tree.len() - 1);
    vec![(Metric::Peak, peak)]
}

/// What was held at each snapshot.
pub(crate) fn massif_held(text: &str) -> Vec<i64> {
    text.lines().filter_map(|line| line.strip_prefix("mem_heap_B=")?.parse().ok()).collect()
}

/// Does what heaptrack's reader does. Its peak is ours where no process ends before another one.
fn heaptrack(text: &str) -> Vec<(Metric, i64)> {
    let hex = |word: &str| i64::from_str_radix(word, 16).unwrap();
    let (mut strings, mut addresses, mut stacks) = (0, 0, 0);
    let mut sizes = Vec::new();
    let (mut live, mut bytes) = (0, 0);
    for line in text.lines().skip(3) {
        let (kind, rest) = line.split_at(2);
        let words = || rest.split(' ').map(hex).collect::<Vec<i64>>();
        match kind.trim_end() {
            "s" => {
                let (length, string) = rest.split_once(' ').unwrap();
                assert_eq!(hex(length), string.len() as i64, "{line}");
                strings += 1;
            }
            "i" => {
                let words = words();
                assert!(words.len() % 3 == 2 && words[1] <= strings, "{line}");
                assert!(
                    words[2..].chunks(3).all(|place| place[0] <= strings && place[1] <= strings),
                    "{line}"
                );
                addresses += 1;
            }
            "t" => {
                assert!(words()[0] <= addresses && words()[1] <= stacks, "{line}");
                stacks += 1;
            }
            "a" => {
                assert!(words()[1] <= stacks, "{line}");
                sizes.push(words()[0]);
            }
            "+" => {
                let size = sizes[words()[0] as usize];
                (live, bytes) = (live + size, bytes + size);
            }
            "-" => live -= sizes[words()[0] as usize],
            "c" | "R" => assert_eq!(words().len(), 1, "{line}"),
            other => panic!("a line of {other}"),
        }
    }
    vec![(Metric::Bytes, bytes), (Metric::Live, live)]
}

/// The sums of the columns of a table, in which that of allocated bytes has this name.
fn columns(bytes: &str, sum: impl Fn(&str) -> i64) -> Vec<(Metric, i64)> {
    let names = ["peak_bytes", "leaked_bytes", "live_bytes", "allocations", bytes, "temporary"];
    METRICS.into_iter().zip(names.map(sum)).collect()
}

fn csv(text: &str) -> Vec<(Metric, i64)> {
    let rows = table(text);
    let (head, rows) = rows.split_first().expect("a row of names");
    assert!(rows.iter().all(|row| row.len() == head.len()), "{rows:?}");
    let sum = |name: &str| {
        let column = head.iter().position(|column| column == name).unwrap();
        rows.iter().map(|row| row[column].parse::<i64>().unwrap()).sum()
    };
    columns("allocated_bytes", sum)
}

/// A table as RFC 4180 has it.
fn table(text: &str) -> Vec<Vec<String>> {
    let mut rows = vec![vec![String::new()]];
    let mut chars = text.chars().peekable();
    let mut is_quoted = false;
    while let Some(char) = chars.next() {
        let row = rows.last_mut().unwrap();
        match (char, is_quoted) {
            ('"', true) if chars.next_if_eq(&'"').is_some() => row.last_mut().unwrap().push('"'),
            ('"', _) => is_quoted = !is_quoted,
            (',', false) => row.push(String::new()),
            ('\r', false) => {
                assert_eq!(chars.next(), Some('\n'));
                rows.push(vec![String::new()]);
            }
            (char, _) => row.last_mut().unwrap().push(char),
        }
    }
    assert!(!is_quoted && rows.pop() == Some(vec![String::new()]), "it ends with its last line");
    rows
}

fn json(text: &str) -> Vec<(Metric, i64)> {
    let document: Value = serde_json::from_str(text).unwrap();
    let rows = document["rows"].as_array().unwrap();
    let table = |name: &str| document[name].as_array().unwrap();
    for node in table("stacks") {
        assert!(node["frame"].as_u64().is_none_or(|frame| frame < table("frames").len() as u64), "{node}");
    }
    for row in rows {
        assert!(row["stack"].as_u64().unwrap() < table("stacks").len() as u64, "{row}");
        assert!(row["process"].as_u64().is_some(), "{row}");
    }
    let sum = |name: &str| rows.iter().map(|row| row[name].as_i64().unwrap()).sum();
    columns("bytes", sum)
}
