//! All stacks as one tree of functions with their lines.
//!
//! The trees of other views merge nodes with the same name; here a function has a node for each line that it was
//! called from, so that every stack can be shown with its lines. The page merges names itself.
//!
//! ```text
//!  node 0 [Everything] ── 1 app ──┬─ 2 main:10 ── 3 fill:7 ◄── row 0: from malloc
//!                                 └─ 4 main:12 ── 5 fill:7 ◄── rows 1, 2: from malloc, from calloc
//! ```

use analysis::lifetimes::{Age, Endpoint, Passed, SizeClass, StackShape};
use analysis::{
    Amount, Cost, Diff, DiffRow, Flow, History, LabelId, Names, StackMap, Step, add_by_key, call_kind,
};
use capture::{NodeId, ProcessId, StringId, Tables};
use engine::Loaded;
use hashbrown::HashMap;
use std::collections::BTreeSet;
use std::ops::AddAssign;

/// The node above everything.
pub(super) const ROOT: u32 = 0;

/// The blocks that one stack allocated with one allocator function.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub(super) node: u32,
    /// Number of the pseudo frame that tells which function was called, 0 for `malloc`.
    pub(super) call: u8,
    pub(super) cost: Cost,
    /// Present when compared with an older capture.
    pub(super) change: Option<Box<Change>>,
    /// By slice, in order.
    pub(super) changes: Vec<(u32, Flow)>,
    /// What was allocated in the regions of a name, by the index of the name, in order.
    pub(super) during: Vec<(u32, Amount)>,
    /// By the index of the size class, in order.
    pub(super) sizes: Vec<(u32, Amount)>,
    /// By the index of the lifetime class, in order.
    pub(super) ages: Vec<(u32, Amount)>,
    /// What became of the blocks, ordered by that.
    pub(super) ends: Vec<(BlocksEnd, Ended)>,
}

/// How blocks of a row ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BlocksEnd {
    /// Never freed.
    Left,
    /// Freed, but the free was not recorded.
    Unseen,
    /// By `realloc` to size 0, which has no stack.
    ToNothing,
    /// By the stack of this row of the tree.
    By(u32),
}

/// Blocks that ended in one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) blocks: Amount,
    /// Those freed by another thread than the one that allocated them.
    pub(super) by_others: Amount,
}

impl AddAssign for Ended {
    fn add_assign(&mut self, other: Self) {
        self.blocks += other.blocks;
        self.by_others += other.by_others;
    }
}

/// What a comparison adds to a row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Change {
    /// What the same stack cost in the older capture.
    pub(super) before: Cost,
    /// What the comparison attributes to this stack instead of the one that allocated it: it may merge stacks that
    /// differ only in lines. All of these add up to zero.
    pub(super) moved: Cost,
}

impl Row {
    /// Number of its entries other than costs, each of which takes space in a page.
    pub(super) fn entries(&self) -> usize {
        self.changes.len() + self.during.len() + self.sizes.len() + self.ages.len() + self.ends.len()
    }

    /// Adds another row.
    pub(super) fn absorb(&mut self, other: &Row) {
        self.cost += other.cost;
        if let Some(other) = &other.change {
            let change = self.change.get_or_insert_default();
            change.before += other.before;
            change.moved += other.moved;
        }
        add_by_key(&mut self.changes, &other.changes);
        add_by_key(&mut self.during, &other.during);
        add_by_key(&mut self.sizes, &other.sizes);
        add_by_key(&mut self.ages, &other.ages);
        add_by_key(&mut self.ends, &other.ends);
    }
}

/// The tree. Parents come before their children.
#[derive(Debug, Default)]
pub(super) struct CallTree {
    /// Names of the regions that rows refer to.
    pub(super) regions: Vec<StringId>,
    /// The size and lifetime classes that rows refer to.
    pub(super) sizes: Vec<SizeClass>,
    pub(super) ages: Vec<Age>,
    /// The parent, and the index in [`Self::places`].
    pub(super) nodes: Vec<(u32, u32)>,
    /// What distinguishes the nodes below one node.
    pub(super) places: Vec<Step>,
    pub(super) rows: Vec<Row>,
    /// By site of the histories, its row.
    pub(super) of_sites: Vec<usize>,
}

