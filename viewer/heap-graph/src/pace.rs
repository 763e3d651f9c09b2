//! Lets long work check now and then whether its result is still wanted.

use std::cell::Cell;

/// Counts the steps of some work, and occasionally checks whether it is still wanted.
///
/// ```
/// use heap_graph::Pace;
///
/// let sum = |pace: &Pace<'_>| (0..1_000_000).try_fold(0_u64, |sum, number| pace.step().map(|()| sum + number));
/// assert_eq!(sum(&Pace::default()), Some(499_999_500_000));
/// assert_eq!(sum(&Pace::while_wanted(&|| false)), None);
/// ```
#[derive(Clone)]
pub struct Pace<'w> {
    is_wanted: &'w dyn Fn() -> bool,
    /// Steps until the next check.
    left: Cell<u32>,
}

impl<'w> Pace<'w> {
    /// Steps between two checks. Most steps access distant memory and take about a hundred nanoseconds, so the work
    /// stops within some milliseconds.
    const STEPS: u32 = 1 << 14;

    /// For work that is wanted as long as this returns true.
    pub fn while_wanted(is_wanted: &'w dyn Fn() -> bool) -> Self {
        Self { is_wanted, left: Cell::new(0) }
    }

    /// Counts a step; `None` when the work is to be given up.
    // Cost: usually a decrement.
    #[inline]
    pub fn step(&self) -> Option<()> {
        self.steps(1)
    }

    /// Counts something that takes as long as this many accesses to blocks, such as a row with the names of its
    /// stack: see [`Pace::ROW`].
    #[inline]
    pub fn steps(&self, steps: u32) -> Option<()> {
        match self.left.get().checked_sub(steps) {
            Some(left) => {
                self.left.set(left);
                Some(())
            }
            None => self.ask(),
        }
    }

    /// Steps of a row with names, which takes some ten microseconds.
    pub const ROW: u32 = 128;

    /// Checks at once, before something long that makes no checks of its own.
    #[cold]
    pub fn ask(&self) -> Option<()> {
        self.left.set(Self::STEPS);
        (self.is_wanted)().then_some(())
    }
}

/// For work that is always wanted.
impl Default for Pace<'static> {
    fn default() -> Self {
        Self::while_wanted(&|| true)
    }
}

impl std::fmt::Debug for Pace<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Pace").field("left", &self.left).finish_non_exhaustive()
    }
}
