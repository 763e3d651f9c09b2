//! Why functions have no name, and how much that hides.

use crate::support::Made;
use analysis::{Amount, Metric, Nameless, nameless, nameless_addresses};

fn amount(blocks: i64, bytes: i64) -> Amount {
    Amount { blocks, bytes }
}

/// Check that each stack counts once for each reason on it, that only the allocating function is charged as such,
/// whatever plumbing is below it, and that a named function counts nowhere.
#[test]
fn reasons_are_counted_by_stack() {
    let (mut made, _, thread, [main]) = Made::app_with(["main"]);
    let stripped = [0; 2].map(|_| made.frame(Some("/lib/libx.so"), &[]));
    for frame in stripped {
        made.reason(frame, "No symbols in binary file");
    }
    let unknown = made.frame(None, &[]);
    let outer = made.node(main, stripped[0]);
    let recursive = made.node(outer, stripped[1]);
    let mixed = made.node(recursive, unknown);
    let plumbing = made.frame(Some("/bin/app"), &["operator new(unsigned long)"]);
    let beneath = made.node(outer, plumbing);
    for (index, (size, stack)) in
        [(1, main), (10, recursive), (100, mixed), (1000, beneath)].into_iter().enumerate()
    {
        made.alloc(thread, 0x1000 * (index as u64 + 1), size, stack);
    }
    let loaded = made.loaded("app.memprof");
    let rows = nameless(&loaded.profile, &loaded.tables, &loaded.names, Metric::Bytes);
    let expected = [
        Nameless {
            reason: Some("No symbols in binary file".to_owned()),
            frames: 2,
            modules: vec![capture::ModuleId(1)],
            cost: amount(3, 1110),
            own: amount(2, 1010),
        },
        Nameless { reason: None, frames: 1, modules: Vec::new(), cost: amount(1, 100), own: amount(1, 100) },
    ];
    assert_eq!(rows, expected);
    let count = |metric| nameless_addresses(&loaded.profile, &loaded.tables, &loaded.names, metric);
    assert_eq!((count(Metric::Bytes), count(Metric::Temporary)), (3, 0));
    assert_eq!(nameless(&loaded.profile, &loaded.tables, &loaded.names, Metric::Temporary), []);
}

/// Check that a file which claims more reasons than there are is counted all the same.
#[test]
fn endless_reasons_are_survived() {
    let (mut made, _, thread) = Made::app();
    for index in 0..100 {
        let frame = made.frame(Some("/lib/libx.so"), &[]);
        made.reason(frame, &format!("reason {index}"));
        let node = made.node(capture::NodeId::ROOT, frame);
        made.alloc(thread, 0x1000 * (index + 1), 1, node);
    }
    let loaded = made.loaded("app.memprof");
    let rows = nameless(&loaded.profile, &loaded.tables, &loaded.names, Metric::Bytes);
    assert!(rows.len() < 64, "{}", rows.len());
    assert_eq!(rows.iter().map(|row| row.cost.blocks).sum::<i64>(), 100);
    assert_eq!(rows.iter().map(|row| row.frames).sum::<u64>(), 100);
    assert_eq!(nameless_addresses(&loaded.profile, &loaded.tables, &loaded.names, Metric::Bytes), 100);
}
