//! `check --format json`.

use super::stack::Stack;
use super::{SCHEMA, write_document};
use engine::Loaded;
use engine::check::Report;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    document: &'static str,
    file: &'a str,
    program: &'a str,
    kept: Option<bool>,
    rules: Vec<RuleFields<'a>>,
    warnings: &'a [String],
}

#[derive(Serialize)]
struct RuleFields<'a> {
    name: Option<&'a str>,
    filter: Option<&'a str>,
    measure: &'static str,
    kept: Option<bool>,
    doubt: Option<&'a str>,
    actual: i64,
    limit: i64,
    baseline: Option<i64>,
    tolerance_percent: Option<f64>,
    stacks_are_growth: bool,
    stacks: Vec<StackFields<'a>>,
}

#[derive(Serialize)]
struct StackFields<'a> {
    amount: i64,
    stack: Stack<'a>,
}

/// Writes the document.
///
/// # Errors
/// Those of the writer.
pub fn check(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let rules = report.verdicts.iter().map(|verdict| RuleFields {
        name: verdict.name.as_deref(),
        filter: verdict.filter.as_deref(),
        measure: verdict.measure.name(),
        kept: verdict.outcome().is_kept(),
        doubt: verdict.doubt.as_deref(),
        actual: verdict.actual,
        limit: verdict.limit,
        baseline: verdict.baseline.map(|(before, _)| before),
        tolerance_percent: verdict.baseline.map(|(_, tolerance)| tolerance.as_percent()),
        stacks_are_growth: verdict.blames_growth(),
        stacks: report
            .culprits(verdict)
            .map(|(Loaded { tables, names, .. }, node, amount)| StackFields {
                amount,
                stack: Stack { tables, names, node },
            })
            .collect(),
    });
    let document = Document {
        schema: SCHEMA,
        document: "check",
        file: &report.file,
        program: &report.program,
        kept: report.outcome().is_kept(),
        rules: rules.collect(),
        warnings: &report.warnings,
    };
    write_document(out, &document)
}
