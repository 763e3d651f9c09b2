//! The text that a function returns, read from its file without running it.
//!
//! Programs configure tools through functions like this one, which cannot be called from outside:
//!
//! ```c
//! const char *__lsan_default_suppressions(void) { return "leak:cache_init\n"; }
//! ```
//!
//! Compilers turn it into a handful of instructions. Only these are followed: a function that computes anything has
//! no text.
//!
//! ```text
//!   f3 0f 1e fa            endbr64           not always
//!   55 48 89 e5            push rbp; mov     not with optimization
//!   48 8d 05 <offset>      lea rax, [rip + offset]
//!   b8 <address>           mov eax, address  in its place, in programs at a fixed address
//!   5d                     pop rbp
//!   c3                     ret
//! ```

use crate::arena::Arena;
use crate::elf::Elf;
use crate::identity::ModuleFile;
use crate::image::Image;
use crate::reason::Reason;

/// Longest text that is read.
const LONGEST: usize = 1 << 20;

/// What a function returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReturnedText {
    /// There is no such function.
    Absent,
    /// It exists, and does more than return a text.
    Computed,
    /// The text; invalid UTF-8 in it is replaced.
    Text(String),
}

/// Looks for a function by its name in the symbol tables, and reads the text that it returns.
///
/// # Errors
/// The reason that the file cannot be read, or is not the one that was mapped.
pub fn returned_text(module: &ModuleFile, function: &str) -> Result<ReturnedText, Reason> {
    let (image, identity) = Image::open(&module.path)?;
    let arena = Arena::default();
    let elf = Elf::parse(arena.keep(image))?;
    module.check(&identity, elf.build_id())?;
    let Some(symbol) = elf.symbols().into_iter().find(|symbol| symbol.name == function.as_bytes()) else {
        return Ok(ReturnedText::Absent);
    };
    let text = elf.bytes_at(symbol.address).filter(|_| elf.is_x86_64());
    let text =
        text.and_then(|code| address_of(code, symbol.address)).and_then(|address| elf.bytes_at(address));
    Ok(text.and_then(until_nul).map_or(ReturnedText::Computed, ReturnedText::Text))
}

/// The address that these instructions return, if they do nothing else.
fn address_of(code: &[u8], at: u64) -> Option<u64> {
    let mut rest = code;
    let mut skip = |bytes: &[u8]| match rest.strip_prefix(bytes) {
        Some(after) => {
            rest = after;
            true
        }
        None => false,
    };
    skip(&[0xf3, 0x0f, 0x1e, 0xfa]);
    let has_frame = skip(&[0x55, 0x48, 0x89, 0xe5]);
    let is_relative = skip(&[0x48, 0x8d, 0x05]);
    if !is_relative && !skip(&[0xb8]) {
        return None;
    }
    let (operand, mut rest) = rest.split_first_chunk::<4>()?;
    let behind = at.wrapping_add((code.len() - rest.len()) as u64);
    if has_frame {
        rest = rest.strip_prefix(&[0x5d])?;
    }
    rest.strip_prefix(&[0xc3])?;
    Some(match is_relative {
        true => behind.wrapping_add_signed(i32::from_le_bytes(*operand).into()),
        false => u32::from_le_bytes(*operand).into(),
    })
}

fn until_nul(bytes: &[u8]) -> Option<String> {
    let bytes = &bytes[..bytes.len().min(LONGEST)];
    let end = bytes.iter().position(|&byte| byte == 0)?;
    Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Check the forms that compilers generate, and that anything else is not followed.
    #[test]
    fn only_a_constant_is_followed() {
        let lea = [0x48, 0x8d, 0x05, 0x10, 0, 0, 0];
        let cases: [(&[&[u8]], Option<u64>); 9] = [
            (&[&lea, &[0xc3]], Some(0x1000 + 7 + 0x10)),
            (&[&[0xf3, 0x0f, 0x1e, 0xfa], &lea, &[0xc3]], Some(0x1000 + 11 + 0x10)),
            (&[&[0x55, 0x48, 0x89, 0xe5], &lea, &[0x5d, 0xc3]], Some(0x1000 + 11 + 0x10)),
            (&[&[0x48, 0x8d, 0x05, 0xf0, 0xff, 0xff, 0xff, 0xc3]], Some(0x1000 + 7 - 0x10)),
            (&[&[0xb8, 0x04, 0x20, 0x40, 0, 0xc3]], Some(0x40_2004)),
            (&[&[0x55, 0x48, 0x89, 0xe5], &lea, &[0xc3]], None),
            (&[&lea, &[0x90, 0xc3]], None),
            (&[&lea], None),
            (&[&[0xe8, 0, 0, 0, 0, 0xc3]], None),
        ];
        for (code, expected) in cases {
            assert_eq!(address_of(&code.concat(), 0x1000), expected, "{code:x?}");
        }
    }

    proptest! {
        /// Check that no bytes make the reader panic.
        #[test]
        fn any_code_is_survived(code in prop::collection::vec(any::<u8>(), 0..16), at in any::<u64>()) {
            address_of(&code, at);
            address_of(&[&[0x48, 0x8d, 0x05], code.as_slice()].concat(), at);
        }
    }
}
