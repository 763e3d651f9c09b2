//! Where names are looked for.

use super::cache;
use crate::message;
use clap::Args;
use engine::{Cache, Naming, Notice, Servers, SymbolOptions};
use std::path::PathBuf;

/// Where debug files are, and how names are shown.
#[derive(Args, Clone, Debug)]
pub(crate) struct Symbols {
    /// Search this directory for debug files, and for copies of binaries that are gone, before /usr/lib/debug; may be
    /// repeated
    #[arg(help_heading = "Names", long, value_name = "DIR")]
    debug_dir: Vec<PathBuf>,
    /// Search this copy of the file system first, for recorded files and their debug files
    #[arg(help_heading = "Names", long, value_name = "DIR")]
    sysroot: Option<PathBuf>,
    /// Do not demangle names that are looked up now
    #[arg(help_heading = "Names", long)]
    no_demangle: bool,
    /// Neither use nor write cached names and indices of large captures
    #[arg(help_heading = "Names", long)]
    pub(super) no_cache: bool,
}

impl Symbols {
    /// The options for symbol lookup, with the servers from the environment and the cache.
    pub(super) fn options(&self) -> SymbolOptions {
        let mut options = SymbolOptions::default();
        options.debug_dirs.splice(0..0, self.debug_dir.iter().cloned());
        options.sysroot.clone_from(&self.sysroot);
        options.servers = Servers::from_env();
        options.demangle = !self.no_demangle;
        let folder = cache::folder().filter(|_| !self.no_cache);
        options.cache = folder.map(|folder| Cache::in_folder(folder.join("names")));
        options
    }

    /// The same; slow requests to servers are reported on standard error.
    pub(super) fn telling_options(&self) -> SymbolOptions {
        let mut options = self.options();
        if let Some(servers) = &mut options.servers {
            servers.notice = Some(Notice(tell_of_server));
        }
        options
    }

    /// Where a view finds names that the capture lacks.
    pub(super) fn naming(&self, no_symbolize: bool) -> Naming {
        if no_symbolize { Naming::Stored } else { Naming::FromFiles(Box::new(self.telling_options())) }
    }
}

/// The same, without messages, for commands that draw on the terminal.
pub(super) fn in_silence(naming: Naming) -> Naming {
    let Naming::FromFiles(mut options) = naming else { return naming };
    if let Some(servers) = &mut options.servers {
        servers.notice = None;
    }
    Naming::FromFiles(options)
}

fn tell_of_server(url: &str) {
    message::note(&format!("asking {url} for debug files (DEBUGINFOD_URLS); --no-symbolize prevents that"));
}
