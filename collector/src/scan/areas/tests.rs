use super::super::mappings::parse;
use super::*;
use AreaKind::{Anonymous, Heap, Left, Other, Stack as OnStack, Variables};

const PID: u32 = 7;

fn stack(tid: u32, pointer: u64, thread_pointer: u64) -> Stack {
    Stack { tid, pointer, thread_pointer: Some(thread_pointer) }
}

/// Checks what is to be searched in these mappings, whose images all have one length: start, end, kind, thread, name.
fn check(maps: &str, stacks: &[Stack], image: Option<u64>, expected: &[(u64, u64, AreaKind, u32, &str)]) {
    let image = image.map(|length| Image { length, ..Image::default() });
    let places = of(PID, &parse(maps), stacks, |_| image.clone());
    let found: Vec<_> = places.iter().map(|p| (p.start, p.end, p.kind, p.tid, p.name.as_str())).collect();
    assert_eq!(found, expected);
}

/// Check that each kind of memory is recognised, and that memory never written, devices and the kernel's pages are
/// left out.
#[test]
fn kinds_of_memory_are_told_apart() {
    let maps = "\
10000-11000 r--p 00000000 fe:00 5 /bin/a
11000-12000 r-xp 00001000 fe:00 5 /bin/a
12000-13000 r--p 00002000 fe:00 5 /bin/a
13000-14000 rw-p 00003000 fe:00 5 /bin/a
14000-16000 rw-p 00000000 00:00 0
30000-40000 rw-p 00000000 00:00 0 [heap]
50000-51000 ---p 00000000 00:00 0
51000-52000 rw-p 00000000 00:00 0
52000-53000 rw-p 00000000 00:00 0 [anon: arena]
53000-54000 rw-s 00000000 00:01 9 /memfd:theirs (deleted)
54000-55000 rw-p 00000000 fe:00 6 /data/private
55000-56000 rw-s 00000000 00:06 7 /dev/dri/card0
56000-57000 rw-s 00000000 00:01 8 /dev/zero (deleted)
57000-58000 rw-p 00000000 00:0f 3 /anon_hugepage (deleted)
70000-80000 rw-p 00000000 00:00 0 [stack]
80000-81000 r--p 00000000 00:00 0 [vvar]
81000-82000 r-xp 00000000 00:00 0 [vdso]";
    check(
        maps,
        &[stack(7, 0x78008, 0x51800)],
        Some(0x5800),
        &[
            (0x13000, 0x14000, Variables, 0, "/bin/a"),
            (0x14000, 0x15800, Variables, 0, "/bin/a"),
            (0x15800, 0x16000, Anonymous, 0, ""),
            (0x30000, 0x40000, Heap, 0, ""),
            (0x50000, 0x51000, Anonymous, 0, ""),
            (0x51000, 0x52000, Anonymous, 0, ""),
            (0x52000, 0x53000, Anonymous, 0, ""),
            (0x53000, 0x54000, Other, 0, "/memfd:theirs (deleted)"),
            (0x54000, 0x55000, Other, 0, "/data/private"),
            (0x56000, 0x57000, Other, 0, "/dev/zero (deleted)"),
            (0x57000, 0x58000, Anonymous, 0, ""),
            (0x78008 - 128, 0x80000, OnStack, 7, ""),
        ],
    );
}

/// Check that memory that was written and is now read-only is searched, and that inaccessible memory is still listed
/// as a target.
#[test]
fn closed_memory_is_told() {
    let maps = "\
10000-11000 r--p 00000000 fe:00 5 /bin/a
11000-12000 r-xp 00001000 fe:00 5 /bin/a
12000-13000 r--p 00002000 fe:00 5 /bin/a
Anonymous:             4 kB
13000-14000 r--p 00003000 fe:01 5 /data/other
Anonymous:             4 kB
20000-21000 r--p 00000000 00:00 0
Rss:                   4 kB
22000-23000 ---p 00000000 00:00 0
Rss:                   4 kB
30000-31000 rw-s 00000000 00:0f 9 /dev/hugepages/one
VmFlags: rd wr sh mr mw me ms ht";
    let places = of(PID, &parse(maps), &[], |_| Some(Image { length: 0x3000, ..Image::default() }));
    let told: Vec<(u64, AreaKind, bool)> =
        places.iter().map(|place| (place.start, place.kind, place.is_there)).collect();
    let expected = [
        (0x12000, Variables, false),
        (0x13000, Other, false),
        (0x20000, Anonymous, true),
        (0x22000, Anonymous, false),
        (0x30000, Other, false),
    ];
    assert_eq!(told, expected);
}

