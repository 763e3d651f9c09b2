//! What people and programs see.

use crate::fields::assert_described;
use crate::shown::{self, written};
use crate::support::Made;
use crate::support::fixtures::{reported, rich, sampled, small};
use crate::support::golden::check_golden;
use analysis::query::Query;
use analysis::{Metric, Share};
use capture::Action;
use engine::{Analyzer, Loaded, Naming};
use report::text::{Extent, Style};
use report::views::{Question, VIEWS, all, observers};
use report::{EventOptions, Format, ReportOptions, Shape};
use serde_json::Value;

const SHAPES: [(&str, Shape); 4] = [
    ("stacks", Shape::Stacks),
    ("functions", Shape::Functions),
    ("tree", Shape::Tree),
    ("inverted", Shape::Inverted),
];

/// Every view of a capture, by a name.
fn all_views(made: impl Fn() -> Made, file: &str, style: &Style) -> Vec<(String, String)> {
    let loaded = made().loaded(file);
    let mut views = vec![
        ("summary.txt".to_owned(), shown::summary(&loaded, "sysprof-memprof", style)),
        ("leaks.txt".to_owned(), shown::leaks(&loaded, 3, style)),
        ("info.txt".to_owned(), shown::info(&loaded, None, style)),
        ("info.json".to_owned(), shown::info_json(&loaded)),
        ("events.txt".to_owned(), events(&made(), &loaded, style)),
        ("events.json".to_owned(), events_json(&made(), &made().loaded("app.memprof"))),
    ];
    for (name, shape) in SHAPES {
        for metric in Metric::ALL {
            let options = ReportOptions { metric, shape, ..ReportOptions::default() };
            let name = format!("{name}-{}", metric.name());
            let text = written(|out| report::text::report(out, &loaded, &options, style));
            views.push((format!("{name}.txt"), text));
            views.push((format!("{name}.json"), written(|out| report::json::report(out, &loaded, &options))));
        }
    }
    views
}

fn events(made: &Made, loaded: &Loaded, style: &Style) -> String {
    written(|out| {
        let options = EventOptions { frames: 3, ..EventOptions::default() };
        let mut lines = report::text::EventLines::new(out, loaded, options, *style);
        made.events.iter().try_for_each(|event| lines.event(event))
    })
}

fn events_json(made: &Made, loaded: &Loaded) -> String {
    written(|out| {
        let options = EventOptions::default();
        let mut lines = report::json::EventLines::new(out, loaded, options)?;
        made.events.iter().try_for_each(|event| lines.event(event))
    })
}

/// Check the views of a rich capture against the expected ones.
#[test]
fn views_are_as_expected() {
    let views = all_views(rich, "server.1001.memprof", &Style { color: false, width: Some(100) });
    for (name, text) in views {
        let leaked = name.contains("-leaked.txt") || name == "stacks-temporary.txt";
        if leaked || name.contains("-peak.json") || !name.contains('-') {
            check_golden(&format!("rich/{name}"), &text);
        }
    }
}

/// Check names of every kind: namesakes with their module, unknown functions with the reason or the file, stacks
/// without an end under their marker, and recursion written once.
#[test]
fn names_are_as_expected() {
    let loaded = rich().loaded("server.1001.memprof");
    let min = Some(Share::percent(0.0));
    for (name, shape) in SHAPES {
        let options = ReportOptions { metric: Metric::Allocations, shape, min, limit: Some(100) };
        let text = written(|out| report::text::report(out, &loaded, &options, &Style::default()));
        check_golden(&format!("rich/names-{name}.txt"), &text);
    }
}

/// Check the views of the small capture, whose numbers can be taken in at a glance.
#[test]
fn small_views_are_as_expected() {
    let views = all_views(small, "app.1000.memprof", &Style::default());
    for (name, text) in views.iter().filter(|(name, _)| name.ends_with(".txt")) {
        if name.contains("-bytes") || name.contains("-allocations") || !name.contains('-') {
            check_golden(&format!("small/{name}"), text);
        }
    }
}

