//! Names, files and lines for addresses, or the reason why there are none.
//!
//! # Constraints
//!
//! - **Never a wrong name.** A file is read only if it is the one that was mapped ([`ModuleFile`]); a debug file
//!   only if it belongs to it; an address in a gap between two functions has no name.
//! - **Never silence.** An address without a name has a [`Reason`], whose text is shown in place of the name.
//! - **Files are hostile.** Any bytes give names or a reason: no panic, no memory beyond a multiple of the file's
//!   size, no endless work. Debug information that no compiler writes is refused.
//! - **Addresses are the file's own** virtual addresses, as `nm` and `objdump` print them. The caller turns addresses
//!   of a process into those of a file, and return addresses into those of calls.
//! - **One big module at a time.** An opened module may hold some hundred megabytes of inflated sections; the caller
//!   decides how many are open at once.
//!
//! Not supported: names of Swift, whose demangler exists in C++ only.
//!
//! ```no_run
//! use symbols::{ModuleFile, Symbolizer};
//!
//! match Symbolizer::default().open(&ModuleFile::at("/usr/bin/true")) {
//!     Ok(module) => println!("{:?}", module.lookup(0x1234)),
//!     Err(reason) => println!("{reason}. {}", reason.advice()),
//! }
//! ```
//!
//! # Files
//!
//! | file | what it does |
//! |---|---|
//! | `batch` | many addresses of many files, with several threads |
//! | `symbolizer` | opens a module |
//! | `resolver` | joins symbol tables and debug information of a binary and its debug files |
//! | `table` | which symbol covers an address |
//! | `lines` `split` `dwarf` `selection` `pruning` `survey` `debug_cache` | lines and inlined functions from debug information: also split, only the units needed, of these only what is needed, inflated and checked once |
//! | `shift` | from addresses of one file of a pair to the other's |
//! | `function_start` `main_function` `returned_text` | what instructions tell where symbols are missing |
//! | `debug_files` `debuginfod` `xz` | what was stripped from a binary: on this machine, from servers, in the binary |
//! | `kernel` `vmlinux` | functions of the running kernel |
//! | `jit` | functions made while the program ran |
//! | `demangle` | readable names; D's are made by `symbols/dlang-demangle` |
//! | `identity` `reason` `lookup` `options` | whether a file is the one that was mapped; why there is no name; what is known; where to look |
//! | `answers` `cache` `folder` | answers kept for the next recording, within bounds |
//! | `binary` `elf` `image` `arena` `compression` | bytes of files, mapped and bounded |
//! | `fuzzing` | run by the fuzzer and its replay |

#[expect(unsafe_code, reason = "ties the tables of a module to the bytes they borrow")]
mod symbolizer;

mod folder;
mod identity;
mod lookup;
mod reason;

mod answers;
mod batch;
mod binary;
mod cache;
mod jit;
mod kernel;
mod returned_text;
mod vmlinux;

mod debug_cache;
mod debug_files;
mod debuginfod;
mod demangle;
mod dwarf;
mod elf;
mod function_start;
mod lines;
mod main_function;
mod options;
mod pruning;
mod resolver;
mod selection;
mod shift;
mod split;
mod survey;
mod table;

mod arena;
mod compression;
#[expect(unsafe_code, reason = "maps files")]
mod image;

mod xz;

#[doc(hidden)]
pub mod fuzzing;

pub use batch::{Batch, Found, Source};
pub use binary::Binary;
pub use cache::Cache;
pub use debug_files::{DebugFiles, Refusal};
pub use debuginfod::{Notice, Servers};
pub use demangle::{demangle, is_rust};
pub use identity::ModuleFile;
pub use jit::{JitCode, JitFiles};
pub use kernel::{KernelFunction, KernelSymbols};
pub use lookup::{Lookup, SourceFrame};
pub use options::Options;
pub use reason::Reason;
pub use returned_text::{ReturnedText, returned_text};
pub use symbolizer::{ModuleSymbols, Symbolizer};
pub use vmlinux::KernelImage;
