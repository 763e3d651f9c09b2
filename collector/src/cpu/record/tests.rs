use super::made::{self, Made};
use super::*;
use proptest::prelude::*;

/// Check that each kind of record is parsed into what the kernel put in.
#[test]
fn records_say_what_was_put_in() {
    let map = Payload::Map(Map {
        pid: 7,
        start: 0x1000,
        length: 0x2000,
        offset: 0x3000,
        is_code: true,
        build_id: &[0xab; 20],
        identity: Identity::default(),
        path: b"/lib/x.so",
    });
    let stack = [1, 0, 0, 0, 0, 0, 0, 0];
    let user = User::Bits64 { start: made::START, stack: &stack, is_cut: false };
    let chain = [&made::CHAIN[0].to_le_bytes()[..], &made::CHAIN[1].to_le_bytes()].concat();
    let sample = Payload::Sample(Sample { pid: 7, tid: 7, cpu: 3, period: 1_000_000, chain: &chain, user });
    for (bytes, payload) in [
        (made::map(7, 5), map),
        (made::sample(7, 5), sample),
        (made::comm(7, 5), Payload::Comm { pid: 7, tid: 7, name: b"name", is_exec: true }),
        (made::fork(7, 5), Payload::Fork { pid: 7, parent: 1, tid: 7, parent_tid: 1 }),
        (made::exit(7, 5), Payload::Exit { pid: 7, tid: 7 }),
        (Made::new(sys::PERF_RECORD_LOST).u64(0).u64(9).end(5), Payload::Lost { records: 9 }),
        (Made::new(sys::PERF_RECORD_LOST_SAMPLES).u64(8).end(5), Payload::Lost { records: 8 }),
        (Made::new(sys::PERF_RECORD_THROTTLE).u64(0).u64(0).u64(0).end(5), Payload::Throttle),
        (Made::new(sys::PERF_RECORD_KSYMBOL).u64(0).end(5), Payload::KernelCode),
        (Made::new(4242).end(5), Payload::Other),
    ] {
        assert_eq!(parse(&bytes, Layout::CpuSamples), Ok(Record { time: 5, payload }));
        for length in 0..bytes.len() {
            // A truncated record is another record or none, but no reason to panic.
            let _either = parse(&bytes[..length], Layout::CpuSamples);
            assert_eq!(split(&bytes[..length]), Err(Malformed));
            append_all(&bytes[..length], &[], Layout::CpuSamples, &mut Vec::new());
        }
    }
}

/// Check that a build id is accepted only if it fits and is followed by zeros: the kernel may set its mark on records
/// that hold device and inode instead.
#[test]
fn marked_inodes_are_no_build_ids() {
    let of = |identity: &[u8]| {
        let made = Made::with(sys::PERF_RECORD_MMAP2, sys::PERF_RECORD_MISC_MMAP_BUILD_ID);
        let made = made.u32(7).u32(7).u64(0x1000).u64(0x2000).u64(0x3000).bytes(identity);
        let bytes = made.u32(5).u32(2).text(b"/lib/x.so").end(5);
        match parse(&bytes, Layout::CpuSamples).map(|record| record.payload) {
            Ok(Payload::Map(map)) => (map.build_id.to_vec(), map.identity.inode),
            other => panic!("{other:?}"),
        }
    };
    let inode = |major: u32, minor: u32, inode: u64, generation: u64| {
        [&major.to_le_bytes()[..], &minor.to_le_bytes(), &inode.to_le_bytes(), &generation.to_le_bytes()]
            .concat()
    };
    let build_id = |length: u8| {
        [&[length, 0, 0, 0][..], &vec![0xab; length.into()], &vec![0; 20 - usize::from(length)]].concat()
    };
    for length in [1, 8, 16, 20] {
        assert_eq!(of(&build_id(length)), (vec![0xab; length.into()], 0));
    }
    for (major, generation) in [(254, 0), (21, 0), (0, 0), (8, 1 << 40), (259, 7)] {
        assert_eq!(of(&inode(major, 1, 4711, generation)), (Vec::new(), 4711), "{major}");
    }
}

