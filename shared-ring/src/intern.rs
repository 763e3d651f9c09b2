//! A dense, append-only table of keys with a growing hash index, filled by many threads without locks.
//!
//! ```text
//!  entries   id 1   id 2   id 3   id 4 …            dense: a key costs W words, whatever the hash says
//!           ┌──────┬──────┬──────┬──────┐
//!           │ key  │ key  │ key  │      │
//!           └──────┴──────┴──────┴──────┘
//!  level 0  [ · 2 · · 1 · 3 · ]                     hash → id, open addressing, 2^12 slots
//!  level 1  [ · · · 3 · · · · · · 4 · · · · · ]     twice as many: in use once level 0 is a quarter full
//! ```
//!
//! A look-up searches the newest level first and then the older ones. What it finds in an older one it enters into
//! the newest, so that hot keys move along and nothing is ever rehashed. A key that names another entry was entered
//! after that entry, so it is in none of the levels that were full by then; a look-up of a new key can skip those.
//! Around a change of levels two threads may enter one key twice: such a *late duplicate* has two ids, which the
//! collector merges by their keys.
//!
//! Ids are taken in batches, so that threads do not contend for one counter; some are never used. Id 0 is *none*.
//! Entries lie in memory that is committed step by step: [`Commit::commit`] is called before the first access.

use crate::geometry::{FIRST_LEVEL, last_level_log2};
use crate::primitive::{AtomicU32, Ordering, prefetch};
use crate::ring::Word;

/// Ids that one thread takes at a time.
const BATCH: u32 = 16;
/// Slots that are probed in one level before it counts as crowded.
const PROBES: usize = 64;
/// A level counts as full with one id per so many slots, 2 to the power of this. With one in two, every third look-up
/// of a known key would have to probe a second slot, which branch prediction cannot foresee.
const SPARSE: u32 = 2;

/// Makes memory accessible before its first use in this process.
pub trait Commit {
    /// Makes the first `entries` entries and all index levels up to `level` accessible in this process; false when
    /// that fails, and then they must not be touched. Called before every access, so it must be cheap when they
    /// already are accessible.
    #[must_use]
    fn commit(&self, entries: u32, level: u32) -> bool;

    /// A lower bound on the number of entries that are accessible in this process.
    fn committed(&self) -> u32;
}

/// Memory that is accessible as a whole.
#[derive(Clone, Copy, Debug)]
pub struct Committed;

impl Commit for Committed {
    #[inline(always)]
    fn commit(&self, _entries: u32, _level: u32) -> bool {
        true
    }

    #[inline(always)]
    fn committed(&self) -> u32 {
        u32::MAX
    }
}

/// Ids that a thread took and has not used yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Batch {
    next: u32,
    end: u32,
}

/// The table, with `W` words per key.
#[derive(Clone, Copy, Debug)]
pub struct InternTable<'a, P, const W: usize> {
    /// `W` words for each id.
    pub(crate) entries: &'a [Word],
    /// All levels, one after another.
    pub(crate) index: &'a [AtomicU32],
    /// The next id that is not taken.
    pub(crate) next: &'a AtomicU32,
    /// The newest level in use.
    pub(crate) level: &'a AtomicU32,
    pub(crate) memory: P,
}

/// One level of a table and its accessible entries, as a thread last saw them. It finds most known keys with two
/// loads. Ids and keys never change, so the only error of an outdated one is not to find something.
#[derive(Clone, Copy, Debug, Default)]
pub struct Finder<'a, const W: usize> {
    slots: &'a [AtomicU32],
    entries: &'a [Word],
}

/// Slots that a [`Finder`] probes.
const GLANCE: usize = 4;

impl<const W: usize> Finder<'_, W> {
    /// Prefetches for a key with this hash, which is about to be looked up.
    #[inline(always)]
    pub fn announce(&self, hash: u64) {
        if let Some(slot) = self.slots.get(hash as usize & self.slots.len().wrapping_sub(1)) {
            prefetch(slot);
        }
    }

    /// The id of `key`, if it is easily found.
    #[inline(always)]
    pub fn find(&self, key: [u64; W], hash: u64) -> Option<u32> {
        let mask = self.slots.len().wrapping_sub(1);
        for step in 0..GLANCE {
            // Acquire pairs with the Release exchange in `publish`: the entry's words are visible.
            let id = self.slots.get((hash as usize).wrapping_add(step) & mask)?.load(Ordering::Acquire);
            let start = id as usize * W;
            let words = self.entries.get(start..start + W)?;
            if words.iter().zip(key).all(|(word, wanted)| word.load(Ordering::Relaxed) == wanted) {
                // The entry of id 0, which free slots hold, belongs to no key.
                return Some(id);
            }
        }
        None
    }
}

