//! Finds the earliest of many streams, and the key at which the next one takes over: a tree of losers.
//!
//! Each stream is a leaf. An inner node keeps the loser of its two sides, and the winner moves up; above the root is
//! the earliest of all. When that stream has advanced, it plays again, but only against the losers on its own path:
//! three games for eight streams, without a hard-to-predict branch.
//!
//! ```text
//!            winner 2           after 2 has become 9:      winner 3
//!              [7]                                           [7]
//!         [3]       [8]                                 [9]       [8]
//!        2   3     7   8                               9   3     7   8
//! ```

use super::merge_key::MergeKey;

/// A stream with its next record's key.
#[derive(Clone, Copy, Debug)]
struct Player {
    key: MergeKey,
    stream: u32,
    /// Its leaf.
    leaf: u32,
}

const NOBODY: Player = Player { key: MergeKey::LAST, stream: 0, leaf: 0 };

/// The tree. Nodes are numbered from 1, the root; the children of `n` are `2n` and `2n + 1`; leaf `i` of `n` leaves
/// would be node `n + i`.
#[derive(Debug, Default)]
pub(crate) struct LoserTree {
    losers: Vec<Player>,
    winner: Option<Player>,
    /// Buffer for the first round of games.
    round: Vec<Player>,
}

impl LoserTree {
    /// Replaces all streams.
    pub(crate) fn fill(&mut self, streams: impl Iterator<Item = (MergeKey, u32)>) {
        self.round.clear();
        let players = (0..).zip(streams);
        self.round.extend(players.map(|(leaf, (key, stream))| Player { key, stream, leaf }));
        self.winner = None;
        if self.round.is_empty() {
            return;
        }
        let leaves = self.round.len().next_power_of_two();
        self.round.resize(leaves, NOBODY);
        self.losers.clear();
        self.losers.resize(leaves, NOBODY);
        let mut count = leaves;
        while count > 1 {
            count /= 2;
            for game in 0..count {
                let (one, two) = (self.round[2 * game], self.round[2 * game + 1]);
                let (winner, loser) = if two.key < one.key { (two, one) } else { (one, two) };
                self.round[game] = winner;
                self.losers[count + game] = loser;
            }
        }
        self.winner = self.round.first().copied();
    }

    /// The earliest stream and its key; `None` when all are done.
    #[inline(always)]
    pub(crate) fn first(&self) -> Option<(MergeKey, u32)> {
        self.winner.filter(|winner| winner.key < MergeKey::LAST).map(|winner| (winner.key, winner.stream))
    }

    /// The key of the second earliest stream; [`MergeKey::LAST`] when there is none.
    // Cost: a look at each node on the winner's path.
    #[inline(always)]
    pub(crate) fn second(&self) -> MergeKey {
        let mut key = MergeKey::LAST;
        let mut node = self.parent();
        while node > 0 {
            key = key.min(self.losers.get(node).map_or(MergeKey::LAST, |loser| loser.key));
            node /= 2;
        }
        key
    }

    /// Moves the earliest stream to this key, or to [`MergeKey::LAST`].
    // Cost: a game at each node on its path. Among equals it stays first.
    #[inline(always)]
    pub(crate) fn replace_first(&mut self, key: MergeKey) {
        let mut node = self.parent();
        let Some(mut player) = self.winner else { return };
        player.key = key;
        while let Some(loser) = self.losers.get_mut(node).filter(|_| node > 0) {
            let is_beaten = loser.key < player.key;
            let (winner, beaten) = if is_beaten { (*loser, player) } else { (player, *loser) };
            *loser = beaten;
            player = winner;
            node /= 2;
        }
        self.winner = Some(player);
    }

    /// The node of the winner's first game.
    #[inline(always)]
    fn parent(&self) -> usize {
        self.winner.map_or(0, |winner| (self.losers.len() + winner.leaf as usize) / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::super::merge_key::Rank;
    use super::*;
    use proptest::prelude::*;

    fn key(time: u64) -> MergeKey {
        MergeKey::new(time, Rank::Other)
    }

    /// Check that the picture above holds.
    #[test]
    fn pictured_streams_play_so() {
        let mut tree = LoserTree::default();
        tree.fill([2, 3, 7, 8].into_iter().map(|time| (key(time), time as u32)));
        assert_eq!((tree.first(), tree.second()), (Some((key(2), 2)), key(3)));
        tree.replace_first(key(9));
        assert_eq!((tree.first(), tree.second()), (Some((key(3), 3)), key(7)));
    }

    proptest! {
        /// Check that the first two are always the earliest two, through advances and ends.
        #[test]
        fn first_two_are_the_earliest(
            times in proptest::collection::vec(0u64..100, 0..30),
            steps in proptest::collection::vec(proptest::option::of(0u64..20), 0..60),
        ) {
            let mut expected: Vec<MergeKey> = times.into_iter().map(key).collect();
            let mut tree = LoserTree::default();
            tree.fill(expected.iter().copied().zip(0..));
            for step in steps {
                expected.sort_unstable();
                prop_assert_eq!(tree.first().map(|(key, _)| key), expected.first().copied());
                prop_assert_eq!(tree.second(), expected.get(1).copied().unwrap_or(MergeKey::LAST));
                let Some(first) = expected.first_mut() else { break };
                match step {
                    Some(later) => {
                        *first = key(first.time() + later);
                        tree.replace_first(*first);
                    }
                    None => {
                        expected.remove(0);
                        tree.replace_first(MergeKey::LAST);
                    }
                }
            }
        }
    }
}
