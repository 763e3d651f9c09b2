//! Reports in other forms have the rows of those in text.

use crate::shown;
use crate::support::fixtures::small;
use engine::Loaded;
use report::outline::{Form, outline};
use report::{ReportOptions, Shape};

/// Names at the ends of a report's rows, without the root, which not every report has.
fn names(report: &str) -> Vec<String> {
    let rows = report.lines().skip_while(|line| !line.ends_with("  function")).skip(1);
    let name = |line: &str| {
        line.rsplit("  ").next().unwrap_or_default().trim_start_matches(['├', '└', '─', ' ']).to_owned()
    };
    rows.take_while(|line| !line.is_empty()).map(name).filter(|name| name != "[Everything]").collect()
}

fn check(loaded: &Loaded, shape: Shape) {
    let options = ReportOptions { shape, ..ReportOptions::default() };
    let expected = names(&shown::report(loaded, &options));
    let rows = outline(loaded, &options).rows.into_iter().map(|row| row.name);
    let made: Vec<String> = rows.filter(|name| name != "[Everything]").collect();
    assert!(made.len() > 2, "{shape:?}");
    assert_eq!(made, expected, "{shape:?}");
}

/// Check that trees and functions have the same rows in the same order as in text.
#[test]
fn rows_are_those_of_the_text() {
    for shape in [Shape::Tree, Shape::Inverted, Shape::Functions] {
        check(&small().loaded("app.memprof"), shape);
    }
}

/// Check that a capture with nothing in it has a valid form of nothing.
#[test]
fn nothing_has_a_form() {
    let loaded = crate::support::Made::new().loaded("empty.memprof");
    for shape in [Shape::Stacks, Shape::Tree, Shape::Inverted, Shape::Functions] {
        let outline = outline(&loaded, &ReportOptions { shape, ..ReportOptions::default() });
        for form in Form::ALL {
            let text = outline.to_text(form);
            assert!(outline.rows.is_empty() && text.contains("empty.memprof"), "{text}");
        }
    }
}
