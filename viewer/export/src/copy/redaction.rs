//! Removes what a capture says about people and machines.
//!
//! - Command lines are left out: arguments are where passwords are. So are labels, which say which machine, pod and
//!   service it was.
//! - A home directory, including everything above it, becomes `~`: `/srv/home/ann/x.c` becomes `~/x.c`.
//! - Names of users and hosts become `redacted`, as whole words in any text: names of files, functions, threads,
//!   marks. They are the host of the labels, the users whose home directories occur, and those named by the caller.
//! - Texts named by the caller become `redacted` anywhere.
//!
//! It only finds what it looks for: a password in the name of a function stays there.

use capture::{Process, Tables};
use std::collections::BTreeSet;

/// Replaces a word.
const WORD: &str = "redacted";
/// Replaces a home directory.
const HOME: &str = "~";
/// Directories whose entries are the homes of the users of that name.
const ABOVE_HOMES: [&str; 2] = ["/home", "/Users"];
/// The home of the user that every machine has.
const ROOT_HOME: &str = "/root";
/// User names that identify nobody, and words that no file can do without.
const COMMON: [&str; 6] = ["root", "user", "home", "nobody", "localhost", WORD];
/// A path begins after one of these.
const BEFORE_PATHS: [char; 11] = [' ', '\t', '\n', '"', '\'', '`', '(', '<', '=', ':', ','];

/// What to redact.
#[derive(Clone, Debug, Default)]
pub struct Redaction {
    /// Home directories other than those recognized by their location.
    homes: BTreeSet<String>,
    /// Replaced as whole words.
    words: BTreeSet<String>,
    /// Replaced anywhere.
    hidden: BTreeSet<String>,
}

impl Redaction {
    /// Redacts what captures reveal by themselves.
    pub fn new() -> Self {
        Self::default()
    }

    /// Also treats this directory as a home.
    #[must_use]
    pub fn home(mut self, path: &str) -> Self {
        let path = path.trim_end_matches('/');
        if path.len() > 1 && path.starts_with('/') {
            self.homes.insert(path.to_owned());
        }
        self
    }

    /// Replaces the name of a user or host.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        if name.chars().any(char::is_alphanumeric) && !COMMON.contains(&name) {
            self.words.insert(name.to_owned());
        }
        self
    }

    /// Replaces a text anywhere.
    #[must_use]
    pub fn hide(mut self, text: &str) -> Self {
        if !text.is_empty() {
            self.hidden.insert(text.to_owned());
        }
        self
    }

    /// The same, plus the machine that it was recorded on, and the users whose homes occur in the capture's paths.
    pub(super) fn of(mut self, tables: &mut Tables) -> Self {
        let host = tables.metadata.labels.iter().find(|(name, _)| name == "host.name");
        if let Some(host) = host.map(|(_, host)| host.clone()) {
            self = self.name(&host);
        }
        let mut users = BTreeSet::new();
        each_text(tables, |text| users.extend(users_in(text).map(ToOwned::to_owned)));
        for user in users {
            self = self.name(&user);
        }
        self
    }

    /// Changes the tables; returns how many command lines were removed, and how many texts changed.
    pub(super) fn apply(&self, tables: &mut Tables) -> (u64, u64) {
        let metadata = &mut tables.metadata;
        let mut commands = u64::from(!metadata.command.is_empty());
        metadata.command.clear();
        metadata.boot_id.clear();
        metadata.labels.clear();
        for process in &mut tables.processes {
            process.labels.clear();
            commands += u64::from(!process.command.is_empty());
            process.command.clear();
        }
        let mut changed = 0;
        each_text(tables, |text| {
            let clean = self.text(text);
            changed += u64::from(clean != *text);
            *text = clean;
        });
        for index in linkage_names(tables) {
            let Some(text) = tables.strings.get_mut(index) else { continue };
            // In a mangled name a word follows its length and anything may follow it, so it is replaced anywhere.
            let clean =
                self.words.iter().rev().fold(text.clone(), |text, word| replaced(&text, word, |_, _| true));
            changed += u64::from(clean != *text);
            *text = clean;
        }
        (commands, changed)
    }

    /// The redacted text.
    fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for home in &self.homes {
            text = without_home(&text, home);
        }
        text = without_users(&text);
        for word in self.words.iter().rev() {
            text = replaced(&text, word, |before, after| {
                !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
            });
        }
        for hidden in self.hidden.iter().rev() {
            text = replaced(&text, hidden, |_, _| true);
        }
        text
    }
}

