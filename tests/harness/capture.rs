//! A finished capture, as the product shows it.

use super::{Event, Ran, World, event, wait};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A capture, and the world that it is in.
#[derive(Debug)]
pub(crate) struct Capture {
    world: World,
    file: PathBuf,
}

/// One row of a report: the allocations of one stack.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// From the innermost function outwards, without inlined ones, which share an address with the next frame.
    pub(crate) frames: Vec<Frame>,
    pub(crate) call: String,
    pub(crate) state: String,
    /// The whole row.
    pub(crate) value: Value,
}

/// One frame of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) function: String,
    pub(crate) module: String,
    pub(crate) address: u64,
}

impl Capture {
    pub(crate) fn new(world: World, file: PathBuf) -> Capture {
        Capture { world, file }
    }

    /// The same under another name.
    pub(crate) fn renamed(self, name: &str) -> Capture {
        let file = self.world.path(name);
        std::fs::rename(&self.file, &file).expect("the folder is ours");
        Capture { file, ..self }
    }

    /// The file.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Its world.
    pub(crate) fn world(&self) -> &World {
        &self.world
    }

    /// What a command of the product prints about this capture.
    pub(crate) fn show(&self, command: &[&str]) -> Ran {
        let mut tool = self.world.tool(command);
        tool.arg(&self.file);
        wait(&self.world, tool)
    }

    fn document(&self, command: &[&str]) -> Value {
        let ran = self.show(command);
        assert_eq!(ran.code, 0, "{command:?}: {}", ran.stderr);
        serde_json::from_str(ran.text()).unwrap_or_else(|error| panic!("{command:?}: {error}"))
    }

    /// The JSON that a command prints.
    pub(crate) fn json(&self, command: &[&str]) -> Value {
        self.document(&[command, &["--json"]].concat())
    }

    /// `info --json`.
    pub(crate) fn info(&self) -> Value {
        self.json(&["info"])
    }

    /// A number of `info --json`; 0 if there is none.
    pub(crate) fn number(&self, path: &str) -> u64 {
        self.info().pointer(path).and_then(Value::as_u64).unwrap_or(0)
    }

    /// `report --json` with these options.
    pub(crate) fn report(&self, options: &[&str]) -> Value {
        self.document(&[&["report", "--json"], options].concat())
    }

    /// All stacks that allocated.
    pub(crate) fn rows(&self) -> Vec<Row> {
        self.rows_by("allocations")
    }

    /// All stacks that cost something by this measure.
    pub(crate) fn rows_by(&self, metric: &str) -> Vec<Row> {
        let report = self.report(&["--by", metric]);
        let rows = report["rows"].as_array().expect("a report has rows");
        rows.iter().map(Row::from_json).collect()
    }

    /// The stacks that allocated blocks of this size.
    pub(crate) fn rows_of_size(&self, size: u64) -> Vec<Row> {
        let mut rows = self.rows();
        rows.retain(|row| row.is_of(row.number("allocations"), size * row.number("allocations")));
        rows
    }

    /// The only stack that allocated blocks of this size.
    pub(crate) fn row_of_size(&self, size: u64) -> Row {
        let mut rows = self.rows_of_size(size);
        assert_eq!(
            rows.len(),
            1,
            "stacks that allocated blocks of {size} bytes: {rows:#?}\nof {:#?}",
            self.rows()
        );
        rows.remove(0)
    }

    /// All events, in merged order.
    pub(crate) fn events(&self) -> Vec<Event> {
        let ran = self.show(&["export", "--format", "events-json"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.text().lines().skip(1).map(Event::from_json).collect()
    }

    /// Checks what holds for every recording that was not overloaded: nothing lost, nothing unexplained, no calls of
    /// the agent itself, and a complete file.
    pub(crate) fn assert_sound(&self) {
        let info = self.info();
        assert_eq!(info["cut"], Value::Null);
        assert_eq!(info["lost"]["events"], 0, "{}", info["lost"]);
        assert_eq!(info["lost"]["gaps"], 0, "{}", info["lost"]);
        for field in ["unmatched_frees", "lost_allocations", "lost_frees", "conflicts", "stray_events"] {
            assert_eq!(info["totals"][field], 0, "{field}: {}", info["totals"]);
        }
        assert_eq!(info["overhead"]["agent_allocations"], 0);
        let nanoseconds = |value: &Value| value.as_u64().unwrap_or_default();
        let (peak, end) = (nanoseconds(&info["totals"]["peak_time_ns"]), nanoseconds(&info["duration_ns"]));
        assert!(peak <= end, "the peak is {peak} ns after the beginning, the end {end}");
        // What was done for a virtual machine is no trouble.
        let is_trouble =
            |remark: &&Value| !remark.as_str().is_some_and(|remark| remark.starts_with("Told to name"));
        let trouble = info["remarks"].as_array().into_iter().flatten().filter(is_trouble).count();
        assert_eq!(trouble, 0, "{}", info["remarks"]);
    }
}

impl Row {
    pub(crate) fn from_json(value: &Value) -> Row {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let frames = value["stack"].as_array().expect("a row has a stack");
        let frames = frames.iter().filter(|frame| frame["inlined"] == false).map(|frame| Frame {
            function: text(&frame["function"]),
            module: text(&frame["module"]),
            address: event::address(&text(&frame["address"])),
        });
        Row {
            frames: frames.collect(),
            call: text(&value["call"]),
            state: text(&value["state"]),
            value: value.clone(),
        }
    }

    /// True for exactly so many allocations with so many bytes in total.
    pub(crate) fn is_of(&self, allocations: u64, bytes: u64) -> bool {
        self.number("allocations") == allocations && self.number("bytes") == bytes
    }

    /// One of the row's costs.
    pub(crate) fn number(&self, field: &str) -> u64 {
        self.value[field].as_u64().unwrap_or_else(|| panic!("{field} of {}", self.value))
    }

    /// Names of all functions, including inlined ones, from the innermost outwards.
    pub(crate) fn names(&self) -> Vec<String> {
        let frames = self.value["stack"].as_array().expect("a row has a stack");
        frames.iter().map(|frame| frame["function"].as_str().unwrap_or("?").to_string()).collect()
    }
}
