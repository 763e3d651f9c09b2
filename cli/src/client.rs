//! Requests to servers of others, which may answer as they like: the one HTTP client of this command.
//!
//! Whatever a server does, a request ends in time, takes little memory, and reaches nobody else: redirections are not
//! followed, of headers and answers as much is read as is needed, and time counts from the first look-up of a name to
//! the last byte. TLS trusts the authorities of this machine (`SSL_CERT_FILE` names others), or those of a file alone.

use anyhow::{Context, anyhow, bail};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use ureq::http::HeaderMap;
use ureq::http::header::{LOCATION, RETRY_AFTER};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Proxy};

/// Longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// Most bytes of headers, and of an answer, that are read.
const HEADERS: usize = 32 << 10;
const ANSWER: u64 = 64 << 10;
/// Most bytes of a file with certificates.
const CERTIFICATES: u64 = 16 << 20;

/// A client, whose requests may be made by any thread.
#[derive(Clone, Debug)]
pub(crate) struct Client(Agent);

/// What a server has answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The status code.
    pub(crate) status: u16,
    /// The beginning of the body.
    pub(crate) body: Vec<u8>,
    /// How long the server wants to be left alone.
    pub(crate) retry_after: Option<Duration>,
    /// Where it sends us.
    pub(crate) location: Option<String>,
}

impl Answer {
    /// True if the request was accepted.
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Status and first line of the body, or the address of a redirection, for a message.
    pub(crate) fn reason(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        let line: String = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("").trim().into();
        let line: String = line.chars().take(300).collect();
        match (&self.location, line.as_str()) {
            (Some(location), _) if (300..400).contains(&self.status) => {
                format!("{}, a redirection to {location}: give that address if it is right", self.status)
            }
            (_, "") => self.status.to_string(),
            (_, line) => format!("{}: {line}", self.status),
        }
    }
}

impl Client {
    /// A client for this address, which trusts the authorities in a file of PEM, or those of the machine.
    ///
    /// # Errors
    /// When there are no certificates.
    pub(crate) fn new(url: &str, authorities: Option<&Path>) -> anyhow::Result<Client> {
        let is_encrypted = url.starts_with("https:");
        let roots = match authorities {
            Some(file) => of_file(file)?,
            // Nothing is read for an address that does without.
            None if is_encrypted => of_machine()?,
            None => Vec::new(),
        };
        // By plain HTTP a proxy would get all there is, secrets too; by TLS it passes on what it cannot read.
        let proxy = is_encrypted.then(Proxy::try_from_env).flatten();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::Specific(Arc::new(roots)))
            .unversioned_rustls_crypto_provider(provider)
            .build();
        let config = Agent::config_builder()
            .tls_config(tls)
            .proxy(proxy)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_response_header_size(HEADERS)
            // A request on a connection that its server has just closed fails without need.
            .max_idle_connections(0)
            .timeout_connect(Some(CONNECT))
            .user_agent(concat!("sysprof-memprof/", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(Client(config.into()))
    }

    /// Posts a body, and waits for the answer for this long at most, all in all.
    ///
    /// # Errors
    /// When there is no answer; the server may have got the body all the same.
    pub(crate) fn post<'a>(
        &self,
        url: &str,
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
        body: &[u8],
        timeout: Duration,
    ) -> anyhow::Result<Answer> {
        let mut request = self.0.post(url).config().timeout_global(Some(timeout)).build();
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let answer = request.send(body)?;
        let headers = answer.headers();
        let location = headers.get(LOCATION).map(|value| String::from_utf8_lossy(value.as_bytes()).into());
        let (status, retry_after) = (answer.status().as_u16(), retry_after(headers, Timestamp::now()));
        let mut body = Vec::new();
        // The status says enough if the text cannot be read.
        let _ = answer.into_body().into_reader().take(ANSWER).read_to_end(&mut body);
        Ok(Answer { status, body, retry_after, location })
    }
}

/// `Retry-After`: seconds, or a date.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    // A date that has passed is now.
    Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
}

fn of_file(file: &Path) -> anyhow::Result<Vec<Certificate<'static>>> {
    let name = file.display();
    let mut text = Vec::new();
    let open = std::fs::File::open(file).and_then(|open| open.take(CERTIFICATES).read_to_end(&mut text));
    open.with_context(|| format!("cannot read the certificates in {name}"))?;
    let mut certificates = Vec::new();
    for item in parse_pem(&text) {
        let item = item.with_context(|| format!("{name} is no file of certificates in PEM"))?;
        if let PemItem::Certificate(certificate) = item {
            certificates.push(certificate);
        }
    }
    if certificates.is_empty() {
        bail!("{name} has no certificate: it should have that of an authority, in PEM");
    }
    Ok(certificates)
}

fn of_machine() -> anyhow::Result<Vec<Certificate<'static>>> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let why = found.errors.first().map(|error| format!(" ({error})")).unwrap_or_default();
        return Err(anyhow!("this machine has no certificates of authorities{why}: install ca-certificates"));
    }
    Ok(found.certs.iter().map(|one| Certificate::from_der(one).to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that both forms of `Retry-After` are understood, and that anything else is nothing.
    #[test]
    fn retry_after_is_read() {
        let now: Timestamp = "2015-10-21T07:28:00Z".parse().unwrap();
        for (text, expected) in [
            ("120", Some(120)),
            ("Wed, 21 Oct 2015 07:28:30 GMT", Some(30)),
            ("Wed, 21 Oct 2015 07:00:00 GMT", Some(0)),
            ("soon", None),
            ("-1", None),
            ("99999999999999999999999", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, text.parse().unwrap());
            assert_eq!(retry_after(&headers, now), expected.map(Duration::from_secs), "{text}");
        }
    }

    /// Check that a message has the first line of an answer, cut where it is long, or says where it leads.
    #[test]
    fn answers_are_told_in_a_line() {
        let answer = |status, body: &str| Answer { status, body: body.into(), ..Answer::default() };
        assert_eq!(answer(401, "\n wrong token\nmore").reason(), "401: wrong token");
        assert_eq!(answer(500, "").reason(), "500");
        assert_eq!(answer(400, &"x".repeat(9999)).reason().len(), "400: ".len() + 300);
        let moved = Answer { location: Some("https://other".into()), ..answer(307, "moved") };
        assert!(moved.reason().contains("https://other"), "{}", moved.reason());
    }

    /// Check that a file without certificates is refused by its name.
    #[test]
    fn authorities_are_certificates() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        for text in ["", "no PEM", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"] {
            std::fs::write(&file, text).unwrap();
            let error = Client::new("https://localhost", Some(&file)).unwrap_err();
            assert!(format!("{error:#}").contains("ca.pem"), "{error:#}");
        }
        assert!(Client::new("http://localhost", Some(&folder.path().join("none"))).is_err());
        assert!(Client::new("http://localhost", None).is_ok());
    }
}
