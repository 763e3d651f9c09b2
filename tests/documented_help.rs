//! The first example of each command's help works as it stands there, beside a program `app` and a capture of it.

use crate::documents::execute;
use crate::harness::{Server, World, installed, skip, wait};

/// A process that can be recorded; it stands for the pid of the examples.
const SERVICE: &str = "LD_PRELOAD=$(sysprof-memprof agent path) ./app serve &
service=$!
until sysprof-memprof ps | grep -w \"$service\"; do sleep 0.1; done
";

const UNTIL_RECORDED: &str =
    "until sysprof-memprof ps | grep -w \"$service\" | grep -w recorded; do sleep 0.1; done\n";

/// What must be there before the example, for commands that take no capture.
fn before(command: &str) -> String {
    let recorded = || format!("{SERVICE}sysprof-memprof attach \"$service\" &\n{UNTIL_RECORDED}");
    match command {
        "attach" | "top" | "daemon" => SERVICE.to_owned(),
        "detach" | "mark" | "scan" | "snapshot" => recorded(),
        "import" => "heaptrack -o heaptrack.app.4711 ./app\n".to_owned(),
        _ => String::new(),
    }
}

/// When a command that runs until it is told to end has done what it is for; none for others.
fn until(command: &str) -> Option<&'static str> {
    match command {
        "attach" | "top" => Some(UNTIL_RECORDED),
        "daemon" => Some("until sysprof-memprof daemon start \"$service\"; do sleep 0.1; done\n"),
        "record" => Some(
            "until test -S memprof.sock; do sleep 0.1; done\n\
             LD_PRELOAD=$(sysprof-memprof agent path) SYSPROF_MEMPROF_SOCKET=$PWD/memprof.sock ./app\n",
        ),
        "serve" => Some("until grep http: printed; do sleep 0.1; done\n"),
        _ => None,
    }
}

/// The first example: a line that is no comment, with those that continue it.
fn first_example(help: &str) -> Option<String> {
    let (_, examples) = help.split_once("\nExamples:\n")?;
    let mut lines = examples.lines().map(str::trim).skip_while(|line| line.starts_with('#'));
    let mut example = lines.next()?.to_owned();
    while example.ends_with('\\') {
        example = format!("{}\n{}", example, lines.next()?);
    }
    Some(example)
}

/// The script that executes an example, and needs its success.
fn script(command: &str, example: &str, server: &Server) -> String {
    let example = example
        .replace("/tmp/memprof.sock", "$PWD/memprof.sock")
        .replace("http://localhost:4040", &server.address)
        .trim_end_matches(" &")
        .to_owned();
    let example = if command == "import" { example } else { example.replace("4711", "\"$service\"") };
    // One that makes the capture finds none.
    let makes_it = example.contains("-o app.memprof");
    let capture = if makes_it { "" } else { "sysprof-memprof run --free-stacks -o app.memprof -- ./app\n" };
    let example = match (command, until(command)) {
        ("view", _) => format!("(sleep 1; echo q) | script -qec '{example}' /dev/null"),
        (_, Some(until)) => {
            // What has nothing to finish is ended by the signal.
            let ended = if command == "serve" { " || test $? -eq 143" } else { "" };
            format!("{example} >printed 2>&1 &\ntool=$!\n{until}kill -TERM \"$tool\"\nwait \"$tool\"{ended}")
        }
        _ => example,
    };
    let before = before(command);
    let after = if before.starts_with(SERVICE) { "kill \"$service\"\n" } else { "" };
    format!("cc -g -O1 -o app example.c\nexport HOME=$PWD\n{capture}{before}{example}\n{after}")
}

/// Check that every command's help has examples, and that the first can be pasted: it works, with a program, a
/// capture and a process of one's own in the place of those that it names.
#[test]
fn first_examples_work() {
    let list = World::new();
    let help = wait(&list, list.tool(["help"]));
    let commands = help.text().lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    let commands: Vec<&str> = commands.chain(["help"]).collect();
    assert!(commands.len() > 30, "{commands:?}");
    let server = Server::start(&[200]);
    for command in commands {
        let help = wait(&list, list.tool([command, "--help"]));
        let example = first_example(help.text()).unwrap_or_else(|| panic!("{command} has no example"));
        assert!(
            example.contains(&format!("sysprof-memprof {command}"))
                || example.contains("sysprof-memprof run")
        );
        let needed = match command {
            "import" => "heaptrack",
            "view" => "script",
            _ => "cc",
        };
        if installed(needed).is_none() {
            skip(&example, &format!("{needed} is not installed"));
            continue;
        }
        let world = World::new();
        let ran = execute(&world, &script(command, &example, &server));
        assert_eq!(ran.code, 0, "{example}\n{}\n{}", ran.text(), ran.stderr);
    }
}
