use super::*;

const FROM: u64 = 0x40_1000;
const TO: u64 = 0x3f_0000;

/// The moved beginning of a function, without its padding.
fn moved(code: &[u8]) -> Option<Vec<u8>> {
    let mut with_more = code.to_vec();
    with_more.extend([0xcc; JUMP + LONGEST]);
    let moved = beginning(&with_more, code.len(), FROM, TO)?;
    let length = moved[..RETURN].iter().rposition(|byte| *byte != 0xcc).map_or(0, |last| last + 1);
    Some(moved[..length].to_vec())
}

/// Where an instruction of the moved code leads that ends at `end` and has its distance in the last four bytes.
fn led(moved: &[u8], end: usize) -> u64 {
    let distance = i32::from_le_bytes(moved[end - 4..end].try_into().unwrap());
    (TO + end as u64).wrapping_add_signed(distance.into())
}

/// Check that plain instructions are copied whole, and that the rest of the function follows.
#[test]
fn plain_instructions_are_copied() {
    // push rbp; mov rbp, rsp; push rbx; ret
    let moved = moved(&[0x55, 0x48, 0x89, 0xe5, 0x53, 0xc3]).unwrap();
    assert_eq!(moved[..5], [0x55, 0x48, 0x89, 0xe5, 0x53]);
    assert_eq!((moved[5], led(&moved, 10), moved.len()), (0xe9, FROM + 5, 10));
}

/// Check that relative instructions lead where they led before.
#[test]
fn relative_ones_lead_where_they_led() {
    // mov rax, [rip + 0x100]; ret
    let load = moved(&[0x48, 0x8b, 0x05, 0, 1, 0, 0, 0xc3]).unwrap();
    assert_eq!((&load[..3], led(&load, 7)), (&[0x48, 0x8b, 0x05][..], FROM + 7 + 0x100));
    assert_eq!(led(&load, 12), FROM + 7);
    // test rdi, rdi; je +2; nop; nop; ret
    let branch = moved(&[0x48, 0x85, 0xff, 0x74, 2, 0x90, 0x90, 0xc3]).unwrap();
    assert_eq!((&branch[3..5], led(&branch, 9)), (&[0x0f, 0x84][..], FROM + 7));
    assert_eq!(led(&branch, 14), FROM + 5);
    // jmp +0x100
    let jump = moved(&[0xe9, 0, 1, 0, 0]).unwrap();
    assert_eq!((jump[0], led(&jump, 5), jump.len()), (0xe9, FROM + 5 + 0x100, 5));
}

/// Check that a moved call returns after the original one, which unwind tables know.
#[test]
fn calls_return_behind_the_old_place() {
    // push rbx; call +0x100; ret
    let code = [0x53, 0xe8, 0, 1, 0, 0, 0xc3];
    let mut with_more = code.to_vec();
    with_more.extend([0xcc; 32]);
    let moved = beginning(&with_more, code.len(), FROM, TO).unwrap();
    assert_eq!(moved[..3], [0x53, 0xff, 0x35]);
    assert_eq!(led(&moved, 7), TO + RETURN as u64);
    assert_eq!(moved[RETURN..], (FROM + 6).to_le_bytes());
    assert_eq!((moved[7], led(&moved, 12)), (0xe9, FROM + 6 + 0x100));
}

/// Check that short functions are moved if no other function follows within the jump's length.
#[test]
fn short_functions_need_padding() {
    // xor eax, eax; ret, followed by: int3 …; nop word; another function
    for (behind, is_moved) in
        [(&[0xcc, 0xcc, 0xcc][..], true), (&[0x66, 0x90, 0xcc], true), (&[0x55, 0x55, 0x55], false)]
    {
        let mut code = vec![0x31, 0xc0, 0xc3];
        code.extend(behind);
        code.extend([0xcc; 32]);
        assert_eq!(beginning(&code, 3, FROM, TO).is_some(), is_moved, "{behind:02x?}");
        // After a multiple of sixteen something else may begin.
        assert!(beginning(&code, 3, FROM + 13, TO).is_none());
    }
}

/// Check that functions are left alone that jump into the bytes that would be replaced, or may do so.
#[test]
fn what_may_come_back_stays() {
    let cases: &[(&[u8], bool)] = &[
        // nop ×5; jmp to the second nop; to the first; to itself after them
        (&[0x90, 0x90, 0x90, 0x90, 0x90, 0xeb, 0xfa], false),
        (&[0x90, 0x90, 0x90, 0x90, 0x90, 0xeb, 0xf9], false),
        (&[0x90, 0x90, 0x90, 0x90, 0x90, 0xeb, 0xfe], true),
        // A call of itself.
        (&[0x90, 0x90, 0x90, 0x90, 0x90, 0xe8, 0xf6, 0xff, 0xff, 0xff, 0xc3], true),
        // A call of the second nop.
        (&[0x90, 0x90, 0x90, 0x90, 0x90, 0xe8, 0xf7, 0xff, 0xff, 0xff, 0xc3], false),
        // An invalid instruction.
        (&[0x90, 0x90, 0x90, 0x90, 0x90, 0x06, 0xc3], false),
        // A breakpoint in place of push rbp.
        (&[0xcc, 0x48, 0x89, 0xe5, 0x53, 0xc3], false),
        // call rax; loop
        (&[0xff, 0xd0, 0x90, 0x90, 0x90, 0xc3], false),
        (&[0xe2, 0x10, 0x90, 0x90, 0x90, 0xc3], false),
    ];
    for (code, is_moved) in cases {
        assert_eq!(moved(code).is_some(), *is_moved, "{code:02x?}");
    }
}

/// Check that nothing is moved beyond a jump's reach.
#[test]
fn what_is_too_far_stays() {
    let code = [0x90; 32];
    assert!(beginning(&code, 6, FROM, FROM + (1 << 31) - 64).is_some());
    assert!(beginning(&code, 6, FROM, FROM + (1 << 32)).is_none());
    assert!(jump(FROM, FROM + (1 << 31) + 5).is_none() && jump(FROM, FROM + (1 << 31) + 4).is_some());
}
