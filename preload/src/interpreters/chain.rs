//! The frames that an interpreter has linked, as they were read last, with every word that led from one to the next.
//!
//! ```text
//!          outermost ───────────────────────────────► innermost ◄── root: state of the thread
//!  links  │ <module> │ main     │ fill     │ append    three words in each frame: code, caller, instruction
//!  words  │ code     │ code     │ code     │ code      what tells a code object from others, once for each, and
//!         │          │          │ caller   │           what led from an evaluation to its caller's
//!  known  │ id, hash │ id, hash │ id, hash │ id, hash  what became of each frame, and the hash of all up to it
//! ```
//!
//! The words are compared from the outermost frame on: up to the first that differs, everything is as it was. Then
//! frames are read from the innermost outwards, until one is met of whose callers all words have held. Most often that
//! is the one that has only moved on to another instruction. So calls and returns cost the frames that came, and three
//! comparisons for each of the others.
//!
//! None of these comparisons can be left out: see *What it costs* in `docs/design/interpreters.md`.

use crate::interpreters::known_memory::KnownMemory;
use crate::interpreters::mix;
use unwind::SavedWord;

/// Most frames that are read; of a longer chain the innermost.
pub(crate) const MOST_FRAMES: usize = 1024;
/// Most words of a chain that are not in frames: up to six for what a frame executes, and two for the frame or its
/// evaluation.
const MOST_WORDS: usize = 8 * MOST_FRAMES;
/// Most words that lead to the innermost frame.
const MOST_ROOTS: usize = 6;
/// Places by which frames are found again.
const PLACES: usize = 1024;
/// Places by which code objects are.
const CODES: usize = 256;

/// Where the three words of a frame are, and what counts of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameWords {
    pub(crate) code: u16,
    pub(crate) previous: u16,
    pub(crate) instruction: u16,
    /// The bits of the word that are the instruction.
    pub(crate) instruction_bits: u64,
}

impl FrameWords {
    /// Those of no frame.
    pub(crate) const NONE: Self = Self { code: 0, previous: 0, instruction: 0, instruction_bits: 0 };
}

/// A frame of an interpreter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScriptFrame {
    /// Its address.
    pub(crate) frame: u64,
    /// What it executes.
    pub(crate) code: u64,
    /// Where in that.
    pub(crate) instruction: u64,
}

/// What a frame came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Site {
    /// Tells its code from other code at the same address.
    pub(crate) identity: u64,
    /// The id of its function and line in the pc table; 0 if it is to be left out.
    pub(crate) pc: u32,
}

/// What finds out what frames are that were not there.
pub(crate) trait Resolve {
    /// What tells a frame's code from other code at its address, and, by `note`, the words that hold as long as it is
    /// there.
    fn identity(&mut self, frame: &ScriptFrame, note: impl FnMut(SavedWord)) -> Option<u64>;
    /// What a frame came to whose code has this identity.
    fn site(&mut self, frame: &ScriptFrame, identity: u64) -> Option<Site>;
}

/// A frame, and its words as they were read.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Link {
    frame: u64,
    code: u64,
    previous: u64,
    instruction: u64,
}

/// What is known of a frame of the last chain beside its words.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// Hash of the ids and places of all frames from the outermost to this one.
    hash: u64,
    /// An address in the native frame that runs it, or whether an evaluation begins with it; 0 if that is unknown.
    place: u64,
    site: Site,
    /// Where its words end that are not in the frame.
    end: u32,
}

/// A frame that is being read.
#[derive(Clone, Copy, Debug, Default)]
struct Fresh {
    link: Link,
    place: u64,
    /// Where its words begin that are not in the frame.
    start: u32,
}

/// A frame as stacks have it; the pc is 0 if it is to be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) pc: u32,
    pub(crate) place: u64,
}

/// What has changed since a chain was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing.
    None,
    /// Frames; the innermost is the one at this address.
    Frames(u64),
    /// What leads to the innermost frame, or that was never read.
    Roots,
}

/// What a chain is, when it was looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Hash of its frames and their places.
    pub(crate) hash: u64,
    /// There are more frames, further out.
    pub(crate) is_cut: bool,
}

