//! Sampled processes whose program is unknown.

/// What the user is told about such processes, given their number and that of the lost records that would have named
/// them.
pub(crate) fn remark_on_nameless(processes: u64, untold: u64) -> Option<String> {
    let who = match processes {
        1 => "one process".to_owned(),
        count => format!("{count} processes"),
    };
    let unknown = format!("What {who} with samples ran is unknown, and shown as a number");
    let records = match untold {
        1 => "a record".to_owned(),
        count => format!("{count} records"),
    };
    let no_room = format!(
        "the kernel had no room for {records} of what processes execute and map, since the collector got \
         too little CPU time. Sample less often (--frequency), or raise the limit of locked memory (ulimit \
         -l)"
    );
    match (processes, untold) {
        (0, 0) => None,
        (_, 0) => Some(format!("{unknown}: when it was looked up it had ended, or ran something else.")),
        (0, _) => Some(format!("Some stacks of samples may end early: {no_room}.")),
        (_, _) => Some(format!("{unknown}: {no_room}.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that nothing is said about none, that one is singular, and that there is advice if records were lost.
    #[test]
    fn nameless_processes_are_counted() {
        assert_eq!(remark_on_nameless(0, 0), None);
        for (processes, untold, begin, part) in [
            (1, 0, "What one process with samples ran is unknown", "it had ended"),
            (12, 1, "What 12 processes with samples ran is unknown", "no room for a record of"),
            (0, 7, "Some stacks of samples may end early", "no room for 7 records of"),
        ] {
            let told = remark_on_nameless(processes, untold).unwrap_or_default();
            assert!(told.starts_with(begin) && told.contains(part), "{told}");
            assert_eq!(told.contains("--frequency"), untold > 0, "{told}");
        }
    }
}
