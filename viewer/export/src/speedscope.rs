//! The speedscope format: a profile for each metric, with the stacks of all of them over one table of functions.
//!
//! Its schema is <https://www.speedscope.app/file-format-schema.json>. Stacks are written as they are visited, so
//! each is walked once per metric.

use super::places::places;
use crate::origin::CREATOR;
use analysis::{Metric, Site};
use engine::Loaded;
use report::text::{caveats, scope};
use serde_json::to_writer;
use std::io::{self, Write};

/// Writes the metrics that the capture has any of, this one first.
pub(super) fn write(out: &mut dyn Write, loaded: &Loaded, first: Metric) -> io::Result<()> {
    write!(
        out,
        "{{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"{CREATOR}\","
    )?;
    // Readers page through all of them, so those that the capture has none of are left out.
    let has_any = |metric: Metric| loaded.profile.sites.iter().any(|site| weight(metric, site) != 0);
    let metrics = Metric::ALL.into_iter().filter(|&metric| metric == first || has_any(metric));
    let metrics: Vec<Metric> = metrics.collect();
    let active = metrics.iter().position(|metric| *metric == first).unwrap_or(0);
    write!(out, "\"activeProfileIndex\":{active},\"name\":")?;
    let name: Vec<String> = [scope(loaded)].into_iter().chain(caveats(loaded)).collect();
    to_writer(&mut *out, &name.join("; "))?;
    write!(out, ",\"shared\":{{\"frames\":[")?;
    frames(out, loaded)?;
    write!(out, "]}},\"profiles\":[")?;
    for (index, &metric) in metrics.iter().enumerate() {
        write!(out, "{}", if index > 0 { ",\n" } else { "\n" })?;
        profile(out, loaded, metric)?;
    }
    writeln!(out, "]}}")
}

fn frames(out: &mut dyn Write, loaded: &Loaded) -> io::Result<()> {
    for id in loaded.names.ids() {
        write!(out, "{}{{\"name\":", if id.index() > 0 { ",\n" } else { "\n" })?;
        to_writer(&mut *out, &loaded.names.label(id).name)?;
        if let Some(module) = loaded.module_of(id) {
            write!(out, ",\"file\":")?;
            to_writer(&mut *out, module)?;
        }
        write!(out, "}}")?;
    }
    Ok(())
}

fn profile(out: &mut dyn Write, loaded: &Loaded, metric: Metric) -> io::Result<()> {
    let sites = || loaded.profile.sites.iter().filter(|site| weight(metric, site) != 0);
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
        write!(out, "{}{}", if index > 0 { "," } else { "" }, weight(metric, site))?;
    }
    write!(out, "]}}")
}

fn weight(metric: Metric, site: &Site) -> i64 {
    metric.rank(metric.of(&site.cost))
}
