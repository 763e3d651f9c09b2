//! A ring with the event that writes into it, exchanged for a larger one when it fills up.
//!
//! ```text
//!  an event of our own that counts nothing ──► a small ring ◄── the event that samples
//!  another one, when it is needed ──► a large ring ◄── … from then on
//! ```
//!
//! The kernel clears all memory of a ring when it is mapped, which takes longer than many a program runs, and few
//! recordings ever need a second's worth of samples in it. An event that has a ring of its own keeps it as long as it
//! lives, so the rings belong to events of our own: the one that samples is redirected from one to the next without
//! missing a sample, along with all that were inherited from it.

use crate::base::log::debug;
use crate::base::perf_event::open;
use crate::cpu::record::Layout;
use crate::cpu::ring::{EventTotals, Ring, page_size};
use crate::cpu::room::{self, FIRST};
use perf_event_open_sys::{bindings as sys, ioctls};
use rustix::fd::{AsFd, AsRawFd};
use std::fs::File;
use std::io;

/// A ring, and how the samples in it are laid out.
pub(in crate::cpu) struct Channel {
    pub(in crate::cpu) ring: Ring,
    pub(in crate::cpu) layout: Layout,
    /// The ring before this one, with records that may not have been read.
    pub(in crate::cpu) before: Option<Ring>,
    writer: Option<Writer>,
}

/// The event that writes into a ring which may be exchanged.
struct Writer {
    event: File,
    attributes: sys::perf_event_attr,
    processor: u32,
    /// Pages of the largest ring.
    most: usize,
}

impl Channel {
    /// A ring that stays.
    pub(in crate::cpu) fn new(ring: Ring, layout: Layout) -> Channel {
        Channel { ring, layout, before: None, writer: None }
    }

    /// A ring for CPU samples of an event on this processor, of at most so many pages.
    ///
    /// # Errors
    /// As [`Ring::map`].
    pub(super) fn growing(
        event: File,
        attributes: sys::perf_event_attr,
        processor: u32,
        most: usize,
    ) -> io::Result<Channel> {
        let writer = Writer { event, attributes, processor, most };
        let ring = writer.ring(most.min(FIRST / page_size()))?;
        Ok(Channel { ring, layout: Layout::CpuSamples, before: None, writer: Some(writer) })
    }

    /// Exchanges the ring for the largest one if it was as full as this when it was read: who reads it came late, and
    /// may come later the next time. If there is no memory for that, this one stays.
    pub(in crate::cpu) fn grow_for(&mut self, bytes: usize) {
        let Some(writer) = &self.writer else { return };
        let is_large = self.ring.length() >= writer.most * page_size();
        if is_large || bytes <= self.ring.length() / 4 {
            return;
        }
        match writer.ring(writer.most) {
            Ok(ring) => self.before = Some(std::mem::replace(&mut self.ring, ring)),
            Err(error) => debug!("no larger ring: {error}"),
        }
    }

    /// The totals of the event that writes, as [`EventTotals::of`].
    pub(in crate::cpu) fn ran(&self) -> Option<EventTotals> {
        EventTotals::of(self.writer.as_ref().map_or(self.ring.event(), |writer| &writer.event))
    }
}

impl Writer {
    /// A new ring of so many pages, into which the event writes from now on.
    fn ring(&self, pages: usize) -> io::Result<Ring> {
        let lender = open(silent(self.attributes, pages * page_size()), 0, self.processor.cast_signed())?;
        let ring = Ring::map(lender.into(), pages)?;
        write_into(&self.event, &ring)?;
        Ok(ring)
    }
}

