//! A moment, as users write it.

use crate::base::share::Share;
use std::str::FromStr;

/// A moment of a capture.
#[derive(Clone, Debug, PartialEq)]
pub struct When {
    /// The origin.
    pub anchor: Anchor,
    /// Nanoseconds after it; negative for before.
    pub offset: i64,
}

/// The origin of a moment.
#[derive(Clone, Debug, PartialEq)]
pub enum Anchor {
    /// Before the first event.
    Start,
    /// After the last event.
    End,
    /// When all processes together held the most.
    Peak,
    /// Nanoseconds after the start of the recording.
    Time(u64),
    /// A fraction of the recording's length.
    Share(Share),
    /// The first mark of this name.
    Mark(String),
}

impl From<Anchor> for When {
    fn from(anchor: Anchor) -> Self {
        Self { anchor, offset: 0 }
    }
}

impl FromStr for When {
    type Err = WhenError;

    /// Reads `12.5s`, `800ms`, `2m` (a number alone means seconds), `50%`, `start`, `end`, `peak`, `mark:NAME` or
    /// just the name; optionally followed by `+` or `-` and a time.
    fn from_str(text: &str) -> Result<Self, WhenError> {
        let error = || WhenError(text.trim().to_owned());
        // The name of a mark may itself end like this, which can be decided only where the marks are known.
        if let Some((anchor, offset)) = shifted(text)
            && let Some(anchor) = anchor_of(anchor).filter(|anchor| !matches!(anchor, Anchor::Mark(_)))
        {
            return Ok(Self { anchor, offset });
        }
        anchor_of(text.trim()).map(Self::from).ok_or_else(error)
    }
}

/// Splits an added or subtracted time off, as in `loaded+1s`: the text before it, and the time, negative if
/// subtracted.
pub fn shifted(text: &str) -> Option<(&str, i64)> {
    let (sign, _) = text.rmatch_indices(['+', '-']).next()?;
    let offset = i64::try_from(nanoseconds(text[sign + 1..].trim())?).ok()?;
    Some((text[..sign].trim(), if text[sign..].starts_with('-') { -offset } else { offset }))
}

fn anchor_of(text: &str) -> Option<Anchor> {
    Some(match text {
        "start" => Anchor::Start,
        "end" => Anchor::End,
        "peak" => Anchor::Peak,
        _ if text.ends_with('%') => Anchor::Share(text.parse().ok()?),
        _ => match (text.strip_prefix("mark:"), nanoseconds(text)) {
            (Some(""), _) => return None,
            (Some(name), _) => Anchor::Mark(name.to_owned()),
            (None, Some(time)) => Anchor::Time(time),
            // What begins like a number was meant to be one.
            (None, None)
                if text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first)) =>
            {
                return None;
            }
            (None, None) if text.is_empty() => return None,
            (None, None) => Anchor::Mark(text.to_owned()),
        },
    })
}

/// A time with a unit.
fn nanoseconds(text: &str) -> Option<u64> {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = match unit.trim_start() {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" | "" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        _ => return None,
    };
    let time = number.parse::<f64>().ok()? * unit;
    (0.0..2_f64.powi(63)).contains(&time).then_some(time.round() as u64)
}

/// The text is not a moment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a moment: give a time (12.5s), a share (50%), start, end, peak or the name of a mark, optionally with a \
     time added or subtracted (peak+1s, end-10s)"
)]
pub struct WhenError(String);

#[cfg(test)]
mod tests {
    use super::*;

    /// Check how moments are written, and that anything else is refused.
    #[test]
    fn moments_are_read() {
        let time = |time| Some(Anchor::Time(time).into());
        let mark = |name: &str| Some(Anchor::Mark(name.to_owned()).into());
        let cases: &[(&str, Option<When>)] = &[
            ("12.5s", time(12_500_000_000)),
            ("800ms", time(800_000_000)),
            ("3 us", time(3_000)),
            ("1.5m", time(90_000_000_000)),
            ("7", time(7_000_000_000)),
            ("start", Some(Anchor::Start.into())),
            ("end", Some(Anchor::End.into())),
            ("50%", Some(Anchor::Share(Share::percent(50.0)).into())),
            ("peak+1ms", Some(When { anchor: Anchor::Peak, offset: 1_000_000 })),
            ("peak-1s", Some(When { anchor: Anchor::Peak, offset: -1_000_000_000 })),
            ("end - 2m", Some(When { anchor: Anchor::End, offset: -120_000_000_000 })),
            ("50%-1", Some(When { anchor: Anchor::Share(Share::percent(50.0)), offset: -1_000_000_000 })),
            ("mark:peak", mark("peak")),
            ("mark:peak-1s", mark("peak-1s")),
            ("loaded", mark("loaded")),
            ("phase-2", mark("phase-2")),
            ("c++", mark("c++")),
            ("mark:c+++2s", mark("c+++2s")),
            ("retry+1", mark("retry+1")),
            ("", None),
            ("mark:", None),
            ("12q", None),
            ("-3s", None),
            ("peak-", mark("peak-")),
            ("12q+1s", None),
            ("101%", None),
            ("99999999999h", None),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse::<When>().ok(), *expected, "{text:?}");
        }
    }
}
