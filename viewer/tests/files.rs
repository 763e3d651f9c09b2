//! From a file to a view.

use crate::shown;
use crate::support::fixtures::rich;
use engine::{Error, Naming};
use report::EventOptions;
use report::text::Style;

/// Check that a capture read from its file has the numbers and names that it had in memory.
#[test]
fn file_has_what_was_written() {
    let path = rich().saved("server.memprof");
    let read = engine::open(&path, Naming::Stored).unwrap();
    let made = rich().loaded(&path.display().to_string());
    assert_eq!(read.source, made.source);
    for style in [Style::default(), Style { color: true, width: Some(80) }] {
        let text = |loaded: &engine::Loaded| {
            [
                shown::info(loaded, None, &style),
                shown::leaks(loaded, 100, &style),
                shown::written(|out| report::text::report(out, loaded, &Default::default(), &style)),
                shown::written(|out| report::json::report(out, loaded, &Default::default())),
            ]
        };
        assert_eq!(text(&read), text(&made));
    }
}

/// Check that a file without its end is counted up to there, and that every view says so.
#[test]
fn cut_file_is_counted_up_to_the_cut() {
    let path = rich().saved("cut.memprof");
    let bytes = std::fs::read(&*path).unwrap();
    let whole = engine::open(&path, Naming::Stored).unwrap().profile;
    let mut before = 0;
    for length in (0..bytes.len()).step_by(7) {
        std::fs::write(&*path, &bytes[..length]).unwrap();
        let Ok(loaded) = engine::open(&path, Naming::Stored) else {
            assert!(length < 200, "only a file without a header is refused, not one of {length} bytes");
            continue;
        };
        assert!(loaded.source.cut.is_some(), "{length}");
        assert!(loaded.profile.events >= before && loaded.profile.events <= whole.events, "{length}");
        before = loaded.profile.events;
        assert!(
            shown::report(&loaded, &Default::default()).contains("warning: the file is incomplete"),
            "{length}"
        );
        let info = shown::document_json(&loaded, &report::views::info(&loaded, usize::MAX));
        assert!(info["cut"].is_string(), "{length}");
    }
    assert!(before > 0, "some cut left events");
}

/// Check that a file is dumped event by event, in text and in JSON, and that a closed pipe ends it with the
/// writer's error.
#[test]
fn dump_streams_a_file() {
    let path = rich().saved("server.memprof");
    let mut text = Vec::new();
    report::events(
        &path,
        Naming::Stored,
        &mut text,
        EventOptions { frames: 0, ..EventOptions::default() },
        &Style::default(),
    )
    .unwrap();
    assert_eq!(text.split(|&byte| byte == b'\n').count() - 1, rich().events.len());
    let mut json = Vec::new();
    report::events_json(&path, Naming::Stored, &mut json, EventOptions::default()).unwrap();
    assert_eq!(json.split(|&byte| byte == b'\n').count() - 1, rich().events.len() + 1);

    let mut full = [0; 100];
    let error = report::events(
        &path,
        Naming::Stored,
        &mut full.as_mut_slice(),
        EventOptions::default(),
        &Style::default(),
    );
    assert!(matches!(error, Err(Error::Write(_))), "{error:?}");
}

/// Check that what is no capture is refused with the file's name in the message.
#[test]
fn other_files_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let absent = folder.path().join("absent.memprof");
    let script = folder.path().join("script.sh");
    std::fs::write(&script, "#!/bin/sh\n").unwrap();
    for path in [absent, script, folder.path().to_owned()] {
        let error = engine::open(&path, Naming::Stored).unwrap_err();
        assert!(matches!(error, Error::Capture { .. }));
        assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    }
}
