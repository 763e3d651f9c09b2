//! Calls that returned no memory, on captures in which they are known.

use crate::fields::assert_described;
use crate::shown::{self, written};
use crate::support::Made;
use capture::{Action, Ended, NodeId, ThreadId};
use engine::Loaded;
use report::text::Style;
use report::{json, views};

fn fail(made: &mut Made, thread: ThreadId, (size, alignment, error): (u64, u64, u32), stack: NodeId) {
    made.event(thread, Action::AllocFailed { size, factors: None, alignment, error, stack });
}

fn tell(made: &mut Made) {
    made.tables.metadata.options.push((capture::FAILED_CALLS.to_owned(), "true".to_owned()));
}

/// A program that asks for a table in vain in two threads, for a negative number of bytes, and for an alignment that is none, while it
/// holds a block.
fn wanting() -> Made {
    let mut made = Made::new();
    tell(&mut made);
    let (process, one) = made.process("app");
    let two = made.thread(process);
    let [table, wrong, aligned] =
        ["main > table > calloc", "main > wrong", "main > aligned > posix_memalign"]
            .map(|functions| made.stack(functions));
    fail(&mut made, one, (100, 3, 22), aligned);
    made.alloc(one, 0x1000, 4000, wrong);
    fail(&mut made, one, (1 << 40, 0, 12), table);
    made.alloc(one, 0x9000, 96, wrong);
    fail(&mut made, two, (3 << 30, 0, 12), table);
    fail(&mut made, two, (u64::MAX - 7, 0, 0), wrong);
    made.end(process, one, Ended::Signaled(6));
    made
}

fn text_of(loaded: &Loaded, limit: usize) -> String {
    shown::document(loaded, &views::errors(loaded, &[], 0), limit, &Style::default())
}

/// Check what is written: what failed last first, behind it what was no fault of the memory, and how much is not shown.
#[test]
fn rows_say_who_asked_for_how_much() {
    let loaded = wanting().loaded("app.memprof");
    let expected = "\
app.memprof: 4 failed allocations, 0 invalid frees

malloc of -8 B failed after 7.00 ms in app (1000), thread 5001
  the process held 4.00 KiB in 2 blocks
    wrong  w.c:15
    main  m.c:14

2 calls to calloc for 3.00 GiB to 1.00 TiB failed after 4.00 ms to 6.00 ms in app (1000), thread 5000, thread 5001: out of memory (ENOMEM)
  the process held 3.91 KiB in 1 block at the first failure, 4.00 KiB in 2 blocks at the last
    table  t.c:15
    main  m.c:14

posix_memalign of 100 B failed after 2.00 ms in app (1000), thread 5000: invalid alignment 3 (EINVAL)
  the process held 0 B in 0 blocks
    aligned  a.c:17
    main  m.c:14
";
    assert_eq!(text_of(&loaded, 10), expected);
    let cut = text_of(&loaded, 1);
    assert!(cut.ends_with("    main  m.c:14\n\n2 more stacks not shown (--limit)\n"), "{cut}");
}

/// Check that summary and info count them, lead to the list, and have it short; that they are no allocations; and that a recording which
/// does not tell of any is not said to have had none.
#[test]
fn summaries_lead_to_them() {
    let loaded = wanting().loaded("app.memprof");
    let summary = shown::summary(&loaded, "memprof", &Style::default());
    let line = "\nfailed        3 allocations, the largest of 1.00 TiB; 1 call with an invalid alignment\n";
    assert!(summary.contains(line), "{summary}");
    assert!(summary.contains("\n  memprof errors app.memprof "), "{summary}");
    assert!(summary.contains("\nallocations   2, 4.00 KiB\n"), "{summary}");
    let info = shown::info(&loaded, None, &Style::default());
    assert!(info.contains("\n  failed allocations          4 (see: errors)\n"), "{info}");
    assert!(info.contains("\nFailed allocations\n"), "{info}");
    let row = info.lines().find(|line| line.contains("calloc")).unwrap_or_default();
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(words.join(" "), "2 calloc 1.00 TiB 6.00 ms 4.00 KiB table (t.c:15) < main");
    let mut none = Made::new();
    none.process("app");
    let loaded = none.loaded("old.memprof");
    assert!(text_of(&loaded, 10).contains("failed allocations are not recorded"), "{}", text_of(&loaded, 10));
    let info = shown::info(&loaded, None, &Style::default());
    assert!(info.contains("\n  failed allocations          not recorded\n"), "{info}");
    let summary = shown::summary(&loaded, "memprof", &Style::default());
    assert!(!summary.contains("failed"), "{summary}");
}

