use crate::{LONGEST, demangle};

fn check(cases: &[(&str, &str)]) {
    for (mangled, expected) in cases {
        assert_eq!(demangle(mangled).as_deref(), Some(*expected), "{mangled}");
    }
}

/// Check names of D's own library as c++filt prints them: functions, methods and what compilers make.
#[test]
fn names_look_as_cxxfilt_prints_them() {
    check(&[
        ("_Dmain", "D main"),
        ("_D3std5stdio4File5closeMFNeZv", "std.stdio.File.close()"),
        ("_D3std3xml7Element6toHashMxFNbNlNfZm", "std.xml.Element.toHash() const"),
        ("_D4test3fooMNgxFZv", "test.foo() inout const"),
        ("_D4test3fooMOxFZv", "test.foo() shared const"),
        (
            "_D6object9Throwable6__ctorMFNaNbNiNfAyaC6object9ThrowableZC6object9Throwable",
            "object.Throwable.this(immutable(char)[], object.Throwable)",
        ),
        ("_D4test3téFZv", "test.té()"),
        ("_D4test3Foo6__dtorMFZv", "test.Foo.~this()"),
        ("_D4test3Foo10__postblitMFZv", "test.Foo.this(this)"),
        ("_D4core9exception10RangeError6__initZ", "initializer for core.exception.RangeError"),
        (
            "_D3std11parallelism17ParallelismThread7__ClassZ",
            "ClassInfo for std.parallelism.ParallelismThread",
        ),
        ("_D3std5stdio12__ModuleInfoZ", "ModuleInfo for std.stdio"),
        ("_D4test3Foo6__vtblZ", "vtable for test.Foo"),
        ("_D4test3Foo11__InterfaceZ", "Interface for test.Foo"),
        ("_D4test4mainFZ9__lambda1FNaNbNiNfiZi", "test.main().__lambda1(int)"),
        (
            "_D4core8internal2gc4impl12conservativeQw14ConservativeGC11removeRangeMFNbNiPvZv",
            "core.internal.gc.impl.conservative.gc.ConservativeGC.removeRange(void*)",
        ),
        (
            "_DTi16_D4core8internal2gc4impl5protoQo7ProtoGC7getAttrMFNbPvZk",
            "thunk to core.internal.gc.impl.proto.gc.ProtoGC.getAttr(void*)",
        ),
    ]);
}

/// Check types, each of them as a parameter: those of every letter, functions among them, and how parameters are
/// passed.
#[test]
fn parameters_look_as_cxxfilt_prints_them() {
    check(&[
        (
            "_D1f1fFvghstiklmzizkfdeopjqrcbauwnZv",
            "f.f(void, byte, ubyte, short, ushort, int, uint, long, ulong, cent, ucent, float, double, real, ifloat, idouble, ireal, cfloat, cdouble, creal, bool, char, wchar, dchar, typeof(null))",
        ),
        ("_D4test3fooFPxPyiZv", "test.foo(const(immutable(int)*)*)"),
        ("_D4test3fooFHiAyaZv", "test.foo(immutable(char)[][int])"),
        ("_D4test3fooFG4iNhG4fZv", "test.foo(int[4], __vector(float[4]))"),
        ("_D4test3fooFOxiNgiZv", "test.foo(shared(const(int)), inout(int))"),
        ("_D4test3fooFiXv", "test.foo(int...)"),
        ("_D4test3fooFiYv", "test.foo(int, ...)"),
        ("_D4test3fooFYv", "test.foo(...)"),
        ("_D4test3fooFJiKiLiMKiZv", "test.foo(out int, ref int, lazy int, scope ref int)"),
        ("_D4test3fooFDFiZiZv", "test.foo(int(int) delegate)"),
        ("_D4test3fooFDxFNbZiZv", "test.foo(int() nothrow delegate const)"),
        ("_D4test3fooFPUiZvZv", "test.foo(extern(C) void(int) function)"),
        ("_D4test3fooFS4test3BarMPiZv", "test.foo(test.Bar, scope int*)"),
        ("_D4test3fooFS4test3BarYv", "test.foo(test.Bar, ...)"),
        ("_D4test3fooFAyaQdZv", "test.foo(immutable(char)[], immutable(char)[])"),
        // c++filt of binutils 2.40 leaves this one mangled.
        ("_D4test4saveFNaNkMANgkZQf", "test.save(return scope inout(uint)[])"),
    ]);
}

/// Check arguments of templates: types, names and values of every kind.
#[test]
fn templates_look_as_cxxfilt_prints_them() {
    check(&[
        ("_D3std4math6traits__T7signbitTeZQlFNaNbNiNeeZi", "std.math.traits.signbit!(real).signbit(real)"),
        ("_D4test__T3fooVai97Vbi1Vmi7Vii5VlN3Vhi0Z3fooFZv", "test.foo!('a', true, 7uL, 5, -3L, 0u).foo()"),
        ("_D4test__T3fooVAyaa3_61220aVPvnVde18P1Z3fooFZv", "test.foo!(\"a\"\\n\", null, 0x1.8p1).foo()"),
        (
            "_D4test__T3fooVAiA2i1i2VHiiA1i1i2VS4test5PointS2i1i2Z3fooFZv",
            "test.foo!([1, 2], [1:2], test.Point(1, 2)).foo()",
        ),
        ("_D4test__T3fooS4test3barZ3fooFZv", "test.foo!(test.bar).foo()"),
        ("_D4test__T3fooS_D4test3barFiZvZ3fooFZv", "test.foo!(test.bar(int)).foo()"),
        ("_D4test__T3fooHTiX4nameZ3fooFZv", "test.foo!(int, name).foo()"),
        ("_D4test__U3fooTBiZZ3fooFZv", "test.foo!(tuple(int)).foo()"),
    ]);
}

/// Check that what is damaged, or refers to what lies ahead or to itself, is no name.
#[test]
fn damaged_names_are_none() {
    for name in [
        "_D",
        "_D0",
        "_D4",
        "_D4tes",
        "_D4test",
        "_D4test3foo",
        "_D4test3fooF",
        "_D4test3fooFiZ",
        "_D4test3fooFiZvv",
        "_D4test3fooFQaZv",
        "_D4test3fooFQzzZv",
        "_D4testQb3fooFZv",
        "_D4test3fooFAQbZv",
        "_D4test__T3fooZ",
        "_D4test__T3fooTZ3fooFZv",
        "_D99999999999999999999test",
        "_D4test3fooFéZv",
        "_D2téFZv",
        "_Dmainly",
        "_DTi_D4test",
        "_DYNAMIC",
        "_Dx",
        "_D4test__T3fooVai97Vbi1Vmi7Vii5VlN3VhI0Z3fooFZv",
    ] {
        assert_eq!(demangle(name), None, "{name}");
    }
}

/// Check that a name whose types double each other some dozen times is given up at once.
#[test]
fn growing_names_are_given_up() {
    let mut bomb = "_D1f1fFBiiZ".to_owned();
    for _ in 0..40 {
        // Back to the type before, from each of two places.
        let length = if bomb.len() == 11 { 4 } else { 6 };
        let letter = |distance: usize| char::from(b'a' + distance as u8);
        bomb.push_str(&format!("BQ{}Q{}Z", letter(length + 1), letter(length + 3)));
    }
    bomb.push_str("Zv");
    assert_eq!(demangle(&bomb), None);
    let deep = format!("_D1f1fF{}iZv", "A".repeat(100_000));
    assert_eq!(demangle(&deep), None);
    let longest = format!("_D{}{}FZv", LONGEST, "x".repeat(LONGEST));
    assert_eq!(demangle(&longest), None);
}
