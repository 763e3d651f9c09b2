//! Thrift's compact protocol, as far as Parquet's metadata needs it.
//!
//! ```text
//!  a field:    difference to the previous field's number (4 bits), type (4 bits), then the value
//!  a number:   zigzag, in groups of seven bits
//!  a text:     length in groups of seven bits, then the bytes
//!  a list:     length (4 bits, or 15 and then the length), type (4 bits), then the values
//!  a struct:   its fields, then a byte of zero
//! ```

/// Type codes in the headers of fields and lists.
const I32: u8 = 5;
const I64: u8 = 6;
const TEXT: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A struct that is being written.
#[derive(Debug, Default)]
pub(super) struct Struct {
    bytes: Vec<u8>,
    /// Number of the last field.
    last: u8,
}

impl Struct {
    /// A field of 32 bits.
    pub(super) fn i32(mut self, number: u8, value: i32) -> Self {
        self.head(number, I32);
        put(&mut self.bytes, zigzag(value.into()));
        self
    }

    /// A field of 64 bits.
    pub(super) fn i64(mut self, number: u8, value: i64) -> Self {
        self.head(number, I64);
        put(&mut self.bytes, zigzag(value));
        self
    }

    /// A field of text.
    pub(super) fn text(mut self, number: u8, value: &str) -> Self {
        self.head(number, TEXT);
        put_text(&mut self.bytes, value);
        self
    }

    /// A field that is a struct.
    pub(super) fn part(mut self, number: u8, value: Struct) -> Self {
        self.head(number, STRUCT);
        self.bytes.extend(value.finish());
        self
    }

    /// A list of structs.
    pub(super) fn parts(self, number: u8, values: Vec<Struct>) -> Self {
        self.list(number, STRUCT, values, |bytes, value| bytes.extend(value.finish()))
    }

    /// A list of numbers of 32 bits.
    pub(super) fn i32s(self, number: u8, values: &[i32]) -> Self {
        self.list(number, I32, values.to_vec(), |bytes, value| put(bytes, zigzag(value.into())))
    }

    /// A list of texts.
    pub(super) fn texts(self, number: u8, values: &[&str]) -> Self {
        self.list(number, TEXT, values.to_vec(), put_text)
    }

    /// Its bytes.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }

    fn head(&mut self, number: u8, kind: u8) {
        // Field numbers increase, by less than sixteen.
        self.bytes.push((number - self.last) << 4 | kind);
        self.last = number;
    }

    fn list<T>(mut self, number: u8, kind: u8, values: Vec<T>, write: impl Fn(&mut Vec<u8>, T)) -> Self {
        self.head(number, LIST);
        if values.len() < 15 {
            self.bytes.push((values.len() as u8) << 4 | kind);
        } else {
            self.bytes.push(0xf0 | kind);
            put(&mut self.bytes, values.len() as u64);
        }
        values.into_iter().for_each(|value| write(&mut self.bytes, value));
        self
    }
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put(bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// Appends a number in groups of seven bits, lowest first.
pub(super) fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check the bytes of each kind of field.
    #[test]
    fn fields_are_as_documented() {
        let inner = Struct::default().i32(1, -1);
        let whole = Struct::default()
            .i32(1, 300)
            .text(4, "ab")
            .part(5, inner)
            .i32s(6, &[0, 3])
            .texts(7, &["x"; 16])
            .i64(9, -2);
        let mut expected =
            vec![0x15, 0xd8, 0x04, 0x38, 2, b'a', b'b', 0x1c, 0x15, 1, 0, 0x19, 0x25, 0, 6, 0x19, 0xf8, 16];
        expected.extend([1, b'x'].repeat(16));
        expected.extend([0x26, 3, 0]);
        assert_eq!(whole.finish(), expected);
    }
}
