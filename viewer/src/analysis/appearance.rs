//! What a reader can tell stacks apart by.

use super::cost::Cost;
use super::frames::call_kind;
use super::metric::Metric;
use super::names::{LabelId, Names};
use super::profile::Profile;
use super::spread::Spread;
use super::stacks::{Row, rows, sort};
use capture::{FrameId, NodeId, Pseudo, StringId, Tables};
use hashbrown::HashMap;

/// The stacks that cost anything in this metric, the most expensive first. Those that a reader cannot tell apart are one
/// row, with the most expensive of them as its stack: without lines, each place in a function has the function's name.
pub fn rows_as_read(profile: &Profile, tables: &Tables, names: &Names, metric: Metric) -> Vec<Row> {
    let mut appearances = Appearances::new(tables, names);
    let mut places: HashMap<(u32, Option<Pseudo>), usize> = HashMap::new();
    let mut merged: Vec<Row> = Vec::new();
    for row in rows(profile, metric) {
        let looks = (appearances.of(row.node), call_kind(tables, row.node));
        let place = *places.entry(looks).or_insert_with(|| {
            merged.push(Row { cost: Cost::default(), spread: Cost::<Spread>::default(), ..row });
            merged.len() - 1
        });
        merged[place].cost += row.cost;
        merged[place].spread += row.spread;
    }
    merged.retain(|row| !metric.of(&row.cost).is_zero());
    sort(&mut merged, metric);
    merged
}

/// A function as it is written: its name, and the line in it.
type Written = (LabelId, Option<StringId>, Option<u32>);

/// A number for each stack, the same for those that are written the same. Stacks are taken from the outermost frame inwards,
/// each once, so all of them together take as long as they have nodes.
struct Appearances<'a> {
    tables: &'a Tables,
    names: &'a Names,
    /// By [`NodeId`]; 0 where it is not known yet.
    stacks: Vec<u32>,
    /// By the appearance of the callers and that of the frame.
    numbers: HashMap<(u32, u32), u32>,
    /// By [`FrameId`]; 0 where it is not known yet.
    frames: Vec<u32>,
    written: HashMap<Vec<Written>, u32>,
}

impl<'a> Appearances<'a> {
    /// That of no frames at all.
    const NOTHING: u32 = 1;

    fn new(tables: &'a Tables, names: &'a Names) -> Self {
        Self {
            tables,
            names,
            stacks: vec![0; tables.nodes.len()],
            numbers: HashMap::new(),
            frames: vec![0; tables.frames.len()],
            written: HashMap::from([(Vec::new(), Self::NOTHING)]),
        }
    }

    fn of(&mut self, stack: NodeId) -> u32 {
        let mut unknown = Vec::new();
        let mut number = Self::NOTHING;
        for (id, node) in self.tables.stack(stack) {
            if self.stacks[id.index()] != 0 {
                number = self.stacks[id.index()];
                break;
            }
            unknown.push((id, node.frame));
        }
        for (id, frame) in unknown.into_iter().rev() {
            let frame = self.of_frame(frame);
            // Kinds of calls are not written.
            if frame != Self::NOTHING {
                let next = Self::NOTHING + 1 + self.numbers.len() as u32;
                number = *self.numbers.entry((number, frame)).or_insert(next);
            }
            self.stacks[id.index()] = number;
        }
        number
    }

    fn of_frame(&mut self, frame: FrameId) -> u32 {
        let Some(&known) = self.frames.get(frame.index()) else { return Self::NOTHING };
        if known != 0 {
            return known;
        }
        let steps = self.names.steps(frame).iter().map(|step| (step.label, step.file, step.line));
        let next = Self::NOTHING + self.written.len() as u32;
        let number = *self.written.entry(steps.collect()).or_insert(next);
        self.frames[frame.index()] = number;
        number
    }
}
