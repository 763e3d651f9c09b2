//! Values that everything else is made of.

pub(crate) mod columns;
pub(crate) mod cost;
pub(crate) mod metric;
pub(crate) mod named;
pub(crate) mod order;
pub(crate) mod parts;
pub(crate) mod ranges;
pub(crate) mod share;
pub(crate) mod spread;
