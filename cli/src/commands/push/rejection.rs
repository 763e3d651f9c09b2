//! What a receiver of OTLP says of profiles that it has taken only in part.

/// Why an OTLP receiver has rejected profiles that it answers 200 for: its answer is `partial_success` (1) with the
/// number of `rejected_profiles` (1) and an `error_message` (2).
pub(super) fn rejection(answer: &[u8]) -> Option<String> {
    let partial = fields(answer).find_map(|(field, value)| value.bytes().filter(|_| field == 1))?;
    let rejected = fields(partial).find_map(|(field, value)| value.number().filter(|_| field == 1))?;
    let message = fields(partial).find_map(|(field, value)| value.bytes().filter(|_| field == 2));
    let message = String::from_utf8_lossy(message.unwrap_or_default()).lines().next().map(str::to_owned);
    (rejected > 0).then(|| message.unwrap_or_else(|| format!("{rejected} of them")))
}

/// A field of a message of protocol buffers.
#[derive(Clone, Copy)]
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    fn number(self) -> Option<u64> {
        if let Field::Number(number) = self { Some(number) } else { None }
    }

    fn bytes(self) -> Option<&'a [u8]> {
        if let Field::Bytes(bytes) = self { Some(bytes) } else { None }
    }
}

/// The fields of a message up to one that is damaged, or of a kind that is not needed here.
fn fields(mut message: &[u8]) -> impl Iterator<Item = (u64, Field<'_>)> {
    std::iter::from_fn(move || {
        let tag = varint(&mut message)?;
        let value = varint(&mut message)?;
        match tag & 7 {
            0 => Some((tag >> 3, Field::Number(value))),
            2 => {
                let (bytes, rest) = message.split_at_checked(usize::try_from(value).ok()?)?;
                message = rest;
                Some((tag >> 3, Field::Bytes(bytes)))
            }
            _ => None,
        }
    })
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Check that rejected profiles are found, with the first line of the reason, and that a warning is no rejection.
    #[test]
    fn rejections_have_reasons() {
        for (answer, expected) in [
            (&[][..], None),
            (&[0x0a, 0], None),
            (&[0x0a, 4, 0x12, 2, b'o', b'k'], None),
            (&[0x0a, 6, 0x08, 0, 0x12, 2, b'o', b'k'], None),
            (&[0x0a, 2, 0x08, 4], Some("4 of them")),
            (&[0x0a, 8, 0x08, 4, 0x12, 4, b'n', b'o', b'\n', b'x'], Some("no")),
            (&[0x0a, 9, 0x08, 4], None),
        ] {
            assert_eq!(rejection(answer).as_deref(), expected, "{answer:?}");
        }
    }

    proptest! {
        /// Check that no answer makes us fail.
        #[test]
        fn any_answer_is_read(body in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = rejection(&body);
        }
    }
}
