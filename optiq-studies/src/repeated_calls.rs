//! Who serves a job that makes the same exchange again and again, where it is known what MPI, direct messages and planned paths take:
//! the decisions of a session, call by call, by the code that sessions decide with ([`Forecast`], [`Trials`], [`decide`]).
//!
//! A call that is agreed upon takes an agreement longer, and its time is told with the next agreement, as in a session. Planning is
//! not counted: all calls wait for it once.

use optiq::Config;
use optiq_lower::decide::{BeforePlanning, Decision, decide, decide_before_planning, predicted_seconds};
use optiq_lower::forecast::{Agreed, CallClass, Forecast};
use optiq_lower::ports::PortLoads;
use optiq_lower::trials::{LinkBounds, Side, Trials};
use optiq_net::Network;
use optiq_sim::Model;
use optiq_sim::simulated_exchange::cost::cost_model;
use optiq_sim::simulated_exchange::method::Executor;
use optiq_solver::{Demand, Plan};
use optiq_transport::FlowControl;
use serde::{Deserialize, Serialize};

/// What serves a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Server {
    /// MPI, as it comes.
    Mpi,
    /// Messages on the fabric's own routes, in OPTIQ's order.
    Direct,
    /// Planned paths.
    Planned,
}

impl Server {
    /// As pages name it.
    pub fn name(self) -> &'static str {
        match self {
            Server::Mpi => "MPI",
            Server::Direct => "direct messages",
            Server::Planned => "planned paths",
        }
    }
}

/// What the exchange takes by each server, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seconds {
    /// By MPI.
    pub mpi: f64,
    /// By direct messages.
    pub direct: f64,
    /// By planned paths.
    pub planned: f64,
}

/// What a session finds out about an exchange before it is served.
pub struct Exchange {
    /// The most bytes that a host sends or receives suffice for a look at the demands.
    pub enough: bool,
    /// What is decided before planning, for new demands and for demands that come again.
    pub before: [BeforePlanning; 2],
    /// Planned paths are predicted to pay.
    pub pays: bool,
    /// What planned paths are predicted to take where they are not, in seconds with the agreement.
    pub predicted_seconds: f64,
    /// Who serves first where messages go directly.
    pub first_of_direct: Side,
    /// The link bounds of direct messages, as the planner has them.
    pub direct: LinkBounds,
    /// The link bounds of planned paths.
    pub planned: LinkBounds,
    /// What an agreement takes.
    pub agreement_seconds: f64,
    /// How many times faster planned paths must be.
    pub min_gain: f64,
}

impl Exchange {
    /// These demands on a simulated machine, whose cost model the session has, and the defaults of its options.
    pub fn new((net, model): (&Network, &Model), demands: &[Demand], planned: &Plan, direct: &Plan) -> Self {
        let cost = cost_model(model, net, Executor::of(model).carry);
        let config = Config::default();
        let options = config.decision_options();
        let before =
            |again: bool| decide_before_planning(demands, planned.direct_congestion_seconds, &options, &cost, again);
        let loads = PortLoads::new(demands);
        Self {
            enough: loads.busiest() >= cost.least_bytes(net.unit_capacity()),
            before: [false, true].map(before),
            pays: !matches!(decide(planned, net, &options, &cost), Decision::Mpi { .. }),
            predicted_seconds: predicted_seconds(planned, net, &options, &cost),
            first_of_direct: Side::first_of_direct(loads.kind(), FlowControl::default(), net.routing().is_adaptive()),
            direct: LinkBounds::of(direct, cost.agreement_seconds),
            planned: LinkBounds::of(planned, cost.agreement_seconds),
            agreement_seconds: cost.agreement_seconds,
            min_gain: config.min_gain,
        }
    }
}

/// A call, and how long it took with its agreement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call {
    /// Who served it.
    pub server: Server,
    /// From its beginning to its end.
    pub seconds: f64,
}

