//! What the nodes of a tree stand for, whatever kind of tree it is.

use crate::work::{RetainedMemory, RowTarget, View};
use analysis::{LabelId, Metric};
use heap_graph::Holder;
use std::borrow::Cow;

/// Names for the labels of a tree, and the metric that ranks its nodes.
pub(crate) trait Labelled {
    /// The name of a label.
    fn name(&self, label: LabelId) -> &str;

    /// What tells a label from its siblings, in later answers, too: its name, if that is enough.
    fn mark(&self, label: LabelId) -> Cow<'_, str> {
        Cow::Borrowed(self.name(label))
    }

    /// True when the children are indented even if there is a single one, which otherwise stands in the same column.
    fn divides(&self, _label: LabelId) -> bool {
        false
    }

    /// Number of labels; all label numbers are below it.
    fn labels(&self) -> usize;

    /// The metric that ranks nodes.
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

impl Labelled for RetainedMemory {
    fn name(&self, label: LabelId) -> &str {
        &self.label(label).name
    }

    /// Two stacks may have the same line: the stack tells them apart.
    fn mark(&self, label: LabelId) -> Cow<'_, str> {
        match self.node(label) {
            Some(node) => Cow::Owned(node.0.to_string()),
            None => Cow::Borrowed(self.name(label)),
        }
    }

    /// Without the indent, what a root keeps would look like another root.
    fn divides(&self, label: LabelId) -> bool {
        !matches!(self.label(label).target, RowTarget::For(Holder::Stack(_)))
    }

    fn labels(&self) -> usize {
        self.labels.len()
    }

    fn metric(&self) -> Metric {
        Metric::Live
    }
}
