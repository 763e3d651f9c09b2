//! `push`: sends profiles to a server while a recording goes on.
//!
//! ```text
//!  capture, growing  ──────────┬────────────┬─────────────┬──►
//!                   ├ allocated ┤ allocated  ┤ allocated …
//!                               held         held
//! ```
//!
//! It reads the capture like any view, and each event once, so neither recorder nor program know of it, and whatever
//! a server missed is sent with the next interval. An interval ends with the last event written so far.

use super::symbols::Symbols;
use crate::exit::{FAILED, Failure, Outcome};
use crate::log::debug;
use crate::message;
use crate::pyroscope::{About, Name, Upload};
use crate::values;
use analysis::Metric;
use anyhow::{Context, anyhow};
use capture::Reader;
use clap::Args;
use engine::Loaded;
use engine::live::Intervals;
use export::{ExportOptions, Format};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Send profiles of a recording to a server, while it goes on
///
/// Sends pprof profiles as Pyroscope takes them, to /ingest by plain HTTP. Each interval sends what was allocated in
/// it, and what was held at its end; the last one is sent when the recording ends. A finished capture is sent at
/// once; one that does not exist yet is waited for, ten seconds at most. The cost of an interval depends on what
/// happens in it; memory is needed for live blocks and different stacks. If much is allocated, record samples (run
/// --sample).
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof run --sample 512K -o app.memprof -- ./app &
  sysprof-memprof push app.memprof --to http://localhost:4040 --name app \\
      --label env=test --every 15s")]
pub(crate) struct Arguments {
    /// Capture to read
    file: PathBuf,
    /// Server, as http://HOST:PORT
    #[arg(long, value_name = "URL", value_parser = server)]
    to: String,
    /// Name of the program on the server
    #[arg(long)]
    name: String,
    /// Label to add to the name; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    label: Vec<(String, String)>,
    /// HTTP header to add to each request; may be repeated
    #[arg(long, value_name = "NAME:VALUE", value_parser = header)]
    header: Vec<(String, String)>,
    /// Time between uploads
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = values::duration)]
    every: Duration,
    /// Do not look up names that the capture lacks: while a recording goes on, that is all of them
    #[arg(help_heading = "Names", long)]
    no_symbolize: bool,
    #[command(flatten)]
    symbols: Symbols,
}

/// A recorder writes at least once a second; if it has not for this long, it is gone.
const SILENCE: Duration = Duration::from_secs(30);
/// How often the last upload is retried. It includes any earlier ones that failed.
const TRIES: u32 = 5;
/// Longest time between retries.
const RETRY: Duration = Duration::from_secs(1);
/// Longest wait for a server's answer.
const PATIENCE: u64 = 30;
/// Most bytes of an answer that are read.
const ANSWER: u64 = 1000;
/// Shortest time between two uploads.
const SHORTEST: Duration = Duration::from_millis(10);
/// Longest wait for a recording to begin, and the time between two checks.
const BEGINNING: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);

/// Sends until the recording has ended.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let name =
        Name::new(&arguments.name, &arguments.label).map_err(|reason| Failure::usage(anyhow!(reason)))?;
    let file = || arguments.file.display().to_string();
    wait_for(&arguments.file);
    let mut reader = Reader::open(&arguments.file).with_context(file).map_err(Failure::usage)?;
    wait_for_time(&mut reader).with_context(file)?;
    if reader.tables().metadata.started_unix_ns == 0 {
        return Err(Failure::usage(anyhow!(
            "{} does not say when it was recorded, so a server cannot place it in time",
            file()
        )));
    }
    let mut intervals = Intervals::new(reader, arguments.symbols.naming(arguments.no_symbolize))?;
    let mut growth = Growth::new(intervals.refresh().with_context(file)?);
    let mut tries = 0;
    loop {
        let is_over = intervals.is_over() || growth.is_silent();
        if !is_over || tries > 0 {
            let pause = if tries > 0 { arguments.every.min(RETRY) } else { arguments.every };
            std::thread::sleep(pause.max(SHORTEST));
            growth.note(intervals.refresh().with_context(file)?);
        }
        let is_over = intervals.is_over() || growth.is_silent();
        let (from, until) = intervals.span();
        if until > from || is_over {
            match send(arguments, &name, &mut intervals) {
                Ok(()) => {
                    intervals.accept();
                    tries = 0;
                }
                Err(error) if error.is_final || tries == TRIES => {
                    return Err(Failure::new(FAILED, error.reason));
                }
                // What was not accepted becomes part of the next interval.
                Err(error) => {
                    message::warning(&format!("{:#}. Trying again with the next interval.", error.reason));
                    tries += u32::from(is_over);
                }
            }
        }
        if is_over && tries == 0 {
            break;
        }
    }
    if !intervals.is_over() {
        message::warning("the capture has no end and has stopped growing: its collector is gone");
    }
    Ok(ExitCode::SUCCESS)
}

