//! `sysprof-memprof run`, as tests use it.

use super::{Capture, Ran, Running, World, start};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// A recording to be made.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) world: World,
    options: Vec<OsString>,
    command: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    names: bool,
}

/// A recording of a program, without names unless requested: looking them up takes most of the time.
pub(crate) fn record(program: impl AsRef<OsStr>) -> Recording {
    Recording {
        world: World::new(),
        options: Vec::new(),
        command: vec![program.as_ref().to_os_string()],
        variables: Vec::new(),
        names: false,
    }
}

impl Recording {
    /// In this world.
    pub(crate) fn world(mut self, world: World) -> Recording {
        self.world = world;
        self
    }

    /// With arguments of the program.
    pub(crate) fn args<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Recording {
        self.command.extend(arguments.into_iter().map(|argument| argument.as_ref().to_os_string()));
        self
    }

    /// With one argument more.
    pub(crate) fn arg(self, argument: impl AsRef<OsStr>) -> Recording {
        self.args([argument])
    }

    /// With options of `run`.
    pub(crate) fn options<S: AsRef<OsStr>>(mut self, options: impl IntoIterator<Item = S>) -> Recording {
        self.options.extend(options.into_iter().map(|option| option.as_ref().to_os_string()));
        self
    }

    /// With a variable in the environment.
    pub(crate) fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Recording {
        self.variables.push((name.as_ref().to_os_string(), value.as_ref().to_os_string()));
        self
    }

    /// With names of functions.
    pub(crate) fn with_names(mut self) -> Recording {
        self.names = true;
        self
    }

    /// Where the capture will be.
    pub(crate) fn file(&self) -> PathBuf {
        self.world.path("it.memprof")
    }

    /// Starts it.
    pub(crate) fn start(&self) -> Running {
        let mut command = self.world.tool(["run", "--quiet", "--output"]);
        command.arg(self.file()).args(&self.options);
        if !self.names {
            command.arg("--no-symbolize");
        }
        command.arg("--").args(&self.command);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        start(&self.world, command)
    }

    /// Makes the recording; returns what the program left, and the capture.
    pub(crate) fn run(self) -> (Ran, Capture) {
        let ran = self.start().wait();
        (ran, self.capture())
    }

    /// The capture as it is now.
    pub(crate) fn capture(self) -> Capture {
        let file = self.file();
        assert!(file.exists(), "there is no capture");
        Capture::new(self.world, file)
    }

    /// Makes a recording of a program that succeeds and loses nothing.
    pub(crate) fn succeed(self) -> (Ran, Capture) {
        let (ran, capture) = self.run();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        capture.assert_sound();
        (ran, capture)
    }
}
