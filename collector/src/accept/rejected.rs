//! Processes of other users that tried to join a recording without the right to.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Users counted separately: a client with many uids must not cost memory.
const USERS: usize = 8;

/// Number of attempts, by user.
#[derive(Debug, Default)]
pub(crate) struct Rejected(Mutex<BTreeMap<u32, u64>>);

impl Rejected {
    /// Counts one attempt.
    pub(crate) fn add(&self, uid: u32) {
        let mut users = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = users.len() < USERS || users.contains_key(&uid);
        // Any further users count under the last one.
        let uid = if is_known { Some(uid) } else { users.keys().next_back().copied() };
        if let Some(uid) = uid {
            *users.entry(uid).or_default() += 1;
        }
    }

    /// One sentence for the user, if there were any.
    pub(crate) fn remark(&self) -> Option<String> {
        let users = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (uid, _) = users.iter().max_by_key(|(_, count)| **count)?;
        let count: u64 = users.values().sum();
        Some(format!(
            "Processes of other users that could not join, since they did not present the key of this \
             recording (SYSPROF_MEMPROF_KEY): {count}, most of them of uid {uid}."
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that all attempts are counted, whoever makes them, and that the user with the most is named.
    #[test]
    fn all_are_counted_in_little_memory() {
        let rejected = Rejected::default();
        assert_eq!(rejected.remark(), None);
        (0..100).for_each(|_| rejected.add(65534));
        (0..10_000).for_each(|uid| rejected.add(uid));
        let remark = rejected.remark().unwrap();
        assert!(remark.contains(": 10100,"), "{remark}");
        assert!(rejected.0.lock().unwrap().len() <= USERS);
    }
}
