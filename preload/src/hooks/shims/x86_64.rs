//! x86-64, System V.

/// The register of an argument, by its index from 0.
macro_rules! argument {
    (1) => {
        "rsi"
    };
    (2) => {
        "rdx"
    };
    (3) => {
        "rcx"
    };
    (4) => {
        "r8"
    };
    (5) => {
        "r9"
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
                concat!("mov ", $crate::hooks::shims::argument!($sp), ", rsp"),
                concat!("mov ", $crate::hooks::shims::argument!($bp), ", rbp"),
                "jmp {body}",
                ".cfi_endproc",
                body = sym $body,
            )
        }
    };
}
pub(crate) use hidden_shim;

/// Further arguments lie on the stack, so this calls its body.
macro_rules! wide_shim {
    ($name:ident, $body:path) => {
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "sub rsp, 8", ".cfi_adjust_cfa_offset 8",
                "push rbp", ".cfi_adjust_cfa_offset 8",
                "lea rax, [rsp + 16]",
                "push rax", ".cfi_adjust_cfa_offset 8",
                "call {body}",
                "add rsp, 24", ".cfi_adjust_cfa_offset -24",
                "ret",
                ".cfi_endproc",
                body = sym $body,
            )
        }
    };
}
pub(crate) use wide_shim;

