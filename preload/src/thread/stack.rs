//! The stack of a call, as one id in the stack table.
//!
//! The caller's frames are walked from the innermost outwards, until the thread's last stack is met unchanged or the
//! root is reached. Then the new frames are entered into the stack table, the innermost last, since a node names its
//! caller.

use crate::interpreters::{Place, Places, Seen};
use crate::modules::{self, Loaded, functions};
use crate::platform::{invalidations, own_image};
use crate::process::accessible::TableCommit;
use crate::process::{self, Session, wrappers};
use crate::thread::ThreadState;
use crate::thread::provider::{self, ProviderResult, ScriptFrame};
use crate::thread::stack_reader::StackReader;
use core::sync::atomic::Ordering;
use shared_ring::intern::{Batch, Finder};
use shared_ring::pc_table::Pc;
use shared_ring::pseudo;
use shared_ring::stack_table::{Path, StackTable};
use unwind::{Accessors, CachedRules, CodeAddress, End, Label, Labels, Memos, Registers};

/// Registers of the code that called a hook.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    registers: Registers,
}

impl Caller {
    /// The caller of an exported function that was entered with the stack pointer `entry` and the frame pointer
    /// `bp`.
    ///
    /// # Safety
    /// `entry` points to the return address that the call pushed.
    #[inline(always)]
    pub(crate) unsafe fn of_entry(entry: *const u64, bp: u64) -> Self {
        // SAFETY: upheld by the caller.
        let address = unsafe { entry.read() };
        Self {
            registers: Registers {
                // A return address, so the bits are those of an address that is returned to.
                ip: CodeAddress::from_bits(address),
                sp: entry.wrapping_add(1).addr() as u64,
                bp,
            },
        }
    }

    /// The code that this is called from, for hooks that are not entered through a shim. Their own frames are left
    /// out of the stack.
    #[inline(always)]
    pub(crate) fn here() -> Self {
        Self { registers: crate::platform::arch::here() }
    }

    /// As words, for functions that are rarely called: passed as a whole, it would be written to memory before each
    /// check whether to call them.
    #[inline(always)]
    pub(crate) fn into_words(self) -> [u64; 3] {
        let Registers { ip, sp, bp } = self.registers;
        [ip.to_bits(), sp, bp]
    }

    /// The inverse of [`Self::into_words`].
    #[inline(always)]
    pub(crate) fn from_words([ip, sp, bp]: [u64; 3]) -> Self {
        Self { registers: Registers { ip: CodeAddress::from_bits(ip), sp, bp } }
    }

    /// The caller's stack pointer.
    #[inline(always)]
    pub(crate) fn sp(self) -> usize {
        self.registers.sp as usize
    }

    /// True when the caller is the agent itself: a function that a hook had called went on to another hook by a jump.
    fn is_own(self) -> bool {
        own_image::has(self.registers.ip.lookup())
    }
}

impl ThreadState {
    /// The id of the caller's stack, under a frame for the `kind` of the call unless that is 0.
    // Cost: for the same stack as the last time, one load and compare per frame; else see `Memos::stack`.
    #[inline(always)]
    pub(crate) fn stack(&mut self, caller: Caller, kind: u32) -> u32 {
        let [ip, sp, bp] = caller.into_words();
        if !invalidations::are_plain(self.unmappings) {
            return self.other_kind_of_stack(ip, sp, bp, kind);
        }
        self.accessors.memory.begin(caller.registers.sp);
        let path = self.path(caller);
        self.of_kind(path, kind)
    }

    /// The path of a stack on which a walk has begun.
    #[inline(always)]
    fn path(&mut self, caller: Caller) -> Option<u64> {
        let [ip, sp, bp] = caller.into_words();
        let path = match self.memos.same(caller.registers, &mut self.accessors.memory) {
            None => self.other_stack(ip, sp, bp),
            path => path,
        };
        #[cfg(feature = "verify")]
        self.verify(caller, path);
        path
    }

    /// The id of a stack, under a frame for the `kind` of the call unless that is 0.
    #[inline(always)]
    fn of_kind(&mut self, path: Option<u64>, kind: u32) -> u32 {
        let Some(path) = path else { return self.stack_table_full() };
        let Label { id, .. } = Label::from_bits(path);
        if kind == 0 { id } else { self.kinds.known(id, kind).unwrap_or_else(|| self.under(path, kind)) }
    }

    /// The same for a kind that is not 0 and a stack that is not cached under it.
    #[cold]
    #[inline(never)]
    fn under(&mut self, path: u64, kind: u32) -> u32 {
        let Label { id, key: hash } = Label::from_bits(path);
        match self.accessors.labels.extend(Path { id, hash }, kind) {
            Some(under) => {
                self.kinds.keep(id, kind, under.id);
                under.id
            }
            None => self.stack_table_full(),
        }
    }

