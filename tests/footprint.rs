//! What a program can see of being recorded: nothing.

use crate::harness::{Ran, World, c, cpp, record, wait};
use std::path::PathBuf;

/// The program alone.
fn alone(program: &PathBuf) -> Ran {
    let world = World::new();
    wait(&world, world.command(program))
}

/// Check that a recorded program sees the same descriptors, threads and signal handlers as alone.
#[test]
fn recorded_program_sees_only_its_own() {
    let program = c("shows_itself").build();
    let (ran, _) = record(&program).succeed();
    assert_eq!(ran.text(), alone(&program).text());
}

/// Check that a program with the agent preloaded but not recorded sees only its own and leaves nothing behind,
/// whether it has no socket, one that nobody listens on, or a disabled agent.
#[test]
fn dormant_agent_shows_nowhere() {
    let program = c("shows_itself").build();
    let expected = alone(&program);
    let nobody = [("SYSPROF_MEMPROF_SOCKET", "/nonexistent/socket"), ("SYSPROF_MEMPROF_SOCKET", "")];
    let disabled = [("SYSPROF_MEMPROF_DISABLE", "1"), ("SYSPROF_MEMPROF_SOCKET", "@nobody-listens-here")];
    for variables in [&[][..], &nobody[..1], &nobody[1..], &disabled[1..], &disabled] {
        let world = World::new();
        let mut command = world.command(&program);
        command.env("LD_PRELOAD", agent(&world)).envs(variables.iter().copied());
        let ran = wait(&world, command);
        assert_eq!((ran.text(), ran.stderr.as_str()), (expected.text(), ""), "{variables:?}");
    }
}

/// Check that C++ with the agent preloaded but not recorded behaves as it does alone: memory that is not available is
/// reported by an exception.
#[test]
fn dormant_agent_leaves_new_as_it_is() {
    let program = cpp("every_new").build();
    for variables in [&[][..], &[("SYSPROF_MEMPROF_DISABLE", "1")]] {
        let world = World::new();
        let mut command = world.command(&program);
        command.env("LD_PRELOAD", agent(&world)).envs(variables.iter().copied());
        let ran = wait(&world, command);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{variables:?}");
    }
}

/// The agent of a world.
fn agent(world: &World) -> String {
    let ran = wait(world, world.tool(["agent", "path"]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.text().trim().to_string()
}
