//! A capture as a database: its sums are those of the profile, and questions have answers or reasons.

use crate::shown;
use crate::support::Made;
use crate::support::fixtures::{reported, rich, small};
use capture::Action;
use engine::Loaded;
use export::sql::{Error, Form, query};

fn answer(made: Made, statement: &str, form: Form) -> Result<String, Error> {
    let events = made.events.clone();
    let loaded: Loaded = made.loaded("app.memprof");
    let mut out = Vec::new();
    query(&mut out, &loaded, &events, statement, form)?;
    Ok(String::from_utf8(out).expect("answers are text"))
}

/// Check that the sums of both tables are those of the profile, whatever a capture holds.
#[test]
fn sums_are_those_of_the_profile() {
    for (name, made) in [("empty", Made::new as fn() -> Made), ("small", small), ("rich", rich)] {
        let total = made().profile().total;
        let costs =
            "select total(bytes), total(allocations), total(leaked_bytes), total(peak_bytes) from costs";
        let expected = [total.allocated.bytes, total.allocated.blocks, total.leaked.bytes, total.peak.bytes];
        check(made(), name, costs, &expected);
        let blocks = "select total(size), count(*), total(iif(end = 'leaked', size, 0)), \
                      total(iif(died_ns is null, size, 0)) from blocks";
        let live = total.live().bytes;
        check(
            made(),
            name,
            blocks,
            &[total.allocated.bytes, total.allocated.blocks, total.leaked.bytes, live],
        );
    }
}

fn check(made: Made, name: &str, statement: &str, expected: &[i64]) {
    let answer = answer(made, statement, Form::Text).unwrap();
    let row = answer.lines().nth(1).unwrap_or_default();
    let numbers: Vec<f64> = row.split('\t').map(|word| word.parse().unwrap()).collect();
    let expected: Vec<f64> = expected.iter().map(|&number| number as f64).collect();
    assert_eq!(numbers, expected, "{name}: {statement}");
}

/// Check that where a heap of the program's own was counted both tables have its blocks.
#[test]
fn heaps_of_programs_are_tables() {
    let made = reported();
    let events = made.events.clone();
    let loaded = made.loaded_of_pool("arena", "app.memprof");
    for statement in
        ["select count(*), sum(size) from blocks", "select sum(allocations), sum(bytes) from costs"]
    {
        let text = shown::written(|out| query(out, &loaded, &events, statement, Form::Text));
        assert_eq!(text.lines().nth(1), Some("4\t1230"), "{statement}: {text}");
    }
}

/// Check that every row refers to rows that are there.
#[test]
fn references_lead_somewhere() {
    assert_eq!(answer(rich(), "select * from pragma_foreign_key_check", Form::Json).unwrap(), "");
    let blocks = "select count(*) from blocks join stacks on stacks.id = blocks.stack";
    assert_eq!(answer(rich(), blocks, Form::Json).unwrap(), "{\"count(*)\":11}\n");
}

/// Check the three forms of an answer, with names that each must write otherwise.
#[test]
fn answers_have_three_forms() {
    let statement = "select null as n, 1 as i, 0.5 as r, 'a\"b,' || char(10) as t, x'00ff' as b";
    for (form, expected) in [
        (Form::Text, "n\ti\tr\tt\tb\n\t1\t0.5\ta\"b,\\u{a}\t00ff\n"),
        (Form::Csv, "\"n\",\"i\",\"r\",\"t\",\"b\"\r\n,1,0.5,\"a\"\"b,\n\",00ff\r\n"),
        (Form::Json, "{\"b\":\"00ff\",\"i\":1,\"n\":null,\"r\":0.5,\"t\":\"a\\\"b,\\n\"}\n"),
    ] {
        assert_eq!(answer(small(), statement, form).unwrap(), expected, "{form:?}");
    }
    let statement = "select 1 as a, 2 as b, 3 as a";
    assert_eq!(answer(small(), statement, Form::Text).unwrap(), "a\tb\ta\n1\t2\t3\n");
    let error = answer(small(), statement, Form::Json).unwrap_err().to_string();
    assert!(error.contains("two columns are named a"), "{error}");
}

/// Check that what is no question is refused with a reason, and that a question changes nothing.
#[test]
fn other_statements_are_refused() {
    for (statement, reason) in [
        ("selec 1", "syntax error"),
        ("select * from blokcs", "no such table: blokcs"),
        ("select sise from blocks", "did you mean blocks.size"),
        ("select b.sise from blocks b", "did you mean blocks.size"),
        (
            "select * from blokcs",
            "; there are blocks, costs, failed_allocations, frame_functions, frames, functions, info, modules, processes, stacks, threads",
        ),
        ("select 1; select 2", "one statement"),
        ("", "one statement"),
        ("delete from costs", "one statement"),
        ("delete from costs returning *", "readonly"),
    ] {
        let error = answer(small(), statement, Form::Text).unwrap_err().to_string();
        assert!(error.contains(reason), "{statement}: {error}");
    }
}

/// Check that the questions in the documentation have answers.
#[test]
fn documented_questions_have_answers() {
    let document = include_str!("../../docs/query.md");
    let statements: Vec<&str> =
        document.split("```sql\n").skip(1).filter_map(|part| Some(part.split_once("```")?.0)).collect();
    assert!(statements.len() >= 4);
    for statement in statements {
        answer(rich(), statement, Form::Text).unwrap_or_else(|error| panic!("{error}: {statement}"));
    }
    let schema = include_str!("../export/src/sql/schema.sql");
    for table in schema.split("create table ").skip(1).filter_map(|part| part.split(' ').next()) {
        assert!(document.contains(&format!("| `{table}` |")), "{table} is documented");
    }
}

/// Check that each call which returned no memory is a row, and that a statement about them alone has them.
#[test]
fn failed_calls_are_a_table() {
    let (mut made, _, thread, [stack]) = Made::app_with(["main > grow > calloc"]);
    for (size, alignment, error) in [(1 << 40, 0, 12), (u64::MAX, 64, 22)] {
        made.event(thread, Action::AllocFailed { size, factors: None, alignment, error, stack });
    }
    let factors = Some((1 << 40, 1 << 30));
    made.event(thread, Action::AllocFailed { size: u64::MAX, factors, alignment: 0, error: 12, stack });
    let statement = "select process, thread, time_ns, call, size, alignment, error, stack, count, element_size from failed_allocations";
    let row = |size: &str, alignment: &str, error: &str, time: u64, factors: &str| {
        format!("0\t0\t{time}\tcalloc\t{size}\t{alignment}\t{error}\t{}\t{factors}\n", stack.0)
    };
    let text = answer(made, statement, Form::Text).unwrap();
    let rows = text.split_once('\n').unwrap().1;
    assert_eq!(
        rows,
        row("1099511627776", "", "ENOMEM", 2_000_000, "\t")
            + &row("-1", "64", "EINVAL", 3_000_000, "\t")
            + &row("-1", "", "ENOMEM", 4_000_000, "1099511627776\t1073741824")
    );
}