    /// [`Self::stack`] after pages have gone, or where an interpreter's frames may lie between the native ones.
    #[inline(never)]
    fn other_kind_of_stack(&mut self, ip: u64, sp: u64, bp: u64, kind: u32) -> u32 {
        if !invalidations::have_only_interpreter(self.unmappings) {
            return self.unusual_stack(ip, sp, bp, kind);
        }
        let caller = Caller::from_words([ip, sp, bp]);
        self.accessors.memory.begin(sp);
        let path = self.interpreted_stack(caller);
        self.of_kind(path, kind)
    }

    /// The same after pages have gone, or with a stack provider.
    #[cold]
    #[inline(never)]
    fn unusual_stack(&mut self, ip: u64, sp: u64, bp: u64, kind: u32) -> u32 {
        let caller = Caller::from_words([ip, sp, bp]);
        let said = provider::frames(self.script_frames);
        self.begin(caller);
        let path = match said {
            Some(said) if said.count != 0 => self.scripted_stack(caller, said),
            None if invalidations::have_interpreter() => self.interpreted_stack(caller),
            _ => self.path(caller),
        };
        self.of_kind(path, kind)
    }

    /// A stack with the frames that an interpreter runs, if there are any. The native stack and these frames are
    /// found or read each for itself, and joined where the two have not been seen together before.
    #[inline(always)]
    fn interpreted_stack(&mut self, caller: Caller) -> Option<u64> {
        let native = self.path(caller)?;
        let Self { memos, accessors, interpreters, .. } = self;
        let seen = interpreters.look(|place| accessors.labels.place(place));
        let Some(mut seen) = seen else { return Some(native) };
        if let Some(path) = seen.path(native) {
            return Some(path);
        }
        let path = join(memos, accessors, caller, &mut seen)?;
        seen.keep(native, path);
        Some(path)
    }

    /// A stack with a provider's frames. It is walked as a whole, since the native frames may be unchanged while
    /// those of the script are not.
    fn scripted_stack(&mut self, caller: Caller, said: ProviderResult) -> Option<u64> {
        let Self { memos, accessors, script_frames: frames, .. } = self;
        let (end, natives) = memos.frames(caller.registers, accessors);
        let paths = &mut accessors.labels;
        let end = if said.is_cut && end == End::Root { End::Truncated } else { end };
        let mut path = Label::from_bits(paths.empty(end)?);
        let mut scripts = frames.get(..said.count)?.iter().rev().peekable();
        for native in natives {
            path = paths.longer(path, native.number)?;
            while let Some(frame) = scripts.next_if(|frame| frame.place.addr() as u64 >= native.sp) {
                path = paths.script(path, frame)?;
            }
        }
        // Frames whose place lies in no native frame are running now.
        for frame in scripts {
            path = paths.script(path, frame)?;
        }
        Some(path.to_bits())
    }

    /// A stack that differs from the last one.
    #[inline(never)]
    fn other_stack(&mut self, ip: u64, sp: u64, bp: u64) -> Option<u64> {
        self.memos.stack(Caller::from_words([ip, sp, bp]).registers, &mut self.accessors)
    }

    /// Ends the program if `path` is not the result of a walk without the memo.
    #[cfg(feature = "verify")]
    fn verify(&mut self, caller: Caller, path: Option<u64>) {
        if path != self.memos.stack_afresh(caller.registers, &mut self.accessors) {
            crate::platform::arch::trap();
        }
    }

    /// Discards what may no longer be true, and begins a walk.
    #[inline(always)]
    fn begin(&mut self, caller: Caller) {
        if self.unmappings != invalidations::unmappings() {
            self.forget();
        }
        self.accessors.memory.begin(caller.registers.sp);
    }

    #[cold]
    #[inline(never)]
    fn forget(&mut self) {
        self.unmappings = invalidations::unmappings();
        self.accessors.memory.forget();
        self.memos.clear();
        if self.generation != invalidations::generation() {
            self.generation = invalidations::generation();
            self.accessors.rules.clear();
        }
    }

    #[cold]
    #[inline(never)]
    fn stack_table_full(&mut self) -> u32 {
        if let Some(slot) = process::slot() {
            slot.stack_table_full.fetch_add(1, Ordering::Relaxed);
        }
        self.accessors.labels.pseudo(pseudo::STACK_TABLE_FULL)
    }

