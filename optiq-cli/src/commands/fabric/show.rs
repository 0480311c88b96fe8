//! `optiq fabric show`.

use crate::arguments::specification;
use crate::fabric_pictures::{FabricPictures, PictureFiles};
use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::progress::Progress;
use clap::Args;
use optiq_net::Network;
use optiq_net::structure::{Arrangement, Structure};
use optiq_view::fabric::FabricLayout;
use optiq_view::table;
use serde::Serialize;
use std::process::ExitCode;
use std::time::Instant;

/// Say how a fabric is built, from its connections alone, and draw it
///
/// Levels are counted from hosts; a switch without hosts that stands where leaf switches do is one of them. Rails are
/// planes of switches that are joined only at hosts, groups those of a dragonfly. Nothing is taken from names.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq fabric show net.toml --report fabric.html
  optiq fabric show fattree:brown1296 --svg fabric.svg --png fabric.png
  optiq fabric show dragonfly+:3456 --json")]
pub struct Arguments {
    /// The network: a file, or a specification as in --topology [default: OPTIQ_TOPOLOGY]
    #[arg(value_name = "NETWORK")]
    network: Option<String>,
    #[command(flatten)]
    pictures: PictureFiles,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct ShowDocument {
    topology: String,
    network_fingerprint: String,
    /// `tree`, `groups` or `other`.
    arrangement: &'static str,
    hosts: usize,
    switches: usize,
    /// Directed physical links.
    links: usize,
    levels: u32,
    /// Switches on each level, the lowest first.
    level_switches: Vec<usize>,
    /// Switches from which no host is reached.
    unreached_switches: usize,
    unpopulated_leaves: usize,
    rails: u32,
    groups: u32,
    layout_seconds: f64,
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let pictures = FabricPictures::new(&self.pictures)?;
        let spec = specification(self.network.as_deref(), "NETWORK")?;
        let progress = Progress::start(format!("reading {spec}"));
        let net = Network::from_spec(&spec)?;
        net.warnings().iter().for_each(|warning| log::warn!("{warning}"));
        pictures.check(&net)?;
        progress.now("laying out the fabric");
        let start = Instant::now();
        let layout = FabricLayout::of(&net);
        let document = ShowDocument::new(&net, &layout.structure, start.elapsed().as_secs_f64());
        progress.now("drawing the fabric");
        pictures.write(&net, &layout, (net.title(), document.sentence()), &[], &[])?;
        drop(progress);
        match self.json {
            true => output::print_json(Schema::FabricShow, &document)?,
            false => output::print(&document.text(&layout.words))?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl ShowDocument {
    fn new(net: &Network, structure: &Structure, layout_seconds: f64) -> Self {
        let on = |level: u32| structure.levels.iter().filter(|l| **l == Some(level)).count();
        ShowDocument {
            topology: net.spec().into(),
            network_fingerprint: net.fingerprint().to_string(),
            arrangement: match structure.arrangement {
                Arrangement::Tree => "tree",
                Arrangement::Groups => "groups",
                Arrangement::Other => "other",
            },
            hosts: net.hosts(),
            switches: net.vertices() - net.hosts(),
            links: net.physical_links(),
            levels: structure.top,
            level_switches: (1..=structure.top).map(on).collect(),
            unreached_switches: structure.levels.iter().filter(|l| l.is_none()).count(),
            unpopulated_leaves: structure.unpopulated_leaves,
            rails: structure.rails,
            groups: structure.groups,
            layout_seconds,
        }
    }

    fn sentence(&self) -> String {
        let mut parts = vec![
            table::count(self.hosts, "host"),
            format!("{} {}", self.switches, if self.switches == 1 { "switch" } else { "switches" }),
            format!("{} links one way", self.links),
        ];
        parts.extend((self.rails > 1).then(|| format!("{} rails", self.rails)));
        parts.extend((self.groups > 0).then(|| format!("{} groups", self.groups)));
        parts.join(", ")
    }

    fn text(&self, words: &str) -> String {
        let mut rows = vec![
            ("network", self.topology.clone()),
            ("hosts", self.hosts.to_string()),
            ("links", format!("{} one way", self.links)),
            ("rails", self.rails.to_string()),
        ];
        for (level, count) in (1..).zip(&self.level_switches) {
            let empty = match self.unpopulated_leaves {
                empty if empty > 0 && level == 1 => format!(", {empty} of them without hosts"),
                _ => String::new(),
            };
            rows.push((if level == 1 { "switches" } else { "" }, format!("{count} on level {level}{empty}")));
        }
        if self.unreached_switches > 0 {
            rows.push(("switches without a way to hosts", self.unreached_switches.to_string()));
        }
        if self.groups > 0 {
            rows.push(("groups", self.groups.to_string()));
        }
        rows.push(("drawn as", words.to_owned()));
        let rows: Vec<Vec<String>> = rows.into_iter().map(|(k, v)| vec![k.to_owned(), v]).collect();
        table::list(&rows)
    }
}