impl CallTree {
    /// From all stacks that ever allocated, without changes: for any history of these sites. Includes their costs in
    /// an older capture, if compared with one.
    pub(super) fn new(loaded: &Loaded, history: &History, diff: Option<&Diff>) -> Self {
        let mut builder = Builder::new(&loaded.tables, &loaded.names);
        let mut stacks = StackMap::new(&loaded.tables);
        builder.call_tree.of_sites = vec![0; history.sites.len()];
        builder.number_classes(&history.shapes);
        let item = |process, node, adds| Item { process: loaded.names.process(process), node, adds };
        let costs = loaded.profile.sites.iter();
        let mut items: Vec<Item<'_>> =
            costs.map(|site| item(site.process, site.node, Adds::Cost(&site.cost))).collect();
        let sites = history.sites.iter().enumerate();
        items.extend(sites.map(|(number, site)| item(site.process, site.node, Adds::Site(number))));
        items.extend(history.during.iter().map(|during| {
            let adds = Adds::During(builder.region(during.name), during.allocated);
            item(during.process, during.node, adds)
        }));
        let changes = diff.iter().flat_map(|diff| &diff.rows);
        items.extend(changes.map(|row| item(row.process, row.node, Adds::Change(row))));
        let shapes = history.shapes.iter();
        items.extend(shapes.map(|shape| item(shape.process, shape.node, Adds::Shape(shape))));
        let frees = history.frees.iter();
        items.extend(frees.map(|passed| item(passed.process, passed.allocated_by, Adds::Passed(passed))));
        items.sort_by_key(|item| (item.process, item.node));
        for of_process in items.chunk_by(|a, b| a.process == b.process) {
            builder.process(of_process, &mut stacks);
        }
        if diff.is_some() {
            let rows = builder.call_tree.rows.iter_mut();
            rows.for_each(|row| {
                let change = row.change.get_or_insert_default();
                change.moved = change.moved - row.cost;
            });
        }
        builder.call_tree
    }

    /// From some stacks of a process only: the row of each is that of its site.
    pub(super) fn of_stacks(loaded: &Loaded, process: ProcessId, stacks: &[NodeId]) -> Self {
        let mut builder = Builder::new(&loaded.tables, &loaded.names);
        builder.call_tree.of_sites = vec![0; stacks.len()];
        let process = loaded.names.process(process);
        let mut items: Vec<Item<'_>> = (0..)
            .zip(stacks)
            .map(|(number, &node)| Item { process, node, adds: Adds::Site(number) })
            .collect();
        items.sort_by_key(|item| item.node);
        builder.process(&items, &mut StackMap::new(&loaded.tables));
        builder.call_tree
    }

    /// Replaces the changes by those of another history of the same sites.
    pub(super) fn take_changes(&mut self, history: &History) {
        self.rows.iter_mut().for_each(|row| row.changes.clear());
        for (site, &row) in history.sites.iter().zip(&self.of_sites) {
            if let Some(row) = self.rows.get_mut(row) {
                add_by_key(&mut row.changes, history.changes(site));
            }
        }
    }
}

/// What a stack of a process adds to its row.
struct Item<'a> {
    process: LabelId,
    node: NodeId,
    adds: Adds<'a>,
}

