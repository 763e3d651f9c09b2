//! The state of one recording thread: its ring, its caches, its reserved ids.
//!
//! A state belongs to a ring of this process. It lies in private memory that is mapped at the ring's first use, and
//! that the next thread to claim the ring uses again. No thread ever waits for another.

#[deny(unsafe_code)]
mod claim;
#[expect(unsafe_code, reason = "asks libc for a key")]
pub(crate) mod end;
#[deny(unsafe_code)]
pub(crate) mod kinds;
mod memory;
#[deny(unsafe_code)]
mod names;
#[deny(unsafe_code)]
mod notes;
#[expect(unsafe_code, reason = "calls a function of the program's")]
pub(crate) mod provider;
#[deny(unsafe_code)]
pub(crate) mod sampler;
#[expect(unsafe_code, reason = "uses per-thread memory of its own")]
pub(crate) mod stack;
#[expect(unsafe_code, reason = "reads the host's stack")]
pub(crate) mod stack_reader;
#[deny(unsafe_code)]
pub(crate) mod vfork_notes;

pub(crate) use memory::{are_out, disown, forget_owners};

use crate::interpreters::Interpreters;
use crate::modules::{self, Loaded};
use crate::platform::thread_local::{Attention, ThreadLocal};
use crate::platform::{errno, sys};
use crate::process::{self, Loss, Session, clock};
use crate::thread::kinds::Kinds;
use crate::thread::provider::ScriptFrame;
use crate::thread::sampler::Sampler;
use crate::thread::stack::Paths;
use crate::thread::stack_reader::StackReader;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering, fence};
use memory::{Parts, Public, Tables};
use shared_ring::record::{self, DELTA_LIMIT, Record};
use shared_ring::ring::Producer;
use shared_ring::segment::RingEntry;
use unwind::{Accessors, CachedRules, Memos, Scratch};

/// Words that stay free for what must be reported: a gap's begin and its end, each after a time, whether events are
/// wanted from there on, and the end of the thread or the process.
const SPARE: usize = 11;
/// Words of the longest record, with a time before it.
const LONGEST: usize = record::MAX_WORDS + 2;
/// A hook is timed after an event whose time has these bits zero, in the long run one in 256. Those bits are as good
/// as random; a counter could fall into step with the program and time only its frees, for example.
const TIMED: u64 = 255;
/// Longest time that a hook works, in ticks, some 40 µs: a deep stack whose rules are all new.
const LONGEST_HOOK: u64 = 100_000;
/// Longest single wait on a full ring before the thread checks again that the collector lives.
const WAIT_MS: u64 = 50;
/// Words of the end of a gap and of the record behind it.
const OF_GAP: usize = SPARE + record::MAX_WORDS;

/// The state of a thread while it has a ring.
pub(crate) struct ThreadState {
    session: Session,
    producer: Producer<'static>,
    entry: &'static RingEntry,
    /// Shifted ticks of the last record.
    last: u64,
    pub(crate) realloc_serial: u16,
    /// The first half of a `realloc` was reported, the second not yet.
    pub(crate) is_reallocating: bool,
    pub(crate) sampler: Sampler,
    in_gap: bool,
    /// A wait for room was in vain in this gap: further events of it do not wait.
    waited_in_vain: bool,
    lost_allocations: u64,
    lost_frees: u64,
    /// Whether events are wanted has changed, which will be reported at the end of the gap, since there was no room.
    owes_pause: bool,
    /// Time is the time stamp counter.
    uses_tsc: bool,
    /// A free takes one word: without its stack, and with a time from that counter.
    frees_in_short: bool,
    /// Number of threads of the process that have had a ring.
    threads: &'static AtomicU32,
    /// Ticks at which the timed hook began, 0 while none is timed.
    watch: u64,
    /// The module generation that `rules` belongs to.
    pub(crate) generation: u32,
    /// The number of unmappings for which `accessors` and `memos` are valid.
    pub(crate) unmappings: u32,
    pub(crate) memos: Memos<'static>,
    pub(crate) accessors: Accessors<StackReader, CachedRules<'static, Loaded>, Paths>,
    pub(crate) kinds: Kinds,
    /// Buffer for a stack provider.
    pub(crate) script_frames: &'static mut [ScriptFrame],
    pub(crate) interpreters: Interpreters,
}

