//! The `sysprof-memprof` command.
//!
//! Its principles:
//!
//! - The target is not disturbed: its standard output is its own, its exit code becomes ours, and nothing of ours
//!   keeps it from ending.
//! - Whatever would make a recording useless is reported before the target starts, with what to do about it.
//! - A recording that has begun is finished, whatever signal comes.
//! - One file does it all: the agent library is embedded in this executable.
//!
//! Exit codes are listed in [`exit`], the steps of a recording in [`commands::run`].
//!
//! # Files
//!
//! | file | what it has |
//! |---|---|
//! | `args` `values` `help` | the command line: its definition, values in it, what stands below the list of commands |
//! | `commands` | a file for each command, and what several share |
//! | `output` `stream` | where a capture goes: checked before anything starts, or sent away while it is made |
//! | `agent` `installed` | the agent inside this executable, and as `agent install` installs it |
//! | `message` `progress` `log` `exit` | what the user is told, the line of a running recording, the debug log, exit codes |
//! | `terminal` `stack` | what may be drawn where; the stack that we run on |
//! | `graphviz` `client` | other programs: drawings, servers |
//! | `version` | which one this is |

mod agent;
mod args;
mod client;
mod commands;
mod exit;
mod graphviz;
mod help;
mod installed;
mod log;
mod message;
mod output;
mod progress;
mod stack;
mod stream;
mod terminal;
mod values;
mod version;

use std::process::ExitCode;

fn main() -> ExitCode {
    collector::keep_to_one_arena();
    collector::note_time();
    stack::run(command)
}

fn command() -> ExitCode {
    let arguments = match args::parse() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    collector::log_to(log::write);
    match args::execute(arguments) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
