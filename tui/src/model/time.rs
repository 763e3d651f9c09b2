//! The time axis: which part of it is visible, and two cursors on it.

/// A part of the time, and two moments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Time {
    /// The visible part; none for all of it.
    pub(crate) window: Option<(u64, u64)>,
    /// The two moments, nanoseconds since the recording began.
    pub(crate) cursors: [u64; 2],
    /// The cursor that keys move.
    pub(crate) active: usize,
    /// Length of the recording.
    duration: u64,
}

impl Time {
    /// Sets the length of the recording and the time of its peak. The cursors start at its beginning and at the peak.
    pub(crate) fn set_duration(&mut self, duration: u64, peak: u64) {
        if self.duration == 0 {
            (self.cursors, self.active) = ([0, peak.min(duration)], 1);
        }
        self.duration = duration;
    }

    /// Beginning and end of the visible part.
    pub(crate) fn seen(&self) -> (u64, u64) {
        let (from, to) = self.window.unwrap_or((0, self.duration));
        (from, to.max(from + 1))
    }

    /// The cursors, earlier one first.
    pub(crate) fn range(&self) -> (u64, u64) {
        let [a, b] = self.cursors;
        (a.min(b), a.max(b))
    }

    /// The time of a column.
    pub(crate) fn time_of(&self, column: u16, width: u16) -> u64 {
        let (from, to) = self.seen();
        let part = f64::from(column) / f64::from(width.max(2) - 1);
        from + ((to - from) as f64 * part.min(1.0)).round() as u64
    }

    /// The column of a time, if it is visible.
    pub(crate) fn column_of(&self, time: u64, width: u16) -> Option<u16> {
        let (from, to) = self.seen();
        let part = time.checked_sub(from)? as f64 / (to - from) as f64;
        (part <= 1.0).then(|| (part * f64::from(width.max(1) - 1)).round() as u16)
    }

    /// Moves the active cursor by columns.
    pub(crate) fn step(&mut self, columns: i64, width: u16) {
        let (from, to) = self.seen();
        let column = ((to - from) / u64::from(width.max(2) - 1)).max(1);
        let cursor = &mut self.cursors[self.active];
        let by = columns.unsigned_abs().saturating_mul(column);
        *cursor = if columns < 0 { cursor.saturating_sub(by) } else { cursor.saturating_add(by) };
        *cursor = (*cursor).clamp(from, to);
    }

    /// Moves the active cursor to a moment.
    pub(crate) fn put(&mut self, time: u64) {
        self.cursors[self.active] = time.min(self.duration);
    }

    /// Switches to the other cursor.
    pub(crate) fn switch(&mut self) {
        self.active = 1 - self.active;
    }

    /// Zooms to the range between the cursors, if it is not empty.
    pub(crate) fn zoom_in(&mut self) {
        let (from, to) = self.range();
        if to > from {
            self.window = Some((from, to));
        }
    }

    /// Doubles the visible part around its middle, up to everything.
    pub(crate) fn zoom_out(&mut self) {
        let (from, to) = self.seen();
        let more = (to - from) / 2 + 1;
        let (from, to) = (from.saturating_sub(more), to.saturating_add(more).min(self.duration));
        self.window = (from > 0 || to < self.duration).then_some((from, to));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time() -> Time {
        let mut time = Time::default();
        time.set_duration(1000, 700);
        assert_eq!(time.cursors, [0, 700]);
        time
    }

    /// Check that columns and times match at both ends, and between.
    #[test]
    fn columns_are_times() {
        let time = time();
        for (column, at) in [(0, 0), (50, 500), (100, 1000), (200, 1000)] {
            assert_eq!(time.time_of(column, 101), at, "{column}");
            assert_eq!(time.column_of(at, 101), Some(column.min(100)), "{at}");
        }
        assert_eq!(time.column_of(1001, 101), None);
    }

    /// Check that zooming goes to the cursors and back to everything, and that a visible cursor stays where it is.
    #[test]
    fn zoom_is_between_the_cursors() {
        let mut time = time();
        time.cursors = [600, 400];
        time.zoom_in();
        assert_eq!(time.seen(), (400, 600));
        time.step(-1000, 80);
        assert_eq!(time.range(), (400, 600));
        time.zoom_out();
        assert_eq!(time.seen(), (299, 701));
        (0..3).for_each(|_| time.zoom_out());
        assert_eq!(time.window, None);
    }

    /// Check that a recording of length 0 has one column, and nothing divides by its length.
    #[test]
    fn nothing_lasts_no_time() {
        let mut time = Time::default();
        time.step(1, 0);
        time.zoom_in();
        time.zoom_out();
        assert_eq!((time.time_of(5, 0), time.column_of(0, 0)), (1, Some(0)));
    }
}
