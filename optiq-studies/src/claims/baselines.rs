//! The strongest MPI that a simulated machine can be given, beside which every gain stands: both algorithms, deterministic and minimal
//! adaptive routes, one, two and four virtual channels.
//!
//! What the thesis measured is MPI with all messages at once on Blue Gene/Q's deterministic routes, and the preset `bgq` has one
//! virtual channel: that is the *published set-up* ([`MpiSetup::PUBLISHED`]). A gain over it says what planned paths do on that
//! machine; a gain over the strongest of all says what is left of it where somebody sets the machine up for MPI.
//!
//! Runs of a set-up end when they have taken as long as the fastest one so far, as they cannot be the strongest then. The order tries
//! those first that are fast as a rule, so that others end early.

use super::exchange::simulate_within;
use crate::failure::Failure;
use crate::progress::Progress;
use optiq_net::{Network, Routing};
use optiq_sim::Model;
use optiq_sim::simulated_exchange::method::{MpiAlgorithm, TransferMethod};
use optiq_solver::Demand;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The most hosts among which the pairwise algorithm is tried. It takes a step for each host, also where nothing is sent, so that a
/// run has a message for each pair of hosts: 17 million on 4,096, which take longer than all others together and, where each host sends
/// to few others, nothing but waiting. Pages say where it was left out.
pub const MOST_PAIRWISE_HOSTS: usize = 1024;

/// Virtual channels of a link, for each class of packets.
pub const LANES: [u32; 3] = [4, 2, 1];

/// How MPI is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MpiSetup {
    /// Whether all messages are sent at once, or a partner is served in each step.
    pub pairwise: bool,
    /// Whether routers choose among all directions that lead closer.
    pub adaptive: bool,
    /// Virtual channels of a link.
    pub lanes: u32,
}

impl MpiSetup {
    /// What the thesis measured, on the preset.
    pub const PUBLISHED: MpiSetup = MpiSetup { pairwise: false, adaptive: false, lanes: 1 };

    /// All of them, those first that are fast as a rule.
    pub fn all() -> Vec<MpiSetup> {
        let mut all = Vec::new();
        for pairwise in [false, true] {
            for adaptive in [true, false] {
                all.extend(LANES.map(|lanes| MpiSetup { pairwise, adaptive, lanes }));
            }
        }
        all
    }

    /// Whether it is tried among that number of hosts.
    pub fn is_tried(self, hosts: usize) -> bool {
        !self.pairwise || hosts <= MOST_PAIRWISE_HOSTS
    }

    fn algorithm(self) -> MpiAlgorithm {
        if self.pairwise { MpiAlgorithm::Pairwise } else { MpiAlgorithm::Linear }
    }
}

/// As pages name it.
impl fmt::Display for MpiSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let algorithm = if self.pairwise { "pairwise" } else { "all at once" };
        let routes = if self.adaptive { "adaptive" } else { "deterministic" };
        let s = if self.lanes == 1 { "" } else { "s" };
        write!(f, "{algorithm}, {routes}, {} lane{s}", self.lanes)
    }
}

/// What MPI takes, as it was published, and at best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Strongest {
    /// The fastest set-up; of equal ones the first of [`MpiSetup::all`].
    pub setup: MpiSetup,
    /// Its time.
    pub seconds: f64,
}

/// A network and a model as a set-up has them.
///
/// # Errors
/// None but for a network without a grid where routes are adaptive.
pub fn machine(net: &Network, model: &Model, setup: MpiSetup) -> Result<(Network, Model), Failure> {
    let mut model = model.clone();
    model.router.lanes = setup.lanes;
    let net = net.clone();
    Ok((if setup.adaptive { net.with_routing(Routing::MinimalAdaptive)? } else { net }, model))
}

/// The strongest MPI for demands: `published_seconds` is what [`MpiSetup::PUBLISHED`] takes, which is not run again. `what` is for
/// people who wait.
///
/// # Errors
/// As the simulations have them.
pub fn strongest(
    net: &Network,
    model: &Model,
    demands: &[Demand],
    published_seconds: f64,
    (what, progress): (&str, &Progress),
) -> Result<Strongest, Failure> {
    let mut best = Strongest { setup: MpiSetup::PUBLISHED, seconds: published_seconds };
    for setup in MpiSetup::all() {
        if setup == MpiSetup::PUBLISHED && model.router.lanes == 1 || !setup.is_tried(net.hosts()) {
            continue;
        }
        progress.now(format!("{what}: MPI, {setup}"));
        let (net, model) = machine(net, model, setup)?;
        let method = TransferMethod::Mpi(setup.algorithm());
        let run = simulate_within(&net, &model, demands, method, (Some(best.seconds), progress))?;
        if run.finished() && run.seconds() < best.seconds {
            best = Strongest { setup, seconds: run.seconds() };
        }
    }
    Ok(best)
}

/// What pages say of it.
pub fn note(most_hosts: usize) -> String {
    let left_out = if most_hosts > MOST_PAIRWISE_HOSTS {
        format!(
            " Pairwise is left out above {MOST_PAIRWISE_HOSTS} nodes: it has a step for each node, also where nothing is sent."
        )
    } else {
        String::new()
    };
    format!(
        "MPI of the published set-up sends all messages at once on deterministic routes, with one virtual channel. The strongest MPI is the \
         fastest of 12 set-ups, for each exchange on its own: all at once or pairwise, deterministic or minimal adaptive routes, 1, 2 or 4 \
         virtual channels. The planned paths beside it have the published set-up's deterministic routes and one virtual channel.{left_out}"
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::claims::exchange::simulate;
    use optiq_solver::demands;

    #[test]
    fn there_are_twelve_and_the_published_one_is_among_them() {
        let all = MpiSetup::all();
        assert_eq!(all.len(), 12);
        assert!(all.contains(&MpiSetup::PUBLISHED));
        assert!(all.iter().enumerate().all(|(i, a)| all[..i].iter().all(|b| a != b)));
        assert_eq!(MpiSetup::PUBLISHED.to_string(), "all at once, deterministic, 1 lane");
        assert!(all.iter().all(|s| s.is_tried(1024)) && all.iter().filter(|s| s.is_tried(1025)).count() == 6);
    }

    /// Half a ring: deterministic routes use one way round, adaptive ones both, so that the strongest is an adaptive one and close to
    /// twice as fast; and it is the fastest of all that are run whole.
    #[test]
    fn the_strongest_is_the_fastest() {
        let net = Network::from_spec("torus:8").unwrap();
        let demands = demands::parse("pattern:disjoint,sources=1,destinations=1", &net, 1 << 20).unwrap();
        let demands = vec![Demand { src: demands[0].src, dst: optiq_net::NodeId(demands[0].src.0 + 4), ..demands[0] }];
        let model = Model::default();
        let say = |_: String| ();
        let progress = Progress::new(&say);
        let seconds = |setup: MpiSetup| {
            let (net, model) = machine(&net, &model, setup).unwrap();
            simulate(&net, &model, &demands, TransferMethod::Mpi(setup.algorithm()), &progress).unwrap().seconds()
        };
        let published = seconds(MpiSetup::PUBLISHED);
        let found = strongest(&net, &model, &demands, published, ("test", &progress)).unwrap();
        let fastest = MpiSetup::all().into_iter().map(seconds).fold(f64::INFINITY, f64::min);
        assert_eq!(found.seconds, fastest);
        assert!(found.setup.adaptive && published / found.seconds > 1.6, "{found:?}, published {published}");
    }
}
