//! The variables that make the dynamic loader load the agent, and let the agent find the recording.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use super::virtual_machine;
use crate::attach::agent_file::FILE_NAME;
use crate::proc::preloaded;
use shared_ring::key::Key;

/// The variables that [`Environment`] sets; the caller's own under these names are not passed on.
const OURS: [&str; 3] = ["LD_PRELOAD", "SYSPROF_MEMPROF_SOCKET", Key::VARIABLE];

/// Longest message to a waiting process; the kernel's limit for one variable is twice that.
pub(super) const MAX_MESSAGE: usize = 64 << 10;

/// What differs in the target's environment. Must not be printed, because it contains the recording's key.
#[derive(Clone)]
pub struct Environment {
    variables: Vec<(&'static str, OsString)>,
}

impl Environment {
    /// The variables for a recording: `agent` is the library, `socket` is where the recording listens, `key` is what
    /// processes of other users must show. Everything else is sent to the agent through the socket, so that all
    /// processes of a recording get the same settings.
    ///
    /// Libraries already preloaded stay, after the agent: its malloc must come first, and then finds theirs as the
    /// next one. With `names_scripts`, virtual machines are told to name the functions that they compile.
    pub fn new(agent: &Path, socket: &Path, key: Option<Key>, names_scripts: bool) -> Environment {
        let before = std::env::var_os("LD_PRELOAD").unwrap_or_default();
        let mut variables = vec![
            ("LD_PRELOAD", preload(agent, &before)),
            ("SYSPROF_MEMPROF_SOCKET", socket.as_os_str().to_os_string()),
        ];
        variables.extend(key.map(|key| (Key::VARIABLE, OsString::from_vec(key.to_text().to_vec()))));
        if names_scripts {
            variables.extend(virtual_machine::variables());
        }
        Environment { variables }
    }

    /// The variables as the waiting process reads them: the length, then each `NAME=VALUE` with a NUL.
    ///
    /// ```text
    ///   1b 00 00 00 │ LD_PRELOAD=/run/user/7/a.so 00 …
    /// ```
    pub(super) fn message(&self) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        for (name, value) in &self.variables {
            text.extend_from_slice(name.as_bytes());
            text.push(b'=');
            text.extend_from_slice(value.as_bytes());
            text.push(0);
        }
        match u32::try_from(text.len()) {
            Ok(length) if text.len() <= MAX_MESSAGE => Ok([&length.to_ne_bytes(), text.as_slice()].concat()),
            _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "LD_PRELOAD is too long")),
        }
    }
}

/// `agent`, then what is already preloaded except other copies of the agent: a second one would record everything
/// again.
fn preload(agent: &Path, before: &OsStr) -> OsString {
    let mut list = agent.as_os_str().as_bytes().to_vec();
    for library in preloaded::libraries(before).filter(|library| !is_agent(library)) {
        list.push(b':');
        list.extend_from_slice(library);
    }
    OsString::from_vec(list)
}

/// True for the path of an agent library, installed or private.
fn is_agent(library: &[u8]) -> bool {
    let name = preloaded::file_name(library);
    let stem = FILE_NAME.trim_end_matches("so");
    name.starts_with(stem.as_bytes()) && name.ends_with(b".so")
}

/// The caller's environment without our variables, as `NAME=VALUE`.
pub(super) fn inherited() -> io::Result<Vec<CString>> {
    let mut kept = Vec::new();
    for (name, value) in std::env::vars_os() {
        if OURS.iter().all(|ours| name != *ours) {
            kept.push(CString::new([name.as_bytes(), b"=", value.as_bytes()].concat())?);
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that the agent comes first, other libraries keep their order, and older agents are removed.
    #[test]
    fn agent_is_preloaded_first() {
        let cases = [
            ("", "/run/agent.so"),
            ("libjemalloc.so.2", "/run/agent.so:libjemalloc.so.2"),
            ("/a.so:/b.so /c.so", "/run/agent.so:/a.so:/b.so:/c.so"),
            (":/a.so::", "/run/agent.so:/a.so"),
            ("/x/libsysprof_memprof_preload.so:/a.so", "/run/agent.so:/a.so"),
            ("/x/libsysprof_memprof_preload.0123456789abcdef.so", "/run/agent.so"),
            (
                "/x/libsysprof_memprof_preload.so/other.so",
                "/run/agent.so:/x/libsysprof_memprof_preload.so/other.so",
            ),
        ];
        for (before, expected) in cases {
            assert_eq!(preload(Path::new("/run/agent.so"), OsStr::new(before)), expected, "{before:?}");
        }
    }

    /// Check that a message starts with its length, and that a list too long for the process is refused.
    #[test]
    fn message_is_bounded() {
        let environment = Environment { variables: vec![("A", "b".into()), ("C", "".into())] };
        assert_eq!(environment.message().unwrap(), [&7u32.to_ne_bytes(), b"A=b\0C=\0".as_slice()].concat());
        let long = Environment { variables: vec![("A", "b".repeat(MAX_MESSAGE).into())] };
        assert_eq!(long.message().unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
