//! The units of a metric's two numbers, and how these are written.

use super::cpu::CpuUnit;
use super::traced::TracedUnit;
use analysis::format::{bytes, count};
use analysis::{Amount, Metric};
use engine::Loaded;

/// The units of a metric in a capture: samples may stand for time or for cycles, and hits of a tracepoint for bytes,
/// for the number in a field, or for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    metric: Metric,
    time: CpuUnit,
    size: TracedUnit,
}

impl Units {
    /// The units of this metric.
    pub fn of(loaded: &Loaded, metric: Metric) -> Self {
        Self { metric, time: CpuUnit::of(loaded), size: TracedUnit::of(loaded) }
    }

    /// The headers of the ranking number and of the other one; empty for a missing one.
    pub fn heads(self) -> (&'static str, &'static str) {
        match self.metric {
            Metric::Peak | Metric::Leaked | Metric::Live => ("bytes", "blocks"),
            Metric::Bytes => ("bytes", "calls"),
            Metric::Allocations | Metric::Temporary | Metric::Frees => ("calls", "bytes"),
            Metric::Cpu => ("samples", self.time.head()),
            Metric::Traced => ("hits", self.size.head()),
        }
    }

    /// The ranking number, and the other one.
    pub fn pair(self, amount: Amount) -> (String, String) {
        match self.metric {
            Metric::Cpu => (count(amount.blocks), self.time.of_weight(amount.bytes)),
            Metric::Traced => (count(amount.blocks), self.size.of_size(amount.bytes)),
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
            _ if text.is_empty() => text,
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
    use capture::{SizeUnit, Summary, Tables, Tracepoint, TracepointId};
    use engine::Source;

    /// A capture whose samples are of this event, and whose tracepoint has this field.
    fn loaded(event: &str, size: &str, unit: SizeUnit) -> Loaded {
        let mut summary = Summary::default();
        summary.cpu.event = event.to_owned();
        let tracepoint = Tracepoint { size: size.to_owned(), unit, ..Tracepoint::default() };
        let tables = Tables { summary: Some(summary), tracepoints: vec![tracepoint], ..Tables::default() };
        let loaded = Loaded::new(tables, Profile::default(), Source::default());
        Loaded { tracepoint: Some(TracepointId(0)), ..loaded }
    }

    /// Check the heads and the numbers of each metric, in captures whose samples and hits count different things.
    #[test]
    fn numbers_have_the_units_of_the_capture() {
        let amount = Amount { blocks: 1500, bytes: 3 << 20 };
        let of = |metric, event, size, unit| {
            let units = Units::of(&loaded(event, size, unit), metric);
            let ((first, second), (number, other)) = (units.heads(), units.pair(amount));
            [first.to_owned(), second.to_owned(), number, other]
        };
        let (plain, bytes) = (SizeUnit::Plain, SizeUnit::Bytes);
        for (metric, event, size, unit, expected) in [
            (Metric::Peak, "", "", plain, ["bytes", "blocks", "3.00 MiB", "1,500"]),
            (Metric::Bytes, "", "", plain, ["bytes", "calls", "3.00 MiB", "1,500"]),
            (Metric::Temporary, "", "", plain, ["calls", "bytes", "1,500", "3.00 MiB"]),
            (Metric::Frees, "", "", plain, ["calls", "bytes", "1,500", "3.00 MiB"]),
            (Metric::Cpu, "cpu-clock", "", plain, ["samples", "time", "1,500", "3.15 ms"]),
            (Metric::Cpu, "cycles", "", plain, ["samples", "cycles", "1,500", "3 M"]),
            (Metric::Traced, "", "", plain, ["hits", "", "1,500", ""]),
            (Metric::Traced, "", "bytes", bytes, ["hits", "bytes", "1,500", "3.00 MiB"]),
            (Metric::Traced, "", "ret", plain, ["hits", "sum", "1,500", "3,145,728"]),
        ] {
            assert_eq!(of(metric, event, size, unit), expected, "{metric:?} {event} {size}");
        }
    }

    /// Check that both numbers of a change have their own sign, and that a missing number has none.
    #[test]
    fn changes_have_signs() {
        let change = Amount { blocks: -1500, bytes: 3 << 20 };
        for (metric, size, expected) in [
            (Metric::Peak, "", ["+3.00 MiB", "-1,500"]),
            (Metric::Allocations, "", ["-1,500", "+3.00 MiB"]),
            (Metric::Traced, "", ["-1,500", ""]),
            (Metric::Traced, "ret", ["-1,500", "+3,145,728"]),
        ] {
            let (first, second) = Units::of(&loaded("", size, SizeUnit::Plain), metric).signed(change);
            assert_eq!([first, second], expected, "{metric:?} {size}");
        }
        assert_eq!(
            Units::of(&loaded("", "", SizeUnit::Plain), Metric::Peak).signed(Amount::ZERO),
            ("0 B".to_owned(), "0".to_owned())
        );
    }
}
