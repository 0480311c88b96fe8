//! `optiq traffic`: a profile on the links of a network.

mod document;
mod hosts;
mod pictures;

use crate::arguments::Topology;
use crate::csv::quoted;
use crate::fabric_pictures::FabricPictures;
use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::progress::Progress;
use crate::target::check_distinct;
use clap::{Args, ValueEnum};
use document::{Other, Shown, TrafficDocument};
use hosts::HostMap;
use optiq_lower::link_traffic::HostTraffics;
use optiq_lower::placement::{Placement, PlacementRule};
use optiq_net::{LinkLoad, Network, NodeId};
use optiq_solver::demands::Demand;
use optiq_solver::pipeline::{self, PlanOptions};
use optiq_trace::ids::Rank;
use optiq_trace::profile::job::{JobProfile, Moved};
use optiq_view::fabric::{FabricLayout, LinkSeries};
use optiq_view::table;
use std::path::PathBuf;
use std::process::ExitCode;

/// Put what a job sent on the links of a network: bytes at each link end, the busiest links, and who makes them
///
/// Bytes take the fabric's own routes. A rank is on the host of the network that has its processor's name, or that --hosts gives;
/// a name that is in neither is an error. If ranks are missing in the profile, the rest is shown, and the status is 1.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq traffic --topology net.toml --profile run1
  optiq traffic --topology fattree:k=8,names=node[001-128] --profile run1 --region solve --busiest 20
  optiq traffic --topology net.toml --profile run1 --hosts map.txt --csv > links.csv
  optiq traffic --topology net.toml --profile run1 --yaml > links.yaml
  optiq traffic --topology net.toml --profile run1 --what-if plan
  optiq traffic --topology net.toml --profile run1 --what-if plan --report links.html --svg links.svg
  optiq traffic --topology net.toml --profile run1 --what-if placement=rank:2 --json

A line of the file of --hosts has a processor name of the profile and a host of the network: node17.site.gov h17; # begins a comment.")]
pub struct Arguments {
    #[command(flatten)]
    topology: Topology,
    /// The directory with the ranks' files, as optiq profile writes them
    #[arg(long, value_name = "DIR")]
    profile: PathBuf,
    /// Only this region of the code and those inside it; \"\" is what is in no region
    #[arg(long, value_name = "REGION")]
    region: Option<String>,
    /// Which processor name is which host of the network, a pair to a line [default: hosts have the same names]
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// Add what was put and got by one-sided calls; to be given unless they travel as messages (osc pt2pt), which are counted already
    #[arg(long, value_name = "WHAT", default_value = "leave")]
    one_sided: OneSided,
    /// Show as well what the links would carry if OPTIQ planned the paths (plan), or with the ranks elsewhere: placement=RULE, a rule
    /// as in OPTIQ_PLACEMENT (names, rank:K, file:FILE)
    #[arg(long, value_name = "CHANGE", value_parser = what_if)]
    what_if: Option<WhatIf>,
    /// Write a page with the fabric and what its links carry to this file: to move about in, to search, to filter; - is standard output
    #[arg(long, value_name = "PAGE")]
    report: Option<PathBuf>,
    /// Write the same picture, still, to this file; - is standard output
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    /// How many of the busiest links to show
    #[arg(long, value_name = "N", default_value_t = 10)]
    busiest: usize,
    /// Print a line for every link as CSV
    #[arg(long, conflicts_with_all = ["json", "yaml"])]
    csv: bool,
    /// Print the document of --json as YAML
    #[arg(long, conflicts_with = "json")]
    yaml: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// What becomes of one-sided traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OneSided {
    Leave,
    Add,
}

/// What else could be.
#[derive(Clone, Debug)]
enum WhatIf {
    Plan,
    Placement { text: String, rule: PlacementRule },
}

