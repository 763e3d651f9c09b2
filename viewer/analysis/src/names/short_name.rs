//! Function names for narrow columns.
//!
//! | language | kept | removed |
//! |---|---|---|
//! | C++ | namespaces, classes, operators, `{lambda#1}` | return type, template arguments, parameters, `const` |
//! | Rust | paths, `{closure#0}`, `<T as Trait>::method` | all generic arguments; the brackets of `<T>::method` |
//! | D | modules, types, functions within functions | template arguments, parameters, `const` |
//! | any other, as Python's `<module>` and `f.<locals>.<lambda>`, Ruby's `block in Row#fill`, PHP's `{closure:load():3}` | everything | |

mod brackets;
mod cpp;
mod dlang;
mod php;
mod python;
mod ruby;
mod rust;

use std::borrow::Cow;

/// A function's name without what does not fit a column: parameters, return type and generic arguments. Never empty
/// unless the name is, and never longer than it.
///
/// ```
/// # use analysis::short_name;
/// assert_eq!(short_name("void std::vector<int, std::allocator<int> >::push_back(int const&)"), "std::vector::push_back");
/// assert_eq!(short_name("operator new(unsigned long)"), "operator new");
/// assert_eq!(short_name("<alloc::string::String as core::clone::Clone>::clone"), "<alloc::string::String as core::clone::Clone>::clone");
/// assert_eq!(short_name("<alloc::vec::Vec<u8>>::with_capacity"), "alloc::vec::Vec::with_capacity");
/// ```
pub fn short_name(name: &str) -> Cow<'_, str> {
    // Without brackets a space belongs to the name, as in Lua's `main chunk`.
    if !name.contains(['<', '(', '[']) || is_operator_of_ocaml(name) || is_of_script(name) {
        return Cow::Borrowed(name);
    }
    if let Some(initializer) = initializer_of_java(name) {
        return Cow::Owned(initializer.to_owned());
    }
    // In C++ a bracket follows a space or an operator where Rust has `::`.
    let short = if name.starts_with('<') || name.contains("::<") {
        rust::short(name)
    } else if dlang::is_one(name) {
        dlang::short(name)
    } else {
        cpp::short(name)
    };
    match short.filter(|short| is_name(short) && short.len() < name.len()) {
        Some(short) => Cow::Owned(short),
        None => Cow::Borrowed(name),
    }
}

/// The constructor of a class of Java, or what initializes the class, without types:
/// `void java.util.HashMap.<init>(int)`.
fn initializer_of_java(name: &str) -> Option<&str> {
    let end = [".<init>", ".<clinit>"]
        .iter()
        .find_map(|name_of_it| Some(name.find(name_of_it)? + name_of_it.len()))?;
    let name = &name[..end];
    Some(name.rsplit_once(' ').map_or(name, |(_, name)| name))
}

/// True for a name as Python, Ruby or PHP writes it, which has no types in its brackets.
pub(crate) fn is_of_script(name: &str) -> bool {
    python::is_qualified(name) || ruby::is_label(name) || php::is_closure(name)
}

/// True if the brackets are an OCaml operator: it follows the dot of its module, as in `Lwt.<&>_7`, which occurs in
/// no other language.
fn is_operator_of_ocaml(name: &str) -> bool {
    let before = name.find(['<', '(', '[', ' ']).map_or(name, |bracket| &name[..bracket]);
    let module = before.trim_end_matches(|sign: char| sign.is_ascii_punctuation() && sign != '.');
    name.starts_with(|first: char| first.is_ascii_uppercase()) && module.ends_with('.')
}

/// If a name does not follow the rules of its language, too much may have been removed.
fn is_name(short: &str) -> bool {
    !short.is_empty() && !short.starts_with("::") && !short.ends_with("::") && !short.contains("::::")
}

#[cfg(test)]
mod tests {
    use crate::names::short_name::*;
    use proptest::prelude::*;

