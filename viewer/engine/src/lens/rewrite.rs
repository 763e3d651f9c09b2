//! Replaces the recorded stacks by other ones.
//!
//! Everything a lens does to a stack can be done from the root inwards, one function at a time, given only what came
//! before. So each recorded node takes one step from its caller's state, and the work is linear in nodes, however
//! deep stacks are and however many rows share them:
//!
//! ```text
//!  recorded   main ── foo ── a ── malloc          state: the new stack so far, its root, what has been met
//!                 focus foo, fold malloc
//!  new        (none)  foo    foo>a  foo>…>malloc
//! ```
//!
//! New frames have one function each: an inlined function can be folded without the one that contains it.

use super::grouping::{Key, Paths, owner_text};
use super::my_code::others;
use super::{Lens, Pattern};
use crate::loaded::{Grouping, Loaded};
use analysis::{Kind, LabelId, Names, Owner, Profile, Site, is_library_frame};
use capture::{Frame, FrameId, Node, NodeId, Symbolized, Tables};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// The name of a folded path.
const FOLDED: &str = "…";

/// The state at a recorded node.
#[derive(Clone, Copy)]
struct State {
    /// The new stack.
    stack: NodeId,
    /// The stack of functions that are not the program's own, until one of its own is met.
    others: NodeId,
    /// Its first node, or the stack without frames if no function is the root.
    head: NodeId,
    /// The function that begins or ends the stack was met, or none is required.
    found: bool,
    folded: bool,
    /// The new stack up to the last function that belongs to the program, rather than one that only forwards
    /// requests.
    meant: NodeId,
}

impl State {
    /// Where the stack of an allocation begins. A stack of nothing but library frames is kept whole.
    fn begins_at(self) -> NodeId {
        if self.meant == NodeId::ROOT { self.whole() } else { self.meant }
    }

    fn whole(self) -> NodeId {
        if self.stack == NodeId::ROOT { self.others } else { self.stack }
    }

    /// The same for any stack: samples keep the exact place.
    fn begins(self, site: &Site) -> NodeId {
        let is_allocation = site.cost.cpu.is_zero();
        if is_allocation { self.begins_at() } else { self.whole() }
    }
}

pub(super) struct Rewrite<'a> {
    lens: &'a Lens,
    /// By label, what the lens does with it.
    transparent: Vec<bool>,
    /// By place of a function, whether it is none of the program's own, if these are wanted.
    others: Vec<bool>,
    focus: Vec<bool>,
    callers: Vec<bool>,
    fold: Vec<bool>,
    groups: Groups,
    stacks: Stacks,
}

/// New frames and nodes.
struct Stacks {
    frames: Vec<Frame>,
    symbols: Vec<Option<Symbolized>>,
    /// By new frame, the place of its function among all.
    places: Vec<Range<u32>>,
    nodes: Vec<Node>,
    known_nodes: HashMap<(NodeId, FrameId), NodeId>,
    known_frames: HashMap<u32, FrameId>,
    calls: HashMap<FrameId, FrameId>,
}

/// By place of a function, the place of its group.
struct Groups {
    places: Vec<u32>,
    folded: u32,
    /// By place, its label.
    labels: Vec<LabelId>,
    /// By place, whether its function is a library frame and so cannot begin a group's stack: `operator new` would attribute
    /// everything to its library.
    library_frames: Vec<bool>,
}

impl<'a> Rewrite<'a> {
    /// Resolves the names in the lens, and adds those that it needs.
    pub(super) fn new(lens: &'a Lens, names: &mut Names, tables: &Tables) -> Self {
        let matching = |patterns: &[Pattern]| -> Vec<bool> {
            names.labels().map(|label| patterns.iter().any(|pattern| pattern.names(label))).collect()
        };
        let others = if lens.my_code { others(tables, names) } else { Vec::new() };
        let (transparent, focus) = (matching(&lens.transparent), matching(&lens.focus));
        let (callers, fold) = (matching(&lens.callers), matching(&lens.fold));
        let groups = Groups::new(lens.group.as_ref(), names, tables);
        Self { lens, transparent, others, focus, callers, fold, groups, stacks: Stacks::new() }
    }

