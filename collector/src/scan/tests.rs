use super::*;
use std::io::Read;
use std::process::{Command, Stdio};

/// Check that the result is one line, with numbers grouped for people.
#[test]
fn results_are_told_in_a_line() {
    let mut scanned = Scanned {
        pid: 1,
        time: 0,
        still: Duration::from_micros(48_400),
        searched: 64_487_424,
        unread: 0,
        places: Vec::new(),
        found: Found::default(),
        classes: Vec::new(),
    };
    assert_eq!(scanned.summary(), "scanned 61.5 MiB in 48 ms: 0 pointers");
    scanned.unread = 1 << 20;
    scanned.found.lost = 1_234_567;
    let told = "scanned 61.5 MiB in 48 ms: 0 pointers; 1.0 MiB could not be read; 1,234,567 more had no room";
    assert_eq!(scanned.summary(), told);
    assert_eq!([0, 999, 1000, 3_021_544].map(grouped), ["0", "999", "1,000", "3,021,544"]);
}

/// Check that the memory of another process is searched, and that pointers lie in and lead to plausible memory.
#[test]
fn memory_of_a_process_is_searched() {
    let mut command = Command::new("sh");
    command.args(["-c", "echo here; read line"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 5]).unwrap();
    let scanned = scan(child.id(), Clock::start(), || ()).unwrap();
    drop(child.stdin.take());
    assert!(child.wait().unwrap().code().is_some());
    let Scanned { places, found, searched, unread, .. } = scanned;
    assert!(searched > 0 && unread == 0 && found.count() > 0);
    assert!(places.windows(2).all(|pair| pair[0].end <= pair[1].start), "{places:#?}");
    let kind = |address: u64| {
        let at = places.partition_point(|place| place.end <= address);
        places.get(at).filter(|place| place.start <= address).map(|place| place.kind)
    };
    let mut last = 0;
    for pointer in found.into_pointers() {
        assert!(last <= pointer.from && kind(pointer.from).is_some(), "{pointer:x?}");
        assert!(
            !matches!(kind(pointer.to), None | Some(AreaKind::Variables | AreaKind::Stack)),
            "{pointer:x?}"
        );
        last = pointer.from;
    }
}
