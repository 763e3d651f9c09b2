//! Metrics and profiles of a recording over HTTP, while it goes on: for scrapers and `go tool pprof`.
//!
//! ```text
//!  scraper ──► http-server ──► Site ──┬─► Metrics ──► OpenMetrics, or Prometheus' older text
//!              (its threads)          └─► Profiles ─► pprof
//!                                           │
//!                                           ▼
//!                            Heaps: a LiveHeap of each recording, with names found once
//! ```
//!
//! Nothing is computed while nobody asks: there is one thread, which waits.

mod families;
mod metrics;
mod open_metrics;
mod site;
mod token;

use super::live::{Heaps, Recordings};
use super::recording_options::RecordingOptions;
use super::symbols::in_silence;
use crate::exit::Failure;
use crate::message;
use anyhow::{Context, anyhow};
use clap::Args;
use http_server::{Address, Limits, Listener, Server};
use site::Site;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Scrapers are few, and each has one connection.
const LIMITS: Limits = Limits {
    connections: 64,
    answers: 8,
    threads: 8,
    asking: Duration::from_secs(60),
    taking: Duration::from_secs(30),
    keep_alive: true,
};

/// Where metrics and profiles are served, and to whom.
#[derive(Args, Clone, Debug)]
pub(crate) struct HttpOptions {
    /// Serve metrics and heap profiles there while recording: 127.0.0.1:PORT, or unix:PATH for this user and root only
    ///
    /// /metrics is for Prometheus, /debug/pprof/heap for `go tool pprof` and continuous profilers. Addresses that other
    /// machines reach need --http-token-file.
    #[arg(help_heading = "Metrics and profiles", long, value_name = "ADDRESS")]
    http: Option<Address>,
    /// Answer only requests with the token in this file, as `Authorization: Bearer TOKEN`
    #[arg(help_heading = "Metrics and profiles", long, value_name = "FILE", requires = "http")]
    http_token_file: Option<PathBuf>,
}

/// Where a server listens, before there is something to serve.
pub(super) struct Bound {
    listener: Listener,
    token: Option<String>,
}

impl HttpOptions {
    /// Listens, if that is wanted: whatever is wrong with the address is said before anything is recorded.
    pub(super) fn bind(&self) -> Result<Option<Bound>, Failure> {
        let Some(address) = &self.http else { return Ok(None) };
        let token = self.http_token_file.as_deref().map(token::read).transpose()?;
        if token.is_none() && !address.is_local() {
            return Err(Failure::usage(anyhow!(
                "{address} can be reached from other machines, and whoever reads a heap profile learns much about a \
                 program: give --http-token-file, or listen on 127.0.0.1 or unix:PATH"
            )));
        }
        let listener = Listener::bind(address).with_context(|| format!("cannot listen on {address}"));
        Ok(Some(Bound { listener: listener.map_err(Failure::usage)?, token }))
    }
}

impl Bound {
    /// Serves these recordings until the result is dropped.
    pub(super) fn serve(
        self,
        recordings: Recordings,
        recording: &RecordingOptions,
    ) -> Result<Server, Failure> {
        let Bound { listener, token } = self;
        if !recording.quiet {
            message::plain(&format!("Serving metrics and profiles at {}", listener.address()));
        }
        let heaps = Heaps::new(recordings, in_silence(recording.naming()));
        let site = Site::new(heaps, token, listener.port().is_some(), recording.labels());
        Ok(Server::start(listener, Arc::new(site), LIMITS).context("cannot serve metrics")?)
    }
}
