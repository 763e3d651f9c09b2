//! `pages`: whose blocks lie on which pages.

use crate::table::{Below, Column, Document, Most, Readers, Row, Table, Title, Value, columns, phrase};
use analysis::allocator_library;
use analysis::lifetimes::{FULLNESS, Heap, HighestBlock, PAGE, PageTable, StackPages};
use engine::Loaded;

/// Most other stacks of each stack, and the number of stacks with such a list: a page costs the square of its stacks.
const SHARERS: usize = 5;
const WITH_SHARERS: usize = 1000;

/// The stacks, those responsible for most empty bytes first, each with those it shares most pages with.
pub fn pages(loaded: &Loaded, table: &PageTable) -> Document {
    let (under, above) = table.freed();
    let fields = vec![
        ("page_size", Value::bytes(PAGE)),
        ("page_bytes", Value::bytes(table.pages)),
        ("empty_bytes", Value::bytes(table.empty)),
        ("by_fullness", by_fullness(table)),
        ("held", table.held.into()),
        ("freed_under_bytes", Value::bytes(under)),
        ("freed_above_bytes", Value::bytes(above)),
    ];
    Document { fields, ..head_of_pages(loaded, table, vec![heaps(loaded, table), stacks(table)]) }
}

/// The title of all views of pages, and how full these are.
pub fn head_of_pages(loaded: &Loaded, table: &PageTable, tables: Vec<Table>) -> Document {
    let title = phrase![
        table.held,
        " on ",
        Value::counted(table.pages / PAGE.cast_signed(), "page"),
        " (",
        Value::bytes(table.pages),
        "), ",
        Value::Share(table.held.bytes, table.pages),
        " full"
    ];
    let notes = [
        "empty: bytes without a block, split evenly among the stacks on each page".into(),
        "alone: pages with blocks of this stack only, which could be returned to the system without them"
            .into(),
    ];
    let notes = notes.into_iter().chain(freed(loaded, table)).collect();
    let tables = std::iter::once(fullness(table)).chain(tables).collect::<Vec<_>>();
    Document { notes, ..Document::new("pages", Title::Words(title), tables) }
}

fn by_fullness(table: &PageTable) -> Value {
    // The last class includes full pages.
    let classes = FULLNESS.into_iter().chain([101]).zip(table.by_fullness);
    let class = |(below, pages): (u64, i64)| {
        Value::Record(vec![("below_percent", Value::Id(below)), ("page_bytes", Value::bytes(pages))])
    };
    Value::List(classes.map(class).collect())
}

/// How full the pages are, in one row.
fn fullness(table: &PageTable) -> Table {
    let [least, .., most] = FULLNESS;
    let between = FULLNESS.windows(2).map(|bounds| format!("{}-{} %", bounds[0], bounds[1]));
    let titles = std::iter::once(format!("under {least} %"))
        .chain(between)
        .chain([format!("over {most} %"), "all".to_owned()]);
    let columns: Vec<Column> = titles.map(Column::shown).collect();
    let sizes: Vec<Value> = table.by_fullness.into_iter().chain([table.pages]).map(Value::bytes).collect();
    Table::new("fullness", columns, "filled").only(Readers::People).rows([Row::new(sizes, "pages")])
}

/// What lies free between and above blocks, if anything does.
fn freed(loaded: &Loaded, table: &PageTable) -> Vec<Value> {
    let (under, above) = table.freed();
    let freed = Value::bytes(under + above);
    match allocator_library(&loaded.tables) {
        _ if (under, above) == (0, 0) => Vec::new(),
        // Where other allocators have their heaps, and when they give memory back, is unknown.
        Some(library) => vec![phrase![
            "freed: another ",
            freed,
            " in pages without a block, unless ",
            library.to_owned(),
            " has returned them"
        ]],
        None => vec![
            phrase!["freed: another ", freed, " in pages without a block, unless glibc has returned them"],
            phrase![
                "under the highest block of a heap: malloc_trim(0) would return about ",
                Value::bytes(under)
            ],
            "above the highest block: glibc returns this by itself, except for 128 KiB or more (M_TRIM_THRESHOLD)".into(),
        ],
    }
}

/// The heaps of glibc's malloc, for people those with something free.
fn heaps(loaded: &Loaded, table: &PageTable) -> Table {
    let highest = |HighestBlock { address, size, node }| {
        Value::Record(vec![
            ("address", Value::Address(address)),
            ("size", Value::bytes(size)),
            ("stack", Value::Stack(node)),
        ])
    };
    let (columns, cells) = columns![|heap: &Heap|
        Column::field("pid") => Value::Process(heap.process),
        Column::field("start") => Value::Address(heap.start),
        Column::field("end") => Value::Address(heap.end),
        Column::new("freed_under_bytes", "under") => Value::bytes(heap.under),
        Column::new("freed_above_bytes", "above").width(8) => Value::bytes(heap.above),
        Column::new("page_bytes", "pages").width(8) => Value::bytes(heap.used),
        Column::shown("heap").width(8) => Value::bytes(heap.end - heap.start),
        Column::shown("block").width(8) => heap.highest.map_or(Value::Empty, |block| Value::bytes(block.size)),
        Column::field("highest_block") => heap.highest.map_or(Value::Unknown, highest),
    ];
    let row = |heap: &Heap| {
        let name = heap.highest.map_or("none: all freed".into(), |block| Value::Stack(block.node));
        Row { is_minor: heap.under + heap.above == 0, ..Row::new(cells(heap), name) }
    };
    let is_known = allocator_library(&loaded.tables).is_none() && table.freed() != (0, 0);
    let readers = if is_known { Readers::All } else { Readers::Programs };
    let heaps = Table::new("heaps", columns, "highest block").titled("Heaps with free pages").only(readers);
    Table { noun: "more heap", most: Most::Rows(5), ..heaps }.rows(table.heaps.iter().map(row))
}

fn stacks(table: &PageTable) -> Table {
    let shared = |&(stack, pages): &(usize, i64)| {
        Value::Record(vec![("stack", Value::Id(stack as u64)), ("page_bytes", Value::bytes(pages))])
    };
    let (columns, cells) = columns![|(row, sharers): (&StackPages, &[(usize, i64)])|
        Column::field("pid") => Value::Process(row.process),
        Column::new("empty_bytes", "empty") => Value::bytes(row.empty),
        Column::new("alone_bytes", "alone").width(8) => Value::bytes(row.pages.alone),
        Column::new("page_bytes", "pages").width(8) => Value::bytes(row.pages.total),
        Column::shown("held").width(8) => Value::bytes(row.held.bytes),
        Column::shown("blocks").width(8) => Value::count(row.held.blocks),
        Column::shown("filled") => Value::Share(row.held.bytes, row.pages.total),
        Column::field("held") => row.held,
        Column::field("shared_with") => Value::List(sharers.iter().map(shared).collect()),
    ];
    let row = |(row, sharers): (&StackPages, Vec<(usize, i64)>)| {
        let with = sharers.iter().take(2).map(|&(stack, pages)| {
            let other = Value::Stack(table.stacks[stack].node);
            Row::new([], phrase!["shares ", Value::bytes(pages), " with ", other])
        });
        Row::new(cells((row, &sharers)), Value::Stack(row.node)).below(with)
    };
    let sharers = table.sharers(WITH_SHARERS, SHARERS).into_iter().chain(std::iter::repeat(Vec::new()));
    let stacks = Table::new("stacks", columns, "stack").named("stack").titled("By stack");
    Table { below: Below { most: Most::All, ..Below::default() }, ..stacks }
        .rows(table.stacks.iter().zip(sharers).map(row))
}
