//! Who gets the profiles: how they are written for it, and what its answers mean.

use super::address::{Address, Format};
use super::pyroscope;
use super::rejection::rejection;
use super::upload::{Head, Upload};
use crate::client::{Answer, Client};
use crate::commands::secret;
use crate::exit::Failure;
use crate::message;
use analysis::{Metric, Span};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use clap::Args;
use engine::Loaded;
use export::Resource;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// How to reach a receiver.
#[derive(Args, Clone, Debug)]
pub(crate) struct ReceiverOptions {
    /// Send profiles to this receiver: https://HOST:PORT of a Pyroscope, or https://HOST:PORT/v1development/profiles for
    /// OTLP
    ///
    /// Each interval's profile has what was allocated in it, and what is held at its end. What is not accepted is kept
    /// on disk, and sent again.
    #[arg(help_heading = "Push", long, value_name = "URL")]
    push: Option<Address>,
    /// Authenticate with what is in this file: a token, or USER:PASSWORD
    #[arg(help_heading = "Push", long, value_name = "FILE", requires = "push")]
    push_auth_file: Option<PathBuf>,
    /// Trust the authorities in this file (PEM) instead of those of the machine
    #[arg(help_heading = "Push", long, value_name = "FILE", requires = "push")]
    push_ca: Option<PathBuf>,
    /// Header to add to each request, as X-Scope-OrgID:team; may be repeated
    #[arg(help_heading = "Push", long, value_name = "NAME:VALUE", requires = "push", value_parser = header)]
    push_header: Vec<(String, String)>,
}

impl ReceiverOptions {
    /// The receiver, if one is given. Nothing is sent yet.
    pub(super) fn receiver(&self) -> Result<Option<Receiver>, Failure> {
        let Some(address) = self.push.clone() else { return Ok(None) };
        let client = Client::new(&address.url, self.push_ca.as_deref()).map_err(Failure::usage)?;
        let secret = self.push_auth_file.as_deref().map(|file| secret::read(file, "token or password"));
        let authorization = secret.transpose()?.map(|secret| authorization(&secret));
        if authorization.is_some() && address.reveals_secrets() {
            message::warning(&format!(
                "what is in --push-auth-file is sent to {} in clear text: https:// would hide it",
                address.url
            ));
        }
        Ok(Some(Receiver { address, client, authorization, headers: self.push_header.clone() }))
    }
}

/// A receiver.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    address: Address,
    client: Client,
    /// Never in a spool, nor in a message.
    authorization: Option<String>,
    headers: Vec<(String, String)>,
}

/// What became of an upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Accepted,
    /// The same would be refused again.
    Refused(String),
    /// It may be accepted later. Whether it was accepted now is not known if there was no answer.
    Later {
        reason: String,
        /// How long the receiver wants to be left alone.
        asked: Option<Duration>,
    },
}

/// Of whom a profile is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) labels: Vec<(String, String)>,
}

impl Receiver {
    /// Its address.
    pub(super) fn url(&self) -> &str {
        &self.address.url
    }

    /// An interval for this receiver. `id` tells it from all others; it stays the same when it is sent again.
    pub(super) fn upload(&self, loaded: &Loaded, subject: &Subject, id: [u8; 16]) -> anyhow::Result<Upload> {
        let (mut url, mut headers) = (self.address.url.clone(), self.headers.clone());
        let mut add = |name: &str, value: String| headers.push((name.to_owned(), value));
        let body = match self.address.format {
            Format::Pyroscope => {
                let mut profile = Vec::new();
                export::live_pprof(&mut profile, loaded, Metric::Bytes)?;
                let name = pyroscope::name(&subject.name, &subject.labels);
                url = format!("{url}?{}", pyroscope::query(&name, seconds(loaded)));
                let (content_type, body) = pyroscope::form(&profile);
                add("Content-Type", content_type);
                body
            }
            Format::Otlp => {
                let resource = Resource { service: subject.name.clone(), labels: subject.labels.clone() };
                let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(&export::otlp(loaded, &resource, id))?;
                add("Content-Type", "application/x-protobuf".to_owned());
                add("Content-Encoding", "gzip".to_owned());
                encoder.finish()?
            }
        };
        add("Idempotency-Key", id.iter().map(|byte| format!("{byte:02x}")).collect());
        Ok(Upload { head: Head { url, headers }, body })
    }

