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

/// Does what the user wants.
pub(crate) fn execute(command: Command) -> Outcome {
    match command {
        Command::Run(arguments) => run::execute(arguments),
        Command::Record(arguments) => record::execute(arguments),
        Command::Ps(arguments) => ps::execute(&arguments),
        Command::Attach(arguments) => attach::execute(&arguments),
        Command::Detach(arguments) => detach::execute(&arguments),
        Command::Daemon(arguments) => daemon::execute(arguments),
        Command::Start(arguments) => daemon::start(&arguments),
        Command::Stop(arguments) => daemon::stop(&arguments),
        Command::Top(arguments) => top::execute(&arguments),
        Command::Mark(arguments) => mark::execute(&arguments),
        Command::Scan(arguments) => scan::execute(&arguments),
        Command::Snapshot(arguments) => snapshot::execute(&arguments),
        Command::View(arguments) => interactive::execute(&arguments),
        Command::Report(arguments) => report::execute(&arguments),
        Command::Diff(arguments) => diff::execute(&arguments),
        Command::Leaks(arguments) => leaks::execute(&arguments),
        Command::Timeline(arguments) => timeline::execute(&arguments),
        Command::Html(arguments) => html::execute(&arguments),
        Command::Serve(arguments) => serve::execute(&arguments),
        Command::Temporary(arguments) => temporary::execute(&arguments),
        Command::Threads(arguments) => threads::execute(&arguments),
        Command::Frees(arguments) => frees::execute(&arguments),
        Command::Sizes(arguments) => sizes::execute(&arguments),
        Command::Lifetimes(arguments) => lifetimes::execute(&arguments),
        Command::Reallocs(arguments) => reallocs::execute(&arguments),
        Command::Retained(arguments) => retained::execute(&arguments),
        Command::Pages(arguments) => pages::execute(&arguments),
        Command::InvalidFrees(arguments) => invalid_frees::execute(&arguments),
        Command::Failed(arguments) => failed::execute(&arguments),
        Command::History(arguments) => history::execute(&arguments),
        Command::Resident(arguments) => resident::execute(&arguments),
        Command::Lines(arguments) => lines::execute(&arguments),
        Command::Check(arguments) => check::execute(&arguments),
        Command::Push(arguments) => push::execute(&arguments),
        Command::Import(arguments) => import::execute(&arguments),
        Command::Info(arguments) => info::execute(&arguments),
        Command::Dump(arguments) => dump::execute(&arguments),
        Command::Export(arguments) => export::execute(&arguments),
        #[cfg(feature = "sql")]
        Command::Query(arguments) => query::execute(&arguments),
        Command::Doctor(arguments) => doctor::execute(&arguments),
        Command::Header(arguments) => header::execute(&arguments),
        Command::PreloadPath(arguments) => preload_path::execute(&arguments),
        Command::InstallAgent(arguments) => install_agent::install(&arguments),
        Command::UninstallAgent(arguments) => install_agent::uninstall(&arguments),
        Command::ManPages(arguments) => man_pages::execute(&arguments),
        Command::Completions(arguments) => completions::execute(&arguments),
        Command::Open(words) => open::execute(words),
    }
}
