//! Options that select stacks and how they are shown, shared by all views of stacks.

use analysis::query::{Expression, Pattern};
use clap::Args;
use engine::Grouping;
use engine::lens::Lens;

/// What of the stacks is shown.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Stacks")]
pub(crate) struct LensArguments {
    /// Only stacks that match, as in 'parse* and not (module:libssl* or thread:worker-?)'
    #[arg(long, value_name = "EXPRESSION")]
    filter: Option<Expression>,
    /// Make this function, where it is outermost, the root of stacks, and leave out stacks without it; may be
    /// repeated
    #[arg(long, value_name = "FUNCTION", conflicts_with = "callers")]
    focus: Vec<Pattern>,
    /// Show what this function calls, as a tree rooted at it
    #[arg(long, value_name = "FUNCTION", conflicts_with_all = ["focus", "callers"])]
    callees: Option<Pattern>,
    /// Show who calls this function, as a tree from it outwards
    #[arg(long, value_name = "FUNCTION")]
    callers: Option<Pattern>,
    /// Replace all paths to this function by one, `…`; may be repeated
    #[arg(long, value_name = "FUNCTION")]
    fold: Vec<Pattern>,
    /// Remove this function from stacks and give its cost to its caller; may be repeated
    #[arg(long, value_name = "FUNCTION")]
    transparent: Vec<Pattern>,
    /// Remove what is not your own: functions of standard libraries, runtimes and interpreters, and those that only pass
    /// calls on, as signal emission and event loops do. A stack of nothing else is kept whole
    #[arg(long)]
    my_code: bool,
    /// Merge neighbouring functions of the same module, namespace, file or line, or group stacks by who allocates:
    /// process, executable, command, thread, or a label such as host, service or version
    ///
    /// Labels are those that `info` shows, such as k8s.pod.name, and those of `--label`. One that has the name of
    /// another group is label:NAME.
    #[arg(long, value_name = "GROUP")]
    group_by: Option<Grouping>,
}

impl LensArguments {
    /// The shape of report that suits these options best.
    pub(super) fn shape(&self) -> Option<report::Shape> {
        match (&self.callers, &self.callees) {
            (Some(_), _) => Some(report::Shape::Inverted),
            (_, Some(_)) => Some(report::Shape::Tree),
            _ => None,
        }
    }

    /// The lens for the analysis.
    pub(super) fn lens(&self) -> Lens {
        Lens {
            filter: self.filter.clone(),
            transparent: self.transparent.clone(),
            my_code: self.my_code,
            focus: self.focus.iter().chain(&self.callees).cloned().collect(),
            callers: self.callers.iter().cloned().collect(),
            fold: self.fold.clone(),
            group: self.group_by.clone(),
            counts_library: false,
        }
    }
}
