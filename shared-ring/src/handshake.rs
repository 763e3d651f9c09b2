//! The messages that agent and collector exchange once, over a Unix socket of sequenced packets.
//!
//! ```text
//!  agent ── Hello (64 bytes) ──────────────────────────► collector
//!  agent ◄─ Reply (64 bytes) + [segment, control] fds ── collector      (no descriptors unless accepted)
//! ```
//!
//! A process that was called by the doorbell sends a hello in two more cases: instead of the one above when it cannot
//! be recorded yet, and after the answer when it has mapped the memory. Without the latter, nobody would know whether
//! an agent that waits only so briefly has received its answer.
//!
//! ```text
//!  agent ── Hello, called ─────────────────────────────► collector
//!  agent ◄─ Reply + fds ───────────────────────────────── collector
//!  agent ── Hello, mapped ─────────────────────────────► collector
//! ```
//!
//! All messages are sixteen little-endian 32-bit words that begin with a magic number and the protocol version.
//! Unused words are zero and ignored, so that a later version may use them.
//!
//! ```text
//!          0      1        2        3    4         5        6       7 … 10   11 … 15
//!  Hello  mpHe  version   pid      address space  purpose  inside    key      0
//!  Reply  mpRe  version  verdict  slot   geometry: six words, 4 … 9           0
//! ```
//!
//! Up to version 6, a hello has no key, so its words 7 to 10 are zero. Agent and collector of any version find the
//! other side's version in word 1, and refuse one that is not their own.

use crate::geometry::Geometry;
use crate::key::Key;

/// Size of each message in bytes.
pub const MESSAGE: usize = 64;
const HELLO_MAGIC: u32 = u32::from_le_bytes(*b"mpHe");
const REPLY_MAGIC: u32 = u32::from_le_bytes(*b"mpRe");
const WORDS: usize = MESSAGE / 4;

/// Why an agent sends a hello.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Purpose {
    /// Its process begins.
    #[default]
    Start = 0,
    /// The doorbell has called it.
    Called = 1,
    /// The doorbell has called it, but threads of it may still use the memory of an earlier recording.
    Busy = 2,
    /// It has mapped the memory that it was given.
    Mapped = 3,
}

/// Whether the program has an allocator inside, which no preloaded library can precede.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Inside {
    /// There is none.
    #[default]
    Nothing = 0,
    /// Its calls were redirected to the agent before the program began, but after libraries began.
    Led = 1,
    /// They could not be redirected: what goes through it is not recorded.
    Unseen = 2,
}

/// The agent's message.
#[derive(Clone, Copy, Debug)]
pub struct Hello {
    /// [`crate::PROTOCOL_VERSION`] of the agent.
    pub version: u32,
    /// The process' pid in its own namespace.
    pub pid: u32,
    /// The process' limit on address space in bytes; `u64::MAX` for none.
    pub address_space: u64,
    /// Why the agent sends this.
    pub purpose: Purpose,
    /// The program's own allocator.
    pub inside: Inside,
    /// The recording's key, from the environment; [`Key::NONE`] when there is none.
    pub key: Key,
}

/// Whether an agent is recorded, or why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Verdict {
    /// It is recorded: two descriptors come with the message.
    Accepted = 0,
    /// The collector has another protocol version.
    Version = 1,
    /// The process was not chosen (`--only`, `--skip`, `--no-follow`).
    NotChosen = 2,
    /// The recording is over.
    Over = 3,
    /// The process is another user's, and has not shown the recording's key.
    NotAdmitted = 4,
    /// There is no memory or no descriptor for recording it.
    NoMeans = 5,
}

/// The collector's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// [`crate::PROTOCOL_VERSION`] of the collector.
    pub version: u32,
    /// Whether the agent is recorded.
    pub verdict: Verdict,
    /// Sizes of the segment.
    pub geometry: Geometry,
    /// The agent's process slot.
    pub slot: u32,
}

fn get(message: &[u8; MESSAGE], index: usize) -> u32 {
    let mut bytes = [0; 4];
    for (to, from) in bytes.iter_mut().zip(message.iter().skip(index * 4)) {
        *to = *from;
    }
    u32::from_le_bytes(bytes)
}

