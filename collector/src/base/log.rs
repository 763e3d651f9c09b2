//! Debug log. The collector itself writes nowhere: the command that uses it says where lines go.

use std::fmt::Arguments;
use std::sync::OnceLock;

/// Receives one line.
pub type Sink = fn(Arguments<'_>);

static SINK: OnceLock<Sink> = OnceLock::new();

/// Sets where lines go, once. Without it nothing is logged.
pub fn log_to(sink: Sink) {
    // The first one stays.
    let _ = SINK.set(sink);
}

/// Logs one line, if there is a sink.
pub(crate) fn write(text: Arguments<'_>) {
    if let Some(sink) = SINK.get() {
        sink(text);
    }
}

/// [`write()`] with the arguments of `format!`.
macro_rules! debug {
    ($($text:tt)*) => { $crate::base::log::write(format_args!($($text)*)) };
}
pub(crate) use debug;
