//! What was found in the memory of processes, as written to the capture.

use super::Pipeline;
use crate::image::exit_scan;
use crate::scan::{Place, Scanned};
use crate::writer::orders::Rest;
use capture::{Area, Error, Object, Scan, StringId};

impl Pipeline {
    /// Writes when and where a process's memory was searched; returns what is left to write, or `None` if the process
    /// is unknown.
    pub(crate) fn scan(
        &mut self,
        mut scanned: Scanned,
        at_end: Option<exit_scan::Place>,
    ) -> Result<Option<Rest>, Error> {
        let time = self.timeline.clock().nanoseconds(scanned.time);
        let process = match at_end {
            Some(place) => self.processes.in_place(place),
            None => self.processes.image_at(scanned.pid, time),
        };
        let Some(process) = process else { return Ok(None) };
        let mut areas = Vec::with_capacity(scanned.places.len());
        for place in &scanned.places {
            let name = self.writer.string(&place.name)?;
            let Place { start, end, kind, tid, base, .. } = *place;
            areas.push(Area { start, end, kind, tid, name, base });
        }
        let scan = self.writer.scan(&Scan {
            process,
            time,
            still_ns: u64::try_from(scanned.still.as_nanos()).unwrap_or(u64::MAX),
            searched: scanned.searched,
            unread: scanned.unread,
            lost: scanned.found.lost,
            areas,
        })?;
        let names = scanned.classes.iter().map(|name| self.writer.string(name));
        let names = names.collect::<Result<Vec<StringId>, _>>()?;
        let object = move |(at, class)| Some(Object { at, class: *names.get(class as usize)? });
        Ok(Some(Rest {
            scan,
            objects: Box::new(scanned.found.take_objects().filter_map(object)),
            pointers: Box::new(scanned.found.into_pointers()),
        }))
    }
}
