//! What rank 0 does to make a plan, and what it sends out: on its own thread while all wait, or on another one between calls (`load.rs`).

use super::plans::Cause;
use crate::config::{Config, PlannerChoice};
use crate::constants::{MOST_PLANNING_SECONDS, PLANNING_PART};
use crate::error::Error;
use optiq_lower::constants::LEAST_PLANNING_SECONDS;
use optiq_lower::decide::{BeforePlanning, Decision, beats, decide, decide_before_planning, predicted_seconds};
use optiq_lower::model::CostModel;
use optiq_net::Network;
use optiq_solver::pipeline::{self, PlanOptions};
use optiq_solver::plan;
use optiq_solver::planner::PlannerName;
use optiq_solver::planner::optimal::SLACK;
use optiq_solver::{Demand, Plan, carry_over};
use std::sync::Arc;
use std::time::Instant;

/// All that a plan depends on but the demands.
pub(super) struct Planning {
    pub(super) network: Arc<Network>,
    pub(super) model: CostModel,
    pub(super) config: Config,
    /// A host without a rank cannot forward.
    pub(super) forwarders: Vec<bool>,
    /// Plans that may be carried over to demands that are nearly the same, with their numbers; the latest one last.
    pub(super) bases: Vec<(u64, Arc<Plan>)>,
}

/// What rank 0 sends out, and the plan in it; none if plain MPI is to serve.
pub(super) struct Planned {
    pub(super) bytes: Vec<u8>,
    pub(super) plan: Option<Plan>,
}

impl Planning {
    /// Decides and plans.
    pub(super) fn run(&self, demands: &[Demand], cause: &Cause) -> Result<Planned, Error> {
        let start = Instant::now();
        let unplanned = |tag: u8, reason: &str| {
            let bytes = tagged(start, tag, reason.as_bytes());
            Ok(Planned { bytes, plan: None })
        };
        let Self { network, model, config, .. } = self;
        let direct = direct_seconds(network, demands);
        let options = config.decision_options();
        match decide_before_planning(demands, direct, &options, model, !matches!(cause, Cause::New)) {
            BeforePlanning::Fallback(reason) => {
                log::debug!("no plan: {reason}");
                return unplanned(PLAIN_MPI, &reason);
            }
            BeforePlanning::Later(reason) => {
                log::debug!("no plan yet: {reason}");
                return unplanned(LATER, &reason);
            }
            BeforePlanning::Plan => {}
        }
        let (base, plan) = match self.carried_over(demands) {
            Some(carried) => carried,
            None => (0, pipeline::run(network, demands, &self.plan_options(demands, direct))?.plan),
        };
        let pays = match cause {
            Cause::Slower { seconds, .. } => beats(&plan, network, &options, model, *seconds),
            _ => !matches!(decide(&plan, network, &options, model), Decision::Mpi { .. }),
        };
        let (tag, word, plan) = match pays {
            true => (PLANNED, base.to_le_bytes(), plan),
            // Other paths gain little, it seems; what is to be gained over MPI on the fabric's own routes is measured.
            false => {
                let predicted = predicted_seconds(&plan, network, &options, model);
                (TRIED, predicted.to_le_bytes(), direct_plan(network, demands)?)
            }
        };
        Ok(Planned { bytes: with_plan(start, tag, word, &plan)?, plan: Some(plan) })
    }

    /// The latest plan that is as good for these demands as one made for them ([`carry_over`]), and the number of the one that it comes from.
    fn carried_over(&self, demands: &[Demand]) -> Option<(u64, Plan)> {
        let carry =
            |(number, plan): &(u64, Arc<Plan>)| Some((*number, carry_over(&self.network, plan, demands, SLACK)?));
        let carried = self.bases.iter().rev().find_map(carry)?;
        log::debug!("plan {} is carried over: {} of its bound", carried.0, 1.0 + carried.1.gap());
        Some(carried)
    }

    /// `direct` is the demands' link bound on the fabric's own routes, in seconds.
    pub(super) fn plan_options(&self, demands: &[Demand], direct: f64) -> PlanOptions {
        let planner = match self.config.planner {
            PlannerChoice::Named(name) => name,
            PlannerChoice::Auto => PlannerName::Optimal,
        };
        let forwarders = Some(self.forwarders.clone());
        // Heuristic 2 splits in units of its chunk: fine enough for the largest demand, never absurdly small.
        let largest = demands.iter().map(|d| d.bytes).max().unwrap_or(0);
        let chunk = (largest / 32).clamp(1 << 10, 64 << 10);
        // While rank 0 plans, all wait. All take its plan, so that it may depend on its clock.
        let limit = (PLANNING_PART * direct).clamp(LEAST_PLANNING_SECONDS, MOST_PLANNING_SECONDS);
        log::debug!(
            "planner {planner}{}, at most {limit:.3} s: link bound {direct:.6} s on the fabric's own routes, {} demands",
            if self.config.planner == PlannerChoice::Auto { " (OPTIQ_PLANNER=auto)" } else { "" },
            demands.len()
        );
        let time_limit = Some(std::time::Duration::from_secs_f64(limit));
        PlanOptions {
            planner,
            k: Some(self.config.k),
            chunk,
            forwarders,
            time_limit,
            together: true,
            ..PlanOptions::default()
        }
    }
}

/// Demands on the fabric's own routes.
fn direct_plan(network: &Network, demands: &[Demand]) -> Result<Plan, Error> {
    let options = PlanOptions { planner: PlannerName::Direct, ..PlanOptions::default() };
    Ok(pipeline::run(network, demands, &options)?.plan)
}

/// The link bound of the demands on the fabric's own routes, in seconds.
pub(super) fn direct_seconds(network: &Network, demands: &[Demand]) -> f64 {
    plan::direct_load(network, demands).map_or(0.0, |load| plan::congestion(network, &load))
}

/// What rank 0 sends out where paths were given.
pub(super) fn with_given_paths(start: Instant, plan: &Plan) -> Result<Vec<u8>, Error> {
    with_plan(start, PLANNED, [0; 8], plan)
}

/// What rank 0 sends out where there is a plan.
fn with_plan(start: Instant, tag: u8, word: [u8; 8], plan: &Plan) -> Result<Vec<u8>, Error> {
    let plan = plan.to_bytes().map_err(|e| Error::BadPlan(e.to_string()))?;
    Ok(tagged(start, tag, &[&word, &plan[..]].concat()))
}

/// What rank 0 sends out: the time it took, a tag, then the reason for plain MPI or the plan.
fn tagged(start: Instant, tag: u8, rest: &[u8]) -> Vec<u8> {
    [&start.elapsed().as_secs_f64().to_le_bytes()[..], &[tag], rest].concat()
}

const PLAIN_MPI: u8 = 0;
/// A plan; before it stands the number of the one that it was carried over from, or 0, eight bytes.
pub(super) const PLANNED: u8 = 1;
pub(super) const LATER: u8 = 2;
/// A plan of the fabric's own routes, which is tried after plain MPI; before it stands what other paths are predicted to take, in seconds,
/// eight bytes.
pub(super) const TRIED: u8 = 3;
