//! One row for equal things: with it, equal stacks of a hundred processes cost the space of one.

use std::collections::hash_map::Entry;
use std::hash::Hash;

use hashbrown::HashTable;
use hashbrown::hash_table;
use rustc_hash::FxHashMap;

use crate::error::Error;
use crate::hash::Seed;
use crate::ids::{FrameId, ModuleId, NodeId, StringId};
use crate::model::{Frame, Module, Node};

/// The tables in which the writer gives equal values the same id. Rows are kept until they are written; after that,
/// only what recognises them.
pub(crate) struct Interner {
    pub(crate) strings: Table<Box<str>, StringId>,
    pub(crate) modules: Table<Identity, ModuleId>,
    pub(crate) frames: Table<Frame, FrameId>,
    pub(crate) nodes: Nodes,
}

impl Interner {
    pub(crate) fn new() -> Self {
        Interner {
            strings: Table::new("strings"),
            modules: Table::new("modules"),
            frames: Table::new("frames"),
            nodes: Nodes::new(),
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
    fn new(name: &'static str) -> Self {
        Table { name, ids: FxHashMap::default(), next: 0 }
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

/// Ids of stacks, of which a program may have millions: a node's row is its id's, so that the hash table holds ids only.
pub(crate) struct Nodes {
    seed: Seed,
    /// The first one, the empty stack's, is never written.
    rows: Vec<Node>,
    ids: HashTable<u32>,
}

impl Nodes {
    fn new() -> Self {
        let empty = Node { parent: NodeId::ROOT, frame: FrameId(0) };
        Nodes { seed: Seed::random(), rows: vec![empty], ids: HashTable::new() }
    }

    /// Number of stacks, the empty one included.
    pub(crate) fn len(&self) -> u64 {
        self.rows.len() as u64
    }

    /// The id of a node, a new one if it has none; and whether it is new.
    pub(crate) fn enter(&mut self, node: Node) -> Result<(NodeId, bool), Error> {
        let Nodes { seed, rows, ids } = self;
        let hash = |node: &Node| seed.pair(node.parent.0, node.frame.0);
        let is_same = |id: &u32| rows[*id as usize] == node;
        match ids.entry(hash(&node), is_same, |id| hash(&rows[*id as usize])) {
            hash_table::Entry::Occupied(known) => Ok((NodeId(*known.get()), false)),
            hash_table::Entry::Vacant(room) => {
                let id = u32::try_from(rows.len()).map_err(|_| Error::TableFull { table: "stacks" })?;
                room.insert(id);
                rows.push(node);
                Ok((NodeId(id), true))
            }
        }
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
