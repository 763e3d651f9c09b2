//! The length of an x86-64 instruction, where it leads, and what in it is relative to its place.
//!
//! Only this is decoded, by the opcode maps of the AMD64 Architecture Programmer's Manual, volume 3, appendix A, for
//! 64-bit code. Opcodes that the maps leave open, and instructions that no compiler emits, count as invalid.
//!
//! ```text
//!  prefixes │ REX │ opcode: 1, 0F 1, 0F 38 1, 0F 3A 1 │ ModRM │ SIB │ displacement │ immediate
//!             or VEX, EVEX in place of the escapes      mod 0, rm 5: a displacement from the next instruction
//! ```

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Its length in bytes.
    pub length: usize,
    /// Where it leads.
    pub flow: Flow,
    /// Position within it of a four-byte displacement that is relative to its end.
    pub relative: Option<usize>,
    /// Its opcode byte, if it is in the first map: one-byte opcodes without VEX or EVEX.
    pub opcode: Option<u8>,
    /// The REX prefix, 0 without one.
    pub rex: u8,
    /// The `ModRM` byte, which describes operands.
    pub modrm: Option<u8>,
}

/// What is executed next. Distances are relative to the end of the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The next instruction.
    Next,
    /// The instruction at this distance.
    Jump(i32),
    /// The same or the next instruction, depending on a condition of four bits.
    Branch(u8, i32),
    /// The function at this distance, and then the next instruction.
    Call(i32),
    /// A function whose address is only known at run time, and then the next instruction.
    CallAny,
    /// Nothing that is known.
    End,
    /// The instruction at this distance or the next one: a loop instruction, which has no longer form.
    Loop(i32),
}

/// What follows an opcode.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Immediate {
    None,
    One,
    Two,
    Three,
    /// Four bytes, or two with the prefix for small operands.
    Operand,
    /// The same, or eight bytes with a wide operand.
    Wide,
    /// A whole address.
    Address,
    /// A distance of one byte.
    Near,
    /// A distance of four bytes.
    Far,
}

/// What follows an opcode: whether a `ModRM` byte does, and what comes after it.
type Shape = (bool, Immediate);

/// Length of the longest instruction.
pub const LONGEST: usize = 15;

impl Instruction {
    /// The instruction that `code` begins with; `None` if it is invalid or unknown.
    pub fn at(code: &[u8]) -> Option<Self> {
        let mut reader = Reader { code, place: 0 };
        let (prefixes, first) = reader.prefixes()?;
        let (map, opcode) = reader.opcode(first)?;
        let (has_modrm, mut immediate) = map.shape(opcode)?;
        let (mut relative, mut extension, mut operands) = (None, 0, None);
        if has_modrm {
            let modrm = reader.byte()?;
            operands = Some(modrm);
            extension = modrm >> 3 & 7;
            relative = reader.address(modrm)?;
            if map == Map::First && matches!(opcode, 0xf6 | 0xf7) && extension > 1 {
                immediate = Immediate::None;
            }
            // XBEGIN, whose immediate is a distance.
            if map == Map::First && opcode == 0xc7 && modrm == 0xf8 {
                return None;
            }
        }
        if relative.is_some() && prefixes.has_short_address {
            return None;
        }
        let distance = reader.immediate(immediate, prefixes)?;
        (reader.place <= LONGEST).then_some(Self {
            length: reader.place,
            flow: Flow::of(map, opcode, extension, distance),
            relative,
            opcode: (map == Map::First).then_some(opcode),
            rex: prefixes.rex,
            modrm: operands,
        })
    }

    /// The distance from its end to where it may lead, if the instruction contains it.
    pub fn distance(self) -> Option<i32> {
        match self.flow {
            Flow::Jump(distance)
            | Flow::Branch(_, distance)
            | Flow::Call(distance)
            | Flow::Loop(distance) => Some(distance),
            Flow::Next | Flow::CallAny | Flow::End => None,
        }
    }
}

