//! Code frames that need a name.

use capture::FrameId;

/// A code frame that will need a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodeFrame {
    pub(crate) frame: FrameId,
    /// None for code of which nothing is known: it gets a reason instead of a name.
    pub(crate) module: Option<capture::ModuleId>,
    pub(crate) address: u64,
    pub(crate) exact: bool,
}

/// Holds each frame once: a long recording starts the same programs any number of times, and each process reports all
/// its frames.
#[derive(Debug, Default)]
pub(crate) struct Unnamed {
    frames: Vec<CodeFrame>,
    /// By the frame's number; these are dense.
    is_known: Vec<bool>,
}

impl Unnamed {
    /// Adds a frame, if it is new.
    pub(crate) fn add(&mut self, frame: CodeFrame) {
        let number = frame.frame.index();
        if self.is_known.len() <= number {
            self.is_known.resize(number + 1, false);
        }
        if !std::mem::replace(&mut self.is_known[number], true) {
            self.frames.push(frame);
        }
    }

    /// Takes all frames, which will not be needed again.
    pub(crate) fn take(&mut self) -> Vec<CodeFrame> {
        std::mem::take(&mut self.frames)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capture::FrameId;

    /// Check that each frame is kept once, however often it is reported, and not again after it was taken.
    #[test]
    fn frames_are_kept_once() {
        let frame = |number: u32| CodeFrame {
            frame: FrameId(number),
            module: None,
            address: number.into(),
            exact: true,
        };
        let mut unnamed = Unnamed::default();
        for number in [7, 0, 7, 3, 0].into_iter().cycle().take(5_000) {
            unnamed.add(frame(number));
        }
        assert_eq!(unnamed.frames.len(), 3);
        assert_eq!(unnamed.take(), [frame(7), frame(0), frame(3)]);
        unnamed.add(frame(3));
        assert_eq!(unnamed.take(), []);
    }
}