fn message(words: [u32; WORDS]) -> [u8; MESSAGE] {
    let mut bytes = [0; MESSAGE];
    for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

impl Hello {
    /// The message.
    pub fn to_bytes(&self) -> [u8; MESSAGE] {
        let mut words = [0; WORDS];
        words[0] = HELLO_MAGIC;
        words[1] = self.version;
        words[2] = self.pid;
        words[3] = self.address_space as u32;
        words[4] = (self.address_space >> 32) as u32;
        words[5] = self.purpose as u32;
        words[6] = self.inside as u32;
        words[7..11].copy_from_slice(&self.key.to_words());
        message(words)
    }

    /// From a message; `None` when it is not a hello.
    pub fn from_bytes(bytes: &[u8; MESSAGE]) -> Option<Self> {
        if get(bytes, 0) != HELLO_MAGIC {
            return None;
        }
        let purpose = match get(bytes, 5) {
            0 => Purpose::Start,
            1 => Purpose::Called,
            2 => Purpose::Busy,
            3 => Purpose::Mapped,
            _ => return None,
        };
        let inside = match get(bytes, 6) {
            1 => Inside::Led,
            2 => Inside::Unseen,
            _ => Inside::Nothing,
        };
        Some(Self {
            version: get(bytes, 1),
            pid: get(bytes, 2),
            address_space: u64::from(get(bytes, 3)) | u64::from(get(bytes, 4)) << 32,
            purpose,
            inside,
            key: Key::from_words([7, 8, 9, 10].map(|index| get(bytes, index))),
        })
    }
}

impl Reply {
    /// The message.
    pub fn to_bytes(&self) -> [u8; MESSAGE] {
        let mut words = [0; WORDS];
        words[0] = REPLY_MAGIC;
        words[1] = self.version;
        words[2] = self.verdict as u32;
        words[3] = self.slot;
        words[4..10].copy_from_slice(&self.geometry.to_words());
        message(words)
    }

    /// From a message; `None` when it is not a reply, or has an impossible geometry.
    pub fn from_bytes(bytes: &[u8; MESSAGE]) -> Option<Self> {
        if get(bytes, 0) != REPLY_MAGIC {
            return None;
        }
        let verdict = match get(bytes, 2) {
            0 => Verdict::Accepted,
            1 => Verdict::Version,
            2 => Verdict::NotChosen,
            3 => Verdict::Over,
            4 => Verdict::NotAdmitted,
            5 => Verdict::NoMeans,
            _ => return None,
        };
        let words = [4, 5, 6, 7, 8, 9].map(|index| get(bytes, index));
        let geometry = Geometry::from_words(words)?;
        Some(Self { version: get(bytes, 1), verdict, slot: get(bytes, 3), geometry })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Check that both messages are decoded as they were encoded.
    #[test]
    fn messages_round_trip() {
        let hello = Hello {
            version: 9,
            pid: 1234,
            address_space: 5 << 33,
            purpose: Purpose::Start,
            inside: Inside::Unseen,
            key: Key::new(*b"sixteen bytes of"),
        };
        for purpose in [Purpose::Start, Purpose::Called, Purpose::Busy, Purpose::Mapped] {
            let hello = Hello { purpose, ..hello };
            let back = Hello::from_bytes(&hello.to_bytes()).unwrap();
            assert_eq!((back.version, back.pid, back.address_space), (9, 1234, 5 << 33));
            assert_eq!((back.purpose, back.inside), (purpose, Inside::Unseen));
            assert!(hello.key.admits(&back.key));
        }
        for verdict in [
            Verdict::Accepted,
            Verdict::Version,
            Verdict::NotChosen,
            Verdict::Over,
            Verdict::NotAdmitted,
            Verdict::NoMeans,
        ] {
            let reply = Reply { version: 1, verdict, geometry: Geometry::default(), slot: 3 };
            assert_eq!(Reply::from_bytes(&reply.to_bytes()), Some(reply));
        }
        assert_eq!(Reply::from_bytes(&hello.to_bytes()), None);
    }

    /// Check that both messages have their words where the documentation says, whichever version reads them.
    #[test]
    fn words_are_where_they_are_documented() {
        let key = Key::new([1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0]);
        let (purpose, inside) = (Purpose::Busy, Inside::Led);
        let hello = Hello { version: 7, pid: 8, address_space: 6 << 32 | 5, purpose, inside, key };
        let words = |bytes: [u8; MESSAGE]| {
            [(); WORDS].iter().enumerate().map(|(at, ())| get(&bytes, at)).collect::<Vec<_>>()
        };
        let magic = u32::from_le_bytes(*b"mpHe");
        assert_eq!(words(hello.to_bytes()), [magic, 7, 8, 5, 6, 2, 1, 1, 2, 3, 4, 0, 0, 0, 0, 0]);
        let geometry = Geometry::default();
        let reply = Reply { version: 7, verdict: Verdict::NotAdmitted, geometry, slot: 3 };
        let magic = u32::from_le_bytes(*b"mpRe");
        let expected = [[magic, 7, 4, 3].as_slice(), &geometry.to_words(), &[0; 6]].concat();
        assert_eq!(words(reply.to_bytes()), expected);
        // An agent of version 6 has no key; the rest of its hello is understood.
        let mut old = hello.to_bytes();
        old[4] = 6;
        old[28..].fill(0);
        let old = Hello::from_bytes(&old).unwrap();
        assert!(old.version == 6 && !key.admits(&old.key));
    }

    proptest! {
        /// Check that any message from a stranger is refused or sound.
        #[test]
        fn any_bytes_give_a_sound_geometry_or_nothing(mut bytes in proptest::collection::vec(any::<u8>(), MESSAGE)) {
            bytes[..4].copy_from_slice(b"mpRe");
            let bytes: [u8; MESSAGE] = bytes.try_into().unwrap();
            if let Some(reply) = Reply::from_bytes(&bytes) {
                prop_assert!(reply.geometry.is_sound());
            }
        }
    }
}
