//! Plans at 1,024 nodes beside the thesis's Table VII, with figures that the claims O1 to O4 do not show.

use crate::claims::setting::{MESSAGE, with_planner};
use crate::failure::Failure;
use crate::findings::no_more;
use crate::markdown::TextTable;
use crate::published::{PATTERNS, Published};
use optiq_net::Network;
use optiq_solver::PlanError;
use optiq_solver::demands;
use optiq_solver::pipeline::{self, K, PlanOptions};
use optiq_solver::planner::PlannerName;
use serde::{Deserialize, Serialize};

/// In the order of the rows; which row of the table each stands for is said on the page.
const PLANNERS: [PlannerName; 5] = PlannerName::ALL;

/// One plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableViiRow {
    pattern: String,
    planner: String,
    published_megabytes: f64,
    megabytes: f64,
    no_more_than_published: bool,
    bound_megabytes: f64,
    paths: usize,
    paths_per_pair_max: usize,
    paths_per_link_max: u64,
    paths_per_link_mean: f64,
    candidates_seconds: f64,
    plan_seconds: f64,
}

/// What was planned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableViiContent {
    rows: Vec<TableViiRow>,
    /// Of MPI, by pattern.
    published_paths_per_link_mean: [f64; 3],
}

/// Plans for some seconds. Planners that are not in this build are left out.
///
/// # Errors
/// As the planners have them.
pub fn run() -> Result<TableViiContent, Failure> {
    let vii = Published::load()?.table_vii;
    let net = Network::from_spec(&format!("bgq:{}", vii.nodes))?;
    let mut rows = Vec::new();
    for (p, pattern) in PATTERNS.into_iter().enumerate() {
        let demands = demands::parse(&format!("pattern:{pattern}"), &net, MESSAGE)?;
        for planner in PLANNERS {
            let published_megabytes = match planner {
                PlannerName::Direct => vii.mpi.megabytes[p],
                PlannerName::Heuristic1 => vii.heu1.megabytes[p],
                PlannerName::Heuristic2 => vii.heu2.megabytes[p],
                _ => vii.opt.megabytes[p],
            };
            let options = PlanOptions { k: Some(K), ..with_planner(planner) };
            let planned = match pipeline::run(&net, &demands, &options) {
                Ok(planned) => planned,
                Err(PlanError::LeftOut { .. }) => continue,
                Err(e) => return Err(e.into()),
            };
            let (r, megabytes) = (&planned.report, planned.report.bytes_per_link_max / 1e6);
            rows.push(TableViiRow {
                pattern: pattern.into(),
                planner: planner.to_string(),
                published_megabytes,
                megabytes,
                no_more_than_published: no_more(megabytes, published_megabytes, 2),
                bound_megabytes: r.bound_seconds * net.unit_capacity() / 1e6,
                paths: r.paths,
                paths_per_pair_max: r.paths_per_demand_max,
                paths_per_link_max: r.paths_per_link_max,
                paths_per_link_mean: r.paths_per_link_mean,
                candidates_seconds: planned.timings.candidates_seconds,
                plan_seconds: planned.timings.plan_seconds,
            });
        }
    }
    Ok(TableViiContent { rows, published_paths_per_link_mean: vii.mpi.paths_per_link_mean })
}

impl TableViiContent {
    /// Of the page.
    pub const TITLE: &'static str = "Plans at 1,024 nodes, beside the thesis's Table VII";

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let mut table = TextTable::new(&[
            "pattern<",
            "planner<",
            "thesis, MB",
            "here, MB",
            "no more than the thesis<",
            "bound, MB",
            "paths",
            "per pair, most",
            "per link, most",
            "per link, mean",
            "candidates, s",
            "planning, s",
        ]);
        for r in &self.rows {
            table.rows.push(vec![
                r.pattern.clone(),
                r.planner.clone(),
                format!("{:.2}", r.published_megabytes),
                format!("{:.2}", r.megabytes),
                if r.no_more_than_published { "yes" } else { "no" }.into(),
                format!("{:.2}", r.bound_megabytes),
                r.paths.to_string(),
                r.paths_per_pair_max.to_string(),
                r.paths_per_link_max.to_string(),
                format!("{:.2}", r.paths_per_link_mean),
                format!("{:.3}", r.candidates_seconds),
                format!("{:.3}", r.plan_seconds),
            ]);
        }
        format!(
            "Each plan is that of `optiq plan --topology bgq:1024 --demands pattern:PATTERN --message 8MiB --k 50 --planner PLANNER`. MB \
             are 10^6 bytes on the most loaded physical link, rounded here, cut after two decimals in the thesis, and compared \
             after cutting. `direct`, the fabric's own routes, stands for the thesis's MPI row; `lp` and `optimal` for its \
             optimization. The bound holds for every routing. Paths per link are means over links that some path takes.\n\n{}\n\
             The thesis's means for the MPI row are {:.2}, {:.2} and {:.2}; the routing that was found reproduces the first \
             (decision 007). `overlap` and `subset` are this project's definitions, with destinations from P/32 and from 0.\n",
            table.markdown(),
            self.published_paths_per_link_mean[0],
            self.published_paths_per_link_mean[1],
            self.published_paths_per_link_mean[2],
        )
    }
}
