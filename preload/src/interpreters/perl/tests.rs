//! Frames of an interpreter that is made of words.

use super::*;
use crate::interpreters::chain;
use crate::modules::functions;
use layout::{Package, body, name, value};
use proptest::prelude::*;

/// The memory of an interpreter: words that stay where they are.
struct Memory {
    words: Vec<u64>,
}

impl Memory {
    fn new() -> Self {
        Self { words: Vec::with_capacity(4096) }
    }

    /// The address of these words, once they are there.
    fn keep(&mut self, words: &[u64]) -> u64 {
        assert!(self.words.len() + words.len() <= self.words.capacity(), "they would move");
        let at = self.words.as_ptr().addr() as u64 + 8 * self.words.len() as u64;
        self.words.extend(words);
        at
    }

    fn named(&mut self, text: &str) -> u64 {
        let padded = [text.as_bytes(), &[0; 8]].concat();
        let text_of = padded.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
        assert_eq!((name::LENGTH, name::TEXT), (4, 8));
        let words: Vec<u64> = std::iter::once((text.len() as u64) << 32).chain(text_of).collect();
        self.keep(&words)
    }

    /// A package with this name.
    fn package(&mut self, layout: &Layout, text: &str) -> u64 {
        let text = self.named(text);
        let flags = u64::from(value::HAS_NAME) << 32;
        match layout.package {
            Package::InBody => {
                let mut own = [0; 12];
                own[body::NAME_OF_PACKAGE as usize / 8] = text;
                let own = self.keep(&own);
                self.keep(&[own, flags, 0])
            }
            Package::BehindPlaces => {
                // Two places, and behind them the name.
                let places = self.keep(&[0, 0, text, 0, 0, 0, 0, 0]);
                let mut own = [0; 12];
                own[body::MOST_OF_PACKAGE as usize / 8] = 1;
                let own = self.keep(&own);
                self.keep(&[own, flags, places])
            }
        }
    }

    fn function(&mut self, layout: &Layout, package: &str, text: &str) -> u64 {
        let (package, text) = (self.package(layout, package), self.named(text));
        let mut symbol = [0; 8];
        symbol[body::NAME_OF_SYMBOL as usize / 8] = text;
        symbol[body::PACKAGE_OF_SYMBOL as usize / 8] = package;
        let symbol = self.keep(&symbol);
        let symbol = self.keep(&[symbol, 0, 0]);
        let mut own = [0; 16];
        own[body::SYMBOL_OF_CODE as usize / 8] = symbol;
        let own = self.keep(&own);
        self.keep(&[own, 0, 0])
    }

    /// A position in a file whose name is text.
    fn position(&mut self, line: u32) -> u64 {
        let file = self.keep(&[u64::from_le_bytes(*b"/srv/a.p"), u64::from(b'l')]);
        self.keep(&[0, 0, 0, 0, u64::from(line) << 32, 0, file, u64::from(line), 0])
    }

    fn context(layout: &Layout, kind: u8, caller: u64, returns_to: u64, code: u64) -> Vec<u64> {
        let mut words = vec![0; usize::from(layout.context) / 8];
        words[0] = kind.into();
        words[usize::from(context::POSITION) / 8] = caller;
        words[usize::from(context::RETURNS_TO) / 8] = returns_to;
        if kind & context::KIND == context::SUB {
            words[usize::from(layout.code) / 8] = code;
        }
        words
    }

    fn stack(&mut self, contexts: &[Vec<u64>], previous: u64) -> u64 {
        let at = self.keep(&contexts.concat());
        let last = contexts.len() as u64;
        self.keep(&[0, at, previous, 0, last.wrapping_sub(1) & 0xFFFF_FFFF | last << 32, 0])
    }
}

