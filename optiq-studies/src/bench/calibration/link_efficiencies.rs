//! The parts of the link bound that plain MPI and planned paths reach.
//!
//! Every case is measured as `optiq bench` does, plain MPI and OPTIQ in turn in one job: once with relays as planned, and once with
//! relays at every host. A share is the link bound over the seconds of a repetition.

use crate::bench::alltoallv::{Request, measure_with};
use crate::bench::cases::Case;
use crate::bench::comparison::{Comparison, Side};
use mpi::topology::SimpleCommunicator;
use optiq::Config;
use optiq_lower::choices::LegsChoice;

/// Link bound over seconds, of every repetition of every case.
#[derive(Debug, Default)]
pub struct LinkEfficiencySamples {
    pub planned: Vec<f64>,
    pub store_and_forward: Vec<f64>,
    pub mpi: Vec<f64>,
}

/// Measures all cases; collective. Only rank 0 returns what was measured, and tells `progress` what it does.
///
/// # Errors
/// One sentence, in which ranks may differ.
pub fn measure_link_efficiencies(
    world: &SimpleCommunicator,
    config: &Config,
    cases: &[Case],
    repetitions: usize,
    progress: &dyn Fn(String),
) -> Result<Option<LinkEfficiencySamples>, String> {
    let mut shares = LinkEfficiencySamples::default();
    let mut root = false;
    for (number, case) in cases.iter().enumerate() {
        for legs in [LegsChoice::Planned, LegsChoice::Hops] {
            let doing = format!("case {} of {}: {}, relays {legs}", number + 1, cases.len(), case.name());
            let config = Config { legs, ..config.clone() };
            let request = Request {
                cases: vec![case.clone()],
                planners: vec![optiq::PlannerChoice::Auto],
                repetitions,
                force: true,
                all_ranks: false,
            };
            let suite = measure_with(world, config, &request, &|_| progress(doing.clone()))?;
            for outcome in suite.iter().flat_map(|suite| &suite.cases) {
                root = true;
                shares.add(&outcome.comparison, legs)?;
            }
        }
    }
    Ok(root.then_some(shares))
}

impl LinkEfficiencySamples {
    fn add(&mut self, found: &Comparison, legs: LegsChoice) -> Result<(), String> {
        if found.repetitions_on_paths < found.optiq.seconds.len() {
            return Err(format!("{}: planned paths did not serve it: {}", found.demands, found.decision));
        }
        log::debug!(
            "{} of {} bytes, relays {legs}: MPI reaches {:.3} of its link bound, planned paths {:.3}",
            found.demands,
            found.message_bytes,
            found.mpi.share_of_bound,
            found.optiq.share_of_bound
        );
        let of = |side: &Side| side.seconds.iter().map(|s| side.link_bound_seconds / s).collect::<Vec<f64>>();
        let into = if legs == LegsChoice::Hops { &mut self.store_and_forward } else { &mut self.planned };
        into.extend(of(&found.optiq));
        self.mpi.extend(of(&found.mpi));
        Ok(())
    }
}
