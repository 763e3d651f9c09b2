//! How agents see that the collector is gone.
//!
//! Each image's control memory has a word that holds this thread's id. The kernel keeps a list of such words for a
//! thread (`set_robust_list`) and marks each with `FUTEX_OWNER_DIED` when the thread ends, however it ends. So a
//! thread of ours does nothing but live. The list is singly linked through nodes in our private memory; the kernel
//! finds each word at a fixed distance from its node, so nodes lie in the control memory's page too.

use shared_ring::Control;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

/// Node of the kernel's list: the address of the next one.
#[repr(C)]
struct Node {
    next: *const Node,
}

/// Head of the kernel's list, as `set_robust_list` wants it.
#[repr(C)]
struct Head {
    list: Node,
    offset: i64,
    pending: *const Node,
}

/// Bytes from the start of the control memory to its node, which no agent reads.
const NODE: usize = 2048;

/// The thread that agents watch.
#[derive(Debug)]
pub(crate) struct Liveness {
    thread_id: u32,
    commands: mpsc::Sender<Command>,
    thread: Option<JoinHandle<()>>,
}

enum Command {
    Add(usize, mpsc::Sender<()>),
    Remove(usize, mpsc::Sender<()>),
}

impl Liveness {
    /// Starts the thread.
    pub(crate) fn start() -> std::io::Result<Liveness> {
        let (commands, inbox) = mpsc::channel();
        let id = Arc::new(AtomicU32::new(0));
        let id_out = id.clone();
        let (told, tell) = mpsc::channel();
        let thread = std::thread::Builder::new().name("keeper".into()).spawn(move || {
            id_out.store(rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned(), Ordering::Release);
            let _ = told.send(());
            keep(&inbox);
        })?;
        let _ = tell.recv();
        Ok(Liveness { thread_id: id.load(Ordering::Acquire), commands, thread: Some(thread) })
    }

    /// What the images' owner words hold.
    pub(crate) fn thread_id(&self) -> u32 {
        self.thread_id
    }

    /// Watches an image from now on.
    pub(crate) fn add(&self, control: &Control) {
        self.command(Command::Add, control);
    }

    /// Must be called before the image's memory goes.
    pub(crate) fn remove(&self, control: &Control) {
        self.command(Command::Remove, control);
    }

    fn command(&self, make: impl Fn(usize, mpsc::Sender<()>) -> Command, control: &Control) {
        let (done, wait) = mpsc::channel();
        let start = core::ptr::from_ref(control.header()).expose_provenance();
        if self.commands.send(make(start, done)).is_ok() {
            let _ = wait.recv();
        }
    }
}

impl Drop for Liveness {
    fn drop(&mut self) {
        // The thread ends when nobody can command it any more.
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
    // SAFETY: the head lives in this function, which ends with the list unregistered.
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
        };
        // SAFETY: `start` is the registered head, and the images' memory is mapped until their removal is done.
        unsafe { link(start, &images) };
        let _ = done.send(());
    }
    // An orderly end: the words stay as they are.
    // SAFETY: an empty list.
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
    // SAFETY: as above. glibc's own list of this thread is replaced: the thread locks no robust mutex of libc's.
    let _ = unsafe { libc::syscall(libc::SYS_set_robust_list, head, size_of::<Head>()) };
}

/// Links the nodes of all images into the list, whose end is its head again.
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
    // SAFETY: as above. The kernel looks at the list only when this thread dies, so no order matters but the final.
    unsafe { list.write(Node { next }) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Memory, Policy};

    fn memory(owner: u32) -> Memory {
        let geometry =
            shared_ring::Geometry { rings: 2, ring_words: 9, nodes: 10, pcs: 10, slots: 2, module_bytes: 14 };
        let policy = Policy::default();
        Memory::new(geometry, policy, owner).unwrap()
    }

    /// Check that agents see the death of a collector that was killed, and that an orderly end is not taken for one.
    #[test]
    fn death_is_seen_and_an_orderly_end_is_not() {
        let liveness = Liveness::start().unwrap();
        let orderly = memory(liveness.thread_id());
        liveness.add(&orderly.control());
        liveness.remove(&orderly.control());
        drop(liveness);
        assert!(!orderly.control().owner_died());

        // A thread that ends with its list still registered stands for a killed process: to the kernel it is the same.
        let thread = std::thread::spawn(|| {
            let memory = memory(rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned());
            let start = core::ptr::from_ref(memory.control().header()).expose_provenance();
            let owner = core::mem::offset_of!(shared_ring::control::ControlHeader, owner) as i64;
            let head = Box::leak(Box::new(Head {
                list: Node { next: core::ptr::null() },
                offset: owner - NODE as i64,
                pending: core::ptr::null(),
            }));
            // SAFETY: the head is leaked, so it stays.
            unsafe { register(head) };
            // SAFETY: the memory is returned and mapped until the test ends.
            unsafe { link(head, &[start]) };
            memory
        });
        assert!(thread.join().unwrap().control().owner_died());
    }
}
