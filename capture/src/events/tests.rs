use proptest::prelude::*;

use super::address::IN_PLACE;
use super::encode::Finished;
use super::{Bounds, Column, Decoder, Encoder};
use crate::aggregate::{FigureKind, SumKind};
use crate::columns;
use crate::error::Malformed;
use crate::event::{Action, Event, ReallocOutcome};
use crate::events::encode::EVENTS;
use crate::format::TIME_UNIT_NS;
use crate::ids::{MarkId, NodeId, ProcessId, StringId, ThreadId};
use crate::observer::{LiveBlocks, Observer};

const BOUNDS: Bounds = Bounds { threads: 80, nodes: 1000, processes: 3, strings: 5, marks: 4 };

/// Addresses that an allocator could return, some of them repeatedly, and arbitrary ones.
fn address() -> impl Strategy<Value = u64> {
    prop_oneof![4 => (0..20u64).prop_map(|block| 0x5555_0000_1000 + 32 * block), 1 => any::<u64>()]
}

fn stack() -> impl Strategy<Value = NodeId> {
    (0..BOUNDS.nodes as u32).prop_map(NodeId)
}

fn size() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..100u64, 1 => any::<u64>()]
}

fn outcome() -> impl Strategy<Value = ReallocOutcome> {
    prop_oneof![
        3 => (address(), size(), stack())
            .prop_map(|(address, size, stack)| ReallocOutcome::Block { address, size, stack }),
        1 => Just(ReallocOutcome::Failed),
        1 => Just(ReallocOutcome::Freed),
    ]
}

fn common_action() -> impl Strategy<Value = Action> {
    prop_oneof![
        8 => (address(), size(), stack())
            .prop_map(|(address, size, stack)| Action::Alloc { address, size, alignment: 0, stack }),
        8 => address().prop_map(|address| Action::Free { address, stack: NodeId::ROOT }),
        2 => (address(), any::<u16>()).prop_map(|(address, serial)| Action::ReallocBegin { address, serial }),
        2 => (any::<u16>(), outcome()).prop_map(|(serial, outcome)| Action::ReallocEnd { serial, outcome }),
        1 => (address(), size(), any::<u64>(), stack())
            .prop_map(|(address, size, alignment, stack)| Action::Alloc { address, size, alignment, stack }),
        1 => (address(), stack()).prop_map(|(address, stack)| Action::Free { address, stack }),
    ]
}

fn pool() -> impl Strategy<Value = StringId> {
    (0..BOUNDS.strings as u32).prop_map(StringId)
}

