//! A thread's cache of places in scripts: the ids of functions and lines, by code and instruction.

use crate::interpreters::chain::ScriptFrame;
use crate::interpreters::mix;

const PLACES: usize = 8192;

/// A place. Zeroed memory is none: no code is at 0.
#[derive(Clone, Copy, Debug, Default)]
struct Site {
    code: u64,
    instruction: u64,
    /// Tells its code from other code at the same address.
    identity: u64,
    /// The id in the pc table of the recording with this number.
    pc: u32,
    recording: u32,
}

/// The cache.
pub(crate) struct Sites {
    sites: [Site; PLACES],
    recording: u32,
}

impl Sites {
    /// One that knows nothing.
    #[cfg(test)]
    pub(crate) fn unknown() -> Self {
        Self { sites: [Site::default(); PLACES], recording: 1 }
    }

    /// Forgets all places, since ids are those of another recording.
    pub(crate) fn forget(&mut self) {
        self.recording = self.recording.wrapping_add(1);
    }

    /// The id of the place that a frame has reached, which `resolve` finds out if need be.
    #[inline(always)]
    pub(crate) fn pc(
        &mut self,
        frame: &ScriptFrame,
        identity: u64,
        resolve: impl FnOnce() -> Option<u32>,
    ) -> Option<u32> {
        let ScriptFrame { code, instruction, .. } = *frame;
        let recording = self.recording;
        let place = (mix(code, instruction) >> 32) as usize % PLACES;
        let site = self.sites.get_mut(place)?;
        let is_known = site.code == code
            && site.instruction == instruction
            && site.identity == identity
            && site.recording == recording;
        if !is_known {
            *site = Site { code, instruction, identity, pc: resolve()?, recording };
        }
        Some(site.pc)
    }
}
