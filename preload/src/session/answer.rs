//! What a resting process does when the doorbell rings, and a recorded one when its recording is over.

use super::{connect, departure, doorbell, fork, join, readiness};
use crate::next::allocator::{Allocator, Library};
use crate::platform::thread_local::ThreadLocal;
use crate::platform::{allowed_calls, arch, config, sys};
use crate::process::{self, ANSWERING, CONNECTED, DORMANT, LEAVING};
use crate::thread::sampler;
use shared_ring::handshake::Purpose;

/// Finds out for a thread, which is in no hook of a session, what has changed since it last did. True when its calls
/// are to be recorded from now on. `tell` is called when a session
/// has begun.
#[cold]
#[inline(never)]
pub(crate) fn catch_up(local: &ThreadLocal, tell: fn()) -> bool {
    if local.is_busy() || local.is_in_vfork() || local.is_within_allocator(arch::stack_pointer()) {
        return false;
    }
    if process::state() == CONNECTED && !process::is_recorded() {
        process::leave();
    }
    // Loaded before the looks that it stands for: a later change is noticed later.
    let epoch = process::epoch();
    match process::state() {
        LEAVING | DORMANT => {
            if !answer(tell) {
                let is_settled = departure::settle();
                let bytes = if is_settled { sampler::UNRECORDED } else { departure::until_next_look() };
                local.meet(epoch);
                local.rest(is_settled && Library::is_plain(), bytes);
                return false;
            }
            // The epoch of the session that has just begun.
            local.meet(process::epoch());
        }
        CONNECTED => local.meet(epoch),
        _ => {
            fork::recover(connect::forget_held);
            return false;
        }
    }
    // False while the program itself wants nothing recorded.
    process::is_recording()
}

/// Connects to the collector that has called this process since it last looked; true when that began a session.
#[cold]
fn answer(tell: fn()) -> bool {
    if allowed_calls::is_confined() {
        return false;
    }
    let Some(socket) = doorbell::take_call() else { return false };
    // A handler could leave this by `longjmp`, and would break off the exchange.
    sys::without_signals(|| answer_at(socket, tell))
}

fn answer_at(socket: &[u8], tell: fn()) -> bool {
    if !departure::settle() {
        connect::tell_busy(socket);
        return false;
    }
    if !process::map_page() {
        return false;
    }
    fork::begin_alone_after_fork(0);
    if !process::move_on(DORMANT, ANSWERING) {
        return false;
    }
    join::begin(connect::connect(socket, Purpose::Called));
    tell();
    process::state() == CONNECTED
}

/// Makes a resting process listen to a doorbell: the one that it has found, or finds now, or else the one in
/// `folder`. False when there is none, or the process wants none.
#[cold]
pub(crate) fn hear_in(folder: &[u8]) -> bool {
    if doorbell::is_there() || config::is_disabled() || process::state() != DORMANT {
        return doorbell::is_there();
    }
    doorbell::find();
    let is_found = (doorbell::is_there() || doorbell::find_in(folder)) && readiness::prepare();
    process::turn_away();
    is_found
}

/// Leaves a recording that is over, without waiting for a hook to notice. False while threads are still in its
/// memory.
#[cold]
pub(crate) fn withdraw() -> bool {
    if process::state() == CONNECTED && !process::is_recorded() {
        process::leave();
    }
    process::state() != LEAVING || departure::settle()
}
