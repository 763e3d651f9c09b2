//! Fields that several documents have for programs.

use crate::table::{Fields, Value};
use analysis::query::Unmatched;
use analysis::{Cost, Span, Spread};
use capture::Sampling;
use engine::{Loaded, Seen};

/// The file, and what in options matches nothing in it.
///
/// Of several captures the file is the first, and their number stands beside it.
pub(crate) fn head(loaded: &Loaded) -> Fields {
    let source = &loaded.source;
    let others = loaded.profile.others;
    let captures = (others > 0).then(|| ("captures", Value::count(u64::from(others) + 1)));
    let file = ("file", Value::name(&source.file));
    let rest = [("cut", Value::known(source.cut.clone())), ("unmatched", unmatched(loaded.seen.as_ref()))];
    std::iter::once(file).chain(captures).chain(rest).collect()
}

/// What was chosen of the file, and what that costs.
pub(crate) fn selection(loaded: &Loaded) -> Fields {
    let filter = loaded.seen.as_ref().and_then(|seen| seen.filter.clone());
    let fields = [
        ("sample_interval", sample_interval(loaded)),
        ("filter", Value::known(filter)),
        ("total", total(loaded)),
    ];
    fields.into_iter().chain(span(loaded.profile.span)).collect()
}

/// The part of the capture that a document is about: all null for the whole.
pub(crate) fn span(span: Span) -> Fields {
    let (at, from, to) = match span {
        Span::Whole => (None, None, None),
        Span::At(at) => (Some(at.time), None, None),
        Span::Range { from, to } => (None, Some(from.time), Some(to.time)),
    };
    [("at_ns", at), ("from_ns", from), ("to_ns", to)]
        .map(|(key, time)| (key, Value::known(time.map(Value::Time))))
        .into()
}

/// The mean distance of samples in bytes; unknown if everything was recorded.
pub(crate) fn sample_interval(loaded: &Loaded) -> Value {
    interval(loaded.profile.sampling)
}

/// The same of this sampling.
pub(crate) fn interval(sampling: Option<Sampling>) -> Value {
    Value::known(sampling.map(|sampling| Value::bytes(sampling.interval())))
}

/// Names in options that match nothing.
pub(crate) fn unmatched(seen: Option<&Seen>) -> Value {
    let row = |Unmatched { field, name, nearest }: &Unmatched| {
        let nearest = nearest.iter().map(|name| Value::name(name)).collect();
        let fields =
            [("field", (*field).into()), ("name", Value::name(name)), ("nearest", Value::List(nearest))];
        Value::Record(fields.into())
    };
    Value::List(seen.into_iter().flat_map(|seen| &seen.unmatched).map(row).collect())
}

/// What a filter, or the selection of functions, left out.
pub(crate) fn unseen(seen: Option<&Seen>) -> Value {
    Value::known(seen.map(|seen| {
        let costs = Value::costs(seen.hidden, seen.hidden_spread);
        Value::Record(vec![("filter", Value::known(seen.filter.clone())), ("", costs)])
    }))
}

/// All that is shown.
pub(crate) fn total(loaded: &Loaded) -> Value {
    Value::costs(loaded.profile.total, loaded.profile.total_spread)
}

impl Value {
    /// All costs of something.
    pub(crate) fn costs(cost: Cost, spread: Cost<Spread>) -> Self {
        Self::Costs(Box::new((cost, spread)))
    }
}
