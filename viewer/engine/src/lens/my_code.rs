//! Which functions are not the program's own: those of standard libraries and runtimes, of interpreters, and those that
//! only pass calls on.
//!
//! | | known by |
//! |---|---|
//! | containers, smart pointers, adaptors, what wraps the allocator | name and file of the source, as everywhere ([`is_library_frame`]) |
//! | an interpreter's or a virtual machine's own | the file that they are in, if stacks have functions of its scripts |
//! | the C and the C++ library, the dynamic loader | the file that they are in |
//! | tasks, threads and other runtimes of Rust | name space |
//! | event loops, signal emission, foreign function interfaces | name |
//!
//! The latter occur many times on a stack without calling themselves, which looks like recursion and hides who called
//! whom: `on_click > g_signal_emit > … > on_change > g_signal_emit > …`.

use analysis::query::Pattern;
use analysis::{Kind, Label, Names, file_name, is_library_frame};
use capture::Tables;

/// Files of the C and the C++ library and of the dynamic loader: how their names begin.
const LIBRARIES: &[&str] = &[
    "libc.so.",
    "libc-2.",
    "ld-linux",
    "ld-2.",
    "libpthread",
    "libm.so.",
    "libdl.so.",
    "libgcc_s.so",
    "libstdc++.so",
    "libc++.so",
    "libc++abi.so",
    "ld-musl-",
    "libc.musl-",
];

/// Name spaces of Rust that a program uses rather than has, beside those of the standard library, which
/// [`is_library_frame`] tells from namespaces of C++ and from traits of the program.
const NAME_SPACES: &[&str] = &[
    "tokio::",
    "futures_util::",
    "futures_core::",
    "futures_executor::",
    "rayon::",
    "rayon_core::",
    "crossbeam_utils::",
    "async_std::",
    "smol::",
    "tracing::",
    "__rust",
    "__rdl_",
    "__rg_",
];

/// Functions that pass calls on; may contain `*`.
const FORWARDING: &[&str] = &[
    // GLib and GTK
    "g_closure_invoke",
    "g_cclosure_marshal_*",
    "_g_cclosure_marshal_*",
    "_g_closure_invoke_va",
    "signal_emit_unlocked_R*",
    "signal_emit_valist_unlocked",
    "g_signal_emit",
    "g_signal_emitv",
    "g_signal_emit_valist",
    "g_signal_emit_by_name",
    "g_type_class_meta_marshal*",
    "g_type_iface_meta_marshal",
    "g_main_context_iterate*",
    "g_main_context_dispatch*",
    "g_main_dispatch*",
    "_gtk_marshal_*",
    // libffi
    "ffi_call",
    "ffi_call_*",
    "ffi_closure_*",
    // Qt
    "QMetaObject::activate",
    "QMetaMethod::invoke*",
    "doActivate",
    "QtPrivate::QSlotObjectBase::call",
    "QCoreApplication::notify*",
    "QCoreApplicationPrivate::notify*",
    "QApplication::notify",
    "QApplicationPrivate::notify_helper",
];

/// By place of a function among all, whether it is none of the program's own.
pub(super) fn others(tables: &Tables, names: &Names) -> Vec<bool> {
    let forwarding: Vec<Pattern> = FORWARDING.iter().map(|name| Pattern::glob(name)).collect();
    let is_of_others =
        |label: &Label| is_runtime(tables, label) || forwarding.iter().any(|pattern| pattern.names(label));
    let labels: Vec<bool> = names.labels().map(is_of_others).collect();
    let places = u32::try_from(names.step_count()).expect("fewer steps than 2^32");
    let steps = (0..places).map(|place| names.step_at(place));
    steps.map(|step| labels[step.label.index()] || is_library_frame(tables, names, step)).collect()
}

/// True for functions of libraries and runtimes that come with a language.
fn is_runtime(tables: &Tables, label: &Label) -> bool {
    let (Kind::Function(..) | Kind::InModule(_)) = label.kind else { return false };
    let module = label.module().and_then(|module| tables.modules.get(module.index()));
    let is_library = module.is_some_and(|module| begins(LIBRARIES, file_name(&module.path)));
    is_library || label.base() == "_start" || begins(NAME_SPACES, label.base().trim_start_matches(['<', '&']))
}

fn begins(with: &[&str], text: &str) -> bool {
    with.iter().any(|beginning| text.starts_with(beginning))
}
