//! `history`: everything that happened at one address.

use super::block_selection::BlocksArguments;
use crate::exit::Outcome;
use analysis::lifetimes::History;
use clap::Args;
use report::views;

/// Most events that are kept.
const MOST_TURNS: usize = 100_000;

/// Show everything that happened at one address
///
/// Covers all blocks that ever held it; the address may lie inside a block. Of very many entries the last are shown.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  # Addresses stand in what export --format events writes
  sysprof-memprof history 0x55d0c3a012a0 app.memprof")]
pub(crate) struct Arguments {
    /// Address, as in 0x55d0c3a012a0
    #[arg(value_parser = address)]
    address: u64,
    #[command(flatten)]
    blocks: BlocksArguments,
}

/// Prints it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let address = arguments.address;
    let (loaded, watch) = arguments.blocks.observe(|_| History::new(address, MOST_TURNS))?;
    let (entries, earlier) = watch.finish();
    arguments.blocks.print(&loaded, &views::history(&loaded, address, &entries, earlier))
}

/// Parses a hexadecimal number, with or without 0x.
fn address(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16).map_err(|_| "expected an address like 0x55d0c3a012a0".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that addresses are hexadecimal, with or without 0x.
    #[test]
    fn addresses_are_hexadecimal() {
        for (text, expected) in
            [("0x10", Some(16)), ("ff", Some(255)), ("", None), ("0x", None), ("x", None), ("-1", None)]
        {
            assert_eq!(address(text).ok(), expected, "{text}");
        }
    }
}