impl Flow {
    /// The flow of an opcode, part of which may be in the `ModRM` byte, with the distance that follows it.
    fn of(map: Map, opcode: u8, extension: u8, distance: i32) -> Self {
        match (map, opcode) {
            (Map::First, 0x70..=0x7f) => Self::Branch(opcode & 15, distance),
            (Map::Second, 0x80..=0x8f) => Self::Branch(opcode & 15, distance),
            (Map::First, 0xe0..=0xe3) => Self::Loop(distance),
            (Map::First, 0xe8) => Self::Call(distance),
            (Map::First, 0xe9 | 0xeb) => Self::Jump(distance),
            (Map::First, 0xff) if matches!(extension, 2 | 3) => Self::CallAny,
            (Map::First, 0xff) if matches!(extension, 4 | 5) => Self::End,
            (Map::First, 0xc2 | 0xc3 | 0xca..=0xcc | 0xcf | 0xf4) | (Map::Second, 0x0b) => Self::End,
            _ => Self::Next,
        }
    }
}

/// What the bytes before an opcode say.
#[derive(Clone, Copy, Debug, Default)]
struct Prefixes {
    /// Operands of two bytes.
    has_small_operand: bool,
    /// Addresses of four bytes.
    has_short_address: bool,
    /// The REX prefix, 0 for none.
    rex: u8,
}

impl Prefixes {
    /// True for eight-byte operands.
    fn has_wide_operand(self) -> bool {
        self.rex & 8 != 0
    }
}

/// The bytes of an instruction.
struct Reader<'c> {
    code: &'c [u8],
    place: usize,
}

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let [byte] = self.bytes()?;
        Some(byte)
    }

    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = self.code.get(self.place..)?.first_chunk()?;
        self.place = self.place.wrapping_add(N);
        Some(*bytes)
    }

    /// All prefixes, and the first byte after them.
    fn prefixes(&mut self) -> Option<(Prefixes, u8)> {
        let mut prefixes = Prefixes::default();
        let mut next = self.byte()?;
        while let 0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3 = next {
            prefixes.has_small_operand |= next == 0x66;
            prefixes.has_short_address |= next == 0x67;
            next = self.byte()?;
        }
        if let 0x40..=0x4f = next {
            prefixes.rex = next;
            next = self.byte()?;
        }
        Some((prefixes, next))
    }

    /// The last byte of an opcode that begins with `first`, and its map.
    fn opcode(&mut self, first: u8) -> Option<(Map, u8)> {
        Some(match first {
            0x0f => match self.byte()? {
                0x38 => (Map::Third, self.byte()?),
                0x3a => (Map::Fourth, self.byte()?),
                opcode => (Map::Second, opcode),
            },
            0xc4 => {
                let map = Map::of_vector(self.byte()? & 0x1f)?;
                self.skip(1)?;
                (map, self.byte()?)
            }
            0xc5 => {
                self.skip(1)?;
                (Map::Vector, self.byte()?)
            }
            0x62 => {
                let map = Map::of_vector(self.byte()? & 7)?;
                self.skip(2)?;
                (map, self.byte()?)
            }
            opcode => (Map::First, opcode),
        })
    }

    /// Reads the immediate at the end; returns it if it is a distance, else 0.
    fn immediate(&mut self, immediate: Immediate, prefixes: Prefixes) -> Option<i32> {
        let is_wide = prefixes.has_wide_operand();
        let bytes = match immediate {
            Immediate::Near => return Some(i32::from(self.byte()? as i8)),
            Immediate::Far => return Some(i32::from_le_bytes(self.bytes()?)),
            Immediate::None => 0,
            Immediate::One => 1,
            Immediate::Two => 2,
            Immediate::Three => 3,
            Immediate::Operand | Immediate::Wide if prefixes.has_small_operand && !is_wide => 2,
            Immediate::Wide if is_wide => 8,
            Immediate::Operand | Immediate::Wide => 4,
            Immediate::Address if prefixes.has_short_address => 4,
            Immediate::Address => 8,
        };
        self.skip(bytes)?;
        Some(0)
    }

    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.place = self.place.wrapping_add(bytes);
        (self.place <= self.code.len()).then_some(())
    }

    /// The rest of the operand that a `ModRM` byte describes. The inner option is the position of a displacement that
    /// is relative to the instruction's end.
    fn address(&mut self, modrm: u8) -> Option<Option<usize>> {
        let (mode, register) = (modrm >> 6, modrm & 7);
        if mode == 3 {
            return Some(None);
        }
        let base = if register == 4 { self.byte()? & 7 } else { register };
        let place = self.place;
        let bytes = match (mode, base) {
            (0, 5) | (2, _) => 4,
            (1, _) => 1,
            _ => 0,
        };
        self.skip(bytes)?;
        Some((mode == 0 && register == 5).then_some(place))
    }
}

