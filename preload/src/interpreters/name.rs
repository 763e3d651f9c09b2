//! A name, or the beginning of a long one.

use shared_ring::record::name::MAX_NAME;

/// The name.
pub(crate) struct Name {
    bytes: [u8; MAX_NAME],
    length: usize,
}

impl Name {
    /// An empty one.
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; MAX_NAME], length: 0 }
    }

    /// The bytes.
    pub(crate) fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&[])
    }

    /// Appends a character; false if there is no room.
    pub(crate) fn push(&mut self, character: char) -> bool {
        let mut bytes = [0; 4];
        let bytes = character.encode_utf8(&mut bytes).as_bytes();
        let fits = self.bytes.len().saturating_sub(self.length) >= bytes.len();
        if fits {
            self.append(bytes);
        }
        fits
    }

    /// Appends bytes, as many as there is room for.
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        let room = self.bytes.iter_mut().skip(self.length).zip(bytes);
        let count = room.map(|(to, from)| *to = *from).count();
        self.length = self.length.wrapping_add(count);
    }
}
