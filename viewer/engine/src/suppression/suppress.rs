//! Which rule hides which stack, and what each has hidden.

use super::builtin::{RULES, RUST, is_library, is_of_rust};
use super::target::rules_of_targets;
use super::young::YoungLeaks;
use crate::loaded::{Loaded, Origin, Rule, Suppressed, Use};
use analysis::query::Pattern;
use analysis::{Amount, Names, Spread, file_name, functions_of};
use capture::{FrameId, ModuleId, NodeId, StringId, Tables};

/// No rule.
const NONE: u32 = u32::MAX;

/// The rules for one view.
#[derive(Clone, Debug, Default)]
pub struct Suppressions {
    /// The user's rules; the first match counts.
    pub rules: Vec<Rule>,
    /// Whether the recorded programs' own rules apply as well.
    pub of_programs: bool,
    /// Whether the built-in list applies as well.
    pub built_in: bool,
    /// Blocks younger than this at the end of their process are left out, in nanoseconds.
    pub older_than_ns: Option<u64>,
}

/// Rules that are ready to be asked about stacks.
pub(super) struct Hiding {
    lookup: Lookup,
    built_in: Option<BuiltIns>,
}

impl Hiding {
    /// True when a rule hides what this stack leaks.
    pub(super) fn hides(&self, Loaded { tables, names, .. }: &Loaded, node: NodeId) -> bool {
        let is_built_in = |list: &BuiltIns| list.rule(tables, names, node).is_some();
        self.lookup.rule(node).is_some() || self.built_in.as_ref().is_some_and(is_built_in)
    }
}

impl Suppressions {
    /// Those that apply when the user names none.
    pub fn unasked() -> Self {
        Self { of_programs: true, built_in: true, ..Self::default() }
    }

    /// The same, for the stacks of a capture.
    pub(super) fn hiding(&self, Loaded { tables, names, .. }: &Loaded) -> Hiding {
        let of_programs = if self.of_programs { rules_of_targets(tables).0 } else { Vec::new() };
        let rules: Vec<Rule> = self.rules.iter().cloned().chain(of_programs).collect();
        let lookup = Lookup::new(&rules, tables, names);
        Hiding { lookup, built_in: self.built_in.then(BuiltIns::new) }
    }

    /// Adds the options of the command line to those of a file: more rules; default rules only if both want them; the
    /// age limit of the command line takes precedence.
    pub fn add(&mut self, other: Self) {
        self.rules.extend(other.rules);
        self.of_programs &= other.of_programs;
        self.built_in &= other.built_in;
        self.older_than_ns = other.older_than_ns.or(self.older_than_ns);
    }

    /// Removes what these rules hide: it is no longer counted as leaked, but in [`Loaded::suppressed`]. `of_programs`
    /// are the rules that were read from the recorded programs, and the names of programs whose list could not be
    /// read.
    pub(crate) fn apply(
        &self,
        mut loaded: Loaded,
        (of_programs, unread): (Vec<Rule>, Vec<String>),
        young: Option<&YoungLeaks>,
    ) -> Loaded {
        let rules: Vec<Rule> = self.rules.iter().cloned().chain(of_programs).collect();
        let lookup = Lookup::new(&rules, &loaded.tables, &loaded.names);
        let built_in = self.built_in.then(BuiltIns::new);
        let new_use =
            |rule: &Rule| Use { rule: rule.clone(), amount: Amount::ZERO, spread: Spread::ZERO, stacks: 0 };
        let mut uses: Vec<Use> = rules.iter().map(new_use).collect();
        let mut of_built_in: Vec<Use> = RULES.iter().map(|rule| new_use(&built_in_rule(rule))).collect();
        let mut suppressed =
            Suppressed { older_than_ns: self.older_than_ns, unread, ..Suppressed::default() };
        let Loaded { profile, tables, names, .. } = &mut loaded;
        let spreads = std::mem::take(&mut profile.spreads);
        let mut kept_spreads = spreads.clone();
        for (place, site) in profile.sites.iter_mut().enumerate() {
            let spread = spreads.get(place).map_or(Spread::ZERO, |spread| spread.leaked);
            let leaked = site.cost.leaked;
            let used = match lookup.rule(site.node) {
                Some(rule) => Some(&mut uses[rule]),
                None => built_in
                    .as_ref()
                    .and_then(|list| list.rule(tables, names, site.node))
                    .map(|rule| &mut of_built_in[rule]),
            };
            if let Some(used) = used.filter(|_| !leaked.is_zero()) {
                used.amount += leaked;
                used.spread += spread;
                used.stacks += 1;
                suppressed.total += leaked;
                suppressed.spread += spread;
                site.cost.leaked = Amount::ZERO;
                if let Some(spread) = kept_spreads.get_mut(place) {
                    spread.leaked = Spread::ZERO;
                }
            } else if let Some((young, of_young)) =
                young.map(|young| young.of((site.process, site.thread, site.node), leaked))
            {
                suppressed.young += young;
                suppressed.young_spread += of_young;
                site.cost.leaked -= young;
                if let Some(kept) = kept_spreads.get_mut(place) {
                    kept.leaked = spread.without(of_young);
                }
            }
        }
        profile.spreads = kept_spreads;
        profile.keep(|site| Some(site.node));
        of_built_in.retain(|used| used.stacks > 0);
        uses.append(&mut of_built_in);
        suppressed.uses = uses;
        loaded.suppressed = Some(suppressed);
        loaded
    }
}

