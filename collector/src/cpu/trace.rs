//! Tracepoints: what the user asks for, and how the kernel describes it.
//!
//! ```text
//!  block:block_rq_issue/bytes/sector
//!  └─┬─┘ └─────┬──────┘ └─┬─┘ └─┬──┘
//!  system     name      size   cookie      the last two may be left out
//! ```

mod fields;
mod folder;

pub(crate) use folder::{Located, NotLocated, locate};

use super::refusal::{Refusal, TRACEPOINTS};
use crate::base::cpu_options::{CpuOptions, Scope};
use std::fmt;
use std::str::FromStr;

/// A tracepoint to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    system: String,
    name: String,
    /// The field to add up; `None` for the usual one of the system.
    size: Option<String>,
    /// The field that tells which hits belong together; `None` for the usual one of the system.
    cookie: Option<String>,
}

/// A text that is not a tracepoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` names no tracepoint: give SYSTEM:NAME, as in block:block_rq_issue, and the field to add up after a slash, \
     as in block:block_rq_issue/bytes"
)]
pub struct NoTrace(String);

impl Trace {
    /// Most tracepoints at once: each takes a ring on each processor.
    pub const MOST: usize = 16;
}

impl FromStr for Trace {
    type Err = NoTrace;

    fn from_str(text: &str) -> Result<Self, NoTrace> {
        let refused = || NoTrace(text.to_owned());
        let mut parts = text.split('/');
        let (system, name) = parts.next().and_then(|event| event.split_once(':')).ok_or_else(refused)?;
        let [size, cookie] = [parts.next(), parts.next()].map(|part| part.map(str::to_owned));
        let words = [Some(system), Some(name), size.as_deref(), cookie.as_deref()];
        // They become file names.
        let is_word = |word: &str| {
            !word.is_empty() && word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        };
        if parts.next().is_some() || !words.into_iter().flatten().all(is_word) {
            return Err(refused());
        }
        Ok(Trace { system: system.to_owned(), name: name.to_owned(), size, cookie })
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}:{}", self.system, self.name)
    }
}

/// Tracepoints that can be recorded, and why the others cannot.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    pub(crate) located: Vec<Located>,
    /// A sentence; empty if nothing was refused.
    pub(crate) refused: String,
}

impl Traces {
    /// Looks up what was asked for.
    ///
    /// # Errors
    /// A sentence if the kernel has no such tracepoint or field: the request is mistaken then, rather than not
    /// permitted.
    pub(crate) fn locate(wanted: &[Trace]) -> Result<Traces, String> {
        if wanted.len() > Trace::MOST {
            return Err(format!(
                "{} tracepoints at once are too many: {} are possible",
                wanted.len(),
                Trace::MOST
            ));
        }
        let mut traces = Traces::default();
        for trace in wanted {
            match locate(trace) {
                Ok(located) => traces.located.push(located),
                Err(NotLocated::Unknown(sentence)) => return Err(sentence),
                Err(NotLocated::Refused(sentence)) => traces.refused = format!("{TRACEPOINTS}: {sentence}"),
            }
        }
        Ok(traces)
    }

    /// Notes why the kernel refused to open them.
    pub(super) fn refuse(&mut self, error: std::io::Error, scope: Scope) {
        self.refused = Refusal::new(error, scope, TRACEPOINTS).text();
    }
}

/// Checks whether tracepoints can be recorded here, without recording any; the error says what prevents it.
pub(super) fn probe(options: CpuOptions) -> Result<(), String> {
    let any = Trace { system: "sched".into(), name: "sched_process_exec".into(), size: None, cookie: None };
    let mut traces = Traces::locate(std::slice::from_ref(&any))?;
    if !traces.located.is_empty() {
        let options = CpuOptions { processors: false, faults: false, ..options };
        super::event::Events::open(options, &mut traces, true);
    }
    if traces.refused.is_empty() { Ok(()) } else { Err(traces.refused) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that tracepoints are parsed with and without their fields, and that nothing else is, above all no path.
    #[test]
    fn tracepoints_are_read() {
        let trace = |size: Option<&str>, cookie: Option<&str>| Trace {
            system: "block".into(),
            name: "block_rq_issue".into(),
            size: size.map(str::to_owned),
            cookie: cookie.map(str::to_owned),
        };
        for (text, expected) in [
            ("block:block_rq_issue", trace(None, None)),
            ("block:block_rq_issue/bytes", trace(Some("bytes"), None)),
            ("block:block_rq_issue/bytes/sector", trace(Some("bytes"), Some("sector"))),
        ] {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
        for text in
            ["", "block", "block:", ":name", "a:b/", "a:b/c/d/e", "../a:b", "a:..", "a:b/c.d", "a:b c"]
        {
            let error = text.parse::<Trace>().unwrap_err().to_string();
            assert!(error.contains("give SYSTEM:NAME"), "{text}: {error}");
        }
    }
}
