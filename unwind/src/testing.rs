//! Made-up call frame tables and memories for the tests of this crate.

use crate::{Memory, Modules, SavedWord, SavedWords, Sections, arch};
use std::collections::BTreeMap;
use std::vec::Vec;

/// Where built tables pretend to be mapped.
pub(crate) const SEGMENT: u64 = 0x40_0000;
/// Where the functions of built tables begin.
pub(crate) const CODE: u64 = 0x50_0000;

/// A function for which to build a table: its offset from [`CODE`], its length, its instructions.
#[derive(Clone, Debug)]
pub(crate) struct Function<'a> {
    pub(crate) start: u32,
    pub(crate) length: u32,
    pub(crate) instructions: &'a [u8],
    pub(crate) signal: bool,
}

/// A mapped segment with `.eh_frame_hdr` and `.eh_frame`.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) bytes: Vec<u8>,
    pub(crate) hdr: u64,
}

/// The order of the sections, and whether the header has its search table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    Indexed,
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "tests of modules are those of x86-64")
    )]
    NoIndex,
    FrameFirst,
}

impl Segment {
    /// The tables of one function, 256 bytes long at [`CODE`], with these instructions.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "tests of rows are those of x86-64"))]
    pub(crate) fn of(instructions: &[u8]) -> Self {
        let function = Function { start: 0, length: 256, instructions, signal: false };
        Self::build(&[function], Layout::Indexed)
    }

    /// The tables of `functions`, which are sorted.
    pub(crate) fn build(functions: &[Function<'_>], layout: Layout) -> Self {
        let hdr_size = 12 + 8 * functions.len() as u64;
        // Some bytes in front, so that nothing can rely on being first.
        let front = 16;
        let frame = if layout == Layout::FrameFirst { SEGMENT + front } else { SEGMENT + front + hdr_size };
        let mut eh_frame = Vec::new();
        let mut fdes = Vec::new();
        for function in functions {
            fdes.push(push_function(&mut eh_frame, frame, function));
        }
        eh_frame.extend([0; 4]);
        let hdr_address =
            if layout == Layout::FrameFirst { frame + eh_frame.len() as u64 } else { SEGMENT + front };
        let mut hdr = Vec::from(match layout {
            Layout::NoIndex => [1, 0x1b, 0xff, 0xff],
            Layout::Indexed | Layout::FrameFirst => [1, 0x1b, 0x03, 0x3b],
        });
        hdr.extend(distance(hdr_address + 4, frame));
        hdr.extend((functions.len() as u32).to_le_bytes());
        for (function, fde) in functions.iter().zip(fdes) {
            hdr.extend(distance(hdr_address, CODE + u64::from(function.start)));
            hdr.extend(distance(hdr_address, fde));
        }
        let mut bytes = Vec::from([0xaa; 16]);
        if layout == Layout::FrameFirst {
            bytes.extend(eh_frame.iter().chain(&hdr));
        } else {
            bytes.extend(hdr.iter().chain(&eh_frame));
        }
        Self { bytes, hdr: hdr_address }
    }

    pub(crate) fn sections(&self) -> Sections<'_> {
        Sections { segment: &self.bytes, segment_address: SEGMENT, hdr_address: self.hdr }
    }
}

impl Modules for Segment {
    fn find(&self, address: u64) -> Option<Sections<'_>> {
        (CODE..CODE + 0x1_0000).contains(&address).then(|| self.sections())
    }

    fn is_code(&self, address: u64) -> bool {
        (CODE..CODE + 0x2_0000).contains(&address)
    }
}

/// Adds a CIE and an FDE to the section at address `frame`; returns the FDE's address.
fn push_function(section: &mut Vec<u8>, frame: u64, function: &Function<'_>) -> u64 {
    let cie = section.len();
    let mut body = Vec::from([0, 0, 0, 0, 1]); // a CIE, version 1
    body.extend(if function.signal { &b"zRS\0"[..] } else { b"zR\0" });
    // Code alignment 1, data alignment −8, the column of the return address, one byte of augmentation data: pcrel
    // sdata4.
    body.extend([0x01, 0x78, arch::RETURN_ADDRESS.0 as u8, 0x01, 0x1b]);
    // CFA = rsp + 8, return address at CFA − 8; or CFA = sp, return address in x30.
    body.extend(if arch::PUSHES_RETURN_ADDRESS {
        &[0x0c, 0x07, 0x08, 0x90, 0x01][..]
    } else {
        &[0x0c, 0x1f, 0x00]
    });
    push_entry(section, body);

    let fde = section.len();
    let mut body = Vec::from(((fde + 4 - cie) as u32).to_le_bytes());
    body.extend(distance(frame + fde as u64 + 8, CODE + u64::from(function.start)));
    body.extend(function.length.to_le_bytes());
    body.push(0); // no augmentation data
    body.extend(function.instructions);
    push_entry(section, body);
    frame + fde as u64
}

fn push_entry(section: &mut Vec<u8>, mut body: Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
    section.extend((body.len() as u32).to_le_bytes());
    section.extend(body);
}

fn distance(from: u64, to: u64) -> [u8; 4] {
    (to.wrapping_sub(from) as i32).to_le_bytes()
}

/// A memory of a few words.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words(pub(crate) BTreeMap<u64, u64>);

impl<const N: usize> From<[(u64, u64); N]> for Words {
    fn from(words: [(u64, u64); N]) -> Self {
        Self(words.into())
    }
}

impl Memory for Words {
    fn read(&mut self, address: u64) -> Option<u64> {
        assert!(address.is_multiple_of(8), "{address:#x} is no word's address");
        self.0.get(&address).copied()
    }

    fn unchanged<W: AsRef<SavedWord> + Copy>(&mut self, words: SavedWords<'_, W>) -> usize {
        let words = words.as_slice().iter().map(AsRef::as_ref);
        let do_fall = words.clone().is_sorted_by(|one, next| one.address > next.address);
        assert!(do_fall, "{:x?} do not fall", words.collect::<Vec<_>>());
        words.take_while(|word| self.read(word.address) == Some(word.value)).count()
    }
}
