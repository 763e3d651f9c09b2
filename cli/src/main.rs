//! The sysprof-memprof command.
fn main() {}