    /// Check that constructors of Java keep the name that the virtual machine has for them.
    #[test]
    fn constructors_of_java_have_names() {
        check(&[
            ("void java.nio.DirectByteBuffer.<init>(int)", "java.nio.DirectByteBuffer.<init>"),
            ("void App.<clinit>()", "App.<clinit>"),
            ("java.util.List App.load(int, java.lang.String)", "App.load"),
        ]);
    }

    fn check(cases: &[(&str, &str)]) {
        for (name, expected) in cases {
            assert_eq!(short_name(name), *expected, "{name}");
        }
    }

    /// Check names of C++ functions as demanglers print them.
    #[test]
    fn cpp_names_lose_types() {
        check(&[
            ("f(int, char const*)", "f"),
            ("main chunk", "main chunk"),
            ("ns::T<A<B>, C>::f<D>(E<F>) const", "ns::T::f"),
            ("std::pair<int, int> make<int>(int)", "make"),
            ("unsigned long const* ns::f<int>(int) volatile &&", "ns::f"),
            ("Vec<T,A>::push", "Vec::push"),
            ("(anonymous namespace)::helper(int)", "(anonymous namespace)::helper"),
            ("void ns::(anonymous namespace)::helper<int>(int)", "ns::(anonymous namespace)::helper"),
            (
                "v8::internal::(anonymous namespace)::Base<v8::internal::(anonymous namespace)::Fast, v8::Traits<(v8::Kind)2> >::Grow(v8::Object)",
                "v8::internal::(anonymous namespace)::Base::Grow",
            ),
            ("f[abi:cxx11](int)", "f"),
            ("f(int) [clone .cold]", "f"),
            ("A::f() const [clone .isra.0] [clone .cold]", "A::f"),
            ("A::~A()", "A::~A"),
            ("llvm::TaskGroup::spawn(std::function<void ()>)", "llvm::TaskGroup::spawn"),
            (
                "std::function<bool (char)>::function(std::function<bool (char)> const&)",
                "std::function::function",
            ),
            ("g<&A::operator> >(int)", "g"),
            ("std::enable_if<((sizeof (int))>(4)), int>::type f<int>(int)", "f"),
            ("std::enable_if<((1)<(2)), int>::type f<int>(int)", "f"),
            (
                "auto f<int>(int)::{lambda(auto:1)#1}::operator()<char>(char) const",
                "f::{lambda#1}::operator()",
            ),
            ("decltype (x.y()) f<int>(int)", "f"),
            ("void (*ns::f<int>(int))(char)", "ns::f"),
            ("void ns::f<>(Label<sizeof...()>*, Label<sizeof...(A)>*)", "ns::f"),
        ]);
    }

    /// Check the operators, whose names contain brackets, spaces and types.
    #[test]
    fn operators_keep_their_names() {
        check(&[
            ("bool operator< <int>(A const&, A const&)", "operator<"),
            (
                "std::basic_ostream<char, std::char_traits<char> >& std::operator<< <std::char_traits<char> >(std::basic_ostream<char, std::char_traits<char> >&, char const*)",
                "std::operator<<",
            ),
            ("T::operator()(int) const", "T::operator()"),
            ("T::operator()<int>(int) const", "T::operator()"),
            ("T<int>::operator->() const", "T::operator->"),
            ("T::operator->*<int>(int)", "T::operator->*"),
            ("std::strong_ordering operator<=><int>(A<int> const&, A<int> const&)", "operator<=>"),
            ("T::operator[](unsigned long)", "T::operator[]"),
            ("operator new[](unsigned long)", "operator new[]"),
            ("operator delete(void*, unsigned long)", "operator delete"),
            ("A::operator bool() const", "A::operator bool"),
            ("A::operator std::vector<int>() const", "A::operator std::vector"),
            ("operator\"\" _s(char const*, unsigned long)", "operator\"\" _s"),
            ("operators::f<int>(int)", "operators::f"),
            ("my_operator<int>(int)", "my_operator"),
            ("void operator_impl<int>(int)", "operator_impl"),
        ]);
    }