/// The last chain of a thread. Zeroed memory is a chain that was never read.
pub(crate) struct Chain {
    /// What led to the innermost frame; as many as were read, which may be more than there is room for.
    roots: [SavedWord; MOST_ROOTS],
    root_count: usize,
    /// Outermost frame first.
    links: [Link; MOST_FRAMES],
    known: [Known; MOST_FRAMES],
    words: [SavedWord; MOST_WORDS],
    known_count: usize,
    /// There are more frames, further out than those that are known.
    is_cut: bool,
    /// Where a frame is in `known`, plus one, by its address: a guess.
    places: [u16; PLACES],
    /// Where a frame is that has a code object, plus one, by its address: a guess.
    codes: [u16; CODES],
    /// Number of known frames, from the outermost on, all of whose words have held.
    reach: usize,
    /// Number of known frames that remain.
    kept: usize,
    /// The instruction's word of the last of these, if it has moved on.
    moved: Option<u64>,
    /// Frames that are being read, innermost first.
    fresh: [Fresh; MOST_FRAMES],
    fresh_count: usize,
    fresh_words: [SavedWord; MOST_WORDS],
    fresh_word_count: usize,
}

impl Chain {
    /// One that was never read.
    #[cfg(test)]
    pub(crate) fn unknown() -> Self {
        let word = SavedWord { address: 0, value: 0 };
        Self {
            roots: [word; MOST_ROOTS],
            root_count: 0,
            links: [Link::default(); MOST_FRAMES],
            known: [Known::default(); MOST_FRAMES],
            words: [word; MOST_WORDS],
            known_count: 0,
            is_cut: false,
            places: [0; PLACES],
            codes: [0; CODES],
            reach: 0,
            kept: 0,
            moved: None,
            fresh: [Fresh::default(); MOST_FRAMES],
            fresh_count: 0,
            fresh_words: [word; MOST_WORDS],
            fresh_word_count: 0,
        }
    }

    /// Forgets what was read: it may no longer be readable, or ids are those of another recording.
    pub(crate) fn forget(&mut self) {
        (self.known_count, self.root_count) = (0, 0);
    }

    /// What the last chain was.
    #[inline(always)]
    pub(crate) fn summary(&self) -> Summary {
        Summary { hash: self.hash_of(self.known_count), is_cut: self.is_cut }
    }

    /// The hash of so many frames from the outermost on.
    #[inline(always)]
    fn hash_of(&self, count: usize) -> u64 {
        self.last_of(count).map_or(0, |last| last.hash)
    }

    /// The last of so many frames from the outermost on.
    #[inline(always)]
    fn last_of(&self, count: usize) -> Option<&Known> {
        self.known.get(count.checked_sub(1)?)
    }

    /// Where the words of so many frames end.
    #[inline(always)]
    fn end_of(&self, count: usize) -> usize {
        self.last_of(count).map_or(0, |last| last.end as usize)
    }

    /// Looks what is as it was.
    // Cost: 14 instructions for a frame, and 5 for each other word.
    #[inline(always)]
    pub(crate) fn begin(&mut self, at: FrameWords) -> Change {
        let count = self.known_count;
        let held = held(self.links.get(..count).unwrap_or(&[]), at);
        let held_words = KnownMemory::held(self.words.get(..self.end_of(held)).unwrap_or(&[]));
        self.reach = held;
        while self.end_of(self.reach) > held_words {
            self.reach = self.reach.wrapping_sub(1);
        }
        let Some((last, others)) = self.roots.get(..self.root_count).and_then(<[_]>::split_last) else {
            return Change::Roots;
        };
        let innermost = KnownMemory::again(*last);
        if KnownMemory::held(others) != others.len() {
            Change::Roots
        } else if innermost == last.value && self.reach == count {
            Change::None
        } else if self.is_cut {
            Change::Roots
        } else {
            Change::Frames(innermost)
        }
    }

    /// Begins to read all that has changed.
    #[inline(always)]
    pub(crate) fn read(&mut self) {
        if self.is_cut {
            // The outermost of what remains would not be the outermost of so many.
            self.begin_afresh();
        }
        self.root_count = 0;
        self.read_frames();
    }

