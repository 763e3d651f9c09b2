//! Real little programs, compiled here, and the names of their addresses.

mod toolchain;

mod aliases;
mod cached_answers;
mod compressed;
mod coverage;
mod debug_files;
mod executables;
mod fuzz_replay;
mod hostile;
mod identity;
mod inlines;
mod kernel_image;
mod links;
mod mangled;
mod moved;
mod selected;
mod servers;
mod split;
mod stand_ins;
mod sysroot;
mod variables;
