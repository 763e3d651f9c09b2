//! Where a capture is read from.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Bytes that several readers read at once, each at its own positions.
///
/// Files are not memory-mapped: truncating a mapped file kills the process that reads it.
pub trait ReadAt {
    /// Reads some bytes at `offset`; 0 at or after the end.
    ///
    /// # Errors
    /// What the system reports.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;

    /// The current length; a live capture grows.
    ///
    /// # Errors
    /// What the system reports.
    fn length(&self) -> io::Result<u64>;

    /// Reads until `bytes` is full or the source ends, and returns how much was read.
    ///
    /// # Errors
    /// What the system reports.
    fn read_full_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        while filled < bytes.len() {
            match self.read_at(&mut bytes[filled..], offset.saturating_add(filled as u64)) {
                Ok(0) => break,
                Ok(more) => filled += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

impl ReadAt for File {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, bytes, offset)
    }

    fn length(&self) -> io::Result<u64> {
        self.metadata().map(|metadata| metadata.len())
    }
}

impl ReadAt for [u8] {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|start| self.get(start..)).unwrap_or_default();
        let length = rest.len().min(bytes.len());
        bytes[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.as_slice().read_at(bytes, offset)
    }

    fn length(&self) -> io::Result<u64> {
        self.as_slice().length()
    }
}

/// The first part of a file, and an end for it: a capture as it was while it grew.
///
/// ```text
///  file  ├─────────── length ───────────┤ whatever was written since
///  end                                  ├──────────┤
/// ```
#[derive(Debug)]
pub struct EndedFile {
    /// The file.
    pub file: File,
    /// Bytes of it that count.
    pub length: u64,
    /// What follows them.
    pub end: Vec<u8>,
}

impl ReadAt for EndedFile {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let Some(rest) = self.length.checked_sub(offset).filter(|rest| *rest > 0) else {
            return ReadAt::read_at(&self.end, bytes, offset - self.length);
        };
        let most = usize::try_from(rest).unwrap_or(usize::MAX).min(bytes.len());
        FileExt::read_at(&self.file, &mut bytes[..most], offset)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.length + self.end.len() as u64)
    }
}

macro_rules! read_through {
    ($($pointer:ty),+) => {$(
        impl<S: ReadAt + ?Sized> ReadAt for $pointer {
            fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
                (**self).read_at(bytes, offset)
            }

            fn length(&self) -> io::Result<u64> {
                (**self).length()
            }
        }
    )+};
}

read_through!(&S, Box<S>, Arc<S>);

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// Check that the parts are read as one, wherever a read begins and ends, and that what was written to the file
    /// since is not seen.
    #[test]
    fn parts_are_one() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        let ended = EndedFile { file, length: 4, end: b"abc".to_vec() };
        let whole = b"0123abc";
        assert_eq!(ended.length().unwrap(), 7);
        for start in 0..9 {
            for length in 0..9 {
                let mut bytes = vec![0; length];
                let read = ended.read_full_at(&mut bytes, start as u64).unwrap();
                let expected = whole.get(start..).unwrap_or_default();
                assert_eq!(&bytes[..read], &expected[..expected.len().min(length)], "{start} {length}");
            }
        }
    }
}
