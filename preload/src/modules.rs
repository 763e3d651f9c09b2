//! The modules of the process: their unwind tables for walks, their descriptions for the collector.
//!
//! A module is described once, at the first frame in it, and entered into the table. `dlclose` makes entries void and
//! increments a generation, which tells threads that their caches are stale. Addresses of another module that is
//! loaded there later get new ids, since they belong to another description.

#[expect(unsafe_code, reason = "reads a variable of libc's")]
pub(crate) mod arenas;
#[expect(unsafe_code, reason = "calls functions that only one C library has")]
pub(crate) mod c_library;
#[expect(unsafe_code, reason = "reads the tables of loaded modules")]
pub(crate) mod dynamic;
#[expect(unsafe_code, reason = "owns the memory of names")]
pub(crate) mod functions;
#[deny(unsafe_code)]
pub(crate) mod known_pages;
#[expect(unsafe_code, reason = "reads the tables of a module that has a frame of ours")]
pub(crate) mod landmarks;
#[expect(unsafe_code, reason = "asks the dynamic loader for modules, and reads its list")]
pub(crate) mod loader;
#[cfg_attr(test, expect(unsafe_code, reason = "its test allocates by libc"))]
pub(crate) mod mapped_blocks;
mod mappings;
#[expect(unsafe_code, reason = "calls functions that only musl has")]
pub(crate) mod musl;
#[expect(unsafe_code, reason = "asks the dynamic loader")]
pub(crate) mod origin;
#[expect(unsafe_code, reason = "asks the dynamic loader")]
pub(crate) mod search;
#[deny(unsafe_code)]
mod table;
#[expect(unsafe_code, reason = "reads words of modules that the loader has filled in")]
pub(crate) mod tls;

use crate::modules::dynamic::Dynamic;
use crate::modules::known_pages::{FOREIGN, OF_MODULES, share_a_page};
use crate::modules::loader::{LinkMap, Object};
use crate::platform::{hash, invalidations, own_image, sys};
use crate::process;
use core::cell::UnsafeCell;
use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use mappings::Mappings;
use shared_ring::module_log::{Described, MappedFile, Module};
use table::{Entry, MAX_MODULES, Mapping, NONE, Table};
use unwind::module::{CodeRanges, Image, Tables};
use unwind::{CodeWithoutTables, FIRST_OF_GREENLETS, Modules, Sections, SharedRules, SharedSlot};

/// Slots of the process-wide rule table.
const SHARED_RULES: usize = 1 << 16;

static SLOTS: table::Memory = table::Memory::new(MAX_MODULES);
static RULES: AtomicPtr<SharedSlot> = AtomicPtr::new(core::ptr::null_mut());
/// Finds out how modules are looked up, and where the agent is. Called once, in a process that may be recorded; false
/// when modules cannot be found. `look_up` finds a function of libc.
pub(crate) fn prepare(look_up: fn(&CStr) -> *mut c_void) -> bool {
    if !loader::prepare() {
        return false;
    }
    EXECUTABLE.learn();
    musl::learn(look_up);
    if let Some(found) = loader::find(prepare as *const () as u64) {
        own_image::note(found.start..found.end);
        sys::guard_behind(found.end);
    }
    true
}

/// Creates the tables, or empties them for another session, to which no module was described yet; false when there is
/// no memory. Nobody walks meanwhile.
#[cold]
pub(crate) fn start(are_interpreters_wanted: bool) -> bool {
    if RULES.load(Ordering::Relaxed).is_null() {
        RULES.store(sys::map_private(SHARED_RULES * size_of::<SharedSlot>()).cast(), Ordering::Release);
    } else {
        // libc may have unloaded modules of its own since the last session, unnoticed.
        shared_rules().invalidate(1..u64::MAX);
        table().clear();
        invalidations::note_unloading();
    }
    functions::begin();
    landmarks::begin(are_interpreters_wanted);
    SLOTS.map() && !RULES.load(Ordering::Relaxed).is_null()
}

/// The process-wide rule cache.
pub(crate) fn shared_rules() -> SharedRules<'static> {
    let memory = RULES.load(Ordering::Relaxed);
    let count = if memory.is_null() { 0 } else { SHARED_RULES };
    // SAFETY: mapped zeroed in `start` with so many slots and never unmapped; without memory there are no slots.
    unsafe { SharedRules::from_raw(if memory.is_null() { core::ptr::dangling() } else { memory }, count) }
}

fn table() -> Table<'static> {
    Table(SLOTS.slots())
}

