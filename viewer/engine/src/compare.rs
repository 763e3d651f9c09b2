//! Two moments, of one capture or of two, side by side.

use crate::analyzer::Analyzer;
use crate::error::Error;
use crate::lens::Lens;
use crate::loaded::{Loaded, Seen, Source, sum_of};
use crate::symbolize::Naming;
use analysis::query::{Part, Query, When};
use analysis::{Diff, Instant, Names, Profile, Span, Spelling, unite};
use capture::{Lost, Sampling};

/// What changed, and the names to show it by.
#[derive(Debug)]
pub struct Compared {
    /// The names, and the numbers of the later side.
    pub loaded: Loaded,
    /// What changed.
    pub diff: Diff,
    /// The earlier side.
    pub before: Side,
    /// The later side.
    pub after: Side,
    /// True when the sides are two captures, whose stacks had to be matched.
    pub two_captures: bool,
}

/// One side of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// The file.
    pub source: Source,
    /// The moment compared; none for a capture as a whole.
    pub at: Option<Instant>,
    /// When its recording ended; none for a truncated file.
    pub ended: Option<u64>,
    /// Events that its capture lacks, by reason.
    pub lost: Vec<Lost>,
    /// How it was sampled; none when everything was recorded.
    pub sampling: Option<Sampling>,
    /// Gaps in its recording up to that moment.
    pub gaps: u64,
    /// Pauses that its programs made up to that moment.
    pub pauses: u64,
    /// Blocks up to that moment whose addresses were allocated again without a recorded free.
    pub conflicts: u64,
    /// What the selection of stacks left out; none when nothing was selected.
    pub seen: Option<Seen>,
}

impl Side {
    /// A side from a profile of this capture: its own or another one.
    fn new(loaded: &Loaded, profile: &Profile, seen: Option<Seen>) -> Self {
        Self {
            source: loaded.source.clone(),
            at: if let Span::At(at) = profile.span { Some(at) } else { None },
            ended: loaded.ended(),
            lost: loaded.lost().to_vec(),
            sampling: profile.sampling,
            gaps: profile.gaps().gaps,
            pauses: profile.pauses().pauses,
            conflicts: profile.anomalies().conflicts,
            seen,
        }
    }

    /// Events that its capture lacks, whatever the reason.
    pub fn lost_events(&self) -> u64 {
        sum_of(&self.lost)
    }
}

impl Compared {
    /// True when nothing is known to be missing on either side.
    pub fn is_complete(&self) -> bool {
        [&self.before, &self.after].iter().all(|side| side.source.cut.is_none() && side.lost_events() == 0)
    }
}

/// Compares two moments of one capture, both through the same filter and lens. They may be given in any order: what
/// changed is from the first to the second.
///
/// # Errors
/// As [`Analyzer::profile`].
pub fn compare_moments(
    mut analyzer: Analyzer,
    before: When,
    after: When,
    mut query: Query,
    lens: &Lens,
    naming: Naming,
) -> Result<Compared, Error> {
    analyzer.be_ready_for(lens)?;
    let (from, to) = match analyzer.instant(&before)? <= analyzer.instant(&after)? {
        true => (before.clone(), after.clone()),
        false => (after.clone(), before.clone()),
    };
    query.part = Part::At(before);
    let mut before = analyzer.profile(&query)?;
    query.part = Part::At(after);
    let after = analyzer.profile(&query)?;
    query.part = Part::Range(from, to);
    let mut between = after.sampling.map(|_| analyzer.profile(&query)).transpose()?;
    let loaded = analyzer.show_beside(after, &[&before], naming);
    let mut others: Vec<_> = std::iter::once(&mut before).chain(&mut between).collect();
    let (loaded, seen) = lens.apply_to_all(loaded, &mut others);
    let seen_before = seen.into_iter().next().flatten();
    let diff = Diff::of_moments(&before, &loaded.profile, between.as_ref());
    let after = Side::new(&loaded, &loaded.profile, loaded.seen.clone());
    let before = Side::new(&loaded, &before, seen_before);
    Ok(Compared { loaded, diff, before, after, two_captures: false })
}

/// Compares two captures, or the same part of both, through the same lens.
///
/// # Errors
/// As [`Analyzer::profile`].
pub fn compare_captures(
    mut old: Analyzer,
    mut new: Analyzer,
    query: &Query,
    lens: &Lens,
    spelling: Spelling,
    naming: Naming,
) -> Result<Compared, Error> {
    old.be_ready_for(lens)?;
    new.be_ready_for(lens)?;
    let (before, after) = (old.profile(query)?, new.profile(query)?);
    let (old, new) = (old.show(before, naming.clone()), new.show(after, naming));
    Ok(compare_shown(old, new, lens, spelling))
}

/// Compares two captures that are counted already. Ids of the newer one's stacks, processes and threads stay valid,
/// unless a lens has changed stacks.
pub fn compare_shown(mut old: Loaded, new: Loaded, lens: &Lens, spelling: Spelling) -> Compared {
    let (mut before, mut after) = (Side::new(&old, &old.profile, None), Side::new(&new, &new.profile, None));
    let (tables, moved) = unite(old.tables, new.tables, spelling);
    moved.adopt(&mut old.profile);
    let names = Names::new(&tables);
    let looked_up = old.looked_up.and(new.looked_up);
    let loaded = Loaded { tables, names, looked_up, ..new };
    let (loaded, seen) = lens.apply_to_all(loaded, &mut [&mut old.profile]);
    (before.seen, after.seen) = (seen.into_iter().next().flatten(), loaded.seen.clone());
    let diff = Diff::of_captures(&old.profile, &loaded.profile, &loaded.tables, &loaded.names);
    Compared { loaded, diff, before, after, two_captures: true }
}
