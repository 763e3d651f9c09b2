//! Values on the command line, such as sizes and times.

use collector::MAX_SAMPLE_INTERVAL;
use std::time::Duration;

/// The longest accepted time: a hundred years.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Longest label: many of them fit into one record.
const LONGEST_LABEL: usize = 512;

/// A number of bytes: `4096`, `64K`, `1M`, `2G`, also written `1MiB`. Units are powers of 1024.
pub(crate) fn size(text: &str) -> Result<usize, String> {
    let unit = |suffix: &str| match suffix.trim_end_matches("iB").trim_end_matches('B') {
        "" => Some(0),
        "K" | "k" => Some(10),
        "M" | "m" => Some(20),
        "G" | "g" => Some(30),
        _ => None,
    };
    let (number, suffix) = split(text);
    let value = number.parse::<usize>().ok();
    let bytes = value.zip(unit(suffix)).and_then(|(value, shift)| value.checked_mul(1 << shift));
    bytes.ok_or_else(|| "expected a size like 65536, 64K or 1M".to_string())
}

/// Bytes of a ring: a size that suffices for threads, and that systems can provide.
pub(crate) fn ring_size(text: &str) -> Result<usize, String> {
    match size(text)? {
        bytes @ 4096..=0x4000_0000 => Ok(bytes),
        _ => Err("expected a size between 4K and 1G".to_string()),
    }
}

/// A label, as `name=value`.
pub(crate) fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && text.len() <= LONGEST_LABEL => {
            Ok((name.to_owned(), value.to_owned()))
        }
        Some((name, _)) if !name.is_empty() => Err(format!("it is longer than {LONGEST_LABEL} bytes")),
        _ => Err("a label is name=value, as in version=1.2".into()),
    }
}

/// Mean distance between samples in bytes; 0 records everything.
pub(crate) fn sample_interval(text: &str) -> Result<u64, String> {
    match size(text)? as u64 {
        bytes @ 0..=MAX_SAMPLE_INTERVAL => Ok(bytes),
        _ => Err(format!("expected at most {}G", MAX_SAMPLE_INTERVAL >> 30)),
    }
}

/// Bytes of stack copied with each CPU sample.
pub(crate) fn cpu_stack(text: &str) -> Result<u32, String> {
    let most = collector::CpuOptions::MOST_STACK;
    match u32::try_from(size(text)?) {
        Ok(bytes) if (256..=most).contains(&bytes) => Ok(bytes),
        _ => Err(format!("expected a size between 256 and {}K", most >> 10)),
    }
}

/// A share, as `20%` or `20`: 0.2.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim_end().parse::<f64>().ok();
    let number = number.filter(|number| number.is_finite() && *number > 0.0);
    number.map(|number| number / 100.0).ok_or_else(|| "expected a share like 20%".to_string())
}

/// A time: `10s`, `250ms`, `1.5s`, `2m`; a number alone means seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let (number, suffix) = split(text);
    let unit = match suffix {
        "ms" => Some(0.001),
        "s" | "" => Some(1.0),
        "m" | "min" => Some(60.0),
        "h" => Some(3600.0),
        _ => None,
    };
    let seconds = number.parse::<f64>().ok().zip(unit).map(|(value, unit)| value * unit);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    // It will be added to the current time, which must not overflow.
    let duration = duration.filter(|duration| *duration <= LONGEST);
    duration.ok_or_else(|| "expected a time like 10s, 250ms or 2m".to_string())
}

/// Permissions of a file for its owner, its group and all others: `660`, `0660`.
pub(crate) fn mode(text: &str) -> Result<u32, String> {
    let digits = text.strip_prefix("0o").unwrap_or(text);
    let mode = u32::from_str_radix(digits, 8).ok().filter(|mode| *mode <= 0o777 && !digits.starts_with('+'));
    mode.ok_or_else(|| "expected a mode like 660".to_string())
}

/// A group's id, from its number or name.
pub(crate) fn group(text: &str) -> Result<u32, String> {
    collector::group(text).ok_or_else(|| "no such group; getent group lists them".to_string())
}

/// The number at the beginning of `text`, and its unit.
fn split(text: &str) -> (&str, &str) {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Check that sizes are read back in every unit, and that nothing makes the parsers panic.
        #[test]
        fn written_sizes_are_read_back(value in 0..1usize << 32, unit in 0..3u32, odd in ".{0,12}") {
            let suffix = ["", "K", "MiB"][unit as usize];
            prop_assert_eq!(size(&format!("{value}{suffix}")), Ok(value << (10 * unit)));
            prop_assert_eq!(duration(&format!("{value}ms")).map(|time| time.as_millis()), Ok(value as u128));
            let _ = (size(&odd), ring_size(&odd), duration(&odd));
        }
    }

    /// Check that units are powers of 1024, and that invalid or excessive sizes are refused.
    #[test]
    fn sizes_are_powers_of_1024() {
        let cases = [
            ("0", Some(0)),
            ("4096", Some(4096)),
            ("64K", Some(65536)),
            ("1M", Some(1 << 20)),
            ("1 MiB", Some(1 << 20)),
            ("2GB", Some(2 << 30)),
            ("", None),
            ("K", None),
            ("1.5M", None),
            ("-1", None),
            ("1X", None),
            ("99999999999G", None),
        ];
        for (text, expected) in cases {
            assert_eq!(size(text).ok(), expected, "{text:?}");
        }
        assert!(
            sample_interval("0").is_ok()
                && sample_interval("1024G").is_ok()
                && sample_interval("1025G").is_err()
        );
        assert!(ring_size("1K").is_err() && ring_size("2G").is_err() && ring_size("1M").is_ok());
    }

    /// Check that shares are written in percent, and that zero is refused.
    #[test]
    fn shares_are_percent() {
        for (text, expected) in [
            ("20%", Some(0.2)),
            ("20", Some(0.2)),
            ("150 %", Some(1.5)),
            ("0%", None),
            ("-1%", None),
            ("%", None),
            ("inf%", None),
            ("x", None),
        ] {
            assert_eq!(percent(text).ok(), expected, "{text:?}");
        }
    }

    /// Check that modes are parsed as chmod parses them.
    #[test]
    fn modes_are_octal() {
        for (text, expected) in
            [("660", Some(0o660)), ("0666", Some(0o666)), ("0o600", Some(0o600)), ("777", Some(0o777))]
        {
            assert_eq!(mode(text).ok(), expected, "{text}");
        }
        for text in ["", "1000", "888", "rw", "-1", "+66"] {
            assert!(mode(text).is_err(), "{text}");
        }
        assert!(group("root") == Ok(0) && group("no such group").is_err());
    }

    /// Check that times have units, and that anything else is refused.
    #[test]
    fn times_have_units() {
        let cases = [
            ("10", Some(10_000)),
            ("10s", Some(10_000)),
            ("250ms", Some(250)),
            ("1.5s", Some(1500)),
            ("2m", Some(120_000)),
            ("0", Some(0)),
            ("s", None),
            ("1.2.3s", None),
            ("-1s", None),
            ("99999999999999999999999h", None),
            ("2560000000000000h", None),
            ("876000h", Some(100 * 365 * 24 * 3600 * 1000)),
        ];
        for (text, expected) in cases {
            assert_eq!(duration(text).ok().map(|time| time.as_millis()), expected, "{text:?}");
        }
    }
}
