//! Typed indices of a capture's tables.
//!
//! Every table is append-only and gives out its ids in order from zero. So an id is an index, and a chunk stores only
//! the first id of its rows.

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl From<u32> for $name {
            fn from(number: u32) -> Self {
                Self(number)
            }
        }

        impl $name {
            /// The position of this id's row in its table.
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of the row at a table position.
            ///
            /// # Panics
            /// When the table has more than 2³² rows, which no writer of this crate makes.
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("a table holds fewer than 2^32 rows"))
            }
        }
    };
}

id! {
    /// One image of a process: exec ends one and starts the next under the same pid.
    ProcessId
}
id! {
    /// A thread of one process image.
    ThreadId
}
id! {
    /// A thread as sampled on the processors: exec ends one and starts the next under the same thread id.
    TaskId
}
id! {
    /// A search of a process' memory for pointers.
    ScanId
}
id! {
    /// A file with code, identified by its build id or by device, inode and modification time.
    ModuleId
}
id! {
    /// One code address, or one pseudo frame.
    FrameId
}
id! {
    /// A stack: a frame and the stack of its caller. Id 0 is the empty stack, see [`NodeId::ROOT`].
    NodeId
}
id! {
    /// A string: the name of a function or file, or one that the program gave.
    StringId
}
id! {
    /// A moment that the program named.
    MarkId
}

impl NodeId {
    /// The stack without frames: the parent of every outermost frame.
    pub const ROOT: NodeId = NodeId(0);
}

/// Which of the capture's new blocks one is, from 0. Each [`Action::Alloc`](crate::Action::Alloc) makes one, and each `realloc` that returns a
/// block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockNumber(pub u64);
