//! Makes mangled names readable.
//!
//! - C++ (Itanium ABI) as c++filt prints it, with clones marked: `f(int) [clone .cold]`. The functions that gcc makes of
//!   a coroutine are marked as clones of it, since it is their name; c++filt prints the type of their parameter.
//! - Rust, both manglings, without the hash that changes with every build.
//! - D, as c++filt prints it.
//! - OCaml, as perf prints it.
//! - Anything else, and a mangled name that is damaged or abusive, stays as it is.
//!
//! `.llvm.123` is dropped from mangled names: LLVM appends a number that differs from build to build, so with it
//! no function would be found again in a later capture.

mod bounded;
mod cpp;
mod generics;
mod ocaml;
mod scopes;

use bounded::Bounded;
use std::fmt::Write;

/// The readable form of a symbol's name, or the name itself if it is not mangled.
pub fn demangle(name: &str) -> String {
    let stable = without_llvm_number(name);
    let readable = if is_rust(&stable) {
        rust(&stable)
    } else if name.starts_with("_Z") || name.starts_with("_GLOBAL_") {
        cpp::demangle(&stable)
    } else if name.starts_with("_D") {
        dlang(&stable)
    } else {
        ocaml::demangle(&stable)
    };
    readable.unwrap_or_else(|| name.to_owned())
}

/// Whether a linkage name is one that rustc generates.
pub fn is_rust(name: &str) -> bool {
    name.starts_with("_R") || is_legacy_rust(name)
}

fn rust(name: &str) -> Option<String> {
    let demangled = rustc_demangle::try_demangle(name).ok()?;
    let mut out = Bounded::default();
    write!(out, "{demangled:#}").ok()?;
    Some(out.into_string())
}

/// D's names are those of its specification, with clones marked as in names of C++.
fn dlang(name: &str) -> Option<String> {
    let (mangled, clones) = name.split_at(name.find('.').unwrap_or(name.len()));
    let mut readable = dlang_demangle::demangle(mangled)?;
    mark_clones(clones, &mut readable);
    Some(readable)
}

/// Whether a name ends as rustc's legacy mangling does, `17h`, 16 digits, `E`; otherwise it is C++.
fn is_legacy_rust(name: &str) -> bool {
    let Some((_, hash)) = name.rsplit_once("17h") else { return false };
    let is_hash = hash.bytes().take(16).all(|digit| digit.is_ascii_hexdigit());
    let end = hash.get(16..).and_then(|rest| rest.strip_prefix('E'));
    name.starts_with("_ZN") && is_hash && end.is_some_and(|end| end.is_empty() || end.starts_with('.'))
}

/// `f.cold` for `f.llvm.123.cold`.
fn without_llvm_number(name: &str) -> String {
    match name.split_once(".llvm.") {
        Some((before, after)) => {
            let rest = after.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
            format!("{before}{rest}")
        }
        None => name.to_owned(),
    }
}

