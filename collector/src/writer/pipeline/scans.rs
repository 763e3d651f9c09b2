//! What was found in the memory of processes, as written to the capture.

use super::Pipeline;
use crate::base::capture_writer::Writer;
use crate::image::exit_scan;
use crate::scan::{Place, Scanned};
use capture::{Area, Error, Object, Pointer, Scan, ScanId, StringId};
use std::fmt;

/// Pointers written in one go: some milliseconds' work, while events wait.
const PART: usize = 256 << 10;

/// Pointers and objects of a scan not written yet.
pub(crate) struct Rest {
    pub(crate) scan: ScanId,
    pub(crate) pointers: Box<dyn Iterator<Item = Pointer> + Send>,
    pub(crate) objects: Box<dyn Iterator<Item = Object> + Send>,
}

impl fmt::Debug for Rest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Rest").field("scan", &self.scan).finish_non_exhaustive()
    }
}

impl Rest {
    /// Writes a part; true while there is more.
    pub(crate) fn write(&mut self, writer: &mut Writer) -> Result<bool, Error> {
        let part: Vec<Pointer> = self.pointers.by_ref().take(PART).collect();
        if !part.is_empty() {
            writer.pointers(self.scan, &part)?;
            return Ok(true);
        }
        let part: Vec<Object> = self.objects.by_ref().take(PART).collect();
        writer.objects(self.scan, &part)?;
        Ok(part.len() == PART)
    }
}

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
