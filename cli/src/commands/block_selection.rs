//! Shared by the commands about single blocks.

use super::formatting::Formatting;
use super::opened_capture::{self, Capture};
use super::selection::Selection;
use crate::exit::{Failure, Outcome};
use analysis::Watch;
use analysis::query::Expression;
use anyhow::anyhow;
use capture::Tables;
use clap::Args;
use engine::{Error, Loaded};
use report::Format;
use report::table::Document;
use report::views::Question;

/// Which blocks, and how much of the result. With --from and --to they are those that were allocated in between; what
/// became of them later is not looked at.
#[derive(Args, Debug)]
pub(crate) struct BlocksArguments {
    #[command(flatten)]
    pub(super) capture: Capture,
    /// Only stacks that match, as in 'parse* and not (module:libssl* or thread:worker-?)'
    #[arg(long, value_name = "EXPRESSION")]
    pub(super) filter: Option<Expression>,
    #[command(flatten)]
    formatting: Formatting,
    #[command(flatten)]
    pub(super) selection: Selection,
}

impl BlocksArguments {
    /// Replays the blocks to an observer.
    pub(super) fn observe<W: Watch>(&self, watch: impl FnOnce(&Tables) -> W) -> Result<(Loaded, W), Failure> {
        self.question(|question| question.observe(watch))
    }

    /// Asks a question about the blocks.
    pub(super) fn question<T>(
        &self,
        ask: impl FnOnce(Question<'_>) -> Result<(Loaded, T), Error>,
    ) -> Result<(Loaded, T), Failure> {
        let (analyzer, naming) = (self.capture.analyzer()?, self.capture.naming());
        let query = self.selection.query();
        let question = Question { analyzer, query: &query, filter: self.filter.as_ref(), naming };
        let (loaded, found) = ask(question).map_err(opened_capture::failure)?;
        Ok((self.capture.prepared(loaded), found))
    }

    /// Refuses blocks of a pool, of which `what` is not recorded.
    pub(super) fn refuse_heap(&self, what: &str) -> Result<(), Failure> {
        let Some(heap) = self.selection.heap() else { return Ok(()) };
        Err(Failure::usage(anyhow!(
            "of blocks of {heap} it is not recorded {what}: leave --heap out, for the allocator's blocks"
        )))
    }

    /// Refuses what tells blocks of a stack apart.
    pub(super) fn refuse_parts_of_stacks(&self) -> Result<(), Failure> {
        let query = self.selection.query();
        if query.heap.is_none() && !query.filter.divides_stacks() {
            return Ok(());
        }
        Err(Failure::usage(anyhow!(
            "memory outside the heap is known by process and stack: leave --thread, --size, --during and --heap out"
        )))
    }

    /// The format of the output.
    pub(super) fn format(&self) -> Format {
        self.formatting.format()
    }

    /// Writes the result.
    pub(super) fn print(&self, loaded: &Loaded, document: &Document) -> Outcome {
        self.formatting.print(loaded, document)
    }
}
