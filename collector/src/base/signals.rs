//! Signals as readable events, without handlers: no code runs at an arbitrary moment.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// The signals that a recording handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// `SIGINT`, from ^C.
    Interrupt,
    /// `SIGQUIT`, from ^\.
    Quit,
    /// `SIGTERM`.
    Terminate,
    /// `SIGHUP`: the terminal is gone.
    Hangup,
    /// `SIGUSR1`: a snapshot is requested.
    Snapshot,
    /// `SIGCHLD`: a child ended.
    Child,
}

/// Who sent a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The terminal, which sends to the whole foreground process group: the target has it as well.
    Terminal,
    /// A process, perhaps only to us.
    Process,
}

/// A signal that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Which signal.
    pub signal: Signal,
    /// Its sender.
    pub origin: Origin,
}

/// Receives signals in place of their default actions.
#[derive(Debug)]
pub struct Signals {
    descriptor: std::fs::File,
}

impl Signal {
    const ALL: [Signal; 6] =
        [Signal::Interrupt, Signal::Quit, Signal::Terminate, Signal::Hangup, Signal::Snapshot, Signal::Child];

    /// The system's number of the signal.
    pub fn number(self) -> i32 {
        match self {
            Signal::Interrupt => libc::SIGINT,
            Signal::Quit => libc::SIGQUIT,
            Signal::Terminate => libc::SIGTERM,
            Signal::Hangup => libc::SIGHUP,
            Signal::Snapshot => libc::SIGUSR1,
            Signal::Child => libc::SIGCHLD,
        }
    }
}

