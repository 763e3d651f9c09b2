//! `generate man-pages`: the manual, generated from the definition of the command line.

use crate::exit::Outcome;
use crate::help::topics;
use anyhow::Context;
use clap::{Args, Command};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Write manual pages to a folder
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof generate man-pages ~/.local/share/man/man1
  man sysprof-memprof-run")]
pub(crate) struct Arguments {
    /// Folder to write to; created if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Writes a page for each command, and prints the file names.
pub(crate) fn execute(arguments: &Arguments, definition: Command) -> Outcome {
    let folder = &arguments.folder;
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let mut out = std::io::stdout().lock();
    for (name, text) in pages(definition)? {
        let path: PathBuf = Path::new(folder).join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        writeln!(out, "{}", path.display())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Names and texts of all pages; the main page comes first.
pub(crate) fn pages(mut whole: Command) -> std::io::Result<Vec<(String, Vec<u8>)>> {
    // Gives the subcommands their full names.
    whole.build();
    let whole = whole.after_long_help(topics());
    let mut pages = Vec::new();
    add(&whole, whole.get_name().to_owned(), &mut pages)?;
    Ok(pages)
}

/// The page of a command, and those of the commands within it.
fn add(command: &Command, name: String, pages: &mut Vec<(String, Vec<u8>)>) -> std::io::Result<()> {
    let named = command.clone().name(name.clone());
    let page = named.version(env!("CARGO_PKG_VERSION")).disable_help_subcommand(true);
    let mut text = Vec::new();
    clap_mangen::Man::new(page).manual("sysprof-memprof").date("").render(&mut text)?;
    pages.push((format!("{name}.1"), text));
    let mut shown = command.get_subcommands().filter(|one| !one.is_hide_set());
    shown.try_for_each(|one| add(one, format!("{name}-{}", one.get_name()), pages))
}
