use super::{Base, Bytes, Machine, Value, evaluate};
use gimli::{Expression, LittleEndian, Register, X86_64};
use proptest::prelude::*;

/// A machine where rsp is a symbol, rbp is 0x100, and a loaded word is its address plus one.
struct Mixed;

impl Machine for Mixed {
    fn register(&mut self, register: Register) -> Option<Value> {
        match register {
            X86_64::RSP => Some(Value::Relative(Base::Sp, 0)),
            X86_64::RBP => Some(Value::Known(0x100)),
            _ => None,
        }
    }

    fn load(&mut self, address: Value) -> Option<Value> {
        match address {
            Value::Known(number) => Some(Value::Known(number.wrapping_add(1))),
            Value::Relative(base, offset) => Some(Value::Loaded(base, offset)),
            Value::Loaded(..) => None,
        }
    }
}

fn run(code: &[u8], initial: Option<Value>) -> Option<Value> {
    evaluate(Expression(Bytes::new(code, LittleEndian)), initial, &mut Mixed)
}

const fn known(number: u64) -> Option<Value> {
    Some(Value::Known(number))
}

/// The numbers −8 and −2 as addresses.
const MINUS_8: u64 = 8u64.wrapping_neg();
const MINUS_2: u64 = 2u64.wrapping_neg();

/// Check that each operation does what the DWARF standard says.
#[test]
fn operations_have_their_meaning() {
    for (name, code, expected) in [
        ("lit", &b"\x37"[..], known(7)),
        ("const1u", b"\x08\xff", known(255)),
        ("const1s", b"\x09\xf8", known(MINUS_8)),
        ("const8u", b"\x0e\x01\x02\x03\x04\x05\x06\x07\x08", known(0x0807_0605_0403_0201)),
        ("addr", b"\x03\x01\x02\x03\x04\x05\x06\x07\x08", known(0x0807_0605_0403_0201)),
        ("breg", b"\x76\x78", known(0xf8)),
        ("deref", b"\x76\x00\x06", known(0x101)),
        ("dup, mul", b"\x37\x12\x1e", known(49)),
        ("over, minus", b"\x39\x37\x14\x1c", known(MINUS_2)),
        ("pick 2", b"\x31\x32\x33\x15\x02", known(1)),
        ("drop", b"\x31\x32\x13", known(1)),
        ("swap, minus", b"\x31\x33\x16\x1c", known(2)),
        ("rot", b"\x31\x32\x33\x17", known(2)),
        ("rot twice", b"\x31\x32\x33\x17\x17", known(1)),
        ("plus_uconst", b"\x31\x23\x80\x01", known(129)),
        ("and", b"\x3c\x3a\x1a", known(8)),
        ("or", b"\x3c\x3a\x21", known(14)),
        ("xor", b"\x3c\x3a\x27", known(6)),
        ("not", b"\x30\x20", known(u64::MAX)),
        ("neg", b"\x38\x1f", known(MINUS_8)),
        ("abs", b"\x09\xf8\x19", known(8)),
        ("div is signed", b"\x09\xf8\x34\x1b", known(MINUS_2)),
        ("mod", b"\x3b\x34\x1d", known(3)),
        ("shl", b"\x31\x33\x24", known(8)),
        ("shl by 64", b"\x31\x08\x40\x24", known(0)),
        ("shr", b"\x09\xf8\x08\x3f\x25", known(1)),
        ("shra", b"\x09\xf8\x32\x26", known(MINUS_2)),
        ("shra by 64", b"\x09\xf8\x08\x40\x26", known(u64::MAX)),
        ("eq", b"\x31\x31\x29", known(1)),
        ("ne", b"\x31\x31\x2e", known(0)),
        ("lt is signed", b"\x09\xf8\x31\x2d", known(1)),
        ("le", b"\x31\x31\x2c", known(1)),
        ("gt", b"\x31\x09\xf8\x2b", known(1)),
        ("ge", b"\x31\x32\x2a", known(0)),
        ("nop", b"\x31\x96", known(1)),
        ("skip", b"\x31\x2f\x01\x00\x32\x33\x22", known(4)),
        ("bra taken", b"\x31\x31\x28\x01\x00\x32", known(1)),
        ("bra not taken", b"\x31\x30\x28\x01\x00\x32", known(2)),
    ] {
        assert_eq!(run(code, None), expected, "{name}");
    }
}

/// Check that a sum with a symbol stays a symbol, and that no other arithmetic is possible with one.
#[test]
fn symbols_can_be_moved_and_loaded() {
    let sp = |offset| Some(Value::Relative(Base::Sp, offset));
    for (name, code, expected) in [
        ("breg", &b"\x77\x08"[..], sp(8)),
        ("plus a number", b"\x77\x08\x38\x22", sp(16)),
        ("a number plus", b"\x38\x77\x08\x22", sp(16)),
        ("minus a number", b"\x77\x08\x38\x1c", sp(0)),
        ("load", b"\x77\x08\x06", Some(Value::Loaded(Base::Sp, 8))),
        ("load plus nothing", b"\x77\x08\x06\x23\x00", Some(Value::Loaded(Base::Sp, 8))),
        ("load plus", b"\x77\x08\x06\x23\x08", None),
        ("load of a load", b"\x77\x08\x06\x06", None),
        ("a number minus", b"\x38\x77\x08\x1c", None),
        ("symbol plus symbol", b"\x77\x00\x77\x00\x22", None),
        ("and", b"\x77\x00\x3f\x1a", None),
        ("bra", b"\x77\x00\x28\x00\x00", None),
    ] {
        assert_eq!(run(code, None), expected, "{name}");
    }
    assert_eq!(
        run(b"\x23\x08", Some(Value::Relative(Base::Cfa, -24))),
        Some(Value::Relative(Base::Cfa, -16))
    );
}

/// Check that damaged expressions have no value, nor do operations that have no place in call frame tables.
#[test]
fn nonsense_has_no_value() {
    for (name, code) in [
        ("nothing", &b""[..]),
        ("empty stack", b"\x22"),
        ("cut short", b"\x08"),
        ("unknown operation", b"\x02"),
        ("unknown register", b"\x70\x00"),
        ("register as a place", b"\x56"),
        ("four bytes", b"\x76\x00\x94\x04"),
        ("object address", b"\x97"),
        ("division by 0", b"\x31\x30\x1b"),
        ("remainder by 0", b"\x31\x30\x1d"),
        ("jump beyond the end", b"\x2f\x10\x00\x31"),
        ("jump before the start", b"\x31\x2f\xf0\xff"),
        ("endless", b"\x2f\xfd\xff"),
        ("too deep", &[0x31; 17]),
        ("pick below", b"\x31\x15\x01"),
    ] {
        assert_eq!(run(code, None), None, "{name}");
    }
}

proptest! {
    /// Check that no expression panics or runs forever.
    #[test]
    fn random_expressions_end(code: std::vec::Vec<u8>) {
        run(&code, None);
        run(&code, known(0));
    }
}