    /// Check names that compilers make up: lambdas, local types, thunks.
    #[test]
    fn made_up_names_stay_readable() {
        check(&[
            ("main::{lambda(int)#1}::operator()(int) const", "main::{lambda#1}::operator()"),
            ("A::f() const::{lambda()#1}::operator()() const", "A::f::{lambda#1}::operator()"),
            (
                "main::{lambda()#1}::operator()() const::{lambda(A<int>)#2}::_FUN(A<int>)",
                "main::{lambda#1}::operator()::{lambda#2}::_FUN",
            ),
            ("f()::{unnamed type#1}::g()", "f::{unnamed type#1}::g"),
            (
                "f(int)::{default arg#1}::{lambda()#1}::operator()() const",
                "f::{default arg#1}::{lambda#1}::operator()",
            ),
            ("non-virtual thunk to B<int>::f()", "non-virtual thunk to B::f"),
            ("global constructors keyed to A::A()", "global constructors keyed to A::A"),
            ("TLS init function for ns::x[abi:cxx11]", "TLS init function for ns::x"),
        ]);
    }

    /// Check both manglings of Rust.
    #[test]
    fn rust_names_lose_generics() {
        check(&[
            ("app::run::{{closure}}", "app::run::{{closure}}"),
            ("std::panic::catch_unwind::<app::main::{closure#0}, ()>", "std::panic::catch_unwind"),
            (
                "std::panicking::catch_unwind::do_call::<std::rt::{closure#0}, i32>",
                "std::panicking::catch_unwind::do_call",
            ),
            ("core::ptr::drop_in_place<alloc::string::String>", "core::ptr::drop_in_place"),
            ("core::ptr::drop_in_place::<fn(u8) -> u8>", "core::ptr::drop_in_place"),
            (
                "hashbrown::rustc_entry::<impl hashbrown::map::HashMap<K,V,S,A>>::rustc_entry",
                "hashbrown::map::HashMap::rustc_entry",
            ),
            (
                "core::str::traits::<impl core::ops::index::Index<I> for str>::index",
                "<str as core::ops::index::Index>::index",
            ),
            (
                "<alloc::vec::Vec<u8>>::reserve::do_reserve::<alloc::alloc::Global>",
                "alloc::vec::Vec::reserve::do_reserve",
            ),
            (
                "<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop",
                "<alloc::vec::Vec as core::ops::drop::Drop>::drop",
            ),
            ("<[u8]>::to_vec_in::<alloc::alloc::Global>", "<[u8]>::to_vec_in"),
            ("<[alloc::vec::Vec<u8>]>::concat::<u8>", "<[alloc::vec::Vec]>::concat"),
            (
                "<&mut F as core::ops::function::FnOnce<A>>::call_once",
                "<&mut F as core::ops::function::FnOnce>::call_once",
            ),
            (
                "<&dyn core::ops::function::Fn<(), Output = i32> + core::marker::Sync as core::ops::function::FnOnce<()>>::call_once",
                "<&dyn core::ops::function::Fn + core::marker::Sync as core::ops::function::FnOnce>::call_once",
            ),
            (
                "<<a::B<C> as d::E>::deserialize::Visitor as d::V<'de>>::visit_map::<M>",
                "<<a::B as d::E>::deserialize::Visitor as d::V>::visit_map",
            ),
            ("<fn(A<B>) -> C<D> as e::F>::g", "<fn(A) -> C as e::F>::g"),
            ("<a::B<5usize, {closure#0}>>::{closure#1}::<C>", "a::B::{closure#1}"),
            (
                "core::ops::function::FnOnce::call_once::{shim:vtable#0}",
                "core::ops::function::FnOnce::call_once::{shim:vtable#0}",
            ),
            ("<T as core::convert::Into<U>>::into", "<T as core::convert::Into>::into"),
            ("<std::alloc::System>::alloc_impl", "std::alloc::System::alloc_impl"),
        ]);
    }

