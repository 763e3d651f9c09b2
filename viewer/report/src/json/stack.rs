//! Stacks and functions.

use analysis::{Kind, LabelId, Names, Script, Step, functions_of, process_name};
use capture::{Frame, FrameId, NodeId, StringId, Tables};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// A function on a stack.
#[derive(Serialize)]
pub(super) struct FrameFields<'a> {
    function: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_start: Option<String>,
    file: Option<&'a str>,
    line: Option<u32>,
    module: Option<&'a str>,
    /// As hexadecimal text: half of all JSON readers keep only 53 bits of a number.
    address: Option<String>,
    inlined: bool,
    reason: Option<&'a str>,
    #[serde(flatten)]
    owner: Option<OwnerFields<'a>>,
}

/// The process or thread that a group of `--group-by` stands for.
#[derive(Serialize)]
pub(super) struct OwnerFields<'a> {
    pid: u32,
    process: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<&'a str>,
}

/// What a row of a table or a node of a tree stands for.
pub(super) struct Who<'a> {
    name: &'a str,
    kind: &'static str,
    function: Option<&'a str>,
    function_start: Option<String>,
    module: Option<&'a str>,
    reason: Option<&'a str>,
    owner: Option<OwnerFields<'a>>,
}

impl Who<'_> {
    /// Writes its fields into those of something else.
    pub(super) fn fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("name", self.name)?;
        map.serialize_entry("kind", self.kind)?;
        map.serialize_entry("function", &self.function)?;
        if let Some(start) = &self.function_start {
            map.serialize_entry("function_start", start)?;
        }
        map.serialize_entry("module", &self.module)?;
        map.serialize_entry("reason", &self.reason)?;
        let Some(OwnerFields { pid, process, tid, thread }) = &self.owner else { return Ok(()) };
        map.serialize_entry("pid", pid)?;
        map.serialize_entry("process", process)?;
        if let (Some(tid), Some(thread)) = (tid, thread) {
            map.serialize_entry("tid", tid)?;
            map.serialize_entry("thread", thread)?;
        }
        Ok(())
    }
}

/// The functions of a stack, innermost first, without call kinds and end markers. They are generated while being
/// written: all stacks of a capture at once may not fit into memory.
pub(super) struct Stack<'a> {
    pub(super) tables: &'a Tables,
    pub(super) names: &'a Names,
    pub(super) node: NodeId,
}

impl Serialize for Stack<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Self { tables, names, node } = self;
        let functions = functions_of(tables, names, node)
            .filter(|(_, step)| !matches!(names.label(step.label).kind, Kind::Marker(_)));
        serializer.collect_seq(functions.map(|(frame, step)| frame_fields(tables, names, frame, &step)))
    }
}

/// A function of a frame.
pub(super) fn frame_fields<'a>(
    tables: &'a Tables,
    names: &'a Names,
    frame: FrameId,
    step: &Step,
) -> FrameFields<'a> {
    let Who { function, function_start, owner, .. } = who(tables, names, step.label);
    let text = |id: Option<StringId>| id.map(|id| tables.string(id)).filter(|text| !text.is_empty());
    let label = names.label(step.label);
    let (module, address) = match tables.frames.get(frame.index()) {
        _ if label.kind == Kind::Group => (None, None),
        // Made up, to tell the lines of its functions apart.
        Some(Frame::Code { module, .. }) if label.script == Some(Script::Interpreted) => (*module, None),
        Some(Frame::Code { module, address, .. }) => (*module, Some(format!("{address:#x}"))),
        _ => (None, None),
    };
    let reason = || {
        let stored = tables.symbol(frame).and_then(|symbol| symbol.reason);
        text(stored).unwrap_or(NOT_STORED)
    };
    FrameFields {
        function,
        function_start,
        file: text(step.file),
        line: step.line,
        module: module
            .and_then(|module| tables.modules.get(module.index()))
            .map(|module| module.path.as_str()),
        address,
        inlined: step.inlined,
        reason: function.is_none().then(reason),
        owner,
    }
}

/// The reason for a missing name when none was looked for.
pub(super) const NOT_STORED: &str = "no name was stored";

fn owner<'a>(tables: &'a Tables, names: &Names, label: LabelId) -> Option<OwnerFields<'a>> {
    let owner = names.owner(label)?;
    let process = tables.processes.get(owner.process.index())?;
    let thread = owner.thread.and_then(|thread| tables.threads.get(thread.index()));
    Some(OwnerFields {
        pid: process.pid,
        process: process_name(process),
        tid: thread.map(|thread| thread.tid),
        thread: thread.map(|thread| thread.name.as_str()),
    })
}

/// What a label stands for.
pub(super) fn who<'a>(tables: &'a Tables, names: &'a Names, label: LabelId) -> Who<'a> {
    let owner = owner(tables, names, label);
    let label = names.label(label);
    let path =
        |module: capture::ModuleId| tables.modules.get(module.index()).map(|module| module.path.as_str());
    let (kind, function, module, reason) = match label.kind {
        Kind::Everything => ("everything", None, None, None),
        Kind::Process => ("process", None, None, None),
        Kind::Function(function, module) => {
            ("function", Some(tables.string(function)), module.and_then(path), None)
        }
        Kind::InModule(module) => ("module", None, path(module), Some(NOT_STORED)),
        Kind::Unknown(reason) => {
            ("unknown", None, None, Some(reason.map_or(NOT_STORED, |reason| tables.string(reason))))
        }
        Kind::Marker(pseudo) => ("marker", None, None, Some(pseudo.label())),
        Kind::Group => ("group", Some(label.name.as_str()), None, None),
    };
    let function_start = label.start.map(|start| format!("{start:#x}"));
    Who { name: &label.name, kind, function, function_start, module, reason, owner }
}