/// Check that records are copied intact, wherever they wrap around the end of a ring, but without the unfilled part
/// of stacks.
#[test]
fn unfilled_room_is_not_copied() {
    let sample = |room: usize, filled: usize| {
        let head = Made::new(sys::PERF_RECORD_SAMPLE).u64(0x30).u32(7).u32(7).u64(5).u32(3).u32(0).u64(1);
        let registers = head.u64(0).registers(2, made::START);
        let stack: Vec<_> = (0..room).map(|at| if at < filled { at as u8 } else { 0xee }).collect();
        registers.u64(room as u64).bytes(&stack).u64(filled as u64).bare()
    };
    let records =
        [made::map(7, 5), sample(64, 0), sample(64, 5), sample(64, 48), sample(64, 56), sample(64, 64)];
    let all = records.concat();
    for end in (0..=all.len()).step_by(8) {
        let mut copied = Vec::new();
        append_all(&all[..end], &all[end..], Layout::CpuSamples, &mut copied);
        let mut left = copied.as_slice();
        for (number, record) in records.iter().enumerate() {
            let (copy, rest) = split(left).unwrap();
            assert_eq!(
                parse(copy, Layout::CpuSamples),
                parse(record, Layout::CpuSamples),
                "{number} at {end}"
            );
            left = rest;
        }
        assert_eq!(left, []);
        // Counts all but the one that wraps around the end.
        assert!(copied.len() + 3 * 8 < all.len(), "{} of {}", copied.len(), all.len());
    }
}

/// Check that page faults give the address that was touched in both layouts, and that memory without code is told
/// apart from code.
#[test]
fn faults_say_what_was_touched() {
    let fault = || Made::new(sys::PERF_RECORD_SAMPLE).u32(7).u32(8).u64(5).u64(0x7000).u32(3).u32(0);
    let small = fault().registers(2, made::START).bare();
    let large = fault().u64(0).registers(2, made::START).u64(8).u64(1).u64(8).bare();
    let user = User::Bits64 { start: made::START, stack: &[1, 0, 0, 0, 0, 0, 0, 0], is_cut: true };
    let fault = Fault { pid: 7, tid: 8, address: 0x7000, sp: Some(0x20), stack: None };
    for (bytes, layout, fault) in [
        (small, Layout::Faults, fault),
        (large, Layout::FaultsWithStacks, Fault { stack: Some((&[], user)), ..fault }),
    ] {
        assert_eq!(parse(&bytes, layout), Ok(Record { time: 5, payload: Payload::Fault(fault) }));
    }
    for (misc, is_code) in [(0, true), (sys::PERF_RECORD_MISC_MMAP_DATA, false)] {
        let made = Made::with(sys::PERF_RECORD_MMAP, misc).u32(7).u32(7).u64(0x1000).u64(0x2000).u64(0);
        let bytes = made.text(b"//anon").end(5);
        let map = parse(&bytes, Layout::Faults).map(|record| record.payload);
        let Ok(Payload::Map(map)) = map else { panic!("{map:?}") };
        assert_eq!(
            (map.pid, map.start, map.length, map.is_code, map.path),
            (7, 0x1000, 0x2000, is_code, &b"//anon"[..])
        );
    }
}

/// Check that kernel threads have no user part, and that 32-bit code is told apart.
#[test]
fn abi_is_told_apart() {
    let sample = |abi: u64| {
        let fields =
            Made::new(sys::PERF_RECORD_SAMPLE).u64(0).u32(1).u32(2).u64(5).u32(0).u32(0).u64(1).u64(0);
        let fields = if abi == 0 { fields.u64(0) } else { fields.registers(abi, made::START) };
        fields.u64(0).bare()
    };
    for (abi, user) in [
        (0, User::None),
        (1, User::Bits32 { ip: 0x30 }),
        (2, User::Bits64 { start: made::START, stack: &[], is_cut: true }),
    ] {
        let bytes = sample(abi);
        let Payload::Sample(found) = parse(&bytes, Layout::CpuSamples).unwrap().payload else {
            panic!("no sample")
        };
        assert_eq!(found.user, user);
    }
}

proptest! {
    /// Check that arbitrary bytes are a record or none, within their bounds.
    #[test]
    fn hostile_bytes_are_records_or_none(mut bytes: Vec<u8>, kind in 0u32..20) {
        if let Some(place) = bytes.first_chunk_mut() {
            *place = kind.to_le_bytes();
        }
        if let Ok((record, rest)) = split(&bytes) {
            prop_assert_eq!(record.len() + rest.len(), bytes.len());
            prop_assert!(record.len() >= HEADER);
            for layout in [Layout::CpuSamples, Layout::Faults, Layout::FaultsWithStacks] {
                let _either = parse(record, layout);
            }
        }
        let _either = parse(&bytes, Layout::CpuSamples);
    }

    /// Check that a sample in which any one word is changed is parsed or refused.
    #[test]
    fn damaged_samples_are_refused_or_read(place in 8usize..100, value: u64) {
        let mut bytes = made::sample(7, 5);
        if let Some(chunk) = bytes.get_mut(place..).and_then(|rest| rest.first_chunk_mut()) {
            *chunk = value.to_le_bytes();
        }
        let _either = parse(&bytes, Layout::CpuSamples);
    }
}
