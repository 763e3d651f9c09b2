//! The records of a ring: a pure function from bytes to their meaning.
//!
//! ```text
//!  0         4      6      8
//!  +---------+------+------+----------------------------+-------------------------------+
//!  | type u32| misc | size | what the type has          | pid tid │ time u64 │ cpu u32 0│
//!  +---------+------+------+----------------------------+-------------------------------+
//!
//!  sample:   ip u64 │ pid tid u32 │ time u64 │ cpu u32, 0 │ period u64 │ stack
//!  fault:    pid tid u32 │ time u64 │ address u64 │ cpu u32, 0 │ registers, or all of a stack
//!
//!  stack:    kernel stack │ user's part
//!  kernel stack: n u64, n × u64
//!  user's part: registers │ size u64, size bytes of stack, number of them that are filled u64
//!  registers: abi u64, bp sp ip u64 unless the abi is 0; on 64-bit ARM x29 x30 sp pc
//! ```
//!
//! All records but samples end with the part on the right. The layout follows from what the event asked for
//! (`event.rs`).

use super::registers::{COUNT, Start};
use crate::proc::mapped_file::Identity;
use perf_event_open_sys::bindings as sys;

/// How samples of a ring are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// No samples: process records only.
    ProcessRecords,
    /// CPU samples.
    CpuSamples,
    /// Page faults without stacks.
    Faults,
    /// Page faults with stacks.
    FaultsWithStacks,
}

/// A record, and when it was written, by the ring's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub(super) time: u64,
    pub(super) payload: Payload<'a>,
}

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payload<'a> {
    /// A processor was executing here.
    Sample(Sample<'a>),
    /// A page fault.
    Fault(Fault<'a>),
    /// A process mapped memory.
    Map(Map<'a>),
    /// A thread changed its name, either because its process executed another program or of its own accord.
    Comm { pid: u32, tid: u32, name: &'a [u8], is_exec: bool },
    /// A process (if the pid is new) or a thread began.
    Fork { pid: u32, parent: u32, tid: u32, parent_tid: u32 },
    /// A thread ended.
    Exit { pid: u32, tid: u32 },
    /// The ring had no room for this many records.
    Lost { records: u64 },
    /// From here on process records may be missing. The kernel writes no such record: we add it where a ring had no
    /// room.
    Gap,
    /// The kernel paused sampling for a moment.
    Throttle,
    /// Kernel code was loaded or unloaded.
    KernelCode,
    /// A record that we do not need.
    Other,
}

/// What a processor was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample<'a> {
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) cpu: u32,
    pub(super) period: u64,
    /// Addresses of the kernel's frames, with markers in between, eight bytes each, innermost first.
    pub(super) chain: &'a [u8],
    pub(super) user: User<'a>,
}

/// A page fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault<'a> {
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) address: u64,
    /// The thread's stack pointer, if it has a user stack.
    pub(super) sp: Option<u64>,
    /// The kernel's and the user's frames, as in samples; only in rings with stacks.
    pub(super) stack: Option<(&'a [u8], User<'a>)>,
}

/// The user-space part of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum User<'a> {
    /// The thread has no user space: it is a kernel thread.
    None,
    /// The thread runs 32-bit code.
    Bits32 { ip: u64 },
    /// Registers and a piece of stack. With `is_cut`, the stack may continue beyond the copy.
    Bits64 { start: Start, stack: &'a [u8], is_cut: bool },
}

/// A mapping, usually of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Map<'a> {
    pub(super) pid: u32,
    pub(super) start: u64,
    pub(super) length: u64,
    /// Offset in the file at which it begins.
    pub(super) offset: u64,
    pub(super) is_code: bool,
    /// Empty if the kernel gives device and inode instead.
    pub(super) build_id: &'a [u8],
    /// 0 if the kernel gives a build id instead.
    pub(super) identity: Identity,
    pub(super) path: &'a [u8],
}

