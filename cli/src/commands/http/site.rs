//! What can be requested, and by whom.

use super::families::Families;
use super::metrics;
use super::open_metrics::Format;
use crate::commands::live::{Heaps, Missing};
use analysis::Metric;
use engine::Loaded;
use http_server::{Answer, Request, is_same};
use std::net::IpAddr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Metrics so young are given out again: whoever asks more often gets no others.
const YOUNG: Duration = Duration::from_millis(500);
/// The longest change that can be asked for.
const LONGEST: u64 = 300;

/// The index of profiles, at the path where Go's programs have it.
const INDEX: &str = r#"<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>sysprof-memprof</title>
<h1>sysprof-memprof</h1>
<ul>
<li><a href="/metrics">/metrics</a>: for Prometheus
<li><a href="/debug/pprof/heap">/debug/pprof/heap</a>: what is held now; <code>?pid=</code> for one process,
<code>?seconds=</code> for how it changes
<li><a href="/debug/pprof/allocs">/debug/pprof/allocs</a>: the same, what was allocated first
<li><a href="/healthz">/healthz</a>
</ul>
"#;

/// Metrics and profiles.
pub(super) struct Site {
    heaps: Heaps,
    token: Option<String>,
    /// It is reached by an address, which a web page may have given a name of its own.
    has_port: bool,
    /// What the user says of the recording.
    labels: Vec<(String, String)>,
    /// What was collected last, and when.
    last: Mutex<Option<(Instant, Families)>>,
}

/// Which profile is asked for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Question {
    pid: Option<u32>,
    seconds: Option<u64>,
}

impl Question {
    /// The answer for parameters that are something else. Those that are unknown are for other servers.
    fn of(request: &Request) -> Result<Question, Answer> {
        let mut question = Question::default();
        for (name, value) in request.parameters() {
            let number =
                || value.parse().map_err(|_| Answer::error(400, "`pid` and `seconds` must be numbers"));
            match name {
                "pid" => question.pid = Some(number()?),
                "seconds" => question.seconds = Some(number()?.into()),
                _ => {}
            }
        }
        if question.seconds.is_some_and(|seconds| seconds > LONGEST) {
            return Err(Answer::error(400, &format!("`seconds` may be {LONGEST} at most")));
        }
        Ok(question)
    }
}

impl Site {
    pub(super) fn new(
        heaps: Heaps,
        token: Option<String>,
        has_port: bool,
        labels: Vec<(String, String)>,
    ) -> Site {
        Site { heaps, token, has_port, labels, last: Mutex::default() }
    }

    fn metrics(&self, request: &Request) -> Answer {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let young = last.take().filter(|(time, _)| time.elapsed() < YOUNG);
        let (time, families) =
            young.unwrap_or_else(|| (Instant::now(), metrics::collect(&self.heaps, &self.labels)));
        let format = Format::of(&request.accept);
        let text = format.text(&families.0);
        *last = Some((time, families));
        Answer::found(format.content_type(), text)
    }

    fn profile(&self, request: &Request, first: Metric, gone: &AtomicBool) -> Answer {
        let Question { pid, seconds } = match Question::of(request) {
            Ok(question) => question,
            Err(refusal) => return refusal,
        };
        let loaded = match seconds {
            Some(seconds) if seconds > 0 => self.heaps.change(pid, Duration::from_secs(seconds), gone),
            _ => self.heaps.now(pid),
        };
        match loaded {
            Ok(loaded) => pprof(&loaded, first),
            Err(missing) => refusal(missing),
        }
    }
}

fn pprof(loaded: &Loaded, first: Metric) -> Answer {
    let mut body = Vec::new();
    match export::live_pprof(&mut body, loaded, first) {
        Ok(()) => Answer::found("application/octet-stream", body)
            .with("content-disposition", "attachment; filename=\"heap.pb.gz\""),
        Err(error) => Answer::error(500, &error.to_string()),
    }
}

fn refusal(missing: Missing) -> Answer {
    match missing {
        Missing::NotRecorded(text) => Answer::error(404, &text),
        Missing::Several(pids) => {
            let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
            Answer::error(
                400,
                &format!("several processes are recorded: choose one with ?pid=, of {}", pids.join(", ")),
            )
        }
        Missing::NotKept => Answer::error(
            501,
            "this recording keeps no stacks that could be read: it is aggregated, sent elsewhere or only shown by top",
        ),
        Missing::Replaced => Answer::error(409, "another recording has begun meanwhile"),
        Missing::Failed(text) => Answer::error(500, &text),
        Missing::Cancelled => Answer::error(503, "cancelled"),
    }
}

