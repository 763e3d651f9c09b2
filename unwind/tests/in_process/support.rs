//! The process as an unwinder sees it: modules, stacks, and glibc's opinion.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use unwind::module::Image;
use unwind::{
    CachedRules, CodeAddress, End, Memory, Modules, Registers, RuleTable, Scratch, Sections, SharedRules,
    SharedSlot, StackMemory, walk,
};

/// The modules of this process.
pub(crate) struct Process(Vec<Image>);

impl Process {
    /// All modules loaded now.
    pub(crate) fn new() -> Self {
        let mut images = Vec::new();
        // SAFETY: the callback gets back the vector that is passed here, and only during the call.
        unsafe { libc::dl_iterate_phdr(Some(add_image), (&raw mut images).cast()) };
        Self(images)
    }

    /// The modules.
    pub(crate) fn images(&self) -> &[Image] {
        &self.0
    }

    /// The module whose code contains `address`.
    pub(crate) fn image(&self, address: u64) -> Option<&Image> {
        self.0.iter().find(|image| image.code.contains(address))
    }
}

/// Adds a loaded module to the vector behind `images`.
unsafe extern "C" fn add_image(info: *mut libc::dl_phdr_info, _size: usize, images: *mut c_void) -> c_int {
    // SAFETY: `images` is the vector that `Process::new` passed.
    let images = unsafe { &mut *images.cast::<Vec<Image>>() };
    // SAFETY: the loader passes a valid description.
    let info = unsafe { &*info };
    // SAFETY: the program headers stay mapped as long as the module.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let first = headers.iter().find(|header| header.p_type == libc::PT_LOAD && header.p_offset == 0);
    let load_address = info.dlpi_addr + first.map_or(0, |header| header.p_vaddr);
    let image = Image::parse(load_address, |address, into| {
        // SAFETY: the headers and notes of a loaded module are mapped where its headers say.
        unsafe { std::ptr::copy_nonoverlapping(address as *const u8, into.as_mut_ptr(), into.len()) };
        true
    });
    images.push(image.expect("a loaded module has sound headers"));
    0
}

impl Modules for Process {
    fn find(&self, address: u64) -> Option<Sections<'_>> {
        let tables = self.image(address)?.tables.as_ref()?;
        let Range { start, end } = tables.segment;
        // SAFETY: a readable segment of a module that no test unloads.
        let segment = unsafe { std::slice::from_raw_parts(start as *const u8, (end - start) as usize) };
        Some(Sections { segment, segment_address: start, hdr_address: tables.hdr })
    }

    fn is_code(&self, address: u64) -> bool {
        self.image(address).is_some()
    }

    fn code(&self, address: u64) -> Option<[u8; 16]> {
        if !(self.is_code(address) && self.is_code(address + 15)) {
            return None;
        }
        // SAFETY: sixteen bytes of mapped code.
        Some(unsafe { std::ptr::read_unaligned(address as *const [u8; 16]) })
    }
}

/// Whether the vDSO is mapped at `address`.
pub(crate) fn is_vdso(address: u64) -> bool {
    // SAFETY: reads a number that the kernel passed at the start.
    address == unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) }
}

/// The words of the current thread's stack.
pub(crate) fn this_stack_memory() -> StackMemory {
    // SAFETY: the stack stays mapped while the thread runs, and the tests keep the value in the thread.
    unsafe { StackMemory::new(this_stack()) }
}

/// Several stacks, such as a thread's own and its alternate one.
pub(crate) struct Stacks(Vec<StackMemory>);

impl Stacks {
    /// The stack of the current thread, and its alternate one, which stays mapped for the rest of the test.
    pub(crate) fn of_this_thread(alternate: Option<Range<u64>>) -> Self {
        // SAFETY: the test keeps the range mapped.
        let alternate = alternate.map(|range| unsafe { StackMemory::new(range) });
        Self([this_stack_memory()].into_iter().chain(alternate).collect())
    }
}

impl Memory for Stacks {
    fn read(&mut self, address: u64) -> Option<u64> {
        self.0.iter_mut().find_map(|stack| stack.read(address))
    }
}

