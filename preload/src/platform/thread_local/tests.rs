//! A model of a thread that makes calls, is interrupted between any two steps of them, and whose handlers return or
//! leave by `longjmp`. All paths with up to two signals are walked.

use super::*;
use core::ptr::null_mut;

impl ThreadLocal {
    /// A new thread's.
    pub(crate) fn new() -> Self {
        Self {
            epoch: Cell::new(NO_EPOCH),
            busy: Cell::new(0),
            state: Cell::new(null_mut()),
            inside: Cell::new(0),
            kind_hint: Cell::new(0),
            in_vfork: Cell::new(0),
            attention: Cell::new(0),
            at_rest: Cell::new(false),
            nested_allocations: Cell::new(0),
            nested_frees: Cell::new(0),
            fork: Cell::new(0),
            countdown: Cell::new(UNDRAWN),
            epoch_met: Cell::new(0),
            hinted_block: Cell::new(0),
            size_hint: Cell::new(0),
        }
    }
}

/// The choices made on one path, and the number of alternatives; the next path differs in the last choice that has
/// another alternative.
#[derive(Default)]
struct Choices {
    taken: Vec<(usize, usize)>,
    next: usize,
}

impl Choices {
    fn choose(&mut self, alternatives: usize) -> usize {
        if self.next == self.taken.len() {
            self.taken.push((0, alternatives));
        }
        let (chosen, _) = self.taken[self.next];
        self.next += 1;
        chosen
    }

    /// False when all paths were walked.
    fn advance(&mut self) -> bool {
        self.next = 0;
        while let Some((chosen, alternatives)) = self.taken.pop() {
            if chosen + 1 < alternatives {
                self.taken.push((chosen + 1, alternatives));
                return true;
            }
        }
        false
    }
}

/// A handler has left by `longjmp`, to the program's frame.
struct Left;

/// The program's stack pointer.
const BASE: usize = 1 << 20;
/// Bytes of a frame.
const FRAME: usize = 64;
/// Most signals on one path.
const SIGNALS: usize = 2;

struct Thread<'a> {
    local: ThreadLocal,
    choices: &'a mut Choices,
    sp: usize,
    signals: usize,
    /// Handlers that are running.
    depth: usize,
    /// If the next allocator is at work, the number of handlers that were running when it was called.
    allocator: Option<usize>,
    /// Calls that have ended, by their outcome.
    calls: u32,
    recorded: u32,
    told: u32,
    forbidden: u32,
    own: u32,
    inner: u32,
    /// Hooks at work that are on the stack.
    at_work: u32,
}

