//! The debug log: `SYSPROF_MEMPROF_LOG=debug` writes it to standard error.

use std::fmt::Arguments;
use std::io::Write;
use std::sync::OnceLock;
use std::time::Instant;

/// The variable that enables it.
const VARIABLE: &str = "SYSPROF_MEMPROF_LOG";

/// Start of the clock for time stamps; `None` if the log is off.
static START: OnceLock<Option<Instant>> = OnceLock::new();

/// Writes one line, with the time since the first one, if the log is on.
pub(crate) fn write(text: Arguments<'_>) {
    if let Some(start) = START.get_or_init(start) {
        let _ = writeln!(std::io::stderr().lock(), "[{:9.4}s] {text}", start.elapsed().as_secs_f64());
    }
}

fn start() -> Option<Instant> {
    let value = std::env::var(VARIABLE).unwrap_or_default();
    match value.as_str() {
        "debug" => Some(Instant::now()),
        "" | "off" => None,
        other => {
            crate::message::warning(&format!("{VARIABLE}={other} is unknown; use off or debug"));
            None
        }
    }
}

/// [`write()`] with the arguments of `format!`.
macro_rules! debug {
    ($($text:tt)*) => { $crate::log::write(format_args!($($text)*)) };
}
pub(crate) use debug;
