//! A thread that keeps images, and the list through which the kernel finds them when it dies (`set_robust_list`).
//!
//! ```text
//!   head ──► node of image 3 ──► node of image 2 ──► node of image 1 ──► head
//!                  │ at a fixed distance
//!                  ▼
//!            owner word of image 3: the thread's id; FUTEX_OWNER_DIED once it is dead
//! ```
//!
//! The kernel's distance from node to word is the same for all, so each node lies in the page of control memory, too.
//! Whoever adds or removes an image changes the list, by one word: so the kernel finds all others whenever it looks.

use shared_ring::Control;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

/// Node of the kernel's list: the address of the next one.
#[repr(C)]
#[derive(Debug)]
struct Node {
    next: AtomicPtr<Node>,
}

/// Head of the kernel's list, in the layout of `set_robust_list`.
#[repr(C)]
#[derive(Debug)]
struct Head {
    list: Node,
    offset: i64,
    pending: AtomicPtr<Node>,
}

/// Bytes from the start of the control memory to its node, which agents never read.
const NODE: usize = 2048;

/// Handle of the thread.
#[derive(Debug)]
pub(super) struct Keeper {
    thread_id: u32,
    /// Registered for the thread, and so dropped after it has ended.
    head: Box<Head>,
    /// Where the control memory of its images is mapped, in reverse order of the list.
    images: Vec<usize>,
    /// The thread ends when this is dropped.
    life: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Starts the thread.
    pub(super) fn start() -> std::io::Result<Keeper> {
        let owner = core::mem::offset_of!(shared_ring::control::ControlHeader, owner) as i64;
        let node = || AtomicPtr::new(core::ptr::null_mut());
        let head =
            Box::new(Head { list: Node { next: node() }, offset: owner - NODE as i64, pending: node() });
        empty(&head);
        let address = (&raw const *head).expose_provenance();
        let (life, end) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let thread = std::thread::Builder::new().name("keeper".into()).spawn(move || {
            register(address);
            let _ = tell.send(rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned());
            let _ = end.recv();
        })?;
        let thread_id = told.recv().map_err(std::io::Error::other)?;
        Ok(Keeper { thread_id, head, images: Vec::new(), life: Some(life), thread: Some(thread) })
    }

    /// The value of its images' owner words.
    pub(super) fn thread_id(&self) -> u32 {
        self.thread_id
    }

    /// Number of its images.
    pub(super) fn images(&self) -> usize {
        self.images.len()
    }

    /// Adds an image.
    pub(super) fn add(&mut self, control: &Control) {
        let image = address(control);
        let first = self.head.list.next.load(Ordering::Relaxed);
        // Relaxed: nobody finds the node yet.
        node(image).next.store(first, Ordering::Relaxed);
        // Release: whoever finds the node, the kernel, finds what it points to.
        self.head.list.next.store(core::ptr::from_ref(node(image)).cast_mut(), Ordering::Release);
        self.images.push(image);
    }

    /// Removes an image. Its memory may be unmapped then.
    pub(super) fn remove(&mut self, control: &Control) {
        let image = address(control);
        let Some(index) = self.images.iter().position(|known| *known == image) else { return };
        self.images.remove(index);
        let before = self.images.get(index).map_or(&self.head.list, |image| node(*image));
        before.next.store(node(image).next.load(Ordering::Relaxed), Ordering::Release);
    }

    /// Ends the thread with its list as it is, which to the kernel is the same as being killed.
    #[cfg(test)]
    pub(super) fn die(mut self) {
        self.end();
    }

    fn end(&mut self) {
        drop(self.life.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // An orderly end: the words stay as they are.
        empty(&self.head);
        self.end();
    }
}

/// An empty list ends where it begins.
fn empty(head: &Head) {
    head.list.next.store(core::ptr::from_ref(&head.list).cast_mut(), Ordering::Release);
}

fn address(control: &Control) -> usize {
    core::ptr::from_ref(control.header()).expose_provenance()
}

/// The node of an image.
fn node<'i>(image: usize) -> &'i Node {
    // SAFETY: it lies in the control memory of an image that was not removed yet, mapped, writable and aligned, and
    // nobody else uses it.
    unsafe { &*core::ptr::with_exposed_provenance::<Node>(image + NODE) }
}

/// Registers a list for the calling thread. This replaces glibc's own list for it, which locks no robust mutex of
/// libc.
fn register(head: usize) {
    // SAFETY: the kernel keeps the address, and the head outlives the thread.
    let _ = unsafe { libc::syscall(libc::SYS_set_robust_list, head, size_of::<Head>()) };
}