/// What a probe of one level found.
enum Probe {
    Found(u32),
    Free(usize),
    Crowded,
}

impl<'a, P: Commit, const W: usize> InternTable<'a, P, W> {
    /// A finder of the newest level.
    #[cold]
    fn finder(&self) -> Finder<'a, W> {
        let level = self.newest_level();
        if !self.memory.commit(0, level) {
            return Finder::default();
        }
        let committed = (self.memory.committed() as usize).saturating_mul(W).min(self.entries.len());
        Finder { slots: self.level_slots(level), entries: self.entries.get(..committed).unwrap_or(&[]) }
    }

    /// Makes `finder` find `id`, which was just entered or found in the newest level, unless it already does.
    pub fn renew(&self, finder: &mut Finder<'a, W>, id: u32) {
        let level = self.newest_level();
        let finds =
            finder.slots.len() == 1 << (FIRST_LEVEL + level) && finder.entries.len() / W > id as usize;
        if !finds {
            *finder = self.finder();
        }
    }

    fn capacity(&self) -> u32 {
        (self.entries.len() / W) as u32
    }

    #[inline(always)]
    fn newest_level(&self) -> u32 {
        // Acquire pairs with the Release half of the exchange in `grow`.
        self.level.load(Ordering::Acquire).min(self.last_level())
    }

    fn last_level(&self) -> u32 {
        last_level_log2(self.capacity().trailing_zeros()) - FIRST_LEVEL
    }

    fn level_slots(&self, level: u32) -> &'a [AtomicU32] {
        let size = 1usize << (FIRST_LEVEL + level);
        let start = size - (1 << FIRST_LEVEL);
        self.index.get(start..start + size).unwrap_or(&[])
    }

    /// The id of `key`, which is entered if it is new; `None` when the table is full or cannot be committed. Ids of new
    /// keys are greater than `above`: the entry that the key names, or 0 if it names none. A key always comes with
    /// the same `hash` and `above`.
    // Cost: one index line and one entry line when the key is known.
    #[inline]
    pub fn intern(&self, key: [u64; W], hash: u64, above: u32, batch: &mut Batch) -> Option<u32> {
        let level = self.newest_level();
        if !self.memory.commit(0, level) {
            return None;
        }
        match self.probe(level, hash, key, 0) {
            Probe::Found(id) => Some(id),
            found => self.enter(key, hash, level, found, above, batch),
        }
    }

    #[inline]
    fn probe(&self, level: u32, hash: u64, key: [u64; W], from: usize) -> Probe {
        let slots = self.level_slots(level);
        let mask = slots.len().wrapping_sub(1);
        for step in from..PROBES {
            let place = (hash as usize).wrapping_add(step) & mask;
            let Some(slot) = slots.get(place) else { return Probe::Crowded };
            // Acquire pairs with the Release exchange in `publish`: the entry's words are visible.
            match slot.load(Ordering::Acquire) {
                0 => return Probe::Free(step),
                id if self.key(id) == Some(key) => return Probe::Found(id),
                _ => {}
            }
        }
        Probe::Crowded
    }

    /// The key of an id, as far as this process can tell: `None` for an id that is outside of the table or cannot be
    /// committed.
    #[inline]
    pub fn key(&self, id: u32) -> Option<[u64; W]> {
        let start = id as usize * W;
        if start + W > self.entries.len() || !self.memory.commit(id + 1, 0) {
            return None;
        }
        let mut key = [0; W];
        for (word, entry) in key.iter_mut().zip(self.entries.get(start..start + W)?) {
            *word = entry.load(Ordering::Relaxed);
        }
        Some(key)
    }

    #[cold]
    #[inline(never)]
    fn enter(
        &self,
        key: [u64; W],
        hash: u64,
        mut level: u32,
        mut probe: Probe,
        above: u32,
        batch: &mut Batch,
    ) -> Option<u32> {
        let known = (level_of(above)..level).rev().find_map(|older| match self.probe(older, hash, key, 0) {
            Probe::Found(id) => Some(id),
            _ => None,
        });
        let id = match known {
            Some(id) => id,
            None => self.take(key, above, batch)?,
        };
        loop {
            match probe {
                Probe::Found(other) => {
                    if known.is_none() {
                        // Another thread was faster: nothing refers to our id, so it serves the next key.
                        batch.next = batch.next.wrapping_sub(1);
                    }
                    return Some(other);
                }
                Probe::Free(step) => match self.publish(level, hash, step, id) {
                    Ok(()) => {
                        if known.is_none() && id > 1 << (FIRST_LEVEL + level - SPARSE) {
                            self.grow(level);
                        }
                        return Some(id);
                    }
                    Err(()) => probe = self.probe(level, hash, key, step),
                },
                Probe::Crowded if level < self.last_level() => {
                    self.grow(level);
                    level += 1;
                    if !self.memory.commit(0, level) {
                        return known;
                    }
                    probe = self.probe(level, hash, key, 0);
                }
                // A known id is valid even if it cannot be entered into the newest level.
                Probe::Crowded => return known,
            }
        }
    }

    /// Takes a new id greater than `above`, and writes its key.
    fn take(&self, key: [u64; W], above: u32, batch: &mut Batch) -> Option<u32> {
        // A parent may have an id from another thread's later batch; ids taken from now on are greater than that.
        if batch.next >= batch.end || batch.next <= above {
            if self.next.load(Ordering::Relaxed) >= self.capacity() {
                return None;
            }
            // AcqRel: the parent is visible to us, so its id was taken before, and ours is greater.
            let start = self.next.fetch_add(BATCH, Ordering::AcqRel);
            *batch = Batch { next: start, end: start.saturating_add(BATCH).min(self.capacity()) };
            if batch.next >= batch.end {
                return None;
            }
        }
        let id = batch.next;
        batch.next += 1;
        if !self.memory.commit(id + 1, 0) {
            return None;
        }
        let start = id as usize * W;
        for (word, entry) in key.iter().zip(self.entries.get(start..start + W)?) {
            entry.store(*word, Ordering::Relaxed);
        }
        Some(id)
    }

    fn publish(&self, level: u32, hash: u64, step: usize, id: u32) -> Result<(), ()> {
        let slots = self.level_slots(level);
        let place = (hash as usize).wrapping_add(step) & slots.len().wrapping_sub(1);
        // Release pairs with the Acquire load in `probe`: the key above is visible before its id.
        match slots.get(place).map(|slot| slot.compare_exchange(0, id, Ordering::Release, Ordering::Relaxed))
        {
            Some(Ok(_)) => Ok(()),
            _ => Err(()),
        }
    }

    fn grow(&self, level: u32) {
        if level < self.last_level() {
            // AcqRel pairs with the Acquire load in `newest_level`. A lost exchange means that another thread grew
            // it.
            let _ = self.level.compare_exchange(level, level + 1, Ordering::AcqRel, Ordering::Relaxed);
        }
    }

    /// Ids taken so far; some may be unused.
    pub fn taken(&self) -> u32 {
        self.next.load(Ordering::Acquire).min(self.capacity())
    }
}

