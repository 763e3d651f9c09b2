//! Shared memory between agent and collector: rings, stack stash, pc table.
