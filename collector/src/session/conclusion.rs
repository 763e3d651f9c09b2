//! What remains when all inputs have ended: assigning samples to processes, looking names up, and the capture's
//! summary.

use super::Finished;
use super::exits::Exits;
use super::scanning::Scanned;
use super::writing::Whole;
use crate::accept::listener::Closed;
use crate::attach::launch::virtual_machine;
use crate::base::background::in_background;
use crate::base::error::Error;
use crate::base::name_search::NameSearch;
use crate::base::options::Options;
use crate::cpu::Sampled;
use crate::cpu::without_agent::remark_on_programs_without_agent;
use crate::cpu::{remark_on_cut, remark_on_nameless};
use crate::writer::pipeline::Pipeline;
use crate::writer::symbolize::{Wanted, symbolize};
use capture::{CollectorCost, Ended, Process, Summary};
use std::sync::atomic::Ordering;

/// The options that matter at the end.
#[derive(Debug)]
pub(super) struct Conclusion {
    symbolize: bool,
    /// Programs started by recorded ones were to be recorded, too.
    follows: bool,
    /// Virtual machines were told to name what they compile.
    names_scripts: bool,
    symbols: symbols::Options,
}

/// What the parts of a recording leave besides the capture.
pub(super) struct Left {
    pub(super) sampled: Sampled,
    pub(super) closed: Closed,
    pub(super) scanned: Scanned,
    pub(super) exits: Exits,
    /// Processes that run on unrecorded.
    pub(super) unrecorded: Vec<String>,
}

impl Conclusion {
    pub(super) fn of(options: &Options) -> Conclusion {
        let Options { symbolize, follow, interpreters, command, symbols, .. } = options;
        Conclusion {
            symbolize: *symbolize,
            follows: *follow,
            names_scripts: *interpreters && !command.is_empty(),
            symbols: symbols.clone(),
        }
    }

    /// Gives the capture its end.
    pub(super) fn write(self, whole: Whole, left: Left, search: &NameSearch) -> Result<Finished, Error> {
        let path = whole.path.clone();
        let failed = |source| Error::Capture { path: path.clone(), source };
        let summary = self.finish(whole, left, search).map_err(failed)?;
        Ok(Finished {
            lost: summary.lost.iter().map(|lost| lost.events).sum(),
            unsampled: unsampled(&summary),
            remarks: summary.remarks,
            path,
        })
    }

    fn finish(self, mut whole: Whole, left: Left, search: &NameSearch) -> Result<Summary, capture::Error> {
        let Left { sampled, closed, scanned, exits, unrecorded } = left;
        exits.write(&mut whole.pipeline)?;
        let sampled = whole.pipeline.finish_samples(sampled)?;
        let further = [
            whole.pipeline.names.remark(),
            whole.pipeline.names.unseen.remark(),
            closed.remark_on_unrecorded(),
            closed.remark_on_rejected(),
            scanned.remark(),
            closed.remark_on_missed(),
            remark_on_nameless(sampled.nameless, sampled.untold),
            remark_on_cut(sampled.cut),
            self.names_scripts.then(|| virtual_machine::remark(&executables(&whole.pipeline))).flatten(),
            self.follows.then(|| remark_on_programs_without_agent(&sampled.without_agent)).flatten(),
        ];
        let mut summary = whole.summary(sampled, unrecorded);
        summary.remarks.extend(further.into_iter().flatten());
        let mut pipeline = whole.pipeline;
        let names_scripts = self.names_scripts;
        if self.look_names_up(&mut pipeline, search)? {
            summary.remarks.push("Names are missing: looking them up was interrupted.".into());
        }
        if names_scripts {
            remove_maps(&pipeline);
        }
        pipeline.writer.finish(&summary)?;
        Ok(summary)
    }

    /// True when the user gave the search up.
    fn look_names_up(self, pipeline: &mut Pipeline, search: &NameSearch) -> Result<bool, capture::Error> {
        let wanted = if self.symbolize { Wanted::All } else { Wanted::Unfiled };
        let goes_on = !pipeline.processes.running().is_empty();
        in_background(goes_on, || symbolize(pipeline, wanted, self.symbols, search))?;
        Ok(self.symbolize && search.is_given_up.load(Ordering::Relaxed))
    }
}

fn executables(pipeline: &Pipeline) -> Vec<&str> {
    pipeline.processes.with_starts().map(|(_, process, _)| process.executable.as_str()).collect()
}

/// Removes what processes that have ended have written for us.
fn remove_maps(pipeline: &Pipeline) {
    let is_over = |process: &&Process| process.end.as_ref().is_some_and(|end| end.ended != Ended::Running);
    let processes = pipeline.processes.with_starts().map(|(_, process, _)| process);
    for process in processes.filter(is_over) {
        virtual_machine::remove_map(&process.executable, &process.command, process.pid);
    }
}

impl Whole {
    /// The summary at the end of the capture, as far as the capture itself and draining tell it.
    fn summary(&mut self, sampled: Sampled, unrecorded: Vec<String>) -> Summary {
        let Whole { pipeline, drain, .. } = self;
        let counts = &drain.shared.counts;
        let Sampled { cpu, faults, .. } = sampled;
        Summary {
            duration_ns: pipeline.timeline.clock().nanoseconds(drain.time).max(pipeline.timeline.last()),
            lost: pipeline.totals.losses(counts),
            overhead: pipeline.overhead(),
            unrecorded: merged(unrecorded, pipeline.processes.running()),
            remarks: pipeline.remarks(counts),
            effort: CollectorCost {
                drain_cpu_ns: drain.work.cpu_ns,
                writer_cpu_ns: self.cpu_ns,
                wake_ups: drain.work.wake_ups,
                held_ns: drain.work.held_ns,
            },
            cpu,
            faults,
        }
    }
}

/// Reasons for what was refused entirely.
fn unsampled(summary: &Summary) -> Vec<String> {
    let refused = [
        (summary.cpu.event.is_empty(), &summary.cpu.refused),
        (!summary.faults.is_recorded, &summary.faults.refused),
    ];
    let refused = refused.into_iter().filter(|(is_missing, reason)| *is_missing && !reason.is_empty());
    refused.map(|(_, reason)| reason.clone()).collect()
}

/// Both lists, each process once.
fn merged(mut names: Vec<String>, more: Vec<String>) -> Vec<String> {
    let pid = |name: &str| name.split(' ').next().map(str::to_owned);
    for name in more {
        if !names.iter().any(|known| pid(known) == pid(&name)) {
            names.push(name);
        }
    }
    names
}