    /// Begins to read from the innermost frame on, which is now this one.
    #[inline(always)]
    pub(crate) fn read_from(&mut self, innermost: u64) {
        let last = self.root_count.checked_sub(1).and_then(|last| self.roots.get_mut(last));
        if let Some(last) = last {
            last.value = innermost;
        }
        self.read_frames();
    }

    #[inline(always)]
    fn read_frames(&mut self) {
        (self.fresh_count, self.fresh_word_count) = (0, 0);
        (self.kept, self.moved) = (0, None);
    }

    /// Begins anew, to read all frames.
    #[cold]
    #[inline(never)]
    pub(crate) fn begin_afresh(&mut self) {
        (self.known_count, self.reach, self.is_cut) = (0, 0, false);
    }

    /// Reads a word that leads to the innermost frame.
    #[inline(always)]
    pub(crate) fn root(&mut self, address: u64, memory: &mut KnownMemory) -> Option<u64> {
        let value = memory.word(address)?;
        if let Some(root) = self.roots.get_mut(self.root_count) {
            *root = SavedWord { address, value };
        }
        self.root_count = self.root_count.wrapping_add(1);
        Some(value)
    }

    /// If the frame at this address, in the evaluation at `place` if that is known, was there, and its callers are as
    /// they were: its place. Nothing is to be read from there on.
    #[inline(always)]
    pub(crate) fn meet(&mut self, frame: u64, place: u64, at: FrameWords) -> Option<u64> {
        let index = usize::from(*self.places.get(place_of(frame))?).checked_sub(1)?;
        if index > self.reach || index >= self.known_count {
            return None;
        }
        let link = self.links.get(index)?;
        let known = self.known.get(index)?;
        if link.frame != frame || (place != 0 && known.place != place) {
            return None;
        }
        if index == self.reach {
            // Its callers are as they were. It may itself have moved on.
            let now = link.again(at);
            let words = self.words.get(self.end_of(index)..known.end as usize)?;
            if (now.code, now.previous) != (link.code, link.previous)
                || KnownMemory::held(words) != words.len()
            {
                return None;
            }
            self.moved = Some(now.instruction);
        }
        self.kept = index.wrapping_add(1);
        Some(known.place)
    }

    /// Reads a frame, further out than all before it, and returns its caller.
    #[inline(always)]
    pub(crate) fn push(
        &mut self,
        frame: u64,
        place: u64,
        at: FrameWords,
        memory: &mut KnownMemory,
    ) -> Option<Pushed> {
        let [code, previous, instruction] = memory.words(frame, [at.code, at.previous, at.instruction])?;
        let Some(fresh) = self.fresh.get_mut(self.fresh_count) else { return Some(Pushed::Full) };
        let start = self.fresh_word_count as u32;
        *fresh = Fresh { link: Link { frame, code, previous, instruction }, place, start };
        self.fresh_count = self.fresh_count.wrapping_add(1);
        Some(Pushed::To(previous))
    }

    /// Reads a word that leads from the frame that was read last to its caller's evaluation.
    #[inline(always)]
    pub(crate) fn word(&mut self, address: u64, memory: &mut KnownMemory) -> Option<u64> {
        let value = memory.word(address)?;
        *self.fresh_words.get_mut(self.fresh_word_count)? = SavedWord { address, value };
        self.fresh_word_count = self.fresh_word_count.wrapping_add(1);
        Some(value)
    }

    /// Begins to take frames from the innermost on, of an interpreter whose frames are read anew each time: nothing is
    /// compared.
    pub(crate) fn take(&mut self) {
        self.begin_afresh();
        self.root_count = 0;
        self.read_frames();
    }

    /// Takes a frame, further out than all before it; false if there is no room. `previous` is for whoever finds out
    /// what it is.
    #[inline(always)]
    pub(crate) fn taken(&mut self, frame: ScriptFrame, previous: u64, place: u64) -> bool {
        let ScriptFrame { frame, code, instruction } = frame;
        let Some(fresh) = self.fresh.get_mut(self.fresh_count) else { return false };
        *fresh = Fresh { link: Link { frame, code, previous, instruction }, place, start: 0 };
        self.fresh_count = self.fresh_count.wrapping_add(1);
        true
    }

