//! Where profiles are sent, and what is understood there.

use std::net::IpAddr;
use std::str::FromStr;
use ureq::http::Uri;

/// The path of OTLP's receivers of profiles.
const OTLP: &str = "/v1development/profiles";
/// That of Pyroscope's.
const PYROSCOPE: &str = "/ingest";

/// The address of a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// All of it, but for a query.
    pub(super) url: String,
    pub(super) format: Format,
    /// The host is this machine.
    pub(super) is_local: bool,
    is_encrypted: bool,
}

/// What a receiver understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// pprof, in a form.
    Pyroscope,
    /// OTLP's profiles.
    Otlp,
}

impl Address {
    /// True if secrets would be sent in clear text to another machine.
    pub(super) fn reveals_secrets(&self) -> bool {
        !self.is_encrypted && !self.is_local
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        let expected = || format!("expected https://HOST:PORT of a Pyroscope, or https://HOST:PORT{OTLP}");
        let uri: Uri = text.parse().map_err(|_| expected())?;
        let is_encrypted = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(expected()),
        };
        let (Some(host), Some(authority)) = (uri.host(), uri.authority()) else { return Err(expected()) };
        if authority.as_str().contains('@') {
            return Err("secrets do not belong on a command line: give them with --push-auth-file".to_owned());
        }
        if host.is_empty() || uri.query().is_some() || text.contains('#') {
            return Err(expected());
        }
        let text = text.trim_end_matches('/');
        let (format, ending) = match () {
            () if text.ends_with(OTLP) => (Format::Otlp, ""),
            () if text.ends_with(PYROSCOPE) => (Format::Pyroscope, ""),
            () => (Format::Pyroscope, PYROSCOPE),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let is_local = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        Ok(Address { url: format!("{text}{ending}"), format, is_local, is_encrypted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check which addresses are good, what is sent there, and where secrets would be seen by others.
    #[test]
    fn addresses_say_what_is_sent() {
        use Format::{Otlp, Pyroscope};
        for (text, url, format, reveals) in [
            ("http://host:4040", "http://host:4040/ingest", Pyroscope, true),
            ("https://host/", "https://host/ingest", Pyroscope, false),
            ("https://host/a/ingest", "https://host/a/ingest", Pyroscope, false),
            ("http://localhost:4318/v1development/profiles", "", Otlp, false),
            ("http://[::1]:1/v1development/profiles/", "http://[::1]:1/v1development/profiles", Otlp, false),
            ("http://127.0.0.1.example/v1development/profiles", "", Otlp, true),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.url, if url.is_empty() { text } else { url });
            assert_eq!((address.format, address.reveals_secrets()), (format, reveals), "{text}");
        }
        for text in
            ["", "host:4040", "http://", "ftp://host", "http://host/?x", "http://host/#x", "https://a b"]
        {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
        assert!("https://a:b@host".parse::<Address>().unwrap_err().contains("--push-auth-file"));
    }
}