fn what_if(text: &str) -> Result<WhatIf, String> {
    let expected = "plan or placement=RULE is expected, RULE being names, rank:K or file:FILE";
    if text == "plan" {
        return Ok(WhatIf::Plan);
    }
    let rule = text.strip_prefix("placement=").ok_or(expected)?;
    let rule = rule.parse().map_err(|_| expected.to_string())?;
    Ok(WhatIf::Placement { text: text.to_owned(), rule })
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        check_distinct(&[("--report", &self.report), ("--svg", &self.svg)])?;
        let pictures = FabricPictures::new(self.report.as_deref(), self.svg.as_deref())?;
        let progress = Progress::start("");
        // The smaller input first: what is wrong with it should not wait for a large network.
        let mut profile = JobProfile::load(&self.profile)?;
        if let Some(region) = &self.region {
            profile = profile.only(region)?;
        }
        let map = self.hosts.as_deref().map(HostMap::read).transpose()?.unwrap_or_default();
        let net = self.topology.load(&progress)?;
        pictures.check(&net)?;
        progress.now("walking the routes of all pairs");
        let hosts = map.place(&net, &profile)?;
        let (traffics, unplaced) = self.traffics(&profile, |rank| hosts[rank as usize]);
        let load = traffics.load(&net)?;
        let other = self.other(&net, &profile, &traffics, &progress)?;
        if pictures.is_wanted() {
            progress.now("drawing the fabric");
            let series = self.series(&net, &profile, &traffics, other.as_ref())?;
            let (title, subtitle) = self.heading(&profile, &net, &traffics);
            pictures.write(&net, &FabricLayout::of(&net), (&title, subtitle), &series, &profile.gaps())?;
        }
        drop(progress);
        if self.csv {
            output::print(&csv(&net, &load, other.as_ref()))?;
        } else {
            let shown = Shown {
                net: &net,
                profile: &profile,
                region: self.region.as_deref(),
                traffics: &traffics,
                load: &load,
                other: other.as_ref(),
                unplaced_bytes: unplaced,
                one_sided_added: self.one_sided == OneSided::Add,
            };
            let document = TrafficDocument::new(&shown, self.busiest)?;
            if self.json {
                output::print_json(Schema::Traffic, &document)?;
            } else if self.yaml {
                output::print_yaml(Schema::Traffic, &document)?;
            } else {
                output::print(&document.text())?;
            }
        }
        super::profile::complete(&profile)
    }

    /// Traffic between hosts, and the bytes of which an end is not known.
    fn traffics(&self, profile: &JobProfile, host: impl Fn(u32) -> Option<NodeId>) -> (HostTraffics, u64) {
        let names = profile.regions();
        let number: std::collections::BTreeMap<&str, u32> = names.iter().copied().zip(0..).collect();
        let (mut sent, mut unplaced) = (Vec::new(), 0u64);
        let ways: &[Moved] = match self.one_sided {
            OneSided::Leave => &[Moved::Sent],
            OneSided::Add => &[Moved::Sent, Moved::Put, Moved::Got],
        };
        for way in ways {
            profile.for_each(*way, |region, from, to, t| match (host(from), host(to)) {
                (Some(src), Some(dst)) => sent.push((number[region], src, dst, t.bytes)),
                _ => unplaced = unplaced.saturating_add(t.bytes),
            });
        }
        (HostTraffics::new(sent), unplaced)
    }

    /// What the pictures show: what is measured, and beside it what would be otherwise.
    fn series(
        &self,
        net: &Network,
        profile: &JobProfile,
        traffics: &HostTraffics,
        other: Option<&Other>,
    ) -> Result<Vec<LinkSeries>, Failure> {
        let names = profile.regions();
        let mut series = vec![pictures::series("measured", traffics, net, &names)?];
        if let Some(other) = other {
            series.push(match &other.traffics {
                Some(traffics) => pictures::series(&other.name, traffics, net, &names)?,
                None => {
                    LinkSeries { name: other.name.clone(), bytes: other.load.bytes.clone(), ..LinkSeries::default() }
                }
            });
        }
        Ok(series)
    }

    /// What stands above the pictures: the job, and a sentence.
    fn heading(&self, profile: &JobProfile, net: &Network, traffics: &HostTraffics) -> (String, String) {
        let of = self.region.as_ref().map_or_else(String::new, |region| format!(", region \"{region}\" alone"));
        let ranks = table::count(profile.ranks() as usize, "rank");
        let title = format!("Job {} of {ranks} on {}{of}", profile.files[0].job, net.title());
        (title, format!("{} between hosts", table::bytes(traffics.bytes() as f64)))
    }

    /// What the links would carry otherwise.
    fn other(
        &self,
        net: &Network,
        profile: &JobProfile,
        traffics: &HostTraffics,
        progress: &Progress,
    ) -> Result<Option<Other>, Failure> {
        let (name, load, traffics) = match &self.what_if {
            None => return Ok(None),
            Some(WhatIf::Plan) => {
                progress.now("planning");
                let demand = |(src, dst, bytes)| Demand { src, dst, bytes, class: 0 };
                let demands: Vec<Demand> = traffics.pairs().into_iter().map(demand).collect();
                ("plan".to_owned(), pipeline::run(net, &demands, &PlanOptions::default())?.report.load, None)
            }
            Some(WhatIf::Placement { text, rule }) => {
                let mut names = vec![String::new(); profile.ranks() as usize];
                profile.files.iter().for_each(|f| names[f.rank as usize].clone_from(&f.host));
                let placement = Placement::new(net, &names, rule).map_err(|why| {
                    Failure::Input(format!("--what-if {text}: {}", why.trim_start_matches("OPTIQ_PLACEMENT: ")))
                })?;
                let (traffics, _) = self.traffics(profile, |rank| Some(placement.host(Rank(rank))));
                (text.clone(), traffics.load(net)?, Some(traffics))
            }
        };
        Ok(Some(Other { name, load, traffics }))
    }
}

/// A line for every link: what is sent at its first end, which arrives at its second.
fn csv(net: &Network, load: &LinkLoad, other: Option<&Other>) -> String {
    let levels = optiq_net::structure::levels(net);
    let more = if other.is_some() { ",what_if_bytes" } else { "" };
    let mut text = format!("from,to,from_level,to_level,lanes,capacity_bytes_per_second,bytes,seconds{more}\n");
    for (i, link) in net.links().iter().enumerate() {
        let level =
            |node: NodeId| levels.as_ref().and_then(|l| l[node.index()]).map_or_else(String::new, |l| l.to_string());
        let (from, to) = (quoted(net.name(link.from)), quoted(net.name(link.to)));
        let bytes = load.bytes[i];
        let (seconds, lanes, capacity) = (bytes as f64 / link.capacity, link.lanes, link.capacity);
        let levels = format!("{},{}", level(link.from), level(link.to));
        text.push_str(&format!("{from},{to},{levels},{lanes},{capacity},{bytes},{seconds:e}"));
        if let Some(other) = other {
            text.push_str(&format!(",{}", other.load.bytes[i]));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes() {
        assert!(matches!(what_if("plan"), Ok(WhatIf::Plan)));
        assert!(matches!(
            what_if("placement=rank:2"),
            Ok(WhatIf::Placement { rule: PlacementRule::Ranks { per_host: 2 }, .. })
        ));
        for bad in ["", "plans", "placement", "placement=", "placement=rank:x"] {
            assert!(what_if(bad).unwrap_err().contains("plan or placement=RULE"), "{bad}");
        }
    }
}
