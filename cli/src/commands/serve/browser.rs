//! The user's browser.

use std::process::{Command, Stdio};

/// Opens an address in the desktop's browser; false if there is none.
pub(super) fn open(address: &str) -> bool {
    let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    // Without one, xdg-open would start a browser in this terminal.
    has_desktop && start("xdg-open", address)
}

fn start(program: &str, address: &str) -> bool {
    let mut command = Command::new(program);
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut started) = command.spawn() else { return false };
    // It ends at once, or with the browser, and has to be reaped.
    std::thread::spawn(move || started.wait());
    true
}
