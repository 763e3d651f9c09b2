//! Answers agents: who may connect, and what they are given.
//!
//! | file | what it does |
//! |---|---|
//! | `socket` | the socket where agents connect, abstract or in a folder |
//! | `listening_socket` | accepts connections, also when there are no descriptors left |
//! | `listener` | the threads that answer: check who connects, make the image's memory, hand it over |
//! | `admission` | who may join by which socket: one table |
//! | `unauthenticated` | clients that have not said anything yet, limited in number |
//! | `refuse` | refuses agents |
//! | `rejected` | processes of other users that tried to join without the right to |
//! | `unrecorded` | agents that should have been recorded but could not be |

mod admission;
pub(crate) mod listener;
pub(crate) mod listening_socket;
pub(crate) mod refuse;
mod rejected;
mod socket;
mod unauthenticated;
mod unrecorded;
