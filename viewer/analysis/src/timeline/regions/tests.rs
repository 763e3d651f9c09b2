use super::*;
use capture::{Action, Event, MarkId, Process, ProcessEnd, Thread};
use proptest::prelude::*;

/// Two processes with two threads each; the first one ends at 90.
fn tables(marks: &[(u32, MarkKind, u32, u64)]) -> Tables {
    let mut tables = Tables::default();
    for process in 0..2 {
        let end = (process == 0).then_some(ProcessEnd { ended: capture::Ended::Exited(0), time: 90 });
        tables.processes.push(Process { end, ..Process::default() });
        for thread in 0..2 {
            let (process, tid, name) = (ProcessId(process), process * 2 + thread, String::new());
            tables.threads.push(Thread { process, tid, name });
        }
    }
    tables.strings.extend(["a", "b"].map(str::to_owned));
    tables.marks.extend(marks.iter().map(|&(thread, kind, name, time)| Mark {
        time,
        thread: ThreadId(thread),
        kind,
        name: StringId(name),
    }));
    tables
}

const BEGIN: MarkKind = MarkKind::Begin;
const END: MarkKind = MarkKind::End;

/// Check that regions nest, may end in other threads but not in other processes, and last as long as their process if
/// never ended; that ends without a region are counted, and that marks of moments are not regions.
#[test]
fn regions_are_paired() {
    let tables = tables(&[
        (0, BEGIN, 0, 10),
        (1, BEGIN, 0, 20),
        (0, BEGIN, 0, 30),
        (0, END, 0, 35),
        (0, END, 0, 40),
        (0, END, 0, 45),
        (2, END, 0, 50),
        (0, MarkKind::Instant, 0, 55),
        (0, BEGIN, 1, 60),
        (2, BEGIN, 1, 70),
    ]);
    let [a, b] = &marks_by_name(&tables, 100)[..] else { panic!("two names") };
    let spans = |name: &MarkName| -> Vec<(u64, u64, bool)> {
        name.regions.iter().map(|region| (region.from, region.to, region.has_ended)).collect()
    };
    assert_eq!(spans(a), [(10, 40, true), (20, 45, true), (30, 35, true)]);
    assert_eq!((a.instants, a.stray_ends, a.unfinished()), (1, 1, 0));
    assert_eq!(a.lengths(), Some(Lengths { min: 5, mean: 20, max: 30 }));
    assert_eq!(spans(b), [(60, 90, false), (70, 100, false)]);
    assert_eq!((b.unfinished(), b.lengths()), (2, None));
}

proptest! {
    /// Check that at every moment exactly those names are open for which the table has a region there, whatever the
    /// marks.
    #[test]
    fn open_names_are_those_of_the_table(
        marks in prop::collection::vec((0..4_u32, 0..3_u8, 0..2_u32), 0..40),
    ) {
        let kind = |kind| [MarkKind::Instant, BEGIN, END][usize::from(kind)];
        let marks: Vec<_> =
            marks.iter().zip(1..).map(|(&(thread, of, name), time)| (thread, kind(of), name, time)).collect();
        let mut tables = tables(&marks);
        // No process ends before the marks do.
        tables.processes[0].end = None;
        let names = marks_by_name(&tables, 100);
        let mut inside = Inside::new(&tables, &[StringId(0), StringId(1)]);
        for (place, &(thread, _, _, now)) in marks.iter().enumerate() {
            let action = Action::Mark { mark: MarkId::from_index(place) };
            inside.event(&Event { time: now, thread: ThreadId(thread), action });
            let is_open = |name: u32| {
                let mut regions = names.iter().filter(|row| row.name == StringId(name)).flat_map(|row| &row.regions);
                regions.any(|region| region.from <= now && now < region.to)
            };
            let open: Vec<u32> = (0..2).filter(|&name| is_open(name)).collect();
            prop_assert_eq!(inside.is_in_any(), !open.is_empty());
            prop_assert_eq!(inside.open().collect::<Vec<_>>(), open);
        }
        for process in [0, 1] {
            let action = Action::ProcessEnd { process: ProcessId(process) };
            inside.event(&Event { time: 99, thread: ThreadId(0), action });
        }
        prop_assert!(!inside.is_in_any());
    }
}
