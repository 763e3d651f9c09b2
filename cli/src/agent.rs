//! The agent library that is embedded in this executable.

use crate::installed;
use crate::log::debug;
use crate::message;
use anyhow::{Error, anyhow};
use collector::attach::agent_file::{self, AgentFile, Library, NoPlace, Reason, Unusable};
use std::path::PathBuf;

/// The library, built by this crate's build script.
pub(crate) const BYTES: &[u8] = include_bytes!(env!("SYSPROF_MEMPROF_AGENT"));
/// Its hash, made by that script, too.
const HASH: &str = env!("SYSPROF_MEMPROF_AGENT_HASH");

/// An agent that targets can load.
#[derive(Debug)]
pub(crate) struct Available {
    /// The library.
    pub(crate) path: PathBuf,
    /// True for a copy that all users can read and that stays; false for one in a private folder.
    pub(crate) installed: bool,
}

/// Returns the installed agent if it is of this version, otherwise a private copy, which is made if necessary. If an
/// existing private folder cannot be used, the error names it.
pub(crate) fn provide() -> Result<Available, Error> {
    if let Some(path) = installed::find(BYTES) {
        debug!("agent: {} is installed", path.display());
        return Ok(Available { path, installed: true });
    }
    let library = Library { bytes: BYTES, hash: HASH };
    let AgentFile { path, passed_over } =
        AgentFile::provide(library, &agent_file::candidates()).map_err(no_place)?;
    for unusable in passed_over {
        let text = format!("{} cannot hold the agent: {}", unusable.folder.display(), unusable.reason);
        match unusable.reason {
            Reason::Absent => debug!("{text}"),
            _ => message::note(&format!("{text}. Taking {} instead.", path.display())),
        }
    }
    debug!("agent: {} is a private copy", path.display());
    Ok(Available { path, installed: false })
}

/// Names the folder at fault, and says whether the user chose it.
fn no_place(error: NoPlace) -> Error {
    const CHOICE: &str = "SYSPROF_MEMPROF_DIR";
    let chosen = std::env::var_os(CHOICE).map(PathBuf::from);
    let (Some(chosen), [Unusable { folder, reason }]) = (chosen, error.tried.as_slice()) else {
        return error.into();
    };
    // An error that the chosen folder is not to blame for is reported as it is.
    if chosen != *folder || matches!(reason, Reason::Files | Reason::Large) {
        return error.into();
    }
    let other = match reason {
        Reason::Noexec => "a folder on another file system",
        Reason::Absent => "a folder whose parent is there",
        Reason::Full(_) => "a folder where there is room",
        _ => "another folder",
    };
    let folder = folder.display();
    anyhow!("{CHOICE} is {folder}, which cannot hold the agent: {reason}. Set it to {other}, or unset it.")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that the embedded agent is a shared library.
    #[test]
    fn embedded_agent_is_a_library() {
        assert!(BYTES.starts_with(b"\x7fELF"));
        // e_type of the ELF header: ET_DYN.
        assert_eq!(BYTES.get(16..18), Some([3, 0].as_slice()));
    }
}