/// Bytes that are not a valid record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

const HEADER: usize = 8;
/// The part that ends all records but samples.
const TRAILER: usize = 24;

/// Splits off the first record of `bytes`.
pub(super) fn split(bytes: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    bytes.split_at_checked(length(bytes)?).ok_or(Malformed)
}

/// Length of the record that begins here.
fn length(bytes: &[u8]) -> Result<usize, Malformed> {
    let size = bytes.get(6..HEADER).and_then(|size| size.first_chunk()).ok_or(Malformed)?;
    let size = usize::from(u16::from_le_bytes(*size));
    if size < HEADER { Err(Malformed) } else { Ok(size) }
}

/// Appends the records of a ring. One of them may wrap around its end: it begins in `first` and ends in `second`.
pub(super) fn append_all(first: &[u8], second: &[u8], layout: Layout, to: &mut Vec<u8>) {
    let begun = append_whole(first, layout, to);
    // A header never wraps: lengths of records and rings are multiples of its size.
    let missing = length(begun).map_or(0, |length: usize| length.saturating_sub(begun.len()));
    let (end, rest) = second.split_at(missing.min(second.len()));
    to.extend_from_slice(begun);
    to.extend_from_slice(end);
    let left = append_whole(rest, layout, to);
    to.extend_from_slice(left);
}

/// Appends all whole records; returns what is left.
fn append_whole<'a>(mut bytes: &'a [u8], layout: Layout, to: &mut Vec<u8>) -> &'a [u8] {
    while let Ok((record, rest)) = split(bytes) {
        append(record, layout, to);
        bytes = rest;
    }
    bytes
}

/// Appends a record without the unfilled part of its stack. The kernel leaves that part uninitialised, and copying it
/// would be most of the work.
fn append(record: &[u8], layout: Layout, to: &mut Vec<u8>) {
    let Some((start, stack)) = unfilled(record, layout) else { return to.extend_from_slice(record) };
    // One word more than is filled, since a stack that fills its room counts as cut off.
    let size = stack.len().next_multiple_of(8) + 8;
    let begin = to.len();
    to.extend_from_slice(&record[..start]);
    to.extend_from_slice(stack);
    to.resize(begin + start + size, 0);
    to.extend_from_slice(&(stack.len() as u64).to_le_bytes());
    let length = (to.len() - begin) as u16;
    to[begin + 6..begin + HEADER].copy_from_slice(&length.to_le_bytes());
    to[begin + start - 8..begin + start].copy_from_slice(&(size as u64).to_le_bytes());
}

/// A stack that does not fill its room, and where it begins in its record.
fn unfilled(record: &[u8], layout: Layout) -> Option<(usize, &[u8])> {
    let user = match parse(record, layout).ok()?.payload {
        Payload::Sample(sample) => sample.user,
        Payload::Fault(Fault { stack: Some((_, user)), .. }) => user,
        _ => return None,
    };
    let User::Bits64 { stack, is_cut: false, .. } = user else { return None };
    let start = stack.as_ptr().addr() - record.as_ptr().addr();
    // Otherwise the shortened record would not be shorter.
    (start + stack.len().next_multiple_of(8) + 16 < record.len()).then_some((start, stack))
}

