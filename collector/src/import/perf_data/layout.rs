//! Which fields the records of an event have, according to the event's attributes.
//!
//! ```text
//!  attributes:  0 type u32 │ 8 config u64 │ 24 sample type u64 │ 32 read format u64 │ 40 flags u64
//!               72 branch sample type u64 │ 80 registers of the user u64
//!
//!  sample:      [identifier] [ip] [pid tid] [time] [addr] [id] [stream] [cpu] [period] [read] [chain] [raw]
//!               [branches] [registers of the user] [stack of the user]
//!  the others:  their own fields, then [pid tid] [time] [id] [stream] [cpu] [identifier]
//! ```

use super::fields::{Fields, Short};
use crate::cpu::{REGISTER_NUMBERS, REGISTERS, Start};

/// Bits of the sample type, in the kernel's order.
mod bit {
    pub(super) const IP: u64 = 1;
    pub(super) const TID: u64 = 1 << 1;
    pub(super) const TIME: u64 = 1 << 2;
    pub(super) const ADDR: u64 = 1 << 3;
    pub(super) const READ: u64 = 1 << 4;
    pub(super) const CALLCHAIN: u64 = 1 << 5;
    pub(super) const ID: u64 = 1 << 6;
    pub(super) const CPU: u64 = 1 << 7;
    pub(super) const PERIOD: u64 = 1 << 8;
    pub(super) const STREAM_ID: u64 = 1 << 9;
    pub(super) const RAW: u64 = 1 << 10;
    pub(super) const BRANCH_STACK: u64 = 1 << 11;
    pub(super) const REGS_USER: u64 = 1 << 12;
    pub(super) const STACK_USER: u64 = 1 << 13;
    pub(super) const IDENTIFIER: u64 = 1 << 16;
}

/// Flag: records other than samples end with sample fields, too.
const SAMPLE_ID_ALL: u64 = 1 << 18;
/// Branch sample type: a word precedes the branches.
const HW_INDEX: u64 = 1 << 17;

/// What an event's records contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) kind: u32,
    pub(super) config: u64,
    sample_type: u64,
    read_format: u64,
    branch_type: u64,
    user_registers: u64,
    has_trailer: bool,
}

/// The useful fields of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sample<'a> {
    pub(super) ip: u64,
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) cpu: u32,
    pub(super) period: u64,
    /// Addresses with markers in between, eight bytes each; `None` if the event did not ask for them.
    pub(super) chain: Option<&'a [u8]>,
    /// Registers of 64-bit code, the copied piece of stack, and whether the stack may continue beyond it.
    pub(super) user: Option<(Start, &'a [u8], bool)>,
}

impl Layout {
    /// From the attributes in these bytes.
    pub(super) fn parse(bytes: &[u8]) -> Result<Layout, Short> {
        let at = |offset: usize| Fields(bytes.get(offset..).unwrap_or_default());
        // Older kernels have shorter attributes; what is missing is zero.
        let late = |offset: usize| at(offset).u64().unwrap_or(0);
        Ok(Layout {
            kind: at(0).u32()?,
            config: at(8).u64()?,
            sample_type: at(24).u64()?,
            read_format: at(32).u64()?,
            has_trailer: at(40).u64()? & SAMPLE_ID_ALL != 0,
            branch_type: late(72),
            user_registers: late(80),
        })
    }

    /// True if samples of both have their fields at the same offsets.
    pub(super) fn is_like(&self, other: &Layout) -> bool {
        Layout { kind: other.kind, config: other.config, ..*self } == *other
    }

    /// True if samples begin with the identifier of their event.
    pub(super) fn has_identifier(&self) -> bool {
        self.sample_type & bit::IDENTIFIER != 0
    }

    /// When a record was written; 0 if unknown. `body` is the record without its header.
    pub(super) fn time(&self, body: &[u8], is_sample: bool) -> u64 {
        let has = |bit: u64| u64::from(self.sample_type & bit != 0);
        if self.sample_type & bit::TIME == 0 {
            return 0;
        }
        let before = has(bit::TID);
        let (from, place) = if is_sample {
            (Some(0), has(bit::IDENTIFIER) + has(bit::IP) + before)
        } else if self.has_trailer {
            (body.len().checked_sub(self.trailer()), before)
        } else {
            return 0;
        };
        let Some(from) = from else { return 0 };
        let time = body.get(from + 8 * place as usize..).and_then(|rest| Fields(rest).u64().ok());
        // Records that perf synthesised have no time.
        time.filter(|time| *time != u64::MAX).unwrap_or(0)
    }

