//! Walks from every single instruction.
//!
//! The processor traps after each instruction, and the handler compares our walk with glibc's. So prologues,
//! epilogues, PLT stubs and the vDSO are interrupted in every possible state.

use crate::handwritten::{unwind_test_alloca, unwind_test_frame_pointer, unwind_test_realigned};
use crate::signals::HANDLERS;
use crate::support::{Trace, Walker, this_stack_memory};
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use unwind::{End, Registers, StackMemory};

/// The trap flag of the flags register.
const TRAP: i64 = 0x100;

/// What the handler needs, and what it finds.
struct Stepper {
    walker: Walker,
    stacks: StackMemory,
    ours: Trace,
    expected: Trace,
    steps: usize,
    /// Steps inside the vDSO.
    in_vdso: usize,
    vdso: u64,
    /// The frames of the caller of the code that is stepped through.
    outer: Trace,
    /// The interrupted addresses at which the walks differed or ours was incomplete.
    wrong: Vec<(u64, End)>,
}

thread_local! {
    static STEPPER: RefCell<Option<Stepper>> = const { RefCell::new(None) };
}

/// Set by the code that is stepped through when it is done.
static DONE: AtomicBool = AtomicBool::new(false);

extern "C" fn handle(_signal: c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the interrupted context.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let registers = &mut context.uc_mcontext.gregs;
    if DONE.load(Ordering::Relaxed) {
        registers[libc::REG_EFL as usize] &= !TRAP;
        return;
    }
    registers[libc::REG_EFL as usize] |= TRAP;
    let ip = registers[libc::REG_RIP as usize] as u64;
    STEPPER.with_borrow_mut(|stepper| stepper.as_mut().expect("set up by the test").step(ip));
}

impl Stepper {
    #[inline(never)]
    fn step(&mut self, ip: u64) {
        self.steps += 1;
        self.in_vdso += usize::from(self.vdso != 0 && ip.wrapping_sub(self.vdso) < 0x4000);
        self.expected.backtrace();
        self.ours.clear();
        let ours = &mut self.ours;
        let end =
            self.walker.walk(Registers::here(), &mut self.stacks, 1000, |code, _| ours.push(code.address()));
        let (ours, theirs) = (self.ours.frames(), self.expected.frames());
        // glibc stops in PLT stubs, for which lld omits tables; we recognise them.
        let stopped = theirs.last() == Some(&ip) && ours.len() > theirs.len();
        let same = ours.get(1..theirs.len()) == theirs.get(1..) && (stopped || ours.len() == theirs.len());
        if (!same || !ours.ends_with(&self.outer.frames()[1..]) || end != End::Root)
            && self.wrong.len() < self.wrong.capacity()
        {
            self.wrong.push((ip, end));
        }
    }
}

/// Steps through `body`.
fn step_through(body: impl FnOnce()) -> Stepper {
    let _turn = HANDLERS.lock();
    // The first call loads libgcc and allocates; later ones do not.
    let mut outer = Trace::new();
    outer.backtrace();
    STEPPER.set(Some(Stepper {
        walker: Walker::new(),
        stacks: this_stack_memory(),
        ours: Trace::new(),
        expected: Trace::new(),
        steps: 0,
        in_vdso: 0,
        // SAFETY: reads the auxiliary vector.
        vdso: unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) },
        outer,
        wrong: Vec::with_capacity(100),
    }));
    // SAFETY: all-zero is a valid set of flags and masks.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handle as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO;
    let mut before = action;
    // SAFETY: the handler only touches this thread's state and the interrupted flags.
    unsafe { libc::sigaction(libc::SIGTRAP, &raw const action, &raw mut before) };
    DONE.store(false, Ordering::Relaxed);
    // SAFETY: the handler is installed; it sets the trap flag.
    unsafe { libc::raise(libc::SIGTRAP) };
    body();
    DONE.store(true, Ordering::Relaxed);
    // The next instruction traps for the last time.
    black_box(());
    // SAFETY: restores the previous handler.
    unsafe { libc::sigaction(libc::SIGTRAP, &raw const before, std::ptr::null_mut()) };
    let stepper = STEPPER.take().expect("still there");
    assert_eq!(stepper.wrong, [], "of {} steps", stepper.steps);
    stepper
}

extern "C" fn add_one(argument: usize) -> usize {
    argument + 1
}

/// Check that frames with a frame pointer, dynamic frames and realigned frames are left correctly from each of their
/// instructions.
#[test]
fn every_instruction_of_odd_frames() {
    let mut sum = 0;
    let stepper = step_through(|| {
        for caller in [unwind_test_frame_pointer, unwind_test_alloca, unwind_test_realigned] {
            // SAFETY: the function follows the C calling convention.
            sum += unsafe { caller(add_one, 0x100) };
        }
    });
    assert_eq!(sum, 3 * 0x101);
    assert!(stepper.steps > 40, "{} steps", stepper.steps);
}

/// Check that C library code is left correctly from each instruction: callbacks, formatting, string functions.
#[test]
fn every_instruction_of_library_calls() {
    extern "C" fn compare(a: *const c_void, b: *const c_void) -> c_int {
        // SAFETY: the caller below sorts integers.
        let a = unsafe { a.cast::<c_int>().read() };
        // SAFETY: as above.
        let b = unsafe { b.cast::<c_int>().read() };
        a - b
    }
    let mut numbers = [5, 3, 9, 1, 7, 2, 8];
    let mut text = [0u8; 64];
    let stepper = step_through(|| {
        // SAFETY: seven integers, and a function that compares integers.
        unsafe { libc::qsort(numbers.as_mut_ptr().cast(), numbers.len(), 4, Some(compare)) };
        // SAFETY: the buffer has room for what is printed.
        unsafe {
            libc::snprintf(text.as_mut_ptr().cast(), 64, c"%s %d %.3f".as_ptr(), c"abc".as_ptr(), 42, 0.1)
        };
    });
    assert_eq!(numbers, [1, 2, 3, 5, 7, 8, 9]);
    assert!(text.starts_with(b"abc 42 0.100\0"));
    assert!(stepper.steps > 2000, "{} steps", stepper.steps);
}

/// Check that frames of the vDSO are crossed from each instruction, with tables from the kernel's own mapping.
#[test]
fn every_instruction_of_the_vdso() {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let stepper = step_through(|| {
        // SAFETY: only writes the time.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    });
    assert!(time.tv_sec > 0 || time.tv_nsec > 0);
    assert!(stepper.in_vdso > 5, "{} steps, {} in the vDSO", stepper.steps, stepper.in_vdso);
}
