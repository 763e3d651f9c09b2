//! Who wrote a file, and of what.

use engine::Loaded;
use report::text::caveats;

/// The program and its version, for formats that say who wrote them.
pub(crate) const CREATOR: &str = concat!("sysprof-memprof ", env!("CARGO_PKG_VERSION"));

/// The same with what to know about the numbers, for formats with one line for both.
pub(crate) fn creator_and_caveats(loaded: &Loaded) -> String {
    let parts: Vec<String> = [CREATOR.to_owned()].into_iter().chain(caveats(loaded)).collect();
    parts.join("; ")
}

/// The command that was recorded or, if that is unknown, the name of the capture.
pub(crate) fn command(loaded: &Loaded) -> String {
    let command = loaded.tables.metadata.command.join(" ");
    if command.is_empty() { loaded.source.file.clone() } else { command }
}

/// Labels of a process and of the recording, which count more, as a JSON object.
#[cfg(any(feature = "sql", feature = "parquet"))]
pub(crate) fn labels(metadata: &capture::Metadata, process: &capture::Process) -> String {
    let pairs = process.labels.iter().chain(&metadata.labels);
    let by_name: std::collections::BTreeMap<_, _> = pairs.map(|(name, value)| (name, value)).collect();
    serde_json::to_string(&by_name).unwrap_or_default()
}
