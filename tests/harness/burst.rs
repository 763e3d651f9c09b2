//! A recorded program that allocates in a burst when it is told to, and then once more.

use super::{Capture, Fixture, Page, Recording, Running, World, c, record, wait_for};
use rustix::process::{Pid, Signal};

/// The program, which has begun and waits.
#[derive(Debug)]
pub(crate) struct Burst {
    page: Page,
    recording: Recording,
    running: Running,
    target: i32,
}

impl Burst {
    /// Starts one with so many allocations, recorded with these options of `run`.
    pub(crate) fn of(times: u64, options: &[&str]) -> Burst {
        Burst::by(&c("burst").flags(["-O1"]), times, options)
    }

    /// Starts another program that waits and is controlled in the same way.
    pub(crate) fn by(program: &Fixture, times: u64, options: &[&str]) -> Burst {
        let world = World::new();
        let page = Page::new(&world);
        let recording =
            record(program.build()).arg(&page.path).arg(times.to_string()).world(world).options(options);
        let running = recording.start();
        let target = page.pid();
        Burst { page, recording, running, target }
    }

    /// The process that records it.
    pub(crate) fn collector(&self) -> Pid {
        self.running.pid()
    }

    /// Lets the burst happen, and returns the capture.
    pub(crate) fn happen(self) -> Capture {
        self.page.go();
        self.end()
    }

    /// Lets the burst happen while nobody drains the rings.
    pub(crate) fn happen_unattended(self) -> Capture {
        self.running.stop();
        self.page.go();
        wait_for("the burst", || self.page.is_done());
        self.running.signal(Signal::CONT);
        self.end()
    }

    /// Lets the burst happen, and the program end, while nobody drains the rings.
    pub(crate) fn happen_and_end_unattended(self) -> Capture {
        self.running.stop();
        self.page.go();
        self.page.stop();
        // A process that nobody has waited for yet is in state Z.
        let stat = format!("/proc/{}/stat", self.target);
        wait_for("the program's end", || {
            std::fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") Z "))
        });
        self.running.signal(Signal::CONT);
        self.end()
    }

    fn end(self) -> Capture {
        self.page.stop();
        assert_eq!(self.running.wait().code, 6);
        self.recording.capture()
    }
}
