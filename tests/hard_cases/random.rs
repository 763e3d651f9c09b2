//! Programs that do everything at random, and keep books.

use super::super::harness::{Capture, cpp, library, record};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// The variables that set for how many seconds programs are made, and the number of the first one.
const SECONDS: &str = "SYSPROF_MEMPROF_TEST_SECONDS";
const SEED: &str = "SYSPROF_MEMPROF_TEST_SEED";

/// Live blocks: process, address, size.
type Blocks = BTreeSet<(u64, u64, u64)>;

/// What a program's books say, or a capture's.
#[derive(Debug, Default, PartialEq, Eq)]
struct Books {
    live: Blocks,
    /// Frees of blocks that a process inherited from its parent.
    inherited_frees: BTreeMap<u64, u64>,
}

impl Books {
    /// The books that the program has written.
    fn of_program(text: &str) -> Books {
        let mut books = Books::default();
        let number = |word: &str| match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).expect("an address"),
            None => word.parse().expect("a number"),
        };
        for line in text.lines() {
            let words: Vec<_> = line.split(' ').collect();
            match words[..] {
                ["own", pid, address, size] => {
                    assert!(books.live.insert((number(pid), number(address), number(size))), "{line}");
                }
                ["end", pid, frees] => {
                    books.inherited_frees.insert(number(pid), number(frees));
                }
                _ => panic!("a line of the books: {line}"),
            }
        }
        books
    }

    /// The books that follow from the capture, event by event: blocks of the program's own functions.
    fn of_capture(capture: &Capture) -> Books {
        let mut books = Books::default();
        let info = capture.info();
        let ran = capture.show(&["export", "--format", "events-json"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let mut heaps: BTreeMap<u64, Heap> = BTreeMap::new();
        let mut forks = BTreeMap::new();
        let mut in_realloc = BTreeMap::new();
        for line in ran.text().lines().skip(1) {
            let event: Value = serde_json::from_str(line).expect("an event");
            let number = |field: &str| event[field].as_u64().unwrap_or_default();
            let address = event["address"].as_str().map_or(0, super::super::harness::address);
            let (pid, thread) = (number("pid"), (number("pid"), number("tid")));
            match event["kind"].as_str().unwrap_or_default() {
                "fork" => {
                    forks.insert((pid, number("fork")), heaps.entry(pid).or_default().inherited());
                }
                "process_start" => {
                    let parent = parent_of(&info, pid);
                    heaps.insert(pid, forks.get(&(parent, number("fork"))).cloned().unwrap_or_default());
                }
                "alloc" | "realloc_end" => {
                    in_realloc.remove(&thread);
                    let block = Known { size: number("size"), is_of_life: is_of_life(&event), is_own: true };
                    let before = heaps.entry(pid).or_default().blocks.insert(address, block);
                    assert!(before.is_none_or(|before| !before.is_own), "{line}");
                }
                "free" => drop(heaps.entry(pid).or_default().end(address)),
                "realloc_begin" => {
                    let old = heaps.entry(pid).or_default().end(address);
                    in_realloc.insert(thread, (address, old));
                }
                "realloc_failed" => {
                    if let Some((address, Some(old))) = in_realloc.remove(&thread) {
                        heaps.entry(pid).or_default().begin_again(address, old);
                    }
                }
                _ => {}
            }
        }
        for (pid, heap) in heaps {
            let own = heap.blocks.iter().filter(|(_, block)| block.is_own && block.is_of_life);
            books.live.extend(own.map(|(address, block)| (pid, *address, block.size)));
            books.inherited_frees.insert(pid, heap.inherited_frees);
        }
        books
    }
}

/// A live block, according to the events.
#[derive(Clone, Copy, Debug)]
struct Known {
    size: u64,
    is_of_life: bool,
    /// Allocated by this process, not by the one that forked it.
    is_own: bool,
}

/// The blocks of a process by address.
#[derive(Clone, Debug, Default)]
struct Heap {
    blocks: BTreeMap<u64, Known>,
    /// Frees of the program's own blocks that were allocated before the fork.
    inherited_frees: u64,
}

impl Heap {
    /// What a child inherits of it.
    fn inherited(&self) -> Heap {
        let mut heap = self.clone();
        heap.inherited_frees = 0;
        heap.blocks.values_mut().for_each(|block| block.is_own = false);
        heap
    }

    fn end(&mut self, address: u64) -> Option<Known> {
        let block = self.blocks.remove(&address)?;
        self.inherited_frees += u64::from(block.is_of_life && !block.is_own);
        Some(block)
    }

    fn begin_again(&mut self, address: u64, block: Known) {
        self.inherited_frees -= u64::from(block.is_of_life && !block.is_own);
        self.blocks.insert(address, block);
    }
}

/// The parent of a process, by their pids.
fn parent_of(info: &Value, pid: u64) -> u64 {
    let processes = info["processes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let process = processes.iter().find(|process| process["pid"] == pid);
    process.and_then(|process| process["ppid"].as_u64()).unwrap_or_default()
}

/// True for an event whose innermost functions are the program's own; `operator new` comes before them.
fn is_of_life(event: &Value) -> bool {
    let stack = event["stack"].as_array().map(Vec::as_slice).unwrap_or_default();
    stack.iter().take(3).any(|name| name.as_str().is_some_and(|name| name.starts_with("life_")))
}

fn variable(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|error| panic!("{name} is a number: {error}")))
}

/// Prints the number with which a failed program can be made again.
struct Again(String);

impl Drop for Again {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("once more: {}", self.0);
        }
    }
}

/// Check that programs which start threads, fork, load libraries, are interrupted and use every call at random have
/// in the capture exactly the live blocks, and exactly the frees of inherited ones, that their own books say.
#[test]
fn random_programs_keep_the_same_books() {
    let program = cpp("random_life").flags(["-O1", "-fno-builtin", "-rdynamic", "-ldl"]).build();
    let lender = |name: &str, size: u32| {
        let flags = [format!("-DFUNCTION={name}"), format!("-DSIZE={size}")];
        library("lends_memory").flags(flags).named(&format!("lib{name}.so")).build()
    };
    let libraries =
        [lender("life_lend", 3401), lender("life_lend_more", 34002), lender("life_lend_little", 3)];
    let end = Instant::now() + Duration::from_secs(variable(SECONDS).unwrap_or(5));
    let mut seed = variable(SEED).unwrap_or_else(|| {
        std::time::UNIX_EPOCH.elapsed().map_or(1, |since| since.as_secs() % 1_000_000 * 1000)
    });
    let mut programs = 0;
    while programs == 0 || Instant::now() < end {
        let steps = [100, 1000, 5000][(seed % 3) as usize];
        let mut recording = record(&program);
        let books = recording.world.path("books");
        recording = recording.args([seed.to_string(), steps.to_string()]).arg(&books).args(&libraries);
        let again = Again(format!("{SEED}={seed}"));
        let (ran, capture) = recording.with_names().run();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let said =
            Books::of_program(&std::fs::read_to_string(books).expect("the program has written its books"));
        capture.assert_sound();
        let recorded = Books::of_capture(&capture);
        let differing: Vec<_> = said.live.symmetric_difference(&recorded.live).take(10).collect();
        assert!(differing.is_empty(), "in one book only: {differing:x?}");
        assert_eq!(said.inherited_frees, recorded.inherited_frees);
        drop(again);
        (seed, programs) = (seed + 1, programs + 1);
    }
    eprintln!("{programs} programs up to {SEED}={}", seed - 1);
}
