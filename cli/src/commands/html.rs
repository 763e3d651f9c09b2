//! `html`: a page that shows everything, in any browser.

use super::opened_capture::{self, NameOptions};
use crate::exit::{Failure, Outcome};
use crate::graphviz::{self, MOST_OF_DRAWING, Undrawn};
use crate::log::debug;
use crate::{message, output};
use analysis::query::{Labelled, Query};
use analysis::{History, Spelling};
use anyhow::{Context, anyhow};
use clap::Args;
use engine::lens::Lens;
use engine::{Captures, Loaded, Naming};
use heap_graph::Scanned;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;
use web::{self, Baseline, Counted, Drawing, DrawingError, GraphQuery, HeldScans, PageOptions};

/// Write a page for a browser
///
/// It shows timeline, flame graph, call tree, treemap, leaks and more. The page is one file of at most 10 MB that
/// works without a network and makes no requests. It contains the names and paths of the capture; only its owner can
/// read it, until you change that.
///
/// For two captures it shows the newer one; flame graph, trees and lists show what has changed since the older one,
/// as `diff` does, or the newer one alone. More are shown as one, as `report` does, without a timeline.
///
/// If processes were scanned, the page shows what keeps their memory alive, for the last scan and the largest, as far
/// as there is room; `serve` has all of them. If Graphviz is installed, its program `dot` draws the call graph of the
/// peak.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  # Into app.html
  sysprof-memprof html app.memprof
  sysprof-memprof html app.memprof -o report.html
  # What has changed, into new.html
  sysprof-memprof html old.memprof new.memprof
  # Captures of many hosts as one
  sysprof-memprof html host-*.memprof --together -o hosts.html
  # What has changed between two versions of them
  sysprof-memprof html host-*.memprof -o versions.html \\
      --from version=1 --to version=2
  # Source lines as links
  sysprof-memprof html app.memprof --source-url 'vscode://file/{path}:{line}'
  # … of a program that was built elsewhere
  sysprof-memprof html app.memprof --path-map /build/src=/home/me/src \\
      --source-url 'vscode://file/{path}:{line}'")]
pub(crate) struct Arguments {
    /// Captures to read: one, an older and a newer one, or more, which are shown as one
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    names: NameOptions,
    /// Show two captures as one, too
    #[arg(long)]
    together: bool,
    /// Show what has changed since the processes with this label, in all captures: version=1.2, host=web-*, …
    #[arg(long, value_name = "LABEL=VALUE", requires = "to", conflicts_with = "together")]
    from: Option<Labelled>,
    /// Compare the processes with this label with them
    #[arg(long, value_name = "LABEL=VALUE", requires = "from")]
    to: Option<Labelled>,
    /// Ignore template arguments when functions of what is compared are matched
    #[arg(long)]
    ignore_templates: bool,
    /// Output file; - for standard output [default: the name of the last capture, with .html]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the output if it exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    links: Links,
    /// Include the text of source lines on stacks, as far as this machine has them
    #[arg(long)]
    with_source: bool,
}

/// Where source lines lead.
#[derive(Args, Clone, Debug)]
pub(super) struct Links {
    /// Make source lines links, with this URL: {path} and {line} are replaced
    #[arg(long, value_name = "TEMPLATE", value_parser = template)]
    source_url: Option<String>,
    /// Replace the prefix FROM of source paths by TO; may be repeated, the first match counts
    #[arg(long, value_name = "FROM=TO", value_parser = mapping)]
    path_map: Vec<(String, String)>,
}

impl Links {
    /// The links' part of the page options.
    pub(super) fn options(&self) -> PageOptions {
        PageOptions {
            source_url: self.source_url.clone(),
            path_map: self.path_map.clone(),
            views: web::registered(),
            with_source: false,
            drawing: None,
        }
    }
}

/// Writes the page.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let shown = arguments.shown()?;
    let path = arguments.output.clone().unwrap_or_else(|| shown.last().with_extension("html"));
    let is_stdout = path == Path::new("-");
    let packing = if is_stdout { None } else { output::check_document(&path, arguments.force)? };
    let naming = || arguments.names.naming();
    let Counted { loaded, history, memory, observed } = shown.counted(naming())?;
    let (loaded, changes) = shown.compared(loaded, naming())?;
    let loaded = arguments.names.prepared(loaded);
    let drawing = Some(drawing(&loaded, &history)?);
    let views = web::views(&loaded, observed);
    let with_source = arguments.with_source;
    let options = PageOptions { with_source, drawing, views, ..arguments.links.options() };
    let scans = scans(&arguments.names, shown.last(), &loaded)?;
    let write = |out: &mut dyn Write| web::page(out, &loaded, &history, memory, changes, &scans, &options);
    if is_stdout {
        return opened_capture::print(|out, _| Ok(write(out)?));
    }
    output::write(&path, packing, |out| {
        write(out).with_context(|| format!("cannot write {}", path.display()))
    })
}

