//! `optiq traffic`: a profile on the links of a network.

mod document;
mod hosts;
mod jobs;
mod pictures;

use crate::arguments::Topology;
use crate::csv::quoted;
use crate::fabric_pictures::{FabricPictures, PictureFiles};
use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::progress::Progress;
use clap::{Args, ValueEnum};
use document::{Other, Shown, TrafficDocument};
use hosts::HostMap;
use jobs::{Job, JobTraffics};
use optiq_lower::placement::{Placement, PlacementRule};
use optiq_net::{LinkLoad, Network, NodeId};
use optiq_solver::demands::Demand;
use optiq_solver::pipeline::{self, PlanOptions};
use optiq_trace::ids::Rank;
use optiq_trace::profile::job::Moved;
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
  optiq traffic --topology net.toml --profile run1 --profile run2 --report both.html
  optiq traffic --topology net.toml --profile run1 --hosts map.txt --csv > links.csv
  optiq traffic --topology net.toml --profile run1 --yaml > links.yaml
  optiq traffic --topology net.toml --profile run1 --what-if plan
  optiq traffic --topology net.toml --profile run1 --what-if plan --report links.html --svg links.svg --png links.png
  optiq traffic --topology net.toml --profile run1 --what-if placement=rank:2 --json

A line of the file of --hosts has a processor name of the profile and a host of the network: node17.site.gov h17; # begins a comment.")]
pub struct Arguments {
    #[command(flatten)]
    topology: Topology,
    /// The directory with the ranks' files, as optiq profile writes them; given several times for jobs that run beside each other
    #[arg(long, value_name = "DIR", required = true)]
    profile: Vec<PathBuf>,
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
    #[command(flatten)]
    pictures: PictureFiles,
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
        let pictures = FabricPictures::new(&self.pictures)?;
        let progress = Progress::start("");
        // The smaller input first: what is wrong with it should not wait for a large network.
        let mut jobs = jobs::load(&self.profile, self.region.as_deref())?;
        self.check_jobs(&jobs)?;
        let map = self.hosts.as_deref().map(HostMap::read).transpose()?.unwrap_or_default();
        let net = self.topology.load(&progress)?;
        pictures.check(&net)?;
        progress.now("walking the routes of all pairs");
        jobs::place(&mut jobs, &net, &map)?;
        let measured = JobTraffics::measured(&jobs, self.ways());
        let load = measured.traffics.load(&net)?;
        let other = self.other(&net, &jobs, &measured, &progress)?;
        let gaps: Vec<String> = jobs.iter().flat_map(|job| job.profile.gaps()).collect();
        if pictures.is_wanted() {
            progress.now("drawing the fabric");
            let series = self.series(&net, &jobs, &measured, other.as_ref())?;
            let (title, subtitle) = self.heading(&jobs, &net, &measured);
            pictures.write(&net, &FabricLayout::of(&net), (&title, subtitle), &series, &gaps)?;
        }
        drop(progress);
        if self.csv {
            output::print(&csv(&net, &load, other.as_ref()))?;
        } else {
            let shown = Shown {
                net: &net,
                jobs: &jobs,
                region: self.region.as_deref(),
                measured: &measured,
                load: &load,
                other: other.as_ref(),
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
        super::profile::complete(&gaps)
    }

    /// What can be said of one job only.
    fn check_jobs(&self, jobs: &[Job]) -> Result<(), Failure> {
        match (&self.what_if, jobs.len()) {
            (Some(WhatIf::Placement { text, .. }), 2..) => Err(Failure::Input(format!(
                "--what-if {text} is for one job, and --profile names {}; one directory is expected",
                jobs.len()
            ))),
            _ => Ok(()),
        }
    }

    /// The ways of moving bytes that count.
    fn ways(&self) -> &'static [Moved] {
        match self.one_sided {
            OneSided::Leave => &[Moved::Sent],
            OneSided::Add => &[Moved::Sent, Moved::Put, Moved::Got],
        }
    }

    /// What the pictures show: what is measured, and beside it what would be otherwise.
    fn series(
        &self,
        net: &Network,
        jobs: &[Job],
        measured: &JobTraffics,
        other: Option<&Other>,
    ) -> Result<Vec<LinkSeries>, Failure> {
        let names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
        let mut series = vec![pictures::series("measured", measured, net, &names)?];
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

    /// What stands above the pictures: the jobs, and a sentence.
    fn heading(&self, jobs: &[Job], net: &Network, measured: &JobTraffics) -> (String, String) {
        let of = self.region.as_ref().map_or_else(String::new, |region| format!(", region \"{region}\" alone"));
        let title = match jobs {
            [job] => {
                let ranks = table::count(job.profile.ranks() as usize, "rank");
                format!("Job {} of {ranks} on {}{of}", job.name, net.title())
            }
            jobs => format!("{} on {}{of}", table::count(jobs.len(), "job"), net.title()),
        };
        (title, format!("{} between hosts", table::bytes(measured.traffics.bytes() as f64)))
    }

    /// What the links would carry otherwise.
    fn other(
        &self,
        net: &Network,
        jobs: &[Job],
        measured: &JobTraffics,
        progress: &Progress,
    ) -> Result<Option<Other>, Failure> {
        let (name, load, traffics) = match (&self.what_if, jobs) {
            (Some(WhatIf::Plan), _) => {
                progress.now("planning");
                let demand = |(src, dst, bytes)| Demand { src, dst, bytes, class: 0 };
                let demands: Vec<Demand> = measured.traffics.pairs().into_iter().map(demand).collect();
                ("plan".to_owned(), pipeline::run(net, &demands, &PlanOptions::default())?.report.load, None)
            }
            (Some(WhatIf::Placement { text, rule }), [job]) => {
                let mut names = vec![String::new(); job.profile.ranks() as usize];
                job.profile.files.iter().for_each(|f| names[f.rank as usize].clone_from(&f.host));
                let placement = Placement::new(net, &names, rule).map_err(|why| {
                    Failure::Input(format!("--what-if {text}: {}", why.trim_start_matches("OPTIQ_PLACEMENT: ")))
                })?;
                let moved = JobTraffics::on(jobs, self.ways(), |_, rank| Some(placement.host(Rank(rank))));
                (text.clone(), moved.traffics.load(net)?, Some(moved))
            }
            _ => return Ok(None),
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
