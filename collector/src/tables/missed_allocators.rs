//! Programs and libraries whose built-in allocator could not be redirected to the agent.

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
        let programs = listed(&*self.0.lock().ok()?)?;
        Some(format!(
            "Allocations that were not recorded, by an allocator inside the program: {programs}. Its \
             functions have no place for a hook, or SYSPROF_MEMPROF_INSIDE is 0. To see them, build the program \
             with the system's allocator, or with the allocator as a library."
        ))
    }
}

/// Libraries that were opened with `RTLD_DEEPBIND` and have an allocator of their own, by their paths.
#[derive(Debug, Default)]
pub(crate) struct UnseenLibraries(BTreeSet<String>);

impl UnseenLibraries {
    /// Notes one library, unless there are too many: paths come from recorded processes.
    pub(crate) fn add(&mut self, path: &str) {
        const MOST: usize = 1 << 10;
        if self.0.len() < MOST {
            self.0.insert(path.to_owned());
        }
    }

    /// One sentence for the user, when there are any.
    pub(crate) fn remark(&self) -> Option<String> {
        let libraries = listed(&self.0)?;
        Some(format!(
            "Allocations that were not recorded, by the allocator of a library that was opened with RTLD_DEEPBIND: \
             {libraries}. Its own calls reach nobody else. To see them, open the library without that flag, or build \
             it with the system's allocator."
        ))
    }
}

/// The first names of a set, and how many more there are; `None` of an empty one.
fn listed(names: &BTreeSet<String>) -> Option<String> {
    let told: Vec<&str> = names.iter().take(TOLD).map(String::as_str).collect();
    let beyond = names.len() - told.len();
    let more = if beyond > 0 { format!(" and {beyond} more") } else { String::new() };
    (!told.is_empty()).then(|| told.join(", ") + &more)
}

#[cfg(test)]
mod tests {
    use super::{MissedAllocators, UnseenLibraries};

    /// Check that each library is listed once, and that there is an end to them.
    #[test]
    fn libraries_are_told_once() {
        let mut unseen = UnseenLibraries::default();
        assert_eq!(unseen.remark(), None);
        (0..2).for_each(|_| unseen.add("/lib/a.so"));
        assert!(unseen.remark().is_some_and(|remark| remark.contains(": /lib/a.so. ")));
        (0..5000).for_each(|number| unseen.add(&format!("/lib/{number}.so")));
        assert!(unseen.remark().is_some_and(|remark| remark.contains(" and 1016 more. ")));
    }

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