/// `.part.0.cold` as ` [clone .part.0] [clone .cold]`: a number belongs to the word before it.
fn mark_clones(clones: &str, out: &mut String) {
    let mut is_open = false;
    for part in clones.split('.').skip(1) {
        let is_number = part.starts_with(|c: char| c.is_ascii_digit());
        if is_open && !is_number {
            out.push(']');
        }
        if !is_open || !is_number {
            out.push_str(" [clone ");
        }
        out.push('.');
        out.push_str(part);
        is_open = true;
    }
    if is_open {
        out.push(']');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(cases: &[(&str, &str)]) {
        for (mangled, expected) in cases {
            assert_eq!(demangle(mangled), *expected, "{mangled}");
        }
    }

    /// Check C++ names, local ones (`_ZL`) among them, as c++filt prints them.
    #[test]
    fn cpp_names_look_as_cxxfilt_prints_them() {
        check(&[
            (
                "_ZL11DisplayLineP20nsDisplayListBuilderRK6nsRectS3_R19nsLineList_iteratoriRiRK16nsDisplayListSetP12nsBlockFrame",
                "DisplayLine(nsDisplayListBuilder*, nsRect const&, nsRect const&, nsLineList_iterator&, int, int&, nsDisplayListSet const&, nsBlockFrame*)",
            ),
            (
                "_ZL11DisplayRowsP20nsDisplayListBuilderP7nsFrameRK6nsRectRK16nsDisplayListSet",
                "DisplayRows(nsDisplayListBuilder*, nsFrame*, nsRect const&, nsDisplayListSet const&)",
            ),
            (
                "_ZL11DrawBordersP10gfxContextR7gfxRectS2_PhPdS4_PjPP14nsBorderColorsijiP6nsRect",
                "DrawBorders(gfxContext*, gfxRect&, gfxRect&, unsigned char*, double*, double*, unsigned int*, nsBorderColors**, int, unsigned int, int, nsRect*)",
            ),
            ("_ZL11HandleEventP10nsGUIEvent", "HandleEvent(nsGUIEvent*)"),
            ("_ZL12IsContentLEQP13nsDisplayItemS0_Pv", "IsContentLEQ(nsDisplayItem*, nsDisplayItem*, void*)"),
            (
                "_ZL15expose_event_cbP10_GtkWidgetP15_GdkEventExpose",
                "expose_event_cb(_GtkWidget*, _GdkEventExpose*)",
            ),
            ("_ZN5space3fooEibc", "space::foo(int, bool, char)"),
            ("_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f()"),
            ("_Znwm", "operator new(unsigned long)"),
            ("_ZdlPvm", "operator delete(void*, unsigned long)"),
            ("_ZN1AC2Ev", "A::A()"),
            ("_ZN1AD0Ev", "A::~A()"),
            ("_ZNK1AcvbEv", "A::operator bool() const"),
            ("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const"),
            ("_Z1fB5cxx11v", "f[abi:cxx11]()"),
            ("_GLOBAL__I__ZN1AC2Ev", "global constructors keyed to A::A()"),
            ("_ZThn16_N1B1fEv", "non-virtual thunk to B::f()"),
            ("_ZTv0_n24_N1BD1Ev", "virtual thunk to B::~B()"),
            ("_Z1gRSt5arrayIiLm4EE", "g(std::array<int, 4ul>&)"),
            ("_Z1gILi3EEvv", "void g<3>()"),
            ("_ZN1TIbJEE1fEv", "T<bool>::f()"),
            ("_ZN1A6ReportIJEEEviDpRKT_", "void A::Report<>(int)"),
            ("_ZN1A6ReportIJEEEvDpRKT_", "void A::Report<>()"),
            ("_ZN1A3AddI1BJEEEPT_iDpOT0_", "B* A::Add<B>(int)"),
            ("_ZZN1A3AddI1BJEEEPT_DpOT0_E4args", "B* A::Add<B>()::args"),
            ("_ZN1A4CallEOFviE", "A::Call(void (&&)(int))"),
            ("_ZN1AC1IPKcvEET_S3_i", "A::A<char const*, void>(char const*, char const*, int)"),
        ]);
    }

    /// Check thunks of all kinds, tables, and the callers of constructors of global objects, as c++filt prints them.
    #[test]
    fn special_names_are_spelled_out() {
        check(&[
            ("_ZTchn16_h16_N1C5cloneEv", "covariant return thunk to C::clone()"),
            ("_ZTch0_v0_n24_N1C5cloneEv", "covariant return thunk to C::clone()"),
            ("_ZTcv0_n24_h16_N1C5cloneEv", "covariant return thunk to C::clone()"),
            (
                "_ZTcv0_n24_v0_n32_NK1D4selfEi.cold",
                "covariant return thunk to D::self(int) const [clone .cold]",
            ),
            ("_ZThn16_N1C5cloneIiEEvT_", "non-virtual thunk to void C::clone<int>(int)"),
            ("_ZTv0_n24_NK1D4selfEv", "virtual thunk to D::self() const"),
            ("_ZTV1A", "vtable for A"),
            ("_ZTT1A", "VTT for A"),
            ("_ZTC1F0_1D", "construction vtable for D-in-F"),
            ("_ZGVZ7guardedvE1x", "guard variable for guarded()::x"),
            ("_GLOBAL__I_main", "global constructors keyed to main"),
            ("_GLOBAL__I_a.cpp", "global constructors keyed to a.cpp"),
            ("_GLOBAL__I_000101", "global constructors keyed to 000101"),
            ("_GLOBAL__D_main", "global destructors keyed to main"),
            ("_GLOBAL__D__Z1fi", "global destructors keyed to f(int)"),
            ("_GLOBAL__sub_I_main", "_GLOBAL__sub_I_main"),
            ("_GLOBAL__I.00100_main", "_GLOBAL__I.00100_main"),
            ("_GLOBAL__", "_GLOBAL__"),
            ("_GLOBAL__I_", "global constructors keyed to "),
            ("_ZTh", "_ZTh"),
            ("_ZThn16", "_ZThn16"),
            ("_ZTcv0_n24_", "_ZTcv0_n24_"),
            ("_ZTv0_n_1f", "_ZTv0_n_1f"),
        ]);
    }

    /// Check lambdas and arguments whose template parameters are declared in the name, as since gcc 14 and clang 18:
    /// they read as c++filt of binutils 2.40 prints them, or with their concept where that cannot read them.
    #[test]
    fn declared_template_parameters_are_named() {
        check(&[
            (
                "_ZZ7lambdasvENKUlTyT_E_clIiEEDaS_",
                "auto lambdas()::{lambda<typename $T0>($T0)#1}::operator()<int>(int) const",
            ),
            (
                "_ZZ7lambdasvENKUlTyTnDaT_E_clIiLi3EEEDaS_",
                "auto lambdas()::{lambda<typename $T0, auto $N1>($T0)#1}::operator()<int, 3>(int) const",
            ),
            (
                "_Z2apIZ7lambdasvEUlTyT_E_JiEEDaS0_DpT0_",
                "auto ap<lambdas()::{lambda<typename $T0>($T0)#1}, int>(lambdas()::{lambda<typename $T0>($T0)#1}, int)",
            ),
            (
                "_ZZ7lambdasvENKUlTtTyTyET_IiSaIiEEE_clISt6vectorEEDaS1_",
                "auto lambdas()::{lambda<template<typename, typename> class $TT0>($TT0<int, std::allocator<int> >)#1}\
                 ::operator()<std::vector>(std::vector<int, std::allocator<int> >) const",
            ),
            (
                "_ZZ7lambdasvENKUlTk3BigT_E_clIiEEDaS_",
                "auto lambdas()::{lambda<Big $T0>($T0)#1}::operator()<int>(int) const",
            ),
            ("_ZZ1fvENKUlTyvE_clIiEEDav", "auto f()::{lambda<typename $T0>()#1}::operator()<int>() const"),
            (
                "_ZNSt9_Any_data9_M_accessIPZ7lambdasvEUlTyT_E1_EERS1_v",
                "lambdas()::{lambda<typename $T0>($T0)#3}*& std::_Any_data::_M_access<lambdas()::{lambda<typename $T0>($T0)#3}*>()",
            ),
            ("_Z3valITnDaLi3EEiv", "int val<3>()"),
            ("_Z5cons3ITk3BigiEiT_", "int cons3<int>(int)"),
            ("_Z5cons3ITkSt8integraliEiT_", "int cons3<int>(int)"),
            ("_ZN7UlTypes1fEv", "UlTypes::f()"),
            ("_Z1fITk99BigiEvv", "_Z1fITk99BigiEvv"),
            ("_ZZ1fvENKUlTtTtTtTtTtTtTyEEEEEET_E_clEv", "_ZZ1fvENKUlTtTtTtTtTtTtTyEEEEEET_E_clEv"),
        ]);
    }

    /// Check names with members of types, as in most functions of the standard library that exist for some types
    /// only.
    #[test]
    fn members_of_types_are_named() {
        check(&[
            (
                "_ZSt11make_sharedI4NodeJiEESt10shared_ptrINSt9enable_ifIXntsrSt8is_arrayIT_E5valueES4_E4typeEEDpOT0_",
                "std::shared_ptr<std::enable_if<!(std::is_array<Node>::value), Node>::type> std::make_shared<Node, int>(int&&)",
            ),
            (
                "_ZSt11make_sharedI4NodeJEESt10shared_ptrINSt9enable_ifIXntsrSt8is_arrayIT_E5valueES4_E4typeEEDpOT0_",
                "std::shared_ptr<std::enable_if<!(std::is_array<Node>::value), Node>::type> std::make_shared<Node>()",
            ),
            (
                "_ZSt4swapIP4NodeENSt9enable_ifIXsrSt6__and_IJSt6__not_ISt15__is_tuple_likeIT_EESt21is_move_constructibleIS6_ESt18is_move_assignableIS6_EEE5valueEvE4typeERS6_SG_",
                "std::enable_if<std::__and_<std::__not_<std::__is_tuple_like<Node*> >, std::is_move_constructible<Node*>, std::is_move_assignable<Node*> >::value, void>::type std::swap<Node*>(Node*&, Node*&)",
            ),
            (
                "_ZSt14__relocate_a_1IccENSt9enable_ifIXsrSt24__is_bitwise_relocatableIT_vE5valueEPS2_E4typeES4_S4_S4_RSaIT0_E",
                "std::enable_if<std::__is_bitwise_relocatable<char, void>::value, char*>::type std::__relocate_a_1<char, char>(char*, char*, char*, std::allocator<char>&)",
            ),
        ]);
    }

    /// Check that what the compiler appends to a name for a part or copy of a function is kept readable.
    #[test]
    fn clones_are_marked() {
        check(&[
            ("_Z1fi.isra.0", "f(int) [clone .isra.0]"),
            ("_Z1fi.cold", "f(int) [clone .cold]"),
            ("_Z1fi.part.0.cold", "f(int) [clone .part.0] [clone .cold]"),
            ("_Z1fi.constprop.0.isra.0", "f(int) [clone .constprop.0] [clone .isra.0]"),
            ("_Z1fi.lto_priv.0", "f(int) [clone .lto_priv.0]"),
            ("_Z1fi.llvm.1234567", "f(int)"),
            ("_Z1fi.llvm.1234567.cold", "f(int) [clone .cold]"),
            ("_ZN4core3fmt5write17h0123456789abcdefE.llvm.123", "core::fmt::write"),
            ("_D4test3fooFiZv.constprop.0", "test.foo(int) [clone .constprop.0]"),
            ("_Dmain.cold", "D main [clone .cold]"),
            ("f.isra.0", "f.isra.0"),
        ]);
    }

    /// Check that the functions that gcc makes of a coroutine, or of a lambda that is one, have its name.
    #[test]
    fn coroutines_are_named() {
        check(&[
            ("_Z4workPZ4workiE14_Z4worki.Frame.actor", "work(int) [clone .actor]"),
            ("_Z4workPZ4workiE14_Z4worki.Frame.actor.cold", "work(int) [clone .actor] [clone .cold]"),
            (
                "_ZZ4mainENUliE_clEPZZ4mainENKS_clEiE26_ZZ4mainENKUliE_clEi.Frame.destroy",
                "main::{lambda(int)#1}::operator()(int) const [clone .destroy]",
            ),
            ("_Z4workPZ4workiE15_Z4worki.Frame.actor", "_Z4workPZ4workiE15_Z4worki.Frame.actor"),
            ("_Z4worki.resume", "work(int) [clone .resume]"),
        ]);
    }

    /// Check both manglings of Rust, with the hash dropped.
    #[test]
    fn rust_names_lose_their_hash() {
        check(&[
            ("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"),
            (
                "_ZN63_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..clone..Clone$GT$5clone17h0123456789abcdefE",
                "<alloc::vec::Vec<T> as core::clone::Clone>::clone",
            ),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"),
            ("_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<usize>"),
        ]);
    }

    /// Check names of OCaml by all of its compilers, with each separator, with operators and with functions that have
    /// no name.
    #[test]
    fn ocaml_names_are_modules_and_functions() {
        check(&[
            ("camlStdlib__List__map_123", "Stdlib.List.map_123"),
            ("camlStdlib__List.map_123", "Stdlib.List.map_123"),
            ("camlStdlib__List$map_123", "Stdlib.List.map_123"),
            ("camlStdlib$List$map_12", "Stdlib.List.map_12"),
            ("camlDune__exe__Main__fun_1204", "Dune.exe.Main.fun_1204"),
            ("camlStdlib__$40_198", "Stdlib.@_198"),
            ("camlLwt__$3e$3e$3d_1123", "Lwt.>>=_1123"),
            ("camlApp$$$3e$$3e_7", "App.>>_7"),
            ("camlApp__f$27_12", "App.f'_12"),
            ("camlApp$add_27", "App.add_27"),
            ("camlApp$a__b_3", "App.a__b_3"),
            ("camlApp___start_5", "App._start_5"),
            ("camlStdlib__code_begin", "Stdlib.code_begin"),
            ("camlApp$", "App."),
            ("camlApp__$4", "App..4"),
        ]);
    }

    /// Check that names of Rust are told from those of C++ in namespaces of the same name.
    #[test]
    fn rust_is_told_from_cpp() {
        for name in ["_ZN4core3fmt5write17h0123456789abcdefE.llvm.123", "_RNvNtC4core3fmt5write"] {
            assert!(is_rust(name), "{name}");
        }
        for name in ["_ZN4core6Parser4growEv", "_ZN4core6Parser17h0123456789abcdefEv", "core::fmt::write", ""]
        {
            assert!(!is_rust(name), "{name}");
        }
    }

    /// Check that what is not mangled, or only looks so, stays as it is.
    #[test]
    fn other_names_stay() {
        for name in [
            "",
            "main",
            "malloc",
            "_start",
            "_Z",
            "_R",
            "_ZN",
            "_Zebra",
            "_Reset",
            "_GLOBAL_OFFSET_TABLE_",
            "__libc_malloc",
            "runtime.mallocgc",
            "caml_alloc_string",
            "caml",
            "camlIdentity",
            "camlé__f",
            "?f@@YAXXZ",
            "é",
            "_Zé",
            "_Ré",
            "a.llvm.b",
        ] {
            assert_eq!(demangle(name), name);
        }
    }

    /// Check that a name whose substitutions double each other some dozen times stays mangled instead of filling
    /// the memory.
    #[test]
    fn growing_names_stay_mangled() {
        // f(pair<int, int>, pair<S0_, S0_>, pair<S1_, S1_> …)
        let pairs: String = ('0'..='9').chain('A'..='T').map(|n| format!("S_IS{n}_S{n}_E")).collect();
        let bomb = format!("_Z1fSt4pairIiiE{pairs}");
        assert_eq!(demangle(&bomb), bomb);
    }

    proptest! {
        /// Check that no name, however close to a mangled one, ends in a panic or grows beyond the bound.
        #[test]
        fn any_name_is_survived(start in "_Z|_ZN|_ZTc|_ZZ1fvENKUlTy|_GLOBAL__I_|_R|_ZL|_ZSt|_GLOBAL__sub_I_|_D|_D1f|_D1fF|camlA|", rest in "[A-Za-z0-9_.$]{0,60}|\\PC{0,30}") {
            let name = start + &rest;
            prop_assert!(demangle(&name).len() <= bounded::LONGEST.max(name.len()));
        }

        /// Check that damage to a real name is survived.
        #[test]
        fn damaged_names_are_survived(at in 0..100_usize, byte in b' '..b'~') {
            let mut name = *b"_ZNSt6vectorISt4pairIKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEiESaIS8_EE17_M_realloc_insertIJRS8_EEEvN9__gnu_cxx17__normal_iteratorIPS8_SA_EEDpOT_";
            name[at + 2] = byte;
            demangle(str::from_utf8(&name).unwrap());
            let mut name = *b"_D3std6format5write__T14formattedWriteTSQBmQBl__T7sformatTaTxdZQoFNkMAaMAxaxdZ4SinkTaTxdZQCpFKQCdMxAaxdZ12__dgliteral7MFNaNbNiNfZQCf";
            name[at + 2] = byte;
            demangle(str::from_utf8(&name).unwrap());
        }
    }
}