/// The loader's description of the module around an address; `None` outside of modules.
#[cold]
pub(crate) fn around(address: *const c_void) -> Option<*mut LinkMap> {
    loader::find(address.addr() as u64).map(|found| found.link_map)
}

/// The entry of the module around `address`, which is described if need be.
#[cold]
fn entry(address: u64) -> Option<Entry> {
    entry_by(address, None)
}

/// The same, with the mappings if they have been read already.
#[cold]
fn entry_by(address: u64, mappings: Option<&Mappings>) -> Option<Entry> {
    if FOREIGN.has(address) {
        return None;
    }
    match table().find(address) {
        Some(entry) if is_there(&entry) => Some(entry),
        // libc unloads modules of its own, for example those for character sets, and calls no hook of ours for it.
        Some(_) => {
            forget_unloaded();
            describe(address, mappings)
        }
        None => describe(address, mappings),
    }
}

/// Whether the byte at `address` can be read.
fn is_readable(address: u64) -> bool {
    match entry(address) {
        Some(_) => OF_MODULES.has(address) || OF_MODULES.learn(address, is_in_a_hole(address)),
        None => FOREIGN.has(address) || sys::is_readable(address & !7),
    }
}

/// True for addresses between the parts of a module that was mapped with holes, where anything else may lie.
fn is_in_a_hole(address: u64) -> bool {
    loader::find(address).is_none_or(|part| !(part.start..part.end).contains(&address))
}

/// True while the loader still has the same module at the start of the code.
fn is_there(entry: &Entry) -> bool {
    loader::find(entry.start).is_some_and(|found| mapping(&found) == entry.mapping)
}

fn mapping(object: &Object) -> Mapping {
    let Object { link_map, start, end, .. } = *object;
    Mapping { link_map: link_map.addr() as u64, start, end }
}

/// Reads the mapped image around `address` and makes an entry for it.
#[cold]
#[inline(never)]
fn describe(address: u64, mappings: Option<&Mappings>) -> Option<Entry> {
    let found = loader::find(address)?;
    let (load_address, image) = read_image(&found, address)?;
    let code = image.code.as_slice();
    let start = code.iter().map(|range| range.start).min()?;
    let end = code.iter().map(|range| range.end).max()?;
    let session = process::session()?;
    let read;
    let mappings = match mappings {
        Some(mappings) => mappings,
        None => {
            read = Mappings::read(load_address.max(address));
            &read
        }
    };
    // Code may have been moved to memory without a file, for the sake of huge pages.
    let file = mappings.file(load_address).or_else(|| mappings.file(address));
    let (file, path) = file.unwrap_or_else(|| (MappedFile::default(), path_of(&found)));
    let module = Module {
        start: load_address,
        end: end.max(found.end),
        bias: image.bias,
        slot: process::slot_index(),
        build_id: image.build_id.as_ref().map_or(&[], |id| id.as_bytes()),
        file,
        path,
    };
    // The part around `start` is what later checks compare. In a module that is mapped with holes it may differ from
    // the part around the address.
    let mapping = mapping(&loader::find(start).unwrap_or(found));
    let (hdr, segment) = image
        .tables
        .as_ref()
        .map_or((0, [0; 2]), |tables| (tables.hdr, [tables.segment.start, tables.segment.end]));
    // SAFETY: the loader's description of a loaded module, which contains a frame of ours or is kept by the caller.
    unsafe { landmarks::look_in(found.link_map) };
    let entry = Entry { start, end, serial: 0, hdr, segment, mapping };
    table().enter(entry, identity(&module), || session.describe(Described::Module(module)))
}

/// Identifies a module: if two have the same identity, the description of one is true of the other. `NONE` without a
/// build id, since it may be another file.
fn identity(module: &Module<'_>) -> u64 {
    let Module { start, end, bias, slot: _, build_id, file: _, path } = *module;
    if build_id.is_empty() {
        return NONE;
    }
    let texts = hash::words(build_id).chain([hash::END]).chain(hash::words(path));
    hash::fnv([start, end, bias].into_iter().chain(texts))
}