/// An interpreter that runs `main`, which has called `Row::fill`, in which a sort compares by `main::by`; and what
/// tells where its frames are.
fn interpreter(layout: &Layout) -> (Memory, State) {
    let mut memory = Memory::new();
    let (fill, by) = (memory.function(layout, "Row", "fill"), memory.function(layout, "main", "by"));
    let [of_main, of_fill, of_by] = [3, 14, 27].map(|line| memory.position(line));
    let block = Memory::context(layout, 2, of_main, 0, 0);
    let called = Memory::context(layout, context::SUB, of_main, 8, fill);
    let outer = memory.stack(&[block.clone(), called, block], 0);
    let compared = Memory::context(layout, context::SUB, of_fill, 0, by);
    let inner = memory.stack(&[compared], outer);
    (memory, State { stack: inner, position: of_by, operation: 0, phase: layout::RUNS })
}

/// The frames, from the outermost inwards: functions, lines, and whether an evaluation begins with them; none if they
/// cannot be read.
fn frames(layout: Layout, state: State) -> Option<Vec<(u32, u32, bool)>> {
    let perl = Perl { version: Version::Known(Known { layout, has_threads: true }), id: this_thread() };
    let (mut memory, mut chain, mut sites) = (KnownMemory::unknown(), Chain::unknown(), Sites::unknown());
    let mut places = Vec::new();
    chain.take();
    let is_cut = perl.read(state, &mut chain, &mut memory)?;
    let mut id = |place: Place| {
        places.push(place);
        places.len() as u32
    };
    chain.end_taking(is_cut, |frame, code| perl.site(frame, code, &mut memory, &mut sites, &mut id))?;
    let frames = chain.frames().filter(|frame| frame.pc != 0);
    let read = |frame: chain::Placed| {
        let Place { function, line } = places[frame.pc as usize - 1];
        (function, line, frame.place == BEGINS)
    };
    Some(frames.map(read).collect())
}

fn function(name: &str) -> u32 {
    functions::number(name.as_bytes(), b"/srv/a.pl")
}

fn layouts() -> impl Iterator<Item = Layout> {
    (0..=u8::MAX).filter_map(layout::of_minor)
}

/// Check that frames are read from the outermost stack inwards, each with its own position, and that those which C calls
/// begin an evaluation.
#[test]
fn frames_have_their_own_positions() {
    assert_eq!(layouts().count(), 6);
    for layout in layouts() {
        let (_memory, state) = interpreter(&layout);
        let expected = [
            (function("<main>"), 3, true),
            (function("Row::fill"), 14, false),
            (function("main::by"), 27, true),
        ];
        assert_eq!(frames(layout, state).as_deref(), Some(&expected[..]), "{layout:?}");
        // Before it runs, it stands where the first thing is run, and if there is none it runs nothing.
        let compiled = frames(layout, State { phase: 1, ..state }).expect("it can be read");
        assert_eq!(compiled.iter().map(|frame| frame.2).collect::<Vec<_>>(), [true, false, false]);
    }
}

/// Check that a full list of contexts is not read: it may just be moved.
#[test]
fn full_lists_are_not_read() {
    for layout in layouts() {
        let (mut memory, state) = interpreter(&layout);
        let most = memory.words.len() - 2;
        memory.words[most] = 0;
        assert_eq!(frames(layout, state), None, "{layout:?}");
    }
}

proptest! {
    /// Check that memory which holds anything costs frames, and nothing else.
    #[test]
    fn scribbles_are_harmless(
        minor in prop::sample::select(vec![30_u8, 34, 40]),
        scribbles in prop::collection::vec((0..400_usize, 0..400_usize, 0..12_u8, any::<u64>()), 1..12),
    ) {
        let layout = layout::of_minor(minor).expect("it is known");
        let (mut memory, mut state) = interpreter(&layout);
        let start = memory.words.as_ptr().addr() as u64;
        let count = memory.words.len();
        for (at, other, kind, any) in scribbles {
            let near = start + 8 * (other % count) as u64;
            let value = match kind {
                0..=5 => near,
                6 => near + any % 8,
                7 => any % 64,
                8 => any & !7,
                9 => u64::MAX - any % 4096,
                10 => 0x7FFF_FFFF_F000 + any % 8192,
                _ => any,
            };
            memory.words[at % count] = value;
            if kind == 4 {
                state.operation = near;
            }
        }
        let _ = frames(layout, state);
    }
}
