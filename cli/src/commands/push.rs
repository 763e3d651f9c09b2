//! `push`: profiles to a server while a recording goes on.
//!
//! ```text
//!  capture, growing  ──────────┬────────────┬─────────────┬──►
//!                   ├ allocated ┤ allocated  ┤ allocated …
//!                               held         held
//! ```
//!
//! It reads the capture as every view does, so recorder and program know nothing of it, and what a server has missed can be sent later.
//! A span ends before the last time that is in the capture, since more may come at that time.

use super::symbols::Symbols;
use crate::exit::{FAILED, Failure, Outcome};
use crate::log::debug;
use crate::message;
use crate::pyroscope::{About, Name, Upload};
use crate::values;
use anyhow::{Context, anyhow};
use capture::Reader;
use clap::Args;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use viewer::analysis::Metric;
use viewer::query::{Anchor, Part, Query, When};
use viewer::{ExportOptions, Format, Moments, Recorded};

/// Send profiles of a recording to a server, while it goes on
///
/// The server takes profiles of pprof as Pyroscope does, at /ingest, by plain HTTP. Each interval sends what was allocated in it,
/// and what was held at its end; the last one is sent when the recording ends. Of a capture that is finished already, all
/// is sent at once. Every interval reads the capture from its beginning: record samples (run --sample) where it runs for
/// long.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  sysprof-memprof run --sample 512K -o app.memprof -- ./app &
  sysprof-memprof push app.memprof --to http://localhost:4040 --name app --label env=test --every 15s")]
pub(crate) struct Arguments {
    /// The capture
    file: PathBuf,
    /// The server, as http://HOST:PORT
    #[arg(long, value_name = "URL", value_parser = server)]
    to: String,
    /// What the server calls the program
    #[arg(long)]
    name: String,
    /// A label beside the name; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    label: Vec<(String, String)>,
    /// A header of each request, as some servers want one; may be given several times
    #[arg(long, value_name = "NAME:VALUE", value_parser = header)]
    header: Vec<(String, String)>,
    /// Time between two uploads
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = values::duration)]
    every: Duration,
    /// Do not look up names that the capture lacks: while a recording goes on, that is all of them
    #[arg(long)]
    no_symbolize: bool,
    #[command(flatten)]
    symbols: Symbols,
}

/// A recorder writes at least once a second. One that has not for this long is gone.
const SILENCE: Duration = Duration::from_secs(30);
/// How often the last upload is tried again. Those before it are part of it.
const TRIES: u32 = 5;
/// Longest time between these.
const RETRY: Duration = Duration::from_secs(1);
/// Longest time for a server to answer.
const PATIENCE: u64 = 30;
/// Most of an answer that is read.
const ANSWER: u64 = 1000;
/// Shortest time between two uploads.
const SHORTEST: Duration = Duration::from_millis(10);