/// The opcode maps. VEX and EVEX opcodes use the maps of their scalar counterparts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Map {
    First,
    Second,
    Third,
    Fourth,
    /// The vector instructions of the second map.
    Vector,
}

impl Map {
    fn of_vector(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Vector),
            2 | 5 | 6 => Some(Self::Third),
            3 => Some(Self::Fourth),
            _ => None,
        }
    }

    fn shape(self, opcode: u8) -> Option<Shape> {
        match self {
            Self::First => first(opcode),
            Self::Second => second(opcode),
            Self::Third => Some((true, Immediate::None)),
            Self::Fourth => Some((true, Immediate::One)),
            // VZEROUPPER and VZEROALL.
            Self::Vector if opcode == 0x77 => Some((false, Immediate::None)),
            Self::Vector => second(opcode).map(|(_, immediate)| (true, immediate)),
        }
    }
}

/// One-byte opcodes.
fn first(opcode: u8) -> Option<Shape> {
    use Immediate as I;
    Some(match opcode {
        0x00..=0x3f => match opcode & 7 {
            0..=3 => (true, I::None),
            4 => (false, I::One),
            5 => (false, I::Operand),
            _ => return None,
        },
        0x50..=0x5f | 0x90..=0x99 | 0x9b..=0x9f | 0xa4..=0xa7 | 0xaa..=0xaf => (false, I::None),
        0x63 | 0x84..=0x8f => (true, I::None),
        0x68 | 0xa9 => (false, I::Operand),
        0x69 | 0x81 | 0xc7 | 0xf7 => (true, I::Operand),
        0x6a | 0xa8 | 0xb0..=0xb7 | 0xcd | 0xe4..=0xe7 => (false, I::One),
        0x6b | 0x80 | 0x83 | 0xc0 | 0xc1 | 0xc6 | 0xf6 => (true, I::One),
        0x6c..=0x6f | 0xc3 | 0xc9 | 0xcb | 0xcc | 0xcf | 0xd7 | 0xec..=0xef | 0xf1 | 0xf4 | 0xf5 => {
            (false, I::None)
        }
        0x70..=0x7f | 0xe0..=0xe3 | 0xeb => (false, I::Near),
        0xa0..=0xa3 => (false, I::Address),
        0xb8..=0xbf => (false, I::Wide),
        0xc2 | 0xca => (false, I::Two),
        0xc8 => (false, I::Three),
        0xd0..=0xd3 | 0xd8..=0xdf | 0xfe | 0xff => (true, I::None),
        0xe8 | 0xe9 => (false, I::Far),
        0xf8..=0xfd => (false, I::None),
        _ => return None,
    })
}

/// Two-byte opcodes, the first of which is 0F.
fn second(opcode: u8) -> Option<Shape> {
    use Immediate as I;
    Some(match opcode {
        0x05 | 0x06 | 0x08 | 0x09 | 0x0b | 0x30..=0x37 | 0x77 | 0xa0..=0xa2 | 0xa8..=0xaa | 0xc8..=0xcf => {
            (false, I::None)
        }
        0x70..=0x73 | 0xa4 | 0xac | 0xba | 0xc2 | 0xc4..=0xc6 => (true, I::One),
        0x80..=0x8f => (false, I::Far),
        0x00..=0x03
        | 0x0d
        | 0x10..=0x23
        | 0x28..=0x2f
        | 0x40..=0x6f
        | 0x74..=0x76
        | 0x78..=0x7f
        | 0x90..=0x9f
        | 0xa3
        | 0xa5
        | 0xab
        | 0xad..=0xb9
        | 0xbb..=0xc1
        | 0xc3
        | 0xc7
        | 0xd0..=0xff => (true, I::None),
        _ => return None,
    })
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
