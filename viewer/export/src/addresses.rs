//! A single address space for all files of a capture.

use capture::{Frame, Module, ModuleId, Tables};

/// Ranges begin at multiples of the large page size, which any page size divides.
const ALIGNMENT: u64 = 1 << 21;

/// Where the first range begins: nothing is mapped below, as in a process.
const FIRST: u64 = ALIGNMENT;

/// The range of one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) start: u64,
    /// The first address after it.
    pub(super) limit: u64,
}

/// Gives each file a range that contains all of its addresses and overlaps no other. Files with impossible addresses,
/// which a damaged capture may claim, share what is left.
pub(super) fn ranges(tables: &Tables) -> Vec<Range> {
    let mut last = vec![0; tables.modules.len()];
    for frame in &tables.frames {
        if let Frame::Code { module: Some(module), address, .. } = frame
            && let Some(last) = last.get_mut(module.index())
        {
            *last = (*last).max(*address);
        }
    }
    let mut next = FIRST;
    let range = |last: &u64| {
        let start = next;
        let limit = last.checked_add(1).and_then(|length| start.checked_add(length));
        let limit = limit.and_then(|limit| limit.checked_next_multiple_of(ALIGNMENT));
        match limit {
            Some(limit) => {
                next = limit;
                Range { start, limit }
            }
            None => Range { start, limit: u64::MAX },
        }
    };
    last.iter().map(range).collect()
}

/// Where a frame is: the address after a call may belong to another function.
pub(super) fn call_address(address: u64, is_exact: bool) -> u64 {
    if is_exact { address } else { address.saturating_sub(1) }
}

/// A build id in hexadecimal; empty if the file has none.
pub(super) fn build_id(tables: &Tables, module: ModuleId) -> String {
    let id = tables.modules.get(module.index()).map(|module: &Module| &module.build_id[..]);
    id.unwrap_or_default().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tables(addresses: &[(usize, u64)], modules: usize) -> Tables {
        let frame = |&(module, address): &(usize, u64)| Frame::Code {
            module: Some(ModuleId::from_index(module)),
            address,
            exact: true,
        };
        let frames = addresses.iter().map(frame).collect();
        Tables { modules: vec![Module::default(); modules], frames, ..Tables::default() }
    }

    proptest! {
        /// Check that each possible address of a file is in its file's range, and that no ranges overlap.
        #[test]
        fn ranges_hold_their_files(addresses in prop::collection::vec((0..5_usize, 0..1_u64 << 48), 0..40)) {
            let ranges = ranges(&tables(&addresses, 5));
            for (module, address) in addresses {
                prop_assert!(ranges[module].start + address < ranges[module].limit);
            }
            for pair in ranges.windows(2) {
                prop_assert!(pair[0].limit <= pair[1].start);
            }
        }
    }

    /// Check that addresses at the end of the address space do not make a range wrap around.
    #[test]
    fn hostile_addresses_do_not_wrap() {
        for range in ranges(&tables(&[(0, u64::MAX), (1, u64::MAX - (5 << 20)), (2, 7)], 3)) {
            assert!(range.start < range.limit);
        }
    }
}
