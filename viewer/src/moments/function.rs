//! Everything about one function.

use super::Moments;
use crate::analysis::{LabelId, LineCost, Names, lines_of, passing_through};
use crate::lives::{Shape, Shapes};
use crate::loaded::Loaded;
use crate::open::{Error, named};
use crate::query::{Expression, Lens, Query, Unknown};
use crate::symbolize::{Naming, Needed};

/// What there is to know of a function: of all stacks on which it stands.
#[derive(Debug)]
pub struct FunctionDetail {
    /// Which one.
    pub label: LabelId,
    /// Its lines, from which it allocated or called who did, in order of files and numbers. A stack on which it stands
    /// several times is charged to the innermost line, so their sum is the function's.
    pub lines: Vec<LineCost>,
    /// The blocks of these stacks by size, and by how long they lived.
    pub shape: Shape,
}

impl Moments {
    /// A function by its name, and what was counted of the stacks alone on which it stands, and which an expression selects.
    ///
    /// # Errors
    /// [`Error::Unknown`] when no function has this name, and those of [`Self::profile`].
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
        let (mut profile, shapes) = self.watched(query, selection, Shapes::new)?;
        let passes = passing_through(&tables, &names, label);
        let is_on = |node: capture::NodeId| passes.get(node.index()) == Some(&true);
        profile.retain(|_, node| is_on(node));
        let mut shape = Shape::default();
        shapes.finish().iter().filter(|row| is_on(row.node)).for_each(|row| shape.add(row));
        let loaded = Loaded { looked_up, heap: self.heap, ..Loaded::new(tables, profile, self.source) };
        let loaded = Lens { filter: expression.cloned(), ..Lens::default() }.apply(loaded);
        let label = label_of(&loaded.names, name)?;
        let lines = lines_of(&loaded.profile, &loaded.tables, &loaded.names, |one| one == label);
        Ok((loaded, FunctionDetail { label, lines, shape }))
    }
}

fn label_of(names: &Names, name: &str) -> Result<LabelId, Unknown> {
    let place = names.labels().position(|label| label.name == name);
    let label = place.and_then(|place| u32::try_from(place).ok()).map(LabelId);
    label.ok_or_else(|| Unknown::new("function", name, std::iter::empty()))
}
