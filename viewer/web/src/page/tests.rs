//! Pages of synthetic captures: their size, their sums, and what must never get into their markup.

use super::super::call_tree::{Change, Row};
use super::*;
use analysis::{Cost, Detail, ProfileBuilder, Recorder, Spelling};
use capture::{
    Action, Event, Frame, FrameId, Node, NodeId, Process, ProcessId, SourceFrame, StringId, Symbolized,
    Tables, Thread, ThreadId,
};
use engine::Source;
use flate2::read::DeflateDecoder;
use proptest::prelude::*;
use serde_json::Value;
use std::io::Read;

/// A capture of one process whose stacks consist of functions with these names, each stack extending the previous
/// one.
fn made(stacks: &[Vec<String>], events: impl FnOnce(&[NodeId]) -> Vec<Event>) -> (Loaded, History) {
    let mut tables = Tables {
        processes: vec![Process { pid: 7, name: "app".to_owned(), ..Process::default() }],
        threads: vec![Thread { process: ProcessId(0), tid: 7, name: "main".to_owned() }],
        nodes: vec![Node { parent: NodeId::ROOT, frame: FrameId(0) }],
        ..Tables::default()
    };
    let mut leaves = Vec::new();
    for stack in stacks {
        let mut at = NodeId::ROOT;
        for name in stack {
            let frame = FrameId::from_index(tables.frames.len());
            tables.frames.push(Frame::Code { module: None, address: u64::from(frame.0), exact: false });
            tables.strings.push(name.clone());
            let function = Some(StringId::from_index(tables.strings.len() - 1));
            let names = vec![SourceFrame { function, file: function, line: Some(3) }];
            tables.symbols.push(Some(Symbolized { frame, names, ..Symbolized::default() }));
            tables.nodes.push(Node { parent: at, frame });
            at = NodeId::from_index(tables.nodes.len() - 1);
        }
        leaves.push(at);
    }
    let mut builder = ProfileBuilder::watched(&tables, Recorder::new(&tables));
    builder.events(&events(&leaves));
    let (profile, recorder) = builder.finish_watched();
    let source = Source { file: "app.memprof".to_owned(), ..Source::default() };
    (Loaded::new(tables, profile, source), recorder.finish())
}

fn alloc(time: u64, size: u64, stack: NodeId) -> Event {
    let action = Action::Alloc { address: 16 * (time + 1), size, alignment: 0, stack };
    Event { time: time * 1000, thread: ThreadId(0), action }
}

fn text_of(loaded: &Loaded, history: &History) -> String {
    text_with(loaded, history, &PageOptions::default())
}

fn text_with(loaded: &Loaded, history: &History, options: &PageOptions) -> String {
    let mut out = Vec::new();
    page(&mut out, loaded, history, None, None, &HeldScans::default(), options).unwrap();
    String::from_utf8(out).unwrap()
}

/// The data in a page, inflated.
fn data_of(page: &str) -> Vec<u8> {
    let start = page.split_once("application/octet-stream\">").expect("the page has data").1;
    inflated(&STANDARD.decode(start.split_once('<').unwrap().0).unwrap())
}

/// Inflated data.
fn inflated(packed: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    DeflateDecoder::new(packed).read_to_end(&mut data).unwrap();
    data
}

fn head_of(page: &str) -> Value {
    let data = data_of(page);
    let length = u32::from_le_bytes(data[..4].try_into().unwrap()) as usize;
    serde_json::from_slice(&data[4..4 + length]).unwrap()
}

/// Check that a long source line is truncated, wherever its characters end.
#[test]
fn long_lines_are_cut_between_letters() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, format!("\n\nx{}\n", "é".repeat(2000))).unwrap();
    let (loaded, history) =
        made(&[vec![file.path().display().to_string()]], |leaves| vec![alloc(1, 10, leaves[0])]);
    let options = PageOptions { with_source: true, ..PageOptions::default() };
    let head = head_of(&text_with(&loaded, &history, &options));
    let texts = head["texts"].as_array().unwrap().iter().filter_map(Value::as_str);
    assert_eq!(texts.filter(|text| text.starts_with("xé")).map(str::len).collect::<Vec<_>>(), [199]);
}

/// Check that hostile names are in the data only, and that the policy allows the script by its hash and nothing else.
#[test]
fn names_are_not_in_the_markup() {
    let hostile =
        ["</script><script>alert(1)</script>", "<img src=x onerror=alert(2)>", "{{DATA}}", "]]>-->"];
    let stacks = [hostile.map(str::to_owned).to_vec()];
    let (loaded, history) = made(&stacks, |leaves| vec![alloc(1, 100, leaves[0])]);
    let page = text_of(&loaded, &history);
    for name in hostile {
        assert!(!page.contains(name), "{name}");
        assert!(
            String::from_utf8_lossy(&data_of(&page)).contains(&serde_json::to_string(name).unwrap()),
            "{name}"
        );
    }
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script>").count(), 2);
    let policy = format!("default-src 'none'; connect-src 'none'; script-src '{}'", hash(&script()));
    assert!(page.contains(&policy));
    let outside = ["http:", "https:", "src=", "href=", "url(", "@import"];
    let markup = PAGE.replace("http-equiv", "");
    assert!(outside.iter().all(|word| !markup.contains(word) && !STYLE.contains(word)));
}

/// Check that a capture without any events has a page, too.
#[test]
fn empty_capture_has_a_page() {
    let (loaded, history) = made(&[], |_| Vec::new());
    let head = head_of(&text_of(&loaded, &history));
    assert_eq!(head["info"]["totals"]["allocations"], 0);
    assert_eq!(head["folded"]["stacks"], 0);
}