/// The strings that are linkage names, each once.
fn linkage_names(tables: &Tables) -> BTreeSet<usize> {
    tables.symbols.iter().flatten().filter_map(|symbol| Some(symbol.linkage?.index())).collect()
}

/// Finds a user's directory below `above`, from a position on: returns its position, and the beginning and end of the
/// user's name.
fn user_in(text: &str, above: &str, from: usize) -> Option<(usize, usize, usize)> {
    let places = text[from..].match_indices(above).map(|(at, _)| from + at);
    places
        .filter_map(|at| {
            let user = at + above.len() + 1;
            let name = text[at + above.len()..].strip_prefix('/')?;
            let end = name.find(is_end).map_or(text.len(), |length| user + length);
            (end > user).then_some((at, user, end))
        })
        .next()
}

/// The users whose home directories occur in a text.
fn users_in(text: &str) -> impl Iterator<Item = &str> {
    ABOVE_HOMES.iter().flat_map(move |above| {
        let mut from = 0;
        std::iter::from_fn(move || {
            let (_, user, end) = user_in(text, above, from)?;
            from = end;
            Some(&text[user..end])
        })
    })
}

/// True for characters that cannot be in a user name.
fn is_end(letter: char) -> bool {
    letter == '/' || letter == '\\' || letter == ')' || letter == '>' || BEFORE_PATHS.contains(&letter)
}

/// Replaces `/…/home/NAME` by `~`.
fn without_users(text: &str) -> String {
    let mut text = text.to_owned();
    for above in ABOVE_HOMES {
        let mut from = 0;
        while let Some((at, _, end)) = user_in(&text, above, from) {
            let start = path_start(&text, at);
            text.replace_range(start..end, HOME);
            from = start + HOME.len();
        }
    }
    without_home(&text, ROOT_HOME)
}

/// Replaces a directory, and everything above it, by `~`.
fn without_home(text: &str, home: &str) -> String {
    let mut text = text.to_owned();
    let mut from = 0;
    while let Some(at) = text[from..].find(home).map(|at| from + at) {
        let end = at + home.len();
        // `/root` must not match at the beginning of `/rootfs`, nor at the end of `/proc/1/root`.
        let is_whole = text[end..].chars().next().is_none_or(is_end);
        let start = path_start(&text, at);
        if is_whole && (start == at || home != ROOT_HOME) {
            text.replace_range(start..end, HOME);
            from = start + HOME.len();
        } else {
            from = end;
        }
    }
    text
}

/// The beginning of the path that contains position `at`.
fn path_start(text: &str, at: usize) -> usize {
    let before = text[..at].rfind(BEFORE_PATHS);
    before.map_or(0, |place| place + text[place..].chars().next().map_or(1, char::len_utf8))
}

/// Replaces a text where the characters around it permit.
fn replaced(text: &str, what: &str, may: impl Fn(Option<char>, Option<char>) -> bool) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = 0;
    for (at, found) in text.match_indices(what) {
        let after = &text[at + found.len()..];
        if may(text[..at].chars().next_back(), after.chars().next()) {
            clean.push_str(&text[rest..at]);
            clean.push_str(WORD);
            rest = at + found.len();
        }
    }
    clean.push_str(&text[rest..]);
    clean
}