/// Claims a ring for the calling thread and sets up its state, or says why that fails.
#[cold]
pub(crate) fn adopt(local: &'static ThreadLocal) -> Result<(), Loss> {
    let session = process::session().ok_or(Loss::NoRing)?;
    let (slot, tid) = (process::slot_index(), sys::thread_id());
    let (ring, entry) = claim::ring(&session, slot, tid)?;
    // AcqRel: the collector looks at the rings below this count.
    session.segment.header().rings_used.fetch_max(ring as u32 + 1, Ordering::AcqRel);
    let depth = frames(&session);
    let memory = memory::of_ring(ring, depth);
    if memory.is_null() || !session.commit_ring(ring) {
        entry.release();
        return Err(Loss::NoRing);
    }
    // SAFETY: mapped, for stacks of `depth` frames, and ours by the claim of the ring.
    let Parts { state, owner, tables } = unsafe { memory::parts(memory, tid, depth) };
    let state = state.write(ThreadState::new(session, (ring, entry), Sampler::new(slot, tid), tables));
    let time = state.last;
    // Only this record tells that what follows in the ring is this thread's.
    if !state.append(Record::Owner { slot, tid, time }, time) {
        entry.release();
        return Err(Loss::RingFull);
    }
    // Release pairs with the Acquire load in `Public::is_out`; until then the thread counts as arriving.
    owner.store(core::ptr::from_ref(local).cast_mut(), Ordering::Release);
    // The session's epoch, not the process': the process may be leaving the session at this moment.
    // By the address of the whole memory, whose first part is the state.
    local.join_session(memory.cast(), process::epoch_in_session());
    if !Attention::Exiting.is_called(local) {
        end::watch();
    }
    // The collector reads the names of threads and processes while they live.
    state.producer.call();
    Ok(())
}

fn frames(session: &Session) -> usize {
    (session.control.header().max_depth.load(Ordering::Relaxed) as usize).clamp(1, 1 << 16)
}

/// Called when the thread ends, or after an event that comes after its destructors: reports the end and gives the
/// ring back.
#[cold]
pub(crate) fn leave_for_good(state: &mut ThreadState, local: &ThreadLocal) {
    if state.is_reallocating {
        // Both halves must be in one ring; the hook that records the second half gets here, too.
        return;
    }
    state.emit(Record::End, 0, 0);
    state.entry.release();
    local.leave_session();
    Public::disown(local);
}

/// The thread's last hook was left in the middle of its work, so nothing in the state can be relied on except the
/// ring's published words. The ring goes back as it is, and the next hook claims another one.
#[cold]
pub(crate) fn abandon(state: &mut ThreadState, local: &ThreadLocal) {
    // The next thread with this ring gets the same memory.
    state.accessors.rules.clear();
    state.memos.clear();
    state.entry.front.waiting.store(0, Ordering::Relaxed);
    state.entry.release();
    local.leave_session();
    Public::disown(local);
}

impl ThreadState {
    /// The state of a thread that has just claimed this ring.
    // Constructed in its final memory: it is too large for a stack.
    #[inline(always)]
    fn new(session: Session, (ring, entry): claim::Ring, sampler: Sampler, tables: Tables) -> Self {
        let Tables { rules, scratch, memos, script_frames, interpreters, generation, unmappings } = tables;
        let producer =
            Producer::new(session.segment.ring(ring), &entry.front.head, session.control.tail(ring));
        Self {
            session,
            producer: producer.with_wakeup(session.wakeup()),
            entry,
            last: clock::now(process::uses_tsc(), false),
            realloc_serial: 0,
            is_reallocating: false,
            sampler,
            in_gap: false,
            waited_in_vain: false,
            lost_allocations: 0,
            lost_frees: 0,
            owes_pause: false,
            uses_tsc: process::uses_tsc(),
            frees_in_short: process::uses_tsc() && !process::has_free_stacks(),
            threads: process::count_thread(),
            watch: 0,
            generation,
            unmappings,
            memos,
            accessors: Accessors {
                memory: StackReader::default(),
                rules: CachedRules::new(rules, modules::shared_rules(), &Loaded, Scratch::init(scratch)),
                labels: Paths::new(session),
            },
            kinds: Kinds::default(),
            script_frames,
            interpreters: Interpreters::new(interpreters),
        }
    }

