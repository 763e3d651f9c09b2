//! Memory that a file may take while it is imported: in proportion to its length, whatever it claims.

/// Memory for tables, whatever the length of the file, and for each of its bytes. Text compresses twentyfold.
const TABLES: (u64, u64) = (256 << 20, 64);

/// What is wrong with a file that wants more.
pub(super) const SPENT: &str = "its tables are larger than those of any recording of its length";

/// What is left of it.
#[derive(Debug)]
pub(super) struct Budget(u64);

/// There is no more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spent;

impl Budget {
    /// That of a file of this length.
    pub(super) fn of(file_length: u64) -> Budget {
        Budget(TABLES.0.saturating_add(file_length.saturating_mul(TABLES.1)))
    }

    /// One of so many bytes.
    #[cfg(test)]
    pub(super) fn small(bytes: u64) -> Budget {
        Budget(bytes)
    }

    /// Takes so many bytes for a table.
    pub(super) fn charge(&mut self, bytes: usize) -> Result<(), Spent> {
        self.0 = self.0.checked_sub(bytes as u64).ok_or(Spent)?;
        Ok(())
    }
}
