//! The names of this machine and its users.

use export::Redaction;
use std::path::PathBuf;

/// What to remove from a copy: the names of this user and machine, and whatever the user asks for.
pub(super) fn redaction(hide: &[String]) -> Redaction {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let mut redaction = Redaction::new();
    let home = PathBuf::from(variable("HOME"));
    if let Some(user) = home.file_name() {
        redaction = redaction.name(&user.to_string_lossy());
    }
    for user in [variable("USER"), variable("LOGNAME"), variable("SUDO_USER")] {
        redaction = redaction.name(&user);
    }
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    // For `box.example.org`, both that and `box`.
    let short = host.split('.').next().unwrap_or_default();
    redaction = redaction.home(&home.to_string_lossy()).name(short).name(&host);
    hide.iter().fold(redaction, |redaction, text| redaction.hide(text))
}
