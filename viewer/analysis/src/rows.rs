//! Rows and trees that views list, made of a profile and its names.

pub(crate) mod allocator;
pub(crate) mod allocator_library;
pub(crate) mod appearance;
pub(crate) mod early_ends;
pub(crate) mod exec_chain;
pub(crate) mod functions;
pub(crate) mod inverted;
pub(crate) mod lines;
pub(crate) mod nameless;
pub(crate) mod neighbours;
pub(crate) mod opening;
pub(crate) mod page_tree;
pub(crate) mod resident;
pub(crate) mod shown;
pub(crate) mod stack_map;
pub(crate) mod stacks;
pub(crate) mod state;
pub(crate) mod top_down;
pub(crate) mod tree;
