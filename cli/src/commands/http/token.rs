//! The secret that requests must have.

use crate::commands::secret;
use crate::exit::Failure;
use anyhow::anyhow;
use std::path::Path;

/// Shortest token: fewer characters can be guessed.
const SHORTEST: usize = 16;

/// The token in a file, without spaces around it.
pub(super) fn read(path: &Path) -> Result<String, Failure> {
    let token = secret::read(path, "token")?;
    let file = path.display();
    let refused = match () {
        () if token.len() < SHORTEST => format!("the token in {file} is shorter than {SHORTEST} characters"),
        () if !token.bytes().all(|byte| byte.is_ascii_graphic()) => {
            format!("the token in {file} has characters that no header can have")
        }
        () => return Ok(token),
    };
    Err(Failure::usage(anyhow!(refused)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    /// Check which files have a token.
    #[test]
    fn tokens_are_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        for (text, mode, is_token) in [
            ("0123456789abcdef\n", 0o600, true),
            ("0123456789abcdef", 0o640, true),
            ("0123456789abcdef", 0o644, false),
            ("0123456789abcde\n", 0o600, false),
            ("0123456789 abcdef", 0o600, false),
            ("0123456789äabcdef", 0o600, false),
        ] {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(
                read(&path).ok().is_some_and(|token| token == "0123456789abcdef"),
                is_token,
                "{text:?} {mode:o}"
            );
        }
        fs::write(&path, "x".repeat(5000)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(read(&path).is_err());
        assert!(read(&folder.path().join("none")).is_err());
    }
}