/// Makes an event write into the ring of another one on the same processor and clock.
pub(super) fn write_into(event: &impl AsRawFd, ring: &impl AsFd) -> io::Result<()> {
    // SAFETY: the call takes two descriptors and touches no memory of ours.
    match unsafe { ioctls::SET_OUTPUT(event.as_raw_fd(), ring.as_fd().as_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The same attributes for an event that lends its ring to others and records nothing itself.
pub(super) fn silent(mut attributes: sys::perf_event_attr, ring: usize) -> sys::perf_event_attr {
    attributes.type_ = sys::PERF_TYPE_SOFTWARE;
    attributes.config = sys::PERF_COUNT_SW_DUMMY.into();
    attributes.set_freq(0);
    attributes.__bindgen_anon_1.sample_period = 0;
    attributes.set_precise_ip(0);
    attributes.set_inherit(0);
    attributes.set_inherit_thread(0);
    attributes.set_mmap(0);
    attributes.set_mmap2(0);
    attributes.set_mmap_data(0);
    attributes.set_build_id(0);
    attributes.set_comm(0);
    attributes.set_comm_exec(0);
    attributes.set_task(0);
    attributes.set_ksymbol(0);
    attributes.__bindgen_anon_2.wakeup_watermark = room::watermark(ring);
    attributes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::ring::READS;
    use std::time::{Duration, Instant};

    /// Works for a while, and returns the samples and the bytes of all records that are in the rings then.
    fn work(channel: &mut Channel) -> (u64, usize) {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(50) {
            std::hint::spin_loop();
        }
        let (mut samples, mut most) = (0, 0);
        let mut before = channel.before.take();
        for ring in before.iter_mut().chain([&mut channel.ring]) {
            let taken = ring.take(|first, second| {
                let mut rest = &[first, second].concat()[..];
                while let Some(&[kind, _, _, _, _, _, low, high, ..]) = rest.get(..8) {
                    assert_eq!(u32::from(kind), sys::PERF_RECORD_SAMPLE, "nothing was lost");
                    samples += 1;
                    rest = &rest[usize::from(u16::from_ne_bytes([low, high]))..];
                }
            });
            most = taken.expect("the kernel's head").bytes;
        }
        (samples, most)
    }

    /// Check that an event's samples are all in one ring or in the next, and that a ring is exchanged only when it was
    /// fuller than it should be.
    #[test]
    fn no_sample_is_missing_when_rings_are_exchanged() {
        let processor = rustix::thread::sched_getcpu();
        let mut only = rustix::thread::CpuSet::new();
        only.set(processor);
        rustix::thread::sched_setaffinity(None, &only).expect("this thread may stay where it is");
        let mut attributes = sys::perf_event_attr::default();
        attributes.type_ = sys::PERF_TYPE_SOFTWARE;
        attributes.config = sys::PERF_COUNT_SW_CPU_CLOCK.into();
        attributes.__bindgen_anon_1.sample_period = 1_000_000;
        attributes.sample_type = u64::from(sys::PERF_SAMPLE_IP | sys::PERF_SAMPLE_TIME);
        attributes.read_format = READS;
        attributes.set_exclude_kernel(1);
        let processor = u32::try_from(processor).expect("a small number");
        let Ok(event) = open(attributes, 0, processor.cast_signed()) else {
            return println!("skipped: exchanged rings (this user may not sample)");
        };
        let most = 2 * FIRST / page_size();
        let mut channel = Channel::growing(event.into(), attributes, processor, most).expect("a ring");
        let (mut samples, bytes) = work(&mut channel);
        channel.grow_for(bytes);
        assert!(channel.before.is_none() && channel.ring.length() == FIRST, "{bytes} bytes are few");
        samples += work(&mut channel).0;
        channel.grow_for(FIRST / 4 + 1);
        assert_eq!(channel.ring.length(), 2 * FIRST);
        for _ in 0..4 {
            samples += work(&mut channel).0;
            channel.grow_for(FIRST);
        }
        assert!(channel.before.is_none(), "the largest stays");
        let ran = channel.ran().expect("the event was opened to be read");
        let expected = ran.counted / 1_000_000;
        // What ran in the kernel is no sample, and the last one may be under way.
        assert!(samples <= expected + 1 && samples * 10 >= expected * 8, "{samples} of {expected}");
    }
}