    /// Now, as records have it: whatever another thread of the process could have done before, its record has an
    /// earlier time.
    // Cost: a load and a compare, and the counter: behind a fence if another thread records, too.
    #[inline(always)]
    fn now(&self) -> u64 {
        clock::now(self.uses_tsc, self.is_alone())
    }

    /// True while no other thread of the process has recorded anything.
    #[inline(always)]
    fn is_alone(&self) -> bool {
        // Relaxed: see `process::count_thread`.
        self.threads.load(Ordering::Relaxed) <= 1
    }

    /// Writes a record of an event that happens now and counts as so many allocations and frees. Returns its time.
    // Cost of the short forms: see `allocation` and `free_in_short`; everything else comes through here.
    pub(crate) fn emit(&mut self, record: Record, allocations: u64, frees: u64) -> u64 {
        let time = self.now();
        self.emit_at(record, time, allocations, frees);
        time
    }

    fn emit_at(&mut self, record: Record, time: u64, allocations: u64, frees: u64) {
        if matches!(record, Record::Exit { .. } | Record::End) {
            // Perhaps the last thing that can be reported, so a gap ends here, in the spare words if need be.
            self.end_gap(time);
            if self.put(record, time) {
                return;
            }
        }
        if !(self.settle(time) && self.append(record, time)) {
            self.lose(record, time, allocations, frees);
        }
    }

    /// Records a new block, now. True when the next hook must be timed.
    // Cost: the time, three shifts and tests, two stores, the second of which publishes.
    #[inline(always)]
    pub(crate) fn allocation(&mut self, address: u64, size: u64, alignment: u64, stack: u32) -> bool {
        let time = self.now();
        // If the clock went backwards, the difference wraps and is far too long.
        let delta = time.wrapping_sub(self.last);
        let is_short = !self.in_gap && delta < DELTA_LIMIT && alignment == 0;
        if is_short
            && let Some([first, second]) = record::short_alloc(address, size, stack, delta)
            && let Some(mut room) = self.producer.reserve(2, SPARE)
        {
            room.push(first);
            room.push(second);
            drop(room);
            self.last = time;
        } else {
            self.allocation_in_full(address, size, alignment, stack, time);
        }
        is_followed_by_timed(time)
    }

    /// The same for a block that the short form cannot hold, or for a call that returned none.
    #[cold]
    #[inline(never)]
    fn allocation_in_full(&mut self, address: u64, size: u64, alignment: u64, stack: u32, time: u64) {
        match address {
            0 => self.failure(size, alignment, errno::get(), stack),
            _ => self.emit_at(Record::Alloc { address, size, alignment, stack }, time, 1, 0),
        }
    }

    /// Records a call that returned no memory. `error` is what the call left in `errno`, or returned.
    #[cold]
    pub(crate) fn failure(&mut self, size: u64, alignment: u64, error: c_int, stack: u32) {
        if size == 0 {
            // For size 0, a null pointer is a correct answer.
            return;
        }
        self.failure_of((size, 0), alignment, error, stack);
    }

    /// The same for a number of elements of a size, whose product overflows; 0 for the size alone.
    #[cold]
    pub(crate) fn failure_of(&mut self, (size, count): (u64, u64), alignment: u64, error: c_int, stack: u32) {
        // Any other value was there before the call: not all allocators set it.
        let is_set = matches!(error, libc::ENOMEM | libc::EINVAL | libc::EAGAIN | libc::EOVERFLOW);
        let error = if is_set { error as u32 } else { 0 };
        self.emit(Record::AllocFailed { size, alignment, count, error, stack }, 0, 0);
    }

