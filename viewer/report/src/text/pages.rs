//! `pages`: whose blocks lie on which pages.

use super::escape::{columns, escape};
use super::headline::{span, warnings};
use super::place::fit_name;
use super::stack_line::{header, rest, stack_line};
use super::style::{Role, Style};
use super::tree_lines::{Branch, TreeLines};
use analysis::format::{bytes, count, counted, percent};
use analysis::lifetimes::{FULLNESS, Heap, PAGE, PageTable};
use analysis::{Amount, Tree, Use, allocator_library, natural, page_tree};
use engine::Loaded;
use std::cmp::Reverse;
use std::io::{self, Write};

/// Most other stacks named below a row.
const SHARERS: usize = 2;
/// Most heaps listed.
const HEAPS: usize = 5;
/// Width of the numbers before a name.
const WIDTH: usize = 64;

/// Writes at most `limit` stacks, those responsible for most empty bytes first, each with those it shares most pages
/// with.
///
/// # Errors
/// Those of the writer.
pub fn pages(
    out: &mut dyn Write,
    loaded: &Loaded,
    table: &PageTable,
    limit: usize,
    style: &Style,
) -> io::Result<()> {
    head(out, loaded, table, "stack", style)?;
    let sharers = table.sharers(limit, SHARERS);
    for (row, sharers) in table.stacks.iter().zip(sharers) {
        let stack = style.paint(Role::Function, stack_line(loaded, row.node, style, WIDTH));
        writeln!(out, "{}{stack}", numbers(row.empty, row.pages, row.held, style))?;
        for (other, shared) in sharers {
            let text = format!("shares {} with ", bytes(shared));
            let line = stack_line(loaded, table.stacks[other].node, style, WIDTH + 2 + text.len());
            writeln!(out, "{:WIDTH$}  {}", "", style.paint(Role::Detail, format!("{text}{line}")))?;
        }
    }
    rest(out, style, table.stacks.len().saturating_sub(limit), "more stack")
}

/// Writes them as a call tree, without branches on less than `least` bytes of pages. Branches share pages, so their
/// numbers add up to more than those of the branch above.
///
/// # Errors
/// Those of the writer.
pub fn pages_tree(
    out: &mut dyn Write,
    loaded: &Loaded,
    table: &PageTable,
    least: i64,
    style: &Style,
) -> io::Result<()> {
    head(out, loaded, table, "function", style)?;
    let (tree, uses) = page_tree(table, &loaded.tables, &loaded.names);
    let name = |node: u32| loaded.names.label(tree.node(node).label).name.as_str();
    let of = |node: u32| uses[node as usize].0;
    let empty = |node: u32| uses[node as usize].1;
    let mut rows = vec![(Row::Node(Tree::ROOT), TreeLines::default(), Branch::Trunk)];
    while let Some((row, lead, branch)) = rows.pop() {
        let lines = lead.text(branch, 20);
        let node = match row {
            Row::Node(node) => node,
            Row::Hidden(number) => {
                let text = format!("{} not shown", counted(number as u64, "smaller one"));
                writeln!(out, "{:WIDTH$}{lines}{}", "", style.paint(Role::Detail, text))?;
                continue;
            }
        };
        let room = style.room(WIDTH + columns(&lines));
        let function = style.paint(Role::Function, fit_name(&loaded.names, tree.node(node).label, room));
        writeln!(out, "{}{lines}{function}", numbers(empty(node), of(node), tree.node(node).total, style))?;
        let (mut children, small): (Vec<u32>, Vec<u32>) =
            tree.children(node).partition(|&child| of(child).total >= least);
        children.sort_by(|&a, &b| {
            let size = |node| Reverse((of(node).total, of(node).alone));
            size(a).cmp(&size(b)).then_with(|| natural(name(a), name(b)))
        });
        let below = lead.below(branch);
        let (first, alone) = (rows.len(), children.len() == 1 && small.is_empty());
        if !small.is_empty() {
            rows.push((Row::Hidden(small.len()), below, Branch::Fork));
        }
        let way = if alone { Branch::Trunk } else { Branch::Fork };
        rows.extend(children.iter().rev().map(|&child| (Row::Node(child), below, way)));
        // The first one pushed is popped last, so it is drawn below its siblings.
        if let Some((_, _, branch @ Branch::Fork)) = rows.get_mut(first) {
            *branch = Branch::Last;
        }
    }
    Ok(())
}

/// A row of the tree.
enum Row {
    Node(u32),
    /// The number of branches that are too small.
    Hidden(usize),
}

