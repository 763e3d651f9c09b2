//! Events of `export --format events-json`.

use serde_json::Value;

/// One event, with zeros and empty strings for fields that it does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) time: u64,
    pub(crate) pid: u64,
    pub(crate) tid: u64,
    pub(crate) kind: String,
    pub(crate) call: String,
    pub(crate) address: u64,
    pub(crate) size: u64,
    pub(crate) alignment: u64,
    pub(crate) serial: u64,
    /// The error of a failed call.
    pub(crate) error: String,
    /// The name of a mark.
    pub(crate) name: String,
    pub(crate) pool: String,
    pub(crate) stack: Vec<String>,
}

impl Event {
    pub(crate) fn from_json(line: &str) -> Event {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        let text = |field: &str| value[field].as_str().unwrap_or_default().to_string();
        let number = |field: &str| value[field].as_u64().unwrap_or_default();
        let names = value["stack"].as_array().map(Vec::as_slice).unwrap_or_default();
        Event {
            time: number("time_ns"),
            pid: number("pid"),
            tid: number("tid"),
            kind: text("kind"),
            call: text("call"),
            address: address(&text("address")),
            size: number("size"),
            alignment: number("alignment"),
            serial: number("serial"),
            error: text("error"),
            name: text("name"),
            pool: text("pool"),
            stack: names.iter().map(|name| name.as_str().unwrap_or_default().to_string()).collect(),
        }
    }
}

/// The value of an address written as `0x…`; 0 for an empty text.
pub(crate) fn address(text: &str) -> u64 {
    let digits = text.trim_start_matches("0x");
    if digits.is_empty() { 0 } else { u64::from_str_radix(digits, 16).expect("addresses are hexadecimal") }
}
