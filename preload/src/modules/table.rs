//! The table of described modules.
//!
//! Any thread and any signal handler reads and writes it without a lock. Each slot is a seqlock (Boehm, "Can seqlocks get along
//! with programming language memory models?", 2012): its version is odd while it is written, and whoever meets an odd one, or one
//! that has changed, takes the module for unknown. It is described once more then, which is as true as the first time.
//!
//! A slot whose module is gone is *void*, and keeps what it had. Loaded again at the same place, the module gets its old
//! description, and with it its old pcs and stacks: a program may load and unload a plug-in for days.

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

/// Most modules of a process at a time; frames in further ones are walked, but belong to no module.
pub(super) const MAX_MODULES: usize = 8192;

/// Identity of a module that another one cannot be told from.
pub(super) const NONE: u64 = 0;

/// How the loader has a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mapping {
    /// The loader's description, by which another module at the same place is told apart.
    pub(super) link_map: u64,
    /// First mapped address.
    pub(super) start: u64,
    /// End of the mapping.
    pub(super) end: u64,
}

/// A described module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// First address of its code.
    pub(super) start: u64,
    /// End of its code.
    pub(super) end: u64,
    /// Its description in the module log.
    pub(super) serial: u32,
    /// Address of its `.eh_frame_hdr`, 0 when it has none.
    pub(super) hdr: u64,
    /// The segment that this lies in: first address and end.
    pub(super) segment: [u64; 2],
    /// How the loader has the place where its code begins.
    pub(super) mapping: Mapping,
}

/// Words of an entry.
const WORDS: usize = 9;

impl Entry {
    fn to_words(self) -> [u64; WORDS] {
        let Self { start, end, serial, hdr, segment, mapping } = self;
        let Mapping { link_map, start: map_start, end: map_end } = mapping;
        [start, end, u64::from(serial), hdr, segment[0], segment[1], link_map, map_start, map_end]
    }

    fn from_words(words: [u64; WORDS]) -> Self {
        let [start, end, serial, hdr, segment_start, segment_end, link_map, map_start, map_end] = words;
        let mapping = Mapping { link_map, start: map_start, end: map_end };
        Self { start, end, serial: serial as u32, hdr, segment: [segment_start, segment_end], mapping }
    }
}

/// Place for an entry. Zeroed memory is one that was never used.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Slot {
    /// Odd while somebody writes.
    version: AtomicU32,
    /// What its module is recognized by when it comes again, [`NONE`] if by nothing.
    identity: AtomicU64,
    /// The entry; the first word, where its code begins, is 0 while void.
    words: [AtomicU64; WORDS],
}

/// What a slot has had at one moment.
#[derive(Clone, Copy, Debug)]
struct Seen {
    version: u32,
    identity: u64,
    entry: Entry,
}

/// A slot that nobody else writes.
#[derive(Debug)]
struct Claim<'a> {
    slot: &'a Slot,
    seen: Seen,
}

impl Slot {
    /// What it has, void or not; `None` while somebody writes.
    fn read(&self) -> Option<Seen> {
        // Acquire pairs with the Release store in `write`: what was written before is seen.
        let version = self.version.load(Ordering::Acquire);
        let identity = self.identity.load(Ordering::Relaxed);
        let words = self.words.each_ref().map(|word| word.load(Ordering::Relaxed));
        // Pairs with the fence in `claim`: who has seen a word that was written after it sees the odd version.
        fence(Ordering::Acquire);
        let is_whole = version.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == version;
        is_whole.then(|| Seen { version, identity, entry: Entry::from_words(words) })
    }

    /// The entry, unless void.
    fn entry(&self) -> Option<Entry> {
        self.read().map(|seen| seen.entry).filter(|entry| entry.start != 0)
    }

    /// Takes it for writing, if it still is as it was seen.
    fn claim(&self, seen: Seen) -> Option<Claim<'_>> {
        let Seen { version, .. } = seen;
        // Relaxed: what was seen was read under this version, and nothing else is.
        self.version
            .compare_exchange(version, version.wrapping_add(1), Ordering::Relaxed, Ordering::Relaxed)
            .ok()?;
        // Pairs with the fence in `read`.
        fence(Ordering::Release);
        Some(Claim { slot: self, seen })
    }

    /// True if the entry, whole or not, has code at an address.
    fn may_have(&self, address: u64) -> bool {
        let [start, end, ..] = &self.words;
        (start.load(Ordering::Relaxed)..end.load(Ordering::Relaxed)).contains(&address)
    }
}

