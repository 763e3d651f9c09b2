//! `dump --samples` and `dump --hits`: every CPU sample, or every tracepoint hit, a line each.

use crate::json::SCHEMA;
use crate::options::DumpOptions;
use crate::text::escape;
use analysis::{Names, functions_of};
use capture::{Hit, NodeId, Sample, SizeUnit, Tables, Tracepoint};
use serde::Serialize;
use std::io::{self, Write};

/// Writes samples and hits as they come.
pub(crate) struct SampleDump<'a> {
    pub(crate) out: &'a mut dyn Write,
    pub(crate) tables: &'a Tables,
    pub(crate) names: &'a Names,
    pub(crate) options: DumpOptions,
    pub(crate) is_json: bool,
}

#[derive(Serialize)]
struct First<'a> {
    schema: u32,
    document: &'static str,
    file: &'a str,
}

#[derive(Serialize)]
struct SampleFields<'a> {
    time_ns: u64,
    pid: Option<u32>,
    tid: Option<u32>,
    cpu: u32,
    weight: u64,
    stack: Vec<&'a str>,
}

#[derive(Serialize)]
struct HitFields<'a> {
    time_ns: u64,
    pid: Option<u32>,
    tid: Option<u32>,
    tracepoint: &'a str,
    size: Option<u64>,
    cookie: Option<u64>,
    stack: Vec<&'a str>,
}

impl SampleDump<'_> {
    /// Writes what precedes all entries.
    pub(crate) fn first(&mut self, document: &'static str, file: &str) -> io::Result<()> {
        if !self.is_json {
            return Ok(());
        }
        serde_json::to_writer(&mut *self.out, &First { schema: SCHEMA, document, file })?;
        writeln!(self.out)
    }

    /// Writes a sample.
    pub(crate) fn sample(&mut self, sample: &Sample) -> io::Result<()> {
        let task = self.tables.tasks.get(sample.task.index());
        let &mut Self { tables, names, options, .. } = self;
        let stack = stack(tables, names, sample.stack, options.frames);
        if self.is_json {
            let fields = SampleFields {
                time_ns: sample.time,
                pid: task.map(|task| task.pid),
                tid: task.map(|task| task.tid),
                cpu: sample.cpu,
                weight: sample.weight,
                stack,
            };
            serde_json::to_writer(&mut *self.out, &fields)?;
            return writeln!(self.out);
        }
        let seconds = sample.time as f64 / 1e9;
        let (pid, tid) = task.map_or((0, 0), |task| (task.pid, task.tid));
        let stack = escape(&stack.join(" < ")).into_owned();
        writeln!(self.out, "{seconds:.6} {pid}/{tid} cpu {} {stack}", sample.cpu)
    }

    /// Writes a hit.
    pub(crate) fn hit(&mut self, hit: &Hit) -> io::Result<()> {
        let task = self.tables.tasks.get(hit.task.index());
        let &mut Self { tables, names, options, .. } = self;
        let Some(tracepoint) = tables.tracepoints.get(hit.tracepoint.index()) else { return Ok(()) };
        let stack = stack(tables, names, hit.stack, options.frames);
        if self.is_json {
            let fields = HitFields {
                time_ns: hit.time,
                pid: task.map(|task| task.pid),
                tid: task.map(|task| task.tid),
                tracepoint: &tracepoint.name,
                size: (!tracepoint.size.is_empty()).then_some(hit.size),
                cookie: (!tracepoint.cookie.is_empty()).then_some(hit.cookie),
                stack,
            };
            serde_json::to_writer(&mut *self.out, &fields)?;
            return writeln!(self.out);
        }
        let seconds = hit.time as f64 / 1e9;
        let (pid, tid) = task.map_or((0, 0), |task| (task.pid, task.tid));
        let (name, stack) = (escape(&tracepoint.name), escape(&stack.join(" < ")).into_owned());
        let cookie = match tracepoint.cookie.as_str() {
            "" => String::new(),
            field => format!(" {} {}", escape(field), hit.cookie),
        };
        writeln!(self.out, "{seconds:.6} {pid}/{tid} {name}{}{cookie} {stack}", sized(tracepoint, hit.size))
    }
}

/// The size of a hit, for people.
fn sized(tracepoint: &Tracepoint, size: u64) -> String {
    match tracepoint.unit {
        _ if tracepoint.size.is_empty() => String::new(),
        SizeUnit::Bytes => format!(" {size} bytes"),
        SizeUnit::Plain => format!(" {} {size}", escape(&tracepoint.size)),
    }
}

/// Names of the functions from the innermost out, up to the limit.
fn stack<'a>(tables: &'a Tables, names: &'a Names, node: NodeId, limit: usize) -> Vec<&'a str> {
    let steps = functions_of(tables, names, node).take(limit);
    steps.map(|(_, step)| names.label(step.label).name.as_str()).collect()
}