/// Check that a capture with more names than fit gets a page of the right size, which says what was folded.
#[test]
fn large_capture_fits() {
    // Incompressible names.
    let mut state = 1_u64;
    let mut name = || {
        let letters = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b'!' + (state >> 33) as u8 % 90)
        });
        letters.take(1000).collect::<String>()
    };
    let stacks: Vec<Vec<String>> = (0..12_000).map(|_| vec![name()]).collect();
    let (loaded, history) = made(&stacks, |leaves| {
        (0..).zip(leaves).map(|(time, &leaf)| alloc(time, 1 + time % 1000, leaf)).collect()
    });
    let page = text_of(&loaded, &history);
    assert!(page.len() <= MOST_BYTES, "{}", page.len());
    assert!(page.len() > MOST_BYTES / 2, "{}: more would have fitted", page.len());
    let folded = &head_of(&page)["folded"];
    assert!(folded["stacks"].as_u64().is_some_and(|stacks| (1..12_000).contains(&stacks)), "{folded}");
}

/// Check that what a server assembles from pieces, alternating between the whole time and ranges, equals what is
/// packed at once; several stacks have the same names and lines, so that one row has the changes of several sites.
#[test]
fn pieces_are_the_data() {
    let stacks: Vec<Vec<String>> =
        (0..40).map(|stack| vec![format!("f{}", stack % 7), format!("g{}", stack % 3)]).collect();
    let mut events = Vec::new();
    let (loaded, whole) = made(&stacks, |leaves| {
        let blocks = (0..).zip(leaves.iter().cycle().take(4000));
        events = blocks.map(|(time, &leaf)| alloc(1000 * time, 1 + time % 900, leaf)).collect();
        events.clone()
    });
    let options = PageOptions::default();
    let mut packer = Packer::new(&loaded, &whole, None, None, &options).unwrap();
    let size = Size { room: MOST_BYTES, compression: Compression::fast() };
    for range in [None, Some((100_000_000, 900_000_000)), None, Some((0, 90_000_000))] {
        let fine = range.map(|(from, to)| {
            let detail = Detail::of(&whole, from, to).expect("the whole is coarse");
            let mut builder = ProfileBuilder::watched(&loaded.tables, detail.slices(&loaded.tables));
            builder.events(&events[..detail.end().position as usize]);
            detail.join(builder.cut().1)
        });
        let history = fine.as_ref().unwrap_or(&whole);
        let served = inflated(&packer.served(&loaded, &whole, history, &options).unwrap());
        assert!(packer.pieces.is_some());
        let packed = inflated(&packer.pack(&loaded, [&whole, history], &options, size).unwrap());
        assert!(served == packed, "{range:?}");
    }
}

fn sum(rows: &[Row]) -> Cost {
    rows.iter().map(|row| row.cost).sum()
}

/// What rows had before, and what the comparison moved between them.
fn changed(rows: &[Row]) -> (Cost, Cost) {
    let of = |part: fn(&Change) -> Cost| rows.iter().flat_map(|row| &row.change).map(|row| part(row)).sum();
    (of(|change| change.before), of(|change| change.moved))
}

proptest! {
    /// Check that folding preserves every sum, at every kept node and in every slice, including those of an older
    /// capture, and stays within its limits.
    #[test]
    fn folding_keeps_sums(
        names in prop::collection::vec(prop::collection::vec(0..4_u8, 1..6), 1..20),
        sizes in prop::collection::vec((any::<prop::sample::Index>(), 1..5000_u64), 1..60),
        before in prop::collection::vec((any::<prop::sample::Index>(), 1..5000_u64), 0..20),
        nodes in 1..30_usize,
        changes in 0..60_usize,
    ) {
        let stacks: Vec<Vec<String>> =
            names.iter().map(|stack| stack.iter().map(|name| format!("f{name}")).collect()).collect();
        let of = |sizes: &[(prop::sample::Index, u64)]| made(&stacks, |leaves| {
            (0..).zip(sizes).map(|(time, (leaf, size))| alloc(time, *size, *leaf.get(leaves))).collect()
        });
        let ((baseline_overview, _), (loaded, history)) = (of(&before), of(&sizes));
        let of_older = baseline_overview.profile.total;
        let (loaded, baseline) = Baseline::new(baseline_overview, loaded, Spelling::Exact).unwrap();
        let mut call_tree = CallTree::new(&loaded, &history, Some(&baseline.diff));
        call_tree.take_changes(&history);
        let folded = Folded::new(&call_tree, &loaded.profile.total, Limits { nodes, changes });
        prop_assert_eq!(sum(&folded.rows), loaded.profile.total);
        prop_assert_eq!(sum(&call_tree.rows), loaded.profile.total);
        prop_assert_eq!(changed(&call_tree.rows), (of_older, Cost::default()));
        prop_assert_eq!(changed(&folded.rows), (of_older, Cost::default()));
        let kept = folded.nodes.iter().filter(|node| node.place.is_some()).count();
        prop_assert!(kept <= nodes.max(1));
        for (id, node) in folded.nodes.iter().enumerate().skip(1) {
            prop_assert!((node.parent as usize) < id);
        }
        let live = |rows: &[Row]| {
            let changes = rows.iter().flat_map(|row| &row.changes);
            let mut by_slice = std::collections::BTreeMap::new();
            changes.for_each(|(slice, change)| *by_slice.entry(*slice).or_insert(0) += change.live.bytes);
            by_slice
        };
        prop_assert_eq!(live(&folded.rows), live(&call_tree.rows));
    }
}
