//! A capture that was cut opens, says so, and contains what precedes the cut.

use crate::harness::{Capture, World, c, record};

/// Check that a capture cut anywhere opens or says what it is, that `info` and `report` mention the cut, and that a
/// shorter file never has more events.
#[test]
fn capture_cut_anywhere_opens_and_says_so() {
    let program = c("frees_everything").flags(["-O2"]).build();
    // 1.8 million events: a chunk ends after 1,048,576 however fast they come.
    let (_, whole) = record(program).args(["3", "450000"]).succeed();
    let bytes = std::fs::read(whole.file()).expect("the capture is there");
    let events = whole.info()["events"].as_u64().unwrap_or(0);
    let steps = 25;
    let mut before = 0;
    for step in 0..steps {
        let length = bytes.len() * step / steps;
        let world = World::new();
        let file = world.write("cut.memprof", &bytes[..length]);
        let cut = Capture::new(world, file);
        let (info, report) = (cut.show(&["info", "--json"]), cut.show(&["report"]));
        assert_eq!(info.code, report.code);
        if info.code != 0 {
            // Not even the header is complete.
            assert!(info.code == 2 && length < 4096 && !info.stderr.is_empty(), "{length}: {}", info.stderr);
            continue;
        }
        let document = cut.info();
        assert!(document["cut"].is_string(), "{length} of {} bytes: {document:#}", bytes.len());
        let text = format!("{}{}", report.text(), report.stderr);
        assert!(text.contains("cut") || text.contains("end"), "{length}: {text}");
        let seen = document["events"].as_u64().unwrap_or(u64::MAX);
        assert!((before..=events).contains(&seen), "{length}: {seen} of {events} events, {before} before");
        before = seen;
    }
    assert!(before > 0, "the longest cut has events");
}