/// Check the views of a sampled capture: estimates are marked and have their errors, in text and in JSON.
#[test]
fn sampled_views_are_as_expected() {
    for (name, text) in all_views(sampled, "app.1000.memprof", &Style { color: false, width: Some(100) }) {
        let chosen = ["-peak.txt", "-leaked.txt", "stacks-allocations.txt", "stacks-temporary.txt"];
        let is_chosen = chosen.iter().any(|end| name.ends_with(end)) || !name.contains('-');
        if is_chosen || name == "stacks-peak.json" || name == "tree-peak.json" {
            check_golden(&format!("sampled/{name}"), &text);
        }
    }
}

/// Check that every view of a capture without events is whole, says that there is nothing, and is valid JSON where
/// it is JSON.
#[test]
fn empty_captures_have_views() {
    for made in [Made::default, Made::new] {
        for (name, text) in all_views(made, "empty.memprof", &Style::default()) {
            if name.ends_with(".json") {
                for line in documents(&name, &text) {
                    serde_json::from_str::<Value>(line)
                        .unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
                }
            } else if let "summary.txt" | "leaks.txt" | "info.txt" | "stacks-temporary.txt" = name.as_str() {
                check_golden(&format!("empty/{name}"), &text);
            } else if name != "events.txt" {
                assert!(text.starts_with("empty.memprof: 0") && text.ends_with('\n'), "{name}:\n{text}");
            }
        }
    }
}

/// Check that nothing from a capture reaches the terminal as a control character, in any view, and that colours
/// do when they are asked for.
#[test]
fn hostile_names_do_not_act() {
    let control = |text: &str| text.chars().any(|char| char.is_control() && char != '\n');
    for (name, text) in all_views(rich, "a\u{1b}[2J.memprof", &Style::default()) {
        assert!(!control(&text), "{name}:\n{text}");
    }
    let style = Style { color: true, ..Style::default() };
    let (_, summary) = all_views(rich, "a.memprof", &style).swap_remove(0);
    assert!(summary.contains("\u{1b}[1m"), "{summary}");
    assert!(!summary.contains("\u{1b}[31mevil"), "{summary}");
}

/// Check that each view which can be asked for by its name is in each format, and that nothing in it acts on a terminal.
#[test]
fn views_with_names_are_in_every_format() {
    let mut made = rich();
    let (_, thread) = made.process("maps");
    let stack = made.stack("main > pool");
    made.event(thread, Action::Map { address: 0x10000, length: 4096, stack, in_hook: false });
    let path = made.saved("a.memprof");
    for view in VIEWS {
        let question = Question {
            analyzer: Analyzer::open(&path).unwrap(),
            query: &Query::default(),
            filter: None,
            naming: Naming::Stored,
        };
        let (loaded, document) = view.ask(question).unwrap();
        assert_eq!(document.id, view.id);
        for format in Format::ALL {
            let extent = Extent::of_command(2);
            let text = written(|out| format.write(out, &loaded, &document, extent, &Style::default()));
            let name = format!("{} as {}", view.id, format.name());
            assert!(text.len() > 60, "{name}: {text}");
            let acts = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\r');
            assert!(!text.contains(acts), "{name}: {text}");
        }
    }
}

/// Check that a page has each of these views, with the numbers of a pass of its own, and that their fields are described.
#[test]
fn views_with_names_are_in_a_page() {
    let folder = tempfile::tempdir().unwrap();
    for (number, made) in [rich, small, sampled, reported].into_iter().enumerate() {
        let path = folder.path().join(format!("{number}.memprof"));
        made().write(&path);
        let open = || Analyzer::open(&path).unwrap();
        let mut analyzer = open();
        let (profile, _, observed) = analyzer.history_beside(observers).unwrap();
        let together_of = analyzer.show(profile, Naming::Stored);
        let together: Vec<_> = all(&together_of, Some(observed)).collect();
        assert_eq!(together.len(), VIEWS.len());
        for (view, document) in together {
            let query = Query::default();
            let question = Question { analyzer: open(), query: &query, filter: None, naming: Naming::Stored };
            let (loaded, alone) = view.ask(question).unwrap();
            let alone = shown::document_json(&loaded, &alone);
            assert_eq!(shown::document_json(&together_of, &document.unwrap()), alone, "{}", view.id);
            assert_described(view.id, &alone);
        }
        let page = serde_json::to_value(web::views(&together_of, None)).unwrap();
        let ids: Vec<_> = page.as_array().unwrap().iter().map(|view| view["id"].as_str().unwrap()).collect();
        assert_eq!(ids, VIEWS.map(|view| view.id));
    }
}

