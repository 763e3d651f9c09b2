//! What the nodes of a tree stand for, whatever the tree is of.

use crate::work::{Kept, Stands, View};
use std::borrow::Cow;
use viewer::analysis::{LabelId, Metric};
use viewer::graph::Holder;

/// Names for the labels of a tree, and the number that its nodes are ranked by.
pub(crate) trait Labelled {
    /// What a label is called.
    fn name(&self, label: LabelId) -> &str;

    /// What tells a label from those of siblings, in later answers as well: its name, where that is enough.
    fn mark(&self, label: LabelId) -> Cow<'_, str> {
        Cow::Borrowed(self.name(label))
    }

    /// True when what stands below stands further to the right even where it is a single row, which otherwise follows in the same
    /// column.
    fn divides(&self, _label: LabelId) -> bool {
        false
    }

    /// How many labels there are: their numbers are below.
    fn labels(&self) -> usize;

    /// What nodes are ranked by.
    fn metric(&self) -> Metric;
}

impl Labelled for View {
    fn name(&self, label: LabelId) -> &str {
        &self.loaded.names.label(label).name
    }

    fn labels(&self) -> usize {
        self.loaded.names.len()
    }

    fn metric(&self) -> Metric {
        self.question.metric
    }
}

impl Labelled for Kept {
    fn name(&self, label: LabelId) -> &str {
        &self.label(label).name
    }

    /// Lines of two stacks may read the same: the stack tells them apart.
    fn mark(&self, label: LabelId) -> Cow<'_, str> {
        match self.node(label) {
            Some(node) => Cow::Owned(node.0.to_string()),
            None => Cow::Borrowed(self.name(label)),
        }
    }

    /// What a root keeps would look as if it were another root.
    fn divides(&self, label: LabelId) -> bool {
        !matches!(self.label(label).stands, Stands::For(Holder::Stack(_)))
    }

    fn labels(&self) -> usize {
        self.labels.len()
    }

    fn metric(&self) -> Metric {
        Metric::Live
    }
}