/// Check that the document has all of it, and that each field is described.
#[test]
fn document_has_all_of_them() {
    let loaded = wanting().loaded("app.memprof");
    let text = written(|out| json::document(out, &loaded, &views::errors(&loaded, &[], 0)));
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&document["schema"], &document["document"]), (&1.into(), &"errors".into()));
    assert_eq!((&document["failed_calls"], &document["told"]), (&4.into(), &true.into()));
    assert_eq!(document["total"]["allocations"], 2, "{document:#}");
    let rows = document["failed"].as_array().unwrap();
    let (wrong, table, aligned) = (&rows[0], &rows[1], &rows[2]);
    assert_eq!((&wrong["largest"], &wrong["error"]), (&(u64::MAX - 7).into(), &serde_json::Value::Null));
    assert_eq!(
        (&table["call"], &table["error"], &table["calls"]),
        (&"calloc".into(), &"ENOMEM".into(), &2.into())
    );
    assert_eq!((&table["smallest"], &table["largest"]), (&(3_u64 << 30).into(), &(1_u64 << 40).into()));
    assert_eq!((&table["first_ns"], &table["last_ns"]), (&4_000_000.into(), &6_000_000.into()));
    assert_eq!((&table["held_first"]["bytes"], &table["held_last"]["blocks"]), (&4000.into(), &2.into()));
    assert_eq!((&table["threads"][1]["tid"], &table["pid"]), (&5001.into(), &1000.into()));
    assert_eq!(table["stack"][0]["function"], "table");
    assert_eq!((&aligned["alignment"], &aligned["error"]), (&3.into(), &"EINVAL".into()));
    assert_described("errors", &document);
}

/// Check that of a product that overflows both numbers are shown, and the last two of several, beside requests that were no product.
#[test]
fn products_that_overflow_are_shown_as_products() {
    let product = |factors| Action::AllocFailed {
        size: u64::MAX,
        factors,
        alignment: 0,
        error: 12,
        stack: NodeId::ROOT,
    };
    let shown = |factors: &[Option<(u64, u64)>]| {
        let mut made = Made::new();
        tell(&mut made);
        let (_, thread) = made.process("app");
        let stack = made.stack("main > table > calloc");
        for factors in factors {
            let Action::AllocFailed { size, alignment, error, .. } = product(*factors) else { continue };
            made.event(thread, Action::AllocFailed { size, factors: *factors, alignment, error, stack });
        }
        made.loaded("app.memprof")
    };
    let one = shown(&[Some((1 << 40, 3 << 40))]);
    let text = text_of(&one, 10);
    assert!(text.contains("calloc of 1,099,511,627,776 × 3,298,534,883,328 B failed after"), "{text}");
    let summary = shown::summary(&one, "memprof", &Style::default());
    let line = "failed        1 allocation, the largest of 1,099,511,627,776 × 3,298,534,883,328 B";
    assert!(summary.contains(line), "{summary}");
    let document = shown::document_json(&one, &views::errors(&one, &[], 0));
    let overflow = &document["failed"][0]["overflow"];
    assert_eq!((&overflow["count"], &overflow["size"]), (&(1_u64 << 40).into(), &(3_u64 << 40).into()));
    let text = text_of(&shown(&[Some((7, u64::MAX)), Some((u64::MAX, 9)), None]), 10);
    assert!(text.contains("3 calls to calloc for 18,446,744,073,709,551,615 × 9 B failed after"), "{text}");
    assert!(text_of(&shown(&[None]), 10).contains("calloc of -1 B failed after"));
}
