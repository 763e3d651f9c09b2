//! The processes descended from the target.
//!
//! When a process ends, its children pass to the nearest ancestor that adopts orphans. That is us: so everything
//! descended from the target stays below us, can be found in `/proc` by parent pids alone, and leaves its exit status
//! to us. The only visible effect is that an orphan's `getppid()` is our pid instead of 1, as under `systemd --user`.
//!
//! The first process of a container adopts its own helpers, too. They do not count.

use rustix::process::{getpid, set_child_subreaper};
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

/// See [`exclude`]; 0 for none.
static HELPER: AtomicU32 = AtomicU32::new(0);

/// This process is one of our own: neither a child nor a descendant that anybody asks for.
pub(crate) fn exclude(helper: u32) {
    // Relaxed, as below: set before there are other threads.
    HELPER.store(helper, Ordering::Relaxed);
}

/// A process below another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descendant {
    /// Its pid.
    pub pid: u32,
    /// Its name, of at most 15 bytes (`comm`).
    pub name: String,
}

/// Makes this process adopt orphans among its descendants.
///
/// # Errors
/// When the kernel does not support it; then orphans are lost from sight.
pub fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// True while there are children, including ended ones not yet reaped.
pub fn has_children() -> bool {
    let options = rustix::process::WaitIdOptions::EXITED
        | rustix::process::WaitIdOptions::NOHANG
        | rustix::process::WaitIdOptions::NOWAIT;
    rustix::process::waitid(rustix::process::WaitId::All, options).is_ok() && !has_only_helper()
}

/// True if the one child is the helper.
fn has_only_helper() -> bool {
    let (own, helper) = (std::process::id(), HELPER.load(Ordering::Relaxed));
    let is_child = |pid: u32| row(pid).is_some_and(|row| row.parent == own);
    helper != 0 && is_child(helper) && !pids().any(|pid| pid != helper && is_child(pid))
}

fn pids() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

fn row(pid: u32) -> Option<Row> {
    parse_stat(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// The processes below `root` that have not ended, lowest pid first. Best effort: they keep running while we look.
pub fn descendants(root: u32) -> Vec<Descendant> {
    let helper = HELPER.load(Ordering::Relaxed);
    let rows = pids().filter(|pid| *pid != helper).filter_map(|pid| Some((pid, row(pid)?)));
    let mut found = below(root, rows.collect());
    // A group that is killed does not end all at once.
    found.retain(|descendant| {
        let status = std::fs::read_to_string(format!("/proc/{}/status", descendant.pid));
        status.is_ok_and(|status| !is_being_killed(&status))
    });
    found
}

/// True when a process has `SIGKILL` pending, by `/proc/PID/status`.
fn is_being_killed(status: &str) -> bool {
    let pending = status.lines().filter_map(|line| {
        let (name, mask) = line.split_once(':')?;
        let is_mask = matches!(name, "SigPnd" | "ShdPnd");
        u64::from_str_radix(mask.trim(), 16).ok().filter(|_| is_mask)
    });
    pending.fold(0, |all, mask| all | mask) & 1 << (libc::SIGKILL - 1) != 0
}

/// The needed fields of `/proc/PID/stat`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    name: String,
    parent: u32,
    ended: bool,
}

/// Parses `PID (NAME) STATE PPID …`, where the name may contain parentheses and spaces.
fn parse_stat(stat: &[u8]) -> Option<Row> {
    let open = stat.iter().position(|byte| *byte == b'(')?;
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let name = String::from_utf8_lossy(stat.get(open + 1..close)?);
    let mut rest = stat.get(close + 1..)?.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    let state = rest.next()?;
    let parent = std::str::from_utf8(rest.next()?).ok()?.parse().ok()?;
    // The name is shown on terminals, and processes can put control characters into it.
    let name = name.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect();
    Some(Row { name, parent, ended: matches!(state, b"Z" | b"X") })
}

/// The rows whose chain of parents leads to `root`.
fn below(root: u32, rows: HashMap<u32, Row>) -> Vec<Descendant> {
    let leads_to_root = |pid: u32| {
        let mut at = pid;
        // Pids may be reused between two reads, so the chain could even be a cycle.
        for _ in 0..rows.len() {
            match rows.get(&at) {
                Some(row) if row.parent == root => return true,
                Some(row) => at = row.parent,
                None => return false,
            }
        }
        false
    };
    let mut found: Vec<_> = rows
        .iter()
        .filter(|(pid, row)| !row.ended && leads_to_root(**pid))
        .map(|(pid, row)| Descendant { pid: *pid, name: row.name.clone() })
        .collect();
    found.sort_by_key(|descendant| descendant.pid);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Check that a pending kill is seen, of a thread or the whole process, and other signals are ignored.
    #[test]
    fn kills_on_their_way_are_seen() {
        let status = |one: &str, all: &str| {
            format!("Name:\tw\nSigQ:\t1/2\nSigPnd:\t{one}\nShdPnd:\t{all}\nSigBlk:\t0100\n")
        };
        assert!(is_being_killed(&status("0000000000000100", "0000000000000000")));
        assert!(is_being_killed(&status("0000000000000000", "0000000000004100")));
        assert!(!is_being_killed(&status("0000000000000000", "0000000000004000")));
        assert!(!is_being_killed("Name:\tw\n"));
    }

    proptest! {
        /// Check that any name is read in full, whatever parentheses it has, and that no bytes cause a panic.
        #[test]
        fn any_name_is_read_whole(name in "[ -~]{0,15}", parent in any::<u32>(), odd in any::<Vec<u8>>()) {
            let stat = format!("7 ({name}) S {parent} 7 7 0 -1");
            prop_assert_eq!(parse_stat(stat.as_bytes()), Some(row(&name, parent, false)));
            parse_stat(&odd);
        }
    }

    fn row(name: &str, parent: u32, ended: bool) -> Row {
        Row { name: name.to_string(), parent, ended }
    }

    /// Check that unusual names do not confuse the parser, and that garbage gives nothing.
    #[test]
    fn stat_is_read_with_odd_names() {
        let cases: &[(&[u8], Option<Row>)] = &[
            (b"7 (sh) S 3 7 7 0", Some(row("sh", 3, false))),
            (b"7 (a) b (c)) Z 12 7", Some(row("a) b (c)", 12, true))),
            (b"7 (a\x1b[2J\n) R 1 7", Some(row("a?[2J?", 1, false))),
            (b"7 (sh", None),
            (b")(", None),
            (b"", None),
            (b"7 (sh) S", None),
            (b"7 (sh) S x", None),
        ];
        for (stat, expected) in cases {
            assert_eq!(parse_stat(stat), *expected, "{}", stat.escape_ascii());
        }
    }

    /// Check that descendants are found through any number of parents, without unrelated or ended processes, and
    /// despite cycles.
    #[test]
    fn descendants_are_found_by_their_parents() {
        let rows = [
            (10, row("target", 5, false)),
            (11, row("child", 10, false)),
            (12, row("zombie", 10, true)),
            (13, row("grandchild", 11, false)),
            (20, row("stranger", 1, false)),
            (30, row("ring", 31, false)),
            (31, row("ring", 30, false)),
        ];
        let found: Vec<_> =
            below(5, rows.into_iter().collect()).into_iter().map(|process| process.pid).collect();
        assert_eq!(found, [10, 11, 13]);
    }
}
