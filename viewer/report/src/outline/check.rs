//! Results of rules, as a table for a comment on a change.

use super::{Outline, OutlineRow};
use crate::text::{Style, check_case, check_result, check_word, culprits};
use engine::check::{Outcome, Report};

/// A row for each rule, and below it the stacks to blame.
pub fn check(report: &Report) -> Outline {
    let number = |outcome| report.verdicts.iter().filter(|verdict| verdict.outcome() == outcome).count();
    let title = format!(
        "{}: {} broken, {} undecided, {} kept",
        report.program,
        number(Outcome::Broken),
        number(Outcome::Untold),
        number(Outcome::Kept)
    );
    let style = Style::default();
    let mut rows = Vec::new();
    for verdict in &report.verdicts {
        let numbers = vec![check_word(verdict).to_owned(), check_result(verdict)];
        rows.push(OutlineRow { numbers, name: check_case(verdict), is_generated: true, indent: 0 });
        rows.extend(culprits(report, verdict, &style, 0).map(|(amount, name)| OutlineRow {
            numbers: vec![String::new(), amount],
            indent: 1,
            name,
            is_generated: false,
        }));
    }
    Outline {
        title: std::iter::once(title)
            .chain(report.warnings.iter().map(|text| format!("warning: {text}")))
            .collect(),
        columns: ["", "result", "rule, and stacks to blame"].map(str::to_owned).into(),
        rows,
    }
}
