//! What users come for, key by key.

use super::pages::{program, traced};
use super::{CLICK, User, holding};
use crate::draw::plain;
use crate::model::Page;
use crate::support::Made;
use crate::update::Effect;
use crate::work::Request;
use analysis::query::Part;
use analysis::{Amount, Metric, Share};
use capture::{Ended, MarkKind};
use ratatui::crossterm::event::{MouseButton, MouseEventKind};
use ratatui::style::Color;
use report::outline::{Form, outline};
use report::{ReportOptions, Shape};

fn user() -> User {
    User::new(&program(), 100, 30)
}

/// Check that a leak leads to its function, its callers and what is below, and back again.
#[test]
fn a_leak_leads_to_its_callers_and_back() {
    let mut user = user();
    user.press("6<Enter>");
    assert_eq!(user.model.page, Page::Functions);
    assert_eq!(user.function(), "map_insert");
    user.press("<Tab><Enter>");
    assert_eq!(user.function(), "cache");
    user.press("<Tab><Enter>");
    assert_eq!(user.function(), "load");
    user.press("<Back>");
    assert_eq!(user.function(), "cache");
    user.press("<Back><Back>");
    assert_eq!(user.model.page, Page::Leaks);
    user.press("]");
    assert_eq!(user.model.page, Page::Functions);
}

/// Check that a search finds what a filter finds, parts of words too, and that a filter which finds nothing names what is
/// nearest until the next key.
#[test]
fn searches_and_filters_agree() {
    let mut user = user();
    for sought in ["read_file", "read_*", "READ_FILE", "file", "read*ile"] {
        user.press(&format!("2<Home>/{sought}<Enter>"));
        let found = user.function() == "read_file";
        assert_eq!(found, sought != "READ_FILE", "{sought}");
    }
    for (filter, nearest) in [("read_file", None), ("read_*", None), ("file", Some("read_file"))] {
        let screen = user.press(&format!("2f{filter}<Enter>")).screen();
        assert!(screen.contains("read_file"), "{filter}: {screen}");
        let told = nearest.map(|name| format!("no function `{filter}`; the nearest: {name}"));
        assert!(told.is_none_or(|told| screen.contains(&told)), "{filter}: {screen}");
        user.press("u");
    }
    assert!(!user.screen().contains("nearest"), "{}", user.screen());
}

/// Check that an allocating stack leads to the stacks that free its blocks, these back to it, and both to their
/// functions; that a copy has the details beside; and that a recording without stacks of frees says how to get them.
#[test]
fn owners_of_blocks_are_found_from_both_sides() {
    let mut user = User::new(&traced(), 100, 30);
    let screen = user.press("x").screen();
    for text in [
        "freed by consume (c.c:17) < run: bytes 448 B, blocks 7",
        "freed by refuse (r.c:16) < serve < main: bytes 128 B, blocks 2",
        "never freed: bytes 64 B, blocks 1",
    ] {
        assert!(screen.contains(text), "{text}: {screen}");
    }
    let screen = user.press("i").screen();
    assert_eq!(user.model.page, Page::FreesInverted);
    assert!(screen.contains("allocated by make_message (m.c:22) < main: bytes 448 B, blocks 7"), "{screen}");
    assert!(screen.lines().any(|line| line.contains("100 %") && line.contains("consume")), "{screen}");
    user.press("<Down>y");
    let copy = user.copied();
    let of_refuse = copy.lines().position(|line| line.contains("refuse")).unwrap();
    assert!(
        copy.lines().nth(of_refuse + 1).unwrap().contains("allocated by make_message (m.c:22) < main"),
        "{copy}"
    );
    user.press("<Enter>");
    assert_eq!((user.model.page, user.model.question.metric), (Page::Functions, Metric::Frees));
    assert_eq!(user.function(), "refuse");
    user.press("<Back><Tab>");
    assert_eq!(user.model.page, Page::Frees);
    let screen = user.press("fnobody<Enter>").screen();
    assert!(screen.contains("nothing") && !screen.contains("make_message"), "{screen}");
    let mut user = User::new(&program(), 100, 30);
    let screen = user.press("x").screen();
    assert!(screen.contains("run --free-stacks"), "{screen}");
}

