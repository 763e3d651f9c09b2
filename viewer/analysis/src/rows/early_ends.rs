//! Stacks that end early because code has no unwind information.
//!
//! Unwinding from a hook stops at a function that no unwind table covers. That is the outermost one shown, just below
//! the marker, so its file is the one that was built without tables:
//!
//! ```text
//! [incomplete: no unwind information] ── helper in /opt/libx.so ── malloc       libx.so
//! ```

use crate::base::cost::Amount;
use crate::base::metric::Metric;
use crate::base::share::Share;
use crate::count::profile::Profile;
use capture::{Frame, ModuleId, NodeId, Pseudo, Tables};
use std::collections::HashMap;

/// In percent: less is not worth a rebuild with other flags.
const LEAST: f64 = 1.0;

/// The stacks that end in one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlyEnd {
    /// The file; none for code outside of any file.
    pub module: Option<ModuleId>,
    /// What they cost.
    pub cost: Amount,
}

/// How a stack begins at its root.
#[derive(Clone, Copy)]
enum Root {
    /// Otherwise.
    Other,
    /// With the marker, and nothing else so far.
    Marker,
    /// With the marker, followed by code of this file.
    Code(Option<ModuleId>),
}

/// Files in whose code stacks end early, if these make up a percent of the total or more; the most expensive first.
pub fn early_ends(profile: &Profile, tables: &Tables, metric: Metric) -> Vec<EarlyEnd> {
    let roots = roots(tables);
    let mut costs: HashMap<Option<ModuleId>, Amount> = HashMap::new();
    for site in &profile.sites {
        if let Some(Root::Code(module)) = roots.get(site.node.index()) {
            *costs.entry(*module).or_insert(Amount::ZERO) += metric.of(&site.cost);
        }
    }
    let least = Share::percent(LEAST).least(metric.rank(metric.of(&profile.total))).max(1);
    let ends = costs.into_iter().map(|(module, cost)| EarlyEnd { module, cost });
    let mut ends: Vec<EarlyEnd> = ends.filter(|end| metric.rank(end.cost) >= least).collect();
    ends.sort_by_key(|end| (std::cmp::Reverse(metric.order(end.cost)), end.module));
    ends
}

/// By [`NodeId`], in one pass, because parents come before their children.
fn roots(tables: &Tables) -> Vec<Root> {
    let mut roots = vec![Root::Other; tables.nodes.len().max(1)];
    for (index, node) in tables.nodes.iter().enumerate().skip(1) {
        let caller = if node.parent.index() < index { roots[node.parent.index()] } else { Root::Other };
        roots[index] = match (tables.frames.get(node.frame.index()), caller) {
            (Some(Frame::Pseudo(Pseudo::NoUnwindInfo)), _) if node.parent == NodeId::ROOT => Root::Marker,
            (Some(Frame::Code { module, .. }), Root::Marker) => Root::Code(*module),
            (_, known) => known,
        };
    }
    roots
}