/// The stack of the current thread.
pub(crate) fn this_stack() -> Range<u64> {
    let mut attributes = std::mem::MaybeUninit::uninit();
    // SAFETY: returns the calling thread.
    let thread = unsafe { libc::pthread_self() };
    // SAFETY: fills the attributes of this thread.
    let error = unsafe { libc::pthread_getattr_np(thread, attributes.as_mut_ptr()) };
    assert_eq!(error, 0, "pthread_getattr_np");
    let (mut start, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: the attributes were filled.
    unsafe { libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut start, &raw mut size) };
    // SAFETY: the attributes were filled.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    let start = start as u64;
    start..start + size as u64
}

/// An unwinder and its caches.
pub(crate) struct Walker {
    process: Process,
    table: Box<RuleTable>,
    slots: Vec<SharedSlot>,
    scratch: Box<Scratch>,
}

impl Walker {
    /// Empty caches in front of the modules loaded now.
    pub(crate) fn new() -> Self {
        Self {
            process: Process::new(),
            table: Box::default(),
            slots: (0..4096).map(|_| SharedSlot::new()).collect(),
            scratch: Box::default(),
        }
    }

    /// The modules.
    pub(crate) fn process(&self) -> &Process {
        &self.process
    }

    /// Empties the per-thread table.
    pub(crate) fn clear_table(&mut self) {
        self.table.clear();
    }

    /// Empties both tables.
    pub(crate) fn clear(&mut self) {
        self.table.clear();
        SharedRules::new(&self.slots).invalidate(0..u64::MAX);
    }

    /// Walks from `start`; allocates nothing.
    pub(crate) fn walk(
        &mut self,
        start: Registers,
        memory: &mut impl Memory,
        max_depth: usize,
        visit: impl FnMut(CodeAddress, &mut u32),
    ) -> End {
        self.with_rules(|rules| walk(start, memory, rules, max_depth, visit))
    }

    /// Runs `function` with the rules.
    pub(crate) fn with_rules<T>(&mut self, function: impl FnOnce(&mut CachedRules<'_, Process>) -> T) -> T {
        let shared = SharedRules::new(&self.slots);
        function(&mut CachedRules::new(&mut self.table, shared, &self.process, &mut self.scratch))
    }
}

/// Frames of a walk or of glibc, in memory reserved beforehand, so that a signal handler can fill them.
pub(crate) struct Trace(Vec<u64>);

impl Trace {
    /// The most frames that are kept.
    pub(crate) const CAPACITY: usize = 4096;

    /// No frames.
    pub(crate) fn new() -> Self {
        Self(Vec::with_capacity(Self::CAPACITY))
    }

    /// Forgets all frames.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds an older frame, if there is room.
    pub(crate) fn push(&mut self, address: u64) {
        if self.0.len() < Self::CAPACITY {
            self.0.push(address);
        }
    }

    /// The frames that glibc sees, from the caller of this on.
    #[inline(always)]
    pub(crate) fn backtrace(&mut self) {
        // SAFETY: the buffer has room for as many pointers as are asked for.
        let len = unsafe { libc::backtrace(self.0.as_mut_ptr().cast(), Self::CAPACITY as c_int) };
        // SAFETY: glibc has filled that many.
        unsafe { self.0.set_len(len as usize) };
    }

    /// The frames, innermost first.
    pub(crate) fn frames(&self) -> &[u64] {
        &self.0
    }
}

/// Walks from `start`, a place in the function that also took `expected`, and compares all older frames.
#[inline(never)]
pub(crate) fn assert_same(start: Registers, expected: &Trace) {
    let mut walker = Walker::new();
    let mut stacks = this_stack_memory();
    // The first walk fills the caches, the second uses them.
    for pass in ["cold", "warm"] {
        let mut frames = Vec::new();
        let end = walker.walk(start, &mut stacks, Trace::CAPACITY, |code, _| frames.push(code.address()));
        assert_eq!(end, End::Root, "{pass} walk of {frames:#x?}");
        assert_eq!(frames[1..], expected.frames()[1..], "{pass} walk");
        assert!(frames[0].abs_diff(expected.frames()[0]) < 4096, "{pass} walk begins in the same function");
    }
}

/// Compares our walk from this line with glibc's.
macro_rules! assert_walks_like_backtrace {
    () => {{
        let mut expected = crate::support::Trace::new();
        expected.backtrace();
        crate::support::assert_same(unwind::Registers::here(), &expected);
        expected.frames().len()
    }};
}