    /// Check D names as they are demangled.
    #[test]
    fn d_names_lose_arguments() {
        check(&[
            ("std.stdio.File.close()", "std.stdio.File.close"),
            ("std.xml.Element.toHash() const", "std.xml.Element.toHash"),
            ("app.main().run!(int[], 'a').run(void(int) delegate const)", "app.main.run.run"),
            (
                "std.algorithm.sort!(\"a(\\\" < ')\", 0).sort(int[]).f() [clone .cold]",
                "std.algorithm.sort.sort.f",
            ),
            ("thunk to gc.Proto.stats(ref gc.Stats) shared const", "thunk to gc.Proto.stats"),
            ("a.b!(\"(", "a.b!(\"("),
        ]);
    }

    /// Check that OCaml operators, whose names may consist of brackets, are kept.
    #[test]
    fn ocaml_operators_stay() {
        for name in [
            "Stdlib.List.map_123",
            "Stdlib.@_198",
            "Stdlib.<>_12",
            "App.<|>_3",
            "App.<*>_3",
            "App.(_1",
            "App.let*_4",
        ] {
            assert_eq!(short_name(name), name);
        }
    }

    /// Check that names of other languages, and text that is not a name, stay as they are.
    #[test]
    fn other_names_stay() {
        for name in [
            "",
            "main",
            "f.isra.0",
            "__module_MOD_sub",
            "_D3std5stdio4File4openMFZv",
            "camlStdlib__List__map_123",
            "-[NSString initWithFormat:]",
            "+[Foo bar:baz:]",
            "main.(*T).Method",
            "???",
            "()",
            "::",
            "a::",
            "<>",
            "(anonymous namespace)",
            " ",
            "< ",
        ] {
            assert_eq!(short_name(name), name);
        }
    }

    /// Check that deeply nested brackets exhaust neither the stack nor the time.
    #[test]
    fn deep_names_are_survived() {
        for part in ["<", "<(", "<T as ", "a::<", "(", "operator<", "<impl ", " (*"] {
            let name = part.repeat(100_000);
            assert!(short_name(&name).len() <= name.len());
        }
    }

    /// Types as compilers write them.
    fn rust_type() -> impl Strategy<Value = String> {
        let leaf = prop::sample::select(vec![
            "u8",
            "T",
            "a::B",
            "&str",
            "[u8]",
            "dyn a::B",
            "fn() -> a::B",
            "{closure#0}",
            "'a",
        ]);
        leaf.prop_map(str::to_owned).prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("c::D<{a}, {b}>")),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("<{a} as e::F<{b}>>::G")),
                inner.prop_map(|a| format!("&mut [{a}]")),
            ]
        })
    }

    proptest! {
        /// Check that a Rust name, however nested, keeps its last part and has no empty part.
        #[test]
        fn rust_names_stay_whole(of in rust_type(), argument in rust_type(), form in 0..5_usize) {
            let name = match form {
                0 => format!("<{of}>::method::<{argument}>"),
                1 => format!("<{of} as e::F<{argument}>>::method"),
                2 => format!("a::b::<impl e::F<{argument}> for {of}>::method"),
                3 => format!("a::b::<impl {of}>::method::<{argument}>::{{closure#0}}::method::<{argument}>"),
                _ => format!("a::b::<{of}>::method<{argument}>"),
            };
            let short = short_name(&name);
            prop_assert!(short.ends_with("::method"), "{name}: {short}");
            prop_assert!(!short.contains("::::") && !short.contains("<>"), "{name}: {short}");
            prop_assert!(!short.contains("e::F<") && !short.contains("c::D<"), "{name}: {short}");
        }

        /// Check that no name, however odd, causes a panic, a longer or empty name, or the loss of a part's name.
        #[test]
        fn any_name_is_fine(name in "(<|::|a|operator| as |impl | for |[<>(){}\\[\\] :é*&.\"-]){1,16}") {
            let short = short_name(&name);
            prop_assert!(short.len() <= name.len());
            prop_assert!(!short.is_empty(), "{name}");
            prop_assert!(!short.ends_with("::") || name.ends_with("::"), "{name}: {short}");
            prop_assert!(!short.contains("::::") || name.contains("::::"), "{name}: {short}");
        }
    }
}
