//! Packets of a trace, all of one sequence.

use super::stacks::Stacks;
use crate::protobuf::Message;
use capture::NodeId;
use engine::Loaded;
use std::io::{self, Write};

/// The time of the recording's beginning in the trace: a time of 0 counts as none.
const START: u64 = 1_000_000_000;

/// Numbers of the fields of `TracePacket`.
mod field {
    pub(super) const CLOCK_SNAPSHOT: u32 = 6;
    pub(super) const TIMESTAMP: u32 = 8;
    pub(super) const SEQUENCE_ID: u32 = 10;
    pub(super) const INTERNED_DATA: u32 = 12;
    pub(super) const SEQUENCE_FLAGS: u32 = 13;
    pub(super) const DEFAULTS: u32 = 59;
}

/// `SEQ_INCREMENTAL_STATE_CLEARED`: interned data begins here.
const BEGINS: u64 = 1;
/// `SEQ_NEEDS_INCREMENTAL_STATE`: ids refer to interned data.
const CONTINUES: u64 = 2;

/// A trace that is being written.
pub(super) struct Packets<'a> {
    out: &'a mut dyn Write,
    loaded: &'a Loaded,
    stacks: Stacks<'a>,
}

impl<'a> Packets<'a> {
    pub(super) fn new(out: &'a mut dyn Write, loaded: &'a Loaded) -> Packets<'a> {
        Packets { out, loaded, stacks: Stacks::new(loaded) }
    }

    /// Writes what comes before everything else: when the recording began by the clocks that packets refer to, and
    /// what is the same for all packets.
    pub(super) fn head(&mut self, defaults: &Message) -> io::Result<()> {
        const REALTIME: u64 = 1;
        const MONOTONIC: u64 = 3;
        // The clock of heap profiles.
        const MONOTONIC_COARSE: u64 = 4;
        // The clock of all others.
        const BOOTTIME: u64 = 6;
        let mut clocks = Message::new();
        let began = self.loaded.tables.metadata.started_unix_ns;
        let own = [MONOTONIC, MONOTONIC_COARSE, BOOTTIME].map(|clock| (clock, START));
        for (clock, time) in own.into_iter().chain((began > 0).then_some((REALTIME, began))) {
            clocks.message(1, Message::new().uint(1, clock).uint(2, time));
        }
        let mut packet = Message::new();
        packet.uint(field::SEQUENCE_ID, 1).uint(field::SEQUENCE_FLAGS, BEGINS);
        packet.message(field::CLOCK_SNAPSHOT, &clocks).message(field::DEFAULTS, defaults);
        self.packet(&packet)
    }

    /// Writes a packet with this content in this field, at a time since the recording began.
    pub(super) fn write(&mut self, time: u64, field: u32, content: &Message) -> io::Result<()> {
        let mut packet = Message::new();
        packet.uint(field::TIMESTAMP, Packets::time(time));
        packet.uint(field::SEQUENCE_ID, 1).uint(field::SEQUENCE_FLAGS, CONTINUES);
        let news = self.stacks.take_new();
        if !news.as_bytes().is_empty() {
            packet.message(field::INTERNED_DATA, &news);
        }
        packet.message(field, content);
        self.packet(&packet)
    }

    /// The id of a call stack.
    pub(super) fn stack(&mut self, node: NodeId) -> u64 {
        self.stacks.id(node)
    }

    /// A time since the recording began, by the clocks of the trace.
    pub(super) fn time(time: u64) -> u64 {
        time.saturating_add(START)
    }

    fn packet(&mut self, packet: &Message) -> io::Result<()> {
        self.out.write_all(Message::new().message(1, packet).as_bytes())
    }
}
