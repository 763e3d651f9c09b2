//! `serve`: the web report from a local server, which can be asked for any range in detail.

mod browser;
mod question;
mod report;
mod site;

use super::attach::capture_of;
use super::baseline::TwoCaptures;
use super::opened_capture::{self, Capture};
use super::process_selector::{ProcessSelector, process_selector};
use super::secret::random;
use crate::exit::{Failure, Outcome};
use crate::message;
use anyhow::Context;
use clap::Args;
use http_server::{Limits, Listener};
use report::Report;
use site::Site;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use web::PageOptions;

/// Show a capture in a browser
///
/// Serves the page of `html`, with every range of time in full detail. The server is for this machine only: it
/// listens on the loopback interface, and answers only those who have the address that it prints. ^C ends it.
///
/// FILE can also be the pid or name of a process that is being recorded. While a capture is still being written, the
/// page shows what is there, and a button loads what has come since. For two captures it shows the newer one, with
/// what has changed since the older one. If Graphviz is installed, it draws the call graph of what is shown. What
/// keeps memory alive in a scan is computed on demand.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof serve app.memprof
  # The recording of a process, while it goes on
  sysprof-memprof serve 4711
  # What has changed
  sysprof-memprof serve old.memprof new.memprof
  # Through a tunnel, for example
  sysprof-memprof serve app.memprof --port 8080 --no-browser")]
pub(crate) struct Arguments {
    #[command(flatten)]
    capture: Capture,
    #[command(flatten)]
    captures: TwoCaptures,
    /// Port to listen on [default: a free one]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Print the address and open no browser
    #[arg(long)]
    no_browser: bool,
    #[command(flatten)]
    links: super::html::Links,
}

/// Serves until the user ends it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let capture = &arguments.capture;
    let (shown, baseline) = arguments.captures.sides(&capture.file);
    let pid = process_of(shown)?;
    let file = pid.map_or_else(|| Ok(shown.to_owned()), recording_of)?;
    // A file that is not a capture is reported before anything listens.
    opened_capture::analyzer(&file)?;
    baseline.iter().try_for_each(|baseline| baseline.check())?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, arguments.port))
        .with_context(|| format!("cannot listen on port {}: choose another one with --port", arguments.port))
        .map_err(Failure::usage)?;
    let port = listener.local_addr()?.port();
    let token = token()?;
    let address = format!("http://127.0.0.1:{port}/{token}/");
    message::plain(&format!("Serving {} at {address}\nCtrl-C ends it.", file.display()));
    // Only users of this machine who have the address can see the sources, which are on this machine anyway.
    let options = PageOptions { with_source: true, ..arguments.links.options() };
    let report = Report::new(file, pid, baseline, capture.naming(), options);
    let site = Site::new(report, token, port);
    if !arguments.no_browser && !browser::open(&address, site.has_come()) {
        message::note("no browser could be started; open the address yourself");
    }
    // A browser that has what it wants asks for more on a connection of its own: the page is few requests.
    let limits = Limits { keep_alive: false, ..Limits::default() };
    http_server::serve(Listener::of(listener)?, Arc::new(site), limits).context("cannot serve")?;
    Ok(ExitCode::SUCCESS)
}

/// The process that the word means, if no such file exists but perhaps a process with this id or name.
fn process_of(file: &Path) -> Result<Option<u32>, Failure> {
    let word = file.to_str().filter(|_| !file.exists()).and_then(|text| process_selector(text).ok());
    match word {
        Some(ProcessSelector::Pid(pid)) => Ok(Some(pid)),
        Some(name) if name.is_anybody() => Ok(Some(name.of_one_recording()?.pid)),
        _ => Ok(None),
    }
}

/// The capture into which a process is recorded.
fn recording_of(pid: u32) -> Result<PathBuf, Failure> {
    capture_of(ProcessSelector::Pid(pid).one_recorded()?.collector, pid)
}

/// So that the address cannot be guessed.
fn token() -> Result<String, Failure> {
    Ok(random()?.iter().map(|byte| format!("{byte:02x}")).collect())
}
