//! All tables except those of single events.

use super::Error;
use crate::origin::labels;
use analysis::{Cost, Kind, call_of, process_name};
use capture::{Ended, Frame, FrameId, NodeId};
use engine::Loaded;
use report::ended_word;
use rusqlite::{Connection, params};

pub(super) fn fill(to: &Connection, loaded: &Loaded) -> Result<(), Error> {
    info(to, loaded)?;
    processes(to, loaded)?;
    functions(to, loaded)?;
    frames(to, loaded)?;
    stacks(to, loaded)?;
    costs(to, loaded)
}

/// `SQLite` integers are signed; addresses and times of a capture never need the top bit.
fn int(value: u64) -> i64 {
    value.cast_signed()
}

fn info(to: &Connection, loaded: &Loaded) -> Result<(), Error> {
    let metadata = &loaded.tables.metadata;
    let mut insert = to.prepare("insert into info values (?, ?)")?;
    insert.execute(("file", &loaded.source.file))?;
    insert.execute(("cut", &loaded.source.cut))?;
    insert.execute(("command", metadata.command.join(" ")))?;
    insert.execute(("tool_version", &metadata.tool_version))?;
    insert.execute(("started_unix_ns", int(metadata.started_unix_ns)))?;
    insert.execute(("duration_ns", int(loaded.duration_ns())))?;
    insert.execute(("sample_interval", loaded.profile.sampling.map(|sampling| int(sampling.interval()))))?;
    Ok(())
}

fn processes(to: &Connection, loaded: &Loaded) -> Result<(), Error> {
    let mut insert = to.prepare("insert into processes values (?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
    for (id, row) in (0_u32..).zip(&loaded.tables.processes) {
        let ended = loaded.profile.processes.get(id as usize).map_or(Ended::Unknown, |process| process.ended);
        let time = row.end.as_ref().map(|end| int(end.time));
        let command = row.command.join(" ");
        let parent = row.parent.map(|parent| parent.0);
        insert.execute(params![
            id,
            row.pid,
            parent,
            process_name(row),
            row.executable,
            command,
            labels(&loaded.tables.metadata, row),
            ended_word(ended),
            time
        ])?;
    }
    let mut insert = to.prepare("insert into threads values (?, ?, ?, ?)")?;
    for (id, row) in (0_u32..).zip(&loaded.tables.threads) {
        insert.execute(params![id, row.process.0, row.tid, row.name])?;
    }
    Ok(())
}

fn functions(to: &Connection, loaded: &Loaded) -> Result<(), Error> {
    let mut insert = to.prepare("insert into modules values (?, ?, ?)")?;
    for (id, row) in (0_u32..).zip(&loaded.tables.modules) {
        let build_id: String = row.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
        insert.execute(params![id, row.path, build_id])?;
    }
    let mut insert = to.prepare("insert into functions values (?, ?, ?)")?;
    for id in loaded.names.ids() {
        let label = loaded.names.label(id);
        // These are not functions.
        if matches!(label.kind, Kind::Everything | Kind::Process) {
            continue;
        }
        insert.execute(params![id.0, label.name, label.module().map(|module| module.0)])?;
    }
    Ok(())
}

fn frames(to: &Connection, loaded: &Loaded) -> Result<(), Error> {
    let tables = &loaded.tables;
    let mut insert = to.prepare("insert into frames values (?, ?, ?)")?;
    let mut function = to.prepare("insert into frame_functions values (?, ?, ?, ?, ?)")?;
    for (id, frame) in (0_u32..).zip(&tables.frames) {
        let (module, address) = match frame {
            Frame::Code { module, address, .. } => (module.map(|module| module.0), Some(int(*address))),
            Frame::Pseudo(_) => (None, None),
        };
        insert.execute(params![id, module, address])?;
        for (depth, step) in (0_u32..).zip(loaded.names.steps(FrameId(id))) {
            let file = step.file.map(|file| tables.string(file));
            function.execute(params![id, depth, step.label.0, file, step.line])?;
        }
    }
    Ok(())
}

fn stacks(to: &Connection, loaded: &Loaded) -> Result<(), Error> {
    let Loaded { tables, names, .. } = loaded;
    let mut insert = to.prepare("insert into stacks values (?, ?, ?, ?, ?)")?;
    // By stack, its innermost function: parents come before their children.
    let mut functions: Vec<Option<u32>> = Vec::with_capacity(tables.nodes.len());
    for (id, node) in (0_u32..).zip(&tables.nodes) {
        let stack = NodeId(id);
        let is_root = stack == NodeId::ROOT;
        let own = names.steps(node.frame).first().map(|step| step.label.0).filter(|_| !is_root);
        let function = own.or_else(|| functions.get(node.parent.index()).copied().flatten());
        functions.push(function);
        let (parent, frame) = ((!is_root).then_some(node.parent.0), (!is_root).then_some(node.frame.0));
        insert.execute(params![id, parent, frame, call_of(tables, stack), function])?;
    }
    Ok(())
}

fn costs(to: &Connection, loaded: &Loaded) -> Result<(), Error> {
    let places = ["?"; 20].join(", ");
    let mut insert = to.prepare(&format!("insert into costs values ({places})"))?;
    for site in &loaded.profile.sites {
        let Cost { allocated, freed, temporary, frees, peak, leaked, uncertain, at_exec, cpu } = site.cost;
        let amounts = [allocated, freed, temporary, peak, leaked, uncertain, at_exec, cpu, frees];
        let numbers = amounts.into_iter().flat_map(|amount| [amount.blocks, amount.bytes]);
        let keys = [i64::from(site.process.0), i64::from(site.node.0)];
        insert.execute(rusqlite::params_from_iter(keys.into_iter().chain(numbers)))?;
    }
    Ok(())
}
