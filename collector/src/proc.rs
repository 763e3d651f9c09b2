//! What `/proc` says about processes, and which process a pid means.
//!
//! | file | what it knows |
//! |---|---|
//! | `process` | what `/proc` says about a process while it waits for our answer |
//! | `pid_map` | which process a pid means |
//! | `namespace` | pid namespaces other than ours |
//! | `family` | the processes descended from the target |
//! | `preloaded` | what `LD_PRELOAD` names |
//! | `mapped_file` | the file that a process has mapped |
//! | `handles` | files kept open for the sake of names |
//! | `labels` | the container, pod and service that a process is in |
//! | `vdso` | the library that the kernel maps into every process |
//! | `wait_status` | how a process has ended that somebody else reaps |
//! | `out_of_memory` | processes killed by the kernel for lack of memory |
//! | `subjects` | the live processes, for the thread that reads counters |
//! | `pace` | how often that is |

pub(crate) mod family;
pub(crate) mod handles;
pub(crate) mod labels;
#[expect(unsafe_code, reason = "maps a file to see how the kernel lists it")]
pub(crate) mod mapped_file;
#[expect(unsafe_code, reason = "asks the kernel for the number of a process")]
pub(crate) mod namespace;
pub(crate) mod out_of_memory;
pub(crate) mod pace;
pub(crate) mod pid_map;
pub(crate) mod preloaded;
pub(crate) mod process;
pub(crate) mod subjects;
pub(crate) mod vdso;
#[expect(unsafe_code, reason = "ioctl")]
pub(crate) mod wait_status;
