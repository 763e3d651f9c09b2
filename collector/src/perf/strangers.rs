//! Programs that recorded ones have started and that have no agent: statically linked ones, for instance. Nobody tells of them but the
//! kernel, so without its samples they are not noticed.

use super::batch::Image;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Most names that are told.
const NAMES: usize = 8;

/// What an image comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Descent {
    /// Nobody who is recorded.
    Foreign,
    /// A process that was recorded from its beginning.
    Recorded,
    /// One that was attached to: what it starts is not recorded.
    Attached,
}

/// Names of the programs. `recorded` says of each image whether an agent told of it, and if so, whether that was attached to; `lived`
/// says whether it was there for so long that an agent would have told.
pub(super) fn without_agent(
    images: &[Image],
    recorded: &[Option<bool>],
    lived: impl Fn(&Image) -> bool,
) -> Vec<String> {
    let mut descents: Vec<Descent> = Vec::with_capacity(images.len());
    let mut names = Vec::new();
    for (image, recorded) in images.iter().zip(recorded) {
        // Whoever an image came from was announced before it.
        let parent = image.parent.and_then(|parent| descents.get(parent as usize).copied());
        let parent = parent.unwrap_or(Descent::Foreign);
        descents.push(match (parent, recorded) {
            (Descent::Attached, _) | (_, Some(true)) => Descent::Attached,
            (Descent::Recorded, _) | (_, Some(false)) => Descent::Recorded,
            _ => Descent::Foreign,
        });
        let is_stranger = recorded.is_none() && parent == Descent::Recorded;
        if is_stranger && image.is_exec && image.is_chosen && !image.is_unknown() && lived(image) {
            names.push(image.program());
        }
    }
    names
}

/// What the user is told of them.
pub(crate) fn remark_on_strangers(names: &[String]) -> Option<String> {
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        *times.entry(name).or_default() += 1;
    }
    let mut all: Vec<_> = times.into_iter().collect();
    all.sort_by_key(|(_, times)| Reverse(*times));
    let mut told: Vec<String> = all
        .iter()
        .take(NAMES)
        .map(|(name, times)| if *times == 1 { (*name).to_owned() } else { format!("{name} ({times} times)") })
        .collect();
    if all.len() > NAMES {
        told.push(format!("{} more", all.len() - NAMES));
    }
    (!told.is_empty()).then(|| {
        format!(
            "Started without the agent, and so not recorded: {}. It is not loaded into programs that are statically linked, setuid, \
             of 32 bits or of another C library, nor into those that fail before, nor as users or in root folders that its file is not \
             there for (install-agent helps), nor where a program has emptied its environment and starts others past libc's exec, or \
             with several threads by system and popen; programs with AddressSanitizer do not start behind it. One that is installed for all \
             users is not heard from other network namespaces.",
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

    /// Check that programs are told that descend from recorded ones and that no agent told of, and no others: forks, which execute
    /// nothing, programs of others, those that were not chosen, that have just begun, or that an attached process has started.
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
        let names = without_agent(&images, &recorded, |image| image.ended.is_some());
        assert_eq!(names, ["static", "inner"]);
    }

    /// Check that names are told once each, the most frequent first, and only so many.
    #[test]
    fn frequent_names_come_first() {
        assert_eq!(remark_on_strangers(&[]), None);
        let names: Vec<String> = ["a", "b", "c", "b"].map(str::to_owned).into();
        let text = remark_on_strangers(&names).expect("there is something to tell");
        assert!(
            text.starts_with("Started without the agent, and so not recorded: b (2 times), a, c. "),
            "{text}"
        );
        let names: Vec<String> = (0..20).map(|name| name.to_string()).collect();
        assert!(remark_on_strangers(&names).is_some_and(|text| text.contains(", 12 more. ")));
    }
}
