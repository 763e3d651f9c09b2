//! The heaps of recordings that go on, with names that are looked up once.

use super::Recordings;
use super::difference::difference;
use analysis::Profile;
use collector::{LiveHeap, Requests};
use engine::live::NamedStacks;
use engine::{Loaded, Naming};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two looks whether a client that waits has left.
const LOOK: Duration = Duration::from_millis(50);

/// Why there is no heap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::commands) enum Missing {
    /// No such process is recorded, or none at all.
    NotRecorded(String),
    /// It is not clear which is meant.
    Several(Vec<u32>),
    /// The recording keeps no stacks that could be read.
    NotKept,
    /// Another recording has begun meanwhile.
    Replaced,
    /// It cannot be read.
    Failed(String),
    /// Nobody wants it any more.
    Cancelled,
}

/// All of them.
pub(in crate::commands) struct Heaps {
    recordings: Recordings,
    naming: Naming,
    /// By capture, the names of its stacks.
    named: Mutex<HashMap<PathBuf, NamedStacks>>,
}

impl Heaps {
    /// Of these recordings; nothing is looked at yet.
    pub(in crate::commands) fn new(recordings: Recordings, naming: Naming) -> Heaps {
        Heaps { recordings, naming, named: Mutex::default() }
    }

    /// The present state of each recording that goes on, as far as it has come.
    pub(in crate::commands) fn all(&self) -> Vec<(PathBuf, LiveHeap)> {
        let recordings = (self.recordings)();
        let heap =
            |recording: &Requests| Some((recording.output().to_owned(), recording.live_heap(false).ok()?));
        recordings.iter().filter_map(heap).collect()
    }

    /// What a process holds now, or the recording if there is only one.
    pub(in crate::commands) fn now(&self, pid: Option<u32>) -> Result<Loaded, Missing> {
        let (path, mut heap) = self.of(pid)?;
        let profile = std::mem::take(&mut heap.profile);
        self.load(&path, heap, profile, pid)
    }

    /// How that changes within some time.
    pub(in crate::commands) fn change(
        &self,
        pid: Option<u32>,
        time: Duration,
        gone: &AtomicBool,
    ) -> Result<Loaded, Missing> {
        let (path, before) = self.of(pid)?;
        let begun = Instant::now();
        while begun.elapsed() < time {
            // Relaxed: a hint; no other data depends on it.
            if gone.load(Ordering::Relaxed) {
                return Err(Missing::Cancelled);
            }
            thread::sleep(LOOK.min(time.saturating_sub(begun.elapsed())));
        }
        let (after, mut heap) = self.of(pid)?;
        if after != path {
            return Err(Missing::Replaced);
        }
        let profile = difference(&before.profile, std::mem::take(&mut heap.profile));
        self.load(&path, heap, profile, pid)
    }

    /// The state of the recording that is meant, with all that happened before.
    fn of(&self, pid: Option<u32>) -> Result<(PathBuf, LiveHeap), Missing> {
        let recordings = (self.recordings)();
        let failed = |error: collector::Error| Missing::Failed(error.to_string());
        let mut others = Vec::new();
        match (recordings.as_slice(), pid) {
            ([], _) => return Err(Missing::NotRecorded("nothing is recorded now".to_owned())),
            ([only], None) => return Ok((only.output().to_owned(), only.live_heap(true).map_err(failed)?)),
            _ => {}
        }
        for recording in &recordings {
            let heap = recording.live_heap(false).map_err(failed)?;
            let pids: Vec<u32> = heap.processes.iter().map(|(_, process)| process.pid).collect();
            if pid.is_some_and(|pid| pids.contains(&pid)) {
                return Ok((recording.output().to_owned(), recording.live_heap(true).map_err(failed)?));
            }
            others.extend(pids);
        }
        Err(pid.map_or(Missing::Several(others), |pid| {
            Missing::NotRecorded(format!("process {pid} is not recorded"))
        }))
    }

    fn load(
        &self,
        path: &Path,
        mut heap: LiveHeap,
        mut profile: Profile,
        pid: Option<u32>,
    ) -> Result<Loaded, Missing> {
        if let Some(pid) = pid {
            let of_pid =
                |id| heap.processes.iter().any(|(known, process)| *known == id && process.pid == pid);
            profile.retain(|process, _| of_pid(process));
        }
        self.named(path, &mut heap, profile, true)
    }

    /// A profile of this state with names: all of them if it `waits`.
    pub(in crate::commands) fn named(
        &self,
        path: &Path,
        heap: &mut LiveHeap,
        profile: Profile,
        waits: bool,
    ) -> Result<Loaded, Missing> {
        let failed = |error: &dyn std::fmt::Display| Missing::Failed(error.to_string());
        let tables = heap.tables().map_err(|error| failed(&error))?.ok_or(Missing::NotKept)?;
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        let first = heap.processes.first().map_or(0, |(_, process)| process.pid);
        let stacks = match named.remove(path) {
            Some(stacks) => stacks,
            None => {
                // Recordings that are over need no names.
                let there: Vec<PathBuf> =
                    (self.recordings)().iter().map(|one| one.output().to_owned()).collect();
                named.retain(|path, _| there.contains(path));
                NamedStacks::new(first, self.naming.clone()).map_err(|error| failed(&error))?
            }
        };
        let stacks = named.entry(path.to_owned()).or_insert(stacks);
        Ok(stacks.load(profile, tables, waits))
    }

    /// True while names of a recording are being looked up.
    pub(in crate::commands) fn is_naming(&self, path: &Path) -> bool {
        let named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        named.get(path).is_some_and(NamedStacks::is_naming)
    }
}
