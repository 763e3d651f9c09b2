//! Who may join a recording by one of its sockets.
//!
//! | socket | whom the kernel lets connect | who joins |
//! |---|---|---|
//! | of `run`, an abstract name | anybody on this machine | this user, root, and anybody with the recording's [`Key`] |
//! | the file beside the agent | this user and root | the same |
//! | of `record --listen`, a file | whom its mode and group admit | the same: the kernel has checked |
//! | of `record --listen`, an abstract name | anybody on this machine | this user and root |
//!
//! Root's collector also records programs that switch to other users, so a uid alone does not tell who belongs to a
//! recording.

use crate::base::peer::Peer;
use shared_ring::key::Key;
use std::fs::File;
use std::io::{self, Read};

/// A socket's rule for users other than this one and root.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Admission {
    /// They must show this key.
    Key(Key),
    /// Anybody who could connect may join.
    Open,
    /// They may not join.
    Closed,
}

impl Admission {
    /// Whether a client may be admitted at all, whatever it says.
    pub(crate) fn may_admit(&self, peer: &Peer) -> bool {
        peer.is_trusted() || !matches!(self, Admission::Closed)
    }

    /// Whether a client that shows this key may join.
    pub(crate) fn admits(&self, peer: &Peer, shown: &Key) -> bool {
        peer.is_trusted()
            || match self {
                Admission::Key(key) => key.admits(shown),
                Admission::Open => true,
                Admission::Closed => false,
            }
    }
}

/// A new random key.
pub(crate) fn new_key() -> io::Result<Key> {
    let mut bytes = [0; Key::BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(Key::new(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::geteuid;

    /// Check who may join by which socket: this user and root always, another user by showing the key, or where the
    /// kernel has checked.
    #[test]
    fn sockets_admit_whom_they_are_for() {
        let (key, other) = (new_key().unwrap(), new_key().unwrap());
        let own = geteuid().as_raw();
        for uid in [0, own] {
            let peer = Peer::with_uid(uid);
            for admission in [Admission::Key(key), Admission::Open, Admission::Closed] {
                assert!(
                    admission.may_admit(&peer) && admission.admits(&peer, &Key::NONE),
                    "{admission:?} {uid}"
                );
            }
        }
        let stranger = Peer::with_uid(own + 12345);
        let cases = [
            (Admission::Key(key), true, false, true),
            (Admission::Open, true, true, true),
            (Admission::Closed, false, false, false),
        ];
        for (admission, is_heard, without, with) in cases {
            assert_eq!(admission.may_admit(&stranger), is_heard, "{admission:?}");
            for shown in [Key::NONE, other] {
                assert_eq!(admission.admits(&stranger, &shown), without, "{admission:?}");
            }
            assert_eq!(admission.admits(&stranger, &key), with, "{admission:?}");
        }
        assert!(!Admission::Key(Key::NONE).admits(&stranger, &Key::NONE), "a key that is none");
    }
}