impl Signals {
    /// From now on this thread, and those it starts, leave these signals to [`Signals::next`] instead of dying of
    /// them. So call this before any thread is started, and after `Launch::prepare`, whose process keeps the
    /// original settings. Signals that were ignored, as by `nohup`, stay ignored, except those in `even_ignored`.
    ///
    /// # Errors
    /// When the system refuses a descriptor.
    pub fn catch(even_ignored: &[Signal]) -> io::Result<Signals> {
        let mut set = empty_set();
        for signal in Signal::ALL {
            let wanted = signal == Signal::Child || even_ignored.contains(&signal);
            if wanted || !is_ignored(signal.number()) {
                add(&mut set, signal.number());
            }
        }
        // An ignored SIGCHLD would reap children unseen.
        // SAFETY: SIG_DFL is a valid action for SIGCHLD.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
        let mut blocked = set;
        // Blocked but never read: a file that exceeds its limit is then an error of the write, and does not kill us.
        add(&mut blocked, libc::SIGXFSZ);
        // SAFETY: `blocked` is initialised, and a null pointer asks for no old set.
        let failed =
            unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const blocked, std::ptr::null_mut()) };
        if failed != 0 {
            return Err(io::Error::from_raw_os_error(failed));
        }
        // SAFETY: `set` is initialised, and -1 asks for a new descriptor.
        let descriptor =
            unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made and belongs to nobody else.
        let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
        Ok(Signals { descriptor: descriptor.into() })
    }

    /// The next signal; `None` when `timeout` passes first.
    ///
    /// # Errors
    /// When the system fails to wait.
    pub fn next(&self, timeout: Duration) -> io::Result<Option<Received>> {
        self.next_or(&self.descriptor, timeout)
    }

    /// The next signal; `None` when `other` becomes readable or `timeout` passes first.
    ///
    /// # Errors
    /// When the system fails to wait.
    pub fn next_or(&self, other: impl AsFd, timeout: Duration) -> io::Result<Option<Received>> {
        let timeout = Timespec::try_from(timeout).map_err(io::Error::other)?;
        let mut both = [PollFd::new(&self.descriptor, PollFlags::IN), PollFd::new(&other, PollFlags::IN)];
        match poll(&mut both, Some(&timeout)) {
            Ok(0) | Err(Errno::INTR) => return Ok(None),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut info = [0u8; size_of::<libc::signalfd_siginfo>()];
        match (&self.descriptor).read(&mut info) {
            Ok(_) => Ok(received(&info)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The signals that were blocked in a thread before [`block_signals`].
#[derive(Clone, Copy, Debug)]
pub struct Blocked(libc::sigset_t);

/// Blocks all signals in this thread, which leaves them to others.
pub fn block_signals() -> Blocked {
    let mut all = empty_set();
    // SAFETY: `all` is initialised and borrowed for the call.
    unsafe { libc::sigfillset(&raw mut all) };
    let mut before = empty_set();
    // SAFETY: both are initialised and borrowed for the call, which fails for other operations only.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut before) };
    Blocked(before)
}

impl Blocked {
    /// Has the calling thread take the signals that the other one took.
    pub fn restore(&self) {
        // SAFETY: the set is one that the system gave, and a null pointer asks for no old one.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}

/// Reads `ssi_signo` and `ssi_code`, the first and third word of `struct signalfd_siginfo`.
fn received(info: &[u8]) -> Option<Received> {
    let word = |at: usize| info.get(at..at + 4)?.try_into().ok().map(i32::from_ne_bytes);
    let (number, code) = (word(0)?, word(8)?);
    let signal = Signal::ALL.into_iter().find(|signal| signal.number() == number)?;
    let origin = if code == libc::SI_KERNEL { Origin::Terminal } else { Origin::Process };
    Some(Received { signal, origin })
}

/// True when `number` is ignored. Async-signal-safe.
pub(crate) fn is_ignored(number: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null new action changes nothing, and `action` has room for the old one.
    let failed = unsafe { libc::sigaction(number, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: all zeros is a valid sigaction, and the call above can only have made it another one.
    let action = unsafe { action.assume_init() };
    failed == 0 && action.sa_sigaction == libc::SIG_IGN
}

fn empty_set() -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: `set` has room for a set.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: all zeros is a valid set, and the call above can only have made it the empty one.
    unsafe { set.assume_init() }
}

fn add(set: &mut libc::sigset_t, number: i32) {
    // SAFETY: `set` is initialised and borrowed for the call.
    unsafe { libc::sigaddset(set, number) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that whoever waits for a signal is woken by something else, too.
    #[test]
    fn others_end_the_wait() {
        let signals = Signals { descriptor: std::fs::File::from(rustix::event::eventfd(0, EVENT).unwrap()) };
        let other = rustix::event::eventfd(1, EVENT).unwrap();
        assert_eq!(signals.next_or(&other, Duration::from_secs(3600)).unwrap(), None);
    }

    const EVENT: rustix::event::EventfdFlags = rustix::event::EventfdFlags::NONBLOCK;

    /// Check that a signal's number and sender are read from their places in the kernel's record.
    #[test]
    fn siginfo_is_read_by_its_layout() {
        assert_eq!(std::mem::offset_of!(libc::signalfd_siginfo, ssi_signo), 0);
        assert_eq!(std::mem::offset_of!(libc::signalfd_siginfo, ssi_code), 8);
        let info = |number: i32, code: i32| [number, 0, code].map(i32::to_ne_bytes).concat();
        let cases = [
            (libc::SIGINT, libc::SI_KERNEL, Some((Signal::Interrupt, Origin::Terminal))),
            (libc::SIGTERM, libc::SI_USER, Some((Signal::Terminate, Origin::Process))),
            (libc::SIGCHLD, libc::CLD_EXITED, Some((Signal::Child, Origin::Process))),
            (libc::SIGUSR1, libc::SI_USER, Some((Signal::Snapshot, Origin::Process))),
            (libc::SIGUSR2, libc::SI_USER, None),
        ];
        for (number, code, expected) in cases {
            let expected = expected.map(|(signal, origin)| Received { signal, origin });
            assert_eq!(received(&info(number, code)), expected, "{number} {code}");
        }
        assert_eq!(received(&[]), None);
    }
}
