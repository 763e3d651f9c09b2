//! The two numbers of a metric in words.

use super::words::words;
use crate::table::Value;
use crate::views::{Numbers, changed, heads};
use analysis::{Amount, Metric, Spread};
use engine::Loaded;

/// The units of a metric in a capture: samples may stand for time or for cycles.
#[derive(Clone, Copy)]
pub struct Units<'a> {
    loaded: &'a Loaded,
    metric: Metric,
    numbers: Numbers,
}

impl<'a> Units<'a> {
    /// The units of this metric.
    pub fn of(loaded: &'a Loaded, metric: Metric) -> Self {
        Self { loaded, metric, numbers: Numbers::new(loaded, metric) }
    }

    /// The headers of the ranking number and of the other one.
    pub fn heads(self) -> (&'static str, &'static str) {
        heads(self.loaded, self.metric).into()
    }

    /// The ranking number, and the other one.
    pub fn pair(self, amount: Amount) -> (String, String) {
        self.said(self.numbers.pair(amount, Spread::ZERO))
    }

    /// The same for a change: growth has a leading `+`.
    pub fn signed(self, change: Amount) -> (String, String) {
        self.said(changed(self.numbers.pair(change, Spread::ZERO)))
    }

    fn said(self, numbers: [Value; 2]) -> (String, String) {
        numbers.map(|number| words(self.loaded, &number, usize::MAX)).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::Profile;
    use capture::{Summary, Tables};
    use engine::Source;

    /// A capture whose samples are of this event.
    fn loaded(event: &str) -> Loaded {
        let mut summary = Summary::default();
        summary.cpu.event = event.to_owned();
        let tables = Tables { summary: Some(summary), ..Tables::default() };
        Loaded::new(tables, Profile::default(), Source::default())
    }

    /// Check the heads and the numbers of each metric, in captures whose samples count different things.
    #[test]
    fn numbers_have_the_units_of_the_capture() {
        let amount = Amount { blocks: 1500, bytes: 3 << 20 };
        let of = |metric, event| {
            let loaded = loaded(event);
            let units = Units::of(&loaded, metric);
            let ((first, second), (number, other)) = (units.heads(), units.pair(amount));
            [first.to_owned(), second.to_owned(), number, other]
        };
        for (metric, event, expected) in [
            (Metric::Peak, "", ["bytes", "blocks", "3.00 MiB", "1,500"]),
            (Metric::Bytes, "", ["bytes", "calls", "3.00 MiB", "1,500"]),
            (Metric::Temporary, "", ["calls", "bytes", "1,500", "3.00 MiB"]),
            (Metric::Frees, "", ["calls", "bytes", "1,500", "3.00 MiB"]),
            (Metric::Cpu, "cpu-clock", ["samples", "time", "1,500", "3.15 ms"]),
            (Metric::Cpu, "cycles", ["samples", "cycles", "1,500", "3 M"]),
        ] {
            assert_eq!(of(metric, event), expected, "{metric:?} {event}");
        }
    }

    /// Check that both numbers of a change have their own sign.
    #[test]
    fn changes_have_signs() {
        let change = Amount { blocks: -1500, bytes: 3 << 20 };
        for (metric, expected) in
            [(Metric::Peak, ["+3.00 MiB", "-1,500"]), (Metric::Allocations, ["-1,500", "+3.00 MiB"])]
        {
            let (first, second) = Units::of(&loaded(""), metric).signed(change);
            assert_eq!([first, second], expected, "{metric:?}");
        }
        assert_eq!(
            Units::of(&loaded(""), Metric::Peak).signed(Amount::ZERO),
            ("0 B".to_owned(), "0".to_owned())
        );
    }
}
