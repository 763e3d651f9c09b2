//! The commands, one file each.

mod aggregating;
pub(crate) mod attach;
mod attaching;
mod cache;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod daemon;
pub(crate) mod detach;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod dump;
pub(crate) mod export;
pub(crate) mod failed;
mod finishing;
pub(crate) mod frees;
mod gate;
pub(crate) mod header;
pub(crate) mod history;
pub(crate) mod html;
pub(crate) mod import;
pub(crate) mod info;
pub(crate) mod install_agent;
pub(crate) mod interactive;
pub(crate) mod invalid_frees;
pub(crate) mod leaks;
mod lens;
pub(crate) mod lifetimes;
pub(crate) mod lines;
mod lives;
pub(crate) mod man_pages;
pub(crate) mod mark;
mod name_search;
mod newer;
pub(crate) mod open;
pub(crate) mod pages;
mod parts;
pub(crate) mod preload_path;
pub(crate) mod ps;
pub(crate) mod push;
#[cfg(feature = "sql")]
pub(crate) mod query;
mod question;
pub(crate) mod reallocs;
pub(crate) mod record;
mod recording;
mod redact;
pub(crate) mod report;
pub(crate) mod resident;
pub(crate) mod retained;
mod rules;
pub(crate) mod run;
pub(crate) mod scan;
pub(crate) mod serve;
pub(crate) mod sizes;
pub(crate) mod snapshot;
mod supervise;
mod suppression;
mod symbols;
pub(crate) mod temporary;
pub(crate) mod threads;
pub(crate) mod timeline;
pub(crate) mod top;
mod view;
mod whom;

use crate::args::Command;
use crate::exit::Outcome;

/// Executes the command.
pub(crate) fn execute(command: Command) -> Outcome {
    match command {
        Command::Run(arguments) => apart(run::execute, arguments),
        Command::Record(arguments) => apart(record::execute, arguments),
        Command::Ps(arguments) => apart(ps::execute, &arguments),
        Command::Attach(arguments) => apart(attach::execute, &arguments),
        Command::Detach(arguments) => apart(detach::execute, &arguments),
        Command::Daemon(arguments) => apart(daemon::execute, arguments),
        Command::Start(arguments) => apart(daemon::start, &arguments),
        Command::Stop(arguments) => apart(daemon::stop, &arguments),
        Command::Top(arguments) => apart(top::execute, &arguments),
        Command::Mark(arguments) => apart(mark::execute, &arguments),
        Command::Scan(arguments) => apart(scan::execute, &arguments),
        Command::Snapshot(arguments) => apart(snapshot::execute, &arguments),
        Command::View(arguments) => apart(interactive::execute, &arguments),
        Command::Report(arguments) => apart(report::execute, &arguments),
        Command::Diff(arguments) => apart(diff::execute, &arguments),
        Command::Leaks(arguments) => apart(leaks::execute, &arguments),
        Command::Timeline(arguments) => apart(timeline::execute, &arguments),
        Command::Html(arguments) => apart(html::execute, &arguments),
        Command::Serve(arguments) => apart(serve::execute, &arguments),
        Command::Temporary(arguments) => apart(temporary::execute, &arguments),
        Command::Threads(arguments) => apart(threads::execute, &arguments),
        Command::Frees(arguments) => apart(frees::execute, &arguments),
        Command::Sizes(arguments) => apart(sizes::execute, &arguments),
        Command::Lifetimes(arguments) => apart(lifetimes::execute, &arguments),
        Command::Reallocs(arguments) => apart(reallocs::execute, &arguments),
        Command::Retained(arguments) => apart(retained::execute, &arguments),
        Command::Pages(arguments) => apart(pages::execute, &arguments),
        Command::InvalidFrees(arguments) => apart(invalid_frees::execute, &arguments),
        Command::Failed(arguments) => apart(failed::execute, &arguments),
        Command::History(arguments) => apart(history::execute, &arguments),
        Command::Resident(arguments) => apart(resident::execute, &arguments),
        Command::Lines(arguments) => apart(lines::execute, &arguments),
        Command::Check(arguments) => apart(check::execute, &arguments),
        Command::Push(arguments) => apart(push::execute, &arguments),
        Command::Import(arguments) => apart(import::execute, &arguments),
        Command::Info(arguments) => apart(info::execute, &arguments),
        Command::Dump(arguments) => apart(dump::execute, &arguments),
        Command::Export(arguments) => apart(export::execute, &arguments),
        #[cfg(feature = "sql")]
        Command::Query(arguments) => apart(query::execute, &arguments),
        Command::Doctor(arguments) => apart(doctor::execute, &arguments),
        Command::Header(arguments) => apart(header::execute, &arguments),
        Command::PreloadPath(arguments) => apart(preload_path::execute, &arguments),
        Command::InstallAgent(arguments) => apart(install_agent::install, &arguments),
        Command::UninstallAgent(arguments) => apart(install_agent::uninstall, &arguments),
        Command::ManPages(arguments) => apart(man_pages::execute, &arguments),
        Command::Completions(arguments) => apart(completions::execute, &arguments),
        Command::Open(words) => apart(open::execute, words),
    }
}

/// Runs a command in a stack frame of its own. Inlined into [`execute`], the variables of all commands would share
/// one frame.
#[inline(never)]
fn apart<A>(command: fn(A) -> Outcome, arguments: A) -> Outcome {
    command(arguments)
}
