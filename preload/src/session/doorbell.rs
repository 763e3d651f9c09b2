//! The doorbell's page as a dormant process sees it, see [`shared_ring::doorbell`].
//!
//! The page is looked for once, in the constructor, and never created: in `SYSPROF_MEMPROF_DIR` when that is set,
//! else in the user's run folder, else in the system's. Whoever may write it can have this process recorded. So it
//! must belong to root or to the process' own user, be a regular file that others cannot write, and have no other
//! name.

use crate::platform::config::{self, LONGEST};
use crate::platform::sys;
use crate::process;
use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use rustix::fs::{Mode, OFlags};
use shared_ring::doorbell::{BYTES, Doorbell, FILE, FileStatus, SOCKET};

/// Where the page is looked for, best first: a variable or a folder, and what is appended to it.
///
/// | name | followed by |
/// |---|---|
/// | `SYSPROF_MEMPROF_DIR`, when set the only one | |
/// | `XDG_RUNTIME_DIR` | `/sysprof-memprof` |
/// | `/run/user/UID` | `/sysprof-memprof` |
/// | `/tmp` | `/sysprof-memprof-UID` |
/// | `/run/sysprof-memprof` | |
const OWN: &[u8] = b"SYSPROF_MEMPROF_DIR";
const RUNTIME: &[u8] = b"XDG_RUNTIME_DIR";
const FOLDER: &[u8] = b"/sysprof-memprof";
const SYSTEM: &[u8] = b"/run/sysprof-memprof";

/// The page, null while there is none.
static PAGE: AtomicPtr<Doorbell> = AtomicPtr::new(core::ptr::null_mut());
/// The generation that this process has answered or ignored.
static ANSWERED: AtomicU32 = AtomicU32::new(0);

/// Name of the socket beside the page.
struct Name(UnsafeCell<[u8; LONGEST]>);

// SAFETY: written once, by the constructor, before PAGE is published.
unsafe impl Sync for Name {}

static NAME: Name = Name(UnsafeCell::new([0; LONGEST]));

/// Finds and maps the page. Called once, in the constructor, before there is a second thread.
#[cold]
pub(crate) fn find() {
    let uid = rustix::process::geteuid().as_raw();
    let mut digits = [0; 10];
    let uid_text = decimal(uid, &mut digits);
    if let Some(only) = config::variable(OWN).filter(|folder| folder.starts_with(b"/")) {
        look(&[only], uid);
        return;
    }
    let runtime = config::variable(RUNTIME).filter(|folder| folder.starts_with(b"/"));
    let is_found = uid != 0
        && (runtime.is_some_and(|runtime| look(&[runtime, FOLDER], uid))
            || look(&[b"/run/user/", uid_text, FOLDER], uid)
            || look(&[b"/tmp", FOLDER, b"-", uid_text], uid));
    if !is_found {
        look(&[SYSTEM], uid);
    }
}

/// Looks in one more folder, for a process that has found no page; false when there is none that can be trusted.
#[cold]
pub(crate) fn find_in(folder: &[u8]) -> bool {
    look(&[folder], rustix::process::geteuid().as_raw())
}

/// Maps the page in a folder, given in parts; false when there is none that can be trusted.
fn look(folder: &[&[u8]], uid: u32) -> bool {
    let mut path = [0; LONGEST];
    let Some(page) = join(&mut path, folder, FILE).and_then(|path| map(path, uid, null_mut())) else {
        return false;
    };
    let mut name = [0; LONGEST];
    // A socket whose name is too long cannot be connected to.
    if join(&mut name, folder, SOCKET).is_none() {
        return false;
    }
    // SAFETY: no other thread is here, and nobody reads before the page is published.
    unsafe { NAME.0.get().write(name) };
    // SAFETY: mapped just now for the life of the process, with at least the size of the type; every bit pattern is
    // valid.
    let doorbell: &'static Doorbell = unsafe { &*page };
    ANSWERED.store(doorbell.generation(), Ordering::Relaxed);
    // Release pairs with the Acquire load in `page`.
    PAGE.store(page, Ordering::Release);
    process::rest_at(&doorbell.generation);
    true
}

/// `folder`, a slash, `name` and a zero; `None` when they do not fit.
fn join<'b>(buffer: &'b mut [u8; LONGEST], folder: &[&[u8]], name: &str) -> Option<&'b CStr> {
    let mut places = buffer.iter_mut();
    for byte in folder.iter().copied().flatten().chain(b"/").chain(name.as_bytes()).chain(&[0]) {
        *places.next()? = *byte;
    }
    CStr::from_bytes_until_nul(buffer).ok()
}

/// Makes this process deaf: zeros take the place of the page.
#[cold]
pub(crate) fn cover() {
    if let Some(page) = page() {
        sys::map_zeros_over(core::ptr::from_ref(page).cast_mut().cast(), BYTES);
    }
}

/// Undoes [`cover`]; false when the page is no longer where it was, or there was none.
#[cold]
pub(crate) fn uncover() -> bool {
    let Some(page) = page() else { return false };
    if page.is_ours() {
        return true;
    }
    // SAFETY: written before the page was published, and never again.
    let name = unsafe { &*NAME.0.get() };
    let mut path = [0; LONGEST];
    let folder = name.rsplitn(2, |byte| *byte == b'/').last();
    let path = folder.and_then(|folder| join(&mut path, &[folder], FILE));
    let uid = rustix::process::geteuid().as_raw();
    let is_mapped = path.is_some_and(|path| map(path, uid, core::ptr::from_ref(page).cast_mut()).is_some());
    if is_mapped {
        // Earlier calls were not meant for this process.
        ANSWERED.store(page.generation(), Ordering::Relaxed);
    }
    is_mapped
}

