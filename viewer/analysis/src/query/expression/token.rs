//! Splits an expression into tokens.

use super::syntax_error::SyntaxError;
use super::{Field, Pattern, Term};
use std::iter::Peekable;
use std::str::Chars;

/// A word or a sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Open,
    Close,
    And,
    Or,
    Not,
    Term(Term),
}

/// Reads one token after the other, each with its position.
pub(super) struct Tokens<'a> {
    text: &'a str,
    letters: Peekable<Chars<'a>>,
    offset: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, letters: text.chars().peekable(), offset: 0 }
    }

    fn letter(&mut self) -> Option<char> {
        let letter = self.letters.next();
        self.offset += usize::from(letter.is_some());
        letter
    }

    fn next_if(&mut self, wanted: impl Fn(char) -> bool) -> Option<char> {
        let letter = self.letters.next_if(|&letter| wanted(letter));
        self.offset += usize::from(letter.is_some());
        letter
    }

    fn token(&mut self) -> Result<Token, SyntaxError> {
        let start = self.offset;
        if self.next_if(|letter| letter == '(').is_some() {
            return Ok(Token::Open);
        }
        if self.next_if(|letter| letter == ')').is_some() {
            return Ok(Token::Close);
        }
        if self.letters.peek() == Some(&'"') {
            return Ok(Token::Term(Term { field: Field::Function, pattern: self.quoted()? }));
        }
        let word = self.word();
        match word.as_str() {
            "and" => return Ok(Token::And),
            "or" => return Ok(Token::Or),
            "not" => return Ok(Token::Not),
            _ => {}
        }
        let Some((field, name)) = split_field(&word) else {
            return Ok(Token::Term(Term { field: Field::Function, pattern: Pattern::words(&word) }));
        };
        let Some(field) = Field::from_name(field) else {
            let advice =
                "use function, module, file, process, thread or call; quote a name that has a colon in it";
            return Err(SyntaxError::new(self.text, start, &format!("unknown field `{field}`"), advice));
        };
        let pattern = match (name, self.letters.peek()) {
            ("", Some('"')) => self.quoted()?,
            ("", _) => {
                let advice = "write it right after the colon, as in `module:libc*`";
                return Err(SyntaxError::new(self.text, self.offset, "missing name", advice));
            }
            (name, _) if field == Field::Function => Pattern::words(name),
            (name, _) => Pattern::glob(name),
        };
        Ok(Token::Term(Term { field, pattern }))
    }

    /// Characters up to a blank, a bracket or a quote. Backslashes are kept for the pattern to interpret.
    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(letter) = self.next_if(|letter| !letter.is_whitespace() && !"()\"".contains(letter)) {
            word.push(letter);
            if letter == '\\' {
                word.extend(self.letter());
            }
        }
        word
    }

    fn quoted(&mut self) -> Result<Pattern, SyntaxError> {
        let start = self.offset;
        self.letter();
        let mut name = String::new();
        loop {
            match self.letter() {
                Some('"') => break,
                Some('\\') => name.extend(self.letter()),
                Some(letter) => name.push(letter),
                None => {
                    let advice = "add the closing \"";
                    return Err(SyntaxError::new(self.text, start, "unclosed quote", advice));
                }
            }
        }
        if name.is_empty() {
            let advice = "a name has at least one character";
            return Err(SyntaxError::new(self.text, start, "empty name", advice));
        }
        Ok(Pattern::literal(&name))
    }
}

impl Iterator for Tokens<'_> {
    type Item = Result<(usize, Token), SyntaxError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.next_if(char::is_whitespace).is_some() {}
        self.letters.peek()?;
        let start = self.offset;
        Some(self.token().map(|token| (start, token)))
    }
}

/// `module:libc` as field and name. A double colon, as in `std::f`, does not separate a field.
fn split_field(word: &str) -> Option<(&str, &str)> {
    let (field, name) = word.split_once(':')?;
    let is_word = !field.is_empty() && field.chars().all(|letter| letter.is_ascii_alphabetic());
    (is_word && !name.starts_with(':')).then_some((field, name))
}
