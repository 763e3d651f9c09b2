//! Captures that are sent while they are being made.

use crate::harness::{Service, World, assert_exact, c, info, number, product, start, wait};
use rustix::process::Signal;
use std::io::Read;
use std::net::TcpListener;

/// A receiver of one capture, in a thread, which returns its bytes.
fn receiver() -> (String, std::thread::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = format!("tcp://{}", listener.local_addr().expect("it is bound"));
    let received = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().expect("somebody comes");
        let mut bytes = Vec::new();
        connection.read_to_end(&mut bytes).expect("it is sent whole");
        bytes
    });
    (address, received)
}

/// Check that standard output gets the capture and nothing else, while the program's own output goes to standard error.
#[test]
fn standard_output_gets_the_capture() {
    let world = World::new();
    let program = c("known_allocations").build();
    let mut command = world.command("sh");
    command
        .args(["-c", r#""$0" run --quiet --no-cpu --no-symbolize -o - "$1" >sent.memprof"#])
        .arg(product())
        .arg(program);
    let ran = wait(&world, command);
    assert_eq!((ran.code, ran.text()), (0, ""), "{}", ran.stderr);
    let document = info(&world, "sent.memprof");
    assert!(document["cut"].is_null() && number(&document, "/totals/allocations") > 0, "{document:#}");
}

/// Check that a program has the same descriptors as without this, so that the receiver need not wait for it.
#[test]
fn nobody_else_has_standard_output() {
    let world = World::new();
    let mut command = world.command("sh");
    let script = r#"ls /proc/self/fd >alone
        "$0" run --quiet --no-cpu --no-symbolize -o - ls /proc/self/fd 2>recorded | cat >sent.memprof"#;
    command.args(["-c", script]).arg(product());
    let ran = wait(&world, command);
    assert_eq!((ran.code, ran.text()), (0, ""), "{}", ran.stderr);
    let read = |file: &str| std::fs::read_to_string(world.path(file)).expect("ls has run");
    assert_eq!(read("recorded"), read("alone"));
}

/// Check that a listener gets a service's capture, exact and complete, and likewise an aggregated one.
#[test]
fn a_listener_gets_the_capture() {
    let server = Service::new(2);
    for (file, options) in [("all.memprof", &[][..]), ("totals.memprof", &["--aggregate"][..])] {
        let (address, received) = receiver();
        let collector = server.attach_with(&[options, &["--output", &address]].concat());
        server.work();
        collector.signal(Signal::INT);
        let ran = collector.wait();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        server.world.write(file, received.join().expect("it was received"));
        let document = info(&server.world, file);
        assert!(document["cut"].is_null(), "{document:#}");
        assert_exact(&document, 2);
    }
    server.stop();
}

/// Check that it is reported at once, and once, when nothing can be written any more, while the program goes on.
#[test]
fn end_of_writing_is_said_at_once() {
    let world = World::new();
    let mut command = world.command("sh");
    let program = r#"for i in $(seq 600); do grep -q "recording has stopped" told && touch heard && break; sleep 0.1; done"#;
    let script = r#""$0" run --quiet --no-cpu --no-symbolize -o - sh -c "$1" 2>told | head -c 100 >begin"#;
    command.args(["-c", script]).arg(product()).arg(program);
    let ran = wait(&world, command);
    let told = std::fs::read_to_string(world.path("told")).expect("something is said");
    assert!(ran.code == 0 && world.path("heard").exists(), "{told}");
    assert_eq!(told.matches("recording has stopped, while").count(), 1, "{told}");
}

/// Check that a program's exit code is its own even if the receiver of its capture has gone, and that the code for a
/// successful one says that it was not recorded.
#[test]
fn programs_have_their_codes_whoever_receives() {
    for (code, expected) in [("7", "7"), ("0", "3")] {
        let world = World::new();
        let mut command = world.command("sh");
        let program = r#"for i in $(seq 600); do grep -q "recording has stopped" told && break; sleep 0.1; done; exit $0"#;
        let script = r#"{ "$0" run --quiet --no-cpu --no-symbolize -o - sh -c "$1" "$2" 2>told; echo $? >code; } | head -c 100 >begin"#;
        command.args(["-c", script]).arg(product()).args([program, code]);
        wait(&world, command);
        let read = |file: &str| std::fs::read_to_string(world.path(file)).expect("it is written");
        assert_eq!(read("code").trim(), expected, "{}", read("told"));
        assert!(read("told").contains("error: cannot write the capture"), "{}", read("told"));
    }
}

/// Check that a recording whose receiver has gone ends with an error that says so, and that the service goes on; and
/// so does a service whose receiver never existed.
#[test]
fn a_broken_connection_ends_the_recording_alone() {
    let server = Service::new(2);
    let nowhere = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = format!("tcp://{}", nowhere.local_addr().expect("it is bound"));
    let mut tool = server.tool("attach", &["--no-symbolize", "--output", &address]);
    tool.args(["--on-full", "block", "--max-wait", "100s"]);
    let collector = start(&server.world, tool);
    let (mut connection, _) = nowhere.accept().expect("somebody comes");
    connection.read_exact(&mut [0; 100]).expect("the capture begins");
    drop(connection);
    let ran = collector.wait();
    assert!(ran.code != 0 && ran.stderr.contains("tcp://"), "{}", ran.stderr);
    server.work();
    server.wait_until_it_has_left();
    drop(nowhere);
    let refused = server.run("attach", &["--output", &address]);
    assert!(refused.code == 2 && refused.stderr.contains("listening"), "{}", refused.stderr);
    server.work();
    server.stop();
}
