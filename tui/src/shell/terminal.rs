//! The terminal: taken over, and given back as it was, whatever happens.

use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, SetTitle, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::io::{self, Stdout, stdout};
use std::panic;
use std::thread;

/// A terminal that is ours until this is dropped.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes the terminal over, under a title.
    pub(crate) fn open(title: &str) -> io::Result<Self> {
        give_back_on_signals()?;
        give_back_on_panic();
        take()?;
        // From here on, dropping this gives it back.
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

    /// Draws a whole screen; only what has changed is sent.
    pub(crate) fn draw(&mut self, draw: impl FnOnce(&mut Buffer)) -> io::Result<()> {
        self.terminal.draw(|frame| draw(frame.buffer_mut()))?;
        Ok(())
    }

    /// Gives the terminal to another program while it runs.
    pub(crate) fn lend<T>(&mut self, run: impl FnOnce() -> T) -> T {
        give_back();
        let result = run();
        // If it cannot be taken back, the next drawing says so.
        let _ = take();
        let _ = self.terminal.clear();
        result
    }

    /// Gives it back.
    pub(crate) fn close(self) -> io::Result<()> {
        drop(self);
        Ok(())
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

/// Nothing can be done about a terminal that is gone.
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

/// Signals that end programs end this one after the terminal was given back. A thread of its own sees to it: of a terminal that
/// has gone, the one that reads keys may never come back.
fn give_back_on_signals() -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGHUP, SIGINT, SIGQUIT])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            give_back();
            // It ends the process, as the signal would have done.
            let _ = emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

/// A panic's message is of no use on a screen that is about to go.
fn give_back_on_panic() {
    let tell = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        give_back();
        tell(panic);
    }));
}
