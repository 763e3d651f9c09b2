//! The groups that functions can be shown in.

use crate::loaded::{Grouping, Loaded};
use analysis::query::label;
use analysis::{Amount, Metric, Names, Step, file_name, process_name, representatives};
use capture::{Frame, FrameId, ModuleId, NodeId, Process, StringId, Tables};
use std::collections::{BTreeMap, BTreeSet};

/// How many of the processes, commands or threads that a view shows instead of stacks have allocated something but
/// have nothing in this metric, so that they have no row; 0 for other groupings, where nobody asks which groups
/// exist.
pub fn owners_without(loaded: &Loaded, metric: Metric) -> usize {
    let grouping = loaded.seen.as_ref().and_then(|seen| seen.group.as_ref());
    if !grouping.is_some_and(Grouping::is_of_owner) {
        return 0;
    }
    let mut sums: BTreeMap<NodeId, Amount> = BTreeMap::new();
    for site in loaded.profile.sites.iter().filter(|site| !site.cost.allocated.is_zero()) {
        *sums.entry(site.node).or_default() += metric.of(&site.cost);
    }
    sums.into_values().filter(|sum| metric.rank(*sum) == 0).count()
}

/// What identifies a group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Module(Option<ModuleId>),
    File(Option<StringId>),
    Line(StringId, u32),
    Name(String),
}

impl Key {
    /// The group of a function; none if it is not grouped.
    pub(super) fn of(
        grouping: &Grouping,
        tables: &Tables,
        names: &Names,
        paths: &Paths,
        frame: FrameId,
        step: &Step,
    ) -> Option<Self> {
        match grouping {
            Grouping::Module => match tables.frames.get(frame.index()) {
                Some(&Frame::Code { module, .. }) => {
                    Some(Key::Module(module.and_then(|module| paths.module(module))))
                }
                _ => None,
            },
            Grouping::Namespace => {
                let label = names.label(step.label);
                let short = label.short_base();
                short.rsplit_once("::").map(|(outer, _)| Key::Name(outer.to_owned()))
            }
            Grouping::File => Some(Key::File(step.file)),
            Grouping::Line => Some(
                step.file.zip(step.line).map_or(Key::File(step.file), |(file, line)| Key::Line(file, line)),
            ),
            _ => None,
        }
    }

    /// The name of the group, and its file and line.
    pub(super) fn text(&self, tables: &Tables, paths: &Paths) -> (String, Option<StringId>, Option<u32>) {
        let string = |id: StringId| paths.short(tables.string(id));
        match self {
            Key::Module(module) => {
                let path = module.map(|module| paths.short(&tables.modules[module.index()].path));
                (path.unwrap_or_else(|| "[no module]".to_owned()), None, None)
            }
            Key::File(Some(file)) => (string(*file), Some(*file), None),
            Key::File(None) => ("[no source file]".to_owned(), None, None),
            Key::Line(file, line) => (format!("{}:{line}", string(*file)), Some(*file), Some(*line)),
            Key::Name(name) => (name.clone(), None, None),
        }
    }
}

/// Shortest unambiguous paths.
pub(super) struct Paths {
    ambiguous: BTreeSet<String>,
    /// By module, the one that represents its file; none if nothing is known about it.
    modules: Vec<Option<ModuleId>>,
}

impl Paths {
    pub(super) fn new(tables: &Tables) -> Self {
        let path = |module: ModuleId| tables.modules[module.index()].path.as_str();
        // Of one file with several paths, and of several files with the same path, only one is shown.
        let mut first: BTreeMap<&str, ModuleId> = BTreeMap::new();
        let modules = representatives(tables).into_iter();
        let modules = modules
            .map(|file| (!path(file).is_empty()).then(|| *first.entry(path(file)).or_insert(file)))
            .collect();
        let mut full: BTreeMap<&str, &str> = BTreeMap::new();
        let mut ambiguous = BTreeSet::new();
        let files =
            tables.symbols.iter().flatten().flat_map(|symbol| &symbol.names).filter_map(|name| name.file);
        let files = files.map(|file| tables.string(file));
        for path in first.into_keys().chain(files) {
            let known = full.entry(file_name(path)).or_insert(path);
            if *known != path {
                ambiguous.insert(file_name(path).to_owned());
            }
        }
        Self { ambiguous, modules }
    }

    fn module(&self, module: ModuleId) -> Option<ModuleId> {
        self.modules.get(module.index()).copied().flatten()
    }

    fn short(&self, path: &str) -> String {
        let name = file_name(path);
        if self.ambiguous.contains(name) { path.to_owned() } else { name.to_owned() }
    }
}

/// The name of the group of a process.
pub(super) fn owner_text(grouping: &Grouping, process: &Process, tables: &Tables) -> String {
    match grouping {
        Grouping::Label(name) => {
            label(tables, process, name).map_or_else(|| format!("[no {name}]"), str::to_owned)
        }
        Grouping::Executable if !process.executable.is_empty() => process.executable.clone(),
        Grouping::Command if !process.command.is_empty() => process.command.join(" "),
        Grouping::Executable | Grouping::Command => process_name(process),
        _ => {
            let image = if process.image > 0 { format!(", image {}", process.image) } else { String::new() };
            // Of several captures, those of several hosts.
            let host = process.labels.iter().find(|(name, _)| name == "host.name");
            let host = host.map_or(String::new(), |(_, host)| format!(" on {host}"));
            format!("{} ({}{image}){host}", process_name(process), process.pid)
        }
    }
}
