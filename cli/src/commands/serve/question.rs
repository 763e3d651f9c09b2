//! The query strings of the page's requests.

use super::report::Range;
use report::views::View;
use web::GraphQuery;

/// Most functions in a drawing, whatever the request says: a drawing with more would take long and be unreadable.
const MOST_FUNCTIONS: usize = 500;

/// A request for the data of a range of time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DataQuestion {
    /// `None` for the whole recording.
    pub(super) range: Option<Range>,
}

/// A request for a drawing of the call graph.
#[derive(Debug, PartialEq)]
pub(super) struct GraphQuestion {
    /// The range of the data that the page shows.
    pub(super) range: Option<Range>,
    /// The number of time slices in that data, in which the cursors are expressed, if the page sends it.
    pub(super) slices: Option<usize>,
    pub(super) query: GraphQuery,
}

/// A request for the result of a scan.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ScanQuestion {
    /// Number of the scan in the capture, counted from 1.
    pub(super) number: usize,
    /// Time of the scan, to detect that another recording has replaced the page's.
    pub(super) time: u64,
}

/// A request for a view of the blocks that were allocated in a range.
#[derive(Debug)]
pub(super) struct ViewQuestion {
    pub(super) view: &'static View,
    pub(super) range: Option<Range>,
}

impl ViewQuestion {
    /// `None` if the parameters are something else.
    pub(super) fn of<'a>(words: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> Option<Self> {
        let (_, name) = words.clone().find(|(name, _)| *name == "view")?;
        Some(Self { view: View::named(name)?, range: DataQuestion::of(words)?.range })
    }
}

impl DataQuestion {
    /// `None` if the parameters are something else.
    pub(super) fn of<'a>(words: impl Iterator<Item = (&'a str, &'a str)>) -> Option<Self> {
        let (mut from, mut to) = (0, 0);
        for (name, value) in words {
            match name {
                "from" => from = value.parse().ok()?,
                "to" => to = value.parse().ok()?,
                _ => {}
            }
        }
        Some(Self { range: range(from, to) })
    }
}

impl GraphQuestion {
    /// `None` if the parameters are something else. What they leave out is as in a new page.
    pub(super) fn of<'a>(words: impl Iterator<Item = (&'a str, &'a str)>) -> Option<Self> {
        let (mut from, mut to, mut slices) = (0, 0, None);
        let mut query = GraphQuery::usual();
        for (name, value) in words {
            match name {
                "from" => from = value.parse().ok()?,
                "to" => to = value.parse().ok()?,
                "slices" => slices = Some(value.parse().ok()?),
                "metric" => query.measure = value.to_owned(),
                "unit" => query.counts_blocks = value == "blocks",
                "a" => query.cursors.0 = value.parse().ok()?,
                "b" => query.cursors.1 = value.parse().ok()?,
                "mark" => query.mark = value.parse().ok()?,
                "least" => query.min = Some(value.parse().ok()?),
                "most" => query.limit = Some(value.parse::<usize>().ok()?.min(MOST_FUNCTIONS)),
                _ => {}
            }
        }
        Some(Self { range: range(from, to), slices, query })
    }
}

impl ScanQuestion {
    /// `None` if the parameters are something else.
    pub(super) fn of<'a>(words: impl Iterator<Item = (&'a str, &'a str)>) -> Option<Self> {
        let (mut number, mut time) = (None, None);
        for (name, value) in words {
            match name {
                "scan" => number = value.parse().ok(),
                "time" => time = value.parse().ok(),
                _ => {}
            }
        }
        Some(Self { number: number?, time: time? })
    }
}

fn range(from: u64, to: u64) -> Option<Range> {
    (to > from).then_some(Range { from, to })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> impl Iterator<Item = (&str, &str)> + Clone {
        text.split('&').filter_map(|pair| pair.split_once('='))
    }

    /// Check which query strings are accepted for data.
    #[test]
    fn ranges_are_read() {
        let of = |text| DataQuestion::of(words(text)).map(|question| question.range);
        assert_eq!(of("from=1&to=20&more=x"), Some(Some(Range { from: 1, to: 20 })));
        assert_eq!(of(""), Some(None));
        assert_eq!(of("from=20&to=1"), Some(None));
        assert_eq!(of("from=x"), None);
    }

    /// Check that a view is requested by its name.
    #[test]
    fn views_are_asked_for() {
        let of = |text| ViewQuestion::of(words(text)).map(|question| (question.view.id, question.range));
        assert_eq!(of("view=sizes&from=1&to=20"), Some(("sizes", Some(Range { from: 1, to: 20 }))));
        assert_eq!(of("view=threads"), Some(("threads", None)));
        for wrong in ["view=nothing", "from=1", "view=sizes&from=x", ""] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    /// Check that a scan is requested by its number and time.
    #[test]
    fn scans_are_asked_for() {
        let of = |text| ScanQuestion::of(words(text));
        assert_eq!(of("scan=2&time=77"), Some(ScanQuestion { number: 2, time: 77 }));
        for wrong in ["scan=2", "time=1", "scan=x&time=1", "scan=-1&time=1", ""] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    /// Check which query strings are accepted for a drawing, and that its size is limited.
    #[test]
    fn drawings_are_asked_for() {
        let of = |text| GraphQuestion::of(words(text));
        let found =
            of("from=1&to=2&slices=9&metric=growth&unit=blocks&a=3&b=7&mark=1&least=2&most=9999").unwrap();
        assert_eq!((found.range, found.slices), (Some(Range { from: 1, to: 2 }), Some(9)));
        let query = GraphQuery {
            measure: "growth".to_owned(),
            counts_blocks: true,
            cursors: (3, 7),
            mark: 1,
            min: Some("2%".parse().unwrap()),
            limit: Some(MOST_FUNCTIONS),
        };
        assert_eq!(found.query, query);
        let plain = GraphQuestion { range: None, slices: None, query: GraphQuery::usual() };
        assert_eq!(of(""), Some(plain));
        for wrong in ["a=-1", "b=x", "least=101", "most=x", "slices=", "to=1e9"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
