//! Types of D.

use crate::parser::Parser;

/// Storage classes of parameters.
const STORAGE: [(&str, &str); 6] =
    [("M", "scope "), ("Nk", "return "), ("I", "in "), ("J", "out "), ("K", "ref "), ("L", "lazy ")];

/// Attributes of functions.
const PROMISES: [(&str, &str); 10] = [
    ("Na", "pure "),
    ("Nb", "nothrow "),
    ("Nc", "ref "),
    ("Nd", "@property "),
    ("Ne", "@trusted "),
    ("Nf", "@safe "),
    ("Ni", "@nogc "),
    ("Nj", "return "),
    ("Nl", "scope "),
    ("Nm", "@live "),
];

/// Calling conventions, and the linkage that each stands for.
const CALLS: [(&str, &str); 6] = [
    ("F", ""),
    ("U", "extern(C) "),
    ("W", "extern(Windows) "),
    ("V", "extern(Pascal) "),
    ("R", "extern(C++) "),
    ("Y", "extern(Objective-C) "),
];

/// Modifiers of `this` and of any type.
const MODIFIERS: [(&str, &str); 4] = [("x", "const"), ("y", "immutable"), ("O", "shared"), ("Ng", "inout")];

impl Parser<'_> {
    /// Whether a function type comes next.
    pub(crate) fn sees_call(&self) -> bool {
        CALLS.iter().any(|(letter, _)| self.sees(letter))
    }

    fn choice(&mut self, choices: &[(&str, &'static str)]) -> Option<&'static str> {
        choices.iter().find(|(letters, _)| self.take(letters)).map(|(_, meaning)| *meaning)
    }

    /// A type.
    pub(crate) fn ty(&mut self, out: &mut String) -> Option<()> {
        self.nested(|parser| parser.any_type(out))
    }

    fn any_type(&mut self, out: &mut String) -> Option<()> {
        if self.sees("Q") {
            return self.follow(|parser| parser.ty(out));
        }
        if let Some(modifier) = self.choice(&MODIFIERS) {
            return self.enclosed(out, modifier);
        }
        if self.sees_call() {
            return self.function(out);
        }
        match self.letter()? {
            b'A' => {
                self.ty(out)?;
                self.write(out, "[]")
            }
            b'G' => {
                let length = self.digits()?;
                self.ty(out)?;
                self.write(out, "[")?;
                self.write(out, length)?;
                self.write(out, "]")
            }
            b'H' => {
                let mut key = String::new();
                self.ty(&mut key)?;
                self.ty(out)?;
                self.write(out, "[")?;
                self.write(out, &key)?;
                self.write(out, "]")
            }
            b'P' if self.sees_call() => {
                self.function(out)?;
                self.write(out, "function")
            }
            b'P' => {
                self.ty(out)?;
                self.write(out, "*")
            }
            b'C' | b'S' | b'E' | b'T' | b'I' => self.qualified(out, false),
            b'D' => self.delegate(out),
            b'B' => self.tuple(out),
            b'N' => match self.letter()? {
                b'h' => self.enclosed(out, "__vector"),
                b'n' => self.write(out, "noreturn"),
                _ => None,
            },
            b'z' => match self.letter()? {
                b'i' => self.write(out, "cent"),
                b'k' => self.write(out, "ucent"),
                _ => None,
            },
            letter => self.write(out, basic(letter)?),
        }
    }

    /// `const(type)`
    fn enclosed(&mut self, out: &mut String, word: &str) -> Option<()> {
        self.write(out, word)?;
        self.write(out, "(")?;
        self.ty(out)?;
        self.write(out, ")")
    }

    fn delegate(&mut self, out: &mut String) -> Option<()> {
        let mut modifiers = String::new();
        self.modifiers(&mut modifiers)?;
        if self.sees("Q") {
            self.follow(|parser| parser.function(out))?;
        } else {
            self.function(out)?;
        }
        self.write(out, "delegate")?;
        self.write(out, &modifiers)
    }

    fn tuple(&mut self, out: &mut String) -> Option<()> {
        self.write(out, "tuple(")?;
        let mut is_first = true;
        while !self.take("Z") {
            if !std::mem::take(&mut is_first) {
                self.write(out, ", ")?;
            }
            self.ty(out)?;
        }
        self.write(out, ")")
    }

    /// All modifiers of `this`, each after a space.
    fn modifiers(&mut self, out: &mut String) -> Option<()> {
        while let Some(modifier) = self.choice(&MODIFIERS) {
            self.write(out, " ")?;
            self.write(out, modifier)?;
        }
        Some(())
    }

    /// A function as a type: `extern(C) int(char) nothrow `, with a space at the end.
    fn function(&mut self, out: &mut String) -> Option<()> {
        let (mut promises, mut parameters) = (String::new(), String::new());
        let kind = self.choice(&CALLS)?;
        self.promises(&mut promises)?;
        self.parameters(&mut parameters)?;
        self.write(out, kind)?;
        self.ty(out)?;
        self.write(out, &parameters)?;
        self.write(out, " ")?;
        self.write(out, &promises)
    }

    fn promises(&mut self, out: &mut String) -> Option<()> {
        while let Some(promise) = self.choice(&PROMISES) {
            self.write(out, promise)?;
        }
        Some(())
    }

    /// What follows the name of a function, up to its return type: `(int, char) const`. Modifiers of `this` are left
    /// out of the names of types.
    pub(crate) fn parameters_of_symbol(&mut self, out: &mut String, is_whole: bool) -> Option<()> {
        let mut modifiers = String::new();
        if self.take("M") {
            self.modifiers(&mut modifiers)?;
        }
        self.parameters_of_call(out)?;
        if is_whole { self.write(out, &modifiers) } else { Some(()) }
    }

    /// As [`Self::parameters_of_symbol`], for a function whose whole type is a back reference.
    pub(crate) fn parameters_by_reference(&mut self, out: &mut String) -> Option<()> {
        let mut modifiers = String::new();
        if self.take("M") {
            self.modifiers(&mut modifiers)?;
        }
        self.follow(|parser| parser.parameters_of_call(out))?;
        self.write(out, &modifiers)
    }

    fn parameters_of_call(&mut self, out: &mut String) -> Option<()> {
        self.choice(&CALLS)?;
        self.promises(&mut String::new())?;
        self.parameters(out)
    }

    fn parameters(&mut self, out: &mut String) -> Option<()> {
        self.write(out, "(")?;
        let mut is_first = true;
        loop {
            match self.peek()? {
                b'Z' => break,
                b'X' => {
                    self.write(out, "...")?;
                    break;
                }
                b'Y' => {
                    self.write(out, if is_first { "..." } else { ", ..." })?;
                    break;
                }
                _ => {}
            }
            if !std::mem::take(&mut is_first) {
                self.write(out, ", ")?;
            }
            while let Some(storage) = self.choice(&STORAGE) {
                self.write(out, storage)?;
            }
            self.ty(out)?;
        }
        self.letter()?;
        self.write(out, ")")
    }
}

fn basic(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'n' => "typeof(null)",
        b'v' => "void",
        b'g' => "byte",
        b'h' => "ubyte",
        b's' => "short",
        b't' => "ushort",
        b'i' => "int",
        b'k' => "uint",
        b'l' => "long",
        b'm' => "ulong",
        b'f' => "float",
        b'd' => "double",
        b'e' => "real",
        b'o' => "ifloat",
        b'p' => "idouble",
        b'j' => "ireal",
        b'q' => "cfloat",
        b'r' => "cdouble",
        b'c' => "creal",
        b'b' => "bool",
        b'a' => "char",
        b'u' => "wchar",
        b'w' => "dchar",
        _ => return None,
    })
}