    /// A record's own fields: its body without the trailing sample fields.
    pub(super) fn own<'a>(&self, body: &'a [u8]) -> &'a [u8] {
        let length = if self.has_trailer { body.len().saturating_sub(self.trailer()) } else { body.len() };
        &body[..length]
    }

    fn trailer(&self) -> usize {
        let words = bit::TID | bit::TIME | bit::ID | bit::STREAM_ID | bit::CPU | bit::IDENTIFIER;
        8 * (self.sample_type & words).count_ones() as usize
    }

    /// Reads a sample.
    pub(super) fn sample<'a>(&self, body: &'a [u8]) -> Result<Sample<'a>, Short> {
        let has = |bit: u64| self.sample_type & bit != 0;
        let (mut fields, mut sample) = (Fields(body), Sample::default());
        if has(bit::IDENTIFIER) {
            fields.u64()?;
        }
        if has(bit::IP) {
            sample.ip = fields.u64()?;
        }
        if has(bit::TID) {
            (sample.pid, sample.tid) = (fields.u32()?, fields.u32()?);
        }
        for word in [bit::TIME, bit::ADDR, bit::ID, bit::STREAM_ID] {
            if has(word) {
                fields.u64()?;
            }
        }
        if has(bit::CPU) {
            sample.cpu = fields.u32()?;
            fields.u32()?;
        }
        sample.period = if has(bit::PERIOD) { fields.u64()? } else { 1 };
        if has(bit::READ) {
            self.skip_read(&mut fields)?;
        }
        if has(bit::CALLCHAIN) {
            let frames = fields.u64()?;
            sample.chain = Some(fields.many(frames, 8)?);
        }
        if has(bit::RAW) {
            let length = fields.u32()?;
            fields.many(length.into(), 1)?;
        }
        if has(bit::BRANCH_STACK) {
            let branches = fields.u64()?;
            if self.branch_type & HW_INDEX != 0 {
                fields.u64()?;
            }
            fields.many(branches, 24)?;
        }
        let registers = if has(bit::REGS_USER) { self.registers(&mut fields)? } else { None };
        if has(bit::STACK_USER) {
            let size = fields.u64()?;
            let copied = fields.many(size, 1)?;
            let length = if size == 0 { 0 } else { fields.u64()? };
            let stack = usize::try_from(length).ok().and_then(|length| copied.get(..length)).ok_or(Short)?;
            sample.user = registers.map(|registers| (registers, stack, length == size));
        }
        Ok(sample)
    }

    fn skip_read(&self, fields: &mut Fields<'_>) -> Result<(), Short> {
        let has = |bit: u64| u64::from(self.read_format & bit != 0);
        let (times, each) = (has(1) + has(2), 1 + has(4) + has(16));
        let values = if has(8) == 1 { fields.u64()? } else { 1 };
        fields.many(times, 8)?;
        fields.many(values, 8 * each)?;
        Ok(())
    }

    /// The registers that a walk begins with; `None` for a kernel thread, for 32-bit code, and if the event did not
    /// ask for them. They are taken to be this machine's: perf's files are read where they were recorded.
    fn registers(&self, fields: &mut Fields<'_>) -> Result<Option<Start>, Short> {
        let abi = fields.u64()?;
        if abi == 0 {
            return Ok(None);
        }
        let all = fields.many(self.user_registers.count_ones().into(), 8)?;
        let register = |number: u32| {
            let before = self.user_registers & ((1 << number) - 1);
            let place = 8 * before.count_ones() as usize;
            let is_there = self.user_registers & (1 << number) != 0;
            Fields(all.get(place..).filter(|_| is_there).unwrap_or_default()).u64().ok()
        };
        let mut words = [0; REGISTERS];
        for (word, number) in words.iter_mut().zip(REGISTER_NUMBERS) {
            let Some(value) = register(number) else { return Ok(None) };
            *word = value;
        }
        Ok((abi == 2).then(|| Start::of(words)))
    }
}
