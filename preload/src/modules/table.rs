//! The table of described modules.
//!
//! A reader that finds a slot being written treats its module as unknown. The module is then described once more,
//! which is as true as the first description.
//!
//! A slot whose module is gone is *void*, but keeps its contents. If the module is loaded again at the same place, it
//! gets its old description, and with it its old pcs and stacks: a program may load and unload a plug-in for days.

use crate::platform::seqlock::{self, Slots};
use core::sync::atomic::Ordering;

/// Most modules of a process at a time; frames in any beyond are walked, but belong to no module.
pub(super) const MAX_MODULES: usize = 8192;

/// Identity of a module that cannot be told from another one.
pub(super) const NONE: u64 = 0;

/// A module's mapping according to the loader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mapping {
    /// The loader's description, which distinguishes the module from another one at the same place.
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
    /// Address of its `.eh_frame_hdr`; 0 when it has none.
    pub(super) hdr: u64,
    /// The segment that contains it: first address and end.
    pub(super) segment: [u64; 2],
    /// The mapping of the place where its code begins.
    pub(super) mapping: Mapping,
}

/// Words of an entry and its identity.
const WORDS: usize = 10;

/// A slot for an entry.
type Slot = seqlock::Slot<WORDS>;

/// Memory for all slots.
pub(super) type Memory = seqlock::Mapped<WORDS>;

impl Entry {
    /// As words, the first of which is never 0.
    fn to_words(self, identity: u64) -> [u64; WORDS] {
        let Self { start, end, serial, hdr, segment, mapping } = self;
        let Mapping { link_map, start: map_start, end: map_end } = mapping;
        [start, end, u64::from(serial), hdr, segment[0], segment[1], link_map, map_start, map_end, identity]
    }

    fn from_words(words: &[u64; WORDS]) -> Self {
        let [start, end, serial, hdr, segment_start, segment_end, link_map, map_start, map_end, _] = *words;
        let mapping = Mapping { link_map, start: map_start, end: map_end };
        Self { start, end, serial: serial as u32, hdr, segment: [segment_start, segment_end], mapping }
    }
}

/// The identity by which a module is recognized when it comes again; [`NONE`] if it is not.
fn identity_of(words: &[u64; WORDS]) -> u64 {
    let [.., identity] = *words;
    identity
}

/// True if a slot, even one that is being written, seems to have code at an address.
fn may_have(slot: &Slot, address: u64) -> bool {
    let [start, end, ..] = slot.hint();
    (start.load(Ordering::Relaxed)..end.load(Ordering::Relaxed)).contains(&address)
}

/// All slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table<'a>(pub(super) Slots<'a, WORDS>);

impl Table<'_> {
    /// The module whose code is at an address.
    pub(super) fn find(self, address: u64) -> Option<Entry> {
        let likely = self.0.used().filter(|slot| may_have(slot, address)).filter_map(seqlock::Slot::read);
        likely
            .map(|seen| Entry::from_words(&seen.words))
            .find(|entry| entry.start != 0 && (entry.start..entry.end).contains(&address))
    }

    /// Enters a module. Its serial is its previous one if it is recognized by its identity, otherwise the result of
    /// `describe`. `None` when there are too many modules.
    pub(super) fn enter(self, entry: Entry, identity: u64, describe: impl FnOnce() -> u32) -> Option<Entry> {
        let void = |identity: u64| self.0.claim_void(|words| identity_of(words) == identity);
        let known = if identity == NONE { None } else { void(identity) };
        let (claim, serial) = match known {
            Some(claim) => {
                let serial = Entry::from_words(&claim.seen.words).serial;
                (claim, serial)
            }
            None => {
                // Modules that may come again are kept as long as there is room.
                let claim =
                    void(NONE).or_else(|| self.0.claim_unused()).or_else(|| self.0.claim_void(|_| true))?;
                (claim, describe())
            }
        };
        let entry = Entry { serial, ..entry };
        claim.write(entry.to_words(identity));
        Some(entry)
    }

    /// Makes the entries void for which `is_gone` returns true.
    pub(super) fn forget(self, is_gone: impl Fn(&Entry) -> bool) {
        self.0.forget(|words| is_gone(&Entry::from_words(words)));
    }

    /// Empties the table. No other thread uses it.
    pub(super) fn clear(self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::seqlock::testing::Memory;
    use proptest::prelude::*;
    use std::collections::HashMap;
    use std::sync::atomic::AtomicBool;

    /// A module at a place, with `sign` in all of its words.
    fn module(place: u64, sign: u64) -> Entry {
        let start = place * 100;
        let mapping = Mapping { link_map: sign, start: sign, end: sign };
        Entry { start, end: start + 100, serial: 0, hdr: sign, segment: [sign, sign], mapping }
    }

    /// Steps: load a module (place, whether it has an identity), or unload the one that is there.
    fn steps() -> impl Strategy<Value = Vec<(u64, bool)>> {
        proptest::collection::vec((1u64..6, any::<bool>()), 0..200)
    }

    proptest! {
        /// Check that modules are found while they are loaded and not afterwards, that modules which come again keep
        /// their serial, that none ever gets another one's, and that slots are reused.
        #[test]
        fn modules_come_and_go(steps in steps()) {
            let memory = Memory::new(10);
            let table = Table(memory.slots());
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

    /// Check that a full table takes no further module, and that a module which is gone makes room for any other.
    #[test]
    fn full_tables_use_void_slots() {
        let memory = Memory::new(3);
        let table = Table(memory.slots());
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

    /// Check that no reader sees parts of two modules while two threads load and unload at one place.
    #[test]
    fn entries_are_found_whole() {
        let memory = Memory::new(2);
        let table = Table(memory.slots());
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
                    // This module stays; the other writer may get in its way.
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