enum Adds<'a> {
    Cost(&'a Cost),
    /// Its cost before and after, according to a comparison.
    Change(&'a DiffRow),
    /// That its row belongs to this site.
    Site(usize),
    /// Sizes and lifetimes of its blocks.
    Shape(&'a StackShape),
    /// What was allocated in the regions with this index.
    During(u32, Amount),
    /// What became of its blocks.
    Passed(&'a Passed),
}

struct Builder<'a> {
    tables: &'a Tables,
    names: &'a Names,
    call_tree: CallTree,
    places: HashMap<Step, u32>,
    children: HashMap<(u32, u32), u32>,
    rows: HashMap<(u32, u8), usize>,
}

impl<'a> Builder<'a> {
    fn new(tables: &'a Tables, names: &'a Names) -> Self {
        let mut builder = Self {
            tables,
            names,
            call_tree: CallTree::default(),
            places: HashMap::new(),
            children: HashMap::new(),
            rows: HashMap::new(),
        };
        let everything = builder.place(lone(LabelId::EVERYTHING));
        builder.call_tree.nodes.push((ROOT, everything));
        builder
    }

    /// Numbers the classes in order.
    fn number_classes(&mut self, shapes: &[StackShape]) {
        let sizes: BTreeSet<SizeClass> =
            shapes.iter().flat_map(|shape| &shape.sizes).map(|(size, _)| *size).collect();
        let ages: BTreeSet<Age> = shapes.iter().flat_map(|shape| &shape.ages).map(|(age, _)| *age).collect();
        self.call_tree.sizes = sizes.into_iter().collect();
        self.call_tree.ages = ages.into_iter().collect();
    }

    fn shape(&mut self, row: usize, shape: &StackShape) {
        let CallTree { rows, sizes, ages, .. } = &mut self.call_tree;
        for &(size, amount) in &shape.sizes {
            add_by_key(
                &mut rows[row].sizes,
                &[(number(sizes.partition_point(|other| *other < size)), amount)],
            );
        }
        for &(age, amount) in &shape.ages {
            add_by_key(&mut rows[row].ages, &[(number(ages.partition_point(|other| *other < age)), amount)]);
        }
    }

    /// The index of a name of regions.
    fn region(&mut self, name: StringId) -> u32 {
        let regions = &mut self.call_tree.regions;
        number(regions.iter().position(|known| *known == name).unwrap_or_else(|| {
            regions.push(name);
            regions.len() - 1
        }))
    }

    fn process(&mut self, items: &[Item<'_>], stacks: &mut StackMap<'_>) {
        let Some(first) = items.first() else { return };
        stacks.restart(self.child(ROOT, lone(first.process)));
        for item in items {
            let row = self.row(item.node, stacks);
            match item.adds {
                Adds::Cost(cost) => self.call_tree.rows[row].cost += *cost,
                Adds::Change(change) => {
                    let sum = self.call_tree.rows[row].change.get_or_insert_default();
                    sum.before += change.before;
                    sum.moved += change.after;
                }
                Adds::Site(site) => self.call_tree.of_sites[site] = row,
                Adds::Shape(shape) => self.shape(row, shape),
                Adds::Passed(Passed { end, stats, .. }) => {
                    let end = self.end(*end, stacks);
                    let ended = Ended { blocks: stats.blocks, by_others: stats.by_others };
                    add_by_key(&mut self.call_tree.rows[row].ends, &[(end, ended)]);
                }
                Adds::During(region, amount) => {
                    add_by_key(&mut self.call_tree.rows[row].during, &[(region, amount)])
                }
            }
        }
    }

    /// How blocks ended. The row of a stack that freed exists even if it allocated nothing.
    fn end(&mut self, end: Endpoint, stacks: &mut StackMap<'_>) -> BlocksEnd {
        match end {
            Endpoint::Left => BlocksEnd::Left,
            Endpoint::Unseen => BlocksEnd::Unseen,
            Endpoint::ToNothing => BlocksEnd::ToNothing,
            Endpoint::Freed(node) | Endpoint::Resized(node) | Endpoint::Allocated(node) => {
                BlocksEnd::By(number(self.row(node, stacks)))
            }
        }
    }

    /// The index of a stack's row.
    fn row(&mut self, stack: NodeId, stacks: &mut StackMap<'_>) -> usize {
        let names = self.names;
        let node = stacks.place(stack, |caller, frame| {
            names.steps(frame).iter().rev().fold(caller, |at, step| self.child(at, *step))
        });
        let call = call_kind(self.tables, stack).map_or(0, |call| call as u8);
        let rows = &mut self.call_tree.rows;
        *self.rows.entry((node, call)).or_insert_with(|| {
            rows.push(Row { node, call, ..Row::default() });
            rows.len() - 1
        })
    }

    fn child(&mut self, parent: u32, place: Step) -> u32 {
        let place = self.place(place);
        let nodes = &mut self.call_tree.nodes;
        *self.children.entry((parent, place)).or_insert_with(|| {
            nodes.push((parent, place));
            number(nodes.len() - 1)
        })
    }

    fn place(&mut self, place: Step) -> u32 {
        let places = &mut self.call_tree.places;
        *self.places.entry(place).or_insert_with(|| {
            places.push(place);
            number(places.len() - 1)
        })
    }
}

fn lone(label: LabelId) -> Step {
    Step { label, file: None, line: None, inlined: false }
}

fn number(place: usize) -> u32 {
    u32::try_from(place).expect("fewer nodes than 2^32")
}
