//! The small part of the protocol buffers' wire format that exports need.
//!
//! ```text
//!  field 1, varint 300          08 ac 02
//!  field 2, bytes "ab"          12 02 61 62
//! ```
//!
//! A crate that builds a whole message in memory would take more of it than the capture's tables; here each record
//! is encoded separately and written.

/// Bytes of a message, or of a part of one. A field with its default value is left out, as in proto3.
#[derive(Clone, Debug, Default)]
pub(super) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// An integer. Negative ones take ten bytes, as an `int64` does.
    pub(super) fn int(&mut self, field: u32, value: i64) -> &mut Self {
        self.uint(field, value.cast_unsigned())
    }

    /// An integer that is never negative.
    pub(super) fn uint(&mut self, field: u32, value: u64) -> &mut Self {
        if value != 0 {
            self.varint(u64::from(field) << 3);
            self.varint(value);
        }
        self
    }

    /// An integer that is written even if it is 0, where that differs from none.
    pub(super) fn any_int(&mut self, field: u32, value: i64) -> &mut Self {
        self.varint(u64::from(field) << 3);
        self.varint(value.cast_unsigned());
        self
    }

    /// A `fixed64`, as times are.
    pub(super) fn fixed(&mut self, field: u32, value: u64) -> &mut Self {
        if value != 0 {
            self.varint(u64::from(field) << 3 | 1);
            self.bytes.extend_from_slice(&value.to_le_bytes());
        }
        self
    }

    /// Text, or any other bytes. It is written even if empty: an empty string needs its entry in a string table.
    pub(super) fn bytes(&mut self, field: u32, value: &[u8]) -> &mut Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(value.len() as u64);
        self.bytes.extend_from_slice(value);
        self
    }

    /// A message within this one.
    pub(super) fn message(&mut self, field: u32, part: &Message) -> &mut Self {
        self.bytes(field, &part.bytes)
    }

    /// A list of integers, packed.
    pub(super) fn ints(&mut self, field: u32, values: impl IntoIterator<Item = i64>) -> &mut Self {
        let mut packed = Message::new();
        values.into_iter().for_each(|value| packed.varint(value.cast_unsigned()));
        self.message(field, &packed)
    }

    /// What is to be written.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Clears it for reuse.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check the bytes of each kind of field against those of the format's documentation.
    #[test]
    fn fields_are_as_documented() {
        let cases: [(&[u8], Message); 8] = [
            (&[0x08, 0xac, 0x02], Message::new().int(1, 300).clone()),
            (&[], Message::new().int(1, 0).clone()),
            (&[0x08, 0x00], Message::new().any_int(1, 0).clone()),
            (
                &[0x08, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
                Message::new().int(1, -2).clone(),
            ),
            (&[0x19, 3, 0, 0, 0, 0, 0, 0, 1], Message::new().fixed(3, 3 | 1 << 56).clone()),
            (&[0x12, 0x02, b'a', b'b'], Message::new().bytes(2, b"ab").clone()),
            (&[0x1a, 0x03, 0x08, 0x96, 0x01], Message::new().message(3, Message::new().int(1, 150)).clone()),
            (
                &[0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05],
                Message::new().ints(6, [3, 270, 86942]).clone(),
            ),
        ];
        for (expected, message) in cases {
            assert_eq!(message.as_bytes(), expected);
        }
    }
}