/// The image whose code is at `address`, and where its first byte is mapped.
///
/// For a module that is mapped with holes, the start of the mapping according to the loader is that of one segment.
/// Then the image begins at the load bias or, for a program at fixed addresses, at the page of its program headers.
///
/// If no segment contains the headers, there is only what the loader knows of the module.
fn read_image(found: &Object, address: u64) -> Option<(u64, Image)> {
    // SAFETY: the loader's description of a loaded module, which contains a frame of ours.
    let bias = unsafe { found.link_map.as_ref() }.map_or(0, |map| map.address);
    // SAFETY: reads a word that the kernel passed at the start.
    let headers = unsafe { libc::getauxval(libc::AT_PHDR) };
    // Headers are read piece by piece, mostly from the same page.
    let mut known = 0;
    let mut has_headers = false;
    let starts = [found.start, bias, headers & !4095].into_iter();
    let described = starts.filter(|start| *start != 0).find_map(|start| {
        let image =
            Image::parse(start, |from, buffer: &mut [u8]| read_mapped(&mut known, from, buffer)).ok()?;
        has_headers |= image.bias == bias;
        image.code.contains(address).then_some((start, image))
    });
    // With headers, the address is in a part of the module that is not code.
    let by_loader = || Some((found.start, image_of_loader(found, bias)?));
    described.or_else(|| if has_headers { None } else { by_loader() })
}

/// A module whose headers are not mapped, as the loader describes it: its whole mapping may be code, and where the
/// segment around its unwind tables begins and ends is where pages can be read.
#[cold]
fn image_of_loader(found: &Object, bias: u64) -> Option<Image> {
    let mapped = found.start..found.end;
    let hdr = found.eh_frame_hdr;
    let page = hdr & !4095;
    if !mapped.contains(&hdr) || !sys::is_readable(page) {
        return None;
    }
    let (mut start, mut end) = (page, page.wrapping_add(4096));
    while start > mapped.start && sys::is_readable(start.wrapping_sub(4096)) {
        start = start.wrapping_sub(4096);
    }
    while end < mapped.end && sys::is_readable(end) {
        end = end.wrapping_add(4096);
    }
    let tables = Some(Tables { hdr, segment: start.max(mapped.start)..end.min(mapped.end) });
    Some(Image { bias, code: CodeRanges::of(mapped.clone()), mapped, tables, build_id: None })
}

/// True in the first function of a greenlet.
#[cold]
fn begins_greenlet(address: u64) -> bool {
    let Some(found) = loader::find(address) else { return false };
    // SAFETY: the loader's description of a loaded module, which contains a frame of ours.
    let Some(map) = (unsafe { found.link_map.as_ref() }) else { return false };
    let module = Dynamic::of(map);
    let offset = address.wrapping_sub(module.bias());
    let has = |name| module.exported(name).is_some_and(|it| offset.wrapping_sub(it.value) < it.size);
    FIRST_OF_GREENLETS.into_iter().any(has)
}

/// Serial of the module that an address lies in; 0 for none.
#[cold]
pub(crate) fn serial(address: u64) -> u32 {
    entry(address).map_or(0, |entry| entry.serial)
}

/// Copies memory of a module after a check of each page, except the one that is `known` to be readable.
fn read_mapped(known: &mut u64, from: u64, buffer: &mut [u8]) -> bool {
    let Some(end) = from.checked_add(buffer.len() as u64) else { return false };
    let mut page = from & !4095;
    while page < end {
        if *known != page && !sys::is_readable(page) {
            return false;
        }
        *known = page;
        page += 4096;
    }
    // SAFETY: all pages of the range were just found readable, and the buffer is a separate object.
    unsafe { core::ptr::copy_nonoverlapping(from as *const u8, buffer.as_mut_ptr(), buffer.len()) };
    true
}

/// The path of the executable, read once: the program may later forbid itself to read it.
struct Executable {
    bytes: UnsafeCell<[u8; 1024]>,
    length: AtomicUsize,
}

// SAFETY: written once, by the constructor, before the length is published.
unsafe impl Sync for Executable {}

static EXECUTABLE: Executable = Executable { bytes: UnsafeCell::new([0; 1024]), length: AtomicUsize::new(0) };

impl Executable {
    /// Called once, in the constructor, before there is a second thread that could ask.
    fn learn(&self) {
        if self.length.load(Ordering::Relaxed) != 0 {
            return;
        }
        // SAFETY: nobody reads before the length is published, and nobody else writes.
        let bytes = unsafe { &mut *self.bytes.get() };
        if let Ok(length) =
            rustix::fs::readlinkat_raw(rustix::fs::CWD, c"/proc/self/exe", bytes.as_mut_slice())
        {
            // Release pairs with the Acquire load in `path`.
            self.length.store(length, Ordering::Release);
        }
    }

