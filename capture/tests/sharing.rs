//! The cost of equal things.

use capture::{Frame, Metadata, Module, NodeId, Process, Summary, Thread, Writer};

/// The length of a capture of processes that run the same program, with 2,000 stacks each.
fn length(processes: u32) -> usize {
    let mut writer = Writer::new(Vec::new(), &Metadata::default()).unwrap();
    for pid in 0..processes {
        let process = writer.process(Process { pid, name: "worker".into(), ..Process::default() }).unwrap();
        writer.thread(Thread { process, tid: pid, name: "main".into() }).unwrap();
        let path = format!("/proc/{pid}/root/usr/bin/worker");
        let module = writer.module(Module { path, build_id: vec![7; 20], ..Module::default() }).unwrap();
        for stack in 0..2000u64 {
            let mut node = NodeId::ROOT;
            for depth in 0..10 {
                let address = stack.wrapping_mul(0x9e37_79b9).rotate_right(depth * 5) & 0xf_ffff;
                let frame =
                    writer.frame(Frame::Code { module: Some(module), address, exact: false }).unwrap();
                node = writer.node(node, frame).unwrap();
            }
        }
    }
    writer.finish(&Summary::default()).unwrap().len()
}

/// Check that the stacks of a hundred equal processes take less than 1.2 times the space of one.
#[test]
fn equal_processes_share_their_stacks() {
    let (one, hundred) = (length(1), length(100));
    assert!(hundred * 10 < one * 12, "{one} bytes for one, {hundred} for a hundred");
}

/// Check that files without a build id are the same only at the same place and time.
#[test]
fn files_without_build_id_are_told_apart() {
    let mut writer = Writer::new(Vec::new(), &Metadata::default()).unwrap();
    let module = |path: &str, inode| Module { path: path.into(), inode, ..Module::default() };
    let ids = [module("/a", 1), module("/a", 2), module("/b", 1), module("/a", 1)]
        .map(|module| writer.module(module).unwrap().0);
    assert_eq!(ids, [0, 1, 2, 0]);
}