impl Thread<'_> {
    /// A point where a signal may come.
    fn step(&mut self) -> Result<(), Left> {
        if self.signals == SIGNALS || self.local.work() == Work::OwnCall || self.choices.choose(2) == 0 {
            return Ok(());
        }
        self.signals += 1;
        let (before, was_muted) = ((self.local.busy.get(), self.local.inside.get()), self.local.is_muted());
        let (sp, allocator) = (self.sp, self.allocator);
        self.sp -= FRAME;
        self.depth += 1;
        self.act()?;
        if self.choices.choose(2) == 1 {
            return Err(Left);
        }
        self.depth -= 1;
        (self.sp, self.allocator) = (sp, allocator);
        assert_eq!(
            (self.local.busy.get(), self.local.inside.get()),
            before,
            "a handler has changed something"
        );
        assert_eq!(self.local.is_muted(), was_muted);
        Ok(())
    }

    /// An action of the program or of a handler.
    fn act(&mut self) -> Result<(), Left> {
        match self.choices.choose(4) {
            0 => self.hook(),
            1 => self.allocate(),
            2 => self.call_for_itself(),
            _ => {
                let was_muted = self.local.is_muted();
                self.local.mute();
                self.step()?;
                self.hook()?;
                self.step()?;
                if !was_muted {
                    self.local.unmute();
                }
                Ok(())
            }
        }
    }

    /// A hook, as in `guard`.
    fn hook(&mut self) -> Result<(), Left> {
        let caller = self.sp;
        self.sp -= FRAME;
        let done = self.enter(caller);
        if done.is_ok() {
            self.sp = caller;
        }
        done
    }

    fn enter(&mut self, caller: usize) -> Result<(), Left> {
        self.step()?;
        if self.local.is_hook_left(caller) {
            assert_eq!(self.at_work, 0, "a hook that goes on was taken to be left");
            self.local.take_over_hook(self.sp);
            self.step()?;
            self.local.end_hook();
        }
        self.step()?;
        match self.local.work() {
            Work::None => {}
            Work::Hook => return self.end(|thread| thread.local.count_allocation()),
            Work::OwnCall => return self.end(|thread| thread.own += 1),
            Work::Muted => return self.end(|thread| thread.forbidden += 1),
        }
        if !self.local.is_in_program() {
            if self.local.is_allocator_left(caller) || self.allocator.is_none() {
                self.local.forget_allocator();
            } else if self.allocator == Some(self.depth) {
                return self.end(|thread| thread.inner += 1);
            }
        }
        self.local.begin_hook(self.sp);
        assert_eq!(self.at_work, 0, "two hooks are at work");
        self.at_work += 1;
        self.step()?;
        self.told += self.local.take_nested().iter().sum::<u32>();
        self.end(|thread| thread.recorded += 1)?;
        self.step()?;
        self.at_work -= 1;
        self.local.end_hook();
        if Attention::Muted.is_called(&self.local) {
            self.local.mute();
        }
        Ok(())
    }

    fn end(&mut self, count: impl Fn(&mut Self)) -> Result<(), Left> {
        self.calls += 1;
        count(self);
        Ok(())
    }

    /// A hook around an allocator that calls another hook.
    fn allocate(&mut self) -> Result<(), Left> {
        self.step()?;
        let before = self.local.enter_allocator(self.sp);
        let outer = self.allocator.replace(self.depth);
        self.sp -= FRAME;
        self.step()?;
        self.hook()?;
        self.step()?;
        self.sp += FRAME;
        self.local.leave_allocator(&before);
        self.allocator = outer;
        self.hook()
    }

    /// A call of the agent's own, in which libc allocates.
    fn call_for_itself(&mut self) -> Result<(), Left> {
        self.step()?;
        let before = self.local.begin_own_call();
        self.hook()?;
        self.local.end_own_call(before);
        self.step()
    }
}

/// Check that whatever signals come, at most one hook is at work, handlers that return leave everything as it was,
/// each call has one outcome, and after a handler has left by `longjmp` the program's next call is recorded again.
#[test]
fn signals_may_come_anywhere() {
    let mut choices = Choices::default();
    let mut ways = 0;
    loop {
        let local = ThreadLocal::new();
        let mut thread = Thread {
            local,
            choices: &mut choices,
            sp: BASE,
            signals: 0,
            depth: 0,
            allocator: None,
            calls: 0,
            recorded: 0,
            told: 0,
            forbidden: 0,
            own: 0,
            inner: 0,
            at_work: 0,
        };
        if thread.act().is_err() {
            (thread.sp, thread.depth, thread.allocator, thread.at_work) = (BASE, 0, None, 0);
            thread.local.unmute();
        }
        let recorded = thread.recorded;
        thread.signals = SIGNALS;
        thread.sp = BASE + FRAME;
        assert!(thread.hook().is_ok());
        assert_eq!(thread.recorded, recorded + 1, "the thread records no more");
        assert_eq!(thread.local.work(), Work::None);
        let Thread { calls, told, forbidden, own, inner, .. } = thread;
        let outcomes = thread.recorded + told + forbidden + own + inner;
        assert_eq!((calls, thread.local.take_nested()), (outcomes, [0; 2]));
        ways += 1;
        if !choices.advance() {
            break;
        }
    }
    assert!(ways > 1000, "{ways}");
}

/// Check that nothing a thread has kept outlives its recording, whatever the thread does first in the next one; and
/// that counts from before the thread has met any epoch stay, as in a forked child.
#[test]
fn what_is_kept_ends_with_its_recording() {
    let local = ThreadLocal::new();
    local.count_allocation();
    local.meet(1);
    assert_eq!(local.take_nested(), [1, 0]);
    local.count_free();
    local.meet(1);
    assert!(Attention::Nested.is_called(&local));
    local.rest(true, 1000);
    assert!(local.is_at_rest() && local.has_seen(1));
    local.meet(2);
    assert!(!local.is_at_rest() && !local.has_seen(1) && !local.needs_attention());
    assert_eq!((local.take_nested(), local.countdown.get()), ([0, 0], UNDRAWN));
}