    /// Says which native frame runs the frame that was taken as number `index`.
    pub(crate) fn place_one(&mut self, index: usize, place: u64) {
        if let Some(fresh) = self.fresh.get_mut(index) {
            fresh.place = place;
        }
    }

    /// The evaluation that begins with the outermost of the first `count` frames that were taken begins with a frame
    /// further out; false if there is none.
    pub(crate) fn move_beginning(&mut self, count: usize) -> bool {
        let frames = self.fresh.get_mut(..count.min(self.fresh_count)).unwrap_or_default();
        let outermost = frames.iter_mut().rev().find(|frame| frame.place != 0);
        outermost.map(|frame| frame.place = 0).is_some()
    }

    /// Ends taking, and finds out the pc of each frame by itself and its `previous`. `None` if that fails for one.
    #[inline(always)]
    pub(crate) fn end_taking(
        &mut self,
        is_cut: bool,
        mut pc: impl FnMut(&ScriptFrame, u64) -> Option<u32>,
    ) -> Option<()> {
        self.is_cut = is_cut;
        for index in (0..self.fresh_count).rev() {
            let Fresh { link, place, .. } = *self.fresh.get(index)?;
            let Link { frame, code, previous, instruction } = link;
            let pc = pc(&ScriptFrame { frame, code, instruction }, previous)?;
            let count = self.known_count;
            let hash = hash(self.hash_of(count), pc, place);
            let site = Site { identity: 0, pc };
            *self.known.get_mut(count)? = Known { hash, place, site, end: 0 };
            self.known_count = count.wrapping_add(1);
        }
        Some(())
    }

    /// Number of frames that were read so far.
    pub(crate) fn count(&self) -> usize {
        self.fresh_count
    }

    /// Says which native frame runs all frames that were read, except the first `from`.
    #[inline(always)]
    pub(crate) fn place(&mut self, from: usize, place: u64) {
        self.fresh.iter_mut().take(self.fresh_count).skip(from).for_each(|fresh| fresh.place = place);
    }

    /// True when the frames that were read and those that remain are more than there is room for.
    pub(crate) fn is_too_long(&self) -> bool {
        self.kept.wrapping_add(self.fresh_count) > MOST_FRAMES
    }

    /// Ends reading, and finds out what frames came to that were not there. `None` if that fails for one.
    #[inline(always)]
    pub(crate) fn end(&mut self, is_cut: bool, at: FrameWords, resolve: &mut impl Resolve) -> Option<()> {
        self.is_cut = is_cut;
        // If this fails, only frames up to there are known.
        self.known_count = self.kept;
        if let Some(instruction) = self.moved {
            self.move_on(instruction, at, resolve)?;
        }
        let mut words_end = self.fresh_word_count;
        for index in (0..self.fresh_count).rev() {
            let Fresh { link, place, start } = *self.fresh.get(index)?;
            let words = start as usize..words_end;
            words_end = start as usize;
            self.append(link, place, words, at, resolve)?;
        }
        Some(())
    }

    /// The last known frame is at another instruction.
    #[inline(always)]
    fn move_on(&mut self, instruction: u64, at: FrameWords, resolve: &mut impl Resolve) -> Option<()> {
        let last = self.known_count.checked_sub(1)?;
        let before = self.hash_of(last);
        let link = self.links.get_mut(last)?;
        link.instruction = instruction;
        let known = self.known.get_mut(last)?;
        known.site = resolve.site(&at.frame(link), known.site.identity)?;
        known.hash = hash(before, known.site.pc, known.place);
        Some(())
    }

