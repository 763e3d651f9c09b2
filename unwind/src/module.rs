//! What a mapped ELF image says about itself: where its code and its unwind tables are, and which build it is.
//!
//! Only the ELF header, the program headers and the notes are read, and only from memory, because those are always
//! mapped: no file is opened. This happens once per module, so speed does not matter; bounds do, since the image may
//! be anything that starts like a module.

mod build_id;
mod headers;

pub use build_id::BuildId;

use core::fmt;
use core::ops::Range;
use headers::{Headers, PF_X, PT_GNU_EH_FRAME, PT_LOAD, PT_NOTE};

/// Executable segments that are kept; linkers create one, post-link optimisers two or three.
const MAX_CODE_RANGES: usize = 8;

/// A module as it is mapped. Addresses are those in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// What to add to an address in the file to get one in this process.
    pub bias: u64,
    /// From its first segment to the end of its last.
    pub mapped: Range<u64>,
    /// The mapped code.
    pub code: CodeRanges,
    /// The unwind tables, if the module has them in a readable segment.
    pub tables: Option<Tables>,
    /// The linker's identifier of this build, if it wrote one.
    pub build_id: Option<BuildId>,
}

/// Where the unwind tables of a module are mapped; see [`Sections`](crate::Sections).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    /// `.eh_frame_hdr`.
    pub hdr: u64,
    /// The readable segment around it.
    pub segment: Range<u64>,
}

/// Why an image could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageError {
    /// There is no 64-bit little-endian ELF header at the load address.
    NotElf,
    /// A header is in memory that cannot be read.
    Unreadable,
    /// The program headers do not have the format's size, or there are too many.
    OddHeaders,
    /// No segment maps the ELF header, so nothing relates file addresses to memory.
    NotMapped,
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotElf => "no 64-bit little-endian ELF header at the load address",
            Self::Unreadable => "the program headers lie in memory that cannot be read",
            Self::OddHeaders => "the program headers are of an unknown size or more than 128",
            Self::NotMapped => "no segment maps the ELF header, so the load bias is unknown",
        })
    }
}

impl core::error::Error for ImageError {}

impl Image {
    /// Reads the image whose first byte is mapped at `load_address`. `read` fills the buffer from memory and returns
    /// whether all of it could be read.
    ///
    /// # Errors
    ///
    /// If there is no image there, or its headers are damaged. Damaged notes only cost the build-id.
    pub fn parse(
        load_address: u64,
        mut read: impl FnMut(u64, &mut [u8]) -> bool,
    ) -> Result<Self, ImageError> {
        let headers = Headers::open(load_address, &mut read)?;
        let bias = headers.bias(&mut read)?;
        let mut image =
            Self { bias, mapped: 0..0, code: CodeRanges::default(), tables: None, build_id: None };
        let mut eh_frame_hdr = None;
        // There is a segment: the one that determined the bias.
        let (mut first, mut end) = (u64::MAX, 0);
        for index in 0..headers.count {
            let header = headers.get(index, &mut read)?;
            let range = header.range(bias);
            if header.kind == PT_LOAD {
                (first, end) = (first.min(range.start), end.max(range.end));
            }
            match header.kind {
                PT_LOAD if header.flags & PF_X != 0 => image.code.push(range),
                PT_GNU_EH_FRAME => eh_frame_hdr = Some(range.start),
                PT_NOTE if image.build_id.is_none() => {
                    image.build_id = build_id::find(range, header.align, &mut read);
                }
                _ => {}
            }
        }
        image.mapped = first..end;
        if let Some(hdr) = eh_frame_hdr {
            image.tables =
                headers.readable_segment(hdr, bias, &mut read)?.map(|segment| Tables { hdr, segment });
        }
        Ok(image)
    }
}

/// The executable segments of a module. Any beyond the eighth are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeRanges {
    ranges: [Range<u64>; MAX_CODE_RANGES],
    len: usize,
}

impl CodeRanges {
    /// One range.
    pub fn of(range: Range<u64>) -> Self {
        let mut ranges = Self::default();
        ranges.push(range);
        ranges
    }

    /// The ranges, in the order of the program headers.
    pub fn as_slice(&self) -> &[Range<u64>] {
        self.ranges.get(..self.len).unwrap_or(&[])
    }

    /// Whether `address` is code of the module.
    pub fn contains(&self, address: u64) -> bool {
        self.as_slice().iter().any(|range| range.contains(&address))
    }

    fn push(&mut self, range: Range<u64>) {
        if let Some(place) = self.ranges.get_mut(self.len) {
            *place = range;
            self.len = self.len.wrapping_add(1);
        }
    }
}

#[cfg(test)]
mod tests;
