//! Numbers for people; JSON has the exact ones.

/// A number of bytes: exact below 1 KiB, else three digits, up to 1023, and a binary unit.
///
/// ```
/// # use analysis::format::bytes;
/// assert_eq!(bytes(1023), "1023 B");
/// assert_eq!(bytes(1_258_291), "1.20 MiB");
/// assert_eq!(bytes(-2048), "-2.00 KiB");
/// ```
pub fn bytes(value: i64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let sign = if value < 0 { "-" } else { "" };
    let size = value.unsigned_abs();
    if size < 1024 {
        return format!("{sign}{size} B");
    }
    let mut scaled = size as f64 / 1024.0;
    let mut unit = 0;
    // 1023.5 would be rounded to the next unit's 1.00.
    while scaled >= 1023.5 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    format!("{sign}{} {}", three_digits(scaled), UNITS[unit])
}

/// A count with its digits in groups of three.
///
/// ```
/// # use analysis::format::count;
/// assert_eq!(count(1_234_567), "1,234,567");
/// ```
pub fn count(value: impl Into<i128>) -> String {
    let value = value.into();
    let digits = value.unsigned_abs().to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3 + 1);
    if value < 0 {
        text.push('-');
    }
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count and its noun, in the plural unless there is exactly one.
///
/// ```
/// # use analysis::format::counted;
/// assert_eq!(counted(1, "block"), "1 block");
/// assert_eq!(counted(0, "block"), "0 blocks");
/// assert_eq!(counted(2, "process"), "2 processes");
/// ```
pub fn counted(value: impl Into<i128>, noun: &str) -> String {
    let value = value.into();
    let ending = match noun {
        _ if value == 1 => "",
        _ if noun.ends_with('s') => "es",
        _ => "s",
    };
    format!("{} {noun}{ending}", count(value))
}

/// Names on one line: all of them, or the first `most` and the number of the others.
///
/// ```
/// # use analysis::format::listed;
/// assert_eq!(listed(&["a", "b"], 2), "a, b");
/// assert_eq!(listed(&["a", "b", "c"], 2), "a, b and 1 more");
/// ```
pub fn listed(names: &[impl AsRef<str>], most: usize) -> String {
    let named = names.iter().take(most).map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(most) {
        0 => named,
        more => format!("{named} and {} more", count(more as u64)),
    }
}

/// A part of a whole in percent. 0 of 0 is 0; a part that exists is never shown as 0 %, and one that is not the whole
/// never as 100 %.
///
/// ```
/// # use analysis::format::percent;
/// assert_eq!(percent(1, 3), "33.3 %");
/// assert_eq!(percent(1, 1_000_000), "<0.1 %");
/// assert_eq!(percent(999_999, 1_000_000), ">99.9 %");
/// ```
pub fn percent(part: i64, whole: i64) -> String {
    if part == 0 || whole == 0 {
        return "0 %".to_owned();
    }
    if part == whole {
        return "100 %".to_owned();
    }
    let share = part as f64 * 100.0 / whole as f64;
    if share > 0.0 && share < 0.1 {
        return "<0.1 %".to_owned();
    }
    if share > 99.9 && share < 100.0 {
        return ">99.9 %".to_owned();
    }
    format!("{share:.1} %")
}

/// A duration in nanoseconds, with the unit that fits it.
///
/// ```
/// # use analysis::format::duration;
/// assert_eq!(duration(850), "850 ns");
/// assert_eq!(duration(3_420_000_000), "3.42 s");
/// assert_eq!(duration(125_000_000_000), "2 min 05 s");
/// ```
pub fn duration(nanoseconds: u64) -> String {
    let seconds = nanoseconds / 1_000_000_000;
    match nanoseconds {
        0..1_000 => format!("{nanoseconds} ns"),
        1_000..999_500 => format!("{} µs", three_digits(nanoseconds as f64 / 1e3)),
        999_500..999_500_000 => format!("{} ms", three_digits(nanoseconds as f64 / 1e6)),
        999_500_000..60_000_000_000 => format!("{} s", three_digits(nanoseconds as f64 / 1e9)),
        _ if seconds < 3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", count(seconds / 3600), seconds / 60 % 60),
    }
}