fn built_in_rule(rule: &super::builtin::BuiltIn) -> Rule {
    let text = match rule.library {
        "" | RUST => rule.function.to_owned(),
        library => format!("{} of {library}", rule.function),
    };
    Rule { pattern: Pattern::glob(rule.function), text, origin: Origin::BuiltIn(rule.why) }
}

/// By stack, the first rule that matches a function on it: the lower of its caller's and its own frame's.
struct Lookup {
    nodes: Vec<u32>,
}

impl Lookup {
    fn new(rules: &[Rule], tables: &Tables, names: &Names) -> Self {
        if rules.is_empty() {
            return Self { nodes: Vec::new() };
        }
        let first = |text: &str| {
            let rule = rules.iter().position(|rule| rule.pattern.matches(text));
            rule.and_then(|rule| u32::try_from(rule).ok()).unwrap_or(NONE)
        };
        let labels: Vec<u32> = names.labels().map(|label| first(label.base())).collect();
        let modules: Vec<u32> = tables.modules.iter().map(|module| first(&module.path)).collect();
        let files: Vec<u32> = tables.strings.iter().map(|text| first(text)).collect();
        let of_module =
            |module: Option<ModuleId>| module.and_then(|module| modules.get(module.index())).copied();
        let of_file = |file: Option<StringId>| file.and_then(|file| files.get(file.index())).copied();
        let of_frame = |frame: usize| {
            let module = match tables.frames[frame] {
                capture::Frame::Code { module, .. } => of_module(module),
                capture::Frame::Pseudo(_) => None,
            };
            let steps = names.steps(FrameId::from_index(frame)).iter();
            let functions =
                steps.map(|step| labels[step.label.index()].min(of_file(step.file).unwrap_or(NONE)));
            functions.chain(module).min().unwrap_or(NONE)
        };
        let frames: Vec<u32> = (0..tables.frames.len()).map(of_frame).collect();
        let mut nodes = vec![NONE; tables.nodes.len().max(1)];
        for (index, node) in tables.nodes.iter().enumerate().skip(1) {
            let above = if node.parent.index() < index { nodes[node.parent.index()] } else { NONE };
            nodes[index] = above.min(frames.get(node.frame.index()).copied().unwrap_or(NONE));
        }
        Self { nodes }
    }

    fn rule(&self, node: NodeId) -> Option<usize> {
        self.nodes.get(node.index()).filter(|&&rule| rule != NONE).map(|&rule| rule as usize)
    }
}

/// Most consecutive functions of system libraries that are examined.
const MOST_FRAMES: usize = 64;

/// The built-in list.
struct BuiltIns {
    patterns: Vec<Pattern>,
}

impl BuiltIns {
    fn new() -> Self {
        Self { patterns: RULES.iter().map(|rule| Pattern::glob(rule.function)).collect() }
    }

    /// The first rule for a function between the allocator and the first function outside of system libraries.
    fn rule(&self, tables: &Tables, names: &Names, node: NodeId) -> Option<usize> {
        let mut is_inside_program = false;
        for (frame, step) in functions_of(tables, names, node).take(MOST_FRAMES) {
            let module = match tables.frames.get(frame.index()) {
                Some(capture::Frame::Code { module: Some(module), .. }) => tables.modules.get(module.index()),
                _ => None,
            };
            let file = module.map_or("", |module| file_name(&module.path));
            let name = names.label(step.label).short_base();
            let is_system = is_library(file);
            let found = RULES.iter().zip(&self.patterns).position(|(rule, pattern)| {
                let is_of_file = match rule.library {
                    RUST => true,
                    _ if is_inside_program => false,
                    library => library.is_empty() || (is_system && file.starts_with(library)),
                };
                is_of_file && pattern.matches(&name)
            });
            if found.is_some() {
                return found;
            }
            // Some of these functions are made for the program's types, so only Rust's rules may apply behind them.
            match names.label(step.label).base() {
                _ if is_system => {}
                base if is_of_rust(base) => is_inside_program = true,
                _ => return None,
            }
        }
        None
    }
}