/// All texts of the tables except command lines.
fn each_text(tables: &mut Tables, mut visit: impl FnMut(&mut String)) {
    let Tables { metadata, strings, modules, processes, threads, tasks, summary, .. } = tables;
    strings.iter_mut().for_each(&mut visit);
    metadata.options.iter_mut().for_each(|(_, value)| visit(value));
    modules.iter_mut().for_each(|module| visit(&mut module.path));
    for Process { name, executable, .. } in processes {
        visit(name);
        visit(executable);
    }
    threads.iter_mut().for_each(|thread| visit(&mut thread.name));
    tasks.iter_mut().for_each(|task| visit(&mut task.name));
    if let Some(summary) = summary {
        summary.lost.iter_mut().for_each(|lost| visit(&mut lost.advice));
        summary.unrecorded.iter_mut().for_each(&mut visit);
        summary.remarks.iter_mut().for_each(&mut visit);
        visit(&mut summary.cpu.refused);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capture::{StringId, Symbolized};
    use proptest::prelude::*;

    /// Check what becomes of texts, for everything that is looked for.
    #[test]
    fn texts_lose_people_and_machines() {
        let redaction =
            Redaction::new().home("/srv/people/bob/").name("ann").name("root").name("box7").hide("acme");
        for (text, expected) in [
            ("/home/ann/x.c", "~/x.c"),
            ("/mnt/acme/home/ann/x.c", "~/x.c"),
            ("cannot open /home/ann: no", "cannot open ~: no"),
            ("f(\"/home/ann/x\", /home/zoe)", "f(\"~/x\", ~)"),
            ("/srv/people/bob/x:/srv/people/bobby", "~/x:/srv/people/bobby"),
            (concat!("/root", "/x /rootfs /proc/1/root/x"), "~/x /rootfs /proc/1/root/x"),
            ("/home/", "/home/"),
            ("home::ann::f<ann>", "home::redacted::f<redacted>"),
            ("annex ann2 _ann_", "annex ann2 _redacted_"),
            ("/net/box7/root.h", "/net/redacted/root.h"),
            ("libacmecore.so", "libredactedcore.so"),
            (concat!("/Users", "/ann/é"), "~/é"),
            ("é/home/ann", "~"),
        ] {
            assert_eq!(redaction.text(text), expected, "{text}");
        }
    }

    /// Check that a user is recognized by a home directory anywhere, and is then redacted in every text.
    #[test]
    fn users_are_found_in_paths() {
        let mut tables = Tables {
            strings: vec!["main".into(), "/build/home/carol/app.c".into(), "carol::run".into()],
            processes: vec![Process {
                name: "app".into(),
                executable: "/home/dave/app".into(),
                command: vec!["app".into(), "--password=x".into()],
                ..Process::default()
            }],
            ..Tables::default()
        };
        let redaction = Redaction::new().of(&mut tables);
        assert_eq!(redaction.apply(&mut tables), (1, 3));
        assert_eq!(tables.strings, ["main", "~/app.c", "redacted::run"]);
        assert_eq!(
            (tables.processes[0].executable.as_str(), tables.processes[0].command.len()),
            ("~/app", 0)
        );
    }

    /// Check that words are found in the middle of linkage names, and only there.
    #[test]
    fn linkage_names_lose_words_anywhere() {
        let mut tables = Tables {
            strings: vec!["annex::run".into(), "_ZN3ann3runEv".into()],
            symbols: vec![
                None,
                Some(Symbolized { linkage: Some(StringId::from_index(1)), ..Symbolized::default() }),
            ],
            ..Tables::default()
        };
        assert_eq!(Redaction::new().name("ann").apply(&mut tables), (0, 1));
        assert_eq!(tables.strings, ["annex::run", "_ZN3redacted3runEv"]);
    }

    proptest! {
        /// Check that no text keeps a home directory, a hidden text or a name, whatever surrounds it.
        #[test]
        fn nothing_that_is_looked_for_stays(
            before in "[ /a-c\"é~]{0,8}", name in "[a-z]{4,8}", after in "[ /a-c)é]{0,8}",
        ) {
            prop_assume!(!COMMON.contains(&name.as_str()) && !WORD.contains(&name));
            let text = format!("{before}/home/{name}/{after} {name} x{name}");
            let clean = Redaction::new().name(&name).hide(&name).text(&text);
            prop_assert!(!clean.contains(&name) && !clean.contains("/home/"), "{text} -> {clean}");
        }

        /// Check that any text is accepted.
        #[test]
        fn any_text_is_taken(text in ".*", word in ".{0,3}", home in "/.{0,3}") {
            let _ = Redaction::new().name(&word).hide(&word).home(&home).text(&text);
        }
    }
}
