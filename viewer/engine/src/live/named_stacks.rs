//! Names of the stacks of a recording that goes on, each looked up once.

use super::shown::Shown;
use crate::loaded::{Loaded, Source};
use crate::symbolize::Naming;
use analysis::Profile;
use capture::Tables;
use std::io;

/// The stacks that were asked for, with the names found so far. They are looked up in a thread of their own.
pub struct NamedStacks {
    shown: Shown,
}

impl NamedStacks {
    /// For a recording in which files are where this process sees them.
    ///
    /// # Errors
    /// When the thread that looks names up cannot be started.
    pub fn new(pid: u32, naming: Naming) -> io::Result<Self> {
        let options = match naming {
            Naming::Stored => None,
            Naming::FromFiles(options) => Some(*options),
        };
        Ok(Self { shown: Shown::new(pid, options)? })
    }

    /// A profile of the recording, whose tables are these now, for views. All names are there if it `waits`.
    pub fn load(&mut self, mut profile: Profile, tables: Tables, waits: bool) -> Loaded {
        for site in &mut profile.sites {
            site.node = self.shown.enter(site.node, &tables);
        }
        self.shown.name(waits);
        let Tables { metadata, processes, .. } = tables;
        let tables = Tables { metadata, processes, ..self.shown.tables().clone() };
        Loaded::new(tables, profile, Source::default())
    }

    /// True while names are being looked up.
    pub fn is_naming(&self) -> bool {
        self.shown.is_naming()
    }
}
