//! Help, versions, completions, and what wrong usage gets.

use crate::support::{TOOL, World, ran};
use std::process::{Command, Stdio};

/// Check that every command of the help has help of its own, in two ways that say the same, and that there are the
/// topics of which it speaks.
#[test]
fn help_is_complete() {
    let world = World::new();
    let help = world.run(["--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
    let commands: Vec<&str> = help
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next())
        .chain(["help"])
        .collect();
    assert!(["run", "report", "generate"].iter().all(|one| commands.contains(one)), "{commands:?}");
    for command in commands {
        let own = world.run([command, "--help"]);
        assert_eq!(own.code, Some(0), "{command}");
        assert!(own.stdout.contains("Usage: sysprof-memprof"), "{command}: {}", own.stdout);
        assert_eq!(world.run(["help", command]).stdout, own.stdout, "{command}");
    }
    for (topic, words) in [
        ("examples", "sysprof-memprof report app.memprof"),
        ("exit-codes", "128+N"),
        ("environment", "NO_COLOR"),
    ] {
        assert!(help.stdout.contains(topic), "{topic}");
        let told = world.run(["help", topic]);
        assert!(told.code == Some(0) && told.stdout.contains(words), "{topic}: {told:?}");
    }
    assert!(!help.stdout.contains('\x1b'), "no colours in a pipe");
}

/// Check that `run` has every option that its documentation names.
#[test]
fn run_has_its_options() {
    let help = World::new().run(["run", "--help"]).stdout;
    let options = [
        "--output",
        "--follow",
        "--no-follow",
        "--on-full",
        "--ring-size",
        "--max-depth",
        "--only",
        "--skip",
        "--force",
        "--wait-children",
        "--no-symbolize",
        "--no-cmdline",
        "--max-wait",
        "--sample",
        "--paused",
    ];
    for option in options {
        assert!(help.contains(option), "{option}");
    }
}

/// Check that the version has the numbers of tool, capture format and agent protocol.
#[test]
fn version_has_three_numbers() {
    for flag in ["--version", "-V"] {
        let version = World::new().run([flag]);
        let expected = format!(
            "sysprof-memprof {} (capture format {}, agent protocol {})\n",
            env!("CARGO_PKG_VERSION"),
            capture::VERSION,
            collector::PROTOCOL_VERSION
        );
        assert_eq!((version.code, version.stdout), (Some(0), expected));
    }
}

/// Check that wrong usage exits with 2, says what is wrong, and writes nothing to standard output.
#[test]
fn wrong_usage_exits_2() {
    let cases: &[(&[&str], &str)] = &[
        (&[], "Usage:"),
        (&["run"], "<COMMAND>"),
        (&["run", "--no-such-option", "--", "true"], "--no-such-option"),
        (&["run", "--on-full", "explode", "--", "true"], "block, drop"),
        (&["run", "--ring-size", "many", "--", "true"], "64K"),
        (&["run", "--sample", "2000G", "--", "true"], "1024G"),
        (&["run", "--max-wait", "soon", "--", "true"], "250ms"),
        (&["run", "--max-depth", "0", "--", "true"], "1..=65535"),
        (&["record"], "--listen"),
        (&["report"], "<FILE>"),
        (&["report", "x", "--by", "beauty"], "temporary"),
        (&["report", "x", "--min", "101%"], "1%"),
        (&["report", "x", "--tree", "--inverted"], "cannot be used with"),
        (&["report", "x", "--functions", "--tree"], "cannot be used with"),
        (&["generate", "completions", "csh"], "fish"),
        (&["report", "x", "--format", "csv"], "export --format csv"),
        (&["report", "x", "--of", "main"], "--lines"),
        (&["query", "x", "select 1", "--format", "html"], "csv"),
        (&["pages", "x", "--by", "touch", "--heap", "pool"], "leave --heap out"),
        (&["frees", "x", "--heap", "pool"], "leave --heap out"),
        (&["no-such-command"], "sysprof-memprof run -- no-such-command"),
        (&["reprot", "x"], "Did you mean report?"),
        (&["lines", "x"], "Did you mean report --lines?"),
        (&["preload-path"], "Did you mean agent path?"),
        (&["dump"], "Did you mean export --format events?"),
        (&["resident"], "Did you mean pages --by allocation?"),
        (&["pages", "x", "--filter", "f"], "--by allocation"),
        (&["pages", "x", "--from", "1s"], "--by allocation"),
        (&["push"], "Did you mean export FOLDER --push"),
        (&["export", "x"], "--format"),
        (&["export", "x", "--push", "http://h", "--format", "csv"], "cannot be used with"),
        (&["export", "x", "--push", "http://h", "--at", "peak"], "as they are"),
        (&["export", "x", "--push", "http://h"], "is no folder"),
        (&["help", "preload-path"], "Did you mean agent path?"),
        (&["help", "enviroment"], "Did you mean environment?"),
        (&["report", "x", "--grop-by", "module"], "--group-by"),
        (&["report", "x", "--by", "leakd"], "leaked"),
        (&["/no/such/file"], "sysprof-memprof report /no/such/file"),
    ];
    for (arguments, expected) in cases {
        let ran = World::new().run(*arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{arguments:?}: {}", ran.stderr);
    }
}

/// Check that completions are what each shell takes: bash parses its own.
#[test]
fn completions_are_given_for_every_shell() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let completions = world.run(["generate", "completions", shell]);
        assert_eq!(completions.code, Some(0));
        assert!(completions.stdout.contains("snapshot"), "{shell}");
    }
    let script = world.executable("completions", world.run(["generate", "completions", "bash"]).stdout);
    if let Ok(bash) = Command::new("bash").arg("-n").arg(&script).output() {
        assert!(bash.status.success(), "{bash:?}");
    } else {
        println!("bash is not there: its completions were not parsed");
    }
}

/// Check that a reader who has seen enough is not told of it: no message, no failure.
#[test]
fn closed_output_is_silent() {
    let world = World::new();
    crate::files::capture_of(20_000, &world.path("work/x.memprof"));
    for line in [
        "report x.memprof",
        "leaks x.memprof",
        "info x.memprof",
        "export --format events x.memprof",
        "--help",
        "generate completions bash",
        "doctor",
    ] {
        let mut child =
            world.tool(line.split(' ')).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let ran = ran(child.wait_with_output().unwrap());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{line}");
    }
}

/// Check that colours are used on a terminal alone, and not there when the user does not want them.
#[test]
fn colours_are_for_terminals() {
    let world = World::new();
    let on_terminal = |no_color: bool| {
        let mut script = world.command("script");
        script.args(["-qec", &format!("{TOOL} run -- /no/such/program"), "/dev/null"]).env("TERM", "xterm");
        if no_color {
            script.env("NO_COLOR", "1");
        }
        script.output()
    };
    assert!(!world.run(["run", "--", "/no/such/program"]).stderr.contains('\x1b'));
    match (on_terminal(false), on_terminal(true)) {
        (Ok(colours), Ok(plain)) => {
            assert!(ran(colours).stdout.contains("\x1b["));
            let plain = ran(plain).stdout;
            assert!(plain.contains("error: /no/such/program") && !plain.contains('\x1b'), "{plain:?}");
        }
        _ => println!("script(1) is not there: colours on a terminal were not looked at"),
    }
}
