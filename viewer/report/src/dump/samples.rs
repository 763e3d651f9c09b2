//! `dump --samples`: every CPU sample, a line each.

use crate::json::SCHEMA;
use crate::options::DumpOptions;
use crate::text::escape;
use analysis::{Names, functions_of};
use capture::{NodeId, Sample, Tables};
use serde::Serialize;
use std::io::{self, Write};

/// Writes samples as they come.
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
}

/// Names of the functions from the innermost out, up to the limit.
fn stack<'a>(tables: &'a Tables, names: &'a Names, node: NodeId, limit: usize) -> Vec<&'a str> {
    let steps = functions_of(tables, names, node).take(limit);
    steps.map(|(_, step)| names.label(step.label).name.as_str()).collect()
}
