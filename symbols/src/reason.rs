//! Why an address has no name.

/// Why there is no name. The text is shown in place of the name; [`Reason::advice`] says what the user can do about
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The path no longer exists.
    #[error("Binary file was deleted or moved")]
    FileMissing,
    /// The path leads to another file than the mapped one, or its contents are others by now: names would be wrong.
    #[error("Binary file was replaced or changed")]
    FileReplaced,
    /// Neither the process nor the kernel could say which file was mapped. Never returned by a lookup in a file.
    #[error("Which binary file was mapped is not known")]
    FileUnknown,
    /// The system refused to open the file.
    #[error("Permission denied")]
    PermissionDenied,
    /// The file is there, yet reading it failed: an I/O error, not a regular file, or too large for memory.
    #[error("Binary file could not be read")]
    FileUnreadable,
    /// The bytes are not an ELF file, or a damaged one.
    #[error("Unreadable ELF file")]
    UnreadableElf,
    /// Neither the file nor a debug file has a symbol table or debug information.
    #[error("No symbols in binary file")]
    NoSymbols,
    /// The file has symbols, none of them covers the address.
    #[error("Address has no corresponding symbol in file")]
    NoSymbolHere,
    /// A debug file was found where one was looked for, but it belongs to another build.
    #[error("Debug file does not belong to the binary file")]
    DebugFileRefused,
    /// The kernel does not show the addresses of its functions to this user.
    #[error("Kernel symbols are restricted")]
    KernelRestricted,
    /// No file was mapped at the address when it was seen. Never returned by a lookup in a file: for callers, which
    /// know the mappings.
    #[error("No mapping for address")]
    NoMapping,
    /// The address is in anonymous memory, which holds code generated at run time or no code at all, and the program
    /// reported no function there.
    #[error("Code made at run time was not told of")]
    Untold,
    /// The address is in memory that is not executable. Never returned by a lookup in a file: for callers, which know the
    /// mappings.
    #[error("Memory is not executable")]
    NotCode,
    /// Code was generated there, overwritten and generated again: which of the functions it was is not known.
    #[error("Several functions were at the address, one after the other")]
    SeveralFunctions,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Reason; 14] = [
        Reason::FileMissing,
        Reason::FileReplaced,
        Reason::FileUnknown,
        Reason::PermissionDenied,
        Reason::FileUnreadable,
        Reason::UnreadableElf,
        Reason::NoSymbols,
        Reason::NoSymbolHere,
        Reason::DebugFileRefused,
        Reason::KernelRestricted,
        Reason::NoMapping,
        Reason::Untold,
        Reason::NotCode,
        Reason::SeveralFunctions,
    ];

    /// The reason with this stored text; where several have it, their advice is the same.
    pub fn from_text(text: &str) -> Option<Reason> {
        Self::ALL.into_iter().find(|reason| reason.to_string() == text)
    }

    /// What the user can do, one sentence.
    pub fn advice(self) -> &'static str {
        match self {
            Reason::FileMissing | Reason::FileReplaced => {
                "Name a folder that has the recorded build, or its debug file, with --debug-dir; or record again."
            }
            Reason::FileUnknown => "Build with --build-id, by which a file is recognized.",
            Reason::PermissionDenied => "Record as the owner of the process, or as root.",
            Reason::FileUnreadable => "Check that the path leads to a regular file on a healthy disk.",
            Reason::UnreadableElf => "Check the file with `readelf -aW`, or install it again.",
            Reason::NoSymbols | Reason::NoSymbolHere => {
                "Install debug symbols (docs/symbols.md has the commands), or build without stripping."
            }
            Reason::DebugFileRefused => "Install the debug symbols of exactly this version of the file.",
            Reason::KernelRestricted => "Record as root, or set the sysctl kernel.kptr_restrict to 0.",
            Reason::NoMapping => "The code was in no known file; it may be gone already.",
            Reason::Untold => "Have the JIT compiler write a perf map: docs/symbols.md says how.",
            Reason::NotCode => {
                "No function was called from there: the stack is damaged, or its callers were not found."
            }
            Reason::SeveralFunctions => {
                "Have the JIT compiler keep its code in place: docs/symbols.md says how."
            }
        }
    }
}

impl From<std::io::Error> for Reason {
    fn from(error: std::io::Error) -> Self {
        use std::io::ErrorKind;
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Reason::FileMissing,
            ErrorKind::PermissionDenied => Reason::PermissionDenied,
            _ => Reason::FileUnreadable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Error, ErrorKind};

    /// Check that a reason is found again by its text, with the same advice.
    #[test]
    fn texts_lead_back() {
        for reason in Reason::ALL {
            let found = Reason::from_text(&reason.to_string());
            assert_eq!(found.map(Reason::advice), Some(reason.advice()), "{reason}");
        }
        assert_eq!(Reason::from_text("no reason"), None);
    }

    /// Check which reason each system error becomes.
    #[test]
    fn system_errors_become_reasons() {
        for (kind, expected) in [
            (ErrorKind::NotFound, Reason::FileMissing),
            (ErrorKind::NotADirectory, Reason::FileMissing),
            (ErrorKind::PermissionDenied, Reason::PermissionDenied),
            (ErrorKind::Other, Reason::FileUnreadable),
            (ErrorKind::Interrupted, Reason::FileUnreadable),
        ] {
            assert_eq!(Reason::from(Error::from(kind)), expected, "{kind:?}");
        }
    }
}