    /// Appends a frame that was read, with its words.
    #[inline(always)]
    fn append(
        &mut self,
        link: Link,
        place: u64,
        words: core::ops::Range<usize>,
        at: FrameWords,
        resolve: &mut impl Resolve,
    ) -> Option<()> {
        let frame = at.frame(&link);
        let count = self.known_count;
        let (before, mut end) = (self.hash_of(count), self.end_of(count));
        let identity = match self.identity_of(frame.code, count) {
            Some(identity) => identity,
            None => {
                let places = &mut self.words;
                let note = |word| {
                    if let Some(place) = places.get_mut(end) {
                        *place = word;
                    }
                    end = end.wrapping_add(1);
                };
                resolve.identity(&frame, note)?
            }
        };
        let site = resolve.site(&frame, identity)?;
        for word in self.fresh_words.get(words)? {
            *self.words.get_mut(end)? = *word;
            end = end.wrapping_add(1);
        }
        *self.links.get_mut(count)? = link;
        let hash = hash(before, site.pc, place);
        *self.known.get_mut(count)? = Known { hash, place, site, end: end as u32 };
        self.known_count = count.wrapping_add(1);
        *self.places.get_mut(place_of(link.frame))? = self.known_count as u16;
        *self.codes.get_mut(code_of(frame.code))? = self.known_count as u16;
        Some(())
    }

    /// The identity of a code object that one of the first `count` frames has. So the words that tell whether it is
    /// still there are among those of these frames.
    #[inline(always)]
    fn identity_of(&self, code: u64, count: usize) -> Option<u64> {
        let index = usize::from(*self.codes.get(code_of(code))?).checked_sub(1)?;
        let is_there = index < count && self.links.get(index)?.code & POINTER == code;
        if is_there { Some(self.known.get(index)?.site.identity) } else { None }
    }

    /// Its frames, outermost first, with those to leave out.
    pub(crate) fn frames(&self) -> impl Iterator<Item = Placed> + Clone {
        let known = self.known.iter().take(self.known_count);
        known.map(|Known { site, place, .. }| Placed { pc: site.pc, place: *place })
    }
}

/// Where the frame that was just read leads.
pub(crate) enum Pushed {
    /// To its caller, at this address.
    To(u64),
    /// There is no room for more frames.
    Full,
}

/// The bits of a word that are a pointer: the lowest may tell how what it points to is counted.
const POINTER: u64 = !7;

impl FrameWords {
    /// What a frame executes.
    #[inline(always)]
    fn frame(self, link: &Link) -> ScriptFrame {
        let Link { frame, code, instruction, .. } = *link;
        ScriptFrame { frame, code: code & POINTER, instruction: instruction & self.instruction_bits }
    }
}

impl Link {
    /// The same frame with its words as they are now.
    #[inline(always)]
    fn again(&self, at: FrameWords) -> Self {
        let word = |offset: u16, value| {
            KnownMemory::again(SavedWord { address: self.frame.wrapping_add(offset.into()), value })
        };
        Self {
            frame: self.frame,
            code: word(at.code, self.code),
            previous: word(at.previous, self.previous),
            instruction: word(at.instruction, self.instruction),
        }
    }

    /// Not 0 if a word has changed.
    #[inline(always)]
    fn change(&self, at: FrameWords) -> u64 {
        let Self { code, previous, instruction, .. } = self.again(at);
        (code ^ self.code) | (previous ^ self.previous) | (instruction ^ self.instruction)
    }
}

/// Number of `links`, from the first on, whose words have not changed.
// A function of its own, with all registers to itself.
#[inline(never)]
fn held(links: &[Link], at: FrameWords) -> usize {
    let mut held = 0_usize;
    for link in links {
        if link.change(at) != 0 {
            break;
        }
        held = held.wrapping_add(1);
    }
    held
}

/// The hash of a stack that has one frame more.
#[inline(always)]
fn hash(before: u64, pc: u32, place: u64) -> u64 {
    // A frame that is left out changes nothing.
    if pc == 0 { before } else { mix(before, place ^ u64::from(pc).wrapping_mul(0x9E37_79B9_7F4A_7C15)) }
}

/// Where a frame's address is looked for.
#[inline(always)]
fn place_of(frame: u64) -> usize {
    ((frame / 8) ^ (frame / (8 * PLACES as u64))) as usize % PLACES
}

/// Where a code object's address is.
#[inline(always)]
fn code_of(code: u64) -> usize {
    ((code / 16) ^ (code / (16 * CODES as u64))) as usize % CODES
}
