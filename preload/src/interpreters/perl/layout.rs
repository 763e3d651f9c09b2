//! Where Perl keeps what is read, by version. The tables are made from the headers of each version; within a minor version
//! the layout stays. Positions and functions are the same in all of them, with threads and without.

/// Everything that differs from version to version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Offsets in a thread's state, with threads, of its innermost stack, its position, and the program's phase.
    pub(crate) stack: u16,
    pub(crate) position: u16,
    pub(crate) phase: u16,
    /// Bytes of a context. Offsets in it of the code of a sub or a format, of what an `eval` has compiled, and of its place
    /// to return to by `longjmp`.
    pub(crate) context: u16,
    pub(crate) code: u16,
    pub(crate) evaluated: u16,
    pub(crate) environment: u16,
    /// Numbers of operations: a position, a scope, and what evaluates text.
    pub(crate) next_state: u16,
    pub(crate) scope: u16,
    pub(crate) eval: u16,
    pub(crate) package: Package,
}

/// Where a package has its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Package {
    /// Behind its places, as many as its body says.
    BehindPlaces,
    /// In its body.
    InBody,
}

/// In a stack of contexts (`PERL_SI`).
pub(crate) mod stack {
    pub(crate) const CONTEXTS: u64 = 8;
    pub(crate) const PREVIOUS: u64 = 16;
    /// The number of the innermost context; -1 for none.
    pub(crate) const LAST: u64 = 32;
    /// The number of the last one for which there is room.
    pub(crate) const MOST: u64 = 36;
}

/// In a context (`PERL_CONTEXT`).
pub(crate) mod context {
    /// Its kind is in these bits of the first byte.
    pub(crate) const KIND: u8 = 15;
    /// The block by which a sort compares.
    pub(crate) const COMPARISON: u8 = 0;
    pub(crate) const SUB: u8 = 9;
    /// Of a sub: it is code in a pattern, which is a part of the sub.
    pub(crate) const IS_PATTERN: u8 = 128;
    /// C runs it again and again: what compares in a sort, what `List::Util` calls.
    pub(crate) const IS_RUN_BY_C: u8 = 16;
    pub(crate) const FORMAT: u8 = 10;
    pub(crate) const EVAL: u8 = 11;
    /// Of an `eval`: it is a block.
    pub(crate) const IS_BLOCK: u8 = 64;
    /// By how many bits the operation is shifted in the second half of the first word's first half.
    pub(crate) const OPERATION_SHIFT: u32 = 7;
    /// The caller's position.
    pub(crate) const POSITION: u16 = 16;
    /// Of a sub or a format: the operation behind the call; 0 if C has called it.
    pub(crate) const RETURNS_TO: u16 = 48;
}

/// In a place to return to (`JMPENV`), which lies on the machine stack.
pub(crate) mod environment {
    pub(crate) const PREVIOUS: u64 = 0;
    /// Not 0 if it must not be returned to from an `eval` further in. Before it is what `sigsetjmp` keeps.
    pub(crate) const CATCHES: u64 = if cfg!(target_arch = "x86_64") { 212 } else { 324 };
}

/// The phase in which the program itself runs.
pub(crate) const RUNS: u32 = 4;

/// In a thread's state, with threads: the operation that is executed.
pub(crate) const OPERATION: u16 = 8;

/// In an operation (`OP`).
pub(crate) mod operation {
    pub(crate) const NEXT: u64 = 0;
    /// The next one of the same parent, if there is one, else the parent.
    pub(crate) const SIBLING: u64 = 8;
    /// What it was before it became none.
    pub(crate) const TARGET: u64 = 24;
    /// A word with its number, and flags.
    pub(crate) const KIND: u64 = 32;
    /// The bits of that which are the number.
    pub(crate) const NUMBER: u32 = (1 << 9) - 1;
    pub(crate) const HAS_SIBLING: u32 = 1 << 14;
    pub(crate) const HAS_KIDS: u32 = 1 << 18;
    pub(crate) const FIRST: u64 = 40;
}

/// In a position (`COP`), which is an operation.
pub(crate) mod position {
    pub(crate) const LINE: u64 = 36;
    /// The word that has the line.
    pub(crate) const LINE_WORD: u16 = 32;
    /// With threads the text of the file's name, else what has it for its name.
    pub(crate) const FILE: u16 = 48;
    /// The word that has the number of scopes that had been compiled before.
    pub(crate) const COUNT: u16 = 56;
}

/// In any value (`SV`): its body, its type and flags, and what it is beside them.
pub(crate) mod value {
    pub(crate) const BODY: u64 = 0;
    pub(crate) const FLAGS: u64 = 12;
    pub(crate) const ARRAY: u64 = 16;
    /// A package's: it has a name.
    pub(crate) const HAS_NAME: u32 = 1 << 25;
}

/// In the bodies of functions (`XPVCV`), symbols (`XPVGV`) and packages (`XPVHV`).
pub(crate) mod body {
    pub(crate) const PACKAGE_OF_CODE: u64 = 32;
    /// Its symbol, or its name alone.
    pub(crate) const SYMBOL_OF_CODE: u64 = 56;
    pub(crate) const FLAGS_OF_CODE: u64 = 92;
    /// How often it is running.
    pub(crate) const DEPTH_OF_CODE: u64 = 96;
    /// It has a name alone.
    pub(crate) const IS_NAMED: u32 = 1 << 15;
    /// It has no package.
    pub(crate) const IS_LEXICAL: u32 = 1 << 16;
    pub(crate) const NAME_OF_SYMBOL: u64 = 32;
    pub(crate) const PACKAGE_OF_SYMBOL: u64 = 40;
    pub(crate) const MOST_OF_PACKAGE: u64 = 24;
    /// Where a package's name is, if it is in the body.
    pub(crate) const NAME_OF_PACKAGE: u64 = 32;
    /// Behind the name: how many names there are, in a list, if not 0.
    pub(crate) const NAMES: u64 = 28;
}

/// In a name (`HEK`).
pub(crate) mod name {
    pub(crate) const LENGTH: u64 = 4;
    pub(crate) const TEXT: u64 = 8;
}

const V30: Layout = Layout {
    stack: 240,
    position: 224,
    phase: 2508,
    context: 96,
    code: 64,
    evaluated: 80,
    environment: 88,
    next_state: 195,
    scope: 200,
    eval: 345,
    package: Package::BehindPlaces,
};
const V32: Layout = Layout { phase: 2532, context: 104, code: 72, evaluated: 88, environment: 96, ..V30 };
const V34: Layout = Layout { stack: 224, position: 208, phase: 2512, ..V32 };
const V36: Layout = Layout { package: Package::InBody, ..V34 };
const V38: Layout = Layout { phase: 2336, next_state: 198, scope: 203, eval: 348, ..V36 };

const V40: Layout = Layout { phase: 2216, ..V38 };

/// The layout of Perl 5 of this version; `None` if that is not known.
pub(crate) fn of_minor(minor: u8) -> Option<Layout> {
    match minor {
        30 => Some(V30),
        32 => Some(V32),
        34 => Some(V34),
        36 => Some(V36),
        38 => Some(V38),
        40 => Some(V40),
        _ => None,
    }
}