    /// Records that a block is about to be freed, now, if that takes one word and there is known to be room. Returns
    /// the event's time; `None` when nothing was done.
    // Cost: the time, two shifts and tests, a store, and a store that publishes; no call.
    #[inline(always)]
    pub(crate) fn free_in_short(&mut self, address: u64) -> Option<u64> {
        if !self.frees_in_short || self.in_gap {
            return None;
        }
        // Time is that counter, and it is read without a call: so a hook that ends in a jump saves fewer registers.
        let time = clock::now(true, self.is_alone());
        // If the clock went backwards, the difference wraps and is far too long.
        let delta = time.wrapping_sub(self.last);
        if delta >= DELTA_LIMIT {
            return None;
        }
        let word = record::short_free(address, delta)?;
        self.producer.reserve_known(1, SPARE)?.push(word);
        self.last = time;
        Some(time)
    }

    /// Reports losses before the next record, waiting for room if the policy says so and that has not been in vain;
    /// false when the ring is still too full for both.
    fn settle(&mut self, time: u64) -> bool {
        if self.in_gap {
            let has_room = self.producer.reserve(OF_GAP, SPARE).is_some();
            if !has_room && (self.waited_in_vain || !self.wait(OF_GAP)) {
                return false;
            }
            self.end_gap(time);
        }
        true
    }

    /// Counts an event for which there was no room. An event that concerns no block makes no gap, since its loss
    /// makes nothing uncertain.
    #[cold]
    fn lose(&mut self, record: Record, time: u64, allocations: u64, frees: u64) {
        if !self.session.control.is_recording() {
            // The recording has ended meanwhile: what comes after its end is not lost.
            return;
        }
        let is_pause = matches!(record, Record::Pause | Record::Resume);
        let is_of_block = matches!(record, Record::ReallocFailed { .. } | Record::ReallocFreed { .. });
        self.owes_pause |= is_pause;
        if allocations + frees > 0 || is_pause || is_of_block {
            self.add_to_gap(time, allocations, frees);
        }
        process::lose(Loss::RingFull, (allocations + frees).max(1));
    }

    /// Begins a gap in the spare words, unless the thread is in one, and counts what is lost in it.
    fn add_to_gap(&mut self, time: u64, allocations: u64, frees: u64) {
        self.lost_allocations += allocations;
        self.lost_frees += frees;
        if !core::mem::replace(&mut self.in_gap, true) {
            // If the gap's begin cannot be written, its end will be, which is as good.
            let _ = self.put(Record::GapBegin, time);
        }
    }

    /// Begins a gap: from here to the next record nothing can be reported.
    #[cold]
    pub(crate) fn begin_gap(&mut self) {
        self.add_to_gap(self.now(), 0, 0);
    }

    /// Reports what was lost in a gap, and the pause or resumption that was not reported in it.
    fn end_gap(&mut self, time: u64) {
        self.waited_in_vain = false;
        if core::mem::replace(&mut self.in_gap, false) {
            let (allocations, frees) = (self.lost_allocations, self.lost_frees);
            (self.lost_allocations, self.lost_frees) = (0, 0);
            let _ = self.put(Record::GapEnd { allocations, frees }, time);
            if core::mem::replace(&mut self.owes_pause, false) {
                // What holds now: another thread may have reported a later change.
                let _ = self.put(process::pause::record(), time);
            }
        }
    }

    /// Writes a record, waiting for room if the policy says so; false when there is none while the recording goes on.
    #[inline(never)]
    fn append(&mut self, record: Record, time: u64) -> bool {
        if self.producer.reserve(LONGEST, SPARE).is_none() && !self.wait(LONGEST) {
            return !self.session.control.is_recording();
        }
        self.put(record, time)
    }

    /// Writes a record, preceded by a time where one is needed; false when there is no room, which can happen only to
    /// some of the records that use the spare words.
    fn put(&mut self, record: Record, time: u64) -> bool {
        if !self.put_time(time) {
            return false;
        }
        let delta = time.saturating_sub(self.last);
        let (words, length) = record::encode(record, delta);
        let Some(mut room) = self.producer.reserve(length, 0) else { return false };
        words.iter().take(length).for_each(|word| room.push(*word));
        drop(room);
        self.last += delta;
        true
    }