/// What a session keeps for the demands.
#[derive(Clone, Copy)]
enum Kept {
    Nothing,
    /// MPI serves, and a plan is made when the demands come again, or never.
    Unplanned {
        later: bool,
    },
    Direct {
        predicted_seconds: f64,
    },
    Planned {
        replaces_direct: bool,
    },
}

/// The session; see the top of the file.
struct Session<'a> {
    exchange: &'a Exchange,
    kept: Kept,
    forecast: Forecast,
    direct: Trials,
    planned: Trials,
}

/// What serves each of so many equal calls.
pub fn serve(exchange: &Exchange, seconds: Seconds, calls: usize) -> Vec<Call> {
    let mut session = Session {
        exchange,
        kept: Kept::Nothing,
        forecast: Forecast::default(),
        direct: Trials::beginning_with(exchange.first_of_direct),
        planned: Trials::default(),
    };
    let (mut served, mut skip) = (Vec::with_capacity(calls), 0);
    let (mut measured, mut passed) = (None, Vec::new());
    while served.len() < calls {
        if skip > 0 {
            skip -= 1;
            served.push(Call { server: Server::Mpi, seconds: seconds.mpi });
            passed.push(seconds.mpi);
            continue;
        }
        if let Some((planned, side, seconds)) = measured.take() {
            session.record(planned, side, seconds);
        }
        let per_call = passed.iter().sum::<f64>() / passed.len().max(1) as f64;
        let (server, left, side) = session.agree(per_call);
        skip = left;
        let took = match server {
            Server::Mpi => seconds.mpi,
            Server::Direct => seconds.direct,
            Server::Planned => seconds.planned,
        };
        measured = side.map(|side| (matches!(session.kept, Kept::Planned { .. }), side, took));
        passed = vec![took + exchange.agreement_seconds];
        served.push(Call { server, seconds: took + exchange.agreement_seconds });
    }
    served
}

