//! The payload of an event chunk: columns, and models that writer and reader keep in step so that an allocator's most
//! frequent actions cost one small number. The columns of addresses lie in [planes](crate::planes), sizes and placements
//! in [groups].

mod address;
mod bounds;
mod decode;
mod encode;
mod groups;
mod kind;
mod lines;
mod rare;

#[cfg(test)]
mod tests;

pub(crate) use bounds::Bounds;
pub(crate) use decode::Decoder;
pub(crate) use encode::Encoder;
#[cfg(test)]
pub(crate) use kind::Kind;

/// The columns in file order. What each holds, with examples, is in `FORMAT.md`.
#[derive(Clone, Copy)]
#[repr(usize)]
enum Column {
    /// Runs of equal kinds.
    Kind,
    /// Runs of events of one thread.
    Thread,
    /// Times: lines.
    Time,
    /// For each new block, whether the address model foresaw its address, by size class.
    Placement,
    /// Addresses of blocks that were not foreseen.
    Address,
    /// For each freed block, which block of this chunk it was.
    Freed,
    /// Addresses of freed blocks that were not allocated in this chunk.
    FreedAddress,
    /// Sizes of new blocks, by stack.
    Size,
    /// Stacks of new blocks, each once.
    Stack,
    /// Alignments, where the caller asked for one.
    Alignment,
    /// Stacks of frees, where they were recorded.
    FreeStack,
    /// Serials of `realloc`s.
    Serial,
    /// Length-prefixed records of the rare kinds.
    Rare,
    /// For each new block, which of the chunk's stacks in [`Column::Stack`] it has.
    StackNumber,
    /// How long the groups of [`Column::Size`] are.
    SizeGroups,
    /// How long the groups of [`Column::Placement`] are.
    PlacementGroups,
}

const COLUMNS: usize = Column::PlacementGroups as usize + 1;

/// The columns that lie in planes.
const PLANAR: [Column; 4] = [Column::Address, Column::Freed, Column::FreedAddress, Column::StackNumber];

/// The index of a column in [`PLANAR`].
#[inline(always)]
fn planar(column: Column) -> usize {
    match column {
        Column::StackNumber => PLANAR.len() - 1,
        column => column as usize - Column::Address as usize,
    }
}