/// A moment, with enough digits to tell it from one that is a step away; written as a duration where that suffices.
///
/// ```
/// # use analysis::format::moment;
/// assert_eq!(moment(5_000_123_400, 1_000_000_000), "5.00 s");
/// assert_eq!(moment(5_000_123_400, 12_500), "5.00012 s");
/// assert_eq!(moment(125_500_000_000, 100_000_000), "2 min 05.5 s");
/// ```
pub fn moment(nanoseconds: u64, step: u64) -> String {
    let (unit, name, digits) = match nanoseconds {
        ..999_500 => (1_000, "µs", 3),
        999_500..999_500_000 => (1_000_000, "ms", 6),
        _ => (1_000_000_000, "s", 9),
    };
    let mut needed = 0;
    while needed < digits && unit / 10_u64.pow(needed) > step.max(1) {
        needed += 1;
    }
    let digits = needed as usize;
    if nanoseconds < 60_000_000_000 {
        let value = nanoseconds as f64 / unit as f64;
        let has = match value {
            ..9.995 => 2,
            ..99.95 => 1,
            _ => 0,
        };
        let is_told = nanoseconds < 1_000 || step == 0 || digits <= has;
        return if is_told { duration(nanoseconds) } else { format!("{value:.digits$} {name}") };
    }
    let (seconds, is_hours) = (nanoseconds / unit, nanoseconds >= 3600 * unit);
    if step == 0 || step >= if is_hours { 60 * unit } else { unit } {
        return duration(nanoseconds);
    }
    // The remaining digits are cut off, not rounded, so that there is no 60th second.
    let fraction = nanoseconds % unit / 10_u64.pow(9 - needed);
    let fraction = if digits > 0 { format!(".{fraction:0digits$}") } else { String::new() };
    let (minutes, rest) = (seconds / 60, format!("{:02}{fraction} s", seconds % 60));
    match is_hours {
        true => format!("{} h {:02} min {rest}", count(minutes / 60), minutes % 60),
        false => format!("{minutes} min {rest}"),
    }
}

/// Three digits that matter: 1.20, 12.3, 123.
fn three_digits(value: f64) -> String {
    match value {
        ..9.995 => format!("{value:.2}"),
        ..99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// True if a time is later than another one, and is written in another way: people copy times from where they read them.
pub fn seems_later(time: u64, end: u64) -> bool {
    time > end && duration(time) != duration(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check the edges between units and digits.
    #[test]
    fn sizes_keep_three_digits() {
        for (value, expected) in [
            (0, "0 B"),
            (1024, "1.00 KiB"),
            (10 * 1024, "10.0 KiB"),
            (10_235, "10.0 KiB"),
            (100 * 1024, "100 KiB"),
            (999 * 1024, "999 KiB"),
            (1000 * 1024, "1000 KiB"),
            ((1 << 20) - 1, "1.00 MiB"),
            (1 << 30, "1.00 GiB"),
            // Halves round to the even digit, as in the web report.
            ((125 << 20) / 4, "31.2 MiB"),
            ((127 << 20) / 4, "31.8 MiB"),
            (i64::MAX, "8.00 EiB"),
            (i64::MIN, "-8.00 EiB"),
        ] {
            assert_eq!(bytes(value), expected, "{value}");
        }
    }

    /// Check the edges between units of time.
    #[test]
    fn durations_take_the_unit_that_fits() {
        for (value, expected) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (999_499, "999 µs"),
            (999_500, "1.00 ms"),
            (999_500_000, "1.00 s"),
            (59_940_000_000, "59.9 s"),
            (59_970_000_000, "60.0 s"),
            (60_000_000_000, "1 min 00 s"),
            (3_600_000_000_000, "1 h 00 min"),
            (u64::MAX, "5,124,095 h 34 min"),
        ] {
            assert_eq!(duration(value), expected, "{value}");
        }
    }

    /// Check that moments have the digits that tell them apart, as in the web report.
    #[test]
    fn moments_are_told_apart() {
        for (time, step, expected) in [
            (5_000_000_000, 1_000_000_000, "5.00 s"),
            (5_000_123_400, 12_500, "5.00012 s"),
            (5_000_123_400, 10_000, "5.00012 s"),
            (5_000_123_400, 0, "5.00 s"),
            (12_500_000_000, 1_000_000_000, "12.5 s"),
            (12_345_678, 1_000, "12.346 ms"),
            (999, 1, "999 ns"),
            (12_345, 1, "12.345 µs"),
            (3_601_250_000_000, 60_000_000_000, "1 h 00 min"),
            (3_601_250_000_000, 1_000_000_000, "1 h 00 min 01 s"),
            (3_601_250_000_000, 10_000_000, "1 h 00 min 01.25 s"),
            (125_500_000_000, 1_000_000_000, "2 min 05 s"),
            (125_500_000_000, 100_000_000, "2 min 05.5 s"),
            (119_999_900_000, 100_000_000, "1 min 59.9 s"),
            (u64::MAX, 1, "5,124,095 h 34 min 33.709551615 s"),
        ] {
            assert_eq!(moment(time, step), expected, "{time} {step}");
        }
    }

    /// Check that groups of digits fall in the right places for any number.
    #[test]
    fn counts_are_grouped_from_the_right() {
        for (value, expected) in [
            (0_i64, "0"),
            (-1, "-1"),
            (999, "999"),
            (-1000, "-1,000"),
            (i64::MIN, "-9,223,372,036,854,775,808"),
        ] {
            assert_eq!(count(value), expected);
        }
    }

    /// Check that a share is honest at both ends, and that no whole is divided by zero.
    #[test]
    fn percentages_are_honest() {
        for (part, whole, expected) in [
            (0, 0, "0 %"),
            (5, 0, "0 %"),
            (0, 5, "0 %"),
            (5, 5, "100 %"),
            (1, 8, "12.5 %"),
            (1, 10_000, "<0.1 %"),
            (9_999, 10_000, ">99.9 %"),
            (20, 10, "200.0 %"),
            (-1, 10, "-10.0 %"),
        ] {
            assert_eq!(percent(part, whole), expected, "{part}/{whole}");
        }
    }
}
