//! Stacks in Sysprof's form: addresses, innermost first, with marks between the kernel's and the program's.

use super::symbols::address;
use crate::places::{is_kernels, places};
use analysis::{Site, functions_of};
use capture::{NodeId, ProcessId};
use engine::Loaded;

/// Sysprof leaves out longer stacks.
const MOST_ADDRESSES: usize = 1024;

/// Kernel addresses follow.
const KERNEL_MARK: u64 = 0xffff_ffff_ffff_ff80;

/// User addresses follow.
const USER_MARK: u64 = 0xffff_ffff_ffff_fe00;

/// Converts one stack at a time.
pub(super) struct Stacks<'a> {
    loaded: &'a Loaded,
    addresses: Vec<u64>,
}

impl<'a> Stacks<'a> {
    pub(super) fn new(loaded: &'a Loaded) -> Self {
        Self { loaded, addresses: Vec::new() }
    }

    /// The stack of an allocation, which is entirely in user space.
    pub(super) fn of_block(&mut self, process: ProcessId, node: NodeId) -> &[u64] {
        self.addresses.clear();
        let site = Site { process, thread: None, node, cost: Default::default() };
        let functions = places(self.loaded, &site).map(|place| address(place.label));
        self.addresses.extend(functions.take(MOST_ADDRESSES));
        // Sysprof shows the process itself, but a stack of nothing else must not be empty.
        if self.addresses.len() > 1 {
            let process = address(self.loaded.names.process(process));
            self.addresses.pop_if(|last| *last == process);
        }
        &self.addresses
    }

    /// The stack of a sample: kernel frames are innermost, out to the one where the kernel was entered.
    pub(super) fn of_sample(&mut self, process: ProcessId, node: NodeId) -> &[u64] {
        let Self { loaded, addresses, .. } = self;
        let Loaded { tables, names, .. } = loaded;
        addresses.clear();
        let entry = tables.stack(node).filter(|(_, node)| is_kernels(loaded, node.frame)).last();
        let mut in_kernel = entry.is_some();
        addresses.push(if in_kernel { KERNEL_MARK } else { USER_MARK });
        for (id, node) in tables.stack(node) {
            addresses.extend(names.steps(node.frame).iter().map(|step| address(step.label)));
            if in_kernel && entry.is_some_and(|(entry, _)| entry == id) {
                in_kernel = false;
                addresses.push(USER_MARK);
            }
        }
        if functions_of(tables, names, node).next().is_none() {
            addresses.push(address(names.process(process)));
        }
        addresses.truncate(MOST_ADDRESSES);
        addresses
    }
}
