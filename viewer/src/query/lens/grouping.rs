//! What stands for a function when functions are shown in groups.

use crate::analysis::{Amount, Metric, Names, Step, file_name, process_name, representatives};
use crate::loaded::Loaded;
use capture::{Frame, FrameId, ModuleId, NodeId, Process, StringId, Tables};
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

/// By what functions, or whole stacks, are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// The executable or library that a function is in.
    Module,
    /// What stands before the last `::` of its name.
    Namespace,
    /// Its source file.
    File,
    /// The line.
    Line,
    /// The process that allocates, by name and pid, instead of the stack.
    Process,
    /// The path of its executable.
    Executable,
    /// Its command line.
    Command,
    /// The thread that allocates.
    Thread,
}

impl Grouping {
    /// All of them.
    pub const ALL: [Grouping; 8] = [
        Grouping::Module,
        Grouping::Namespace,
        Grouping::File,
        Grouping::Line,
        Grouping::Process,
        Grouping::Executable,
        Grouping::Command,
        Grouping::Thread,
    ];

    /// The word that names it on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Grouping::Module => "module",
            Grouping::Namespace => "namespace",
            Grouping::File => "file",
            Grouping::Line => "line",
            Grouping::Process => "process",
            Grouping::Executable => "executable",
            Grouping::Command => "command",
            Grouping::Thread => "thread",
        }
    }

    /// True when it says who allocates rather than where.
    pub(crate) fn is_of_owner(self) -> bool {
        matches!(self, Grouping::Process | Grouping::Executable | Grouping::Command | Grouping::Thread)
    }
}

/// How many of the processes, commands or threads that a view shows in the place of stacks allocated something and have nothing by this
/// metric, so that they have no row; none of other groups, of which nobody asks which ones there are.
pub(crate) fn owners_without(loaded: &Loaded, metric: Metric) -> usize {
    let grouping = loaded.seen.as_ref().and_then(|seen| seen.group);
    if !grouping.is_some_and(Grouping::is_of_owner) {
        return 0;
    }
    let mut sums: BTreeMap<NodeId, Amount> = BTreeMap::new();
    for site in loaded.profile.sites.iter().filter(|site| !site.cost.allocated.is_zero()) {
        *sums.entry(site.node).or_default() += metric.of(&site.cost);
    }
    sums.into_values().filter(|sum| metric.rank(*sum) == 0).count()
}

impl FromStr for Grouping {
    type Err = UnknownGrouping;

    fn from_str(name: &str) -> Result<Self, UnknownGrouping> {
        let known = Self::ALL.into_iter().find(|grouping| grouping.name() == name);
        known.ok_or_else(|| UnknownGrouping(name.to_owned()))
    }
}

/// A word that names no grouping.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no group `{0}`: use module, namespace, file, line, process, executable, command or thread")]
pub struct UnknownGrouping(String);

/// What makes two functions one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Module(Option<ModuleId>),
    File(Option<StringId>),
    Line(StringId, u32),
    Name(String),
}

impl Key {
    /// The group of one function; none for those that stay alone.
    pub(super) fn of(
        grouping: Grouping,
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

    /// The text and where it belongs.
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

/// Paths by their last part, where that is enough to tell them apart.
pub(super) struct Paths {
    ambiguous: BTreeSet<String>,
    /// By module, the one that stands for its file; none where nothing is known of it.
    modules: Vec<Option<ModuleId>>,
}

impl Paths {
    pub(super) fn new(tables: &Tables) -> Self {
        let path = |module: ModuleId| tables.modules[module.index()].path.as_str();
        // Of one file by several paths, and of several files by one path, only one is shown.
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

/// The name of a process as a group.
pub(super) fn owner_text(grouping: Grouping, process: &Process) -> String {
    match grouping {
        Grouping::Executable if !process.executable.is_empty() => process.executable.clone(),
        Grouping::Command if !process.command.is_empty() => process.command.join(" "),
        Grouping::Executable | Grouping::Command => process_name(process),
        _ if process.image > 0 => {
            format!("{} ({}, image {})", process_name(process), process.pid, process.image)
        }
        _ => format!("{} ({})", process_name(process), process.pid),
    }
}
