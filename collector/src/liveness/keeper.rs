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

use shared_ring::Control;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

/// Node of the kernel's list: the address of the next one.
#[repr(C)]
struct Node {
    next: *const Node,
}

/// Head of the kernel's list, in the layout of `set_robust_list`.
#[repr(C)]
struct Head {
    list: Node,
    offset: i64,
    pending: *const Node,
}

/// Bytes from the start of the control memory to its node, which agents never read.
const NODE: usize = 2048;

/// Handle of the thread.
#[derive(Debug)]
pub(super) struct Keeper {
    thread_id: u32,
    /// Number of its images.
    pub(super) images: usize,
    commands: mpsc::Sender<Command>,
    thread: Option<JoinHandle<()>>,
}

enum Command {
    Add(usize, mpsc::Sender<()>),
    Remove(usize, mpsc::Sender<()>),
    /// Ends as if killed.
    #[cfg(test)]
    Die,
}

impl Keeper {
    /// Starts the thread.
    pub(super) fn start() -> std::io::Result<Keeper> {
        let (commands, inbox) = mpsc::channel();
        let id = Arc::new(AtomicU32::new(0));
        let id_out = id.clone();
        let (told, tell) = mpsc::channel();
        let thread = std::thread::Builder::new().name("keeper".into()).spawn(move || {
            // Release pairs with the Acquire load below; the channel orders them anyway.
            id_out.store(rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned(), Ordering::Release);
            let _ = told.send(());
            keep(&inbox);
        })?;
        let _ = tell.recv();
        Ok(Keeper { thread_id: id.load(Ordering::Acquire), images: 0, commands, thread: Some(thread) })
    }

    /// The value of its images' owner words.
    pub(super) fn thread_id(&self) -> u32 {
        self.thread_id
    }

    /// Adds an image.
    pub(super) fn add(&mut self, control: &Control) {
        self.images += 1;
        self.command(Command::Add, control);
    }

    /// Removes an image.
    pub(super) fn remove(&mut self, control: &Control) {
        self.images = self.images.saturating_sub(1);
        self.command(Command::Remove, control);
    }

    fn command(&self, make: impl Fn(usize, mpsc::Sender<()>) -> Command, control: &Control) {
        let (done, wait) = mpsc::channel();
        let start = core::ptr::from_ref(control.header()).expose_provenance();
        if self.commands.send(make(start, done)).is_ok() {
            let _ = wait.recv();
        }
    }

    /// Ends the thread with its list still registered, which to the kernel is the same as being killed.
    #[cfg(test)]
    pub(super) fn die(self) {
        self.commands.send(Command::Die).unwrap();
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // The thread ends when nobody can send it commands.
        let (nobody, _) = mpsc::channel();
        self.commands = nobody;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn keep(inbox: &mpsc::Receiver<Command>) {
    let owner = core::mem::offset_of!(shared_ring::control::ControlHeader, owner) as i64;
    let mut images: Vec<usize> = Vec::new();
    let mut head = Box::new(Head {
        list: Node { next: core::ptr::null() },
        offset: owner - NODE as i64,
        pending: core::ptr::null(),
    });
    let start: *mut Head = &raw mut *head;
    // SAFETY: the head lives in this function, which ends with an empty list, or leaks the head.
    unsafe { register(start) };
    while let Ok(command) = inbox.recv() {
        let done = match command {
            Command::Add(image, done) => {
                images.push(image);
                done
            }
            Command::Remove(image, done) => {
                images.retain(|known| *known != image);
                done
            }

            #[cfg(test)]
            Command::Die => {
                Box::leak(head);
                return;
            }
        };
        // SAFETY: `start` is the registered head, and the images' memory is mapped until their removal is done.
        unsafe { link(start, &images) };
        let _ = done.send(());
    }
    // An orderly end: the words stay as they are. SAFETY: an empty list.
    unsafe { link(start, &[]) };
}

/// Registers the list for the calling thread.
///
/// # Safety
/// `head` stays where it is until the thread ends or registers another.
unsafe fn register(head: *mut Head) {
    // The list is the head's first field, and an empty one points to itself.
    let list = head.cast::<Node>();
    // SAFETY: the caller vouches for the head.
    unsafe { list.write(Node { next: list }) };
    // SAFETY: as above. This replaces glibc's own list for the thread, which locks no robust mutex of libc.
    let _ = unsafe { libc::syscall(libc::SYS_set_robust_list, head, size_of::<Head>()) };
}

/// Links the nodes of all images into a list that ends at its head.
///
/// # Safety
/// `head` is the registered head, and the images' control memory is mapped and writable.
unsafe fn link(head: *mut Head, images: &[usize]) {
    let list = head.cast::<Node>();
    let mut next: *const Node = list;
    for image in images {
        let node = core::ptr::with_exposed_provenance_mut::<Node>(image + NODE);
        // SAFETY: the node lies in mapped control memory, aligned, and only this thread writes it.
        unsafe { node.write(Node { next }) };
        next = node;
    }
    // SAFETY: as above. The kernel reads the list only when this thread dies, so only the final state matters.
    unsafe { list.write(Node { next }) };
}
