//! Damaged stacks.

use crate::support::{Process, Walker, this_stack_memory};
use proptest::prelude::*;
use std::sync::LazyLock;
use unwind::{CodeAddress, Memory, Modules, Registers};

/// Where the made-up stacks lie.
const STACK: u64 = 0x7000_0000_0000;

/// Addresses of code to be placed on made-up stacks: evenly spread over each module's code.
static CODE: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let process = Process::new();
    let ranges = process.images().iter().flat_map(|image| image.code.as_slice().to_vec());
    ranges
        .flat_map(|range| (0..200).map(move |n| range.start + (range.end - range.start) / 200 * n))
        .collect()
});

/// What a word of a made-up stack looks like.
#[derive(Clone, Copy, Debug)]
enum Word {
    Anything(u64),
    Code(prop::sample::Index, u8),
    Stack(i16),
}

fn word() -> impl Strategy<Value = Word> {
    prop_oneof![
        1 => any::<u64>().prop_map(Word::Anything),
        1 => (-64..64i64).prop_map(|small| Word::Anything(small as u64)),
        4 => (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(index, more)| Word::Code(index, more)),
        4 => any::<i16>().prop_map(Word::Stack),
    ]
}

impl Word {
    fn value(self) -> u64 {
        match self {
            Self::Anything(value) => value,
            Self::Code(index, more) => index.get(&CODE[..]) + u64::from(more),
            Self::Stack(offset) => STACK.wrapping_add_signed(i64::from(offset) * 8),
        }
    }
}

/// Repeats a few words over a bounded stack.
struct MadeUp {
    words: Vec<u64>,
    reads: usize,
}

impl Memory for MadeUp {
    fn read(&mut self, address: u64) -> Option<u64> {
        assert!(address.is_multiple_of(8), "{address:#x} is no word's address");
        self.reads += 1;
        let index = address.checked_sub(STACK)? / 8;
        (index < 1 << 16).then(|| self.words[index as usize % self.words.len()])
    }
}

/// Check that a walk over these words ends, visits only code, and reads a bounded number of words.
fn check(words: Vec<u64>, ip: u64, sp: u64, bp: u64, exact: bool) -> Result<(), TestCaseError> {
    const MAX_DEPTH: usize = 1000;
    thread_local! {
        static WALKER: std::cell::RefCell<Walker> = std::cell::RefCell::new(Walker::new());
    }
    let ip = if exact { CodeAddress::Exact(ip) } else { CodeAddress::Return(ip) };
    let mut memory = MadeUp { words, reads: 0 };
    let mut visited = Vec::new();
    let start = Registers { ip, sp, bp };
    WALKER.with_borrow_mut(|walker| {
        walker.walk(start, &mut memory, MAX_DEPTH, |code, _| visited.push(code));
        for code in &visited {
            prop_assert!(walker.process().is_code(code.lookup()), "{code:x?} is not code");
        }
        prop_assert!(visited.len() <= MAX_DEPTH);
        prop_assert!(memory.reads <= 40 * (visited.len() + 1), "{} reads", memory.reads);
        Ok(())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Check that stacks of plausible words are survived, from any code.
    #[test]
    fn made_up_stacks_are_survived(
        words in prop::collection::vec(word(), 1..200),
        ip in word(),
        sp in 0..0x400u64,
        bp in word(),
        exact: bool,
    ) {
        let words = words.into_iter().map(Word::value).collect();
        check(words, ip.value() & (u64::MAX >> 1), STACK + sp * 8, bp.value(), exact)?;
    }

    /// Check that arbitrary registers are survived.
    #[test]
    fn arbitrary_registers_are_survived(words: [u64; 16], ip: prop::sample::Index, sp: u64, bp: u64, exact: bool) {
        check(words.to_vec(), *ip.get(&CODE[..]), sp, bp, exact)?;
        check(words.to_vec(), sp, ip.index(1 << 20) as u64, bp, exact)?;
    }
}

/// Check that a walk of a real stack with one changed word visits its true frames below that word, and then only
/// code.
#[test]
fn one_changed_word_only_affects_older_frames() {
    struct Changed<M>(M, u64, u64);
    impl<M: Memory> Memory for Changed<M> {
        fn read(&mut self, address: u64) -> Option<u64> {
            if address == self.1 { Some(self.2) } else { self.0.read(address) }
        }
    }
    let mut walker = Walker::new();
    let start = Registers::here();
    let mut frames = Vec::new();
    walker.walk(start, &mut this_stack_memory(), 1000, |code, _| frames.push(code));
    let mut shortened = 0;
    for (number, offset) in (0..200).map(|number| (number, number * 8)) {
        for value in [0, 1, start.sp, start.sp + offset, CODE[number as usize], u64::MAX] {
            let mut memory = Changed(this_stack_memory(), start.sp + offset, value);
            let mut seen = Vec::new();
            walker.walk(start, &mut memory, 1000, |code, _| seen.push(code));
            let same = seen.iter().zip(&frames).take_while(|(a, b)| a == b).count();
            assert!(same >= 1);
            assert!(seen[same..].iter().all(|code| walker.process().is_code(code.lookup())));
            shortened += usize::from(seen != frames);
        }
    }
    assert!(shortened > 10, "{shortened} changed words mattered");
}
