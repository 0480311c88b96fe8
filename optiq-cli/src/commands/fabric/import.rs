//! `optiq fabric import`.

use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::progress::Progress;
use crate::target::{Target, check_distinct};
use clap::Args;
use optiq_net::import::{HostRule, ImportOptions, ImportedFabric, Importer, Unresolved};
use optiq_net::units;
use optiq_view::table;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// The status of an import of which something could not be used.
const INCOMPLETE: u8 = 3;

/// The most sentences for people; JSON has all.
const MAX_SHOWN: usize = 20;

/// Make a network file of what a fabric's tools print, with its forwarding tables
///
/// Files are told apart by what is in them: ibnetdiscover, dump_lfts and dump_fts, OpenSM's opensm-subnet.lst,
/// opensm-lfts.dump and opensm.fdbs, net files of ibsim, Slurm's topology.conf and topology.yaml. Several are joined to
/// one fabric: one may have the cables and another the tables. With tables every route is theirs, and pairs of hosts
/// that do not arrive are named with the switch where they stop.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status: 0 if everything was used; 3 if what can be used was, and the rest is listed; 2 for what is no fabric.

Examples:
  optiq fabric import ibnetdiscover.txt opensm-lfts.dump --output net.toml
  optiq fabric import opensm-subnet.lst opensm.fdbs --others 'sm*,storage[1-4]' --json
  optiq fabric import /etc/slurm/topology.conf --capacity 100Gbit/s --output net.toml")]
pub struct Arguments {
    /// What the tools printed, in any order; - is standard input
    #[arg(value_name = "FILES", required = true)]
    files: Vec<PathBuf>,
    /// Write the network to this file; - is standard output
    #[arg(short, long, value_name = "FILE.toml")]
    output: Option<PathBuf>,
    /// Write the route of every pair of hosts, with ports, to this file; - is standard output
    #[arg(long, value_name = "FILE.csv")]
    routes: Option<PathBuf>,
    /// Only adapters with these names are hosts, such as 'node[001-144],gpu*'
    #[arg(long, value_name = "NAMES")]
    hosts: Option<String>,
    /// Adapters with these names are no hosts: management, storage
    #[arg(long, value_name = "NAMES")]
    others: Option<String>,
    /// Capacity of each link whose rate the files do not say [default: 1GB/s]
    #[arg(long, value_name = "RATE")]
    capacity: Option<String>,
    /// Which LID of a port packets carry where there are several (LMC), from 0
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..128))]
    lid_offset: u16,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct FabricDocument<'f> {
    files: Vec<String>,
    hosts: usize,
    switches: usize,
    /// Directed physical links.
    links: u64,
    /// Those of them that are one of several between the same two.
    parallel_links: u64,
    links_without_rate: u64,
    levels: u32,
    rails: usize,
    subnets: usize,
    other_adapters: usize,
    /// Switches with a table.
    tables: usize,
    pairs: u64,
    pairs_resolved: u64,
    pairs_unresolved: u64,
    /// On a physical link between switches; none without tables.
    routes_per_link_max: Option<u64>,
    routing_seconds: f64,
    unresolved: Vec<UnresolvedDocument<'f>>,
    warnings: &'f [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    routes: Option<String>,
}

