//! The agent's memory lies between inaccessible pages: a program that runs past its own memory dies as it does alone.

use crate::harness::{World, c, record, wait};

/// One mapping of a program.
#[derive(Debug)]
struct Mapping {
    start: u64,
    end: u64,
    access: String,
    path: String,
    flags: String,
}

/// The mappings in a text of `/proc/PID/smaps`.
fn mappings(text: &str) -> Vec<Mapping> {
    let mut all: Vec<Mapping> = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        if let Some((start, end)) = first.split_once('-') {
            let number = |text| u64::from_str_radix(text, 16).unwrap_or_else(|_| panic!("{line}"));
            let access = words.next().unwrap_or_default().to_owned();
            let path = words.nth(3).unwrap_or_default().to_owned();
            all.push(Mapping { start: number(start), end: number(end), access, path, flags: String::new() });
        } else if first == "VmFlags:"
            && let Some(last) = all.last_mut()
        {
            last.flags = format!("{line} ");
        }
    }
    all
}

impl Mapping {
    fn is_accessible(&self) -> bool {
        !self.access.starts_with("---")
    }

    /// The segment, the control words or the doorbell.
    fn is_shared_with_the_collector(&self) -> bool {
        self.path.contains("sysprof-memprof") && !self.path.contains(".so")
    }

    /// Private memory, which has two kinds of advice that no program gives.
    fn is_private_of_the_agent(&self) -> bool {
        self.flags.contains(" rr ") && self.flags.contains(" dd ")
    }
}

/// Check that on both sides of each mapping of the agent there are pages that nobody can touch, and behind the
/// variables of its library; and that there is more than one kind of mapping.
#[test]
fn guards_are_on_both_sides_of_each_mapping() {
    let program = c("shows_its_mappings").build();
    for options in [&[][..], &["--sample", "4K"]] {
        let (ran, _) = record(&program).options(options).succeed();
        let all = mappings(ran.text());
        let [mut private, mut shared] = [0; 2];
        for (place, it) in all.iter().enumerate().filter(|(_, it)| it.is_accessible()) {
            let beside = [place.checked_sub(1).and_then(|before| all.get(before)), all.get(place + 1)];
            let touching = [
                beside[0].filter(|before| before.end == it.start),
                beside[1].filter(|behind| behind.start == it.end),
            ];
            let is_guarded = |of_ours: &dyn Fn(&Mapping) -> bool| {
                touching.iter().all(|one| one.is_some_and(|one| !one.is_accessible() || of_ours(one)))
            };
            if it.is_private_of_the_agent() {
                private += 1;
                assert!(is_guarded(&|_| false), "{options:?}: {it:?} between {touching:?}");
            } else if it.is_shared_with_the_collector() {
                shared += 1;
                assert!(
                    is_guarded(&Mapping::is_shared_with_the_collector),
                    "{options:?}: {it:?} between {touching:?}"
                );
            } else if it.path.contains("sysprof_memprof_preload") && it.access.starts_with("rw") {
                // Its zeroed variables follow, and its guard unless a mapping of others was there before.
                let end = all[place + 1..]
                    .iter()
                    .try_fold(it.end, |end, next| {
                        let goes_on = next.start == end && next.is_accessible() && next.path.is_empty();
                        if goes_on { Ok(next.end) } else { Err((end, next)) }
                    })
                    .expect_err("the stack's mapping comes later");
                let (end, next) = end;
                assert!(next.start == end && !next.access.contains('w'), "{options:?}: {next:?} at {end:#x}");
            }
        }
        assert!(private > 4 && shared > 4, "{options:?}: {private}, {shared} in {}", ran.text());
    }
}

/// Check that a program which writes far past a block, or far before it, dies of it as it does alone.
#[test]
fn a_program_that_runs_past_a_block_dies() {
    let program = c("runs_past_a_block").flags(["-O1", "-fno-builtin"]).build();
    for direction in ["end", "beginning"] {
        let world = World::new();
        let mut alone = world.command(&program);
        alone.arg(direction);
        let alone = wait(&world, alone);
        assert_eq!((alone.code, alone.text()), (128 + 11, ""), "{direction}");
        for options in [&[][..], &["--sample", "4K"], &["--free-stacks"]] {
            let (ran, _) = record(&program).options(options).arg(direction).run();
            assert_eq!((ran.code, ran.text()), (alone.code, alone.text()), "{direction} {options:?}");
        }
    }
}
