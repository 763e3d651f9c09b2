//! Names of D: those of modules, types and functions, one within the other.

use super::parser::Parser;

/// What a compiler makes for each type and module, by the names that it has.
const MADE: [(&str, &str); 5] = [
    ("6__initZ", "initializer for "),
    ("6__vtblZ", "vtable for "),
    ("7__ClassZ", "ClassInfo for "),
    ("11__InterfaceZ", "Interface for "),
    ("12__ModuleInfoZ", "ModuleInfo for "),
];

/// Names that the language spells otherwise.
const SPELLED: [(&str, &str); 3] = [("__ctor", "this"), ("__dtor", "~this"), ("__postblit", "this(this)")];

impl Parser<'_> {
    /// What a linker knows: a name, or `_DTi16` and a name, which is called by way of an interface, 16 bytes into the object.
    pub(super) fn whole(&mut self, out: &mut String) -> Option<()> {
        if self.take("_DTi") {
            self.digits()?;
            self.write(out, "thunk to ")?;
        }
        self.mangled(out)
    }

    /// `_D`, names, and a type or `Z`.
    pub(super) fn mangled(&mut self, out: &mut String) -> Option<()> {
        self.take("_D").then_some(())?;
        self.qualified(out, true)?;
        if self.take("Z") || self.attempt(out, Parser::parameters_by_reference) {
            return Some(());
        }
        self.ty(&mut String::new())
    }

    /// Names within each other. Of a whole name the last one may be a function; in a type a function has others within it,
    /// and what looks otherwise is what comes next.
    pub(super) fn qualified(&mut self, out: &mut String, is_whole: bool) -> Option<()> {
        self.nested(|parser| {
            let start = out.len();
            loop {
                if let Some((made, prefix)) = MADE.iter().find(|(made, _)| parser.sees(made))
                    && out.len() > start
                {
                    parser.word(made.len() - 1)?;
                    return parser.write_at(out, start, prefix);
                }
                if out.len() > start {
                    parser.write(out, ".")?;
                }
                // Names of what has none.
                while parser.take("0") {}
                parser.name(out)?;
                if parser.sees("M") || parser.sees_call() {
                    parser.attempt(out, |parser, out| {
                        parser.parameters_of_symbol(out, is_whole)?;
                        (is_whole || parser.sees_name()).then_some(())
                    });
                }
                if !parser.sees_name() {
                    return Some(());
                }
            }
        })
    }

    /// Whether a name comes next: its length, a template, or a reference to a name.
    pub(super) fn sees_name(&self) -> bool {
        match self.peek() {
            Some(b'0'..=b'9') => true,
            Some(b'_') => self.sees("__T") || self.sees("__U"),
            Some(b'Q') => self.referred().is_some_and(|byte| byte.is_ascii_digit()),
            _ => false,
        }
    }

    fn name(&mut self, out: &mut String) -> Option<()> {
        match self.peek()? {
            b'_' => self.template(out),
            b'Q' => self.follow(|parser| parser.plain(out)),
            _ => self.plain(out),
        }
    }

    /// A length and a name.
    fn plain(&mut self, out: &mut String) -> Option<()> {
        let length = self.number().filter(|length| *length > 0)?;
        let name = self.word(length)?;
        // A parent that only tells apart what has one name in one function.
        if name.strip_prefix("__S").is_some_and(|rest| rest.parse::<u32>().is_ok()) {
            return self.nested(|parser| parser.name(out));
        }
        match SPELLED.iter().find(|(theirs, _)| *theirs == name) {
            Some(("__postblit", _)) if !self.take("MFZ") => self.write(out, name),
            Some((_, ours)) => self.write(out, ours),
            None => self.write(out, name),
        }
    }

    /// `__T` name arguments `Z`, as `name!(arguments)`.
    fn template(&mut self, out: &mut String) -> Option<()> {
        (self.take("__T") || self.take("__U")).then_some(())?;
        self.name(out)?;
        self.write(out, "!(")?;
        let mut is_first = true;
        while !self.take("Z") {
            if !std::mem::take(&mut is_first) {
                self.write(out, ", ")?;
            }
            self.nested(|parser| parser.argument(out))?;
        }
        self.write(out, ")")
    }

    fn argument(&mut self, out: &mut String) -> Option<()> {
        // One that the template is specialized for.
        self.take("H");
        match self.letter()? {
            b'T' => self.ty(out),
            b'V' => {
                let kind = if self.sees("Q") { self.referred() } else { self.peek() };
                let mut named = String::new();
                self.ty(&mut named)?;
                self.value(out, kind?, &named)
            }
            b'S' if self.sees("_D") => self.mangled(out),
            b'S' => self.qualified(out, false),
            // Named by other rules.
            b'X' => {
                let length = self.number()?;
                let name = self.word(length)?;
                self.write(out, name)
            }
            _ => None,
        }
    }
}