/// Waits until the capture exists: the recorder may have been started just before.
fn wait_for(file: &Path) {
    let is_there = || file.metadata().is_ok_and(|metadata| metadata.len() > 0);
    let started = Instant::now();
    if !is_there() {
        message::plain(&format!("Waiting for {} to appear.", file.display()));
    }
    while !is_there() && started.elapsed() < BEGINNING {
        std::thread::sleep(LOOK);
    }
}

/// Waits for the start time in a capture that has just begun: the metadata follow the header.
fn wait_for_time(reader: &mut Reader<File>) -> Result<(), capture::Error> {
    let started = Instant::now();
    let is_missing =
        |reader: &Reader<File>| reader.cut().is_some() && reader.tables().metadata.started_unix_ns == 0;
    while is_missing(reader) && started.elapsed() < BEGINNING {
        std::thread::sleep(LOOK);
        reader.refresh()?;
    }
    Ok(())
}

/// How far a capture has grown, and when it last did.
struct Growth {
    length: u64,
    changed: Instant,
}

impl Growth {
    fn new(length: u64) -> Growth {
        Growth { length, changed: Instant::now() }
    }

    fn note(&mut self, length: u64) {
        if length != self.length {
            *self = Growth::new(length);
        }
    }

    /// True if nothing has been written for so long that nothing more will be.
    fn is_silent(&self) -> bool {
        self.changed.elapsed() > SILENCE
    }
}

/// Why an upload failed.
struct NotSent {
    reason: anyhow::Error,
    /// Retrying is useless.
    is_final: bool,
}

/// Sends what was allocated in an interval, and what was held at its end.
fn send(arguments: &Arguments, name: &Name, intervals: &mut Intervals) -> Result<(), NotSent> {
    let (from, until) = intervals.span();
    let started = intervals.started_unix_ns();
    let seconds = |time: u64| started.saturating_add(time) / 1_000_000_000;
    // Servers reject an empty span.
    let span = (seconds(from), seconds(until).max(seconds(from) + 1));
    let profile = profile(&intervals.interval()).map_err(|reason| NotSent { reason, is_final: true })?;
    // If the second upload fails, both are repeated. What is held may be sent twice, what was allocated may not.
    for about in [About::Held, About::Allocated] {
        let upload = Upload::new(&arguments.to, name, span, about, &profile);
        debug!("{} with {} bytes", upload.url, upload.body.len());
        post(arguments, upload)?;
    }
    Ok(())
}

/// An interval as a pprof profile.
fn profile(interval: &Loaded) -> anyhow::Result<Vec<u8>> {
    let mut out = Vec::new();
    let options = ExportOptions { metric: Metric::Bytes, ..ExportOptions::new(Format::Pprof) };
    // The format has no events.
    export::export(&mut out, interval, &Vec::new(), &options)?;
    Ok(out)
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
    // The status code says enough if the text cannot be read.
    let _ = answer.take(ANSWER).read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text);
    // Errors in the request will persist; errors of the server pass.
    let is_final = (300..500).contains(&code) && code != 429;
    Err(NotSent { reason: anyhow!("{} answers {code}: {}", arguments.to, text.trim()), is_final })
}

fn server(text: &str) -> Result<String, String> {
    if text.starts_with("https://") {
        return Err("only plain HTTP is supported. For TLS, give the address of a proxy that adds it".into());
    }
    let host =
        text.strip_prefix("http://").filter(|host| !host.is_empty() && !host.contains(['?', '#', ' ']));
    host.map(|_| text.to_owned()).ok_or_else(|| "expected a server like http://localhost:4040".into())
}

fn label(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').ok_or("expected a label like env=test")?;
    Ok((pair.0.to_owned(), pair.1.to_owned()))
}

fn header(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once(':').filter(|_| !text.contains(char::is_control));
    let (name, value) = pair.ok_or("expected a header like X-Scope-OrgID:team")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that invalid servers, labels and headers are refused with advice on how to write them.
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
