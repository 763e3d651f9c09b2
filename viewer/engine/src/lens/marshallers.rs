//! Functions that only forward calls: event loops, signal emission, foreign function interfaces.
//!
//! They occur many times on a stack without calling themselves, which looks like recursion and hides who called whom:
//! `on_click > g_signal_emit > … > on_change > g_signal_emit > …`.

/// Names of well-known ones; may contain `*`.
pub(super) const MARSHALLERS: &[&str] = &[
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
    // Rust
    "core::ops::function::FnOnce::call_once*",
    "core::ops::function::Fn*",
    "<* as core::ops::function::Fn*>::call*",
    "std::panicking::try*",
    "std::panicking::catch_unwind*",
    "std::panic::catch_unwind",
    "std::sys::backtrace::__rust_begin_short_backtrace",
    // C++
    "std::function::operator()",
    "std::_Function_handler::_M_invoke",
    "std::__invoke*",
    "std::invoke*",
];
