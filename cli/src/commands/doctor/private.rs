//! Removes private information from a report: the user's identity, and the names of their folders.

use std::os::unix::fs::MetadataExt;

/// Folders whose names are the same on every system.
const PUBLIC: [&str; 10] =
    ["/usr/", "/lib/", "/lib64/", "/etc/", "/proc/", "/sys/", "/run/", "/tmp/", "/var/tmp/", "/dev/"];

/// Knows what to remove.
#[derive(Debug)]
pub(super) struct Scrubber {
    /// Words that identify the user or the host.
    words: Vec<String>,
    uid: u32,
}

impl Scrubber {
    /// Collects what this process knows of its user and host.
    pub(super) fn of_this_process() -> Scrubber {
        let variables =
            ["USER", "LOGNAME", "HOSTNAME", "SUDO_USER"].map(|name| std::env::var(name).unwrap_or_default());
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let home = std::env::var("HOME").unwrap_or_default();
        let home = home.rsplit('/').next().unwrap_or_default().to_string();
        let uid = std::fs::metadata("/proc/self").map_or(u32::MAX, |process| process.uid());
        Scrubber::new(variables.into_iter().chain([host, home]), uid)
    }

    fn new(words: impl IntoIterator<Item = String>, uid: u32) -> Scrubber {
        // A name of one or two letters would also match inside other words, and "root" reveals nothing.
        let tells = |word: &String| word.len() > 2 && word != "root" && word != "localhost";
        Scrubber { words: words.into_iter().filter(tells).collect(), uid }
    }

    /// `text` with user, uid, host, and paths outside the system's own folders replaced.
    pub(super) fn scrub(&self, text: &str) -> String {
        // Separators stay, so that the text remains readable.
        let mut scrubbed = String::new();
        for piece in text.split_inclusive([' ', ';', ',', '(', ')', '\'', '"', '=']) {
            let end = piece.trim_end_matches([' ', ';', ',', '(', ')', '\'', '"', '=']).len();
            let (word, separators) = piece.split_at(end);
            scrubbed.push_str(&self.scrub_word(word));
            scrubbed.push_str(separators);
        }
        scrubbed
    }

    fn scrub_word(&self, word: &str) -> String {
        if word.starts_with('/') && !PUBLIC.iter().any(|folder| word.starts_with(folder)) {
            return "<private path>".to_string();
        }
        let mut word = word.to_string();
        for name in &self.words {
            word = word.replace(name, "<private>");
        }
        let uid = self.uid.to_string();
        let parts = word.split('/').map(|part| match part.strip_suffix(&uid) {
            // The uid itself, or at the end of one of our names, as in sysprof-memprof-1000.
            Some(before) if before.is_empty() || before.ends_with('-') => format!("{before}UID"),
            _ => part.to_string(),
        });
        if word.starts_with('/') { parts.collect::<Vec<_>>().join("/") } else { word }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Check that a private word does not survive anywhere in a text.
        #[test]
        fn private_words_never_survive(before in "[a-z/ ;.-]{0,20}", after in "[a-z/ ;.-]{0,20}") {
            let scrubber = Scrubber::new(["alice".to_string()], 1000);
            let scrubbed = scrubber.scrub(&format!("{before}alice{after}"));
            prop_assert!(!scrubbed.contains("alice"), "{}", scrubbed);
        }
    }

    /// Check that users, hosts and their folders are removed from a report, and everything else is kept.
    #[test]
    fn private_words_are_taken_out() {
        let scrubber = Scrubber::new(["alice", "tower", "root", "x"].map(String::from), 1000);
        let cases = [
            (
                "private copy at /home/alice/.cache/a.so; services need",
                "private copy at <private path>; services need",
            ),
            ("at /run/user/1000/sysprof-memprof/a.so", "at /run/user/UID/sysprof-memprof/a.so"),
            ("at /tmp/sysprof-memprof-1000/a.so", "at /tmp/sysprof-memprof-UID/a.so"),
            ("at /tmp/alice-things/a.so", "at /tmp/<private>-things/a.so"),
            ("Linux 6.1 tower x86_64", "Linux 6.1 <private> x86_64"),
            ("memory of 1000 bytes", "memory of 1000 bytes"),
            ("root, seccomp 0", "root, seccomp 0"),
            ("object '/srv/secret/a.so' from", "object '<private path>' from"),
            ("installed at /usr/local/lib/a.so", "installed at /usr/local/lib/a.so"),
        ];
        for (text, expected) in cases {
            assert_eq!(scrubber.scrub(text), expected);
        }
    }
}