/// Check that memory above a guard is distinguished.
#[test]
fn guards_are_seen() {
    let maps = "\
20000-21000 ---p 00000000 00:00 0
21000-30000 rw-p 00000000 00:00 0
30000-31000 rw-s 00000000 00:00 0
31000-32000 rw-p 00000000 00:00 0
33000-34000 ---p 00000000 00:00 0
35000-36000 rw-p 00000000 00:00 0";
    let places = of(PID, &parse(maps), &[], |_| None);
    let guarded: Vec<(u64, bool)> = places.iter().map(|place| (place.start, place.is_guarded)).collect();
    let expected = [
        (0x20000, false),
        (0x21000, true),
        (0x30000, false),
        (0x31000, false),
        (0x33000, false),
        (0x35000, false),
    ];
    assert_eq!(guarded, expected);
}

/// Check that variables, including those that are not stored in the file, say where the beginning of their file is
/// mapped, if it is.
#[test]
fn variables_say_where_their_file_begins() {
    let maps = "\
10000-11000 r--p 00000000 fe:00 5 /bin/a
11000-12000 r-xp 00001000 fe:00 5 /bin/a
13000-14000 rw-p 00003000 fe:00 5 /bin/a
14000-15000 rw-p 00000000 00:00 0
21000-22000 r-xp 00001000 fe:00 6 /lib/b
23000-24000 rw-p 00003000 fe:00 6 /lib/b
30000-31000 rw-p 00000000 00:00 0";
    let places = of(PID, &parse(maps), &[], |_| Some(Image { length: 0x5000, ..Image::default() }));
    let bases: Vec<(u64, u64)> = places.iter().map(|place| (place.start, place.base)).collect();
    assert_eq!(bases, [(0x13000, 0x10000), (0x14000, 0x10000), (0x23000, 0), (0x30000, 0)]);
}

/// Check that adjoining memory, and nothing else, belongs to a module whose header does not say.
#[test]
fn headers_may_tell_nothing() {
    let maps = "\
11000-12000 r-xp 00001000 fe:00 5 /bin/a
13000-14000 rw-p 00003000 fe:00 5 /bin/a
14000-16000 rw-p 00000000 00:00 0
17000-18000 rw-p 00000000 00:00 0";
    let expected = [
        (0x13000, 0x14000, Variables, 0, "/bin/a"),
        (0x14000, 0x16000, Variables, 0, "/bin/a"),
        (0x17000, 0x18000, Anonymous, 0, ""),
    ];
    check(maps, &[], None, &expected);
}

/// Check that nothing of the agent is searched: its variables, its memory and what it shares with the collector.
#[test]
fn agent_is_left_out() {
    let maps = "\
11000-12000 r-xp 00000000 fe:00 5 /run/libsysprof_memprof_preload-1.so
13000-14000 rw-p 00003000 fe:00 5 /run/libsysprof_memprof_preload-1.so
14000-16000 rw-p 00000000 00:00 0
20000-21000 rw-p 00000000 00:00 0
VmFlags: rd wr mr mw me rr nr dd sd
22000-23000 rw-p 00000000 00:00 0
VmFlags: rd wr mr mw me nr dd sd
24000-25000 rw-s 00000000 00:01 9 /memfd:sysprof-memprof (deleted)
25000-26000 rw-s 00000000 00:01 9 /memfd:sysprof-memprof-control (deleted)";
    let expected = [(0x15000, 0x16000, Anonymous, 0, ""), (0x22000, 0x23000, Anonymous, 0, "")];
    check(maps, &[], Some(0x4000), &expected);
}

/// Check that a stack above a guard is split into the part in use and what is left over, that all of any other stack
/// may be in use, and that memory beyond stacks is none, even if several lie in one mapping.
#[test]
fn stacks_of_threads_are_cut() {
    let maps = "20000-21000 ---p 00000000 00:00 0\n21000-40000 rw-p 00000000 00:00 0";
    let stacks = [stack(9, 0x38000, 0x3a940), stack(8, 0x28004, 0x2f700)];
    let expected = [
        (0x20000, 0x21000, Anonymous, 0, ""),
        (0x21000, 0x28004 - 132, Left, 0, ""),
        (0x28004 - 132, 0x30000, OnStack, 8, ""),
        (0x30000, 0x38000 - 128, Anonymous, 0, ""),
        (0x38000 - 128, 0x3b000, OnStack, 9, ""),
        (0x3b000, 0x40000, Anonymous, 0, ""),
    ];
    check(maps, &stacks, None, &expected);
    // The red zone ends with the mapping.
    let expected = [(0x20000, 0x21000, Anonymous, 0, ""), (0x21000, 0x40000, OnStack, 8, "")];
    check(maps, &[stack(8, 0x21010, 0x3ffff)], None, &expected);
}

