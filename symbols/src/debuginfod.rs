//! Debug files from servers, by build id.
//!
//! Servers are asked only when the user names some in `DEBUGINFOD_URLS`, as for gdb, and only when names are looked
//! up: nothing is sent anywhere while a program is recorded. Fetched files are kept where other tools keep them, and
//! are used from there later, even when no server is named:
//!
//! ```text
//! $DEBUGINFOD_CACHE_PATH, or ~/.cache/debuginfod_client
//!     3fa9…c4/debuginfo
//!     07b1…d2/debuginfo       empty: no server had it when this was made
//!     cache_miss_s            for how many seconds that is believed, where it is not 600
//! ```
//!
//! Requests are made by the program `curl`: it knows the system's certificates and proxies, and a profiler need not
//! bring its own TLS. As with any other file, one from a server counts only if its build id is the right one. A
//! server that cannot be reached is not asked again, and all requests together end after [`LONGEST`].

use std::ffi::OsString;
use std::fmt::Write;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long a server may send less than [`SLOWEST`] bytes a second; `DEBUGINFOD_TIMEOUT` sets another number of
/// seconds.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes a second below which a transfer makes no progress.
const SLOWEST: &str = "1000";
/// How long all requests of one lookup may take together.
const LONGEST: Duration = Duration::from_secs(180);
/// How long servers are asked before the user is told.
const SILENCE: Duration = Duration::from_secs(1);
/// How long a note that no server has a file is trusted.
const MISS: Duration = Duration::from_secs(600);
/// How long to wait for a connection.
const CONNECT: &str = "5";
/// Largest file that is taken: the debug files of browsers have some gigabytes.
const LARGEST: &str = "4294967296";
/// Curl's exit status for an HTTP error, and for a file larger than [`LARGEST`]. Neither counts as a failure of the
/// server; all others do.
const HTTP_ERROR: i32 = 22;
const TOO_LARGE: i32 = 63;
/// What servers answer about files that they do not have.
const MISSING: [&[u8]; 2] = [b"404", b"410"];

/// Servers with debug files, and where fetched files are kept. Without servers, kept files still count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Servers {
    /// Base addresses, `https://debuginfod.example.org`.
    pub urls: Vec<String>,
    /// Folder of fetched files.
    pub cache: PathBuf,
    /// How long a server may be silent.
    pub timeout: Duration,
    /// Told that servers are being asked, when that takes long.
    pub notice: Option<Notice>,
}

/// Called once with the address of the server being asked, when requests have taken longer than a second together.
#[derive(Clone, Copy, Debug)]
pub struct Notice(pub fn(&str));

impl PartialEq for Notice {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for Notice {}

impl Servers {
    /// The servers in the environment. None when it names none and nothing was ever fetched.
    pub fn from_env() -> Option<Servers> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        Servers::from(&variable).filter(|servers| !servers.urls.is_empty() || servers.cache.is_dir())
    }

    fn from(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<Servers> {
        let urls = variable("DEBUGINFOD_URLS").unwrap_or_default().to_string_lossy().into_owned();
        let urls = urls.split_whitespace().filter(|url| {
            ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme))
                && !url.contains(['{', '[', '\\'])
        });
        let urls: Vec<String> = urls.map(|url| url.trim_end_matches('/').to_owned()).collect();
        let cache = match (variable("DEBUGINFOD_CACHE_PATH"), variable("XDG_CACHE_HOME"), variable("HOME")) {
            (Some(path), _, _) => PathBuf::from(path),
            (None, Some(caches), _) => PathBuf::from(caches).join("debuginfod_client"),
            (None, None, home) => PathBuf::from(home?).join(".cache/debuginfod_client"),
        };
        let timeout = variable("DEBUGINFOD_TIMEOUT").and_then(|text| text.to_str()?.parse().ok());
        let timeout = timeout.filter(|&seconds| seconds > 0).map_or(TIMEOUT, Duration::from_secs);
        cache.is_absolute().then_some(Servers { urls, cache, timeout, notice: None })
    }
}

