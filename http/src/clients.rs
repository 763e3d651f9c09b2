//! Who is connected, what each is about, and who has to go.

use crate::limits::Limits;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// What a client is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Its request is incomplete.
    Asking,
    /// Its answer is worked out.
    Awaiting,
    /// It takes its answer.
    Taking,
}

#[derive(Debug)]
struct Entry {
    state: State,
    /// When it came into that state.
    since: Instant,
    /// Ends its connection; none until its task is known.
    task: Option<AbortHandle>,
}

/// All clients, by the order in which they came.
#[derive(Debug)]
pub(crate) struct Clients {
    limits: Limits,
    all: Mutex<(u64, BTreeMap<u64, Entry>)>,
    /// Notified when one leaves, or may be asked to.
    changed: Notify,
}

/// A handle of one client, whose connection it does not hold.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    clients: Arc<Clients>,
    id: u64,
}

impl Clients {
    pub(crate) fn new(limits: Limits) -> Arc<Clients> {
        Arc::new(Clients { limits, all: Mutex::default(), changed: Notify::new() })
    }

    fn all(&self) -> MutexGuard<'_, (u64, BTreeMap<u64, Entry>)> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a client.
    pub(crate) fn add(self: &Arc<Self>) -> Client {
        let mut all = self.all();
        let (next, entries) = &mut *all;
        let id = *next;
        *next += 1;
        entries.insert(id, Entry { state: State::Asking, since: Instant::now(), task: None });
        Client { clients: self.clone(), id }
    }

    /// Waits until there is room for one more, in the place of the slowest one if there is no other.
    pub(crate) async fn room(&self) {
        loop {
            let changed = self.changed.notified();
            if self.all().1.len() < self.limits.connections || self.make_room() {
                // Its descriptor is closed when its task is.
                tokio::task::yield_now().await;
                return;
            }
            changed.await;
        }
    }

    /// Closes the connection that has kept us waiting for longest, of those without a request if there are any; false
    /// if all wait for us.
    pub(crate) fn make_room(&self) -> bool {
        let mut all = self.all();
        let found = slowest(&all.1, State::Asking).or_else(|| slowest(&all.1, State::Taking));
        found.is_some_and(|id| close(&mut all.1, id))
    }

    /// When the time of a client is up.
    fn end(&self, id: u64) -> Option<Instant> {
        let all = self.all();
        let entry = all.1.get(&id)?;
        match entry.state {
            State::Asking => Some(entry.since + self.limits.asking),
            State::Taking => Some(entry.since + self.limits.taking),
            State::Awaiting => None,
        }
    }

    fn enter(&self, id: u64, state: State) {
        let mut all = self.all();
        if let Some(entry) = all.1.get_mut(&id) {
            (entry.state, entry.since) = (state, Instant::now());
        }
        if state == State::Taking {
            let taking = all.1.values().filter(|entry| entry.state == State::Taking).count();
            // The newest answer is kept, not the newest request's.
            if taking > self.limits.answers
                && let Some(oldest) = slowest(&all.1, State::Taking)
            {
                close(&mut all.1, oldest);
            }
        }
        drop(all);
        self.changed.notify_waiters();
    }
}

fn slowest(entries: &BTreeMap<u64, Entry>, state: State) -> Option<u64> {
    let of_state = entries.iter().filter(|(_, entry)| entry.state == state);
    of_state.min_by_key(|(_, entry)| entry.since).map(|(id, _)| *id)
}

fn close(entries: &mut BTreeMap<u64, Entry>, id: u64) -> bool {
    let entry = entries.remove(&id);
    entry.and_then(|entry| entry.task).inspect(AbortHandle::abort).is_some()
}

impl Client {
    /// The task that ends with its connection.
    pub(crate) fn runs_in(&self, task: AbortHandle) {
        if let Some(entry) = self.clients.all().1.get_mut(&self.id) {
            entry.task = Some(task);
        }
    }

    /// Its next request is expected.
    pub(crate) fn asks(&self) {
        self.clients.enter(self.id, State::Asking);
    }

    /// Its answer is worked out.
    pub(crate) fn awaits(&self) {
        self.clients.enter(self.id, State::Awaiting);
    }

    /// It has its answer to take.
    pub(crate) fn takes(&self) {
        self.clients.enter(self.id, State::Taking);
    }

    /// When its time is up.
    pub(crate) fn end(&self) -> Option<Instant> {
        self.clients.end(self.id)
    }

    /// It has left.
    pub(crate) fn leaves(&self) {
        self.clients.all().1.remove(&self.id);
        self.clients.changed.notify_waiters();
    }
}
