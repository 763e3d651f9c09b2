//! The result of one check.

/// What was found, and how good that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Check {
    pub(super) verdict: Verdict,
    /// What was checked, in a word or two.
    pub(super) name: &'static str,
    /// What was found, and what to do if it is not good.
    pub(super) finding: String,
}

/// How good a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// As it should be, or only information.
    Good,
    /// Recordings work, but record less or cost more.
    Note,
    /// Recordings do not work.
    Bad,
}

impl Verdict {
    /// A word for tables.
    pub(super) fn word(self) -> &'static str {
        match self {
            Verdict::Good => "ok",
            Verdict::Note => "note",
            Verdict::Bad => "bad",
        }
    }
}

impl Check {
    pub(super) fn good(name: &'static str, finding: impl Into<String>) -> Check {
        Check { verdict: Verdict::Good, name, finding: finding.into() }
    }

    pub(super) fn note(name: &'static str, finding: impl Into<String>) -> Check {
        Check { verdict: Verdict::Note, name, finding: finding.into() }
    }

    pub(super) fn bad(name: &'static str, finding: impl Into<String>) -> Check {
        Check { verdict: Verdict::Bad, name, finding: finding.into() }
    }
}
