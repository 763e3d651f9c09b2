//! The tables of single events: blocks, and calls that returned no memory.

use super::Error;
use analysis::{Birth, Death, End, Instant, Left, Life, Reason, Watch, call_of};
use capture::{Action, Event, NodeId, Tables};
use engine::{Events, Loaded, observe};
use rusqlite::{Connection, Statement, params};

pub(super) fn fill(to: &Connection, loaded: &Loaded, events: &dyn Events) -> Result<(), Error> {
    let insert = to.prepare("insert into blocks values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
    let insert_failed =
        to.prepare("insert into failed_allocations values (null, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
    let tables = &loaded.tables;
    let writer = observe(loaded, events, Writer { tables, insert, insert_failed, born: 0, result: Ok(()) })?;
    Ok(writer.result?)
}

struct Writer<'c> {
    tables: &'c Tables,
    insert: Statement<'c>,
    insert_failed: Statement<'c>,
    born: i64,
    /// The first error; nothing is written after it.
    result: rusqlite::Result<()>,
}

impl Watch for Writer<'_> {
    /// The number of its row and its time of birth: a row is written once it is complete.
    type Attached = (i64, u64);

    fn born(&mut self, birth: &Birth, _: Option<&Life<Self::Attached>>) -> Self::Attached {
        self.born += 1;
        (self.born, birth.at.time)
    }

    fn died(&mut self, life: &Life<Self::Attached>, death: &Death) {
        if self.result.is_err() {
            return;
        }
        let (end, freed_by) = match death.end {
            End::Freed { thread, stack, is_temporary: true } => ("temporary", Some((thread, stack))),
            End::Freed { thread, stack, .. } => ("freed", Some((thread, stack))),
            End::Resized { thread, stack, .. } => ("resized", Some((thread, stack))),
            End::Displaced { .. } => ("displaced", None),
            End::Left { left: Left::Leaked, .. } => ("leaked", None),
            End::Left { left: Left::Uncertain, .. } => ("uncertain", None),
            End::Left { left: Left::AtExec, .. } => ("exec", None),
        };
        let is_left = matches!(death.end, End::Left { .. });
        let died = (!is_left).then_some(death.at.time.cast_signed());
        let (id, born) = life.attached;
        let (process, thread, stack) = (life.process.0, life.thread.0, life.node.0);
        let (address, size) = (life.address.cast_signed(), life.size.cast_signed());
        let row = params![
            id,
            process,
            thread,
            address,
            size,
            stack,
            born.cast_signed(),
            died,
            end,
            freed_by.map(|(thread, _)| thread.0),
            freed_by.map(|(_, stack)| stack).filter(|stack| *stack != NodeId::ROOT).map(|stack| stack.0),
        ];
        self.result = self.insert.execute(row).map(drop);
    }

    fn event(&mut self, at: Instant, event: &Event) {
        let Action::AllocFailed { size, factors, alignment, error, stack } = event.action else { return };
        let Some(process) = self.tables.process_of(event.thread).filter(|_| self.result.is_ok()) else {
            return;
        };
        let row = params![
            process.0,
            event.thread.0,
            at.time.cast_signed(),
            call_of(self.tables, stack),
            size.cast_signed(),
            Some(alignment.cast_signed()).filter(|alignment| *alignment != 0),
            Reason::of(error).name(),
            stack.0,
            factors.map(|(count, _)| count.cast_signed()),
            factors.map(|(_, each)| each.cast_signed()),
        ];
        self.result = self.insert_failed.execute(row).map(drop);
    }
}
