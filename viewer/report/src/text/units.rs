//! The units of a metric's two numbers, and how these are written.

use super::cpu::CpuUnit;
use crate::views::heads;
use analysis::format::{bytes, count};
use analysis::{Amount, Metric};
use engine::Loaded;

/// The units of a metric in a capture: samples may stand for time or for cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    metric: Metric,
    time: CpuUnit,
    heads: [&'static str; 2],
}

impl Units {
    /// The units of this metric.
    pub fn of(loaded: &Loaded, metric: Metric) -> Self {
        Self { metric, time: CpuUnit::of(loaded), heads: heads(loaded, metric) }
    }

    /// The headers of the ranking number and of the other one.
    pub fn heads(self) -> (&'static str, &'static str) {
        let [first, second] = self.heads;
        (first, second)
    }

    /// The ranking number, and the other one.
    pub fn pair(self, amount: Amount) -> (String, String) {
        match self.metric {
            Metric::Cpu => (count(amount.blocks), self.time.of_weight(amount.bytes)),
            metric if metric.counts_blocks() => (count(amount.blocks), bytes(amount.bytes)),
            _ => (bytes(amount.bytes), count(amount.blocks)),
        }
    }

    /// The same for a change: growth has a leading `+`.
    pub fn signed(self, change: Amount) -> (String, String) {
        let Amount { blocks, bytes } = change;
        let (first, second) =
            self.pair(Amount { blocks: blocks.saturating_abs(), bytes: bytes.saturating_abs() });
        let numbers = if self.metric.counts_blocks() { [blocks, bytes] } else { [bytes, blocks] };
        let signed = |number: i64, text: String| match number {
            1.. => format!("+{text}"),
            0 => text,
            _ => format!("-{text}"),
        };
        (signed(numbers[0], first), signed(numbers[1], second))
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
            let units = Units::of(&loaded(event), metric);
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
