//! Creates the capture.

use crate::base::capture_writer::{Writer, begin as begin_capture};
use crate::base::clock::Clock;
use crate::base::command_line;
use crate::base::error::{Error, cannot_create};
use crate::base::options::Options;
use crate::proc::labels;
use crate::tables::processes::Rules;
use crate::writer::output_file::OutputFile;
use crate::writer::pipeline::Pipeline;
use capture::{AtomicFile, Create, Metadata};
use shared_ring::control::MAX_SAMPLE_INTERVAL;
use std::time::{SystemTime, UNIX_EPOCH};

/// Creates the capture, still without its name, and the pipeline that translates records into its events.
pub(super) fn begin(options: &Options, clock: Clock) -> Result<(Pipeline, OutputFile), Error> {
    let metadata = metadata(options, &clock);
    let (writer, kept) = create(options, &metadata)?;
    let rules = Rules {
        stores_command: options.store_command,
        awaits_samples: options.cpu.is_some(),
        reuses_threads: options.aggregates,
    };
    let pipeline = Pipeline::new(writer, clock, rules);
    Ok((if options.attaches { pipeline.awaiting(metadata) } else { pipeline }, kept))
}

/// The capture's metadata.
fn metadata(options: &Options, clock: &Clock) -> Metadata {
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Metadata {
        tool_version: options.tool_version.clone(),
        command: if options.store_command { command_line::kept(&options.command) } else { Vec::new() },
        started_unix_ns: u64::try_from(started.as_nanos()).unwrap_or(u64::MAX),
        boot_id: std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .map(|id| id.trim().to_owned())
            .unwrap_or_default(),
        clock: if clock.is_tsc() { capture::Clock::Tsc } else { capture::Clock::MonotonicRaw },
        options: vec![
            ("max_depth".into(), options.max_depth.to_string()),
            ("ring_size".into(), options.ring_size.to_string()),
            ("follow".into(), options.follow.to_string()),
            ("paused".into(), options.paused.to_string()),
            (capture::FREE_STACKS.into(), options.free_stacks.to_string()),
            (capture::FAILED_CALLS.into(), true.to_string()),
            ("interpreters".into(), options.interpreters.to_string()),
            ("on_full".into(), format!("{:?}", options.on_full).to_lowercase()),
        ],
        sample_interval: options.sample_interval.min(MAX_SAMPLE_INTERVAL),
        labels: labels::merged(labels::of_machine(), &options.labels),
    }
}

/// Creates the file, or writes into the one that the capture passes through.
fn create(options: &Options, metadata: &Metadata) -> Result<(Writer, OutputFile), Error> {
    let Options { output, passing, replace, .. } = options;
    let kept = OutputFile::new(output, if *replace { Create::Replace } else { Create::New });
    if let Some(file) = passing {
        let system = |source| Error::System { what: "use a file of our own", source };
        let failed = |source| Error::Capture { path: output.clone(), source };
        return Ok((begin_capture(file.try_clone().map_err(system)?, metadata).map_err(failed)?, kept));
    }
    if !replace && output.symlink_metadata().is_ok() {
        return Err(Error::OutputExists { path: output.clone() });
    }
    let failed = |error| cannot_create(output, error);
    let file = AtomicFile::create(output).map_err(failed)?;
    let writer = begin_capture(file.file().map_err(failed)?, metadata).map_err(failed)?;
    kept.begin(file);
    Ok((writer, kept))
}
