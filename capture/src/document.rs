//! Tests that the format's document agrees with the code: each number, and each field of each record.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde::Deserialize;
use serde_reflection::{
    ContainerFormat, Format, Named, Registry, Samples, Tracer, TracerConfig, VariantFormat,
};

use crate::aggregate::{FigureKind, SumKind};
use crate::counter::CounterKind;
use crate::events::Kind as EventKind;
use crate::fault::Region;
use crate::format::ChunkKind;
use crate::ids::{MarkId, ProcessId, TaskId, ThreadId};
use crate::model::{Mark, Metadata, Module, Process, Pseudo, Summary, Symbolized, Task, Thread};
use crate::scan::Scan;
use crate::stack_copy::StackCopy;

const DOCUMENT: &str = include_str!("../FORMAT.md");

/// The text between a heading and the next one.
fn section(heading: &str) -> &'static str {
    let (_, rest) =
        DOCUMENT.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no {heading:?}"));
    rest.split("\n#").next().unwrap_or_default()
}

/// The cells of the table under a title of its first column, row by row.
fn table(section: &'static str, title: &str) -> Vec<Vec<&'static str>> {
    let mut lines = section.lines().skip_while(|line| !line.starts_with(title));
    assert!(lines.next().is_some() && lines.next().is_some_and(|line| line.starts_with("|---")), "{title}");
    let rows = lines.take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// The numbers in `8`, `10, 11` and `9 to 16`.
fn numbers(cell: &str) -> Vec<u64> {
    let words =
        |part: &str| part.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<u64>>();
    cell.split(',')
        .flat_map(|part| match (&words(part)[..], part.contains(" to ")) {
            (&[first, last], true) => (first..=last).collect(),
            (some, _) => some.to_vec(),
        })
        .collect()
}

fn set(numbers: impl IntoIterator<Item = u64>) -> BTreeSet<u64> {
    numbers.into_iter().collect()
}

/// Check that the tables of the document have each number that files have, and no other.
#[test]
fn numbers_are_those_of_the_document() {
    let events = table(section("### 9 Events"), "| kind | | columns");
    let documented = set(events.iter().flat_map(|row| numbers(row[0])));
    assert_eq!(documented, set(EventKind::ALL.map(|kind| kind as u64)), "events");

    let sums = table(section("### 9 Events"), "| sum |");
    let documented = set(sums.iter().flat_map(|row| numbers(row[0])));
    assert_eq!(documented, set(SumKind::ALL.map(|kind| kind as u64)), "sums");
    let documented = set(sums.iter().flat_map(|row| numbers(row[2])));
    assert_eq!(documented, set(FigureKind::ALL.map(|kind| kind as u64)), "figures");

    let counters: Vec<&str> = table(section("### 22 Counters"), "| | | |").concat();
    let documented =
        set(counters.iter().flat_map(|cell| numbers(cell.split(' ').next().unwrap_or_default())));
    assert_eq!(documented, set(CounterKind::ALL.iter().map(|kind| *kind as u64)), "counters");

    let faults = section("### 23 Faults");
    for region in Region::ALL {
        assert!(faults.contains(&format!(" {} ", region as u8)), "{region:?}");
    }

    let frames: Vec<&str> = table(section("### 4 Frames"), "| | | | |").concat();
    let documented: BTreeSet<&str> = frames.into_iter().filter(|cell| !cell.is_empty()).collect();
    let declared: Vec<String> =
        Pseudo::ALL.iter().map(|pseudo| format!("{} {}", *pseudo as u8, pseudo.label())).collect();
    assert_eq!(documented, declared.iter().map(String::as_str).collect(), "pseudo frames");
}

/// Check that the document has the fields or columns of each kind of chunk; strings and the index are described in
/// words.
#[test]
fn layouts_are_in_the_document() {
    for kind in ChunkKind::ALL {
        let section = section(&format!("### {} {kind:?}", kind as u16));
        let has_layout =
            section.contains("```fields") || section.contains("| column |") || section.contains("| column 0");
        let is_told = matches!(
            kind,
            ChunkKind::Strings | ChunkKind::Index | ChunkKind::Nodes | ChunkKind::State | ChunkKind::Results
        );
        assert_ne!(has_layout, is_told, "{kind:?}");
    }
}

/// The types that records are made of.
fn registry() -> Registry {
    let mut tracer = Tracer::new(TracerConfig::default());
    let samples = Samples::new();
    fn trace<'de, T: Deserialize<'de>>(tracer: &mut Tracer, samples: &'de Samples) {
        tracer.trace_type::<T>(samples).unwrap_or_else(|error| panic!("{}", error.explanation()));
    }
    trace::<crate::model::Clock>(&mut tracer, &samples);
    trace::<crate::model::Ended>(&mut tracer, &samples);
    trace::<crate::model::MarkKind>(&mut tracer, &samples);
    trace::<Metadata>(&mut tracer, &samples);
    trace::<Module>(&mut tracer, &samples);
    trace::<Process>(&mut tracer, &samples);
    trace::<Thread>(&mut tracer, &samples);
    trace::<Symbolized>(&mut tracer, &samples);
    trace::<Summary>(&mut tracer, &samples);
    trace::<Mark>(&mut tracer, &samples);
    trace::<Task>(&mut tracer, &samples);
    trace::<crate::scan::AreaKind>(&mut tracer, &samples);
    trace::<Scan>(&mut tracer, &samples);
    trace::<StackCopy>(&mut tracer, &samples);
    trace::<(ProcessId, ThreadId, TaskId, MarkId)>(&mut tracer, &samples);
    tracer.registry().unwrap_or_else(|error| panic!("{}", error.explanation()))
}

/// A type in the words of the document.
fn words(format: &Format, all: &Registry) -> String {
    match format {
        Format::TypeName(name) => match &all[name] {
            ContainerFormat::NewTypeStruct(inner) => words(inner, all),
            ContainerFormat::Struct(fields) => format!("{{{}}}", fields_in_words(fields, all).join(", ")),
            ContainerFormat::Enum(variants) => {
                let variants = variants.iter().map(|(number, variant)| match &variant.value {
                    VariantFormat::NewType(inner) => {
                        format!("{number} {} {}", variant.name, words(inner, all))
                    }
                    _ => format!("{number} {}", variant.name),
                });
                format!("variant ({})", variants.collect::<Vec<_>>().join(", "))
            }
            other => panic!("no words for {other:?}"),
        },
        Format::Str => "text".into(),
        Format::Bool => "bool".into(),
        Format::U8 => "u8".into(),
        Format::U32 => "u32".into(),
        Format::I32 => "i32".into(),
        Format::U64 => "u64".into(),
        Format::Option(inner) => format!("optional {}", words(inner, all)),
        Format::Seq(inner) => format!("list of {}", words(inner, all)),
        Format::Tuple(parts) => {
            let parts: Vec<String> = parts.iter().map(|part| words(part, all)).collect();
            format!("({})", parts.join(", "))
        }
        Format::TupleArray { content, size } => format!("({})", vec![words(content, all); *size].join(", ")),
        other => panic!("no words for {other:?}"),
    }
}

fn fields_in_words(fields: &[Named<Format>], all: &Registry) -> Vec<String> {
    fields.iter().map(|field| format!("{} {}", field.name, words(&field.value, all))).collect()
}

/// Check that the document lists the fields of each record as they are declared, which is as they are written and
/// read.
#[test]
fn fields_are_those_of_the_document() {
    let all = registry();
    let mut missing = String::new();
    for (heading, record, has_id) in [
        ("### 1 Metadata", "Metadata", false),
        ("### 3 Modules", "Module", false),
        ("### 6 Processes", "Process", true),
        ("### 7 Threads", "Thread", true),
        ("### 8 Symbols", "Symbolized", false),
        ("### 10 Summary", "Summary", false),
        ("### 13 Marks", "Mark", false),
        ("### 20 Tasks", "Task", true),
        ("### 26 Copies", "StackCopy", false),
        ("### 28 Scans", "Scan", false),
    ] {
        let ContainerFormat::Struct(fields) = &all[record] else { panic!("{record} is a struct") };
        let id = has_id.then(|| "id u32".to_owned());
        let lines: Vec<String> = id.into_iter().chain(fields_in_words(fields, &all)).collect();
        let block = format!("```fields\n{}\n```\n", lines.join("\n"));
        if !section(heading).contains(&block) {
            write!(missing, "\n{heading}\n\n{block}").expect("a string takes it");
        }
    }
    assert!(missing.is_empty(), "the document lacks:{missing}");
}