    /// Writes a time where the next record's time is too late for a difference; false when there is no room for it.
    fn put_time(&mut self, time: u64) -> bool {
        if time.saturating_sub(self.last) >= DELTA_LIMIT {
            self.look_for_collector();
            let Some(mut room) = self.producer.reserve(2, 0) else { return false };
            let (words, length) = record::encode(Record::Time { time }, 0);
            words.iter().take(length).for_each(|word| room.push(*word));
            drop(room);
            self.last = time;
        }
        true
    }

    /// Waits until the ring has room, as long as the policy allows and the collector lives.
    #[cold]
    #[inline(never)]
    fn wait(&mut self, need: usize) -> bool {
        let header = self.session.control.header();
        if header.block.load(Ordering::Relaxed) == 0 {
            self.look_for_collector();
            self.waited_in_vain = true;
            return false;
        }
        let started = sys::monotonic_raw_ns();
        let longest = u64::from(header.max_wait_ms.load(Ordering::Relaxed)).saturating_mul(1_000_000);
        let mut waited = 0;
        let mut found = false;
        while waited < longest && self.session.control.is_recording() {
            if self.look_for_collector() {
                break;
            }
            let tail = self.producer.tail().load(Ordering::Acquire);
            self.entry.front.waiting.store(1, Ordering::Relaxed);
            // Pairs with the fence in the collector's `ImageDrain::wake`: either we see the room that it made, or it
            // sees that we wait.
            fence(Ordering::SeqCst);
            if self.producer.reserve(need, SPARE).is_some() {
                found = true;
                break;
            }
            sys::wait(self.producer.tail(), tail, WAIT_MS);
            waited = sys::monotonic_raw_ns().saturating_sub(started);
        }
        self.entry.front.waiting.store(0, Ordering::Relaxed);
        self.waited_in_vain = !found;
        if let Some(slot) = process::slot() {
            slot.wait_ns.fetch_add(sys::monotonic_raw_ns().saturating_sub(started), Ordering::Relaxed);
        }
        found
    }

    /// Leaves the recording when its collector is gone, and then returns true. Busy threads check this now and then,
    /// and idle ones after each pause.
    #[cold]
    pub(crate) fn look_for_collector(&self) -> bool {
        let is_gone = self.session.control.owner_died();
        if is_gone {
            process::leave();
        }
        is_gone
    }

    /// Reports the events that signal handlers could not record while a hook was at work. Signals are blocked
    /// meanwhile: a handler that left by `longjmp` would discard counts that are not reported yet.
    #[cold]
    pub(crate) fn tell_nested(&mut self, local: &ThreadLocal) {
        sys::without_signals(|| {
            let [allocations, frees] = local.take_nested();
            let time = self.now();
            self.add_to_gap(time, u64::from(allocations), u64::from(frees));
            // Whoever has to wait for room does so while signals can arrive.
            if self.producer.reserve(OF_GAP, SPARE).is_some() {
                self.end_gap(time);
            }
        });
    }

    /// Begins to time a hook.
    pub(crate) fn start_watch(&mut self) {
        self.look_for_collector();
        self.watch = clock::ticks().max(1);
    }

    /// Ends the timing of a hook; false if it was not timed.
    pub(crate) fn stop_watch(&mut self) -> bool {
        let started = core::mem::take(&mut self.watch);
        if started != 0 {
            add_timed(started);
        }
        started != 0
    }
}

/// True when the hook after one with this time must be timed.
#[inline(always)]
pub(crate) fn is_followed_by_timed(time: u64) -> bool {
    time & TIMED == 0
}

/// Ends the timing of a hook that began at `started`. Long times are cut: the thread was off the processor, not at
/// work.
#[cold]
pub(crate) fn add_timed(started: u64) {
    let ticks = clock::ticks().saturating_sub(started).min(LONGEST_HOOK);
    if let Some(slot) = process::slot() {
        slot.timed_ticks.fetch_add(ticks, Ordering::Relaxed);
        slot.timed_events.fetch_add(1, Ordering::Relaxed);
    }
}
