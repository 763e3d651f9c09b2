//! What may be drawn where.

use rustix::termios::{LocalModes, tcgetattr, tcgetpgrp, tcgetwinsize};
use std::io::{IsTerminal, stderr, stdout};

/// Columns assumed where there is no terminal.
const DEFAULT_WIDTH: usize = 100;

/// True when a progress line on standard error disturbs nobody: it is a terminal, we are in its foreground, and it is
/// in its ordinary mode. A target that draws itself (an editor, a pager) switches that off.
pub(crate) fn progress_is_welcome() -> bool {
    let stderr = stderr();
    if !stderr.is_terminal() || std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
        return false;
    }
    let ordinary = tcgetattr(&stderr)
        .is_ok_and(|modes| modes.local_modes.contains(LocalModes::ICANON | LocalModes::ECHO));
    ordinary && tcgetpgrp(&stderr).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Columns of standard error's terminal.
pub(crate) fn stderr_width() -> usize {
    tcgetwinsize(stderr()).map_or(DEFAULT_WIDTH, |size| usize::from(size.ws_col).max(20))
}

/// Columns of standard output's terminal.
pub(crate) fn stdout_width() -> usize {
    tcgetwinsize(stdout()).map_or(DEFAULT_WIDTH, |size| usize::from(size.ws_col).max(20))
}
