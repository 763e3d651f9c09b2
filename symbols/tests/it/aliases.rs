//! Several names for one address, and one name for several.

use crate::toolchain::{Workshop, section, symbol};

/// Check that of several names, the one that callers know is shown, whatever the order in the file.
#[test]
fn aliases_show_the_public_name() {
    let source = "
        .text
        .globl __libc_allocate, allocate, __write
        .weak write
        .type __libc_allocate, @function
        .type allocate, @function
        .type __write, @function
        .type write, @function
        .type __local_write, @function
    __libc_allocate:
    allocate:
        .fill 16, 1, 0x90
        .size __libc_allocate, 16
        .size allocate, 16
    __write:
    write:
    __local_write:
        .fill 16, 1, 0x90
        .size __write, 16
        .size write, 16
        .size __local_write, 16
    ";
    let workshop = Workshop::new();
    let path = workshop.compile("aliases", source, "-shared -nostdlib");
    for (alias, expected) in [("__libc_allocate", "allocate"), ("__write", "write")] {
        assert_eq!(workshop.function("aliases", symbol(&path, alias).0).as_deref(), Ok(expected));
    }
}

/// Check that the signal trampoline has its name even if the file has none, as in a stripped C library, and that
/// nothing else gets that name.
#[test]
fn ways_back_from_signals_have_their_name() {
    for load in ["movq $15, %rax", "movl $15, %eax"] {
        let source = format!(
            "
            .text
            .globl before
            .type before, @function
        before:
            .fill 16, 1, 0x90
            .size before, 16
            nop
        way_back:
            {load}
            syscall
            .fill 16, 1, 0x90
        "
        );
        let workshop = Workshop::new();
        let path = workshop.compile("back", &source, "-shared -nostdlib -s");
        let (text, _) = section(&path, ".text");
        let (before, size) = (text, 16);
        let name = |address| workshop.function("back", address);
        assert_eq!(name(before + size).as_deref(), Ok("__restore_rt"), "{load}");
        assert_eq!(name(before + size - 1).as_deref(), Ok("before"), "{load}");
        assert!(name(before + size + 1).is_err(), "{load}");
    }
}

/// Check that two functions of the same name are each found at their own address.
#[test]
fn one_name_at_two_addresses() {
    let workshop = Workshop::new();
    let part = |value: u32| {
        format!(
            "static int __attribute__((noinline, used, section(\".text.part{value}\"))) same(int x) {{ return x + {value}; }}
             int (*volatile pointer{value})(int) = same;"
        )
    };
    workshop.compile("one.o", &part(1), "-c -O1 -g");
    workshop.compile("two.o", &part(2), "-c -O1 -g");
    let main = "extern int (*volatile pointer1)(int), (*volatile pointer2)(int);
                int main(void) { return pointer1(1) + pointer2(2); }";
    let path = workshop.compile("program", main, "-O1 -g one.o two.o");
    let (text, size) = section(&path, ".text");
    let addresses: Vec<u64> = (text..text + size).collect();
    let mut files: Vec<_> = workshop
        .lookup("program", &addresses)
        .into_iter()
        .filter(|lookup| lookup.function() == Some("same"))
        .filter_map(|lookup| lookup.frames.last().unwrap().file.clone())
        .map(|file| file.rsplit('/').next().unwrap().to_owned())
        .collect();
    files.dedup();
    assert_eq!(files, ["one.o.source.c", "two.o.source.c"]);
}

/// Check that glibc's allocator is shown under the name that programs call, with or without its debug symbols.
#[test]
fn malloc_is_called_malloc() {
    let Some(libc) = std::fs::read_to_string("/proc/self/maps").ok().and_then(|maps| {
        maps.lines().find_map(|line| {
            line.split_whitespace().last().filter(|path| path.ends_with("/libc.so.6")).map(str::to_owned)
        })
    }) else {
        return println!("skipped: not linked with glibc");
    };
    let bytes = std::fs::read(&libc).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let address = object::Object::dynamic_symbols(&file)
        .find(|symbol| object::ObjectSymbol::name(symbol).is_ok_and(|name| name == "malloc"))
        .map(|symbol| object::ObjectSymbol::address(&symbol))
        .unwrap();
    for debug_dirs in [Vec::new(), vec!["/usr/lib/debug".into()]] {
        let symbolizer = symbols::Symbolizer::new(symbols::Options { debug_dirs, ..Default::default() });
        let module = symbolizer.open(&symbols::ModuleFile::at(&libc)).unwrap();
        assert_eq!(module.lookup(address + 4).function(), Some("malloc"), "{:?}", module.debug_files());
    }
}
