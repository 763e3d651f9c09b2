//! Ids of stacks that are the same on every machine and in every version whose stacks are.

use analysis::{LabelId, Site, Spelling, file_name, normal_name};
use capture::NodeId;
use engine::Loaded;
use sha2::{Digest, Sha256};
use std::borrow::Cow;

/// A hash of the functions from the outermost one on, each with the name of its file, and of the process' name:
/// the first eight bytes of SHA-256, so nobody can name functions such that their stacks are taken for others.
pub(super) struct StackIds {
    /// By stack, without its process.
    nodes: Vec<[u8; 8]>,
}

impl StackIds {
    pub(super) fn of(loaded: &Loaded) -> Self {
        let mut nodes: Vec<[u8; 8]> = Vec::with_capacity(loaded.tables.nodes.len());
        // Parents come before their children; the first is the empty stack.
        for (index, node) in loaded.tables.nodes.iter().enumerate() {
            let mut id = nodes.get(node.parent.index()).copied().unwrap_or_default();
            if NodeId::from_index(index) != NodeId::ROOT {
                for step in loaded.names.steps(node.frame).iter().rev() {
                    let path = loaded.module_of(step.label).unwrap_or_default();
                    id = chained(id, &function(loaded, step.label), without_version(file_name(path)));
                }
            }
            nodes.push(id);
        }
        Self { nodes }
    }

    pub(super) fn id(&self, loaded: &Loaded, site: &Site) -> i64 {
        let node = self.nodes.get(site.node.index()).copied().unwrap_or_default();
        i64::from_le_bytes(chained(node, &function(loaded, loaded.names.process(site.process)), ""))
    }
}

/// The name of a function without what changes from build to build, and from capture to capture.
pub(super) fn function(loaded: &Loaded, label: LabelId) -> Cow<'_, str> {
    normal_name(loaded.names.label(label).base(), Spelling::Exact)
}

fn chained(caller: [u8; 8], function: &str, file: &str) -> [u8; 8] {
    let hash =
        Sha256::new().chain_update(caller).chain_update(function).chain_update([0_u8]).chain_update(file);
    let hash = hash.finalize();
    std::array::from_fn(|place| hash[place])
}

/// `libx.so` for `libx.so.1.2.3`.
fn without_version(file: &str) -> &str {
    file.find(".so.").map_or(file, |end| &file[..end + ".so".len()])
}
