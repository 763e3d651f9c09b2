//! The position in a mangled name, and the limits on what may still be read and written.

/// Longest readable name, in bytes. Back references let a mangled name of some hundred bytes grow without bound.
pub const LONGEST: usize = 1 << 16;

/// Deepest nesting, such that the stack of any thread suffices.
const DEEPEST: u32 = 100;

/// Reads a mangled name from its beginning. Each part is appended to a readable name that the caller holds.
pub(crate) struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    /// What may still be written and tried: back references would let a short name grow without bound.
    room: usize,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str) -> Parser<'a> {
        Parser { text, at: 0, depth: 0, room: LONGEST }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Whether these characters come next.
    pub(crate) fn sees(&self, expected: &str) -> bool {
        self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(expected.as_bytes()))
    }

    /// Skips these characters, if they come next.
    pub(crate) fn take(&mut self, expected: &str) -> bool {
        let is_there = self.sees(expected);
        if is_there {
            self.at += expected.len();
        }
        is_there
    }

    /// The next character, if it is ASCII.
    pub(crate) fn letter(&mut self) -> Option<u8> {
        let letter = self.peek().filter(u8::is_ascii)?;
        self.at += 1;
        Some(letter)
    }

    /// Decimal digits.
    pub(crate) fn digits(&mut self) -> Option<&'a str> {
        self.run_of(u8::is_ascii_digit)
    }

    /// Hexadecimal digits, as D writes them.
    pub(crate) fn hex_digits(&mut self) -> Option<&'a str> {
        self.run_of(|digit| matches!(digit, b'0'..=b'9' | b'A'..=b'F'))
    }

    fn run_of(&mut self, is_in: impl Fn(&u8) -> bool) -> Option<&'a str> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let length = rest.iter().position(|byte| !is_in(byte)).unwrap_or(rest.len());
        if length == 0 { None } else { self.word(length) }
    }

    pub(crate) fn number(&mut self) -> Option<usize> {
        self.digits()?.parse().ok()
    }

    /// The next `length` bytes.
    pub(crate) fn word(&mut self, length: usize) -> Option<&'a str> {
        let word = self.text.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        Some(word)
    }

    /// Appends a text, if there is room.
    pub(crate) fn write(&mut self, out: &mut String, text: &str) -> Option<()> {
        self.write_at(out, out.len(), text)
    }

    /// Inserts a text at `start`, before what was written since.
    pub(crate) fn write_at(&mut self, out: &mut String, start: usize, text: &str) -> Option<()> {
        self.room = self.room.checked_sub(text.len())?;
        out.insert_str(start, text);
        Some(())
    }

    /// Reads a part that may nest.
    pub(crate) fn nested(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        self.room = self.room.checked_sub(1)?;
        if self.depth == DEEPEST {
            return None;
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Reads a part or, if that fails, goes back to where it began.
    pub(crate) fn attempt(
        &mut self,
        out: &mut String,
        read: impl FnOnce(&mut Self, &mut String) -> Option<()>,
    ) -> bool {
        let (at, length) = (self.at, out.len());
        let is_read = read(self, out).is_some();
        if !is_read {
            self.at = at;
            out.truncate(length);
        }
        is_read
    }

    /// The first character of what the next back reference refers to.
    pub(crate) fn referred(&self) -> Option<u8> {
        let (target, _) = self.reference()?;
        self.text.as_bytes().get(target).copied()
    }

    /// Reads what the next back reference refers to.
    pub(crate) fn follow(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let (target, after) = self.reference()?;
        self.at = target;
        self.nested(read)?;
        self.at = after;
        Some(())
    }

    /// Where a back reference leads, and where it ends: the distance is a number to the base of 26, whose last digit
    /// is a lower-case letter.
    fn reference(&self) -> Option<(usize, usize)> {
        let rest = self.text.as_bytes().get(self.at..)?.strip_prefix(b"Q")?;
        let mut distance = 0_usize;
        for (place, digit) in rest.iter().enumerate() {
            let (first, is_last) = if digit.is_ascii_lowercase() { (b'a', true) } else { (b'A', false) };
            let value = digit.checked_sub(first).filter(|value| *value < 26)?;
            distance = distance.checked_mul(26)?.checked_add(value.into())?;
            if is_last {
                let target = self.at.checked_sub(distance).filter(|_| distance > 0)?;
                return Some((target, self.at + place + 2));
            }
        }
        None
    }
}