/// Check that lines keep to the width that they are given, names being cut, wherever a name decides it.
#[test]
fn lines_keep_to_the_width() {
    for width in [80, 100, 160] {
        let style = Style { color: false, width: Some(width) };
        let views = [all_views(rich, "server.memprof", &style), all_views(sampled, "app.memprof", &style)];
        for (name, text) in views.into_iter().flatten() {
            let table = SHAPES.iter().any(|(shape, _)| name.starts_with(shape)) && name.ends_with(".txt");
            // Sentences are never cut.
            let advice = |line: &&str| line.starts_with("  ") && line.ends_with('.');
            for line in text.lines().skip(4).filter(|line| table && !advice(line)) {
                assert!(report::text::columns(line) <= width, "{name} at {width}: {line}");
            }
        }
    }
}

/// Check that each document begins with its schema, in every form.
#[test]
fn documents_begin_with_their_schema() {
    for (name, text) in all_views(rich, "app.memprof", &Style::default()) {
        if name.ends_with(".json") {
            let start: String = text.split_whitespace().take(3).collect();
            assert!(start.starts_with("{\"schema\":1,"), "{name}: {start}");
        }
    }
}

/// Check that the document of the formats names every field that is written, and that none is repeated.
#[test]
fn every_field_is_documented() {
    for made in [rich, small, sampled, reported] {
        for (name, text) in all_views(made, "app.memprof", &Style::default()) {
            for line in documents(&name, &text) {
                assert_described(&name, &serde_json::from_str(line).unwrap());
            }
        }
    }
}

/// The documents of a view: events have one per line.
fn documents<'a>(name: &str, text: &'a str) -> Vec<&'a str> {
    match name {
        "events.json" => text.lines().collect(),
        name if name.ends_with(".json") => vec![text],
        _ => Vec::new(),
    }
}

/// Check that what is hidden and what is shown add up to the whole, in every form and for every cut.
#[test]
fn hidden_and_shown_add_up() {
    let loaded = rich().loaded("app.memprof");
    for metric in Metric::ALL {
        for (min, limit) in [(0.0, 1000), (1.0, 2), (5.0, 1), (60.0, 20), (100.0, 1)] {
            let options =
                |shape| ReportOptions { metric, shape, min: Some(Share::percent(min)), limit: Some(limit) };
            let document = |shape| shown::report_json(&loaded, &options(shape));
            let rows = document(Shape::Stacks);
            let shown: i64 =
                rows["rows"].as_array().unwrap().iter().map(|row| row["bytes"].as_i64().unwrap()).sum();
            let absent: i64 = loaded
                .profile
                .sites
                .iter()
                .filter(|site| metric.of(&site.cost).is_zero())
                .map(|site| site.cost.allocated.bytes)
                .sum();
            let all = shown + rows["hidden"]["bytes"].as_i64().unwrap() + absent;
            assert_eq!(all, rows["total"]["bytes"].as_i64().unwrap(), "{metric:?} {min} {limit}");
            for shape in [Shape::Tree, Shape::Inverted] {
                nodes_add_up(&document(shape), min == 0.0);
            }
        }
    }
}

/// Each node is its own part, what is hidden below it, and its children.
fn nodes_add_up(document: &Value, everything: bool) {
    let nodes = document["nodes"].as_array().unwrap();
    let number = |node: &Value, field: &str| node[field].as_i64().unwrap();
    for (unit, total) in [("bytes", "total_bytes"), ("blocks", "total_blocks")] {
        let mut rest: Vec<i64> = nodes.iter().map(|node| number(node, total)).collect();
        for (index, node) in nodes.iter().enumerate() {
            rest[index] -= number(node, &format!("self_{unit}")) + number(node, &format!("hidden_{unit}"));
            if let Some(parent) = node["parent"].as_u64() {
                assert!(usize::try_from(parent).unwrap() < index);
                rest[usize::try_from(parent).unwrap()] -= number(node, total);
            }
        }
        assert!(rest.iter().all(|&rest| rest == 0), "{unit}: {document:#}");
        assert!(!everything || nodes.iter().all(|node| number(node, "hidden_nodes") == 0));
    }
}
