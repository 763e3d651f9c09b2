//! Views of the lives of blocks, on programs whose numbers are known.

use crate::harness::{c, record};
use serde_json::Value;

/// The stack of a row begins with this function.
fn is_of(stack: &Value, function: &str) -> bool {
    stack[0]["function"] == function
}

fn row<'a>(rows: &'a Value, field: &str, function: &str) -> &'a Value {
    let rows = rows.as_array().unwrap();
    rows.iter()
        .find(|row| is_of(&row[field], function))
        .unwrap_or_else(|| panic!("no row of {function}: {rows:#?}"))
}

/// Check that each view shows what the program did, and that its sums are those of `info`.
#[test]
fn views_show_what_a_program_did() {
    let (_, capture) = record(c("keeps_some").build()).with_names().succeed();
    let totals = capture.info()["totals"].clone();
    let temporary = capture.json(&["blocks", "--by", "temporary"]);
    assert_eq!(row(&temporary["rows"], "stack", "temporary")["immediate"]["blocks"], 20);
    let sum: u64 = temporary["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["immediate"]["blocks"].as_u64().unwrap())
        .sum();
    assert_eq!(Value::from(sum), totals["temporary"]);

    let sizes = capture.json(&["blocks", "--by", "size", "--filter", "leaky"]);
    let classes = sizes["classes"].as_array().unwrap();
    assert_eq!(
        (classes.len(), &classes[0]["blocks"], &classes[0]["bytes"]),
        (1, &Value::from(3), &Value::from(300))
    );

    let lifetimes = capture.json(&["blocks", "--by", "lifetime"]);
    let leaky = row(&lifetimes["rows"], "stack", "leaky");
    assert_eq!(
        (&leaky["lifetimes"][0]["ended"], &leaky["lifetimes"][0]["blocks"]),
        (&Value::Bool(false), &Value::from(3))
    );

    let lines = capture.json(&["report", "--lines", "--by", "leaked"]);
    assert_eq!(
        (&lines["rows"][0]["name"], &lines["rows"][0]["leaked_bytes"]),
        (&Value::from("leaky"), &Value::from(300))
    );
    assert!(lines["rows"][0]["source"].as_str().unwrap().ends_with("keeps_some.c"), "{lines:#}");
    // Each on the line of `main` that called the function that allocates.
    let lines = capture.json(&["report", "--lines", "--by", "bytes", "--of", "ma?n"]);
    let source = include_str!("programs/c/keeps_some.c");
    let line_of =
        |text: &str| source.lines().position(|line| line.contains(text)).map(|place| place as u64 + 1);
    let expected = [
        ("large = malloc", 1 << 20),
        ("    temporary();", 20 * 64),
        ("    leaky();", 300),
        ("    cache();", 50),
    ];
    for ((call, bytes), row) in expected.iter().zip(lines["rows"].as_array().unwrap()) {
        assert_eq!((row["name"].as_str(), row["line"].as_u64()), (Some("main"), line_of(call)), "{lines:#}");
        assert_eq!(row["bytes"], Value::from(*bytes), "{lines:#}");
    }

    let large = capture.events().into_iter().find(|event| event.size == 1 << 20).unwrap();
    let address = format!("{:#x}", large.address + 5);
    let history = capture.json(&["history", &address]);
    let turns: Vec<&str> =
        history["turns"].as_array().unwrap().iter().filter_map(|turn| turn["turn"].as_str()).collect();
    assert_eq!(turns, ["allocated", "freed"]);
    let by = |word| ["blocks", "--by", word];
    let blocks = ["temporary", "thread", "size", "lifetime", "realloc", "module", "mapping"].map(by);
    for command in blocks.iter().map(|words| &words[..]).chain([&["pages"][..], &["report", "--lines"]]) {
        let ran = capture.show(command);
        assert!(ran.code == 0 && ran.text().lines().count() > 2, "{command:?}: {}{}", ran.text(), ran.stderr);
    }
}

/// Check that a few blocks which a load has left scattered over its pages are reported as what keeps these pages.
#[test]
fn strewn_blocks_keep_pages() {
    let (_, capture) = record(c("strews_blocks").build()).with_names().succeed();
    let pages = capture.json(&["pages", "--at", "end"]);
    let number = |of: &Value, field: &str| of[field].as_i64().unwrap();
    let keep = row(&pages["stacks"], "stack", "keep");
    assert_eq!(
        (&keep["held"]["blocks"], &keep["held"]["bytes"]),
        (&Value::from(1000), &Value::from(100_000))
    );
    // There are 39 blocks of 100 bytes between two that stay, so hardly any page has two of them.
    let (empty, on) = (number(keep, "empty_bytes"), number(keep, "page_bytes"));
    assert!((900 * 4096..1100 * 4096).contains(&on), "{keep:#}");
    assert!((on - 100_000 - 4096..=on - 100_000).contains(&empty), "{keep:#}");
    let stacks = pages["stacks"].as_array().unwrap();
    assert_eq!(&stacks[0], keep);
    let sum: i64 = stacks.iter().map(|stack| number(stack, "empty_bytes")).sum();
    assert_eq!(sum, number(&pages, "empty_bytes"));
    assert_eq!(sum, number(&pages, "page_bytes") - number(&pages["held"], "bytes"));
    let classes = pages["by_fullness"].as_array().unwrap();
    assert!(number(&classes[0], "page_bytes") > 900 * 4096, "{classes:#?}");
}

/// Check that free space between a few blocks is reported, in the heap of the break and in a thread's arena:
/// `malloc_trim` gives back as much as was estimated, and the block that all of it lies beneath is named.
#[test]
fn freed_pages_are_what_trimming_gives_back() {
    for heap in ["main", "thread"] {
        let (ran, capture) = record(c("keeps_a_few_of_a_load").build()).arg(heap).with_names().succeed();
        let given_back = ran.text().trim().parse::<i64>().expect("a number") << 10;
        let pages = capture.json(&["pages", "--at", "end"]);
        let number = |of: &Value, field: &str| of[field].as_i64().unwrap();
        let under = number(&pages, "freed_under_bytes");
        assert!(given_back > 16 << 20, "{heap}: {given_back}");
        assert!((under - given_back).abs() <= given_back / 50, "{heap}: {under} of {given_back}: {pages:#}");
        let first = &pages["heaps"][0];
        let highest = &first["highest_block"];
        assert_eq!(
            (&highest["size"], &highest["stack"][0]["function"]),
            (&1000.into(), &"keep".into()),
            "{heap}"
        );
        assert_eq!(number(first, "freed_above_bytes"), 0, "{first:#}");
        let text = capture.show(&["pages", "--at", "end"]);
        assert!(text.text().contains("malloc_trim(0) would return about 18."), "{}", text.text());
    }
}

/// Check that blocks which one thread allocates and another frees are counted exactly.
#[test]
fn blocks_that_pass_between_threads_are_seen() {
    let (_, capture) = record(c("passes_blocks").build()).with_names().succeed();
    let threads = capture.json(&["blocks", "--by", "thread"]);
    let crossing = row(&threads["crossing"], "allocated_by", "make");
    assert_eq!(
        (&crossing["blocks"], &crossing["bytes"]),
        (&Value::from(100), &Value::from(4000)),
        "{threads:#}"
    );
    assert_ne!(crossing["from"]["tid"], crossing["to"]["tid"]);
}

/// Check that a block that grows step by step is shown as one chain, with advice.
#[test]
fn growing_step_by_step_is_seen() {
    let (_, capture) = record(c("grows_a_block").build()).with_names().succeed();
    let reallocs = capture.json(&["blocks", "--by", "realloc"]);
    let grow = row(&reallocs["rows"], "stack", "grow");
    let number = |field: &str| grow[field].as_u64().unwrap();
    assert_eq!((number("chains"), number("resizes"), number("longest")), (1, 32, 32), "{grow:#}");
    assert_eq!((number("first_bytes"), number("last_bytes"), number("doublings")), (1000, 33_000, 6));
    let text = capture.show(&["blocks", "--by", "realloc"]);
    assert!(text.text().contains("or double: 6 resizes instead of 32"), "{}", text.text());
}