/// Check that the page about memory pages shows the peak, or the chosen moment, and all stacks whatever was chosen.
#[test]
fn pages_are_of_a_moment() {
    let mut user = user();
    let screen = user.press("p").screen();
    assert!(screen.contains("at 80.0 ms: 82.2 KiB in 41 blocks on 23 pages"), "{screen}");
    let at_peak = screen.lines().nth(2).unwrap().to_owned();
    let screen = user.press("fparse<Enter>").screen();
    assert!(screen.contains("ignore the selection") && screen.contains("read_file"), "{screen}");
    user.press("u5<Home>ap");
    assert_ne!(user.screen().lines().nth(2).unwrap(), at_peak, "{}", user.screen());
}

/// Check that the callers and callees of a function add up to it.
#[test]
fn neighbours_add_up() {
    let mut user = user();
    user.press("2/load<Enter>");
    assert_eq!(user.model.functions.view().unwrap().question.metric, Metric::Peak);
    let (_, total, _) = user.model.functions.row(user.model.functions.cursor.selected).unwrap();
    let callers: i64 = user.model.functions.callers().iter().map(|(_, amount)| amount.bytes).sum();
    assert_eq!(callers, total.bytes);
    let (_, below) = user.model.functions.below.shown().unwrap();
    assert_eq!(below.node(0).total, total);
}

/// Check that open and selected rows stay so when the order, the metric or the question changes.
#[test]
fn open_rows_stay_open() {
    let mut user = user();
    user.press("3co/expression<Enter>");
    assert_eq!(user.function(), "expression");
    let open = |user: &User| user.model.pane().all_rows(100).len();
    let all = open(&user);
    for keys in ["s", "s", "mm", "M", "fmain<Enter>", "u", "ii"] {
        user.press(keys);
        assert_eq!(user.function(), "expression", "after {keys}");
        assert_eq!(open(&user), all, "after {keys}");
    }
    user.press("<Left><Left>");
    assert!(open(&user) < all, "an open row is closed");
}

/// Check that opening all rows of a large tree, closing them, sorting and going to a function look at no more nodes
/// than a screen has rows, and their callers: so they take no longer in a tree of millions.
#[test]
fn large_trees_cost_their_screen() {
    let (mut made, process, thread, [main]) = Made::app_with(["main"]);
    let frames: Vec<_> =
        (0..30).map(|name| made.frame(Some("/bin/app"), &[format!("f{name}").as_str()])).collect();
    // 30 functions that call 30 each, which call 10 each.
    for &first in &frames {
        let first = made.node(main, first);
        for &second in &frames {
            let second = made.node(first, second);
            for &third in &frames[..10] {
                let stack = made.node(second, third);
                made.alloc(thread, 0x1000 + 16 * u64::from(stack.0), 8, stack);
            }
        }
    }
    made.end(process, thread, Ended::Exited(0));
    let mut user = User::new(&made, 100, 30);
    user.press("3");
    let (_, tree) = user.model.pane().shown().unwrap();
    assert!(tree.len() > 9_900);
    let rows = 26;
    for (keys, most) in
        [("o", 4 * rows), ("<PgDn>", 8 * rows), ("s", 4 * rows), ("c", 4 * rows), ("o<Down><Down>", 4 * rows)]
    {
        user.press(keys);
        user.screen();
        let looked_at = user.model.pane().visible().unwrap().looked_at();
        assert!(looked_at <= most, "{keys}: {looked_at} nodes for {rows} rows");
    }
    assert!(user.screen().contains("f0"), "{}", user.screen());
    user.press("2<Down><Down><Tab><Tab>");
    let below = user.model.functions.below.visible().unwrap().looked_at();
    assert!(below <= 4 * rows, "{below} nodes below a function");
}

/// Check that repeating a search visits all nodes with the name, in the order of rows, and starts over after the
/// last.
#[test]
fn searching_goes_round() {
    let mut user = user();
    user.press("3/e<Enter>");
    let mut found = Vec::new();
    for _ in 0..20 {
        found.push(user.function());
        user.press("n");
        if user.model.pane().selected() == Some(0) {
            break;
        }
    }
    let rows = user.press("o").model.pane().all_rows(100);
    let (view, tree) = user.model.pane().shown().unwrap();
    let name = |id| view.loaded.names.label(tree.node(id).label).name.clone();
    let named: Vec<String> =
        rows.iter().map(|row| name(row.id)).filter(|name| name.to_lowercase().contains('e')).collect();
    let begin = named.iter().position(|name| *name == found[0]).unwrap();
    let round: Vec<&String> = named.iter().cycle().skip(begin).take(found.len()).collect();
    assert_eq!(found.iter().collect::<Vec<_>>(), round);
    assert!(found.len() >= named.len() - 1, "{found:?} {named:?}");
}

