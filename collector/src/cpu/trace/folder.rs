//! Finds tracepoints in tracefs.

use super::Trace;
use super::fields::{Field, fields};
use capture::{SizeUnit, Tracepoint};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Where tracefs is usually mounted.
const FOLDERS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// Most bytes that are read from a file.
const MOST: u64 = 1 << 20;
/// Bytes of a sector, whatever the disk's own sector size.
const SECTOR: u64 = 512;

/// A tracepoint that can be recorded.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    /// The kernel's id for it.
    pub(crate) id: u64,
    /// The capture's description of it.
    pub(crate) row: Tracepoint,
    size: Option<Field>,
    /// Factor from the field's unit to the recorded size.
    factor: u64,
    cookie: Option<Field>,
}

/// Why a tracepoint cannot be recorded.
#[derive(Debug)]
pub(crate) enum NotLocated {
    /// No tracepoint or field of this name exists.
    Unknown(String),
    /// Whether it exists cannot be determined.
    Refused(String),
}

impl Located {
    /// A record's size and cookie; 0 for what is not wanted.
    pub(crate) fn read(&self, record: &[u8]) -> (u64, u64) {
        let read = |field: &Option<Field>| field.as_ref().and_then(|field| field.read(record)).unwrap_or(0);
        (read(&self.size).saturating_mul(self.factor), read(&self.cookie))
    }
}

/// Finds a tracepoint and its fields.
pub(crate) fn locate(trace: &Trace) -> Result<Located, NotLocated> {
    let folder = FOLDERS.iter().map(Path::new).find(|folder| folder.join("events").is_dir());
    let Some(folder) = folder else { return Err(NotLocated::Refused(without_folder())) };
    locate_in(folder, trace)
}

fn locate_in(folder: &Path, trace: &Trace) -> Result<Located, NotLocated> {
    let place = folder.join("events").join(&trace.system).join(&trace.name);
    let id = read(&place.join("id")).map_err(|error| not_there(&place, trace, &error))?;
    let format = read(&place.join("format")).map_err(|error| not_there(&place, trace, &error))?;
    let id = id.trim().parse().map_err(|_| NotLocated::Refused(format!("{trace} has no number")))?;
    let all = fields(&format);
    let usual = |names: &[&str]| names.iter().find_map(|name| all.iter().find(|field| field.name == *name));
    let chosen = |name: &str| {
        all.iter().find(|field| field.name == name).ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|field| field.name.as_str()).collect();
            NotLocated::Unknown(format!("{trace} has no numeric field `{name}`: it has {}", names.join(", ")))
        })
    };
    let is_block = trace.system == "block";
    let size = match &trace.size {
        Some(name) => Some(chosen(name)?),
        None if is_block => usual(&["bytes", "nr_sector"]),
        None => None,
    };
    let cookie = match &trace.cookie {
        Some(name) => Some(chosen(name)?),
        None if is_block => usual(&["sector"]),
        None => None,
    };
    let name = |field: Option<&Field>| field.map_or(String::new(), |field| field.name.clone());
    let (unit, factor) = unit(size.map_or("", |field| field.name.as_str()));
    let row = Tracepoint { name: trace.to_string(), size: name(size), unit, cookie: name(cookie) };
    Ok(Located { id, row, size: size.cloned(), factor, cookie: cookie.cloned() })
}

/// The unit that a field of this name counts, and the factor to convert its values to it.
fn unit(name: &str) -> (SizeUnit, u64) {
    match name {
        "nr_sector" => (SizeUnit::Bytes, SECTOR),
        "bytes" | "bytes_req" | "bytes_alloc" | "len" | "length" | "size" | "count" => (SizeUnit::Bytes, 1),
        _ => (SizeUnit::Plain, 1),
    }
}

fn not_there(place: &Path, trace: &Trace, error: &std::io::Error) -> NotLocated {
    match error.kind() {
        ErrorKind::NotFound => NotLocated::Unknown(format!(
            "this kernel has no tracepoint {trace}: {} lists those that it has",
            place.ancestors().nth(2).unwrap_or(place).display()
        )),
        ErrorKind::PermissionDenied => NotLocated::Refused(format!(
            "{} cannot be read (run as root, or let this user read it: mount -o remount,gid=GROUP,mode=750 on it)",
            place.ancestors().nth(3).unwrap_or(place).display()
        )),
        _ => NotLocated::Refused(format!("{} cannot be read: {error}", place.display())),
    }
}

/// What to do if tracefs is not mounted, or hidden.
fn without_folder() -> String {
    let [folder, _] = FOLDERS.map(PathBuf::from);
    match std::fs::read_dir(&folder).map(|_| ()).map_err(|error| error.kind()) {
        Err(ErrorKind::PermissionDenied) => format!(
            "{0} cannot be read (run as root, or let this user read it: mount -o remount,gid=GROUP,mode=750 {0})",
            folder.display()
        ),
        Err(ErrorKind::NotFound) => "this kernel has no tracepoints, or a container hides them".into(),
        _ => format!("tracefs is not mounted (mount -t tracefs nodev {})", folder.display()),
    }
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(MOST).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const FORMAT: &str = "\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;
\tfield:unsigned int bytes;\toffset:28;\tsize:4;\tsigned:0;
";

    /// Check that a tracepoint is found with its id and its fields, the usual ones if none were named, and that the
    /// message about a missing one lists what exists.
    #[test]
    fn tracepoints_are_found_with_their_fields() {
        let folder = tempfile::tempdir().unwrap();
        for (system, name) in [("block", "block_rq_issue"), ("sched", "sched_switch")] {
            let place = folder.path().join("events").join(system).join(name);
            fs::create_dir_all(&place).unwrap();
            fs::write(place.join("id"), "2104\n").unwrap();
            fs::write(place.join("format"), FORMAT).unwrap();
        }
        let mut record = [0; 32];
        record[16..24].copy_from_slice(&77_u64.to_le_bytes());
        record[24..28].copy_from_slice(&8_u32.to_le_bytes());
        record[28..32].copy_from_slice(&4095_u32.to_le_bytes());
        for (text, size, unit, cookie, read) in [
            ("block:block_rq_issue", "bytes", SizeUnit::Bytes, "sector", (4095, 77)),
            ("block:block_rq_issue/nr_sector", "nr_sector", SizeUnit::Bytes, "sector", (4096, 77)),
            ("sched:sched_switch", "", SizeUnit::Plain, "", (0, 0)),
            ("sched:sched_switch/sector/bytes", "sector", SizeUnit::Plain, "bytes", (77, 4095)),
        ] {
            let located = locate_in(folder.path(), &text.parse().unwrap()).unwrap();
            let name = text.split('/').next().unwrap_or_default().to_owned();
            let row = Tracepoint { name, size: size.into(), unit, cookie: cookie.into() };
            assert_eq!((located.id, &located.row, located.read(&record)), (2104, &row, read), "{text}");
        }
        for (text, part) in [
            ("block:block_rq_issu", "no tracepoint block:block_rq_issu: "),
            ("block:block_rq_issue/byte", "has no numeric field `byte`: it has sector, nr_sector, bytes"),
        ] {
            match locate_in(folder.path(), &text.parse().unwrap()) {
                Err(NotLocated::Unknown(sentence)) => assert!(sentence.contains(part), "{sentence}"),
                other => panic!("{other:?}"),
            }
        }
    }
}