/// The arguments (rdi, rsi, rdx) stay unchanged.
macro_rules! announcing {
    ($(#[$attribute:meta])* $function:ident $kind:expr, to $targets:ident $index:literal $find:ident) => {
        $crate::hooks::shims::announcing! {
            $(#[$attribute])*
            $function $kind,
            "mov rax, qword ptr [rip + {targets} + 8 * {index}]",
            "test rax, rax",
            "jz 2f",
            "jmp rax",
            "2:",
            "push rdi", ".cfi_adjust_cfa_offset 8",
            "push rsi", ".cfi_adjust_cfa_offset 8",
            "push rdx", ".cfi_adjust_cfa_offset 8",
            "mov edi, {index}",
            "call {find}",
            "pop rdx", ".cfi_adjust_cfa_offset -8",
            "pop rsi", ".cfi_adjust_cfa_offset -8",
            "pop rdi", ".cfi_adjust_cfa_offset -8",
            "jmp rax",
            ".cfi_endproc",
            index = const $index,
            targets = sym $targets,
            find = sym $find,
        }
    };
    ($(#[$attribute:meta])* $function:ident $kind:expr, on $wrapper:path) => {
        $crate::hooks::shims::announcing! { $(#[$attribute])* $function $kind, "jmp {wrapper}", ".cfi_endproc", wrapper = sym $wrapper, }
    };
    ($(#[$attribute:meta])* $function:ident $kind:expr, $($then:tt)*) => {
        $(#[$attribute])*
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $function() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "mov rax, qword ptr [rip + sysprof_memprof_tls@GOTTPOFF]",
                "mov qword ptr fs:[rax + {size}], rdi",
                "cmp byte ptr fs:[rax + {hint}], {array}",
                "je 3f",
                "mov byte ptr fs:[rax + {hint}], {kind}",
                // Clears what an earlier call left that no wrapper has asked for: its block may be this one's by now.
                "mov dword ptr fs:[rax + {block}], 0",
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
pub(crate) const SECOND_ARGUMENT: usize = 2;
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
                "push rbp", ".cfi_def_cfa_offset 16", ".cfi_offset rbp, -16",
                "mov rbp, rsp", ".cfi_def_cfa_register rbp",
                "sub rsp, 32",
                "mov qword ptr [rbp - 8], rdi",
                "mov qword ptr [rbp - 16], rsi",
                "call qword ptr [rip + {wrapped} + 8 * {index}]",
                concat!(".hidden ", $label, stringify!($name), "_called"),
                concat!(".globl ", $label, stringify!($name), "_called"),
                concat!($label, stringify!($name), "_called:"),
                "mov qword ptr [rbp - 24], rax",
                "mov rdi, rax",
                "mov rsi, qword ptr [rbp - 8]",
                "mov rdx, qword ptr [rbp - 16]",
                "mov ecx, {index}",
                "lea r8, [rbp + 8]",
                "mov r9, qword ptr [rbp]",
                "call {record}",
                "mov rax, qword ptr [rbp - 24]",
                "leave", ".cfi_def_cfa rsp, 8",
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
            "jmp {thrown}",
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
                "mov ecx, {index}",
                "mov r8, rsp",
                "mov r9, rbp",
                "jmp {delete}",
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
                "xchg rdi, rsi",
                "jmp {target}",
                ".cfi_endproc",
                target = sym $target,
            )
        }
    };
}
pub(crate) use swapping;

/// Arguments in registers are stored in the place of the return address, right below those on the stack, and the
/// return address below them.
macro_rules! list_exec {
    ($(#[$doc:meta])* $name:ident, $body:path) => {
        $crate::hooks::shims::naked_export! {
            $(#[$doc])* $name,
            ".cfi_startproc",
            "pop r11",
            ".cfi_def_cfa_offset 0", ".cfi_register rip, r11",
            "push r9", "push r8", "push rcx", "push rdx", "push rsi",
            ".cfi_def_cfa_offset 40",
            "mov rsi, rsp",
            "push r11",
            ".cfi_def_cfa_offset 48", ".cfi_offset rip, -48",
            "call {body}",
            "pop r11",
            ".cfi_def_cfa_offset 40", ".cfi_register rip, r11",
            "add rsp, 40",
            ".cfi_def_cfa_offset 0",
            "push r11",
            ".cfi_def_cfa_offset 8", ".cfi_offset rip, -8",
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
            "sub rsp, 8", ".cfi_adjust_cfa_offset 8",
            "call {hold}",
            "add rsp, 8", ".cfi_adjust_cfa_offset -8",
            "mov r10, rax",
            // The return address must survive the child's return, which overwrites its place on the stack.
            "pop rdi",
            ".cfi_def_cfa_offset 0", ".cfi_register rip, rdi",
            "mov rsi, qword ptr [rip + sysprof_memprof_tls@GOTTPOFF]",
            // The epoch is saved in a register that the kernel preserves; the child sees none. `busy` is saved with
            // it, in the upper half: the child may be killed in a hook.
            "mov r8, qword ptr fs:[rsi]",
            "mov r9b, byte ptr fs:[rsi + {in_vfork}]",
            "mov dword ptr fs:[rsi], 0xffffffff",
            "or byte ptr fs:[rsi + {in_vfork}], 1",
            "mov eax, {number}",
            "syscall",
            "push rdi",
            ".cfi_def_cfa_offset 8", ".cfi_offset rip, -8",
            "test eax, eax",
            "jz 2f",
            "mov qword ptr fs:[rsi], r8",
            "mov byte ptr fs:[rsi + {in_vfork}], r9b",
            "2:",
            "push rax", ".cfi_adjust_cfa_offset 8",
            "mov rdi, r10",
            "call {release}",
            "pop rax", ".cfi_adjust_cfa_offset -8",
            "cmp eax, 0xfffff001",
            "jae 3f",
            "ret",
            "3:",
            "neg eax",
            "mov edi, eax",
            "jmp {failed}",
            ".cfi_endproc",
            in_vfork = const $crate::platform::thread_local::IN_VFORK,
            number = const libc::SYS_vfork,
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
            "cmp rdi, {number}",
            "je {body}",
            "mov rax, qword ptr [rip + {next}]",
            "test rax, rax",
            "jz 2f",
            "jmp rax",
            "2:",
            "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9",
            "sub rsp, 8",
            ".cfi_adjust_cfa_offset 56",
            "call {find}",
            "add rsp, 8",
            "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
            ".cfi_adjust_cfa_offset -56",
            "jmp rax",
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
            "jmp {resolver}",
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
            "test esi, {deeply}",
            "jnz 3f",
            "4:",
            "mov rax, qword ptr [rip + {next}]",
            "test rax, rax",
            "jz 2f",
            "jmp rax",
            "2:",
            "push rdi", "push rsi",
            "sub rsp, 8",
            ".cfi_adjust_cfa_offset 24",
            "call {find}",
            "add rsp, 8",
            "pop rsi", "pop rdi",
            ".cfi_adjust_cfa_offset -24",
            "jmp rax",
            "3:",
            "push rdi", "push rsi",
            "sub rsp, 8",
            ".cfi_adjust_cfa_offset 24",
            "call {may_bind}",
            "add rsp, 8",
            "pop rsi", "pop rdi",
            ".cfi_adjust_cfa_offset -24",
            "test al, al",
            "jz 4b",
            "jmp {body}",
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
