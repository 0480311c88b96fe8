//! What limits an exchange beside other jobs: the load of the most loaded link, on the whole network and on what the others leave.
//!
//! ```text
//!     T(plan, network)  =  w max_l bytes(l) / c(l),      w = (1 + header / packet) / e
//! ```
//!
//! with `c` of the whole network, or of what the measured load of the others leaves of it ([`MeasuredLoad::left`]). `w` makes bytes of
//! payload to what they take of a link: their headers, and the part `e` of a link that packets can use. No routing at all is faster than
//! the bound that the planner proves on such a network (`optiq_solver::bound`). On what is left that holds as long as the others keep the rates that
//! they had without this job: who shares a link with jobs that wait for their own messages may get more of it than they left.

use super::measured_load::MeasuredLoad;
use super::remedies::Remedy;
use crate::error::SimError;
use crate::jobs::program_spec::ProgramKind;
use crate::jobs::programs::alltoallv::{host_demands, plan_between_hosts};
use crate::jobs::programs::setting::JobSetting;
use crate::model::Model;
use optiq_net::{LinkId, LinkLoad, Network};
use optiq_solver::plan;

/// On a network, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkTimes {
    /// The bound: no routing is faster.
    pub bound_seconds: f64,
    /// By the fabric's own routes, as MPI sends.
    pub fabric_seconds: f64,
    /// By OPTIQ's plan as if no other job were there.
    pub alone_seconds: f64,
    /// By OPTIQ's plan beside the others.
    pub beside_seconds: f64,
}

/// Of one exchange.
#[derive(Clone, Debug, PartialEq)]
pub struct ExchangeBounds {
    /// The job.
    pub job: usize,
    /// What the others load links with.
    pub load: MeasuredLoad,
    /// The links that the others load most, and the parts of them that they have, the largest first.
    pub busiest: Vec<(LinkId, f64)>,
    /// As if there were no other jobs.
    pub whole: LinkTimes,
    /// On what they leave.
    pub left: LinkTimes,
}

/// Links that are named.
const NAMED: usize = 8;

impl ExchangeBounds {
    /// Of the exchange of a job, with the load of the others and what that leaves of the network.
    ///
    /// # Errors
    /// What demands, planner and routes report.
    pub(super) fn of(
        remedy: &Remedy,
        job: usize,
        (network, model): (&Network, &Model),
        (load, left): (MeasuredLoad, &Network),
    ) -> Result<Self, SimError> {
        let Remedy { file, allocation, .. } = remedy;
        let hosts: Vec<u32> = allocation.jobs[job].of_processes().map(|host| host.0).collect();
        let setting = allocation.setting(file, job, (network, model), &hosts);
        let ProgramKind::AllToAllV { message, demands, .. } = &file.jobs[job].program.kind else {
            return Err(file.error(job, "it runs no alltoallv"));
        };
        let told = |e: SimError| file.error(job, &e.to_string());
        let demands = host_demands(demands, *message, &setting).map_err(told)?;
        let alone = plan_between_hosts(&demands, &setting).map_err(told)?;
        let setting = JobSetting { planning_network: Some(left), ..setting };
        let beside = plan_between_hosts(&demands, &setting).map_err(told)?;
        let fabric = network.route_load(demands.iter().map(|d| (d.src, d.dst, d.bytes)))?;
        let loads = [fabric, alone.plan.link_load(network)?, beside.plan.link_load(network)?];
        let link = &model.link;
        let wire = (1.0 + link.header_bytes as f64 / link.packet_bytes as f64) / link.efficiency;
        let times = |on: &Network, bound: f64| {
            let time = |load: &LinkLoad| wire * plan::congestion(on, load);
            LinkTimes {
                bound_seconds: wire * bound,
                fabric_seconds: time(&loads[0]),
                alone_seconds: time(&loads[1]),
                beside_seconds: time(&loads[2]),
            }
        };
        let whole = times(network, alone.plan.bound_seconds);
        let left = times(left, beside.plan.bound_seconds);
        let shares = load.shares(network, model).into_iter();
        let mut busiest: Vec<(LinkId, f64)> = (0..).map(LinkId).zip(shares).filter(|(_, share)| *share > 0.0).collect();
        // Stable, so that links alike stay in their order.
        busiest.sort_by(|a, b| b.1.total_cmp(&a.1));
        busiest.truncate(NAMED);
        Ok(Self { job, load, busiest, whole, left })
    }
}
