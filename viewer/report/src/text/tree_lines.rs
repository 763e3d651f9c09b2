//! The lines to the left of a tree's rows.

/// How a row is attached to the one above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Branch {
    /// The only row below its parent: it follows in the same column.
    Trunk,
    /// One of several.
    Fork,
    /// The last of several.
    Last,
}

/// For each branching on the path to a row, whether more rows follow at it. Only the last 64 are kept: no terminal is
/// wide enough for more, and a tree may be 10,000 deep.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TreeLines {
    open: u64,
    depth: u32,
}

impl TreeLines {
    /// The lines of the rows below a row with this one.
    pub(super) fn below(self, branch: Branch) -> Self {
        match branch {
            Branch::Trunk => self,
            Branch::Fork => Self { open: self.open << 1 | 1, depth: self.depth.saturating_add(1) },
            Branch::Last => Self { open: self.open << 1, depth: self.depth.saturating_add(1) },
        }
    }

    /// The lines, at most `levels` of them. If there are more, they are preceded by the number left out.
    pub(super) fn text(self, branch: Branch, levels: u32) -> String {
        let levels = self.depth.min(levels.min(u64::BITS));
        let mut text = match self.depth - levels {
            0 => String::new(),
            more => format!("({more}) "),
        };
        for level in (0..levels).rev() {
            text.push_str(if self.open >> level & 1 == 1 { "│  " } else { "   " });
        }
        text.push_str(match branch {
            Branch::Trunk => "",
            Branch::Fork => "├─ ",
            Branch::Last => "└─ ",
        });
        text
    }
}

/// Rows of a tree that are still to be written, the next one last.
pub(super) struct Rows<R>(Vec<(R, TreeLines, Branch)>);

impl<R> Rows<R> {
    /// Begins at the root.
    pub(super) fn new(root: R) -> Self {
        Self(vec![(root, TreeLines::default(), Branch::Trunk)])
    }

    /// The next row, and how it is attached.
    pub(super) fn pop(&mut self) -> Option<(R, TreeLines, Branch)> {
        self.0.pop()
    }

    /// Adds the rows below this one, and behind them one for what is hidden there.
    pub(super) fn push_below(
        &mut self,
        (lead, branch): (TreeLines, Branch),
        rows: impl DoubleEndedIterator<Item = R> + ExactSizeIterator,
        hidden: Option<R>,
    ) {
        let (lead, last) = (lead.below(branch), self.0.len());
        let branch = if rows.len() == 1 && hidden.is_none() { Branch::Trunk } else { Branch::Last };
        let rows = hidden.into_iter().chain(rows.rev());
        self.0.extend(rows.map(|row| (row, lead, Branch::Fork)));
        // The first one pushed is popped last, so it is drawn below its siblings.
        if let Some((_, _, of_last)) = self.0.get_mut(last) {
            *of_last = branch;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check the lines of every kind of row.
    #[test]
    fn lines_lead_to_their_rows() {
        let root = TreeLines::default();
        let inner = root.below(Branch::Trunk).below(Branch::Fork);
        let deeper = inner.below(Branch::Last);
        assert_eq!(root.text(Branch::Trunk, 9), "");
        assert_eq!(root.text(Branch::Fork, 9), "├─ ");
        assert_eq!(inner.text(Branch::Last, 9), "│  └─ ");
        assert_eq!(deeper.text(Branch::Trunk, 9), "│     ");
    }

    /// Check that a lead stays narrow, however deep the tree.
    #[test]
    fn leads_are_bounded() {
        let deep = (0..10_000).fold(TreeLines::default(), |lead, _| lead.below(Branch::Fork));
        assert_eq!(deep.text(Branch::Last, 2), "(9998) │  │  └─ ");
    }
}
