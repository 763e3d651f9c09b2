//! A second capture, with which the web report compares the first.

use super::opened_capture;
use crate::exit::Failure;
use analysis::Spelling;
use clap::Args;
use engine::{Loaded, Naming};
use std::path::{Path, PathBuf};
use web::Baseline;

/// What stands behind the capture where two are given: as for `diff`, the older one comes first.
#[derive(Args, Debug)]
pub(super) struct TwoCaptures {
    /// Newer capture: show it, and what has changed since the first one
    #[arg(value_name = "NEWER")]
    newer: Option<PathBuf>,
    /// Ignore template arguments when functions of the two captures are matched
    #[arg(long, requires = "newer")]
    ignore_templates: bool,
}

/// The capture that the shown one is compared with.
#[derive(Debug)]
pub(super) struct BaselineFile {
    file: PathBuf,
    spelling: Spelling,
}

impl TwoCaptures {
    /// The capture that is shown, and the older one, if there are two.
    pub(super) fn sides<'a>(&'a self, first: &'a Path) -> (&'a Path, Option<BaselineFile>) {
        let spelling = if self.ignore_templates { Spelling::WithoutTemplates } else { Spelling::Exact };
        match &self.newer {
            Some(newer) => (newer, Some(BaselineFile { file: first.to_owned(), spelling })),
            None => (first, None),
        }
    }
}

impl BaselineFile {
    /// Fails if the newer file is not a capture, before a long pass over the other one.
    pub(super) fn check(&self) -> Result<(), Failure> {
        opened_capture::analyzer(&self.file).map(drop)
    }
}

/// Adds the comparison with the older capture, if there is one.
pub(super) fn compared(
    baseline: Option<&BaselineFile>,
    shown: Loaded,
    naming: Naming,
) -> Result<(Loaded, Option<Baseline>), Failure> {
    let Some(BaselineFile { file, spelling }) = baseline else { return Ok((shown, None)) };
    let (shown, changes) = Baseline::new(opened_capture::open(file, naming)?, shown, *spelling)?;
    Ok((shown, Some(changes)))
}