/// Sends until the recording has ended.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let name =
        Name::new(&arguments.name, &arguments.label).map_err(|reason| Failure::usage(anyhow!(reason)))?;
    let mut seen = State::of(&arguments.file)?;
    let (mut from, mut changed, mut tries) = (0, Instant::now(), 0);
    loop {
        if !seen.is_finished || tries > 0 {
            let pause = if tries > 0 { arguments.every.min(RETRY) } else { arguments.every };
            std::thread::sleep(pause.max(SHORTEST));
        }
        let now = State::of(&arguments.file)?;
        if now.length != seen.length {
            changed = Instant::now();
        }
        let is_over = now.is_finished || changed.elapsed() > SILENCE;
        seen = now;
        let until = if is_over { u64::MAX } else { seen.last.saturating_sub(1) };
        if until > from {
            match send(arguments, &name, seen.started_unix_ns, from, until) {
                Ok(()) => (from, tries) = (until, 0),
                Err(error) if error.is_final || tries == TRIES => {
                    return Err(Failure::new(FAILED, error.reason));
                }
                // What was not taken is part of the next span.
                Err(error) => {
                    message::warning(&format!(
                        "{:#}. It is tried again with the next interval.",
                        error.reason
                    ));
                    tries += u32::from(is_over);
                }
            }
        }
        if is_over && from == u64::MAX {
            break;
        }
    }
    if !seen.is_finished {
        message::warning(
            "the capture has no end, and nothing was added to it for a while: its recorder is gone",
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// What a capture is like at a moment.
struct State {
    length: u64,
    is_finished: bool,
    started_unix_ns: u64,
    /// Time of its last event that is in it, nanoseconds since its beginning.
    last: u64,
}

impl State {
    fn of(file: &Path) -> Result<State, Failure> {
        let reader =
            Reader::open(file).with_context(|| file.display().to_string()).map_err(Failure::usage)?;
        let chunks = reader.index();
        Ok(State {
            length: chunks.last().map_or(0, |chunk| chunk.offset + chunk.length()),
            is_finished: reader.tables().summary.is_some(),
            started_unix_ns: reader.tables().metadata.started_unix_ns,
            last: chunks
                .iter()
                .filter_map(|chunk| chunk.times())
                .map(|times| *times.end())
                .max()
                .unwrap_or(0),
        })
    }
}

/// Why something was not sent.
struct NotSent {
    reason: anyhow::Error,
    /// It will not be better the next time.
    is_final: bool,
}

/// Sends what was allocated in a span, and what was held at its end.
fn send(arguments: &Arguments, name: &Name, started: u64, from: u64, until: u64) -> Result<(), NotSent> {
    let end = if until == u64::MAX { Anchor::End } else { Anchor::Time(until) };
    let begin = if from == 0 { Anchor::Start } else { Anchor::Time(from) };
    let (begin, end) = (When::from(begin), When::from(end));
    let mut until = until;
    // What is held may be told twice, if the second upload fails and both are repeated; what was allocated may not.
    for (about, part) in [(About::Held, Part::At(end.clone())), (About::Allocated, Part::Range(begin, end))] {
        let (profile, last) =
            profile(arguments, part).map_err(|reason| NotSent { reason, is_final: true })?;
        until = until.min(last);
        let seconds = |time: u64| started.saturating_add(time) / 1_000_000_000;
        // Servers take no span of nothing.
        let span = (seconds(from), seconds(until).max(seconds(from) + 1));
        let upload = Upload::new(&arguments.to, name, span, about, &profile);
        debug!("{} with {} bytes", upload.url, upload.body.len());
        post(arguments, upload)?;
    }
    Ok(())
}

/// A part of the capture as a profile, and when the capture ends.
fn profile(arguments: &Arguments, part: Part) -> anyhow::Result<(Vec<u8>, u64)> {
    let naming = arguments.symbols.naming(arguments.no_symbolize);
    let mut moments = Moments::open(&arguments.file)?;
    let counted = moments.profile(&Query::of(part))?;
    let loaded = moments.show(counted, naming);
    let mut out = Vec::new();
    let options = ExportOptions { metric: Metric::Bytes, ..ExportOptions::new(Format::Pprof) };
    viewer::export(&mut out, &loaded, &Recorded::new(&arguments.file), &options)?;
    Ok((out, loaded.duration_ns()))
}

fn post(arguments: &Arguments, upload: Upload) -> Result<(), NotSent> {
    let Upload { url, content_type, body } = upload;
    let mut request = minreq::post(url)
        .with_header("Content-Type", content_type)
        .with_header("User-Agent", concat!("sysprof-memprof/", env!("CARGO_PKG_VERSION")))
        .with_body(body)
        .with_timeout(PATIENCE)
        .with_follow_redirects(false);
    for (name, value) in &arguments.header {
        request = request.with_header(name, value);
    }
    let not_sent = |error: minreq::Error| NotSent {
        reason: anyhow!("cannot send to {}: {error}", arguments.to),
        is_final: false,
    };
    let answer = request.send_lazy().map_err(not_sent)?;
    let code = answer.status_code;
    if (200..300).contains(&code) {
        return Ok(());
    }
    let mut text = Vec::new();
    // The code says enough if the text cannot be read.
    let _ = answer.take(ANSWER).read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text);
    // What the server has against us now it will have later; its own troubles pass.
    let is_final = (300..500).contains(&code) && code != 429;
    Err(NotSent { reason: anyhow!("{} answers {code}: {}", arguments.to, text.trim()), is_final })
}

fn server(text: &str) -> Result<String, String> {
    if text.starts_with("https://") {
        return Err("only plain HTTP is spoken. Put a proxy that speaks TLS beside it, and name that".into());
    }
    let host =
        text.strip_prefix("http://").filter(|host| !host.is_empty() && !host.contains(['?', '#', ' ']));
    host.map(|_| text.to_owned()).ok_or_else(|| "write the server like http://localhost:4040".into())
}

fn label(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').ok_or("write a label like env=test")?;
    Ok((pair.0.to_owned(), pair.1.to_owned()))
}

fn header(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once(':').filter(|_| !text.contains(char::is_control));
    let (name, value) = pair.ok_or("write a header like X-Scope-OrgID:team")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that what is no server, label or header is refused with how to write it.
    #[test]
    fn words_are_checked() {
        assert_eq!(server("http://host:4040"), Ok("http://host:4040".into()));
        for text in ["host:4040", "http://", "ftp://host", "http://host/?x", "https://host"] {
            assert!(server(text).is_err(), "{text}");
        }
        assert_eq!(label("env=a=b"), Ok(("env".into(), "a=b".into())));
        assert!(label("env").is_err());
        assert_eq!(header("X-Scope-OrgID: team"), Ok(("X-Scope-OrgID".into(), "team".into())));
        assert!(header("X: a\r\nY: b").is_err() && header("X").is_err());
    }
}