    /// On whose behalf `caller` calls, while the next allocator is marked as being at work.
    #[cold]
    #[inline(never)]
    pub(crate) fn beyond(&mut self, caller: Caller) -> NestedCaller {
        if caller.is_own() {
            return NestedCaller::Allocator;
        }
        self.begin(caller);
        let Accessors { memory, rules, .. } = &mut self.accessors;
        for depth in [NEAR, NESTED] {
            let (mut is_over, mut is_interrupted) = (false, false);
            let end = unwind::walk(caller.registers, memory, rules, depth, |address, _| {
                is_interrupted |= !is_over && matches!(address, CodeAddress::Exact(_));
                is_over |= own_image::has(address.lookup());
            });
            match end {
                _ if is_interrupted => return NestedCaller::Handler,
                End::Root if !is_over => return NestedCaller::Nobody,
                End::Truncated if !is_over => {}
                _ => return NestedCaller::Allocator,
            }
        }
        NestedCaller::Allocator
    }

    /// True when `caller` works for a wrapped form of `new`. There is no mark for that, because an exception would
    /// leave it set.
    #[cold]
    #[inline(never)]
    pub(crate) fn is_within_new(&mut self, caller: Caller) -> bool {
        self.begin(caller);
        let (mut is_found, mut is_interrupted) = (false, false);
        let Accessors { memory, rules, .. } = &mut self.accessors;
        let _ = unwind::walk(caller.registers, memory, rules, NESTED, |address, _| {
            // The first frame is our own hook.
            let is_own = own_image::has(address.lookup());
            is_interrupted |= !is_found && !is_own && matches!(address, CodeAddress::Exact(_));
            is_found |= is_own && wrappers::is_return(address.address());
        });
        is_found && !is_interrupted
    }

    /// Finds out how far the current stack extends, since the kernel may not be asked later.
    #[cold]
    pub(crate) fn learn_stack(&mut self) {
        let caller = Caller::here();
        self.begin(caller);
        self.accessors.memory.learn(caller.registers.sp);
    }
}

/// The stack table, as a walk fills it: labels are paths.
pub(crate) struct Paths {
    session: Session,
    stack_table: StackTable<'static, TableCommit<1>>,
    /// Finds existing nodes.
    finder: Finder<'static, 1>,
    /// Ids reserved in the pc table.
    pcs: Batch,
    /// Ids reserved in the stack table.
    nodes: Batch,
    /// Number of further stacks whose nodes are prefetched, see [`NEWS`].
    news: u32,
}

impl Labels for Paths {
    #[inline(always)]
    fn number(&mut self, address: CodeAddress, tag: &mut u32) -> u32 {
        if *tag > OWN { *tag } else { self.unusual_number(address, tag) }
    }

    #[cold]
    #[inline(never)]
    fn empty(&mut self, end: End) -> Option<u64> {
        let why = match end {
            End::Root => return Some(label(Path::ROOT).to_bits()),
            End::Truncated => pseudo::TRUNCATED,
            End::NoUnwindInfo => pseudo::NO_UNWIND_INFO,
            End::Broken | End::Unreadable => pseudo::BROKEN,
        };
        Some(label(self.extend(Path::ROOT, why)?).to_bits())
    }

    #[inline(always)]
    fn announce(&mut self, label: Label, numbers: impl Iterator<Item = u32>) {
        if self.news != 0 {
            self.news = self.news.wrapping_sub(1);
            // Frames that are left out have no nodes.
            let counting = numbers.filter(|number| *number != 0);
            counting.fold(Path { id: label.id, hash: label.key }, |path, pc| path.announce(pc, &self.finder));
        }
    }

    #[inline(always)]
    fn longer(&mut self, caller: Label, number: u32) -> Option<Label> {
        match number {
            0 => Some(caller),
            FULL => None,
            pc => self.extend(Path { id: caller.id, hash: caller.key }, pc).map(label),
        }
    }
}

/// A path as a walk keeps it.
#[inline(always)]
fn label(path: Path) -> Label {
    Label { id: path.id, key: path.hash }
}

impl Paths {
    /// For a session that the thread has just joined.
    pub(crate) fn new(session: Session) -> Self {
        Self {
            session,
            stack_table: session.stack_table(),
            finder: Finder::default(),
            pcs: Batch::default(),
            nodes: Batch::default(),
            news: 0,
        }
    }

    /// The id of the stack that consists of one pseudo frame.
    pub(crate) fn pseudo(&mut self, pc: u32) -> u32 {
        self.stack_table.extend(Path::ROOT, pc, &mut self.nodes).unwrap_or(Path::ROOT).id
    }

    /// The number of an address that has none yet, or that is the agent's own: its frames, which only hooks without a
    /// shim have, are left out.
    #[cold]
    #[inline(never)]
    fn unusual_number(&mut self, address: CodeAddress, tag: &mut u32) -> u32 {
        if *tag == 0 {
            *tag = pc_id(&self.session, &mut self.pcs, address);
        }
        if *tag == OWN { 0 } else { *tag }
    }

    /// The id of a place in a script; 0 if its function is unknown, or there is no room for it.
    fn place(&mut self, place: Place) -> u32 {
        match functions::serial(place.function, &self.session) {
            0 => 0,
            serial => self.session.pcs().id(Pc::of_line(place.line, serial), &mut self.pcs).unwrap_or(0),
        }
    }

