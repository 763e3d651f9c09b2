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
