//! Names of D: nested names of modules, types and functions.

use crate::parser::Parser;

/// What the compiler generates for each type and module, by mangled name.
const MADE: [(&str, &str); 5] = [
    ("6__initZ", "initializer for "),
    ("6__vtblZ", "vtable for "),
    ("7__ClassZ", "ClassInfo for "),
    ("11__InterfaceZ", "Interface for "),
    ("12__ModuleInfoZ", "ModuleInfo for "),
];

/// Names with another spelling in the language.
const SPELLED: [(&str, &str); 3] = [("__ctor", "this"), ("__dtor", "~this"), ("__postblit", "this(this)")];

impl Parser<'_> {
    /// A linkage name: a mangled name, or `_DTi16` and a name, which is a thunk for calls through an interface 16
    /// bytes into the object.
    pub(crate) fn whole(&mut self, out: &mut String) -> Option<()> {
        if self.take("_DTi") {
            self.digits()?;
            self.write(out, "thunk to ")?;
        }
        self.mangled(out)
    }

    /// `_D`, names, and a type or `Z`.
    pub(crate) fn mangled(&mut self, out: &mut String) -> Option<()> {
        self.take("_D").then_some(())?;
        self.qualified(out, true)?;
        if self.take("Z") || self.attempt(out, Parser::parameters_by_reference) {
            return Some(());
        }
        self.ty(&mut String::new())
    }

    /// Nested names. In a whole name, the last one may be a function; in a type, a function has others nested in it,
    /// and anything else belongs to what comes next.
    pub(crate) fn qualified(&mut self, out: &mut String, is_whole: bool) -> Option<()> {
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
                // Skips anonymous scopes.
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

    /// Whether a name comes next: a length, a template, or a back reference to a name.
    pub(crate) fn sees_name(&self) -> bool {
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
        // An artificial parent, which only tells apart equal names in one function.
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
        // An argument that the template is specialized for.
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
            // Mangled by other rules.
            b'X' => {
                let length = self.number()?;
                let name = self.word(length)?;
                self.write(out, name)
            }
            _ => None,
        }
    }
}