/// True for a host that no web page can have given its own name: an address, or this machine's own name for itself.
fn is_own(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok()
}

impl http_server::Site for Site {
    fn admit(&self, request: &Request) -> Result<(), Answer> {
        match &self.token {
            Some(token) if !request.token.as_deref().is_some_and(|given| is_same(given, token)) => {
                return Err(Answer::error(401, "a token is needed").with("www-authenticate", "Bearer"));
            }
            None if self.has_port && !is_own(&request.host) => {
                return Err(Answer::error(421, "wrong Host header: use the address of this machine"));
            }
            _ => {}
        }
        match request.path.as_str() {
            "/metrics" | "/debug/pprof/heap" | "/debug/pprof/allocs" => Ok(()),
            "/healthz" => Err(Answer::found("text/plain; charset=utf-8", "ok\n")),
            "/" | "/debug/pprof/" => Err(Answer::found("text/html; charset=utf-8", INDEX)
                .with("content-security-policy", "default-src 'none'")),
            "/debug/pprof" => Err(Answer::error(301, "moved").with("location", "/debug/pprof/")),
            "/debug/pprof/profile" => {
                Err(Answer::error(501, "CPU samples are in the capture: see sysprof-memprof report --cpu"))
            }
            _ => Err(Answer::error(404, "not found: see /debug/pprof/")),
        }
    }

    fn answer(&self, request: &Request, gone: &Arc<AtomicBool>) -> Answer {
        match request.path.as_str() {
            "/metrics" => self.metrics(request),
            "/debug/pprof/heap" => self.profile(request, Metric::Live, gone),
            _ => self.profile(request, Metric::Bytes, gone),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Naming;
    use http_server::Site as _;

    fn site(token: Option<&str>, has_port: bool) -> Site {
        Site::new(
            Heaps::new(Box::new(Vec::new), Naming::Stored),
            token.map(str::to_owned),
            has_port,
            Vec::new(),
        )
    }

    fn ask(site: &Site, target: &str, host: &str, token: Option<&str>) -> u16 {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let (path, query, host) = (path.to_owned(), query.to_owned(), host.to_owned());
        let request = Request { path, query, host, token: token.map(str::to_owned), ..Request::default() };
        match site.admit(&request) {
            Ok(()) => site.answer(&request, &Arc::default()).status,
            Err(answer) => answer.status,
        }
    }

    /// Check that only those who have the token are answered, whatever they ask for, and that others learn nothing.
    #[test]
    fn strangers_get_nothing() {
        let (guarded, expected) = (site(Some("0123456789abcdef"), true), Some("0123456789abcdef"));
        for target in ["/healthz", "/metrics", "/debug/pprof/heap", "/nothing"] {
            for token in [None, Some(""), Some("0123456789abcdeg"), Some("0123456789abcdef0")] {
                assert_eq!(ask(&guarded, target, "example.org", token), 401, "{target} {token:?}");
            }
        }
        assert_eq!(ask(&guarded, "/healthz", "example.org", expected), 200);
        assert_eq!(ask(&guarded, "/nothing", "example.org", expected), 404);
    }

    /// Check that a web page which gives its own name to this machine gets nothing.
    #[test]
    fn names_of_others_are_refused() {
        for (host, status) in [
            ("127.0.0.1:9464", 200),
            ("[::1]:9464", 200),
            ("localhost", 200),
            ("LOCALHOST:1", 200),
            ("evil.example:9464", 421),
            ("127.0.0.1.evil.example", 421),
            ("", 421),
        ] {
            assert_eq!(ask(&site(None, true), "/healthz", host, None), status, "{host}");
            assert_eq!(ask(&site(None, false), "/healthz", host, None), 200, "{host}");
        }
    }

    /// Check what there is while nothing is recorded, and which questions are malformed.
    #[test]
    fn questions_are_checked() {
        for (target, status) in [
            ("/", 200),
            ("/debug/pprof/", 200),
            ("/debug/pprof", 301),
            ("/metrics", 200),
            ("/debug/pprof/profile?seconds=1", 501),
            ("/debug/pprof/heap", 404),
            ("/debug/pprof/allocs?gc=1", 404),
            ("/debug/pprof/heap?pid=x", 400),
            ("/debug/pprof/heap?pid=-1", 400),
            ("/debug/pprof/heap?seconds=301", 400),
            ("/debug/pprof/heap?seconds=99999999999999999999", 400),
            ("/../etc/passwd", 404),
        ] {
            assert_eq!(ask(&site(None, true), target, "localhost", None), status, "{target}");
        }
    }
}