    /// Replaces the recorded stacks by the new ones, also in other profiles of the same tables.
    pub(super) fn apply(mut self, loaded: &mut Loaded, others: &mut [&mut Profile]) {
        let states = self.states(&loaded.tables, &loaded.names);
        let mut owners: BTreeMap<String, NodeId> = BTreeMap::new();
        let Loaded { profile, tables, names, .. } = loaded;
        for profile in std::iter::once(profile).chain(others.iter_mut().map(|other| &mut **other)) {
            profile.keep(|site| {
                let state = states.get(site.node.index()).or(states.first())?;
                let stack = state.found.then_some(state.begins(site))?;
                match self.lens.group.as_ref().filter(|grouping| grouping.is_of_owner()) {
                    None => Some(stack),
                    Some(grouping) => Some(self.owner(grouping, site, tables, names, &mut owners)),
                }
            });
        }
        let Stacks { frames, symbols, places, nodes, .. } = self.stacks;
        tables.frames = frames;
        tables.symbols = symbols;
        tables.nodes = nodes;
        names.set_frames(places);
    }

    /// The state of every recorded stack, in one pass, because callers come before their callees.
    fn states(&mut self, tables: &Tables, names: &Names) -> Vec<State> {
        let found = self.lens.focus.is_empty() && self.lens.callers.is_empty();
        let none = NodeId::ROOT;
        let root = State { stack: none, others: none, head: none, found, folded: false, meant: none };
        let mut states = vec![root; tables.nodes.len().max(1)];
        for (index, node) in tables.nodes.iter().enumerate().skip(1) {
            let above = if node.parent.index() < index { states[node.parent.index()] } else { root };
            let mut state = above;
            let places = names.places(node.frame);
            if places.is_empty() {
                state = self.call(state, node.frame, tables);
            }
            for place in places.rev() {
                state = self.function(state, place, node.frame, tables);
                let is_meant = !self.groups.library_frames[place as usize] || self.lens.counts_library;
                if is_meant || !self.lens.callers.is_empty() {
                    state.meant = state.stack;
                }
            }
            states[index] = state;
        }
        states
    }

    /// Goes one function further inwards.
    fn function(&mut self, mut state: State, place: u32, frame: FrameId, tables: &Tables) -> State {
        let label = self.groups.labels[place as usize].index();
        if self.transparent[label] {
            return state;
        }
        if self.others.get(place as usize).is_some_and(|is_of_others| *is_of_others) {
            if state.stack == NodeId::ROOT {
                state.others = self.push(state.others, place, frame, tables);
            }
            return state;
        }
        if !self.lens.focus.is_empty() && !state.found {
            if self.focus[label] {
                state.stack = self.push(NodeId::ROOT, place, frame, tables);
                (state.head, state.found) = (state.stack, true);
            }
            return state;
        }
        if !self.lens.callers.is_empty() {
            if !state.found {
                state.stack = self.push(state.stack, place, frame, tables);
                state.found = self.callers[label];
            }
            return state;
        }
        if self.fold[label] && !state.folded {
            let way = self.stacks.frame(self.groups.folded, None, tables);
            state.stack = self.stacks.node(state.head, way);
            state.folded = true;
        }
        state.stack = self.push(state.stack, place, frame, tables);
        state
    }

    /// The kind of the call, which is innermost, stays with stacks that are not cut before it.
    fn call(&mut self, mut state: State, frame: FrameId, tables: &Tables) -> State {
        if state.found && self.lens.callers.is_empty() {
            let frame = self.stacks.call(frame, tables);
            state.stack = self.stacks.node(state.begins_at(), frame);
            state.meant = state.stack;
        }
        state
    }

    /// The stack with one more function, or unchanged if its innermost group is the same.
    fn push(&mut self, stack: NodeId, place: u32, frame: FrameId, tables: &Tables) -> NodeId {
        let shown = self.groups.places[place as usize];
        let is_group = shown != place;
        let frame = self.stacks.frame(shown, (!is_group).then_some(frame), tables);
        if is_group && stack != NodeId::ROOT && self.stacks.nodes[stack.index()].frame == frame {
            return stack;
        }
        self.stacks.node(stack, frame)
    }

