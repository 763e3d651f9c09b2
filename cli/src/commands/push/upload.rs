//! A profile on its way: a request without the secrets that it takes, as it lies in the spool.
//!
//! ```text
//!  {"url": "https://…", "headers": [["content-type", "…"], …]}  a line
//!  the body                                                      to the end of the file
//! ```

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

/// Longest first line of a file.
const LONGEST: u64 = 64 << 10;

/// A request for a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Upload {
    pub(super) head: Head,
    pub(super) body: Vec<u8>,
}

/// Where a body goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
}

impl Upload {
    /// Writes it.
    pub(super) fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        serde_json::to_writer(&mut *out, &self.head)?;
        out.write_all(b"\n")?;
        out.write_all(&self.body)
    }

    /// Reads it, if it has so many bytes at most.
    pub(super) fn read(path: &Path, most: u64) -> anyhow::Result<Upload> {
        let (head, mut rest) = open(path)?;
        let mut body = Vec::new();
        rest.by_ref().take(most.saturating_add(1)).read_to_end(&mut body)?;
        if body.len() as u64 > most {
            bail!("{} is larger than the spool may be", path.display());
        }
        Ok(Upload { head, body })
    }
}

impl Head {
    /// Reads it alone.
    pub(super) fn read(path: &Path) -> anyhow::Result<Head> {
        open(path).map(|(head, _)| head)
    }
}

fn open(path: &Path) -> anyhow::Result<(Head, BufReader<File>)> {
    let mut file = BufReader::new(File::open(path).with_context(|| path.display().to_string())?);
    let mut line = Vec::new();
    file.by_ref().take(LONGEST).read_until(b'\n', &mut line)?;
    let head = serde_json::from_slice(&line).with_context(|| format!("{} is damaged", path.display()))?;
    Ok((head, file))
}
