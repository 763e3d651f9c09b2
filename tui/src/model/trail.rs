//! Back and forward.

/// Positions to go back to, and positions to go forward to again.
#[derive(Clone, Debug)]
pub(crate) struct Trail<T> {
    back: Vec<T>,
    forward: Vec<T>,
}

/// Most positions that are kept.
const MOST: usize = 100;

impl<T> Default for Trail<T> {
    fn default() -> Self {
        Self { back: Vec::new(), forward: Vec::new() }
    }
}

impl<T: PartialEq> Trail<T> {
    /// Leaves a position for another one.
    pub(crate) fn leave(&mut self, place: T) {
        if self.back.last() != Some(&place) {
            self.back.push(place);
        }
        if self.back.len() > MOST {
            self.back.remove(0);
        }
        self.forward.clear();
    }

    /// Goes back from a position.
    pub(crate) fn back(&mut self, from: T) -> Option<T> {
        let to = self.back.pop()?;
        self.forward.push(from);
        Some(to)
    }

    /// Goes forward again.
    pub(crate) fn forward(&mut self, from: T) -> Option<T> {
        let to = self.forward.pop()?;
        self.back.push(from);
        Some(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that going back and forward leads to the same positions, and that a new way discards the old one.
    #[test]
    fn back_and_forward_lead_to_the_same_places() {
        let mut trail = Trail::default();
        trail.leave(1);
        trail.leave(2);
        assert_eq!(trail.back(3), Some(2));
        assert_eq!(trail.back(2), Some(1));
        assert_eq!(trail.back(1), None);
        assert_eq!(trail.forward(1), Some(2));
        assert_eq!(trail.forward(2), Some(3));
        assert_eq!(trail.forward(3), None);
        assert_eq!(trail.back(3), Some(2));
        trail.leave(2);
        assert_eq!(trail.forward(4), None);
    }
}
