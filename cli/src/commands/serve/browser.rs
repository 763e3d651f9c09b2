//! The user's browser, which learns the address from a private file: everybody on this machine sees command lines.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A browser that has not asked for the page by then has not been started.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Time between two looks whether it has.
const LOOK: Duration = Duration::from_millis(200);

/// Opens an address in the desktop's browser; false if there is none. `has_come` is set when somebody has asked for the
/// page: the file is removed then.
pub(super) fn open(address: &str, has_come: Arc<AtomicBool>) -> bool {
    let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    // Without one, xdg-open would start a browser in this terminal.
    has_desktop && start("xdg-open", address, has_come).is_ok()
}

fn start(program: &str, address: &str, has_come: Arc<AtomicBool>) -> io::Result<()> {
    let page = Redirection::create(&folder(), address)?;
    let mut command = Command::new(program);
    command.arg(&page.0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut started = command.spawn()?;
    let begun = Instant::now();
    thread::spawn(move || {
        // It ends at once, or with the browser, and has to be reaped.
        thread::spawn(move || started.wait());
        // Relaxed: nothing else is read on the strength of it.
        while !has_come.load(Ordering::Relaxed) && begun.elapsed() < TIMEOUT {
            thread::sleep(LOOK);
        }
        drop(page);
    });
    Ok(())
}

/// A folder for files of this session.
fn folder() -> PathBuf {
    std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from)
}

/// A page that leads to an address, readable by its owner only; removed when dropped.
#[derive(Debug)]
struct Redirection(PathBuf);

impl Redirection {
    fn create(folder: &Path, address: &str) -> io::Result<Redirection> {
        let path = folder.join(format!("sysprof-memprof-serve.{}.html", std::process::id()));
        // Left by a killed process that had our pid. It is not ours if it cannot be removed, and then creating fails.
        let _stays = fs::remove_file(&path);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let page = Redirection(path);
        write!(
            file,
            "<!DOCTYPE html>\n<meta charset=utf-8>\n<meta name=referrer content=no-referrer>\n\
             <meta http-equiv=refresh content=\"0; url={address}\">\n<a href=\"{address}\">sysprof-memprof</a>\n"
        )?;
        Ok(page)
    }
}

impl Drop for Redirection {
    fn drop(&mut self) {
        // What stays is the address of a server that has ended, in a file that only its user can read.
        let _stays = fs::remove_file(&self.0);
    }
}
