//! One row for equal things: with it, equal stacks of a hundred processes cost the space of one.

use std::collections::hash_map::Entry;
use std::hash::Hash;

use rustc_hash::FxHashMap;

use crate::error::Error;
use crate::ids::{FrameId, ModuleId, NodeId, StringId};
use crate::model::{Frame, Module, Node};

/// The tables in which the writer gives equal values the same id. Rows are kept until they are written; after that,
/// only what recognises them.
pub(crate) struct Interner {
    pub(crate) strings: Table<Box<str>, StringId>,
    pub(crate) modules: Table<Identity, ModuleId>,
    pub(crate) frames: Table<Frame, FrameId>,
    pub(crate) nodes: Table<Node, NodeId>,
}

impl Interner {
    pub(crate) fn new() -> Self {
        Interner {
            strings: Table::new("strings", 0),
            modules: Table::new("modules", 0),
            frames: Table::new("frames", 0),
            // Id 0 is the empty stack, which is never written.
            nodes: Table::new("stacks", 1),
        }
    }

    /// After so many rows, which are not recognised.
    pub(crate) fn after(strings: usize, frames: usize) -> Self {
        let mut interner = Interner::new();
        (interner.strings.next, interner.frames.next) = (strings as u64, frames as u64);
        interner
    }
}

/// Ids by value.
pub(crate) struct Table<T, I> {
    name: &'static str,
    ids: FxHashMap<T, I>,
    next: u64,
}

impl<T: Hash + Eq, I: Copy + From<u32>> Table<T, I> {
    fn new(name: &'static str, first: u64) -> Self {
        Table { name, ids: FxHashMap::default(), next: first }
    }

    /// Number of rows in the table, including those never written.
    pub(crate) fn len(&self) -> u64 {
        self.next
    }

    pub(crate) fn get<Q: Hash + Eq + ?Sized>(&self, value: &Q) -> Option<I>
    where
        T: std::borrow::Borrow<Q>,
    {
        self.ids.get(value).copied()
    }

    /// The id of a value, a new one if it has none; and whether it is new.
    pub(crate) fn enter(&mut self, value: T) -> Result<(I, bool), Error> {
        match self.ids.entry(value) {
            Entry::Occupied(known) => Ok((*known.get(), false)),
            Entry::Vacant(room) => Ok((*room.insert(next(self.name, &mut self.next)?), true)),
        }
    }

    /// Gives the next id to a value that has none.
    pub(crate) fn insert(&mut self, value: T) -> Result<I, Error> {
        let id = next(self.name, &mut self.next)?;
        self.ids.insert(value, id);
        Ok(id)
    }
}

/// The next id of a table.
fn next<I: From<u32>>(table: &'static str, next: &mut u64) -> Result<I, Error> {
    let id = u32::try_from(*next).map_err(|_| Error::TableFull { table })?;
    *next += 1;
    Ok(I::from(id))
}

/// What makes two modules the same: the build id or, without one, device, inode and modification time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Identity {
    BuildId(Vec<u8>),
    Inode { path: String, device: u64, inode: u64, modified_ns: u64 },
}

impl Identity {
    pub(crate) fn of(module: &Module) -> Self {
        if module.build_id.is_empty() {
            let &Module { ref path, device, inode, modified_ns, .. } = module;
            Identity::Inode { path: path.clone(), device, inode, modified_ns }
        } else {
            Identity::BuildId(module.build_id.clone())
        }
    }
}
