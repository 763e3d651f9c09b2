//! Which version this is.

/// The versions that decide whether two parts work together.
pub(crate) fn text() -> &'static str {
    let text = format!(
        "{} (capture format {}, agent protocol {})",
        env!("CARGO_PKG_VERSION"),
        capture::VERSION,
        collector::PROTOCOL_VERSION
    );
    // Clap keeps a reference for as long as the program runs.
    Box::leak(text.into_boxed_str())
}
