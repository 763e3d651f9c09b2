//! An answer.

use crate::pieces::Pieces;
use hyper::body::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

/// An answer: a status, headers and a body, which may be shared with others who take the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Headers besides those of every answer.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Bytes,
}

impl Answer {
    /// A document of this content type.
    pub fn found(kind: &str, body: impl Into<Bytes>) -> Answer {
        Answer { status: 200, headers: vec![("content-type", kind.to_owned())], body: body.into() }
    }

    /// A short text that says what is wrong.
    pub fn error(status: u16, text: &str) -> Answer {
        let body = Bytes::copy_from_slice(text.as_bytes());
        Answer { status, ..Answer::found("text/plain; charset=utf-8", body) }
    }

    /// The same with another header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Answer {
        self.headers.push((name, value.into()));
        self
    }

    /// As hyper has it. Answers are not for others to keep, to sniff types in or to embed.
    pub(crate) fn response(self) -> Response<Pieces> {
        let mut response = Response::new(Pieces::new(self.body));
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        for (name, value) in self.headers {
            // A value that no header may have is left out.
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        response
    }
}
