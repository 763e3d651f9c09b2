//! Secrets that requests must have.

/// Compares in constant time, which does not reveal where the texts differ.
pub fn is_same(given: &str, expected: &str) -> bool {
    let differ = given.bytes().zip(expected.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b));
    given.len() == expected.len() && differ == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that texts are the same only if all of their bytes are.
    #[test]
    fn secrets_are_compared_whole() {
        assert!(is_same("s3cret", "s3cret") && is_same("", ""));
        for other in ["", "s3cre", "s3cretx", "S3cret", "s3creT"] {
            assert!(!is_same(other, "s3cret"), "{other}");
        }
    }
}
