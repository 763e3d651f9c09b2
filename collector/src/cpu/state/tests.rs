use super::*;
use crate::cpu::record::{self, made};
use crate::cpu::registers::{COUNT, Start};
use perf_event_open_sys::bindings as sys;

/// A pid that no process on this machine has.
const PID: u32 = 1 << 30;
/// An address in the program that executes the other one.
const BEFORE: u64 = 0x1000;

fn state() -> State {
    let options = CpuOptions {
        processors: true,
        frequency: 999,
        stack_bytes: None,
        keep_stacks: true,
        faults: false,
        scope: Scope::System,
    };
    State::new(Plan::of(options), Sampled::default(), Clock::start(), Subjects::default())
}

/// Takes a sample with the old program's registers, in the kernel or not; returns the steps of the new stack.
fn sample(state: &mut State, is_in_kernel: bool) -> Vec<Step> {
    let chain = [sys::PERF_CONTEXT_KERNEL, u64::MAX << 31].map(u64::to_le_bytes).concat();
    let chain = if is_in_kernel { chain.as_slice() } else { &[] };
    let user = User::Bits64 { start: Start::of([BEFORE; COUNT]), stack: &[], is_cut: false };
    let before = state.batch.nodes.len();
    let sample = record::Sample { pid: PID, tid: PID, cpu: 0, period: 1, chain, user };
    state.take(9, Layout::CpuSamples, Payload::Sample(sample));
    state.batch.nodes[before..].iter().map(|(_, step)| *step).collect()
}

/// Check that while the kernel sets up another program, whose code is not mapped yet, samples have no frames of the
/// previous program, which would lie in no known file, and no copy of its stack; and that samples have frames if they
/// cannot be from the exec, and afterwards.
#[test]
fn registers_from_before_an_exec_are_of_no_program() {
    let mut state = state();
    let exec = made::comm(PID, 1);
    state.take(1, Layout::CpuSamples, record::parse(&exec, Layout::CpuSamples).unwrap().payload);
    assert!(matches!(sample(&mut state, true)[..], [Step::Kernel(_)]));
    assert_eq!((state.batch.samples.len(), state.batch.copies.len()), (1, 0));
    assert_eq!((state.sampled.cpu.incomplete, state.sampled.cpu.samples), (0, 1));

    let steps = sample(&mut state, false);
    assert!(steps.iter().any(|step| matches!(step, Step::Unfiled { address: BEFORE, .. })), "{steps:?}");

    let map = made::map_of(PID, 3, BEFORE, b"/bin/other");
    state.take(3, Layout::CpuSamples, record::parse(&map, Layout::CpuSamples).unwrap().payload);
    let steps = sample(&mut state, true);
    assert!(steps.iter().any(|step| matches!(step, Step::Code { .. })), "{steps:?}");
}

/// Check that without room for further stacks, samples go on as incomplete ones, which are counted.
#[test]
fn samples_go_on_without_room_for_stacks() {
    let mut state = State { stacks: Stacks::of_at_most(16), ..state() };
    let steps = sample(&mut state, true);
    let [Step::End(Pseudo::StackTableFull), _innermost] = steps[..] else { panic!("{steps:?}") };
    for _ in 0..2 {
        assert!(sample(&mut state, true).is_empty());
    }
    let cpu = &state.sampled.cpu;
    assert_eq!((cpu.samples, cpu.incomplete, state.sampled.cut), (3, 3, 3));
    assert!(state.batch.samples.iter().all(|sample| sample.node == 2));
}
