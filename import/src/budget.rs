//! Limits the memory that an import may take to a multiple of the file's length, whatever the file claims.

/// Memory for tables: a fixed part, and so much per byte of the file. Text compresses twentyfold.
const TABLES: (u64, u64) = (256 << 20, 64);

/// The error for a file that needs more.
pub(super) const SPENT: &str = "its tables are too large for a file of this size";

/// The memory that may still be taken.
#[derive(Debug)]
pub(super) struct Budget(u64);

/// The budget is used up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spent;

impl Budget {
    /// The budget for a file of this length.
    pub(super) fn of(file_length: u64) -> Budget {
        Budget(TABLES.0.saturating_add(file_length.saturating_mul(TABLES.1)))
    }

    /// Takes so many bytes for a table.
    pub(super) fn charge(&mut self, bytes: usize) -> Result<(), Spent> {
        self.0 = self.0.checked_sub(bytes as u64).ok_or(Spent)?;
        Ok(())
    }
}
