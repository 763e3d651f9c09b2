//! `generate header`: prints the C header with which programs control their recording.

use crate::exit::Outcome;
use clap::Args;
use std::io::Write;
use std::process::ExitCode;

/// The header, from the agent's sources.
const HEADER: &str = include_str!("../../../../preload/include/sysprof_memprof.h");

/// Print the C header for programs that control their recording
///
/// With it a program starts and stops its recording, names moments and regions, and reports blocks of its own memory
/// pools. It needs no library; without a recording its functions do nothing.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof generate header > sysprof_memprof.h
  # Record from memprof_start to memprof_stop
  sysprof-memprof run --paused -- ./app
  # Show marks, and totals of pools
  sysprof-memprof info app.memprof
  # Show who holds the blocks of a pool
  sysprof-memprof report --heap NAME app.memprof")]
pub(crate) struct Arguments {}

/// Prints it.
pub(crate) fn execute(_: &Arguments) -> Outcome {
    let mut out = std::io::stdout().lock();
    out.write_all(HEADER.as_bytes())?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
