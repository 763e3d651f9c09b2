//! Labels of processes: where they ran, and what the user says of them.

use super::filter::Unknown;
use super::pattern::Pattern;
use capture::{Process, Tables};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Short names of labels that have OpenTelemetry's.
const SHORT: [(&str, &str); 3] =
    [("host", "host.name"), ("service", "service.name"), ("version", "service.version")];

/// The value of a label, by its name or a short one: `host`, `service`, `version`. What was said of the whole recording
/// counts more than what a process says.
///
/// ```
/// # use analysis::query::label;
/// # use capture::{Process, Tables};
/// let process = Process { labels: vec![("service.version".into(), "1.2".into())], ..Process::default() };
/// assert_eq!(label(&Tables::default(), &process, "version"), Some("1.2"));
/// ```
pub fn label<'t>(tables: &'t Tables, process: &'t Process, name: &str) -> Option<&'t str> {
    let of = |name: &str| {
        let mut labels = tables.metadata.labels.iter().chain(&process.labels);
        labels.find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    };
    let full = || SHORT.iter().find(|(short, _)| *short == name).map(|(_, full)| *full);
    of(name).or_else(|| of(full()?))
}

/// The names of all labels.
pub fn label_names(tables: &Tables) -> BTreeSet<&str> {
    let of_processes = tables.processes.iter().flat_map(|process| &process.labels);
    tables.metadata.labels.iter().chain(of_processes).map(|(name, _)| name.as_str()).collect()
}

/// Processes with a label: `version=1.2`, `host=web-*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labelled {
    name: String,
    value: Pattern,
}

impl Labelled {
    /// By process, whether it has the label.
    pub fn taken(&self, tables: &Tables) -> Vec<bool> {
        let takes = |row| label(tables, row, &self.name).is_some_and(|value| self.value.matches(value));
        tables.processes.iter().map(takes).collect()
    }

    /// True when any process has it.
    pub fn is_in(&self, tables: &Tables) -> bool {
        self.taken(tables).contains(&true)
    }

    /// The values that the label has instead.
    pub fn values<'t>(&self, tables: &'t Tables) -> impl Iterator<Item = &'t str> {
        tables.processes.iter().filter_map(|row| label(tables, row, &self.name))
    }

    /// That nothing has it, but what these have.
    pub fn unknown(&self, values: BTreeSet<String>) -> Unknown {
        Unknown::new("label", &self.to_string(), values.iter().map(|value| format!("{}={value}", self.name)))
    }
}

impl fmt::Display for Labelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

/// The text is no label.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a label like version=1.2 or host=web-*")]
pub struct LabelError;

impl FromStr for Labelled {
    type Err = LabelError;

    fn from_str(text: &str) -> Result<Self, LabelError> {
        let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or(LabelError)?;
        Ok(Self { name: name.to_owned(), value: Pattern::glob(value) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(labels: &[(&str, &str)]) -> Vec<(String, String)> {
        labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// Check which processes a label selects: by its name or a short one, which a label of that very name comes before,
    /// by a pattern for its value, and by what was said of the recording before what the process says.
    #[test]
    fn processes_are_selected_by_labels() {
        let mut tables = Tables::default();
        tables.metadata.labels = labels(&[("host.name", "web-1"), ("team", "a")]);
        for of_process in
            [labels(&[("service.version", "1.2"), ("team", "b")]), labels(&[("version", "2")]), Vec::new()]
        {
            tables.processes.push(Process { labels: of_process, ..Process::default() });
        }
        for (text, expected) in [
            ("host=web-*", [true, true, true]),
            ("host.name=web-1", [true, true, true]),
            ("version=1.2", [true, false, false]),
            ("version=2", [false, true, false]),
            ("version=*", [true, true, false]),
            ("team=a", [true, true, true]),
            ("team=b", [false, false, false]),
            ("version=", [false, false, false]),
        ] {
            let labelled: Labelled = text.parse().unwrap();
            assert_eq!(labelled.taken(&tables), expected, "{text}");
            assert_eq!(labelled.to_string(), text);
        }
        assert_eq!(["", "=1", "1.2"].map(|text| text.parse::<Labelled>().is_err()), [true; 3]);
        let names: Vec<&str> = label_names(&tables).into_iter().collect();
        assert_eq!(names, ["host.name", "service.version", "team", "version"]);
    }
}
