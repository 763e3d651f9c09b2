//! How a process ended, in words and in numbers.

use capture::Ended;

/// `exit 0`, `signal 9 (SIGKILL)` …
pub(crate) fn ended_text(ended: Ended) -> String {
    match ended {
        Ended::Unknown => "unknown".to_owned(),
        Ended::Exited(code) => format!("exit {code}"),
        Ended::Signaled(signal) => match signal_name(signal) {
            Some(name) => format!("signal {signal} ({name})"),
            None => format!("signal {signal}"),
        },
        Ended::Exec => "exec".to_owned(),
        Ended::Running => "still running".to_owned(),
    }
}

/// The word for it in JSON.
pub fn ended_word(ended: Ended) -> &'static str {
    match ended {
        Ended::Unknown => "unknown",
        Ended::Exited(_) => "exited",
        Ended::Signaled(_) => "signaled",
        Ended::Exec => "exec",
        Ended::Running => "running",
    }
}

/// Signals that end processes, by the numbers of x86-64 and aarch64 Linux.
fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return None,
    })
}