impl Claim<'_> {
    fn write(self, identity: u64, entry: Entry) {
        self.slot.identity.store(identity, Ordering::Relaxed);
        for (word, value) in self.slot.words.iter().zip(entry.to_words()) {
            word.store(value, Ordering::Relaxed);
        }
        // Release pairs with the Acquire load in `read`.
        self.slot.version.store(self.seen.version.wrapping_add(2), Ordering::Release);
    }
}

/// All slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table<'a> {
    /// Zeroed at first.
    pub(super) slots: &'a [Slot],
    /// How many of them were used so far.
    pub(super) used: &'a AtomicUsize,
}

impl<'a> Table<'a> {
    // Relaxed: a slot says itself whether it is filled in.
    fn used(self) -> impl Iterator<Item = &'a Slot> {
        self.slots.iter().take(self.used.load(Ordering::Relaxed))
    }

    /// The module whose code is at an address.
    pub(super) fn find(self, address: u64) -> Option<Entry> {
        let mut likely = self.used().filter(|slot| slot.may_have(address)).filter_map(Slot::entry);
        likely.find(|entry| (entry.start..entry.end).contains(&address))
    }

    /// Enters a module. Its serial is that which it had, if it is recognized by its identity, otherwise what `describe` gives;
    /// `None` when there are too many modules.
    pub(super) fn enter(self, entry: Entry, identity: u64, describe: impl FnOnce() -> u32) -> Option<Entry> {
        let known = if identity == NONE { None } else { self.claim_void(|known| known == identity) };
        let (claim, serial) = match known {
            Some(claim) => {
                let serial = claim.seen.entry.serial;
                (claim, serial)
            }
            None => {
                // Modules that may come again are kept as long as there is room.
                let claim = self
                    .claim_void(|known| known == NONE)
                    .or_else(|| self.claim_unused())
                    .or_else(|| self.claim_void(|_| true))?;
                (claim, describe())
            }
        };
        let entry = Entry { serial, ..entry };
        claim.write(identity, entry);
        Some(entry)
    }

    fn claim_void(self, is_meant: impl Fn(u64) -> bool) -> Option<Claim<'a>> {
        self.used().find_map(|slot| {
            let seen = slot.read().filter(|seen| seen.entry.start == 0 && is_meant(seen.identity))?;
            slot.claim(seen)
        })
    }

    fn claim_unused(self) -> Option<Claim<'a>> {
        let most = self.slots.len();
        let next = |used: usize| (used < most).then(|| used.wrapping_add(1));
        loop {
            let index = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()?;
            let slot = self.slots.get(index)?;
            // It may be another thread's already, which has taken it for a void one.
            if let Some(claim) = slot.read().and_then(|seen| slot.claim(seen)) {
                return Some(claim);
            }
        }
    }

    /// Makes the entries void that `is_gone` is true of.
    pub(super) fn forget(self, is_gone: impl Fn(&Entry) -> bool) {
        for slot in self.used() {
            let Some(seen) = slot.read() else { continue };
            // Who fails to claim it has come too late: somebody else has seen the same.
            if seen.entry.start != 0
                && is_gone(&seen.entry)
                && let Some(claim) = slot.claim(seen)
            {
                claim.write(seen.identity, Entry { start: 0, ..seen.entry });
            }
        }
    }

    /// Empties it. Nobody else is there.
    // Relaxed: who comes next finds the session that was published after this.
    pub(super) fn clear(self) {
        for slot in self.used() {
            let words = [&slot.identity].into_iter().chain(&slot.words);
            words.for_each(|word| word.store(0, Ordering::Relaxed));
            slot.version.store(0, Ordering::Relaxed);
        }
        self.used.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;
    use std::sync::atomic::AtomicBool;

    /// Memory of a table.
    struct Memory {
        slots: Vec<Slot>,
        used: AtomicUsize,
    }

    impl Memory {
        fn new(slots: usize) -> Self {
            let slot = || Slot {
                version: AtomicU32::new(0),
                identity: AtomicU64::new(0),
                words: [(); WORDS].map(|()| AtomicU64::new(0)),
            };
            Self { slots: (0..slots).map(|_| slot()).collect(), used: AtomicUsize::new(0) }
        }

        fn table(&self) -> Table<'_> {
            Table { slots: &self.slots, used: &self.used }
        }
    }

    /// A module at a place, all of whose words tell `sign`.
    fn module(place: u64, sign: u64) -> Entry {
        let start = place * 100;
        let mapping = Mapping { link_map: sign, start: sign, end: sign };
        Entry { start, end: start + 100, serial: 0, hdr: sign, segment: [sign, sign], mapping }
    }

    /// Load a module (place, whether it has an identity), or unload what is there.
    fn steps() -> impl Strategy<Value = Vec<(u64, bool)>> {
        proptest::collection::vec((1u64..6, any::<bool>()), 0..200)
    }

    proptest! {
        /// Check that modules are found while they are loaded and not after, that those which come again have the serial
        /// they had, that others never have one that was another's, and that slots are used again.
        #[test]
        fn modules_come_and_go(steps in steps()) {
            let memory = Memory::new(10);
            let table = memory.table();
            let mut loaded = HashMap::new();
            let mut serials = HashMap::new();
            let mut described = 0;
            for (place, is_known) in steps {
                let address = place * 100 + 50;
                if let Some(entry) = loaded.remove(&place) {
                    prop_assert_eq!(table.find(address), Some(entry));
                    table.forget(|entry| entry.start == place * 100);
                } else {
                    let identity = if is_known { place } else { NONE };
                    let before = described;
                    let entry = table.enter(module(place, place), identity, || { described += 1; described });
                    let entry = entry.expect("there is room");
                    let known = serials.get(&identity).copied().filter(|_| is_known);
                    prop_assert_eq!(entry.serial, known.unwrap_or(before + 1));
                    serials.insert(identity, entry.serial);
                    loaded.insert(place, entry);
                }
                for place in 1..6 {
                    prop_assert_eq!(table.find(place * 100), loaded.get(&place).copied());
                }
            }
        }
    }

    /// Check that a full table takes no further module, and that one which is gone makes room for any.
    #[test]
    fn full_tables_use_void_slots() {
        let memory = Memory::new(3);
        let table = memory.table();
        for place in 1..4 {
            assert!(table.enter(module(place, 0), place, || 1).is_some());
        }
        assert_eq!(table.enter(module(4, 0), 4, || unreachable!("there is no room")), None);
        table.forget(|entry| entry.start == 200);
        assert_eq!(table.enter(module(4, 0), 4, || 9).map(|entry| entry.serial), Some(9));
        let serial = |place: u64| table.find(place * 100).map(|entry| entry.serial);
        assert_eq!([1, 2, 3, 4].map(serial), [Some(1), None, Some(1), Some(9)]);
        table.clear();
        assert_eq!([1, 2, 3, 4].map(serial), [None; 4]);
        assert_eq!(table.enter(module(4, 0), 4, || 5).map(|entry| entry.serial), Some(5));
    }

    /// Check that no reader finds parts of two modules while two threads load and unload at one place.
    #[test]
    fn entries_are_found_whole() {
        let memory = Memory::new(2);
        let table = memory.table();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let readers = [(); 2].map(|()| {
                scope.spawn(|| {
                    let mut found = 0;
                    while !is_over.load(Ordering::Relaxed) || found == 0 {
                        let Some(entry) = table.find(150) else { continue };
                        let sign = entry.hdr;
                        assert_eq!(entry, Entry { serial: sign as u32, ..module(1, sign) });
                        found += 1;
                    }
                })
            });
            let writers = [1u64, 2].map(|writer| {
                scope.spawn(move || {
                    for round in 0..100_000u64 {
                        let sign = round * 2 + writer;
                        table.enter(module(1, sign), NONE, || sign as u32);
                        table.forget(|entry| entry.hdr == sign);
                    }
                    // One that stays: the other writer may be in its way.
                    while table.enter(module(1, writer), NONE, || writer as u32).is_none() {}
                })
            });
            for writer in writers {
                writer.join().expect("it writes");
            }
            is_over.store(true, Ordering::Relaxed);
            for reader in readers {
                reader.join().expect("what it finds is whole");
            }
        });
    }
}
