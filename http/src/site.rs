//! What is served.

use crate::answer::Answer;
use crate::request::Request;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a server answers, and to whom.
pub trait Site: Send + Sync + 'static {
    /// Whether a request is worth a thread; called in the thread of all connections, so it must not wait.
    ///
    /// # Errors
    /// The answer for those who are refused.
    fn admit(&self, request: &Request) -> Result<(), Answer>;

    /// Answers an admitted request, in a thread of its own. `gone` is set when its client has left: long work is given
    /// up then.
    fn answer(&self, request: &Request, gone: &Arc<AtomicBool>) -> Answer;
}
