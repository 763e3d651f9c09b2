//! ELF program headers, one at a time.

use super::ImageError;
use core::ops::Range;

pub(super) const PT_LOAD: u32 = 1;
pub(super) const PT_NOTE: u32 = 4;
pub(super) const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
pub(super) const PF_X: u32 = 1;
const PF_R: u32 = 4;

/// Most program headers that are examined; ordinary modules have about a dozen.
const MAX_HEADERS: u16 = 128;

/// The program headers.
pub(super) struct Headers {
    load_address: u64,
    table: u64,
    pub(super) count: u16,
}

/// One program header.
pub(super) struct Header {
    pub(super) kind: u32,
    pub(super) flags: u32,
    pub(super) offset: u64,
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) align: u64,
}

impl Headers {
    pub(super) fn open(
        load_address: u64,
        read: &mut impl FnMut(u64, &mut [u8]) -> bool,
    ) -> Result<Self, ImageError> {
        let mut header = [0; 64];
        if !read(load_address, &mut header) {
            return Err(ImageError::Unreadable);
        }
        // Magic, 64-bit, little-endian, version 1.
        if !header.starts_with(b"\x7fELF\x02\x01\x01") {
            return Err(ImageError::NotElf);
        }
        let offset = u64_at(&header, 32);
        let entry_size = u16_at(&header, 54);
        let count = u16_at(&header, 56);
        if entry_size != 56 || count > MAX_HEADERS {
            return Err(ImageError::OddHeaders);
        }
        Ok(Self { load_address, table: load_address.wrapping_add(offset), count })
    }

    pub(super) fn get(
        &self,
        index: u16,
        read: &mut impl FnMut(u64, &mut [u8]) -> bool,
    ) -> Result<Header, ImageError> {
        let mut bytes = [0; 56];
        if !read(self.table.wrapping_add(u64::from(index).wrapping_mul(56)), &mut bytes) {
            return Err(ImageError::Unreadable);
        }
        Ok(Header {
            kind: u32_at(&bytes, 0),
            flags: u32_at(&bytes, 4),
            offset: u64_at(&bytes, 8),
            address: u64_at(&bytes, 16),
            size: u64_at(&bytes, 40),
            align: u64_at(&bytes, 48),
        })
    }

    /// The load address is where offset 0 of the file is mapped, by the segment that contains it.
    pub(super) fn bias(&self, read: &mut impl FnMut(u64, &mut [u8]) -> bool) -> Result<u64, ImageError> {
        for index in 0..self.count {
            let header = self.get(index, read)?;
            if header.kind == PT_LOAD && header.offset == 0 {
                return Ok(self.load_address.wrapping_sub(header.address));
            }
        }
        Err(ImageError::NotMapped)
    }

    pub(super) fn readable_segment(
        &self,
        address: u64,
        bias: u64,
        read: &mut impl FnMut(u64, &mut [u8]) -> bool,
    ) -> Result<Option<Range<u64>>, ImageError> {
        for index in 0..self.count {
            let header = self.get(index, read)?;
            let range = header.range(bias);
            if header.kind == PT_LOAD && header.flags & PF_R != 0 && range.contains(&address) {
                return Ok(Some(range));
            }
        }
        Ok(None)
    }
}

impl Header {
    pub(super) fn range(&self, bias: u64) -> Range<u64> {
        let start = bias.wrapping_add(self.address);
        start..start.saturating_add(self.size)
    }
}

fn u16_at(bytes: &[u8], offset: usize) -> u16 {
    bytes.get(offset..).and_then(|rest| rest.first_chunk()).map_or(0, |chunk| u16::from_le_bytes(*chunk))
}

pub(super) fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    bytes.get(offset..).and_then(|rest| rest.first_chunk()).map_or(0, |chunk| u32::from_le_bytes(*chunk))
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    bytes.get(offset..).and_then(|rest| rest.first_chunk()).map_or(0, |chunk| u64::from_le_bytes(*chunk))
}