    fn path(&'static self) -> &'static [u8] {
        let length = self.length.load(Ordering::Acquire);
        if length == 0 {
            return &[];
        }
        // SAFETY: written before the length was published, and never again.
        let bytes: &'static [u8; 1024] = unsafe { &*self.bytes.get() };
        bytes.get(..length).unwrap_or(&[])
    }
}

/// The path of a module as the loader has it, where the kernel does not say. Allocates nothing.
fn path_of(found: &Object) -> &'static [u8] {
    // SAFETY: the loader's description of a loaded module, which contains a frame of ours.
    let Some(map) = (unsafe { found.link_map.as_ref() }) else { return &[] };
    let name = if map.name.is_null() {
        &[]
    } else {
        // SAFETY: the loader's names are strings that live as long as the module.
        unsafe { CStr::from_ptr(map.name) }.to_bytes()
    };
    // glibc's name for the main program is empty. musl's is the name by which the program was called; there the
    // vDSO's is empty.
    let is_program =
        if c_library::is_musl() { loader::is_first_listed(found.link_map) } else { name.is_empty() };
    match name {
        _ if is_program => EXECUTABLE.path(),
        [] => b"linux-vdso.so.1",
        name => name,
    }
}

/// Makes the entries of unloaded modules void.
pub(crate) fn forget_unloaded() {
    table().forget(|entry| {
        let is_gone = !is_there(entry);
        if is_gone {
            shared_rules().invalidate(entry.start..entry.end);
        }
        is_gone
    });
    invalidations::note_unloading();
}

/// Describes all modules that the loader has now, so that even a process that dies at once leaves their descriptions.
pub(crate) fn describe_loaded() {
    extern "C" fn each(info: *mut libc::dl_phdr_info, _size: usize, mappings: *mut c_void) -> c_int {
        // SAFETY: the loader passes a valid description.
        let info = unsafe { &*info };
        // SAFETY: it passes on what it was given below, which lives until it returns.
        let mappings: Option<&Mappings> = unsafe { mappings.cast::<Mappings>().as_ref() };
        for index in 0..usize::from(info.dlpi_phnum) {
            // SAFETY: the loader says that there are so many program headers.
            let header = unsafe { &*info.dlpi_phdr.wrapping_add(index) };
            if header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0 {
                let _ = entry_by(info.dlpi_addr.wrapping_add(header.p_vaddr), mappings);
                break;
            }
        }
        0
    }
    let mut mappings = Mappings::read(u64::MAX);
    #[expect(
        clippy::disallowed_methods,
        reason = "not in a hook: the constructor may take the loader's lock"
    )]
    // SAFETY: the callback keeps nothing and makes no call of the loader that takes its lock.
    unsafe {
        libc::dl_iterate_phdr(Some(each), (&raw mut mappings).cast())
    };
}

/// The modules as a walk asks for them.
#[derive(Debug)]
pub(crate) struct Loaded;

impl Modules for Loaded {
    fn find(&self, address: u64) -> Option<Sections<'_>> {
        let entry = entry(address)?;
        let [start, end] = entry.segment;
        let length = usize::try_from(end.checked_sub(start)?).ok()?;
        if length == 0 {
            return None;
        }
        // SAFETY: a readable segment of a loaded module, which contains a frame of this thread.
        let segment = unsafe { core::slice::from_raw_parts(start as *const u8, length) };
        Some(Sections { segment, segment_address: start, hdr_address: entry.hdr })
    }

    fn text(&self, address: u64) -> Option<CodeWithoutTables<'_>> {
        musl::text(address)
    }

    // Only asked where a rule is not known yet.
    fn begins_stack(&self, address: u64) -> bool {
        landmarks::kind() == Some(landmarks::Kind::Python) && begins_greenlet(address)
    }

    fn is_code(&self, address: u64) -> bool {
        match entry(address) {
            Some(_) => true,
            // Code generated at run time lies in no module; whether it can be read is all that can be checked
            // cheaply.
            None => FOREIGN.has(address) || FOREIGN.learn(address, true),
        }
    }

    fn code(&self, address: u64) -> Option<[u8; 16]> {
        let mut bytes = [0; 16];
        let last = address.checked_add(15)?;
        if !is_readable(address) || !share_a_page(address, last) && !is_readable(last) {
            return None;
        }
        // SAFETY: the pages of both ends were just found readable, and sixteen bytes touch no third page.
        unsafe { core::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), 16) };
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::start;
    use crate::platform::invalidations;

    /// Check that rules which a thread has cached are void in another session, since unloadings between the two go
    /// unnoticed.
    #[test]
    fn rules_are_those_of_one_session() {
        assert!(start(true));
        let first = invalidations::generation();
        assert!(start(true));
        assert_ne!(invalidations::generation(), first);
    }
}
