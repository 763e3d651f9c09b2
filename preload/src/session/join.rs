//! How a process becomes part of a recording: when it begins, and after a fork.

use super::connect;
use super::{claim, doorbell, readiness, reservation, upcalls};
use crate::modules;
use crate::platform::{allowed_calls, config};
use crate::process::{self, STARTING, Session, UNBORN, accessible, pause};
use crate::thread::sampler;
use core::sync::atomic::Ordering;
use shared_ring::handshake::Purpose;

/// Makes this process part of the recording if it is not yet: connects, or claims a slot after a fork. True when the
/// process has an epoch.
#[cold]
pub(crate) fn join() -> bool {
    if process::state() == UNBORN && readiness::is_ready() {
        start();
    }
    let (Some(session), Some(page)) = (process::session(), process::page()) else { return false };
    if page.epoch.load(Ordering::Acquire) != 0 {
        return true;
    }
    claim::claim(session, page)
}

/// Looks for the doorbell, and connects to the collector that the environment names. Runs once.
#[cold]
fn start() {
    let is_able = !config::is_disabled()
        && readiness::is_supported()
        && readiness::is_first_copy()
        && process::map_page();
    if let Some(page) = process::page() {
        // Before the state: otherwise a thread that sees STARTING would take this process for a forked child of one
        // that is starting.
        page.is_known.store(1, Ordering::Relaxed);
    }
    // Only one thread starts; the others see STARTING and continue unrecorded for that moment.
    if !process::move_on(UNBORN, STARTING) {
        return;
    }
    if !is_able {
        return process::rest();
    }
    doorbell::find();
    let socket = config::read();
    if (socket.is_some() || doorbell::is_there()) && readiness::prepare() {
        sampler::seed();
        upcalls::lead();
        return begin(socket.and_then(|socket| connect::connect(socket, Purpose::Start)));
    }
    process::rest();
}

/// Puts a process to rest that has no doorbell to be called by, see [`super::answer::hear_in`].
#[cold]
pub(crate) fn begin_deaf() {
    let is_able = process::map_page();
    if let Some(page) = process::page() {
        page.is_known.store(1, Ordering::Relaxed);
    }
    if is_able && process::move_on(UNBORN, STARTING) {
        process::rest();
    }
}

/// Begins a session, or rests when there is none. Only one thread is in STARTING or ANSWERING.
#[cold]
pub(super) fn begin(session: Option<Session>) {
    let session = session.filter(|session| {
        allowed_calls::learn();
        let is_begun = modules::start(process::wants_interpreters(session)) && sampler::start(session);
        if !is_begun {
            reservation::void(&session.segment.geometry());
        }
        is_begun
    });
    let (Some(session), Some(page)) = (session, process::page()) else { return process::rest() };
    accessible::begin();
    process::prepare(session, page);
    // Claimed now; otherwise the first calls of several threads would find each other claiming it.
    if !claim::claim(session, page) {
        return process::rest();
    }
    pause::begin(session.control.header().paused.load(Ordering::Relaxed) != 0);
    process::open(page);
}
