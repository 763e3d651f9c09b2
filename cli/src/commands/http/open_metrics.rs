//! The text formats of metrics: `OpenMetrics` 1.0, and the older one of Prometheus for those who do not take it.
//!
//! ```text
//!  # TYPE memprof_frees counter          # HELP memprof_frees_total Blocks freed.
//!  # HELP memprof_frees Blocks freed.    # TYPE memprof_frees_total counter
//!  memprof_frees_total{pid="7"} 3        memprof_frees_total{pid="7"} 3
//!  # EOF
//! ```

use super::families::{Family, Kind};
use std::fmt::Write;

/// A text format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    OpenMetrics,
    Prometheus,
}

impl Format {
    /// The format for an `Accept` header: `OpenMetrics` for those who prefer it to other texts.
    pub(super) fn of(accept: &str) -> Format {
        let weight = |kind: &str| {
            let offers = accept
                .split(',')
                .filter(|offer| offer.split(';').next().is_some_and(|name| name.trim() == kind));
            let weights = offers.map(|offer| {
                let weight = offer.split(';').find_map(|part| part.trim().strip_prefix("q="));
                weight.map_or(1.0, |weight| weight.parse().unwrap_or(0.0))
            });
            weights.fold(0.0, f64::max)
        };
        let open = weight("application/openmetrics-text");
        if open > 0.0 && open >= weight("text/plain") { Format::OpenMetrics } else { Format::Prometheus }
    }

    /// Its content type.
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Format::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// The text.
    pub(super) fn text(self, families: &[Family]) -> String {
        let mut text = String::new();
        for Family { name, kind, help, samples } in families {
            let (kind, suffix) = match kind {
                Kind::Gauge => ("gauge", ""),
                Kind::Counter => ("counter", "_total"),
            };
            let of_family = if self == Format::Prometheus { suffix } else { "" };
            let _ = writeln!(text, "# HELP {name}{of_family} {help}\n# TYPE {name}{of_family} {kind}");
            for sample in samples {
                text.push_str(name);
                text.push_str(suffix);
                for (index, (label, value)) in sample.labels.iter().enumerate() {
                    let before = if index == 0 { '{' } else { ',' };
                    let _ = write!(text, "{before}{label}=\"{}\"", escaped(value));
                }
                let end = if sample.labels.is_empty() { "" } else { "}" };
                let _ = writeln!(text, "{end} {}", sample.value);
            }
        }
        if self == Format::OpenMetrics {
            text.push_str("# EOF\n");
        }
        text
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::super::families::Families;
    use super::*;

    /// Check both texts, byte for byte, with a value that would end its label.
    #[test]
    fn texts_are_as_specified() {
        let labels = vec![("pid".to_owned(), "7".to_owned()), ("comm".to_owned(), "a\"b\\c\nd".to_owned())];
        let mut families = Families::default();
        families.add(("memprof_live_bytes", Kind::Gauge, "Bytes."), &labels, Some(1e15));
        families.add(("memprof_frees", Kind::Counter, "Blocks freed."), &Vec::new(), Some(3.0));
        families.add(("memprof_live_bytes", Kind::Gauge, "Bytes."), &Vec::new(), Some(0.5));
        families.add(("memprof_unknown", Kind::Gauge, "Nothing."), &Vec::new(), None);
        let series = "memprof_live_bytes{pid=\"7\",comm=\"a\\\"b\\\\c\\nd\"} 1000000000000000\nmemprof_live_bytes 0.5\n";
        assert_eq!(
            Format::OpenMetrics.text(&families.0),
            format!(
                "# HELP memprof_live_bytes Bytes.\n# TYPE memprof_live_bytes gauge\n{series}\
                 # HELP memprof_frees Blocks freed.\n# TYPE memprof_frees counter\nmemprof_frees_total 3\n# EOF\n"
            )
        );
        assert_eq!(
            Format::Prometheus.text(&families.0),
            format!(
                "# HELP memprof_live_bytes Bytes.\n# TYPE memprof_live_bytes gauge\n{series}\
                 # HELP memprof_frees_total Blocks freed.\n# TYPE memprof_frees_total counter\nmemprof_frees_total 3\n"
            )
        );
    }

    /// Check who gets which format: Prometheus says what it prefers, a browser and curl do not know `OpenMetrics`.
    #[test]
    fn formats_are_negotiated() {
        let prometheus =
            "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        for (accept, format) in [
            (prometheus, Format::OpenMetrics),
            ("application/openmetrics-text", Format::OpenMetrics),
            ("application/openmetrics-text;q=0.2, text/plain;q=0.9", Format::Prometheus),
            ("application/openmetrics-text;q=0", Format::Prometheus),
            ("application/openmetrics-text;q=x", Format::Prometheus),
            ("text/html,*/*", Format::Prometheus),
            ("*/*", Format::Prometheus),
            ("", Format::Prometheus),
        ] {
            assert_eq!(Format::of(accept), format, "{accept}");
        }
    }
}
