//! Values that templates of D are instantiated with.

use crate::parser::Parser;

impl Parser<'_> {
    /// A value of a type that begins with `kind` and reads `named`.
    pub(crate) fn value(&mut self, out: &mut String, kind: u8, named: &str) -> Option<()> {
        self.nested(|parser| match parser.letter()? {
            b'n' => parser.write(out, "null"),
            b'N' => {
                parser.write(out, "-")?;
                parser.integer(out, kind)
            }
            b'i' => parser.integer(out, kind),
            b'e' => parser.real(out),
            b'c' => {
                parser.real(out)?;
                parser.write(out, "+")?;
                parser.take("c").then_some(())?;
                parser.real(out)?;
                parser.write(out, "i")
            }
            width @ (b'a' | b'w' | b'd') => parser.string(out, width),
            b'A' => parser.list(out, kind == b'H'),
            b'S' => parser.structure(out, named),
            b'f' => parser.mangled(out),
            _ => None,
        })
    }

    fn integer(&mut self, out: &mut String, kind: u8) -> Option<()> {
        let digits = self.digits()?;
        let suffix = match kind {
            b'a' | b'u' | b'w' => {
                let code: u32 = digits.parse().ok()?;
                let text = match (char::from_u32(code), kind) {
                    (Some(letter @ ' '..='~'), _) => format!("'{letter}'"),
                    (_, b'a') => format!("'\\x{code:02x}'"),
                    (_, b'u') => format!("'\\u{code:04x}'"),
                    _ => format!("'\\U{code:08x}'"),
                };
                return self.write(out, &text);
            }
            b'b' => return self.write(out, if digits == "0" { "false" } else { "true" }),
            b'h' | b't' | b'k' => "u",
            b'l' => "L",
            b'm' => "uL",
            _ => "",
        };
        self.write(out, digits)?;
        self.write(out, suffix)
    }

    /// `0x1.8p-3`
    fn real(&mut self, out: &mut String) -> Option<()> {
        for (theirs, ours) in [("NAN", "NaN"), ("INF", "Inf"), ("NINF", "-Inf")] {
            if self.take(theirs) {
                return self.write(out, ours);
            }
        }
        let sign = if self.take("N") { "-" } else { "" };
        let (first, rest) = self.hex_digits()?.split_at(1);
        self.take("P").then_some(())?;
        let exponent_sign = if self.take("N") { "-" } else { "" };
        let exponent = self.digits()?;
        self.write(out, &format!("{sign}0x{first}.{rest}p{exponent_sign}{exponent}"))
    }

    /// A length, `_`, and two digits for each byte.
    fn string(&mut self, out: &mut String, width: u8) -> Option<()> {
        let length = self.number()?;
        self.take("_").then_some(())?;
        self.write(out, "\"")?;
        for _ in 0..length {
            let byte = u8::from_str_radix(self.word(2)?, 16).ok()?;
            match byte {
                b'\t' => self.write(out, "\\t")?,
                b'\n' => self.write(out, "\\n")?,
                b'\r' => self.write(out, "\\r")?,
                0x0c => self.write(out, "\\f")?,
                0x0b => self.write(out, "\\v")?,
                b' '..=b'~' => self.write(out, char::from(byte).encode_utf8(&mut [0; 4]))?,
                _ => self.write(out, &format!("\\x{byte:02x}"))?,
            }
        }
        self.write(out, "\"")?;
        if width == b'a' { Some(()) } else { self.write(out, char::from(width).encode_utf8(&mut [0; 4])) }
    }

    /// `[1, 2]`, or pairs: `[1:2, 3:4]`.
    fn list(&mut self, out: &mut String, is_of_pairs: bool) -> Option<()> {
        let count = self.number()?;
        self.write(out, "[")?;
        for place in 0..count {
            if place > 0 {
                self.write(out, ", ")?;
            }
            self.value(out, 0, "")?;
            if is_of_pairs {
                self.write(out, ":")?;
                self.value(out, 0, "")?;
            }
        }
        self.write(out, "]")
    }

    /// `Point(1, 2)`
    fn structure(&mut self, out: &mut String, named: &str) -> Option<()> {
        let count = self.number()?;
        self.write(out, named)?;
        self.write(out, "(")?;
        for place in 0..count {
            if place > 0 {
                self.write(out, ", ")?;
            }
            self.value(out, 0, "")?;
        }
        self.write(out, ")")
    }
}
