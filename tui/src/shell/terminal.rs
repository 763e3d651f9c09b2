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
use std::io::{self, Stdout, stdout};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A terminal that is ours until this is dropped.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    told_to_end: Arc<AtomicBool>,
}

impl Screen {
    /// Takes the terminal over, under a title.
    pub(super) fn open(title: &str) -> io::Result<Self> {
        let told_to_end = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGHUP, SIGINT, SIGQUIT] {
            signal_hook::flag::register(signal, told_to_end.clone())?;
        }
        give_back_on_panic();
        take()?;
        // From here on, dropping this gives it back.
        let options = TerminalOptions { viewport: Viewport::Fullscreen };
        let terminal = Terminal::with_options(CrosstermBackend::new(stdout()), options);
        let terminal = terminal.inspect_err(|_| give_back())?;
        let screen = Self { terminal, told_to_end };
        execute!(stdout(), SetTitle(format!("{title} - sysprof-memprof")))?;
        Ok(screen)
    }

    /// True after a signal that ends programs.
    pub(super) fn is_told_to_end(&self) -> bool {
        // Relaxed: nothing else is read because of it.
        self.told_to_end.load(Ordering::Relaxed)
    }

    /// The size.
    pub(super) fn area(&self) -> io::Result<Rect> {
        let size = self.terminal.size()?;
        Ok(Rect::new(0, 0, size.width, size.height))
    }

    /// Draws a whole screen; only what has changed is sent.
    pub(super) fn draw(&mut self, draw: impl FnOnce(&mut Buffer)) -> io::Result<()> {
        self.terminal.draw(|frame| draw(frame.buffer_mut()))?;
        Ok(())
    }

    /// Gives the terminal to another program while it runs.
    pub(super) fn lend<T>(&mut self, run: impl FnOnce() -> T) -> T {
        give_back();
        let result = run();
        // If it cannot be taken back, the next drawing says so.
        let _ = take();
        let _ = self.terminal.clear();
        result
    }

    /// Gives it back.
    pub(super) fn close(self) -> io::Result<()> {
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

/// A panic's message is of no use on a screen that is about to go.
fn give_back_on_panic() {
    let tell = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        give_back();
        tell(panic);
    }));
}
