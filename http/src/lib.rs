//! An HTTP server for a few readers: browsers and scrapers of this machine, and whoever else has a token.
//!
//! It answers GET requests from a [`Site`], which knows what there is; this crate knows nothing of captures. Whatever
//! clients do, memory, threads and descriptors are bounded by [`Limits`], and nobody waits for a slow one:
//!
//! ```text
//!                 accept                     the site, in a thread          its pieces, as the client takes them
//!  connection ──► Asking ─── admitted ─────► Awaiting ────────────────────► Taking ───► Asking (keep-alive) or closed
//!                   └─────── refused: a short answer, no thread ──────────────▲
//! ```
//!
//! All connections are in one thread. Each state but Awaiting has a limited time. Where there are too many connections,
//! the one that has kept us waiting for longest is closed: of those that ask nothing if there are any, or else of those
//! that take nothing.
//!
//! | file | what it does |
//! |---|---|
//! | `server` | the thread of all connections, with a runtime of tokio |
//! | `connection` `clients` | a connection, and its client's time; who has to go |
//! | `request` `site` `answer` | what sites get, are and give |
//! | `pieces` | a body on its way, as far as the client has taken it |
//! | `address` `listener` | where to listen, and the socket |
//! | `limits` `secret` | what clients may take; comparing what they must know |
//!
//! HTTP itself is hyper's. There is no TLS: whoever listens beyond this machine puts a proxy in front.

mod address;
mod answer;
mod clients;
mod connection;
mod limits;
mod listener;
mod pieces;
mod request;
mod secret;
mod server;
mod site;

pub use address::{Address, NoAddress};
pub use answer::Answer;
pub use hyper::body::Bytes;
pub use limits::Limits;
pub use listener::Listener;
pub use request::Request;
pub use secret::is_same;
pub use server::{Server, serve};
pub use site::Site;

#[cfg(test)]
mod tests;