    /// The stack that represents who allocates.
    fn owner(
        &mut self,
        grouping: &Grouping,
        site: &Site,
        tables: &Tables,
        names: &mut Names,
        owners: &mut BTreeMap<String, NodeId>,
    ) -> NodeId {
        let process = &tables.processes[site.process.index()];
        let text = match site.thread.and_then(|thread| tables.threads.get(thread.index())) {
            Some(thread) if *grouping == Grouping::Thread => {
                let name = if thread.name.is_empty() { "thread" } else { &thread.name };
                format!("{name} ({} of {})", thread.tid, owner_text(&Grouping::Process, process, tables))
            }
            _ => owner_text(grouping, process, tables),
        };
        *owners.entry(text).or_insert_with_key(|text| {
            let owner = Owner { process: site.process, thread: site.thread };
            let place = match grouping {
                Grouping::Thread => names.push_owner(text.clone(), owner),
                Grouping::Process => names.push_owner(text.clone(), Owner { thread: None, ..owner }),
                _ => names.push_group(text.clone(), None, None),
            };
            let frame = self.stacks.frame(place, None, tables);
            self.stacks.node(NodeId::ROOT, frame)
        })
    }
}

impl Groups {
    fn new(grouping: Option<&Grouping>, names: &mut Names, tables: &Tables) -> Self {
        let steps = u32::try_from(names.step_count()).expect("fewer steps than 2^32");
        let mut places: Vec<u32> = (0..steps).collect();
        let labels = places.iter().map(|&place| names.step_at(place).label).collect();
        let mut library_frames = vec![false; places.len()];
        if let Some(grouping) = grouping.filter(|grouping| !grouping.is_of_owner()) {
            for (library_frames, place) in library_frames.iter_mut().zip(0..) {
                let step = names.step_at(place);
                let is_marker = matches!(names.label(step.label).kind, Kind::Marker(_));
                *library_frames = is_marker || is_library_frame(tables, names, step);
            }
            let paths = Paths::new(tables);
            let mut known: BTreeMap<Key, u32> = BTreeMap::new();
            for frame in (0..tables.frames.len()).map(FrameId::from_index) {
                for place in names.places(frame) {
                    let step = names.step_at(place);
                    let Some(key) = Key::of(grouping, tables, names, &paths, frame, step) else { continue };
                    places[place as usize] = *known.entry(key).or_insert_with_key(|key| {
                        let (name, file, line) = key.text(tables, &paths);
                        names.push_group(name, file, line)
                    });
                }
            }
        }
        let folded = names.push_group(FOLDED.to_owned(), None, None);
        Self { places, folded, labels, library_frames }
    }
}

impl Stacks {
    fn new() -> Self {
        Self {
            frames: Vec::new(),
            symbols: Vec::new(),
            places: Vec::new(),
            // The stack without frames.
            nodes: vec![Node { parent: NodeId::ROOT, frame: FrameId(0) }],
            known_nodes: HashMap::new(),
            known_frames: HashMap::new(),
            calls: HashMap::new(),
        }
    }

    /// The frame of one function, which was part of a recorded frame, or which represents several.
    fn frame(&mut self, place: u32, recorded: Option<FrameId>, tables: &Tables) -> FrameId {
        if let Some(&known) = self.known_frames.get(&place) {
            return known;
        }
        let id = FrameId::from_index(self.frames.len());
        let code = recorded.and_then(|frame| tables.frames.get(frame.index())).copied();
        self.frames.push(code.unwrap_or(Frame::Code { module: None, address: 0, exact: true }));
        let symbol = recorded.and_then(|frame| tables.symbol(frame));
        self.symbols.push(symbol.map(|symbol| Symbolized {
            frame: id,
            names: Vec::new(),
            reason: symbol.reason,
            linkage: symbol.linkage,
            start: symbol.start,
        }));
        self.places.push(place..place + 1);
        self.known_frames.insert(place, id);
        id
    }

    /// The frame of an allocator call.
    fn call(&mut self, recorded: FrameId, tables: &Tables) -> FrameId {
        *self.calls.entry(recorded).or_insert_with(|| {
            let code = tables.frames.get(recorded.index()).copied();
            self.frames.push(code.unwrap_or(Frame::Code { module: None, address: 0, exact: true }));
            self.symbols.push(None);
            self.places.push(0..0);
            FrameId::from_index(self.frames.len() - 1)
        })
    }

    fn node(&mut self, parent: NodeId, frame: FrameId) -> NodeId {
        *self.known_nodes.entry((parent, frame)).or_insert_with(|| {
            self.nodes.push(Node { parent, frame });
            NodeId::from_index(self.nodes.len() - 1)
        })
    }
}
