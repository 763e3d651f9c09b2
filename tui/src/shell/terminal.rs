//! Takes over the terminal, and restores it whatever happens.

use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{
    self, DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, SetTitle, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::io::{self, IsTerminal, Stdout, stdout};
use std::panic;
use std::thread;
use std::time::Duration;

/// Waits for what the user does, up to a time; true when there is something to read.
///
/// # Errors
/// When the terminal is gone: whoever reads keys from it then never returns.
pub(crate) fn wait(time: Duration) -> io::Result<bool> {
    // Where keys are not read from standard input, signals have to do.
    let input = io::stdin();
    let is_terminal = input.is_terminal();
    let look = |time: Duration| -> io::Result<()> {
        let time = Timespec::try_from(time).map_err(io::Error::other)?;
        let mut ends = [PollFd::new(&input, PollFlags::IN)];
        // A signal may cut it short.
        let _ = poll(&mut ends, Some(&time));
        match ends[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            true => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the terminal is gone")),
            false => Ok(()),
        }
    };
    if !is_terminal {
        return event::poll(time);
    }
    look(Duration::ZERO)?;
    if event::poll(Duration::ZERO)? {
        return Ok(true);
    }
    look(time)?;
    event::poll(Duration::ZERO)
}

/// A terminal that is ours until this is dropped.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes over the terminal, under a title.
    pub(crate) fn open(title: &str) -> io::Result<Self> {
        give_back_on_signals()?;
        give_back_on_panic();
        take()?;
        // From here on, dropping it restores the terminal.
        let options = TerminalOptions { viewport: Viewport::Fullscreen };
        let terminal = Terminal::with_options(CrosstermBackend::new(stdout()), options);
        let terminal = terminal.inspect_err(|_| give_back())?;
        let screen = Self { terminal };
        execute!(stdout(), SetTitle(format!("{title} - sysprof-memprof")))?;
        Ok(screen)
    }

    /// The size.
    pub(crate) fn area(&self) -> io::Result<Rect> {
        let size = self.terminal.size()?;
        Ok(Rect::new(0, 0, size.width, size.height))
    }

    /// Draws a whole screen; only changes are sent.
    pub(crate) fn draw(&mut self, draw: impl FnOnce(&mut Buffer)) -> io::Result<()> {
        self.terminal.draw(|frame| draw(frame.buffer_mut()))?;
        Ok(())
    }

    /// Lends the terminal to another program while it runs.
    pub(crate) fn lend<T>(&mut self, run: impl FnOnce() -> T) -> T {
        give_back();
        let result = run();
        // If it cannot be taken back, the next draw reports it.
        let _ = take();
        let _ = self.terminal.clear();
        result
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(stdout(), EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste)
        .inspect_err(|_| give_back())
}

/// Nothing can be done if the terminal is gone.
fn give_back() {
    let _ = execute!(
        stdout(),
        DisableBracketedPaste,
        DisableMouseCapture,
        LeaveAlternateScreen,
        ratatui::crossterm::cursor::Show
    );
    let _ = disable_raw_mode();
}

/// Restores the terminal when a signal ends the process, then ends it. This needs its own thread: if the terminal is
/// gone, the one that reads keys may never return.
fn give_back_on_signals() -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGHUP, SIGINT, SIGQUIT])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            give_back();
            // Ends the process as the signal would have.
            let _ = emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

/// Restores the terminal before a panic's message is printed, which would be lost on our screen.
fn give_back_on_panic() {
    let tell = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        give_back();
        tell(panic);
    }));
}