    /// True for the number of an address in a range.
    fn is_in(&self, number: u32, range: &core::ops::Range<u64>) -> bool {
        self.session.pcs().pc(number).is_some_and(|pc| range.contains(&pc.address().wrapping_sub(1)))
    }

    /// The stack extended by a script's frame, unless its function is unknown.
    fn script(&mut self, label: Label, frame: &ScriptFrame) -> Option<Label> {
        match functions::serial(frame.function, &self.session) {
            0 => Some(label),
            serial => {
                let pc = self.session.pcs().id(Pc::of_line(frame.line, serial), &mut self.pcs)?;
                self.longer(label, pc)
            }
        }
    }

    #[inline(always)]
    fn extend(&mut self, path: Path, pc: u32) -> Option<Path> {
        match path.find(pc, &self.finder) {
            Some(path) => Some(path),
            None => self.enter(path, pc),
        }
    }

    #[cold]
    #[inline(never)]
    fn enter(&mut self, path: Path, pc: u32) -> Option<Path> {
        self.news = NEWS;
        let path = self.stack_table.extend(path, pc, &mut self.nodes)?;
        self.stack_table.renew(&mut self.finder, path.id);
        Some(path)
    }
}

/// A stack of native frames with an interpreter's between them.
#[cold]
#[inline(never)]
fn join(
    memos: &mut Memos<'_>,
    accessors: &mut Accessors<StackReader, CachedRules<'static, Loaded>, Paths>,
    caller: Caller,
    seen: &mut Seen<'_>,
) -> Option<u64> {
    let (end, natives) = memos.frames(caller.registers, accessors);
    let paths = &mut accessors.labels;
    let end = if seen.is_cut() && end == End::Root { End::Truncated } else { end };
    let (scripts, places, merged) = seen.frames();
    let mut scripts = scripts.peekable();
    let mut merging = merged.begin(paths.empty(end)?);
    let mut number = match &places {
        Places::Addresses => i64::MIN,
        Places::Numbers { innermost: None, .. } => 0,
        Places::Numbers { code, innermost: Some(innermost) } => {
            let found = natives.clone().filter(|native| paths.is_in(native.number, code)).count();
            // A whole stack without any has one that was not recognised.
            let is_whole = found == 0 && end == End::Root;
            if is_whole { 0 } else { (*innermost as i64).wrapping_sub(found as i64) }
        }
    };
    // These run further out than the stack reaches.
    while let Some(frame) = scripts.next_if(|frame| (frame.place as i64) <= number) {
        merging.add(frame.pc, paths)?;
    }
    for native in natives {
        merging.add(native.number, paths)?;
        match &places {
            Places::Addresses => {
                while let Some(frame) = scripts.next_if(|frame| frame.place >= native.sp) {
                    merging.add(frame.pc, paths)?;
                }
            }
            Places::Numbers { code, .. } if paths.is_in(native.number, code) => {
                number = number.wrapping_add(1);
                while let Some(frame) = scripts.next_if(|frame| (frame.place as i64) <= number) {
                    merging.add(frame.pc, paths)?;
                }
            }
            Places::Numbers { .. } => {}
        }
    }
    // Frames whose place lies in no native frame are running now.
    for frame in scripts {
        merging.add(frame.pc, paths)?;
    }
    Some(merging.path())
}

/// What lies between a hook and the hook that has called the next allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NestedCaller {
    /// An interrupted frame: a signal handler has interrupted the allocator, and makes the call.
    Handler,
    /// No interrupted frame: the allocator calls itself.
    Allocator,
    /// There is no outer hook: a handler has left the allocator by `longjmp`.
    Nobody,
}

/// Most frames between a hook and the hook that it has interrupted.
const NESTED: usize = 256;
/// Enough frames between a function of an allocator and another one that it calls, as musl's `calloc` calls `malloc`
/// each time.
const NEAR: usize = 8;

/// Number of stacks, after one with a new node, whose nodes are prefetched, all at once. The places of new nodes are
/// in no near cache, and entering a node is a barrier, so the cache misses would come one after the other.
const NEWS: u32 = 64;

/// Tag of the agent's own code, below all ids of the pc table.
const OWN: u32 = 1;

/// Takes the place of the id of an address for which the pc table had no room.
const FULL: u32 = u32::MAX;

/// The id of a code address, [`OWN`] for code of the agent.
#[cold]
#[inline(never)]
fn pc_id(session: &Session, pcs: &mut Batch, address: CodeAddress) -> u32 {
    if own_image::has(address.lookup()) {
        return OWN;
    }
    let module = modules::serial(address.lookup());
    session.pcs().id(Pc { bits: address.to_bits(), module }, pcs).unwrap_or(FULL)
}