/// Opens, checks and maps the file, in the place of `page` unless that is null, and closes its descriptor.
fn map(path: &CStr, uid: u32, page: *mut Doorbell) -> Option<*mut Doorbell> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(rustix::fs::CWD, path, flags, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&file).ok()?;
    let (has_one_name, size) = (stat.st_nlink == 1, stat.st_size.cast_unsigned());
    FileStatus { owner: stat.st_uid, mode: stat.st_mode, has_one_name, size }.check(uid).ok()?;
    let fresh = sys::map_page_of(&file)?.cast::<Doorbell>();
    // SAFETY: mapped just now with the size of a page; every bit pattern is valid for the type.
    if !unsafe { &*fresh }.is_ours() {
        // SAFETY: nobody else has the mapping.
        unsafe { sys::unmap(fresh.cast(), BYTES) };
        return None;
    }
    if page.is_null() {
        return Some(fresh);
    }
    sys::move_over(fresh.cast(), page.cast(), BYTES).then_some(page)
}

/// The decimal digits of a number.
fn decimal(mut number: u32, digits: &mut [u8; 10]) -> &[u8] {
    let mut start = digits.len();
    for (place, digit) in digits.iter_mut().enumerate().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
        start = place;
        if number == 0 {
            break;
        }
    }
    digits.get(start..).unwrap_or(&[])
}

fn page() -> Option<&'static Doorbell> {
    // Acquire pairs with the Release store in `look`: the socket's name is known before the page is.
    let page = PAGE.load(Ordering::Acquire);
    // SAFETY: null, or mapped for the life of the process.
    unsafe { page.as_ref() }
}

/// True when there is a page: this process may be recorded later.
pub(crate) fn is_there() -> bool {
    page().is_some()
}

/// The socket to connect to, if this process was called since it last looked. Only one thread gets it.
#[cold]
pub(crate) fn take_call() -> Option<&'static [u8]> {
    let page = page()?;
    let generation = page.generation();
    // Relaxed: this only decides which thread answers.
    if ANSWERED.swap(generation, Ordering::Relaxed) == generation || !page.is_for(sys::process_id()) {
        return None;
    }
    // SAFETY: written before the page was published, and never again.
    let name = unsafe { &*NAME.0.get() };
    name.split(|byte| *byte == 0).next()
}

#[cfg(test)]
mod tests {
    use super::{decimal, join, map};
    use core::ptr::null_mut;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::{Path, PathBuf};

    fn page() -> [u8; 4096] {
        let mut bytes = [0; 4096];
        bytes[..4].copy_from_slice(&0x8000_0001_u32.to_le_bytes());
        bytes[8..16].copy_from_slice(&shared_ring::doorbell::MAGIC.to_le_bytes());
        bytes
    }

    fn is_mapped(path: &Path) -> bool {
        let uid = rustix::process::geteuid().as_raw();
        map(&CString::new(path.as_os_str().as_bytes()).unwrap(), uid, null_mut()).is_some()
    }

    /// A folder for this test, removed when dropped.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("doorbell-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Folder(path)
        }

        fn file(&self, name: &str, bytes: &[u8], mode: u32) -> PathBuf {
            let path = self.0.join(name);
            std::fs::write(&path, bytes).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            path
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// Check that a page is mapped only if nobody else can write it, truncate it or have put it there.
    #[test]
    fn only_trusted_pages_are_mapped() {
        let folder = Folder::new("trust");
        assert!(is_mapped(&folder.file("good", &page(), 0o644)));
        assert!(!is_mapped(&folder.0.join("absent")));
        assert!(!is_mapped(&folder.0));
        assert!(!is_mapped(&folder.file("short", &page()[..4095], 0o644)));
        assert!(!is_mapped(&folder.file("empty", &[], 0o644)));
        assert!(!is_mapped(&folder.file("long", &[page(), page()].concat(), 0o644)));
        assert!(!is_mapped(&folder.file("strange", &[7; 4096], 0o644)));
        assert!(!is_mapped(&folder.file("open to all", &page(), 0o646)));
        assert!(!is_mapped(&folder.file("open to a group", &page(), 0o664)));
        symlink(folder.0.join("good"), folder.0.join("link")).unwrap();
        assert!(!is_mapped(&folder.0.join("link")));
        std::fs::hard_link(folder.0.join("good"), folder.0.join("second name")).unwrap();
        assert!(!is_mapped(&folder.0.join("good")) && !is_mapped(&folder.0.join("second name")));
        let pipe = CString::new(folder.0.join("pipe").as_os_str().as_bytes()).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, pipe.as_c_str(), 0o644.into()).unwrap();
        assert!(!is_mapped(&folder.0.join("pipe")));
    }

    /// Check that numbers are written in decimal.
    #[test]
    fn numbers_are_decimal() {
        for number in [0, 7, 10, 1000, 65534, u32::MAX] {
            assert_eq!(decimal(number, &mut [0; 10]), number.to_string().as_bytes());
        }
    }

    /// Check that a path is complete or `None`.
    #[test]
    fn paths_are_whole() {
        let mut buffer = [0; 108];
        assert_eq!(join(&mut buffer, &[b"/run", b"/x"], "doorbell"), Some(c"/run/x/doorbell"));
        let long = [b'a'; 99];
        assert!(join(&mut buffer, &[&long[..98]], "doorbell").is_some());
        assert!(join(&mut buffer, &[&long], "doorbell").is_none());
    }
}