/// Check that a range of the timeline applies to all pages, until the whole is wanted again.
#[test]
fn a_range_is_what_all_pages_are_about() {
    let mut user = user();
    user.press("5 .r");
    assert!(matches!(user.model.question.part, Part::Range(..)));
    let whole = user.press("3").screen();
    user.press("5<Home>r3");
    assert_ne!(user.screen(), whole);
    assert!(user.screen().contains(" to "), "the title says so");
    user.press("w");
    assert_eq!(user.model.question.part, Part::Whole);
    user.press("5a");
    assert!(matches!(user.model.question.part, Part::At(_)));
    assert_eq!(user.model.question.metric, Metric::Live);
}

/// A program that sets marks: three regions of one name, 2, 3 and 5 ms long, with a block of 1000 bytes in each, one
/// that does not end, and moments.
fn marked() -> Made {
    let (mut made, process, thread, stacks) = Made::app_with(["main > outside", "main > inside"]);
    let mut address = 0x10_0000;
    let mut alloc = |made: &mut Made, inside: usize| {
        address += 0x1000;
        made.alloc(thread, address, 1000, stacks[inside]);
    };
    // Each event takes a millisecond: there are two from the beginning to the end.
    for more in [0, 1, 3] {
        alloc(&mut made, 0);
        made.mark(thread, MarkKind::Begin, "pass");
        alloc(&mut made, 1);
        made.time += more * 1_000_000;
        made.mark(thread, MarkKind::End, "pass");
    }
    made.mark(thread, MarkKind::Instant, "tick");
    made.mark(thread, MarkKind::Begin, "open");
    made.end(process, thread, Ended::Exited(0));
    made
}

