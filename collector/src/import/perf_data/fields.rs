//! Reads consecutive little-endian numbers.

/// The bytes end before the last field does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Short;

/// The bytes that are left.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    /// So many items of so many bytes each.
    pub(super) fn many(&mut self, count: u64, each: u64) -> Result<&'a [u8], Short> {
        let length = count.checked_mul(each).and_then(|length| usize::try_from(length).ok()).ok_or(Short)?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(Short)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Short> {
        self.many(N as u64, 1)?.try_into().map_err(|_| Short)
    }

    pub(super) fn u16(&mut self) -> Result<u16, Short> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Short> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Short> {
        self.array().map(u64::from_le_bytes)
    }

    /// The bytes that are left up to a NUL.
    pub(super) fn text(&self) -> &'a [u8] {
        self.0.split(|&byte| byte == 0).next().unwrap_or_default()
    }
}
