//! 64-bit ARM, AAPCS64. A call leaves its return address in x30. Where a body wants it on the stack, as on other
//! processors, it is stored just below the caller's stack pointer, and the shim has a frame of its own meanwhile.

/// The register of an argument, by its index from 0.
macro_rules! argument {
    (1) => {
        "x1"
    };
    (2) => {
        "x2"
    };
    (3) => {
        "x3"
    };
    (4) => {
        "x4"
    };
    (5) => {
        "x5"
    };
    (6) => {
        "x6"
    };
    (7) => {
        "x7"
    };
}
pub(crate) use argument;

macro_rules! hidden_shim {
    ($(#[$attribute:meta])* $name:ident, $sp:tt, $bp:tt, $body:path) => {
        $(#[$attribute])*
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                // A sample or a signal may interrupt a thread here.
                ".cfi_startproc",
                "stp x29, x30, [sp, #-16]!",
                ".cfi_def_cfa_offset 16", ".cfi_offset x29, -16", ".cfi_offset x30, -8",
                concat!("add ", $crate::hooks::shims::argument!($sp), ", sp, #8"),
                concat!("mov ", $crate::hooks::shims::argument!($bp), ", x29"),
                "mov x29, sp",
                "bl {body}",
                "ldp x29, x30, [sp], #16",
                ".cfi_def_cfa_offset 0", ".cfi_restore x29", ".cfi_restore x30",
                "ret",
                ".cfi_endproc",
                body = sym $body,
            )
        }
    };
}
pub(crate) use hidden_shim;

/// There are registers for eight arguments.
macro_rules! wide_shim {
    ($name:ident, $body:path) => {
        $crate::hooks::shims::hidden_shim!($name, 6, 7, $body);
    };
}
pub(crate) use wide_shim;

