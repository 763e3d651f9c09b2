//! Programs that recorded processes start and that have no agent, such as statically linked ones. Only the kernel
//! reports them, so without its samples they go unnoticed.

use super::batch::Image;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Most names that are listed.
const NAMES: usize = 8;

/// What an image descends from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Descent {
    /// No recorded process.
    #[default]
    Foreign,
    /// A process that was recorded from its beginning.
    Recorded,
    /// A process that was attached to: what it starts is not recorded.
    Attached,
}

impl Descent {
    /// The descent of an image's children, given its own parent's. `recorded` is `None` if no agent reported the
    /// image, otherwise whether that agent was attached.
    pub(super) fn of(parent: Descent, recorded: Option<bool>) -> Descent {
        match (parent, recorded) {
            (Descent::Attached, _) | (_, Some(true)) => Descent::Attached,
            (Descent::Recorded, _) | (_, Some(false)) => Descent::Recorded,
            _ => Descent::Foreign,
        }
    }
}

/// True for a program that a recorded process started and that no agent reported, although it `lived` long enough for
/// one to do so.
pub(super) fn is_without_agent(image: &Image, parent: Descent, recorded: Option<bool>, lived: bool) -> bool {
    let is_its = recorded.is_none() && parent == Descent::Recorded;
    is_its && image.is_exec && image.is_chosen && !image.is_unknown() && lived
}

/// How often each program was started, by name.
pub(crate) type WithoutAgent = BTreeMap<String, u64>;

/// What the user is told about them.
pub(crate) fn remark_on_programs_without_agent(programs: &WithoutAgent) -> Option<String> {
    let mut all: Vec<_> = programs.iter().collect();
    all.sort_by_key(|(_, times)| Reverse(**times));
    let mut told: Vec<String> = all
        .iter()
        .take(NAMES)
        .map(|(name, times)| if **times == 1 { (*name).clone() } else { format!("{name} ({times} times)") })
        .collect();
    if all.len() > NAMES {
        told.push(format!("{} more", all.len() - NAMES));
    }
    (!told.is_empty()).then(|| {
        format!(
            "Started without the agent, and so not recorded: {}. The agent is not loaded into programs that \
             are statically linked, setuid, 32-bit, built for another C library, or that fail before; nor \
             as users or in root folders that cannot see its file (agent install helps); nor if a program \
             has emptied its environment and starts others without libc's exec or, with several threads, by \
             system and popen; nor if filters on system calls (seccomp) would kill the program for what the \
             agent does. Programs with AddressSanitizer do not start behind it. It cannot connect if \
             filters refuse it sockets or, if it is installed for all users, from other network namespaces.",
            told.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(parent: Option<u32>, program: &str, is_exec: bool) -> Image {
        let executable = format!("/bin/{program}");
        Image { parent, executable, is_exec, is_chosen: true, started: 1, ended: Some(2), ..Image::default() }
    }

    /// Check that programs are listed which descend from recorded processes and which no agent reported, and no
    /// others: not forks, which execute nothing, not programs of other processes, nor those that were not chosen,
    /// have only just begun, or were started by an attached process.
    #[test]
    fn programs_without_agent_are_told() {
        let images = [
            image(None, "make", true),
            image(Some(0), "make", false),
            image(Some(1), "static", true),
            image(Some(2), "static", false),
            image(Some(3), "inner", true),
            image(Some(0), "cc", true),
            Image { is_chosen: false, ..image(Some(0), "skipped", true) },
            Image { ended: None, ..image(Some(0), "begins", true) },
            image(None, "other", true),
            image(Some(8), "others", true),
            image(None, "service", false),
            image(Some(10), "service", false),
            image(Some(11), "helper", true),
        ];
        let recorded = [
            Some(false),
            Some(false),
            None,
            None,
            None,
            Some(false),
            None,
            None,
            None,
            None,
            Some(true),
            Some(false),
            None,
        ];
        let mut descents: Vec<Descent> = Vec::new();
        let mut names = Vec::new();
        for (image, recorded) in images.iter().zip(recorded) {
            let parent = image.parent.map_or(Descent::Foreign, |parent| descents[parent as usize]);
            descents.push(Descent::of(parent, recorded));
            if is_without_agent(image, parent, recorded, image.ended.is_some()) {
                names.push(image.program());
            }
        }
        assert_eq!(names, ["static", "inner"]);
    }

    /// Check that each name is listed once, the most frequent first, and only so many.
    #[test]
    fn frequent_names_come_first() {
        assert_eq!(remark_on_programs_without_agent(&WithoutAgent::new()), None);
        let names = [("a", 1), ("b", 2), ("c", 1)].map(|(name, times)| (name.to_owned(), times)).into();
        let text = remark_on_programs_without_agent(&names).expect("there is something to tell");
        assert!(
            text.starts_with("Started without the agent, and so not recorded: b (2 times), a, c. "),
            "{text}"
        );
        let names = (0..20).map(|name| (name.to_string(), 1)).collect();
        assert!(remark_on_programs_without_agent(&names).is_some_and(|text| text.contains(", 12 more. ")));
    }
}
