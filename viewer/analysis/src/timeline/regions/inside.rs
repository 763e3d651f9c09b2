//! Which regions are open, as events go by.

use super::process_of;
use capture::{Action, Event, MarkKind, ProcessId, StringId, Tables};
use std::collections::HashMap;

/// Follows the regions of some names through the events, whose order is authoritative.
#[derive(Clone, Debug)]
pub struct Inside {
    /// By mark: its kind, the index of its name, and its process; none for other names.
    marks: Vec<Option<(MarkKind, u32, ProcessId)>>,
    /// Number of open regions by process and name.
    open: HashMap<(ProcessId, u32), u32>,
    /// Number of open regions by name.
    of_name: Vec<u32>,
    /// Number of names with an open region.
    names: u32,
}

impl Inside {
    /// For a pass over all events of the capture that these tables belong to. Names are referred to by their index.
    pub fn new(tables: &Tables, names: &[StringId]) -> Self {
        let number: HashMap<StringId, u32> = names.iter().copied().zip(0..).collect();
        let of_mark = |mark| {
            let process = process_of(tables, mark);
            number.get(&mark.name).map(|&number| (mark.kind, number, process))
        };
        Self {
            marks: tables.marks.iter().map(of_mark).collect(),
            open: HashMap::new(),
            of_name: vec![0; names.len()],
            names: 0,
        }
    }

    /// Follows an event; few events are marks.
    #[inline]
    pub fn event(&mut self, event: &Event) {
        match event.action {
            Action::Mark { mark } => {
                let Some(&Some((kind, name, process))) = self.marks.get(mark.index()) else { return };
                match kind {
                    MarkKind::Instant => {}
                    MarkKind::Begin => {
                        *self.open.entry((process, name)).or_default() += 1;
                        self.count(name, 1);
                    }
                    MarkKind::End => {
                        if let Some(open) = self.open.get_mut(&(process, name)).filter(|open| **open > 0) {
                            *open -= 1;
                            self.count(name, -1);
                        }
                    }
                }
            }
            Action::ProcessEnd { process } => self.end(process),
            _ => {}
        }
    }

    /// True inside a region of any of the names.
    #[inline]
    pub fn is_in_any(&self) -> bool {
        self.names > 0
    }

    /// The indices of names with an open region.
    pub fn open(&self) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(&self.of_name).filter(|(_, open)| **open > 0).map(|(name, _)| name)
    }

    /// The regions of a process end with it.
    fn end(&mut self, process: ProcessId) {
        let mut over = Vec::new();
        self.open.retain(|&(of, name), open| {
            if of == process {
                over.push((name, *open));
            }
            of != process
        });
        over.into_iter().for_each(|(name, open)| self.count(name, -i64::from(open)));
    }

    fn count(&mut self, name: u32, by: i64) {
        let Some(open) = self.of_name.get_mut(name as usize) else { return };
        let before = *open;
        *open = u32::try_from(i64::from(before) + by).unwrap_or(u32::MAX);
        match (before > 0, *open > 0) {
            (false, true) => self.names += 1,
            (true, false) => self.names -= 1,
            _ => {}
        }
    }
}
