//! What every link carries under a plan, as a table for other programs.

use crate::csv::quoted;
use crate::failure::Failure;
use crate::output::{Schema, json};
use crate::target::Target;
use optiq_net::Network;
use optiq_solver::Report;
use serde::Serialize;
use std::io::{self, Write};

/// One direction of a link, or of a bundle of parallel links.
#[derive(Serialize)]
struct LinkRow<'a> {
    from: &'a str,
    to: &'a str,
    /// Parallel physical links.
    lanes: u32,
    /// The sum over its lanes.
    capacity_bytes_per_second: f64,
    /// Under the plan.
    bytes: u64,
    /// How long the link is busy with them, at least.
    seconds: f64,
    /// (demand, path) pairs with bytes here.
    paths: u64,
    /// On the network's own routes.
    direct_bytes: u64,
    direct_seconds: f64,
    /// On the network's own routes with messages striped across rails; left out where no source has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    striped_bytes: Option<u64>,
}

/// All links, those that carry nothing among them.
#[derive(Serialize)]
struct LinksDocument<'a> {
    topology: &'a str,
    network_fingerprint: String,
    planner: &'a str,
    links: Vec<LinkRow<'a>>,
}

/// Writes a line or an object for every link: JSON if the file's name ends in .json, else CSV.
pub fn write(target: &Target, net: &Network, report: &Report) -> Result<(), Failure> {
    let rows = rows(net, report);
    if target.path().extension().is_some_and(|extension| extension == "json") {
        let document = LinksDocument {
            topology: net.spec(),
            network_fingerprint: net.fingerprint().to_string(),
            planner: &report.planner,
            links: rows,
        };
        let text = json(Schema::PlanLinks, &document)?;
        return target.write(|out| out.write_all(text.as_bytes()));
    }
    target.write(|out| csv(out, &rows))
}

fn rows<'a>(net: &'a Network, report: &Report) -> Vec<LinkRow<'a>> {
    let row = |(i, link): (usize, &optiq_net::Link)| LinkRow {
        from: net.name(link.from),
        to: net.name(link.to),
        lanes: link.lanes,
        capacity_bytes_per_second: link.capacity,
        bytes: report.load.bytes[i],
        seconds: report.load.bytes[i] as f64 / link.capacity,
        paths: report.load.paths[i],
        direct_bytes: report.direct_load.bytes[i],
        direct_seconds: report.direct_load.bytes[i] as f64 / link.capacity,
        striped_bytes: report.striped_load.as_ref().map(|load| load.bytes[i]),
    };
    net.links().iter().enumerate().map(row).collect()
}

fn csv(out: &mut dyn Write, rows: &[LinkRow<'_>]) -> io::Result<()> {
    let striped = rows.first().is_some_and(|row| row.striped_bytes.is_some());
    let more = if striped { ",striped_bytes" } else { "" };
    writeln!(out, "from,to,lanes,capacity_bytes_per_second,bytes,seconds,paths,direct_bytes,direct_seconds{more}")?;
    for row in rows {
        let LinkRow { lanes, capacity_bytes_per_second: capacity, bytes, seconds, paths, .. } = row;
        let (from, to) = (quoted(row.from), quoted(row.to));
        let direct = (row.direct_bytes, row.direct_seconds);
        write!(out, "{from},{to},{lanes},{capacity},{bytes},{seconds:e},{paths},{},{:e}", direct.0, direct.1)?;
        match row.striped_bytes {
            Some(bytes) => writeln!(out, ",{bytes}")?,
            None => writeln!(out)?,
        }
    }
    Ok(())
}