/// The arguments (x0 to x2) stay unchanged.
macro_rules! announcing {
    ($(#[$attribute:meta])* $function:ident $kind:expr, to $targets:ident $index:literal $find:ident) => {
        $crate::hooks::shims::announcing! {
            $(#[$attribute])*
            $function $kind,
            "adrp x9, {targets}",
            "add x9, x9, :lo12:{targets}",
            "ldr x16, [x9, #8 * {index}]",
            "cbz x16, 2f",
            "br x16",
            "2:",
            "stp x29, x30, [sp, #-48]!",
            ".cfi_def_cfa_offset 48", ".cfi_offset x29, -48", ".cfi_offset x30, -40",
            "stp x0, x1, [sp, #16]",
            "str x2, [sp, #32]",
            "mov x29, sp",
            "mov w0, #{index}",
            "bl {find}",
            "mov x16, x0",
            "ldp x0, x1, [sp, #16]",
            "ldr x2, [sp, #32]",
            "ldp x29, x30, [sp], #48",
            ".cfi_def_cfa_offset 0", ".cfi_restore x29", ".cfi_restore x30",
            "br x16",
            ".cfi_endproc",
            index = const $index,
            targets = sym $targets,
            find = sym $find,
        }
    };
    ($(#[$attribute:meta])* $function:ident $kind:expr, on $wrapper:path) => {
        $crate::hooks::shims::announcing! { $(#[$attribute])* $function $kind, "b {wrapper}", ".cfi_endproc", wrapper = sym $wrapper, }
    };
    ($(#[$attribute:meta])* $function:ident $kind:expr, $($then:tt)*) => {
        $(#[$attribute])*
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $function() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "mrs x9, tpidr_el0",
                "adrp x10, :gottprel:sysprof_memprof_tls",
                "ldr x10, [x10, :gottprel_lo12:sysprof_memprof_tls]",
                "add x9, x9, x10",
                "str x0, [x9, #{size}]",
                "ldrb w10, [x9, #{hint}]",
                "cmp w10, #{array}",
                "b.eq 3f",
                "mov w10, #{kind}",
                "strb w10, [x9, #{hint}]",
                // Clears what an earlier call left that no wrapper has asked for: its block may be this one's by now.
                "str wzr, [x9, #{block}]",
                "3:",
                $($then)*
                hint = const core::mem::offset_of!($crate::platform::thread_local::ThreadLocal, kind_hint),
                size = const core::mem::offset_of!($crate::platform::thread_local::ThreadLocal, size_hint),
                block = const core::mem::offset_of!($crate::platform::thread_local::ThreadLocal, hinted_block),
                kind = const $kind,
                array = const $crate::hooks::cxx::array_form_of($kind),
            )
        }
    };
}
pub(crate) use announcing;

/// Words from a wrapper's stack pointer to the second argument of its form.
pub(crate) const SECOND_ARGUMENT: usize = 1;
/// Words from that stack pointer to the frame pointer of its caller, which the return address follows.
pub(crate) const CALLERS_FRAME: usize = 4;

/// The next `new` may throw through the frame: it has unwind information, a personality routine, and nothing to clean
/// up.
macro_rules! new_wrapper {
    ($label:literal $name:ident, $wrapped:ident, $index:literal, $record:ident) => {
        #[unsafe(naked)]
        pub(super) unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                // Encoded relative to its own place, in four bytes.
                ".cfi_personality 0x1b, sysprof_memprof_new_thrown",
                // The frame's end looks like an entry with a pushed return address: it lies just below the caller's sp.
                "sub sp, sp, #48",
                ".cfi_def_cfa_offset 48",
                "stp x29, x30, [sp, #32]",
                ".cfi_offset x29, -16", ".cfi_offset x30, -8",
                "add x29, sp, #32",
                "stp x0, x1, [sp]",
                "adrp x9, {wrapped}",
                "add x9, x9, :lo12:{wrapped}",
                "ldr x9, [x9, #8 * {index}]",
                "blr x9",
                concat!(".hidden ", $label, stringify!($name), "_called"),
                concat!(".globl ", $label, stringify!($name), "_called"),
                concat!($label, stringify!($name), "_called:"),
                "str x0, [sp, #16]",
                "ldp x1, x2, [sp]",
                "mov w3, #{index}",
                "add x4, sp, #40",
                "ldr x5, [sp, #32]",
                "bl {record}",
                "ldr x0, [sp, #16]",
                "ldp x29, x30, [sp, #32]",
                "add sp, sp, #48",
                ".cfi_def_cfa_offset 0", ".cfi_restore x29", ".cfi_restore x30",
                "ret",
                ".cfi_endproc",
                wrapped = sym $wrapped,
                index = const $index,
                record = sym $record,
            )
        }
    };
}
pub(crate) use new_wrapper;

/// The name by which wrappers of `new` refer to their personality routine.
macro_rules! thrown_hook {
    ($thrown:path) => {
        core::arch::global_asm!(
            ".hidden sysprof_memprof_new_thrown",
            ".globl sysprof_memprof_new_thrown",
            "sysprof_memprof_new_thrown:",
            ".cfi_startproc",
            "b {thrown}",
            ".cfi_endproc",
            thrown = sym $thrown,
        );
    };
}
pub(crate) use thrown_hook;

macro_rules! delete_wrapper {
    ($name:ident, $delete:ident, $index:literal) => {
        #[unsafe(naked)]
        pub(super) unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "stp x29, x30, [sp, #-16]!",
                ".cfi_def_cfa_offset 16", ".cfi_offset x29, -16", ".cfi_offset x30, -8",
                "mov w3, #{index}",
                "add x4, sp, #8",
                "mov x5, x29",
                "mov x29, sp",
                "bl {delete}",
                "ldp x29, x30, [sp], #16",
                ".cfi_def_cfa_offset 0", ".cfi_restore x29", ".cfi_restore x30",
                "ret",
                ".cfi_endproc",
                index = const $index,
                delete = sym $delete,
            )
        }
    };
}
pub(crate) use delete_wrapper;

macro_rules! swapping {
    ($(#[$attribute:meta])* $name:ident, $target:path) => {
        $(#[$attribute])*
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "mov x9, x0",
                "mov x0, x1",
                "mov x1, x9",
                "b {target}",
                ".cfi_endproc",
                target = sym $target,
            )
        }
    };
}
pub(crate) use swapping;

/// Arguments in registers are stored right below those on the stack.
macro_rules! list_exec {
    ($(#[$doc:meta])* $name:ident, $body:path) => {
        $crate::hooks::shims::naked_export! {
            $(#[$doc])* $name,
            ".cfi_startproc",
            "sub sp, sp, #80",
            ".cfi_def_cfa_offset 80",
            "stp x29, x30, [sp]",
            ".cfi_offset x29, -80", ".cfi_offset x30, -72",
            "mov x29, sp",
            "stp x1, x2, [sp, #24]",
            "stp x3, x4, [sp, #40]",
            "stp x5, x6, [sp, #56]",
            "str x7, [sp, #72]",
            "add x1, sp, #24",
            "bl {body}",
            "ldp x29, x30, [sp]",
            "add sp, sp, #80",
            ".cfi_def_cfa_offset 0", ".cfi_restore x29", ".cfi_restore x30",
            "ret",
            ".cfi_endproc",
            body = sym $body,
        }
    };
}
pub(crate) use list_exec;

macro_rules! vfork_call {
    ($(#[$doc:meta])* $name:ident, $hold:path, $release:path, $failed:path) => {
        $crate::hooks::shims::naked_export! {
            $(#[$doc])* $name,
            ".cfi_startproc",
            "stp x29, x30, [sp, #-16]!",
            ".cfi_def_cfa_offset 16", ".cfi_offset x29, -16", ".cfi_offset x30, -8",
            "bl {hold}",
            "mov x13, x0",
            // The return address stays in its register: the child overwrites what is stored here.
            "ldp x29, x30, [sp], #16",
            ".cfi_def_cfa_offset 0", ".cfi_restore x29", ".cfi_restore x30",
            "mrs x9, tpidr_el0",
            "adrp x10, :gottprel:sysprof_memprof_tls",
            "ldr x10, [x10, :gottprel_lo12:sysprof_memprof_tls]",
            "add x9, x9, x10",
            // The epoch is saved in a register that the kernel preserves; the child sees none. `busy` is saved with
            // it, in the upper half: the child may be killed in a hook.
            "ldr x11, [x9]",
            "ldrb w12, [x9, #{in_vfork}]",
            "mov w10, #-1",
            "str w10, [x9]",
            "orr w10, w12, #1",
            "strb w10, [x9, #{in_vfork}]",
            "mov x0, #{flags}",
            "mov x1, #0",
            "mov x8, #{number}",
            "svc #0",
            "cbz x0, 2f",
            "str x11, [x9]",
            "strb w12, [x9, #{in_vfork}]",
            "2:",
            "stp x0, x30, [sp, #-16]!",
            ".cfi_def_cfa_offset 16", ".cfi_offset x30, -8",
            "mov x0, x13",
            "bl {release}",
            "ldp x0, x30, [sp], #16",
            ".cfi_def_cfa_offset 0", ".cfi_restore x30",
            "cmn x0, #4095",
            "b.hs 3f",
            "ret",
            "3:",
            "neg w0, w0",
            "b {failed}",
            ".cfi_endproc",
            in_vfork = const $crate::platform::thread_local::IN_VFORK,
            flags = const libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
            number = const libc::SYS_clone,
            hold = sym $hold,
            release = sym $release,
            failed = sym $failed,
        }
    };
}
pub(crate) use vfork_call;

macro_rules! syscall_shim {
    ($(#[$doc:meta])* $name:ident, $number:expr => $body:path, else $next:path, $find:path) => {
        $crate::hooks::shims::naked_export! {
            $(#[$doc])* $name,
            ".cfi_startproc",
            "cmp x0, #{number}",
            "b.eq {body}",
            "adrp x16, {next}",
            "ldr x16, [x16, :lo12:{next}]",
            "cbz x16, 2f",
            "br x16",
            "2:",
            "stp x29, x30, [sp, #-80]!",
            ".cfi_def_cfa_offset 80", ".cfi_offset x29, -80", ".cfi_offset x30, -72",
            "stp x0, x1, [sp, #16]",
            "stp x2, x3, [sp, #32]",
            "stp x4, x5, [sp, #48]",
            "stp x6, x7, [sp, #64]",
            "mov x29, sp",
            "bl {find}",
            "mov x16, x0",
            "ldp x0, x1, [sp, #16]",
            "ldp x2, x3, [sp, #32]",
            "ldp x4, x5, [sp, #48]",
            "ldp x6, x7, [sp, #64]",
            "ldp x29, x30, [sp], #80",
            ".cfi_def_cfa_offset 0", ".cfi_restore x29", ".cfi_restore x30",
            "br x16",
            ".cfi_endproc",
            number = const $number,
            body = sym $body,
            next = sym $next,
            find = sym $find,
        }
    };
}
pub(crate) use syscall_shim;

/// An indirect function (`STT_GNU_IFUNC`): whoever looks for it calls this, under the loader's lock.
macro_rules! resolver_shim {
    ($(#[$doc:meta])* $name:ident => $resolver:path) => {
        $crate::hooks::shims::naked_export! {
            $(#[$doc])* $name,
            concat!(".type ", stringify!($name), ", %gnu_indirect_function"),
            "b {resolver}",
            resolver = sym $resolver,
        }
    };
}
pub(crate) use resolver_shim;

macro_rules! dlopen_shim {
    ($(#[$doc:meta])* $name:ident, $may_bind:path => $body:path, else $next:path, $find:path) => {
        $crate::hooks::shims::naked_export! {
            $(#[$doc])* $name,
            ".cfi_startproc",
            "tst w1, #{deeply}",
            "b.ne 3f",
            "4:",
            "adrp x16, {next}",
            "ldr x16, [x16, :lo12:{next}]",
            "cbz x16, 2f",
            "br x16",
            "2:",
            "stp x29, x30, [sp, #-32]!",
            ".cfi_def_cfa_offset 32", ".cfi_offset x29, -32", ".cfi_offset x30, -24",
            "stp x0, x1, [sp, #16]",
            "mov x29, sp",
            "bl {find}",
            "mov x16, x0",
            "ldp x0, x1, [sp, #16]",
            "ldp x29, x30, [sp], #32",
            ".cfi_def_cfa_offset 0", ".cfi_restore x29", ".cfi_restore x30",
            "br x16",
            "3:",
            "stp x29, x30, [sp, #-32]!",
            ".cfi_def_cfa_offset 32", ".cfi_offset x29, -32", ".cfi_offset x30, -24",
            "stp x0, x1, [sp, #16]",
            "mov x29, sp",
            "bl {may_bind}",
            "mov w16, w0",
            "ldp x0, x1, [sp, #16]",
            "ldp x29, x30, [sp], #32",
            ".cfi_def_cfa_offset 0", ".cfi_restore x29", ".cfi_restore x30",
            "tbz w16, #0, 4b",
            "b {body}",
            ".cfi_endproc",
            deeply = const libc::RTLD_DEEPBIND,
            next = sym $next,
            find = sym $find,
            may_bind = sym $may_bind,
            body = sym $body,
        }
    };
}
pub(crate) use dlopen_shim;