impl Session<'_> {
    fn record(&mut self, planned: bool, side: Side, seconds: f64) {
        let agreement = if side == Side::Plain { 0.0 } else { self.exchange.agreement_seconds };
        let (trials, bounds) = match planned {
            true => (&mut self.planned, self.exchange.planned),
            false => (&mut self.direct, self.exchange.direct),
        };
        trials.record(side, (seconds + agreement) / bounds.direct);
    }

    /// What is kept after a look at the demands.
    fn look(&self) -> Kept {
        let Exchange { min_gain, before, pays, predicted_seconds, direct, .. } = self.exchange;
        let again = !matches!(self.kept, Kept::Nothing);
        match self.kept {
            Kept::Nothing | Kept::Unplanned { later: true } => match &before[usize::from(again)] {
                BeforePlanning::Fallback(_) => Kept::Unplanned { later: false },
                BeforePlanning::Later(_) => Kept::Unplanned { later: true },
                BeforePlanning::Plan if *pays => Kept::Planned { replaces_direct: false },
                BeforePlanning::Plan => Kept::Direct { predicted_seconds: *predicted_seconds },
            },
            Kept::Direct { predicted_seconds }
                if self.direct.loses_to(*min_gain, predicted_seconds / direct.direct) =>
            {
                Kept::Planned { replaces_direct: true }
            }
            Kept::Planned { replaces_direct: true } if self.planned.is_behind(*min_gain, &self.direct) => {
                Kept::Direct { predicted_seconds: f64::INFINITY }
            }
            kept => kept,
        }
    }

    /// An agreement: who serves this call, how many calls MPI serves before the next one, and what is measured.
    fn agree(&mut self, seconds_per_call: f64) -> (Server, u64, Option<Side>) {
        let &Exchange { min_gain, agreement_seconds, enough, direct, planned, .. } = self.exchange;
        if enough {
            let before = self.kept;
            self.kept = self.look();
            if matches!((before, self.kept), (Kept::Direct { .. }, Kept::Planned { .. })) {
                self.planned = Trials::default().with_mpi_of(&self.direct, 1.0);
            }
        }
        let (trials, bounds, server) = match self.kept {
            Kept::Planned { .. } => (Some(&mut self.planned), planned, Server::Planned),
            Kept::Direct { .. } => (Some(&mut self.direct), direct, Server::Direct),
            Kept::Nothing | Kept::Unplanned { .. } => (None, direct, Server::Mpi),
        };
        let settled = trials.as_ref().is_none_or(|trials| trials.is_settled_on_plain(min_gain, bounds));
        let class = if settled { CallClass::Fallback } else { CallClass::Planned };
        let later = matches!(self.kept, Kept::Unplanned { later: true });
        let agreed =
            Agreed { class, misprediction: false, later, seconds_per_call, vain_seconds: 0.0, agreement_seconds };
        let skip = self.forecast.learn(agreed);
        match trials.map(|trials| trials.next(min_gain, bounds)) {
            Some(side @ Side::Planned(_)) => (server, skip, Some(side)),
            side => (Server::Mpi, skip, side),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// Large demands whose link bound is 1 s directly and a half on planned paths; an agreement takes 0.1 s.
    fn exchange(pays: bool, predicted_seconds: f64) -> Exchange {
        Exchange {
            enough: true,
            before: [BeforePlanning::Plan, BeforePlanning::Plan],
            pays,
            predicted_seconds,
            first_of_direct: Side::PLANNED,
            direct: LinkBounds { agreement: 0.1, ..LinkBounds::default() },
            planned: LinkBounds { planned: 0.5, direct: 1.0, agreement: 0.1 },
            agreement_seconds: 0.1,
            min_gain: 1.05,
        }
    }

    fn servers(exchange: &Exchange, seconds: Seconds, calls: usize) -> Vec<Server> {
        serve(exchange, seconds, calls).iter().map(|call| call.server).collect()
    }

    /// What is too small takes an agreement at the calls of the forecast, 0, 1, 2, 4, 8 and 16 of 20, and MPI serves all.
    #[test]
    fn small_exchanges_agree_ever_more_rarely() {
        let small = Exchange { enough: false, ..exchange(true, f64::INFINITY) };
        let calls = serve(&small, Seconds { mpi: 0.05, direct: 0.05, planned: 0.05 }, 20);
        assert!(calls.iter().all(|call| call.server == Server::Mpi));
        let agreed: Vec<usize> = (0..20).filter(|&i| calls[i].seconds > 0.06).collect();
        assert_eq!(agreed, [0, 1, 2, 4, 8, 16]);
    }

    #[test]
    fn planned_paths_serve_where_they_pay() {
        let found = servers(&exchange(true, f64::INFINITY), Seconds { mpi: 2.0, direct: 2.0, planned: 0.5 }, 30);
        let others = found.iter().filter(|server| **server != Server::Planned).count();
        assert!(others <= 1 && found[0] == Server::Planned, "{found:?}");
    }

    /// Direct messages take 1.3 s with the agreement, twice; MPI has a trial, which takes 1.5 s. Planned paths were predicted to take 0.9 s.
    #[test]
    fn planned_paths_that_were_not_predicted_to_pay_serve_when_all_else_is_slower() {
        let found = servers(&exchange(false, 0.9), Seconds { mpi: 1.5, direct: 1.2, planned: 0.7 }, 40);
        assert_eq!(found[..2], [Server::Direct; 2]);
        let first = found.iter().position(|server| *server == Server::Planned).unwrap();
        let others = found[first..].iter().filter(|server| **server != Server::Planned).count();
        assert!(found[..first].contains(&Server::Mpi) && first < 8 && others <= 1, "{found:?}");
    }

    /// The same where the prediction is wrong: two uses, and never again.
    #[test]
    fn planned_paths_are_given_up_when_they_are_slower_still() {
        let found = servers(&exchange(false, 0.9), Seconds { mpi: 1.5, direct: 1.2, planned: 3.0 }, 60);
        assert_eq!(found.iter().filter(|server| **server == Server::Planned).count(), 2, "{found:?}");
        assert_eq!(found.last(), Some(&Server::Direct));
    }
}