/// What a page shows.
enum Shown<'a> {
    One(&'a Path),
    /// The newer one, beside the older one.
    Two([&'a Path; 2], Spelling),
    /// As one, or one side of what is compared.
    Together(Captures<'a>),
    Labels([Captures<'a>; 2], Spelling),
}

impl Arguments {
    fn shown(&self) -> Result<Shown<'_>, Failure> {
        let spelling = if self.ignore_templates { Spelling::WithoutTemplates } else { Spelling::Exact };
        let captures = |only| Captures { files: &self.files, only };
        let shown = match (self.files.as_slice(), &self.from, &self.to) {
            (_, Some(from), Some(to)) => Shown::Labels([from, to].map(|only| captures(Some(only))), spelling),
            ([file], ..) => Shown::One(file),
            ([older, newer], ..) if !self.together => Shown::Two([older, newer], spelling),
            _ => Shown::Together(captures(None)),
        };
        if self.ignore_templates && matches!(shown, Shown::One(_) | Shown::Together(_)) {
            return Err(Failure::usage(anyhow!("--ignore-templates is for two captures, or for labels")));
        }
        Ok(shown)
    }
}

impl Shown<'_> {
    fn last(&self) -> &Path {
        match self {
            Self::One(file) | Self::Two([_, file], _) => file,
            Self::Together(captures) | Self::Labels([captures, _], _) => {
                captures.files.last().map_or(Path::new(""), PathBuf::as_path)
            }
        }
    }

    fn counted(&self, naming: Naming) -> Result<Counted, Failure> {
        if let Self::Two([older, _], _) = self {
            // If it is no capture, that is said before a long pass over the other one.
            opened_capture::analyzer(older)?;
        }
        match self {
            Self::One(file) | Self::Two([_, file], _) => {
                debug!("reading {}", file.display());
                web::open_with_history(file, naming).map_err(opened_capture::failure)
            }
            Self::Together(captures) | Self::Labels([_, captures], _) => {
                Ok(Counted::together(joined(captures, &naming)?))
            }
        }
    }

    fn compared(&self, shown: Loaded, naming: Naming) -> Result<(Loaded, Option<Baseline>), Failure> {
        let (older, spelling) = match self {
            Self::Two([older, _], spelling) => (opened_capture::open(older, naming)?, spelling),
            Self::Labels([older, _], spelling) => (joined(older, &naming)?, spelling),
            Self::One(_) | Self::Together(_) => return Ok((shown, None)),
        };
        let (shown, changes) = Baseline::new(older, shown, *spelling)?;
        Ok((shown, Some(changes)))
    }
}

fn joined(captures: &Captures<'_>, naming: &Naming) -> Result<Loaded, Failure> {
    captures.loaded(&Query::default(), &Lens::default(), naming).map_err(opened_capture::failure)
}

/// What the capture's scans found, for the page.
fn scans(names: &NameOptions, file: &Path, loaded: &Loaded) -> Result<HeldScans, Failure> {
    if loaded.tables.scans.is_empty() {
        return Ok(HeldScans::default());
    }
    let mut analyzer = opened_capture::analyzer(file)?;
    let mut scans = HeldScans::choose(&analyzer.tables().scans);
    let places = scans.places().to_vec();
    let add = |scanned: &Scanned| Ok(scans.add(loaded, scanned)?);
    analyzer.each_scan(&places, &names.naming(), add).map_err(opened_capture::failure)?;
    Ok(scans)
}

/// The capture's call graph, drawn if possible.
fn drawing(loaded: &Loaded, history: &History) -> io::Result<Drawing> {
    let mut graph = Vec::new();
    web::graph(&mut graph, loaded, [history; 2], &GraphQuery::usual())?;
    let begun = Instant::now();
    Ok(match graphviz::draw(&graph, "svg", &|| begun.elapsed() > MOST_OF_DRAWING) {
        Ok(svg) if svg.len() > web::MOST_OF_A_DRAWING => Drawing::Lacks(DrawingError::Room),
        Ok(svg) => String::from_utf8(svg).map_or(Drawing::Lacks(DrawingError::Reason), Drawing::Svg),
        Err(Undrawn::NotInstalled) => Drawing::Lacks(DrawingError::Graphviz),
        Err(Undrawn::GivenUp) => Drawing::Lacks(DrawingError::Time),
        Err(error) => {
            message::warning(&error.to_string());
            Drawing::Lacks(DrawingError::Reason)
        }
    })
}

/// Parses a URL template for source lines.
fn template(text: &str) -> Result<String, String> {
    let scheme = text.split_once(':').map(|(scheme, _)| scheme).unwrap_or_default();
    let begins_well = scheme.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let is_scheme =
        begins_well && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+.-".contains(letter));
    let runs = ["javascript", "data", "vbscript", "blob"];
    if !is_scheme || runs.iter().any(|runs| scheme.eq_ignore_ascii_case(runs)) {
        return Err("expected a URL that opens files, like vscode://file/{path}:{line}".to_owned());
    }
    if !text.contains("{path}") {
        return Err("expected a URL with {path} in it, like vscode://file/{path}:{line}".to_owned());
    }
    Ok(text.to_owned())
}

/// Parses a pair of path prefixes.
pub(super) fn mapping(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(from, _)| !from.is_empty());
    let (from, to) = parts.ok_or_else(|| "expected a mapping like /build/src=/home/me/src".to_owned())?;
    Ok((from.to_owned(), to.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that URLs that open files are accepted, and that those that would run code in the page are not.
    #[test]
    fn templates_open_files() {
        for (text, is_good) in [
            ("vscode://file/{path}:{line}", true),
            ("https://example.org/blob/main{path}#L{line}", true),
            ("javascript:alert({path})", false),
            ("JavaScript:{path}", false),
            (" javascript:{path}", false),
            ("data:text/html,{path}", false),
            ("/{path}", false),
            ("vscode://file/", false),
        ] {
            assert_eq!(template(text).is_ok(), is_good, "{text}");
        }
    }

    /// Check how pairs of path prefixes are parsed.
    #[test]
    fn mappings_have_two_sides() {
        let pair = |from: &str, to: &str| Ok((from.to_owned(), to.to_owned()));
        assert_eq!(mapping("/a=/b"), pair("/a", "/b"));
        assert_eq!(mapping("/a="), pair("/a", ""));
        assert_eq!(mapping("/a=/b=c"), pair("/a", "/b=c"));
        assert!(mapping("/a").is_err() && mapping("=/b").is_err());
    }
}