fn rare_action() -> impl Strategy<Value = Action> {
    let process = || (0..BOUNDS.processes as u32).prop_map(ProcessId);
    prop_oneof![
        (any::<u64>(), any::<u64>(), stack(), any::<bool>())
            .prop_map(|(address, length, stack, in_hook)| Action::Map { address, length, stack, in_hook }),
        any::<(u64, u64)>().prop_map(|(address, length)| Action::Unmap { address, length }),
        any::<(u64, u64)>().prop_map(|(address, length)| Action::UnmapFailed { address, length }),
        (any::<[u64; 4]>(), stack()).prop_map(|([old_address, old_length, address, length], stack)| {
            Action::Remap { old_address, old_length, address, length, stack }
        }),
        (any::<u64>(), any::<u64>(), stack(), any::<bool>())
            .prop_map(|(from, address, stack, in_hook)| Action::Break { from, address, stack, in_hook }),
        (process(), any::<u32>()).prop_map(|(process, fork)| Action::ProcessStart { process, fork }),
        any::<u32>().prop_map(|fork| Action::Fork { fork }),
        process().prop_map(|process| Action::ProcessEnd { process }),
        Just(Action::ThreadStart),
        Just(Action::ThreadEnd),
        Just(Action::GapBegin),
        Just(Action::Unsampled),
        Just(Action::Pause),
        Just(Action::Resume),
        (pool(), address(), size(), stack()).prop_map(|(pool, address, size, stack)| Action::PoolAlloc {
            pool,
            address,
            size,
            stack
        }),
        (pool(), address()).prop_map(|(pool, address)| Action::PoolFree { pool, address }),
        (pool(), address(), address(), size(), stack()).prop_map(|(pool, old, address, size, stack)| {
            Action::PoolRealloc { pool, old, address, size, stack }
        }),
        (0..BOUNDS.marks as u32).prop_map(|mark| Action::Mark { mark: MarkId(mark) }),
        any::<(u64, u64)>().prop_map(|(allocations, frees)| Action::GapEnd { allocations, frees }),
        (proptest::sample::select(&SumKind::ALL), stack(), any::<(u64, u64)>())
            .prop_map(|(kind, stack, (blocks, bytes))| Action::Sum { kind, stack, blocks, bytes }),
        (proptest::sample::select(&FigureKind::ALL), any::<u64>())
            .prop_map(|(kind, value)| Action::Figure { kind, value }),
        Just(Action::Snapshot),
        (any::<(u64, Option<(u64, u64)>, u64, u32)>(), stack()).prop_map(
            |((size, factors, alignment, error), stack)| Action::AllocFailed {
                size,
                factors,
                alignment,
                error,
                stack,
            }
        ),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    // Few threads, two of which share a lane of the model.
    let thread = prop_oneof![Just(0), Just(1), Just(64)].prop_map(ThreadId);
    let time = prop_oneof![4 => 0..5000u64, 1 => any::<u64>()];
    (time, thread, prop_oneof![6 => common_action().boxed(), 1 => rare_action().boxed()])
        .prop_map(|(time, thread, action)| Event { time, thread, action })
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    proptest::collection::vec(event(), 0..300)
}

/// True when the events are the same and each time differs by less than a unit.
fn are_close(found: &[Event], expected: &[Event]) -> bool {
    let is_close = |(found, expected): (&Event, &Event)| {
        found.time.abs_diff(expected.time) < TIME_UNIT_NS && *found == Event { time: found.time, ..*expected }
    };
    found.len() == expected.len() && found.iter().zip(expected).all(is_close)
}

/// What the encoder says about a chunk, and its payload.
/// An encoder with what a writer has beside it.
struct Written {
    encoder: Encoder,
    live: LiveBlocks,
}

impl Written {
    fn new() -> Self {
        Written { encoder: Encoder::new(), live: LiveBlocks::default() }
    }

    fn push(&mut self, event: &Event) {
        let freed = self.live.event(event);
        self.encoder.push(event, freed);
    }

    fn is_full(&self) -> bool {
        self.encoder.is_full()
    }

    fn finish<T>(&mut self, take: impl FnOnce(Finished, &[&[u8]]) -> T) -> T {
        self.encoder.finish(take)
    }
}

fn finish(encoder: &mut Written) -> (Finished, Vec<u8>) {
    encoder.finish(|finished, parts| (finished, parts.concat()))
}

fn decode(decoder: &mut Decoder, payload: &[u8], count: usize) -> Result<Vec<Event>, Malformed> {
    decoder.payload().clear();
    decoder.payload().extend_from_slice(payload);
    decoder.start(count)?;
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    loop {
        decoder.next_batch(BOUNDS, &mut batch)?;
        if batch.is_empty() {
            return Ok(all);
        }
        all.append(&mut batch);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Check that any events come back in order, with nearly the same times, and that a chunk does not depend on
    /// earlier chunks of the same encoder and decoder.
    #[test]
    fn events_come_back(chunks in proptest::collection::vec(events(), 1..4)) {
        let (mut encoder, mut decoder) = (Written::new(), Decoder::new());
        for events in chunks {
            events.iter().for_each(|event| encoder.push(event));
            let (finished, payload) = finish(&mut encoder);
            let found = decode(&mut decoder, &payload, events.len()).unwrap();
            prop_assert!(are_close(&found, &events), "{found:?} for {events:?}");
            prop_assert_eq!(finished.events as usize, events.len());
            let times = finished.first_time..=finished.last_time;
            prop_assert!(found.iter().all(|event| times.contains(&event.time)));
        }
    }

    /// Check that changed bytes of a real payload give events in range or an error.
    #[test]
    fn changed_payloads_stay_in_range(events in events(), changes in proptest::collection::vec(any::<(u16, u8)>(), 1..9)) {
        let mut encoder = Written::new();
        events.iter().for_each(|event| encoder.push(event));
        let (_, mut payload) = finish(&mut encoder);
        for (place, byte) in changes {
            let place = usize::from(place) % payload.len();
            payload[place] = byte;
        }
        if let Ok(found) = decode(&mut Decoder::new(), &payload, events.len()) {
            prop_assert!(found.len() <= events.len());
            prop_assert!(found.iter().all(|event| event.thread.index() < BOUNDS.threads));
        }
    }

    /// Check that arbitrary payloads give an error or no more events than they claim.
    #[test]
    fn arbitrary_payloads_end(payload: Vec<u8>, count in 0..10_000usize) {
        if let Ok(events) = decode(&mut Decoder::new(), &payload, count) {
            prop_assert!(events.len() <= count);
        }
    }
}

/// Check that repetition in a program costs next to nothing: a block that is freed and allocated again is foreseen.
#[test]
fn repeated_blocks_take_four_bytes_a_pair() {
    let mut encoder = Written::new();
    let address = 0x5555_0000_1000;
    for _ in 0..1000 {
        let stack = NodeId(7);
        for action in [
            Action::Alloc { address, size: 24, alignment: 0, stack },
            Action::Free { address, stack: NodeId::ROOT },
        ] {
            encoder.push(&Event { time: 0, thread: ThreadId(0), action });
        }
    }
    let (_, payload) = finish(&mut encoder);
    // Placement, size, stack, freed, and two runs of kinds; a hundred bytes for everything else.
    assert!(payload.len() <= 6 * 1000 + 100, "{}", payload.len());
}

/// Check that a chunk of the present kind holds more events than older kinds, which keep their limit, and that all of
/// them come back.
#[test]
fn kinds_have_limits_of_their_own() {
    let mut encoder = Written::new();
    let events: Vec<Event> = (0..EVENTS as u64)
        .map(|number| {
            let address = 0x5555_0000_1000 + number % 3 * (number & !7);
            let stack = NodeId(number as u32 % 3);
            let action = match number % 5 {
                0..3 => Action::Alloc { address, size: number % 100, alignment: 0, stack },
                _ => Action::Free { address, stack: NodeId::ROOT },
            };
            Event { time: number * 90, thread: ThreadId((number >> 12) as u32 % 2), action }
        })
        .collect();
    for event in &events {
        assert!(!encoder.is_full());
        encoder.push(event);
    }
    assert!(encoder.is_full());
    let ((_, payload), mut decoder) = (finish(&mut encoder), Decoder::new());
    assert!(are_close(&decode(&mut decoder, &payload, events.len()).unwrap(), &events));
    assert!(decode(&mut decoder, &payload, events.len() + 1).is_err());
}

/// Check that a block claimed to be left in place by a missing `realloc`, and placements of later versions, are
/// refused: an address is never made up.
#[test]
fn impossible_placements_are_refused() {
    let mut encoder = Written::new();
    let action = Action::Alloc { address: 0x5555_0000_1000, size: 24, alignment: 0, stack: NodeId(7) };
    encoder.push(&Event { time: 0, thread: ThreadId(0), action });
    let (placement, payload) = encoder.finish(|_, parts| {
        let payload = parts.concat();
        let columns: [_; Column::Placement as usize + 1] = columns::split(&payload).unwrap();
        (columns[Column::Placement as usize].start, payload)
    });
    assert_eq!(payload[placement], 0);
    assert!(decode(&mut Decoder::new(), &payload, 1).is_ok());
    for impossible in IN_PLACE..=u8::MAX {
        let mut payload = payload.clone();
        payload[placement] = impossible;
        assert!(decode(&mut Decoder::new(), &payload, 1).is_err(), "{impossible}");
    }
}

/// Check that events of kinds added by later versions are skipped and counted, and that their neighbours are read.
#[test]
fn unknown_kinds_are_skipped() {
    let mut encoder = Written::new();
    let event = |action| Event { time: 5000, thread: ThreadId(1), action };
    let known = [
        event(Action::ThreadStart),
        event(Action::GapEnd { allocations: 3, frees: 4 }),
        event(Action::ThreadEnd),
    ];
    known.iter().for_each(|event| encoder.push(event));
    let (_, mut payload) = finish(&mut encoder);
    let kind = payload.iter().position(|&byte| byte == 19).expect("the kind of a gap's end");
    payload[kind] = 99;
    let mut decoder = Decoder::new();
    let found = decode(&mut decoder, &payload, 3).unwrap();
    assert!(are_close(&found, &[known[0], known[2]]), "{found:?}");
    assert_eq!(decoder.unknown(), 1);
}