/// Parses a record that fills `bytes`.
pub(super) fn parse(bytes: &[u8], layout: Layout) -> Result<Record<'_>, Malformed> {
    let mut head = Fields(bytes);
    let kind = head.u32()?;
    let misc = u32::from(head.u16()?);
    head.u16()?;
    if kind == sys::PERF_RECORD_SAMPLE {
        return match layout {
            Layout::ProcessRecords => Err(Malformed),
            Layout::CpuSamples => sample(head),
            Layout::Faults | Layout::FaultsWithStacks => fault(head, layout == Layout::FaultsWithStacks),
        };
    }
    let body = head.0.len().checked_sub(TRAILER).ok_or(Malformed)?;
    let (body, trailer) = head.0.split_at_checked(body).ok_or(Malformed)?;
    let time = Fields(trailer.get(8..).ok_or(Malformed)?).u64()?;
    let payload = match kind {
        sys::PERF_RECORD_MMAP2 => map(Fields(body), misc)?,
        sys::PERF_RECORD_MMAP => map_of_data(Fields(body), misc)?,
        sys::PERF_RECORD_COMM => comm(Fields(body), misc)?,
        sys::PERF_RECORD_FORK => {
            let [pid, parent, tid, parent_tid] = Fields(body).four()?;
            Payload::Fork { pid, parent, tid, parent_tid }
        }
        sys::PERF_RECORD_EXIT => {
            let [pid, _, tid, _] = Fields(body).four()?;
            Payload::Exit { pid, tid }
        }
        sys::PERF_RECORD_LOST => {
            let mut body = Fields(body);
            body.u64()?;
            Payload::Lost { records: body.u64()? }
        }
        sys::PERF_RECORD_LOST_SAMPLES => Payload::Lost { records: Fields(body).u64()? },
        sys::PERF_RECORD_THROTTLE => Payload::Throttle,
        sys::PERF_RECORD_KSYMBOL => Payload::KernelCode,
        _ => Payload::Other,
    };
    Ok(Record { time, payload })
}

fn sample(mut fields: Fields<'_>) -> Result<Record<'_>, Malformed> {
    fields.u64()?;
    let (pid, tid, time, cpu) = (fields.u32()?, fields.u32()?, fields.u64()?, fields.u32()?);
    fields.u32()?;
    let period = fields.u64()?;
    let (chain, user) = stack(&mut fields)?;
    let payload = Payload::Sample(Sample { pid, tid, cpu, period, chain, user });
    Ok(Record { time, payload })
}

fn fault(mut fields: Fields<'_>, has_stack: bool) -> Result<Record<'_>, Malformed> {
    let (pid, tid, time, address) = (fields.u32()?, fields.u32()?, fields.u64()?, fields.u64()?);
    fields.u64()?;
    let (sp, stack) = match has_stack {
        true => {
            let (chain, user) = stack(&mut fields)?;
            let sp = if let User::Bits64 { start, .. } = user { Some(start.sp) } else { None };
            (sp, Some((chain, user)))
        }
        false => {
            let (_, registers) = registers(&mut fields)?;
            (registers.map(|start| start.sp), None)
        }
    };
    Ok(Record { time, payload: Payload::Fault(Fault { pid, tid, address, sp, stack }) })
}

/// The kernel's frames, and the user's part.
fn stack<'a>(fields: &mut Fields<'a>) -> Result<(&'a [u8], User<'a>), Malformed> {
    Ok((chain(fields)?, user(fields)?))
}

/// The kernel's frames.
fn chain<'a>(fields: &mut Fields<'a>) -> Result<&'a [u8], Malformed> {
    let frames = usize::try_from(fields.u64()?).map_err(|_| Malformed)?;
    fields.bytes(frames.checked_mul(8).ok_or(Malformed)?)
}

/// The user's part.
fn user<'a>(fields: &mut Fields<'a>) -> Result<User<'a>, Malformed> {
    let (abi, registers) = registers(fields)?;
    let size = usize::try_from(fields.u64()?).map_err(|_| Malformed)?;
    let copied = fields.bytes(size)?;
    let length = if size == 0 { 0 } else { usize::try_from(fields.u64()?).map_err(|_| Malformed)? };
    let stack = copied.get(..length).ok_or(Malformed)?;
    Ok(match registers {
        None => User::None,
        Some(start) if abi == ABI_32 => User::Bits32 { ip: start.ip },
        Some(start) => User::Bits64 { start, stack, is_cut: length == size },
    })
}

