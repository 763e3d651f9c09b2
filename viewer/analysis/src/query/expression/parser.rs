//! Parses tokens into evaluation order.
//!
//! Operators wait until one with lower precedence follows ("shunting yard", Dijkstra 1961), so the depth of brackets
//! is bounded by memory alone.

use super::syntax_error::SyntaxError;
use super::token::{Token, Tokens};
use super::{Expression, MOST_TERMS, Step, Term};

/// Reads a whole expression.
pub(super) fn parse(text: &str) -> Result<Expression, SyntaxError> {
    let mut parser =
        Parser { text, terms: Vec::new(), formula: Vec::new(), waiting: Vec::new(), after_operand: false };
    for token in Tokens::new(text) {
        let (offset, token) = token?;
        parser.take(offset, token)?;
    }
    parser.finish()
}

/// What waits for its operands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Open(usize),
    Or,
    And,
    Not,
}

impl Waiting {
    fn binding(self) -> u8 {
        match self {
            Waiting::Open(_) => 0,
            Waiting::Or => 1,
            Waiting::And => 2,
            Waiting::Not => 3,
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    terms: Vec<Term>,
    formula: Vec<Step>,
    waiting: Vec<Waiting>,
    /// The last token ended an operand: an operator or a closing bracket must follow.
    after_operand: bool,
}

impl Parser<'_> {
    fn take(&mut self, offset: usize, token: Token) -> Result<(), SyntaxError> {
        match token {
            Token::Term(_) | Token::Open | Token::Not if self.after_operand => {
                Err(self.wrong(offset, "missing operator", "write `and` or `or` before this"))
            }
            Token::And | Token::Or | Token::Close if !self.after_operand => Err(self.wrong(
                offset,
                "missing name",
                "write a function, or `module:` and a file, before this",
            )),
            Token::Term(term) => self.term(offset, term),
            Token::Open => {
                self.waiting.push(Waiting::Open(offset));
                Ok(())
            }
            Token::Not => {
                self.waiting.push(Waiting::Not);
                Ok(())
            }
            Token::And => {
                self.operator(Waiting::And);
                Ok(())
            }
            Token::Or => {
                self.operator(Waiting::Or);
                Ok(())
            }
            Token::Close => self.close(offset),
        }
    }

    fn term(&mut self, offset: usize, term: Term) -> Result<(), SyntaxError> {
        let known = self.terms.iter().position(|known| *known == term);
        let place = known.unwrap_or(self.terms.len());
        if place == MOST_TERMS {
            return Err(self.wrong(
                offset,
                "too many names",
                "at most 64 are allowed; * matches any characters",
            ));
        }
        if known.is_none() {
            self.terms.push(term);
        }
        self.formula.push(Step::Term(place as u8));
        self.after_operand = true;
        Ok(())
    }

    fn operator(&mut self, operator: Waiting) {
        self.apply(operator.binding());
        self.waiting.push(operator);
        self.after_operand = false;
    }

    fn close(&mut self, offset: usize) -> Result<(), SyntaxError> {
        self.apply(1);
        match self.waiting.pop() {
            Some(Waiting::Open(_)) => Ok(()),
            _ => Err(self.wrong(offset, "unmatched `)`", "there is no `(` for it")),
        }
    }

    /// Applies waiting operators of at least this precedence.
    fn apply(&mut self, binding: u8) {
        while let Some(operator) = self.waiting.pop_if(|waiting| waiting.binding() >= binding) {
            match operator {
                Waiting::Or => self.formula.push(Step::Or),
                Waiting::And => self.formula.push(Step::And),
                Waiting::Not => self.formula.push(Step::Not),
                Waiting::Open(_) => {}
            }
        }
    }

    fn finish(mut self) -> Result<Expression, SyntaxError> {
        if !self.after_operand {
            let advice = "write a function, as in `parse*`, or `module:` and a file";
            return Err(self.wrong(self.text.chars().count(), "missing name", advice));
        }
        self.apply(1);
        if let Some(Waiting::Open(offset)) = self.waiting.pop() {
            return Err(self.wrong(offset, "unclosed `(`", "add the `)`"));
        }
        Ok(Expression { text: self.text.to_owned(), terms: self.terms, formula: self.formula })
    }

    fn wrong(&self, offset: usize, what: &str, advice: &str) -> SyntaxError {
        SyntaxError::new(self.text, offset, what, advice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::pattern::Pattern;
    use proptest::prelude::*;

    fn truth(text: &str, terms: u64) -> bool {
        parse(text).unwrap_or_else(|error| panic!("{error}")).holds(terms, &mut Vec::new())
    }

    /// Check that `not` binds most and `or` least, and that brackets override both.
    #[test]
    fn operators_bind_as_in_logic() {
        for (text, expected) in [
            ("a", [false, true, false, true, false, true, false, true]),
            ("not a", [true, false, true, false, true, false, true, false]),
            ("a or b and c", [false, true, false, true, false, true, true, true]),
            ("(a or b) and c", [false, false, false, false, false, true, true, true]),
            ("not (a or b) and not not c", [false, false, false, false, true, false, false, false]),
            ("(a and not a) or (b and not b) or c", [false, false, false, false, true, true, true, true]),
        ] {
            let truths: Vec<bool> = (0..8).map(|terms| truth(text, terms)).collect();
            assert_eq!(truths, expected, "{text}");
        }
    }

    /// Check that errors point at the mistake and say what to do.
    #[test]
    fn mistakes_are_pointed_at() {
        for (text, column, what) in [
            ("", 1, "missing name"),
            ("foo and", 8, "missing name"),
            ("foo and )", 9, "missing name"),
            ("foo bar", 5, "missing operator"),
            ("foo not bar", 5, "missing operator"),
            ("(foo", 1, "unclosed `(`"),
            ("foo)", 4, "unmatched `)`"),
            ("é and \"foo", 7, "unclosed quote"),
            ("foo or \"\"", 8, "empty name"),
            ("foo and modul:libc", 9, "unknown field `modul`"),
            ("module: libc", 8, "missing name"),
            ("()", 2, "missing name"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.column(), column, "{error}");
            let shown = error.to_string();
            assert!(shown.starts_with(&format!("{what} at column {column}: ")), "{shown}");
            assert_eq!(shown.lines().last().unwrap().chars().count(), column + 2, "{shown}");
        }
    }

    /// Check that names keep what belongs to them: colons, brackets in quotes, escaped blanks.
    #[test]
    fn names_are_read_whole() {
        for (text, field, pattern) in [
            ("std::f", "function", Pattern::words("std::f")),
            ("function:f", "function", Pattern::words("f")),
            ("\"f(int) and g\"", "function", Pattern::literal("f(int) and g")),
            ("\"*\"", "function", Pattern::literal("*")),
            (r"operator\ new", "function", Pattern::words(r"operator\ new")),
            (r#""a\"b""#, "function", Pattern::literal("a\"b")),
            ("module:libc*", "module", Pattern::glob("libc*")),
            ("thread:\"a b\"", "thread", Pattern::literal("a b")),
            ("file:/src/x.c", "file", Pattern::glob("/src/x.c")),
            ("call:calloc", "call", Pattern::glob("calloc")),
        ] {
            let expected = Term { field: super::super::Field::from_name(field).unwrap(), pattern };
            assert_eq!(parse(text).unwrap().terms, [expected], "{text}");
        }
    }

    /// Check that a repeated name counts once, and that the 65th is refused.
    #[test]
    fn names_are_limited() {
        let many =
            |number: usize| (0..number).map(|name| format!("f{name}")).collect::<Vec<_>>().join(" or ");
        assert!(parse(&format!("{} or f0", many(64))).is_ok());
        let error = parse(&many(65)).unwrap_err();
        assert!(error.to_string().starts_with("too many names"), "{error}");
        let deep = format!("{}f{}", "(".repeat(100_000), ")".repeat(100_000));
        assert!(truth(&deep, 1) && truth(&format!("{}f", "not ".repeat(100_000)), 1));
    }

    /// An expression as a tree, which can be written and evaluated directly.
    #[derive(Clone, Debug)]
    enum Tree {
        Name(u8),
        Not(Box<Tree>),
        And(Box<Tree>, Box<Tree>),
        Or(Box<Tree>, Box<Tree>),
    }

    impl Tree {
        fn text(&self) -> String {
            match self {
                Tree::Name(name) => format!("n{name}"),
                Tree::Not(inner) => format!("not ({})", inner.text()),
                Tree::And(a, b) => format!("({}) and ({})", a.text(), b.text()),
                Tree::Or(a, b) => format!("{} or {}", a.text(), b.text()),
            }
        }

        fn holds(&self, names: &[bool]) -> bool {
            match self {
                Tree::Name(name) => names[usize::from(*name)],
                Tree::Not(inner) => !inner.holds(names),
                Tree::And(a, b) => a.holds(names) && b.holds(names),
                Tree::Or(a, b) => a.holds(names) || b.holds(names),
            }
        }
    }

    fn tree() -> impl Strategy<Value = Tree> {
        (0..4_u8).prop_map(Tree::Name).prop_recursive(5, 40, 2, |inner| {
            prop_oneof![
                inner.clone().prop_map(|a| Tree::Not(Box::new(a))),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| Tree::And(Box::new(a), Box::new(b))),
                (inner.clone(), inner).prop_map(|(a, b)| Tree::Or(Box::new(a), Box::new(b))),
            ]
        })
    }

    proptest! {
        /// Check that a written expression evaluates like the tree it was written from.
        #[test]
        fn written_expressions_mean_the_same(tree in tree(), names in prop::array::uniform4(any::<bool>())) {
            let parsed = parse(&tree.text()).unwrap();
            let terms = parsed.terms.iter().enumerate().fold(0, |set, (place, term)| {
                let name = (0..4_usize).find(|name| term.pattern.matches(&format!("n{name}"))).unwrap();
                set | u64::from(names[name]) << place
            });
            prop_assert_eq!(parsed.holds(terms, &mut Vec::new()), tree.holds(&names));
        }

        /// Check that any text is parsed or refused without a panic, and that every error points inside it.
        #[test]
        fn any_text_is_read_or_refused(text in "(and|or|not|[()\"\\\\ a*:é]|module:|x:){0,20}") {
            match parse(&text) {
                Ok(parsed) => {
                    parsed.holds(u64::MAX, &mut Vec::new());
                }
                Err(error) => prop_assert!(error.column() <= text.chars().count() + 1, "{}", error),
            }
        }
    }
}
