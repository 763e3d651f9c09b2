//! A part of a whole, as given to `--min`.

use std::str::FromStr;

/// A share of the total, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Share(f64);

impl Share {
    /// From percent, clamped to 0 to 100.
    pub fn percent(percent: f64) -> Self {
        Self(if percent.is_nan() { 0.0 } else { (percent / 100.0).clamp(0.0, 1.0) })
    }

    /// The smallest number that is at least this share of a whole.
    pub fn least(self, whole: i64) -> i64 {
        (self.0 * whole as f64).ceil() as i64
    }

    /// The share in percent.
    pub fn as_percent(self) -> f64 {
        self.0 * 100.0
    }
}

impl FromStr for Share {
    type Err = ShareError;

    /// Reads `5%`, `5 %`, `0.5` …, always as percent.
    fn from_str(text: &str) -> Result<Self, ShareError> {
        let number = text.trim().strip_suffix('%').unwrap_or(text).trim();
        match number.parse::<f64>() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Self::percent(percent)),
            _ => Err(ShareError(text.to_owned())),
        }
    }
}

/// The text is not a share.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a share of the total: give a number from 0 to 100, as in `1%`")]
pub struct ShareError(String);

#[cfg(test)]
mod tests {
    use super::*;

    /// Check what is read as a share and what is refused.
    #[test]
    fn shares_are_percent() {
        for (text, expected) in [
            ("1%", Some(10)),
            ("5", Some(50)),
            (" 0.5 % ", Some(5)),
            ("0", Some(0)),
            ("100%", Some(1000)),
            ("101%", None),
            ("-1", None),
            ("NaN", None),
            ("5%%", None),
            ("", None),
            ("many", None),
        ] {
            assert_eq!(text.parse::<Share>().ok().map(|share| share.least(1000)), expected, "{text}");
        }
    }

    /// Check that a share of a whole is rounded up, so that nothing below it is shown.
    #[test]
    fn least_is_rounded_up() {
        assert_eq!(Share::percent(1.0).least(150), 2);
        assert_eq!(Share::percent(1.0).least(0), 0);
    }
}
