//! Everything about one function.

use super::Analyzer;
use crate::error::Error;
use crate::lens::Lens;
use crate::loaded::Loaded;
use crate::symbolize::{Naming, Needed, named};
use analysis::lifetimes::{BlockStats, Endpoint, Frees, Order, Passed, Shape, Shapes};
use analysis::query::{Expression, Query, Unknown};
use analysis::{Birth, Death, LabelId, Life, LineCost, Names, Watch, lines_of, passing_through};
use capture::{NodeId, Tables};
use std::collections::HashMap;

/// What there is to know about a function, from all stacks that contain it.
#[derive(Debug)]
pub struct FunctionDetail {
    /// The function.
    pub label: LabelId,
    /// Its lines that allocated or called a function that did, ordered by file and line. A stack that contains it
    /// several times is charged to the innermost line, so they add up to the function's total.
    pub lines: Vec<LineCost>,
    /// The blocks of these stacks by size and by lifetime.
    pub shape: Shape,
    /// What became of these blocks, and whose blocks the function's own stacks free; none when the stacks of frees
    /// were not recorded.
    pub frees: Option<FunctionFrees>,
}

/// The stacks that a function shares blocks with, those with most bytes first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionFrees {
    /// What became of the blocks that they allocate.
    pub ends: Vec<(Endpoint, BlockStats)>,
    /// Who allocated the blocks that they free.
    pub owners: Vec<(Endpoint, BlockStats)>,
}

impl FunctionFrees {
    fn new(frees: Frees, is_on: impl Fn(NodeId) -> bool) -> Self {
        let (mut ends, mut owners) =
            (HashMap::<Endpoint, BlockStats>::new(), HashMap::<Endpoint, BlockStats>::new());
        for Passed { allocated_by, end, stats, .. } in frees.passed() {
            if is_on(allocated_by) {
                ends.entry(end).or_default().add(&stats);
            }
            if end.stack().is_some_and(&is_on) {
                owners.entry(Endpoint::Allocated(allocated_by)).or_default().add(&stats);
            }
        }
        let most_first = |endpoints: HashMap<Endpoint, BlockStats>| {
            let mut endpoints: Vec<(Endpoint, BlockStats)> = endpoints.into_iter().collect();
            endpoints.sort_by_key(|(endpoint, stats)| (Order::Bytes.rank(stats.blocks), *endpoint));
            endpoints
        };
        Self { ends: most_first(ends), owners: most_first(owners) }
    }
}

/// Observes a pass for what single blocks tell about a function.
struct Blocks {
    shapes: Shapes,
    frees: Option<Frees>,
}

impl Blocks {
    fn new(tables: &Tables) -> Self {
        let frees = tables.metadata.has_free_stacks().then(|| Frees::new(tables));
        Self { shapes: Shapes::new(tables), frees }
    }
}

impl Watch for Blocks {
    /// When the block was allocated.
    type Attached = u64;

    fn born(&mut self, birth: &Birth, _: Option<&Life<u64>>) -> u64 {
        self.shapes.born(birth, None)
    }

    fn died(&mut self, life: &Life<u64>, death: &Death) {
        self.shapes.died(life, death);
        if let Some(frees) = &mut self.frees {
            frees.died(life, death);
        }
    }
}

impl Analyzer {
    /// Looks a function up by name, and details the stacks that contain it and that an expression selects.
    ///
    /// # Errors
    /// [`Error::Unknown`] when no function has this name; otherwise as [`Self::profile`].
    pub fn function(
        mut self,
        query: &Query,
        expression: Option<&Expression>,
        name: &str,
        naming: Naming,
    ) -> Result<(Loaded, FunctionDetail), Error> {
        let mut tables = self.reader.tables().clone();
        let looked_up = named(&mut tables, Needed::All, naming);
        let names = Names::new(&tables);
        let label = label_of(&names, name)?;
        let selection = expression.map(|expression| expression.select(&tables, &names));
        if expression.is_some_and(Expression::asks_for_threads) {
            self.tell_threads_apart();
        }
        let (mut profile, Blocks { shapes, frees }) = self.watched(query, selection, Blocks::new)?;
        let passes = passing_through(&tables, &names, label);
        let is_on = |node: NodeId| passes.get(node.index()) == Some(&true);
        profile.retain(|_, node| is_on(node));
        let mut shape = Shape::default();
        shapes.finish().iter().filter(|row| is_on(row.node)).for_each(|row| shape.add(row));
        let frees = frees.map(|frees| FunctionFrees::new(frees, is_on));
        let loaded = Loaded { looked_up, heap: self.heap, ..Loaded::new(tables, profile, self.source) };
        let loaded = Lens { filter: expression.cloned(), ..Lens::default() }.apply(loaded);
        let label = label_of(&loaded.names, name)?;
        let lines = lines_of(&loaded.profile, &loaded.tables, &loaded.names, |one| one == label);
        Ok((loaded, FunctionDetail { label, lines, shape, frees }))
    }
}

fn label_of(names: &Names, name: &str) -> Result<LabelId, Unknown> {
    names
        .ids()
        .find(|id| names.label(*id).name == name)
        .ok_or_else(|| Unknown::new("function", name, std::iter::empty()))
}
