//! Processes with samples of which nobody knows what they ran.

/// What the user is told of so many.
pub(crate) fn remark_on_nameless(count: u64) -> Option<String> {
    let who = match count {
        0 => return None,
        1 => "one process".to_owned(),
        count => format!("{count} processes"),
    };
    Some(format!(
        "What {who} with samples ran is not known, and stands as a number: the kernel had no room to tell of it, and when it was looked \
         up it had ended, or ran something else. With fewer samples (--frequency) and less of their stacks (--cpu-stack) there is more room."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that nothing is said of none, and that one is one.
    #[test]
    fn nameless_processes_are_counted() {
        assert_eq!(remark_on_nameless(0), None);
        let told = |count| remark_on_nameless(count).unwrap_or_default();
        assert!(told(1).starts_with("What one process with samples ran is not known"), "{}", told(1));
        assert!(told(12).starts_with("What 12 processes with samples ran is not known"), "{}", told(12));
    }
}