/// Check that memory on which a coroutine runs keeps its kind except for the red zone, and that every thread's
/// registers have a place.
#[test]
fn other_stacks_are_what_they_were() {
    let maps = "\
30000-40000 rw-p 00000000 00:00 0 [heap]
70000-80000 rw-p 00000000 00:00 0 [stack]";
    let late = Stack { tid: 6, pointer: 0x36000, thread_pointer: None };
    let stacks = [stack(7, 0x35003, 0x60000), stack(8, 0x99999, 0x60000), late];
    let expected = [
        (0x30000, 0x35000 - 128, Heap, 0, ""),
        (0x35000 - 128, 0x35000, OnStack, 7, ""),
        (0x35000, 0x40000, Heap, 0, ""),
        (0x70000, 0x80000, OnStack, PID, ""),
        (0x99998, 0x999a0, OnStack, 8, ""),
    ];
    check(maps, &stacks, None, &expected);
}

/// Check that the unused ends of the agent's pages are searched with musl, and only with musl.
#[test]
fn what_is_left_of_our_pages_is_searched() {
    let maps = "\
10000-11000 r-xp 00000000 fe:00 5 /x/libsysprof_memprof_preload.1.so
11000-12000 rw-p 00001000 fe:00 5 /x/libsysprof_memprof_preload.1.so
12000-14000 rw-p 00000000 00:00 0
20000-21000 rw-p 00000000 00:00 0
30000-31000 r-xp 00000000 fe:00 6 ";
    let image = Image { length: 0x4000, gaps: vec![0x1000..0x1498, 0x3e48..0x4000], ..Image::default() };
    let found = |library: &str| -> Vec<_> {
        let places = of(PID, &parse(&format!("{maps}{library}")), &[], |_| Some(image.clone()));
        places.iter().map(|place| (place.start, place.end, place.kind)).collect()
    };
    assert_eq!(found("/lib/libc.so.6"), [(0x20000, 0x21000, Anonymous)]);
    assert_eq!(
        found("/lib/ld-musl-x86_64.so.1"),
        [(0x11000, 0x11498, Anonymous), (0x13e48, 0x14000, Anonymous), (0x20000, 0x21000, Anonymous)]
    );
}

/// Check that constants are what the loader relocated and then protected, and the read-only data of a program with a
/// fixed address.
#[test]
fn constants_are_what_nobody_changes() {
    let maps = "\
400000-401000 r--p 00000000 fe:00 5 /bin/a
401000-402000 r-xp 00001000 fe:00 5 /bin/a
402000-403000 r--p 00002000 fe:00 5 /bin/a
403000-404000 r--p 00002000 fe:00 5 /bin/a
404000-405000 rw-p 00003000 fe:00 5 /bin/a
500000-501000 r--p 00000000 fe:00 6 /lib/b
501000-502000 r-xp 00001000 fe:00 6 /lib/b
502000-503000 r--p 00002000 fe:00 6 /lib/b
503000-504000 r--p 00002000 fe:00 6 /lib/b
Anonymous: 4 kB
504000-505000 rw-p 00003000 fe:00 6 /lib/b
600000-601000 r--p 00000000 fe:00 7 /data
Anonymous: 4 kB";
    let of = |fixed| {
        let image = |start| Some(Image { is_fixed: start == fixed, ..Image::default() });
        constants(&parse(maps), image).into_iter().map(|range| range.start).collect::<Vec<_>>()
    };
    assert_eq!(of(0), [0x503000]);
    assert_eq!(of(0x400000), [0x400000, 0x402000, 0x403000, 0x503000]);
}

/// Check that the length of an image and the gaps in its writable pages are read from its own headers, and that
/// arbitrary bytes are survived.
#[test]
fn headers_of_an_image_tell_its_length() {
    let own = std::fs::read("/proc/self/exe").unwrap();
    let Image { length, gaps, is_fixed } = image(&own[..4096]).expect("we are an executable");
    assert!(!is_fixed, "it may lie anywhere");
    assert!(length.is_multiple_of(4096) && length > 4096);
    assert!(!gaps.is_empty() && gaps.iter().all(|gap| gap.end <= length && gap.end - gap.start < 4096));
    for cut in 0..1000 {
        image(&own[..cut]);
    }
    let mut hostile = own[..4096].to_vec();
    for at in 5..200 {
        let kept = std::mem::replace(&mut hostile[at], 0xff);
        image(&hostile);
        hostile[at] = kept;
    }
    assert_eq!(image(b"\x7fELF\x01"), None);
    let nothing = [b"\x7fELF\x02".as_slice(), &[0xff; 100]].concat();
    assert_eq!(image(&nothing), None);
}