    /// Sends it.
    pub(super) fn send(&self, upload: &Upload, timeout: Duration) -> Verdict {
        let Head { url, headers } = &upload.head;
        if !url.starts_with(self.url()) {
            return Verdict::Refused(format!("the spool has a profile for {url}"));
        }
        let secret = self.authorization.iter().map(|secret| ("Authorization", secret.as_str()));
        let headers = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).chain(secret);
        match self.client.post(url, headers, &upload.body, timeout) {
            Ok(answer) => self.verdict(&answer),
            Err(error) => {
                Verdict::Later { reason: format!("cannot send to {}: {error:#}", self.url()), asked: None }
            }
        }
    }

    fn verdict(&self, answer: &Answer) -> Verdict {
        let reason = || format!("{} answers {}", self.url(), answer.reason());
        match answer.status {
            200..300 => match self.address.format {
                Format::Otlp => rejection(&answer.body).map_or(Verdict::Accepted, |text| {
                    Verdict::Refused(format!("{} rejects profiles: {text}", self.url()))
                }),
                Format::Pyroscope => Verdict::Accepted,
            },
            408 | 429 | 500.. => Verdict::Later { reason: reason(), asked: answer.retry_after },
            _ => Verdict::Refused(reason()),
        }
    }
}

/// When an interval began and ended, in seconds since the Unix epoch.
fn seconds(loaded: &Loaded) -> (u64, u64) {
    let started = loaded.tables.metadata.started_unix_ns;
    let (from, until) = match loaded.profile.span {
        Span::Range { from, to } => (from.time, to.time),
        Span::At(at) => (at.time, at.time),
        Span::Whole => (0, loaded.duration_ns()),
    };
    let seconds = |time: u64| started.saturating_add(time) / 1_000_000_000;
    (seconds(from), seconds(until))
}

/// The header for a secret: a token has no colon, by its grammar in RFC 6750.
fn authorization(secret: &str) -> String {
    match secret.contains(':') {
        true => format!("Basic {}", BASE64_STANDARD.encode(secret)),
        false => format!("Bearer {secret}"),
    }
}

fn header(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once(':').filter(|(name, _)| !name.trim().is_empty());
    let pair = pair.filter(|_| !text.contains(char::is_control));
    let (name, value) = pair.ok_or("expected a header like X-Scope-OrgID:team")?;
    let name = name.trim();
    if ["authorization", "proxy-authorization", "cookie"]
        .iter()
        .any(|secret| name.eq_ignore_ascii_case(secret))
    {
        return Err("secrets do not belong on a command line: give them with --push-auth-file".to_owned());
    }
    Ok((name.to_owned(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receiver(url: &str) -> Receiver {
        let address: Address = url.parse().unwrap();
        let client = Client::new(&address.url, None).unwrap();
        Receiver { address, client, authorization: None, headers: Vec::new() }
    }

    /// Check which answers mean that a profile is accepted, refused for good, or wanted again.
    #[test]
    fn answers_have_meanings() {
        let pyroscope = receiver("http://host");
        let verdict = |status| match pyroscope.verdict(&Answer { status, ..Answer::default() }) {
            Verdict::Accepted => "accepted",
            Verdict::Refused(_) => "refused",
            Verdict::Later { .. } => "later",
        };
        for (status, expected) in [
            (200, "accepted"),
            (204, "accepted"),
            (301, "refused"),
            (307, "refused"),
            (400, "refused"),
            (401, "refused"),
            (403, "refused"),
            (404, "refused"),
            (408, "later"),
            (413, "refused"),
            (429, "later"),
            (500, "later"),
            (502, "later"),
            (503, "later"),
            (599, "later"),
        ] {
            assert_eq!(verdict(status), expected, "{status}");
        }
        let otlp = receiver("http://host/v1development/profiles");
        let answer =
            |body: &[u8]| otlp.verdict(&Answer { status: 200, body: body.into(), ..Answer::default() });
        assert_eq!(answer(b""), Verdict::Accepted);
        let refused = answer(&[0x0a, 6, 0x08, 4, 0x12, 2, b'n', b'o']);
        assert!(
            matches!(refused, Verdict::Refused(ref text) if text.ends_with("rejects profiles: no")),
            "{refused:?}"
        );
    }

    /// Check that a token and a password are told apart, and that secrets are no headers.
    #[test]
    fn secrets_have_a_header() {
        assert_eq!(authorization("abc/+=.~"), "Bearer abc/+=.~");
        assert_eq!(authorization("Aladdin:open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert_eq!(header("X-Scope-OrgID: team"), Ok(("X-Scope-OrgID".into(), "team".into())));
        for text in ["X: a\r\nY: b", "X", ": b"] {
            assert!(header(text).is_err(), "{text}");
        }
        for text in ["authorization: Bearer x", "Cookie:a=b"] {
            assert!(header(text).unwrap_err().contains("--push-auth-file"), "{text}");
        }
    }
}