#[derive(Serialize)]
struct UnresolvedDocument<'f> {
    to: &'f str,
    at: Option<&'f str>,
    why: &'f str,
    pairs: u64,
    from: &'f str,
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        check_distinct(&[("--output", &self.output), ("--routes", &self.routes)])?;
        let options = self.options()?;
        let target = self.output.as_deref().map(Target::new).transpose()?;
        let routes = self.routes.as_deref().map(Target::new).transpose()?;
        let progress = Progress::start("");
        let mut importer = Importer::new();
        for file in &self.files {
            progress.now(format!("reading {}", file.display()));
            importer.read_file(file)?;
        }
        progress.now("walking the tables");
        let fabric = importer.finish(&options)?;
        if let Some(target) = &target {
            progress.now("writing the network");
            let text = fabric.toml(&self.title())?;
            target.write(|out| out.write_all(text.as_bytes()))?;
        }
        if let Some(routes) = &routes {
            progress.now("writing the routes");
            routes.write(|out| fabric.write_routes(out))?;
        }
        drop(progress);
        let document = FabricDocument::new(&self, &fabric);
        if self.json {
            output::print_json(Schema::FabricImport, &document)?;
        } else {
            output::print(&document.text())?;
        }
        let whole = fabric.warnings.is_empty() && fabric.pairs_unresolved() == 0;
        Ok(if whole { ExitCode::SUCCESS } else { ExitCode::from(INCOMPLETE) })
    }

    fn options(&self) -> Result<ImportOptions, Failure> {
        let rule = |option: &str, text: &Option<String>| {
            let rule = text.as_deref().map(HostRule::parse).transpose();
            rule.map_err(|e| Failure::Input(format!("{option}: {e}")))
        };
        Ok(ImportOptions {
            hosts: rule("--hosts", &self.hosts)?,
            others: rule("--others", &self.others)?,
            capacity: self.capacity.as_deref().map(units::parse_rate).transpose()?,
            lid_offset: self.lid_offset,
        })
    }

    /// What the network is called: the names of the files.
    fn title(&self) -> String {
        let name = |file: &PathBuf| file.file_name().map(|name| name.to_string_lossy().into_owned());
        self.files.iter().filter_map(name).collect::<Vec<_>>().join(" ")
    }
}

impl<'f> FabricDocument<'f> {
    fn new(arguments: &Arguments, fabric: &'f ImportedFabric) -> Self {
        let shown = |path: &PathBuf| path.display().to_string();
        let unresolved = |u: &'f Unresolved| UnresolvedDocument {
            to: &u.to,
            at: u.at.as_deref(),
            why: &u.why,
            pairs: u.pairs,
            from: &u.from,
        };
        FabricDocument {
            files: arguments.files.iter().map(shown).collect(),
            hosts: fabric.hosts,
            switches: fabric.switches,
            links: fabric.links,
            parallel_links: fabric.parallel_links,
            links_without_rate: fabric.links_without_rate,
            levels: fabric.levels,
            rails: fabric.rails,
            subnets: fabric.subnets,
            other_adapters: fabric.other_adapters,
            tables: fabric.tables,
            pairs: fabric.pairs,
            pairs_resolved: fabric.pairs_resolved,
            pairs_unresolved: fabric.pairs_unresolved(),
            routes_per_link_max: fabric.routes_per_link_max,
            routing_seconds: fabric.routing_seconds,
            unresolved: fabric.unresolved.iter().map(unresolved).collect(),
            warnings: &fabric.warnings,
            output: arguments.output.as_ref().map(shown),
            routes: arguments.routes.as_ref().map(shown),
        }
    }

    fn text(&self) -> String {
        let mut rows = vec![
            ("hosts", self.hosts.to_string()),
            ("switches", format!("{} on {}", self.switches, table::count(self.levels as usize, "level"))),
            ("links", format!("{} one way, {} of them parallel to others", self.links, self.parallel_links)),
            ("rails", self.rails.to_string()),
            ("subnets", self.subnets.to_string()),
            ("adapters that are no hosts", self.other_adapters.to_string()),
            ("switches with a table", self.tables.to_string()),
            ("pairs of hosts", format!("{}, of which {} arrive", self.pairs, self.pairs_resolved)),
        ];
        if self.links_without_rate > 0 {
            rows.push(("links without a rate", format!("{}; see --capacity", self.links_without_rate)));
        }
        if let Some(most) = self.routes_per_link_max {
            rows.push(("routes on a link", format!("{most} at most, between switches")));
        }
        for (what, path) in [("network", &self.output), ("routes", &self.routes)] {
            if let Some(path) = path {
                rows.push((what, path.clone()));
            }
        }
        let rows: Vec<Vec<String>> = rows.into_iter().map(|(k, v)| vec![k.to_owned(), v]).collect();
        let mut text = table::list(&rows);
        for warning in self.warnings.iter().take(MAX_SHOWN) {
            text.push_str(&format!("{warning}\n"));
        }
        if self.warnings.len() > MAX_SHOWN {
            text.push_str(&format!("{} further sentences; --json has all\n", self.warnings.len() - MAX_SHOWN));
        }
        text
    }
}
