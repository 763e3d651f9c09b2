//! Programs whose built-in allocator could not be redirected to the agent.

use std::collections::BTreeSet;
use std::sync::Mutex;

/// Most names listed.
const TOLD: usize = 8;

/// The programs' names.
#[derive(Debug, Default)]
pub(crate) struct MissedAllocators(Mutex<BTreeSet<String>>);

impl MissedAllocators {
    /// Notes one program.
    pub(crate) fn add(&self, name: String) {
        if let Ok(mut names) = self.0.lock() {
            names.insert(name);
        }
    }

    /// One sentence for the user, when there are any.
    pub(crate) fn remark(&self) -> Option<String> {
        let names = self.0.lock().ok()?;
        let told: Vec<&str> = names.iter().take(TOLD).map(String::as_str).collect();
        let beyond = names.len() - told.len();
        (!told.is_empty()).then(|| {
            let more = if beyond > 0 { format!(" and {beyond} more") } else { String::new() };
            format!(
                "Allocations that were not recorded, by an allocator inside the program: {}{more}. Its \
                 functions have no place for a hook, or SYSPROF_MEMPROF_INSIDE is 0. To see them, build the program \
                 with the system's allocator, or with the allocator as a library.",
                told.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::MissedAllocators;

    /// Check that each program is listed once, and not too many are.
    #[test]
    fn programs_are_told_once() {
        let missed = MissedAllocators::default();
        assert_eq!(missed.remark(), None);
        for _ in 0..2 {
            missed.add("app".into());
        }
        assert!(missed.remark().is_some_and(|remark| remark.contains("the program: app. ")));
        (0..9).for_each(|number| missed.add(format!("b{number}")));
        assert!(
            missed
                .remark()
                .is_some_and(|remark| remark.contains("app, b0, b1, b2, b3, b4, b5, b6 and 2 more. "))
        );
    }
}
