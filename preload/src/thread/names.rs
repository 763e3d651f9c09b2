//! Records with a name.

use super::{SPARE, ThreadState};
use crate::process::{self, Loss};
use shared_ring::record::DELTA_LIMIT;
use shared_ring::record::name::Named;

impl ThreadState {
    /// Records a name, now; false when there was no room for it. That makes no gap, since no block is concerned, but it is
    /// counted.
    #[cold]
    pub(crate) fn tell(&mut self, named: Named, name: &[u8]) -> bool {
        let time = self.now();
        let (_, length) = named.encode(name, 0);
        // Including a time before it.
        let need = length + 2;
        let has_room = self.settle(time) && (self.producer.reserve(need, SPARE).is_some() || self.wait(need));
        if !has_room || !self.put_time(time) {
            process::lose(Loss::RingFull, 1);
            return false;
        }
        let delta = time.saturating_sub(self.last).min(DELTA_LIMIT - 1);
        let (words, length) = named.encode(name, delta);
        if let Some(mut room) = self.producer.reserve(length, 0) {
            words.iter().take(length).for_each(|word| room.push(*word));
            drop(room);
            self.last += delta;
        }
        true
    }
}
