//! The hard cases for a library that interposes every allocation: what other tools were seen to crash on, hang on or
//! lie about. Each has a test, here or elsewhere, or a reason why it cannot arise; [`CASES`] is the list.

mod allocators;
mod children;
mod early_calls;
mod libraries;
mod random;
mod restricted_programs;
mod signals;
mod unmapped;

use std::collections::BTreeSet;
use std::path::Path;

/// The answer to a case.
enum Answer {
    /// These tests.
    Tests(&'static [&'static str]),
    /// It cannot arise, and why.
    Never(&'static str),
}

use Answer::{Never, Tests};

/// All cases and their answers.
const CASES: &[(&str, Answer)] = &[
    ("dlsym, calloc, posix_memalign before anything is ready", Tests(&["first_calls_are_served"])),
    (
        "model of thread-local storage",
        Never(
            "The agent is never opened late; its block is in the static part, and scripts/agent looks at the symbols.",
        ),
    ),
    (
        "thread-local objects with destructors that free",
        Tests(&["thread_local_objects_are_recorded_to_their_end"]),
    ),
    ("ten thousand short threads", Tests(&["threads_are_recorded_to_their_last_destructor"])),
    (
        "blocks that libc allocates for a thread",
        Never("They are calls like any other: their stack names the thread's creator, and libc's function."),
    ),
    (
        "bounds of stacks by pthread_getattr_np",
        Never("No bounds are needed; preload/clippy.toml forbids the function, which allocates and locks."),
    ),
    (
        "fork in a program with threads",
        Tests(&["fork_from_one_of_several_threads_is_exact", "both_sides_of_a_fork_are_exact"]),
    ),
    ("a thousand forks", Tests(&["hundreds_of_forks_are_exact"])),
    ("_Fork, and fork by the system call", Tests(&["forks_past_libc_are_followed"])),
    (
        "vfork and posix_spawn",
        Tests(&[
            "started_programs_are_followed",
            "children_of_vfork_leave_their_parents_count_exact",
            "children_of_vfork_may_be_killed_in_hooks",
            "forks_in_a_vfork_are_followed",
        ]),
    ),
    (
        "clone on the parent's memory",
        Tests(&[
            "children_on_their_parents_memory_tell_nothing_of_their_end",
            "large_environments_are_not_left_behind",
        ]),
    ),
    ("fork while the dynamic loader is locked", Tests(&["locked_loader_stops_nobody"])),
    ("programs started from a small stack", Tests(&["programs_are_followed_from_small_stacks"])),
    (
        "exec with a clean or very large environment",
        Tests(&["started_programs_are_followed", "programs_are_followed_from_small_stacks"]),
    ),
    ("daemons", Tests(&["daemon_has_its_inheritance"])),
    (
        "services that are attached to while they execute themselves, or their workers come and go",
        Tests(&["process_that_executes_itself_can_be_attached_to", "workers_that_come_and_go_are_recorded"]),
    ),
    (
        "services that close everything, become nobody, or have all memory locked, when they are attached to",
        Tests(&["services_are_recorded_whatever_their_ways"]),
    ),
    (
        "services that are stopped, idle, without descriptors or addresses, or in another root, when they are attached to",
        Tests(&[
            "stopped_process_is_told_of",
            "waiting_says_what_for",
            "limits_of_a_service_are_told_of",
            "daemon_is_recorded_or_told_of",
        ]),
    ),
    (
        "signals that arrive in a hook and allocate",
        Tests(&["handlers_that_allocate_are_recorded_or_counted", "hooks_may_be_interrupted_anywhere"]),
    ),
    (
        "signals in the middle of a call of the agent's own",
        Tests(&["signals_wait_for_calls_of_the_agents_own"]),
    ),
    (
        "helper threads, signals and descriptors of the tool",
        Tests(&["recorded_program_sees_only_its_own", "dormant_agent_shows_nowhere"]),
    ),
    ("interrupted writes", Never("Hooks write nothing but memory.")),
    (
        "exceptions, and longjmp out of a hook",
        Tests(&["exceptions_are_complete", "hooks_that_were_left_by_longjmp_are_given_up"]),
    ),
    (
        "freeing what libraries keep at the end",
        Never("It is not freed; what is kept is shown as libraries' own."),
    ),
    (
        "_exit, quick_exit, abort, faults",
        Tests(&["exit_code_is_the_targets", "killed_target_has_all_its_events"]),
    ),
    ("setuid programs", Tests(&["programs_that_cannot_be_recorded_are_refused"])),
    (
        "seccomp after the start",
        Tests(&[
            "sandboxed_programs_live",
            "strict_mode_ends_a_recording_and_nothing_else",
            "children_of_vfork_confine_themselves_alone",
        ]),
    ),
    ("chroot, and a change of user", Tests(&["programs_with_a_root_of_their_own_are_recorded"])),
    ("pid namespaces", Tests(&["processes_with_the_same_pid_are_told_apart"])),
    ("programs that close all descriptors", Tests(&["programs_that_close_everything_are_recorded"])),
    ("limits on memory, files, stacks", Tests(&["limits_that_a_program_sets_are_its_own"])),
    ("limits on files from outside", Tests(&["limit_on_files_is_not_the_collectors"])),
    ("several writers, and debuggers", Tests(&["gdb", "hundreds_of_forks_are_exact"])),
    (
        "coroutines, signal stacks",
        Tests(&["coroutines_end_where_they_began", "signal_handlers_are_complete"]),
    ),
    ("smallest stacks of threads", Tests(&["smallest_stacks_are_large_enough"])),
    (
        "programs that export a malloc",
        Tests(&[
            "own_malloc_is_recorded",
            "mallocs_that_go_on_to_the_next_count_once",
            "allocators_that_cannot_be_recorded_are_said",
        ]),
    ),
    (
        "statically linked allocators",
        Tests(&[
            "allocators_inside_programs_are_recorded",
            "functions_of_jemalloc_are_recorded",
            "statically_linked_allocators_are_recorded_or_said",
            "own_allocator_of_rust_is_recorded",
        ]),
    ),
    (
        "allocators with an operator new of their own",
        Tests(&["cpp_is_exact_on_its_allocator", "forms_of_an_allocators_own_are_recorded"]),
    ),
    ("two libraries preloaded together", Tests(&["other_preloaded_libraries_work"])),
    ("RTLD_DEEPBIND", Tests(&["deeply_bound_libraries_are_recorded"])),
    ("audit libraries", Tests(&["audited_programs_are_recorded"])),
    ("programs in valgrind", Tests(&["programs_in_valgrind_are_recorded"])),
    (
        "indirect functions that allocate while they are resolved",
        Never("Other libraries are not relocated then: glibc forbids to call them."),
    ),
    ("RUNPATH of who opens a library", Tests(&["libraries_are_found_beside_the_program"])),
    ("locks of the dynamic loader", Tests(&["locked_loader_stops_nobody"])),
    (
        "libraries that were unloaded",
        Tests(&[
            "libraries_at_the_same_address_are_told_apart",
            "libraries_that_come_again_keep_their_names",
        ]),
    ),
    ("malloc hooks of glibc", Never("They are gone since 2.34; the agent stands in front by name.")),
    (
        "tags in pointers, shadow stacks",
        Never("Addresses of x86-64 have none; the agent writes no return address."),
    ),
    (
        "sanitizers",
        Tests(&["sanitized_programs_are_refused", "sanitized_programs_are_started_without_the_agent"]),
    ),
    (
        "programs for another processor",
        Tests(&["programs_for_another_processor_are_started_without_the_agent"]),
    ),
    ("programs that forbid themselves the time stamp counter", Tests(&["programs_may_forbid_the_counter"])),
    (
        "another C library",
        Tests(&["both_libraries_are_recorded_together", "stacks_through_the_library_are_complete"]),
    ),
    (
        "allocators that call themselves, or map pages",
        Tests(&["calls_between_functions_of_an_allocator_are_one"]),
    ),
    (
        "addresses that are used again at once",
        Tests(&["threads_of_one_arena_leak_nothing", "random_programs_keep_the_same_books"]),
    ),
    (
        "full disks",
        Tests(&["limit_on_files_is_not_the_collectors", "capture_cut_anywhere_opens_and_says_so"]),
    ),
    (
        "a collector that is too slow, or gone",
        Tests(&["waiting_loses_nothing", "target_survives_its_collector"]),
    ),
];

/// Names of all tests in the sources of a folder.
fn tests_in(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("the folder of the tests") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source");
            let after_marks = text.split("#[test]\n").skip(1);
            names.extend(after_marks.filter_map(|rest| {
                Some(rest.trim_start().strip_prefix("fn ")?.split('(').next()?.to_string())
            }));
        }
    }
}

/// Check that the tests named for hard cases exist, and that reasons are not empty.
#[test]
fn every_hard_case_has_a_test_or_a_reason() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut names = BTreeSet::new();
    tests_in(folder, &mut names);
    tests_in(&folder.join("hard_cases"), &mut names);
    for (case, answer) in CASES {
        match answer {
            Tests(tests) => {
                assert!(!tests.is_empty(), "{case}");
                for test in *tests {
                    assert!(names.contains(*test), "{case}: there is no test {test}");
                }
            }
            Never(reason) => assert!(reason.ends_with('.') && reason.len() > 20, "{case}: {reason}"),
        }
    }
}