/// The requests of one lookup; shared by its threads.
#[derive(Debug)]
pub(crate) struct Client {
    servers: Servers,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// When to begin no more requests; set by the first.
    deadline: Option<Instant>,
    /// For each server: whether it could not be reached.
    is_down: Vec<bool>,
    /// Counts temporary files.
    attempts: u64,
    /// Time that requests took.
    spent: Duration,
    /// Whether the notice was given.
    is_told: bool,
}

impl Client {
    pub(crate) fn new(servers: Servers) -> Client {
        let state = State {
            deadline: None,
            is_down: vec![false; servers.urls.len()],
            attempts: 0,
            spent: Duration::ZERO,
            is_told: servers.notice.is_none(),
        };
        Client { servers, state: Mutex::new(state) }
    }

    /// The debug file with this build id, fetched unless it is kept. One request at a time, out of politeness to
    /// servers.
    pub(crate) fn debug_file(&self, build_id: &[u8]) -> Option<PathBuf> {
        if build_id.is_empty() || build_id.len() > 64 {
            return None;
        }
        let mut id = String::new();
        for byte in build_id {
            // Writing to a String cannot fail.
            let _ = write!(id, "{byte:02x}");
        }
        let kept = self.servers.cache.join(&id).join("debuginfo");
        if is_whole(&kept) {
            return Some(kept);
        }
        if self.servers.urls.is_empty() {
            return None;
        }
        let mut state = self.state.lock().ok()?;
        if is_whole(&kept) {
            return Some(kept);
        }
        if self.is_missed(&kept) {
            return None;
        }
        let mut nobody_has_it = true;
        let deadline = *state.deadline.get_or_insert_with(|| Instant::now() + LONGEST);
        for (index, url) in self.servers.urls.iter().enumerate() {
            let left = deadline.saturating_duration_since(Instant::now());
            if state.is_down[index] || left.is_zero() {
                nobody_has_it = false;
                continue;
            }
            state.attempts += 1;
            let part =
                kept.with_file_name(format!("debuginfo.{}.{}.part", std::process::id(), state.attempts));
            let from = format!("{url}/buildid/{id}/debuginfo");
            match self.telling(&mut state, url, || self.fetch(&from, &part, left)) {
                Answer::File if fs::rename(&part, &kept).is_ok() => return Some(kept),
                Answer::File | Answer::Unclear => nobody_has_it = false,
                Answer::Nothing => {}
                Answer::Down => (state.is_down[index], nobody_has_it) = (true, false),
            }
            let _ = fs::remove_file(&part);
        }
        if nobody_has_it {
            // Notes the miss as other tools do. An older note is out of date, and may be unwritable.
            let _ = fs::remove_file(&kept);
            let _ = File::create_new(&kept);
        }
        // Removes the folder only if it is empty.
        let _ = kept.parent().map(fs::remove_dir);
        None
    }

    /// Whether it was noted recently that no server has this file.
    fn is_missed(&self, kept: &Path) -> bool {
        let Ok(file) = fs::metadata(kept) else { return false };
        let age = file.modified().ok().and_then(|noted| noted.elapsed().ok());
        file.is_file() && file.len() == 0 && age.is_some_and(|age| age <= self.miss())
    }

    /// How long such a note is trusted: set by other tools, or by the user, in a file of the cache.
    fn miss(&self) -> Duration {
        let mut text = String::new();
        let file = File::open(self.servers.cache.join("cache_miss_s"));
        let read = file.and_then(|file| file.take(32).read_to_string(&mut text));
        read.ok().and_then(|_| text.trim().parse().ok()).map_or(MISS, Duration::from_secs)
    }

    /// Makes a request, and gives the notice once all requests together have taken longer than [`SILENCE`].
    fn telling<T>(&self, state: &mut State, url: &str, request: impl FnOnce() -> T) -> T {
        let Some(notice) = self.servers.notice.filter(|_| !state.is_told) else { return request() };
        let begun = Instant::now();
        let left = SILENCE.saturating_sub(state.spent);
        let (done, over) = channel::<()>();
        let answer = thread::scope(|scope| {
            let wait = move || {
                let is_late = over.recv_timeout(left) == Err(RecvTimeoutError::Timeout);
                if is_late {
                    (notice.0)(url);
                }
                is_late
            };
            // Without a thread there is no notice.
            let teller = thread::Builder::new().spawn_scoped(scope, wait);
            let answer = request();
            drop(done);
            state.is_told = teller.is_ok_and(|teller| teller.join().unwrap_or(true));
            answer
        });
        state.spent += begun.elapsed();
        answer
    }

