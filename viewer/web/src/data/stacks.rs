//! The stacks of a page, or of a scan: nodes, the places that they refer to, and the labels of these.

use crate::call_tree::CallTree;
use crate::columns::Columns;
use crate::fold::Folded;
use crate::texts::Texts;
use analysis::{Kind, LabelId, Step};
use engine::{Loaded, Sources};
use std::cell::RefCell;
use std::collections::HashMap;

/// Most bytes of a source line that a page shows.
const MOST_OF_A_LINE: usize = 200;

/// The source of stacks to be written.
pub(crate) struct Stacks<'a> {
    pub(crate) loaded: &'a Loaded,
    pub(crate) call_tree: &'a CallTree,
    /// The source files, if the text of lines is wanted.
    pub(crate) sources: Option<&'a RefCell<Sources>>,
}

impl Stacks<'_> {
    /// Writes the folded tree, with only those places and labels that are used.
    pub(crate) fn write(&self, columns: &mut Columns, texts: &mut Texts, folded: &Folded) {
        let mut places: Vec<Step> = Vec::new();
        let mut known: HashMap<u32, i64> = HashMap::new();
        let mut numbers = Vec::with_capacity(folded.nodes.len());
        for node in &folded.nodes {
            let number = node.place.map(|place| {
                *known.entry(place).or_insert_with(|| {
                    places.push(self.call_tree.places[place as usize]);
                    places.len() as i64
                })
            });
            // 0 stands for what was folded.
            numbers.push(number.unwrap_or(0));
        }
        let above = (0..).zip(&folded.nodes).map(|(id, node)| id - i64::from(node.parent));
        columns.numbers("node.above", above);
        columns.numbers("node.place", numbers);
        let mut labels: Vec<LabelId> = Vec::new();
        let mut known: HashMap<LabelId, i64> = HashMap::new();
        let label = places.iter().map(|place| {
            *known.entry(place.label).or_insert_with(|| {
                labels.push(place.label);
                labels.len() as i64 - 1
            })
        });
        columns.numbers("place.label", label);
        let tables = &self.loaded.tables;
        let file = places.iter().map(|place| {
            let file = place.file.map(|file| tables.string(file)).filter(|file| !file.is_empty());
            file.map_or(-1, |file| i64::from(texts.number(file)))
        });
        columns.numbers("place.file", file);
        columns.numbers("place.line", places.iter().map(|place| i64::from(place.line.unwrap_or(0))));
        let text = places.iter().map(|place| {
            let (sources, file, line) = (self.sources?, place.file?, place.line?);
            let mut sources = sources.borrow_mut();
            let text = sources.line(tables.string(file), line)?.trim();
            Some(i64::from(texts.number(&text[..text.floor_char_boundary(MOST_OF_A_LINE)])))
        });
        columns.numbers("place.text", text.map(|text| text.unwrap_or(-1)).collect::<Vec<_>>());
        columns.numbers("place.inlined", places.iter().map(|place| i64::from(place.inlined)));
        self.labels(columns, texts, &labels);
    }

    fn labels(&self, columns: &mut Columns, texts: &mut Texts, labels: &[LabelId]) {
        let names = &self.loaded.names;
        let name = labels.iter().map(|&id| i64::from(texts.number(&names.label(id).name)));
        columns.numbers("label.name", name);
        // The ids by which drawings refer to labels.
        columns.numbers("label.id", labels.iter().map(|id| i64::from(id.0)));
        let short = labels.iter().map(|&id| i64::from(texts.number(&names.label(id).short())));
        columns.numbers("label.short", short);
        let path = |id: &LabelId| self.loaded.module_of(*id);
        let module = labels.iter().map(|id| path(id).map_or(-1, |path| i64::from(texts.number(path))));
        columns.numbers("label.module", module);
        columns.numbers("label.kind", labels.iter().map(|&id| kind(&names.label(id).kind)));
        columns.numbers(
            "label.library",
            labels.iter().map(|&id| {
                let label = names.label(id);
                i64::from(label.is_library || label.is_interpreter)
            }),
        );
    }
}

/// Kinds of labels, as numbered in the scripts.
fn kind(kind: &Kind) -> i64 {
    match kind {
        Kind::Everything => 0,
        Kind::Process => 1,
        Kind::Function(..) | Kind::Group => 2,
        Kind::InModule(_) => 3,
        Kind::Unknown(_) => 4,
        Kind::Marker(_) => 5,
    }
}
