//! Families of metrics: of one meaning and unit, for any number of processes.

use crate::commands::labels::Labels;

/// What a family's values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// May go up and down.
    Gauge,
    /// Only rises, until its process or recording ends.
    Counter,
}

/// A value with its labels.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) labels: Labels,
    pub(super) value: f64,
}

/// A family.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Family {
    /// Its name; of a counter without `_total`.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) help: &'static str,
    pub(super) samples: Vec<Sample>,
}

/// Families in the order in which they were first added to.
#[derive(Clone, Debug, Default)]
pub(super) struct Families(pub(super) Vec<Family>);

/// Name, kind and meaning of a family.
pub(super) type Meaning = (&'static str, Kind, &'static str);

impl Families {
    /// Adds a value; none where it is unknown.
    pub(super) fn add(&mut self, (name, kind, help): Meaning, labels: &Labels, value: Option<f64>) {
        let Some(value) = value else { return };
        let sample = Sample { labels: labels.clone(), value };
        match self.0.iter_mut().find(|family| family.name == name) {
            Some(family) => family.samples.push(sample),
            None => self.0.push(Family { name, kind, help, samples: vec![sample] }),
        }
    }
}