/// Check that marks are listed by name with the number and length of their regions, that activating one limits all
/// pages to what was allocated in any of them, and that this can be undone.
#[test]
fn a_mark_stands_for_all_its_regions() {
    let mut user = User::new(&marked(), 100, 30);
    user.press("5R");
    let screen = user.screen();
    let row = |name: &str| screen.lines().find(|line| line.contains(name)).unwrap_or_default().to_owned();
    let cells = |line: &str| {
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(cells(&row("pass")), ["3", "2.00 ms", "3.33 ms", "5.00 ms", "pass"], "{screen}");
    assert_eq!(cells(&row("tick")), ["1", "-", "-", "-", "tick", "(moments)"], "{screen}");
    assert_eq!(cells(&row("open")), ["1", "-", "-", "-", "open", "(1 not ended)"], "{screen}");
    user.press("<Down><Enter>");
    assert!(user.model.notice.as_ref().is_some_and(|notice| notice.contains("moments")), "tick is no region");
    user.press("<Up><Enter>");
    assert_eq!((user.model.page, user.model.total()), (Page::Tree, Amount { blocks: 3, bytes: 3000 }));
    assert!(user.screen().contains("during pass"), "{}", user.screen());
    assert!(!user.press("o").screen().contains("outside"), "{}", user.screen());
    for page in "24689l".chars() {
        user.press(&page.to_string());
        assert_eq!(user.model.view().unwrap().loaded.profile.total.allocated.blocks, 3, "{page}");
    }
    user.press("w");
    assert_eq!(user.model.view().unwrap().loaded.profile.total.allocated.blocks, 6);
    user.press("5<Back>");
    user.press("R");
    assert!(user.press("y").copied().contains("pass"));
}

/// Check that a drag over the timeline chooses a range, and a click on a tab its page.
#[test]
fn the_mouse_drags_a_range() {
    let mut user = user();
    user.press("5");
    let body = user.model.areas().body;
    for (kind, column) in [
        (CLICK, 30),
        (MouseEventKind::Drag(MouseButton::Left), 45),
        (MouseEventKind::Up(MouseButton::Left), 60),
    ] {
        user.mouse(kind, column, body.y + 2);
    }
    let (from, to) = user.model.time.range();
    assert!(from > 0 && to > from, "{from} {to}");
    user.mouse(CLICK, 1, 1);
    assert_eq!(user.model.page, Page::Overview);
}

/// Check that a copy has the open rows, in text and in Markdown, and that a file has, too.
#[test]
fn copies_have_the_open_rows() {
    let mut user = user();
    user.press("3o").press("y");
    let text = user.copied().to_owned();
    let rows = user.model.pane().all_rows(1000).len();
    assert_eq!(text.lines().count(), rows + 3, "{text}");
    assert!(text.lines().any(|line| line.contains("read_file")), "{text}");
    user.press("Y");
    assert_eq!(user.copied().matches("\n| ").count(), rows + 1);
    user.press("W<Back><Back>txt<Enter>");
    let Some(Effect::Write(path, written)) = user.effects.last() else { panic!("nothing was written") };
    assert_eq!((path.to_str(), written.trim_end()), (Some("page.txt"), text.as_str()));
}

/// Check that a copy of the tree with everything open is what `report --format` writes, row by row, as text and as
/// Markdown, for each metric.
#[test]
fn copies_are_what_reports_write() {
    let mut user = user();
    for _ in Metric::ALL {
        user.press("3om");
        let loaded = user.model.view().unwrap().loaded.clone();
        let metric = user.model.question.metric;
        let all = Some(Share::percent(0.0));
        let report = outline(&loaded, &ReportOptions { metric, min: all, shape: Shape::Tree, limit: None });
        if report.rows.is_empty() {
            continue;
        }
        for (key, form) in [("y", Form::Text), ("Y", Form::Markdown)] {
            let rows = |text: &str| text.lines().skip(2).map(str::to_owned).collect::<Vec<_>>();
            let ours = user.press("o").press(key).copied();
            assert_eq!(rows(ours), rows(&report.to_text(form)), "{metric:?} {form:?}");
            assert!(rows(ours).len() > 3, "{metric:?}: {ours}");
        }
    }
}

/// Check that a flame graph is written as a drawing with every function and its sum, from the root or from the
/// allocating functions; that one of changes says what grew and what shrank; and that a page without one asks for
/// another name.
#[test]
fn flame_graphs_are_written_as_drawings() {
    let drawn = |user: &mut User, keys: &str| {
        user.press(keys).press("W<Enter>");
        let Some(Effect::Write(path, drawing)) = user.effects.last() else { panic!("nothing was written") };
        assert_eq!(path.to_str(), Some("flame.svg"));
        drawing.clone()
    };
    let mut user = user();
    let drawing = drawn(&mut user, "4");
    assert_eq!(drawing.matches("<g class=\"box\">").count(), user.model.flame.shown().unwrap().1.len());
    let [load, read_file] =
        ["load · 80.0 KiB · 97.4 %", "read_file · 80.0 KiB · 97.4 %"].map(|text| drawing.find(text));
    assert!(load.is_some() && load < read_file, "{drawing}");
    let inverted = drawn(&mut user, "i");
    assert!(inverted.find("read_file ·") < inverted.find("load ·"), "{inverted}");
    let changes = drawn(&mut user, "5. <End>D");
    assert!(changes.contains("read_file · -80.0 KiB of 80.0 KiB that changed"), "{changes}");
    assert!(changes.contains("map_insert · +10.0 KiB of 10.0 KiB that changed"), "{changes}");
    user.press("6W<Back><Back>svg<Enter>");
    let prompt = user.model.prompt.clone().expect("it is still there");
    assert!(prompt.error.is_some_and(|error| error.contains("no flame graph")));
}

/// Check that each nameless function of the selected stack says why, in a known file and in none.
#[test]
fn stacks_say_why_names_are_missing() {
    let (mut made, process, thread, [main]) = Made::app_with(["main"]);
    let (stripped, nowhere) = (made.frame(Some("/lib/libx.so"), &[]), made.frame(None, &[]));
    made.reason(stripped, "No symbols in binary file");
    made.reason(nowhere, "No mapping for address");
    let outer = made.node(main, nowhere);
    let inner = made.node(outer, stripped);
    made.alloc(thread, 0x1000, 100, inner);
    made.end(process, thread, Ended::Exited(0));
    let mut user = User::new(&made, 100, 40);
    let screen = user.press("6").screen();
    for (name, reason) in [("<in libx.so>", "No symbols in binary file"), ("???", "No mapping for address")] {
        let line = format!("{name}  {reason}");
        assert!(screen.lines().any(|shown| shown.trim().starts_with(&line)), "{line}: {screen}");
    }
}

/// Check that the page about a function has its lines with their source, whose numbers add up to the function's, and
/// the sizes and lifetimes of exactly the blocks of the stacks it is in; and that going back leads to the earlier
/// position.
#[test]
fn a_function_has_lines_sizes_and_lifetimes() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("m.c");
    std::fs::write(&source, "\tfirst();\n\tsecond();\n").unwrap();
    let (mut made, process, thread) = Made::app();
    let file = made.string(source.to_str().unwrap());
    let lines = [1, 2].map(|line| {
        let frame = made.frame(Some("/bin/app"), &["load"]);
        let symbols = made.tables.symbols.iter_mut().flatten().find(|row| row.frame == frame);
        let name = &mut symbols.unwrap().names[0];
        (name.line, name.file) = (Some(line), Some(file));
        frame
    });
    let main = made.stack("main");
    let stacks = lines.map(|frame| made.node(main, frame));
    for (place, (line, size)) in (1..).zip([(0, 100), (0, 100), (1, 5000)]) {
        made.alloc(thread, 0x1000 * place, size, stacks[line]);
    }
    made.free(thread, 0x1000);
    let other = made.stack("main > other");
    made.alloc(thread, 0x9000, 77, other);
    made.end(process, thread, Ended::Exited(0));
    let mut user = User::new(&made, 100, 40);
    while user.model.question.metric != Metric::Bytes {
        user.press("m");
    }
    user.press("2/load<Enter>v");
    let screen = user.screen();
    let words = |needle: &str| {
        let line = screen.lines().find(|line| line.contains(needle));
        let line = line.unwrap_or_else(|| panic!("{needle}: {screen}"));
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(user.model.page, Page::Function);
    assert!(
        words("second();").starts_with("4.88 KiB 96.2 %") && words("second();").contains("m.c:2"),
        "{screen}"
    );
    assert!(words("first();").starts_with("200 B 3.8 %"), "{screen}");
    assert_eq!(words("≤ 128 B"), format!("2 66.7 % 200 B ≤ 128 B {}", "█".repeat(24)));
    assert_eq!(words("≤ 8.00 KiB"), format!("1 33.3 % 4.88 KiB ≤ 8.00 KiB {}", "█".repeat(12)));
    assert_eq!(words("< 10 ms"), format!("1 33.3 % 100 B < 10 ms {}", "█".repeat(12)));
    assert!(words("to the end").starts_with("2 66.7 %") && !screen.contains("other"), "{screen}");
    user.press("<Back>");
    assert_eq!((user.model.page, user.function().as_str()), (Page::Functions, "load"));
    assert!(user.press("vy").copied().contains("second();"));
}

/// Check that sources of a program built elsewhere are shown from their present place, and that others say how to
/// give theirs.
#[test]
fn sources_that_have_moved_are_shown() {
    let mut user = user();
    user.press("l");
    assert!(user.screen().contains("not on this machine (see --path-map"), "{}", user.screen());
    let mut user = self::user();
    let lines: Vec<String> = (1..40).map(|number| format!("line {number} of r")).collect();
    user.put_source("r.c", &lines.join("\n"));
    user.press("l");
    assert!(user.screen().contains("line 19 of r"), "{}", user.screen());
    assert!(user.screen().contains("/src/r.c:19"), "the path is the recorded one\n{}", user.screen());
}

/// Check that the editor gets the line of the selected row.
#[test]
fn the_editor_gets_the_line() {
    let mut user = user();
    assert_eq!(user.press("6e").edited(), ("/src/m.c", 20));
}

/// Check that a faulty expression stays to be corrected, with a message.
#[test]
fn mistakes_can_be_put_right() {
    let mut user = user();
    user.press("3f(parse<Enter>");
    let prompt = user.model.prompt.clone().expect("it is still there");
    assert!(prompt.text == "(parse" && prompt.error.is_some(), "{prompt:?}");
    user.press(")<Enter>");
    assert!(user.model.prompt.is_none());
    assert!(user.model.question.lens.filter.is_some());
    assert!(
        user.screen().contains("only (parse)") || user.screen().contains("only parse"),
        "{}",
        user.screen()
    );
}

/// Check that nothing is requested twice in a row, and that going back requests nothing.
#[test]
fn going_back_asks_nothing() {
    let mut user = user();
    user.press("34563i");
    let asked = user.requests.len();
    user.press("i3456<Back><Back><Back>");
    assert_eq!(user.requests.len(), asked, "{:?}", &user.requests[asked..]);
}

/// Check that only the last of many choices is requested, and that older answers do no harm.
#[test]
fn the_last_choice_is_the_one_that_is_wanted() {
    let mut user = user();
    let key = |letter| crate::update::Event::Key(ratatui::crossterm::event::KeyEvent::from(letter));
    let mut wanted = Vec::new();
    for _ in 0..100 {
        user.event(key(ratatui::crossterm::event::KeyCode::Char('m')));
        wanted.extend(user.model.wanted());
    }
    // 100 choices among seven metrics end with the third one.
    let Some(Request::View(question)) = wanted.last() else { panic!("nothing is wanted") };
    assert_eq!(question.metric, Metric::ALL[100 % Metric::ALL.len()]);
    user.wait();
    assert_eq!(user.requests.iter().filter(|request| matches!(request, Request::View(_))).count(), 2);
    assert_eq!(user.model.view().unwrap().question.metric, Metric::ALL[100 % Metric::ALL.len()]);
}

/// Check that the changes from an older capture are a flame graph as wide as the changes, whose signs and colours say
/// what grew and what shrank, on the smallest screen, without colours, and in the table beside it.
#[test]
fn changes_have_signs_and_colours() {
    let old = holding(&[("main > parse", 3000), ("main > load", 1000), ("main > same", 700)]);
    let new = holding(&[("main > parse", 1000), ("main > load", 7000), ("main > same", 700)]);
    let mut user = User::comparing(&new, Some(&old), 80, 24);
    let (_, tree) = user.model.changes.shown().unwrap();
    assert_eq!(tree.node(0).total.bytes, 6000 + 2000, "what changed, in either direction");
    let screen = user.screen();
    assert!(screen.contains("since old.memprof") && screen.contains("+main"), "{screen}");
    let row = screen.lines().position(|line| line.contains("+load")).expect("what grew is there") as u16;
    let line = screen.lines().nth(row.into()).unwrap_or_default();
    assert!(line.contains("-parse") && !screen.contains("same"), "{screen}");
    // Three quarters of the change is growth.
    assert_eq!(line.chars().position(|letter| letter == '-'), Some(60), "{screen}");
    let colours = user.buffer(true);
    let background = |x| colours[(x, row)].bg;
    assert_eq!((background(5), background(65)), (Color::Indexed(208), Color::Indexed(67)));
    let plain = user.buffer(false);
    assert_eq!((plain[(0, row)].symbol(), plain[(60, row)].symbol()), ("+", "-"));
    assert!(user.press("<Down><Down><Down>").screen().contains("+5.86 KiB"), "{}", user.screen());
    assert_eq!(user.function(), "load");
    user.press("/pars<Enter>");
    assert_eq!(user.function(), "parse");
    assert!(user.screen().contains("-1.95 KiB"), "{}", user.screen());
    assert!(user.press("d").screen().contains("+5.86 KiB"), "{}", user.screen());
    user.press("<Back>");
    assert_eq!(user.model.page, Page::Changes);
}

/// Check that between two moments of one capture the graph has the sums of the table, and says so if nothing changed.
#[test]
fn changes_between_two_moments_add_up() {
    let mut user = user();
    user.press("5 .D");
    let changes = user.model.changed().unwrap();
    let (from, to) = user.model.time.range();
    assert!(from < to);
    let root = changes.sums.node(0).total;
    let text = user.press("d").model.document().unwrap().iter().map(plain).collect::<Vec<_>>();
    let said = analysis::format::bytes(root.bytes);
    assert!(text[0].contains(&said), "{said}: {text:?}");
    user.press("5<Home> <Home>D");
    assert!(user.screen().contains("Nothing changed"), "{}", user.screen());
}

/// Check that cells of the flame graph are as wide as their functions are large.
#[test]
fn flames_are_as_wide_as_their_part() {
    let mut user = user();
    user.press("4m");
    let (_, tree) = user.model.flame.shown().unwrap();
    let (width, total) = (1000_u16, tree.node(0).total.bytes as f64);
    for cell in user.model.flame.cells(width, 50) {
        let expected = f64::from(width) * tree.node(cell.id).total.bytes as f64 / total;
        assert!((f64::from(cell.width) - expected).abs() <= 1.0, "{cell:?} {expected}");
    }
}