/// The ABI of the interrupted code, and its registers if it has a user part.
fn registers(fields: &mut Fields<'_>) -> Result<(u64, Option<Start>), Malformed> {
    let abi = fields.u64()?;
    if abi == ABI_NONE {
        return Ok((abi, None));
    }
    let mut words = [0; COUNT];
    for word in &mut words {
        *word = fields.u64()?;
    }
    Ok((abi, Some(Start::of(words))))
}

const ABI_NONE: u64 = sys::PERF_SAMPLE_REGS_ABI_NONE as u64;
const ABI_32: u64 = sys::PERF_SAMPLE_REGS_ABI_32 as u64;

fn map(mut fields: Fields<'_>, misc: u32) -> Result<Payload<'_>, Malformed> {
    let (pid, _) = (fields.u32()?, fields.u32()?);
    let (start, length, offset) = (fields.u64()?, fields.u64()?, fields.u64()?);
    let field = fields.bytes(24)?;
    let is_marked = misc & sys::PERF_RECORD_MISC_MMAP_BUILD_ID != 0;
    let (build_id, identity) = match build_id(field).filter(|_| is_marked) {
        Some(build_id) => (build_id, Identity::default()),
        None => (&[][..], identity(field)?),
    };
    let protection = fields.u32()?;
    fields.u32()?;
    let is_code = protection & libc::PROT_EXEC.cast_unsigned() != 0;
    Ok(Payload::Map(Map {
        pid,
        start,
        length,
        offset,
        is_code,
        build_id,
        identity,
        path: until_nul(fields.0),
    }))
}

/// The build id in the field that identifies a mapped file; `None` if that field cannot hold one. Once the kernel has
/// written a record for a listener that asked for build ids, it sets the mark for all other listeners too, even if
/// their field holds device and inode.
fn build_id(identity: &[u8]) -> Option<&[u8]> {
    let (length, rest) = identity.split_first()?;
    let (build_id, unused) = rest.get(3..)?.split_at_checked(usize::from(*length))?;
    let is_zero = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
    (!build_id.is_empty() && is_zero(&rest[..3]) && is_zero(unused)).then_some(build_id)
}

/// Device and inode in the same field.
fn identity(field: &[u8]) -> Result<Identity, Malformed> {
    let mut fields = Fields(field);
    let (major, minor) = (fields.u32()?, fields.u32()?);
    Ok(Identity { device: rustix::fs::makedev(major, minor), inode: fields.u64()? })
}

/// What kernels write for memory without code if nobody asks for more.
fn map_of_data(mut fields: Fields<'_>, misc: u32) -> Result<Payload<'_>, Malformed> {
    let (pid, _) = (fields.u32()?, fields.u32()?);
    let (start, length, offset) = (fields.u64()?, fields.u64()?, fields.u64()?);
    let is_code = misc & sys::PERF_RECORD_MISC_MMAP_DATA == 0;
    let path = until_nul(fields.0);
    Ok(Payload::Map(Map {
        pid,
        start,
        length,
        offset,
        is_code,
        build_id: &[],
        identity: Identity::default(),
        path,
    }))
}

fn comm(mut fields: Fields<'_>, misc: u32) -> Result<Payload<'_>, Malformed> {
    let (pid, tid) = (fields.u32()?, fields.u32()?);
    let is_exec = misc & sys::PERF_RECORD_MISC_COMM_EXEC != 0;
    Ok(Payload::Comm { pid, tid, name: until_nul(fields.0), is_exec })
}

fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or(bytes)
}

/// Reads consecutive little-endian numbers.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(Malformed)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.bytes(N)?.try_into().map_err(|_| Malformed)
    }

    fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    fn four(mut self) -> Result<[u32; 4], Malformed> {
        Ok([self.u32()?, self.u32()?, self.u32()?, self.u32()?])
    }
}

#[cfg(test)]
pub(super) mod made;

#[cfg(test)]
mod tests;