fn head(out: &mut dyn Write, loaded: &Loaded, table: &PageTable, of: &str, style: &Style) -> io::Result<()> {
    let file = escape(&loaded.source.file);
    let text = format!(
        "{file}{}: {} in {} on {} ({}), {} full",
        span(loaded.profile.span),
        bytes(table.held.bytes),
        counted(table.held.blocks, "block"),
        counted(table.pages / PAGE.cast_signed(), "page"),
        bytes(table.pages),
        percent(table.held.bytes, table.pages),
    );
    writeln!(out, "{}", style.paint(Role::Heading, text))?;
    warnings(out, loaded, style)?;
    let explained = [
        "empty: bytes without a block, split evenly among the stacks on each page",
        "alone: pages with blocks of this stack only, which could be returned to the system without them",
    ];
    for line in explained {
        writeln!(out, "  {}", style.paint(Role::Detail, line))?;
    }
    writeln!(out)?;
    fullness(out, table, style)?;
    heaps(out, loaded, table, style)?;
    let titles = ["empty", "alone", "pages", "held", "blocks"].map(|title| format!("{title:>10}")).concat();
    header(out, style, &format!("{titles}  {:>10}  {of}", "filled"))
}

/// How full the pages are, in two lines.
fn fullness(out: &mut dyn Write, table: &PageTable, style: &Style) -> io::Result<()> {
    let [least, .., most] = FULLNESS;
    let between = FULLNESS.windows(2).map(|bounds| format!("{}-{} %", bounds[0], bounds[1]));
    let titles: String = std::iter::once(format!("under {least} %"))
        .chain(between)
        .chain([format!("over {most} %"), "all".to_owned()])
        .map(|title| format!("{title:>12}"))
        .collect();
    header(out, style, &format!("{:10}{titles}", "  filled"))?;
    let all = table.by_fullness.into_iter().chain([table.pages]);
    let numbers: String = all.map(|pages| format!("{:>12}", bytes(pages))).collect();
    writeln!(out, "{:10}{}\n", "  pages", style.paint(Role::Value, numbers))
}

/// What lies free between and above blocks, or nothing if that is zero; by heap if the allocator is glibc's.
fn heaps(out: &mut dyn Write, loaded: &Loaded, table: &PageTable, style: &Style) -> io::Result<()> {
    let (under, above) = table.freed();
    if (under, above) == (0, 0) {
        return Ok(());
    }
    if let Some(library) = allocator_library(&loaded.tables) {
        // Where other allocators have their heaps, and when they give memory back, is unknown.
        let freed = bytes(under + above);
        let text =
            format!("freed: another {freed} in pages without a block, unless {library} has returned them");
        return writeln!(out, "  {}\n", style.paint(Role::Detail, text));
    }
    let explained = [
        format!(
            "freed: another {} in pages without a block, unless glibc has returned them",
            bytes(under + above)
        ),
        format!("under the highest block of a heap: malloc_trim(0) would return about {}", bytes(under)),
        "above the highest block: glibc returns this by itself, except for 128 KiB or more (M_TRIM_THRESHOLD)".to_owned(),
    ];
    for line in explained {
        writeln!(out, "  {}", style.paint(Role::Detail, line))?;
    }
    writeln!(out)?;
    let titles = ["under", "above", "pages", "heap", "block"].map(|title| format!("{title:>10}")).concat();
    header(out, style, &format!("{titles}  highest block"))?;
    let with_some = |heap: &&Heap| heap.under + heap.above > 0;
    for heap in table.heaps.iter().filter(with_some).take(HEAPS) {
        let size = |size: u64| bytes(size.min(i64::MAX as u64).cast_signed());
        let under = style.paint(Role::Value, format!("{:>10}", bytes(heap.under)));
        let block = heap.highest.map_or(String::new(), |block| size(block.size));
        let rest = [bytes(heap.above), bytes(heap.used), size(heap.end - heap.start), block];
        let rest = rest.map(|number| format!("{number:>10}")).concat();
        let stack = match heap.highest {
            Some(block) => style.paint(Role::Function, stack_line(loaded, block.node, style, 52)),
            None => style.paint(Role::Detail, "none: all freed".to_owned()),
        };
        writeln!(out, "{under}{rest}  {stack}")?;
    }
    rest(out, style, table.heaps.iter().filter(with_some).count().saturating_sub(HEAPS), "more heap")?;
    writeln!(out)
}

/// `  38.8 KiB  12.0 KiB  40.0 KiB   1.20 KiB        60      3.0 %  `.
fn numbers(empty: i64, pages: Use, held: Amount, style: &Style) -> String {
    let empty = style.paint(Role::Value, format!("{:>10}", bytes(empty)));
    let rest = [bytes(pages.alone), bytes(pages.total), bytes(held.bytes), count(held.blocks)];
    let rest = rest.map(|number| format!("{number:>10}")).concat();
    format!("{empty}{rest}  {:>10}  ", percent(held.bytes, pages.total))
}