    fn fetch(&self, url: &str, part: &Path, left: Duration) -> Answer {
        if part.parent().is_none_or(|folder| fs::create_dir_all(folder).is_err()) {
            return Answer::Nothing;
        }
        let seconds = |time: Duration| time.as_secs().max(1).to_string();
        let mut curl = Command::new("curl");
        // `--disable` must come first: no curlrc of the user has any effect.
        curl.args(["--disable", "--silent", "--fail", "--location", "--max-redirs", "5", "--globoff"]);
        curl.args(["--proto", "=http,https", "--connect-timeout", CONNECT, "--max-filesize", LARGEST]);
        curl.args(["--speed-limit", SLOWEST, "--speed-time", &seconds(self.servers.timeout)]);
        curl.args(["--max-time", &seconds(left), "--user-agent", "sysprof-memprof"]);
        curl.args(["--write-out", "%{http_code}", "--output"]).arg(part).arg("--").arg(url);
        curl.stdin(Stdio::null()).stderr(Stdio::null());
        // Keeps our agent out of curl. It stays in our process group, so the user's ^C ends it, too.
        curl.env_remove("LD_PRELOAD");
        let Ok(answer) = curl.output() else { return Answer::Down };
        match answer.status.code() {
            Some(0) if is_whole(part) => Answer::File,
            Some(TOO_LARGE) => Answer::Nothing,
            Some(HTTP_ERROR) if MISSING.contains(&&*answer.stdout) => Answer::Nothing,
            Some(0 | HTTP_ERROR) => Answer::Unclear,
            _ => Answer::Down,
        }
    }
}

/// Outcome of a request.
enum Answer {
    File,
    /// The server has no such file.
    Nothing,
    /// It does not say: an error of its own, a refusal, or an empty file.
    Unclear,
    /// The server cannot be reached, or there is no curl.
    Down,
}

/// Empty files are notes that no server has the file.
fn is_whole(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check what the environment means: the order of places for files, and that invalid addresses are left out.
    #[test]
    fn environment_names_servers() {
        let of = |variables: &[(&str, &str)]| {
            let find = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| value.into());
            Servers::from(&find)
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("DEBUGINFOD_URLS", "http://x")]), None);
        for urls in ["", "ftp://x file:///y"] {
            let servers = of(&[("DEBUGINFOD_URLS", urls), ("HOME", "/home/a")]).unwrap();
            let cache = PathBuf::from("/home/a/.cache/debuginfod_client");
            assert_eq!((servers.urls, servers.cache), (Vec::new(), cache));
        }
        let urls = ("DEBUGINFOD_URLS", "https://a.example/ http://b:1/sub  http://{c}");
        for (more, cache, timeout) in [
            (vec![("HOME", "/home/a")], "/home/a/.cache/debuginfod_client", 30),
            (vec![("HOME", "/home/a"), ("XDG_CACHE_HOME", "/c")], "/c/debuginfod_client", 30),
            (vec![("XDG_CACHE_HOME", "/c"), ("DEBUGINFOD_CACHE_PATH", "/d")], "/d", 30),
            (vec![("HOME", "/h"), ("DEBUGINFOD_TIMEOUT", "7")], "/h/.cache/debuginfod_client", 7),
            (vec![("HOME", "/h"), ("DEBUGINFOD_TIMEOUT", "x")], "/h/.cache/debuginfod_client", 30),
        ] {
            let servers = of(&[vec![urls], more].concat()).unwrap();
            assert_eq!(servers.urls, ["https://a.example", "http://b:1/sub"]);
            assert_eq!(servers.cache, PathBuf::from(cache));
            assert_eq!(servers.timeout, Duration::from_secs(timeout));
        }
    }
}
