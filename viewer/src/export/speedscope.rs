//! The speedscope format: a profile for each metric, with the stacks of all of them over one table of functions.
//!
//! Its schema is <https://www.speedscope.app/file-format-schema.json>. Stacks are written as they are visited, so
//! each is walked once per metric.

use super::CREATOR;
use super::places::{module_of, places};
use crate::analysis::{LabelId, Metric, Site};
use crate::loaded::Loaded;
use serde_json::to_writer;
use std::io::{self, Write};

/// Writes all metrics, this one first.
pub(super) fn write(out: &mut dyn Write, loaded: &Loaded, first: Metric) -> io::Result<()> {
    write!(
        out,
        "{{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"{CREATOR}\","
    )?;
    let active = Metric::ALL.into_iter().position(|metric| metric == first).unwrap_or(0);
    write!(out, "\"activeProfileIndex\":{active},\"name\":")?;
    to_writer(&mut *out, &loaded.source.file)?;
    write!(out, ",\"shared\":{{\"frames\":[")?;
    frames(out, loaded)?;
    write!(out, "]}},\"profiles\":[")?;
    for (index, metric) in Metric::ALL.into_iter().enumerate() {
        write!(out, "{}", if index > 0 { ",\n" } else { "\n" })?;
        profile(out, loaded, metric)?;
    }
    writeln!(out, "]}}")
}

fn frames(out: &mut dyn Write, loaded: &Loaded) -> io::Result<()> {
    for index in 0..loaded.names.len() {
        let id = LabelId(u32::try_from(index).expect("labels are counted in u32"));
        write!(out, "{}{{\"name\":", if index > 0 { ",\n" } else { "\n" })?;
        to_writer(&mut *out, &loaded.names.label(id).name)?;
        if let Some(module) = module_of(loaded, id) {
            write!(out, ",\"file\":")?;
            to_writer(&mut *out, module)?;
        }
        write!(out, "}}")?;
    }
    Ok(())
}

fn profile(out: &mut dyn Write, loaded: &Loaded, metric: Metric) -> io::Result<()> {
    let weight = |site: &Site| metric.rank(metric.of(&site.cost));
    let sites = || loaded.profile.sites.iter().filter(|site| weight(site) != 0);
    let (name, unit) = (metric.name(), if metric.counts_blocks() { "none" } else { "bytes" });
    let total = metric.rank(metric.of(&loaded.profile.total));
    write!(out, "{{\"type\":\"sampled\",\"name\":\"{name}\",\"unit\":\"{unit}\",\"startValue\":0,")?;
    write!(out, "\"endValue\":{total},\"samples\":[")?;
    let mut stack: Vec<u32> = Vec::new();
    for (index, site) in sites().enumerate() {
        stack.clear();
        stack.extend(places(loaded, site).map(|place| place.label.0));
        // Outermost first.
        stack.reverse();
        write!(out, "{}", if index > 0 { ",\n" } else { "\n" })?;
        to_writer(&mut *out, &stack)?;
    }
    write!(out, "],\"weights\":[")?;
    for (index, site) in sites().enumerate() {
        write!(out, "{}{}", if index > 0 { "," } else { "" }, weight(site))?;
    }
    write!(out, "]}}")
}
