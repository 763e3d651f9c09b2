//! A request, as far as sites need it.

use crate::answer::Answer;
use hyper::header::{ACCEPT, AUTHORIZATION, HOST, HeaderName};
use hyper::{Method, body::Incoming};

/// A request to read something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The path.
    pub path: String,
    /// The query string; empty without one.
    pub query: String,
    /// The host that the client believes it talks to.
    pub host: String,
    /// The content types that it takes; empty: any.
    pub accept: String,
    /// The token that it shows, of `Authorization: Bearer`.
    pub token: Option<String>,
}

impl Request {
    /// The parameters of the query string.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        self.query.split('&').filter_map(|pair| pair.split_once('='))
    }

    /// What a site needs of a request; the answer for one that wants to do something other than read, or does not say
    /// whom it is for.
    pub(crate) fn of(request: &hyper::Request<Incoming>) -> Result<Request, Answer> {
        if request.method() != Method::GET {
            return Err(Answer::error(405, "only GET is allowed").with("allow", "GET"));
        }
        let header = |name: &HeaderName| {
            let mut values = request.headers().get_all(name).iter();
            let value = values.next().map(|value| value.to_str().unwrap_or_default().trim());
            if values.next().is_some() { Err(Answer::error(400, "malformed request")) } else { Ok(value) }
        };
        let Some(host) = header(&HOST)? else { return Err(Answer::error(400, "malformed request")) };
        let accept = request.headers().get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let token = header(&AUTHORIZATION)?.and_then(|value| value.split_once(' '));
        let token = token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        Ok(Request {
            path: request.uri().path().to_owned(),
            query: request.uri().query().unwrap_or_default().to_owned(),
            host: host.to_owned(),
            accept: accept.collect::<Vec<_>>().join(","),
            token: token.map(|(_, token)| token.trim().to_owned()),
        })
    }
}
