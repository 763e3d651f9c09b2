//! Markers: what programs marked, when processes began and ended, and what the recording lacks.

use super::tracks::{Tracks, at};
use crate::notes::{Happenings, Note, NoteKind, notes_of};
use analysis::Instant;
use analysis::format::counted;
use capture::Event;
use engine::Loaded;
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, MarkerFieldFlags, MarkerFieldFormat, MarkerLocations, MarkerTiming,
    Profile, StaticSchemaMarker, StaticSchemaMarkerField, StringHandle,
};

/// Most notes from events that are kept individually: there may be many losses.
const MOST_NOTES: usize = 1 << 16;

/// What events tell apart from allocations.
#[derive(Debug, Default)]
pub(super) struct Happened {
    happenings: Happenings,
    notes: Vec<Note>,
    /// The last of those that are not kept, and their number.
    more: Option<(Note, u64)>,
}

impl Happened {
    /// Processes an event.
    pub(super) fn event(&mut self, loaded: &Loaded, at: Instant, event: &Event) {
        if let Some(note) = self.happenings.event(loaded, at, event) {
            self.keep(note);
        }
    }

    fn keep(&mut self, note: Note) {
        if self.notes.len() < MOST_NOTES {
            self.notes.push(note);
        } else {
            let count = self.more.take().map_or(0, |(_, count)| count);
            self.more = Some((note, count + 1));
        }
    }

    fn finish(mut self, loaded: &Loaded) -> Vec<Note> {
        for note in std::mem::take(&mut self.happenings).finish(loaded) {
            self.keep(note);
        }
        let more = self.more.map(|(note, count)| {
            let text = format!("{} like this omitted", counted(count, "note"));
            Note { from: note.to, text, ..note }
        });
        self.notes.extend(more);
        self.notes
    }
}

/// Adds those of all threads.
pub(super) fn add(tracks: &mut Tracks<'_>, loaded: &Loaded, happened: Happened) {
    let categories = NoteKind::ALL.map(|kind| {
        let color = match kind {
            NoteKind::Mark => CategoryColor::Blue,
            NoteKind::Process => CategoryColor::Green,
            NoteKind::Recording => CategoryColor::Red,
        };
        (kind, tracks.profile.add_category(kind.name(), color))
    });
    for note in notes_of(loaded).into_iter().chain(happened.finish(loaded)) {
        let Some(process) = note.process else { continue };
        let thread = note.thread.and_then(|thread| loaded.tables.threads.get(thread.index()));
        let track = match thread {
            Some(thread) => tracks.thread(process, thread.tid, &thread.name, note.from),
            None => tracks.main(process, note.from),
        };
        let timing = match note.from == note.to {
            true => MarkerTiming::Instant(at(note.from)),
            false => MarkerTiming::Interval(at(note.from), at(note.to)),
        };
        let category = categories.iter().find(|(kind, _)| *kind == note.kind);
        let marker = Marker {
            name: tracks.profile.intern_string(&note.name),
            text: tracks.profile.intern_string(&note.text),
            category: category.map_or(CategoryHandle::OTHER, |(_, category)| *category),
        };
        let thread = tracks.handle(track);
        tracks.profile.add_marker(thread, timing, marker);
    }
}

/// A note in the profile's form.
#[derive(Clone, Debug)]
struct Marker {
    name: StringHandle,
    text: StringHandle,
    category: CategoryHandle,
}

impl StaticSchemaMarker for Marker {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "Note";
    const LOCATIONS: MarkerLocations = MarkerLocations::MARKER_CHART
        .union(MarkerLocations::MARKER_TABLE)
        .union(MarkerLocations::TIMELINE_OVERVIEW);
    const CHART_LABEL: Option<&'static str> = Some("{marker.data.details}");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.data.details}");
    const FIELDS: &'static [StaticSchemaMarkerField] = &[StaticSchemaMarkerField {
        key: "details",
        label: "Details",
        format: MarkerFieldFormat::String,
        flags: MarkerFieldFlags::SEARCHABLE,
    }];

    fn name(&self, _: &mut Profile) -> StringHandle {
        self.name
    }

    fn category(&self, _: &mut Profile) -> CategoryHandle {
        self.category
    }

    fn string_field_value(&self, _: u32) -> StringHandle {
        self.text
    }

    fn number_field_value(&self, _: u32) -> f64 {
        // No field is a number.
        0.0
    }
}
