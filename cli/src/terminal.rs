//! What may be drawn on which terminal.

use rustix::termios::{LocalModes, tcgetattr, tcgetpgrp, tcgetwinsize};
use std::io::{IsTerminal, stderr};
use std::os::fd::AsFd;

/// Fewer columns than this cannot show anything.
const NARROWEST: usize = 20;

/// True if a progress line on standard error disturbs nobody: it is a terminal, we are in its foreground, and it is
/// in its ordinary mode. A target that draws on it (an editor, a pager) switches that mode off.
pub(crate) fn progress_is_welcome() -> bool {
    let stderr = stderr();
    if !stderr.is_terminal() || std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
        return false;
    }
    let ordinary = tcgetattr(&stderr)
        .is_ok_and(|modes| modes.local_modes.contains(LocalModes::ICANON | LocalModes::ECHO));
    ordinary && tcgetpgrp(&stderr).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Columns that lines are cut to: from the user's `COLUMNS`, or else the stream's terminal. `None` if it is not a
/// terminal, or its size is unknown.
pub(crate) fn width(stream: impl AsFd) -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    // A terminal of unknown size reports 0.
    let width = said.or_else(|| tcgetwinsize(stream).ok().map(|size| usize::from(size.ws_col)));
    width.filter(|&columns| columns > 0).map(|columns| columns.max(NARROWEST))
}