/// The newest level when an entry with this id was entered, or an older one: the level before it was full with that
/// entry.
#[inline(always)]
const fn level_of(id: u32) -> u32 {
    (u32::BITS - id.saturating_sub(1).leading_zeros()).saturating_sub(FIRST_LEVEL - SPARSE)
}

/// Multiply and fold: the keys are ids and addresses, which would cluster under a plain mask.
#[inline(always)]
pub(crate) fn hash<const W: usize>(key: [u64; W]) -> u64 {
    let mut state = 0u64;
    for word in key {
        state = (state.rotate_left(29) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
    state ^ (state >> 32)
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    struct Shared {
        entries: Vec<Word>,
        index: Vec<AtomicU32>,
        next: AtomicU32,
        level: AtomicU32,
    }

    impl Shared {
        fn table(&self) -> InternTable<'_, Committed, 1> {
            InternTable {
                entries: &self.entries,
                index: &self.index,
                next: &self.next,
                level: &self.level,
                memory: Committed,
            }
        }
    }

    /// Check that two threads that enter the same key get one id, and that its key is visible to whoever has the id.
    #[test]
    fn same_key_gets_one_visible_id() {
        loom::model(|| {
            let shared = Arc::new(Shared {
                entries: (0..64).map(|_| Word::new(0)).collect(),
                // Only the slots that the keys can reach need to be modelled.
                index: (0..1 << FIRST_LEVEL).map(|_| AtomicU32::new(0)).collect(),
                next: AtomicU32::new(1),
                level: AtomicU32::new(0),
            });
            let other = shared.clone();
            let thread = thread::spawn(move || {
                let id = other.table().intern([77], hash([77]), 0, &mut Batch::default()).unwrap();
                assert_eq!(other.table().key(id), Some([77]));
                id
            });
            let id = shared.table().intern([77], hash([77]), 0, &mut Batch::default()).unwrap();
            assert_eq!(shared.table().key(id), Some([77]));
            assert_eq!(thread.join().unwrap(), id);
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    struct Owned {
        entries: Vec<Word>,
        index: Vec<AtomicU32>,
        next: AtomicU32,
        level: AtomicU32,
    }

    impl Owned {
        fn new(log2: u32) -> Self {
            Self {
                entries: (0..1usize << log2).map(|_| Word::new(0)).collect(),
                index: (0..crate::geometry::index_slots(log2)).map(|_| AtomicU32::new(0)).collect(),
                next: AtomicU32::new(1),
                level: AtomicU32::new(0),
            }
        }

        fn table(&self) -> InternTable<'_, Committed, 1> {
            InternTable {
                entries: &self.entries,
                index: &self.index,
                next: &self.next,
                level: &self.level,
                memory: Committed,
            }
        }
    }

    proptest! {
        /// Check that one thread always gets the same id for a key, across all levels.
        #[test]
        fn ids_are_stable(keys in proptest::collection::vec(1u64..9_000, 1..20_000)) {
            let owned = Owned::new(15);
            let (mut batch, mut known) = (Batch::default(), HashMap::new());
            for key in keys {
                let id = owned.table().intern([key], hash([key]), 0, &mut batch).unwrap();
                prop_assert_eq!(*known.entry(key).or_insert(id), id);
                prop_assert_eq!(owned.table().key(id), Some([key]));
            }
        }
    }

    proptest! {
        /// Check the same for keys that name entries, old and new ones, which decides where they are looked for.
        #[test]
        fn ids_of_keys_that_name_others_are_stable(children in proptest::collection::vec((0u32..30_000, 1u64..4), 1..30_000)) {
            let owned = Owned::new(15);
            let (mut batch, mut known, mut ids) = (Batch::default(), HashMap::new(), vec![0]);
            for (parent, child) in children {
                let parent: u32 = ids[parent as usize % ids.len()];
                let key = u64::from(parent) << 32 | child;
                let id = owned.table().intern([key], hash([key]), parent, &mut batch).unwrap();
                prop_assert_eq!(*known.entry(key).or_insert(id), id);
                prop_assert!(id > parent);
                ids.push(id);
            }
        }
    }

    /// Check that a renewed finder finds what was just entered, whatever level that is in.
    #[test]
    fn renewed_finders_find() {
        let owned = Owned::new(15);
        let (mut batch, mut finder) = (Batch::default(), Finder::default());
        for key in 1..9_000u64 {
            let id = owned.table().intern([key], hash([key]), 0, &mut batch).unwrap();
            owned.table().renew(&mut finder, id);
            let is_near = (0..GLANCE as u64).any(|step| {
                let slot = (hash([key]) + step) as usize & (finder.slots.len() - 1);
                finder.slots[slot].load(Ordering::Relaxed) == id
            });
            assert_eq!(finder.find([key], hash([key])), is_near.then_some(id), "{key}");
            assert!(id as usize <= finder.slots.len() >> SPARSE, "{id} lies in a full level");
        }
    }

    /// Check that a level is full with the last entry that may be the newest in it.
    #[test]
    fn entries_tell_their_level() {
        let full = 1 << (FIRST_LEVEL - SPARSE);
        for (id, level) in
            [(0, 0), (1, 0), (full, 0), (full + 1, 1), (2 * full, 1), (2 * full + 1, 2), (u32::MAX, 22)]
        {
            assert_eq!(level_of(id), level, "{id}");
        }
    }

    /// Check that the newest level is exactly the one that the entries imply, even if most ids are never used, such
    /// as those taken by threads that have ended.
    #[test]
    fn levels_begin_with_their_first_entry() {
        let owned = Owned::new(15);
        for key in 1..1_000u64 {
            let id = owned.table().intern([key], hash([key]), 0, &mut Batch::default()).unwrap();
            assert_eq!(owned.table().newest_level(), level_of(id), "{id}");
        }
    }

    /// Check that a full table refuses new keys and still finds the ones it has.
    #[test]
    fn full_table_refuses_new_keys() {
        let owned = Owned::new(10);
        let mut batch = Batch::default();
        let mut refused = 0;
        for key in 1..3_000u64 {
            refused +=
                u32::from(owned.table().intern([key << 20], hash([key << 20]), 0, &mut batch).is_none());
        }
        assert!(refused >= 3_000 - 1_024, "{refused}");
        assert!(owned.table().intern([1 << 20], hash([1 << 20]), 0, &mut batch).is_some());
    }

    /// Check that keys which all have one hash fill the slots of each level that they may occupy, that the next one
    /// is refused, and that the others are found where they are.
    #[test]
    fn crowded_tables_refuse_new_keys() {
        let owned = Owned::new(12);
        let mut batch = Batch::default();
        let mut intern = |key: u64| owned.table().intern([key], 0, 0, &mut batch);
        let known = (owned.table().last_level() as usize + 1) * PROBES;
        let ids: Vec<_> = (1..=known as u64).map(&mut intern).collect();
        assert!(ids.iter().all(Option::is_some));
        assert_eq!(intern(known as u64 + 1), None);
        assert_eq!((1..=known as u64).map(&mut intern).collect::<Vec<_>>(), ids);
    }

    /// Check that each entry of a full table, including the last, can be asked for its key, and that ids beyond
    /// cannot.
    #[test]
    fn all_entries_have_keys() {
        let owned = Owned::new(10);
        let mut batch = Batch::default();
        assert_eq!(owned.table().taken(), 1);
        for key in 1..1_024u64 {
            let id = owned.table().intern([key], hash([key]), 0, &mut batch);
            assert_eq!(id.map(u64::from), Some(key));
        }
        assert_eq!(owned.table().taken(), 1_024);
        assert_eq!(owned.table().key(1_023), Some([1_023]));
        assert_eq!(owned.table().key(1_024), None);
    }

    /// Check that keys of two words are found by both words, also by a finder.
    #[test]
    fn keys_of_two_words_are_found() {
        let owned = Owned::new(13);
        // Half as many entries in the same words.
        let table = InternTable::<_, 2> {
            entries: &owned.entries,
            index: &owned.index,
            next: &owned.next,
            level: &owned.level,
            memory: Committed,
        };
        let (mut batch, mut finder, mut found) = (Batch::default(), Finder::default(), 0);
        let keys = || (1..200u64).flat_map(|first| [[first, 1], [first, 2]]);
        let ids: Vec<u32> = keys()
            .map(|key| {
                let id = table.intern(key, hash(key), 0, &mut batch).unwrap();
                table.renew(&mut finder, id);
                id
            })
            .collect();
        for (key, id) in keys().zip(ids) {
            let glance = finder.find(key, hash(key));
            assert!(glance.is_none_or(|glance| glance == id), "{key:?}: {glance:?} for {id}");
            found += usize::from(glance.is_some());
            assert_eq!(table.key(id), Some(key));
            assert_eq!(table.intern(key, hash(key), 0, &mut batch), Some(id));
        }
        assert!(found > 390, "{found} of 398 are found at a glance");
        let more = (1..5_000u64).map(|first| table.intern([first, 3], hash([first, 3]), 0, &mut batch));
        assert_eq!((more.last(), table.taken()), (Some(None), 4_096));
    }

    /// Check that a child's id is greater than its parent's, even when the parent's is from another batch.
    #[test]
    fn ids_are_above_the_given_one() {
        let owned = Owned::new(12);
        let (mut first, mut second) = (Batch::default(), Batch::default());
        owned.table().intern([1], hash([1]), 0, &mut first).unwrap();
        let parent = owned.table().intern([2], hash([2]), 0, &mut second).unwrap();
        let child = owned.table().intern([3], hash([3]), parent, &mut first).unwrap();
        assert!(child > parent);
    }

    /// Check that threads which enter the same keys agree, except for counted late duplicates, and lose nothing.
    #[test]
    fn threads_agree_on_ids() {
        let owned = Owned::new(18);
        let maps: Vec<HashMap<u64, u32>> = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..4u64)
                .map(|seed| {
                    let owned = &owned;
                    scope.spawn(move || {
                        let mut batch = Batch::default();
                        let mut state = seed + 1;
                        let mut map = HashMap::new();
                        for _ in 0..100_000 {
                            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                            let key = (state >> 33) % 40_000 + 1;
                            let id = owned.table().intern([key], hash([key]), 0, &mut batch).unwrap();
                            assert_eq!(owned.table().key(id), Some([key]));
                            map.insert(key, id);
                        }
                        map
                    })
                })
                .collect();
            handles.into_iter().map(|handle| handle.join().unwrap()).collect()
        });
        let differing =
            maps[0].iter().filter(|(key, id)| maps[1].get(*key).is_some_and(|x| x != *id)).count();
        assert!(differing < 400, "{differing} keys have two ids");
    }
}
