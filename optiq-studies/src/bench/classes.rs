//! An urgent exchange beside a bulk: what both take alone, and together by MPI, by OPTIQ without priority classes, and with them.
//!
//! The bulk is started first, the urgent exchange a while later, when chunks of the bulk are on their way; every rank advances both until both
//! are done. Each counts from its own start to its end at the last rank. The arrangements take turns, a repetition of each after the other, in
//! another order every time. Planning is not timed, and planned paths serve whatever OPTIQ would choose, as what MPI serves has no class. Every
//! byte is checked after every repetition.

use crate::bench::exchange::{Exchange, counts};
use crate::bench::session;
use crate::quartiles::MedianAndQuartiles;
use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};
use optiq::{Config, Persistent, Session};
use optiq_lower::choices::Algorithm;
use optiq_lower::decide::Decision;
use optiq_solver::demands;
use optiq_transport::{Backoff, Rank};
use optiq_view::table;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// What to measure.
#[derive(Clone, Debug)]
pub struct Request {
    /// The bulk, as `optiq plan` takes demands, and bytes for each pair of a pattern.
    pub bulk: (String, u64),
    /// The urgent exchange.
    pub urgent: (String, u64),
    /// Its class.
    pub class: u8,
    /// How long after the bulk it is started.
    pub after: Duration,
    /// Timed repetitions of each arrangement, after one that is not timed.
    pub repetitions: usize,
}

/// Who moves, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrangement {
    /// The bulk by OPTIQ.
    BulkAlone,
    /// The urgent exchange by OPTIQ.
    UrgentAlone,
    /// Both by `MPI_Ialltoallv`.
    Mpi,
    /// Both by OPTIQ, of one class.
    WithoutClasses,
    /// Both by OPTIQ, the urgent one of a class of its own.
    WithClasses,
}

impl Arrangement {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 5] = [Self::BulkAlone, Self::UrgentAlone, Self::Mpi, Self::WithoutClasses, Self::WithClasses];

    fn has_bulk(self) -> bool {
        self != Self::UrgentAlone
    }

    fn has_urgent(self) -> bool {
        self != Self::BulkAlone
    }

    fn name(self) -> &'static str {
        match self {
            Self::BulkAlone => "bulk alone",
            Self::UrgentAlone => "urgent alone",
            Self::Mpi => "both, MPI_Ialltoallv",
            Self::WithoutClasses => "both, without classes",
            Self::WithClasses => "both, with classes",
        }
    }
}

/// What an arrangement took; nothing for an exchange that it does not have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrangementTimes {
    /// Which one.
    pub arrangement: Arrangement,
    /// The bulk, from its start to its end at the last rank.
    pub bulk: Option<MedianAndQuartiles>,
    /// The urgent exchange, likewise.
    pub urgent: Option<MedianAndQuartiles>,
    /// Of each repetition, in seconds.
    pub bulk_seconds: Vec<f64>,
    /// Of each repetition, in seconds.
    pub urgent_seconds: Vec<f64>,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassTimes {
    /// The network.
    pub topology: String,
    /// MPI ranks.
    pub ranks: usize,
    /// As asked for.
    pub bulk_demands: String,
    /// As asked for.
    pub bulk_message_bytes: u64,
    /// As asked for.
    pub urgent_demands: String,
    /// As asked for.
    pub urgent_message_bytes: u64,
    /// As asked for.
    pub class: u8,
    /// As asked for.
    pub after_seconds: f64,
    /// As asked for.
    pub repetitions: usize,
    /// By OPTIQ: what serves the bulk.
    pub bulk_served_by: String,
    /// By OPTIQ: what serves the urgent exchange.
    pub urgent_served_by: String,
    /// All bytes were right.
    pub verified: bool,
    /// In the order of [`Arrangement::ALL`].
    pub arrangements: Vec<ArrangementTimes>,
}

/// The times of one repetition, in seconds, and what served it.
#[derive(Default)]
struct Repetition {
    bulk: Option<f64>,
    urgent: Option<f64>,
    served_by: [Option<String>; 2],
}

/// Measures; collective over the world. Only rank 0 returns what was measured.
///
/// # Errors
/// One sentence, in which ranks may differ: the job must be ended then.
pub fn measure(world: &SimpleCommunicator, request: &Request) -> Result<Option<ClassTimes>, String> {
    let config = Config { strict: true, ..Config::read().usable().map_err(|error| error.to_string())? };
    if config.topology.is_none() {
        return Err("OPTIQ_TOPOLOGY is not set; a network is expected, as optiq lab run names it".into());
    }
    let planned = session::open(world, Config { algorithm: Algorithm::Multipath, ..config.clone() })?;
    let plain = session::open(world, Config { algorithm: Algorithm::Mpi, ..config })?;
    let known = planned.network().zip(planned.placement());
    let (network, placement) = known.ok_or("the network of OPTIQ_TOPOLOGY cannot be used here")?;
    let list = |(demands, bytes): &(String, u64)| demands::parse(demands, network, *bytes).map_err(|e| e.to_string());
    let me = Rank(world.rank() as u32);
    let mut bulk = Exchange::in_job(world, counts(&list(&request.bulk)?, placement, me, false)?);
    let mut urgent = Exchange::in_job(world, counts(&list(&request.urgent)?, placement, me, false)?);
    let mut found: Vec<Vec<Repetition>> = Arrangement::ALL.iter().map(|_| Vec::new()).collect();
    for repetition in 0..=request.repetitions {
        for turn in 0..Arrangement::ALL.len() {
            let at = (turn + repetition) % Arrangement::ALL.len();
            let arrangement = Arrangement::ALL[at];
            let session = if arrangement == Arrangement::Mpi { &plain } else { &planned };
            let one = repeat(world, session, arrangement, request, [&mut bulk, &mut urgent])?;
            if arrangement.has_bulk() && !bulk.is_right() || arrangement.has_urgent() && !urgent.is_right() {
                return Err(format!("{}: wrong bytes at rank {}", arrangement.name(), world.rank()));
            }
            // The first opens connections and makes plans.
            if repetition > 0 {
                found[at].push(one);
            }
        }
    }
    let served = |at: usize| {
        let last = found[Arrangement::ALL.len() - 1].last();
        last.and_then(|one| one.served_by[at].clone()).unwrap_or_default()
    };
    let times = ClassTimes {
        topology: network.spec().to_string(),
        ranks: placement.len(),
        bulk_demands: request.bulk.0.clone(),
        bulk_message_bytes: request.bulk.1,
        urgent_demands: request.urgent.0.clone(),
        urgent_message_bytes: request.urgent.1,
        class: request.class,
        after_seconds: request.after.as_secs_f64(),
        repetitions: request.repetitions,
        bulk_served_by: served(0),
        urgent_served_by: served(1),
        verified: true,
        arrangements: Arrangement::ALL.into_iter().zip(&found).map(|(a, runs)| ArrangementTimes::of(a, runs)).collect(),
    };
    Ok((world.rank() == 0).then_some(times))
}

/// One repetition; collective. Buffers of exchanges that the arrangement does not have stay as they are.
fn repeat(
    world: &SimpleCommunicator,
    session: &Session,
    arrangement: Arrangement,
    request: &Request,
    [bulk, urgent]: [&mut Exchange; 2],
) -> Result<Repetition, String> {
    let class = if arrangement == Arrangement::WithClasses { request.class } else { 0 };
    let mut bulk = arrangement.has_bulk().then(|| planned(session, 0, bulk)).transpose()?;
    let mut urgent = arrangement.has_urgent().then(|| planned(session, class, urgent)).transpose()?;
    let served_by = [&bulk, &urgent].map(|exchange| exchange.as_ref().map(|e| served(e.decision())));
    let after = if arrangement.has_bulk() { request.after } else { Duration::ZERO };
    world.barrier();
    let began = Instant::now();
    // When the urgent exchange was started here, and when each was done.
    let (mut started, mut done) = (None, [None; 2]);
    let mut backoff = Backoff::default();
    if let Some(bulk) = &mut bulk {
        bulk.start().map_err(|e| e.to_string())?;
    }
    loop {
        let now = began.elapsed();
        if let Some(urgent) = urgent.as_mut().filter(|_| started.is_none() && now >= after) {
            urgent.start().map_err(|e| e.to_string())?;
            started = Some(now);
        }
        let both = [(bulk.as_mut(), true), (urgent.as_mut(), started.is_some())];
        let mut left = false;
        for ((exchange, is_started), end) in both.into_iter().zip(&mut done) {
            let Some(exchange) = exchange.filter(|_| end.is_none()) else { continue };
            if is_started && exchange.test().map_err(|e| e.to_string())? {
                *end = Some(began.elapsed());
            }
            left |= end.is_none();
        }
        if !left {
            break;
        }
        backoff.idle();
    }
    let seconds = |end: Option<Duration>, start: Option<Duration>| Some((end? - start?).as_secs_f64());
    let bulk = slowest(world, seconds(done[0], Some(Duration::ZERO)));
    let urgent = slowest(world, seconds(done[1], started));
    Ok(Repetition { bulk, urgent, served_by })
}

/// Clears the buffers and plans, or finds the plan that there is; collective.
fn planned<'a>(session: &'a Session, class: u8, x: &'a mut Exchange) -> Result<Persistent<'a, u8>, String> {
    x.clear();
    let Exchange { send, send_counts, send_displacements, receive, receive_counts, receive_displacements, .. } = x;
    let made = session.priority_class(class).alltoallv_init(
        send,
        send_counts,
        send_displacements,
        receive,
        receive_counts,
        receive_displacements,
    );
    made.map_err(|e| e.to_string())
}

/// The longest of all ranks; collective. All ranks have a time, or none has.
fn slowest(world: &SimpleCommunicator, mine: Option<f64>) -> Option<f64> {
    let mine = mine?;
    let mut longest = mine;
    world.all_reduce_into(&mine, &mut longest, SystemOperation::max());
    Some(longest)
}

fn served(decision: &Decision) -> String {
    match decision {
        Decision::Multipath { paths, .. } => table::count(*paths, "path"),
        Decision::Direct { .. } => "direct".into(),
        _ => "MPI".into(),
    }
}

impl ArrangementTimes {
    fn of(arrangement: Arrangement, runs: &[Repetition]) -> Self {
        let bulk_seconds: Vec<f64> = runs.iter().filter_map(|one| one.bulk).collect();
        let urgent_seconds: Vec<f64> = runs.iter().filter_map(|one| one.urgent).collect();
        let (bulk, urgent) = (MedianAndQuartiles::of(&bulk_seconds), MedianAndQuartiles::of(&urgent_seconds));
        Self { arrangement, bulk, urgent, bulk_seconds, urgent_seconds }
    }
}

impl ClassTimes {
    /// What an arrangement took.
    pub fn of(&self, arrangement: Arrangement) -> Option<&ArrangementTimes> {
        self.arrangements.iter().find(|times| times.arrangement == arrangement)
    }

    /// For people: a line for each arrangement.
    pub fn text(&self) -> String {
        let mut rows = vec![["", "bulk", "urgent"].map(str::to_owned).to_vec()];
        for times in &self.arrangements {
            let cell = |quartiles: &Option<MedianAndQuartiles>| quartiles.map_or_else(String::new, |q| q.text());
            rows.push(vec![times.arrangement.name().to_owned(), cell(&times.bulk), cell(&times.urgent)]);
        }
        format!(
            "{} of class {} beside {}, started {} later, on {}, {} ranks; medians and quartiles of {}\n{}bulk served by {}, urgent by {}\n",
            self.urgent_demands,
            self.class,
            self.bulk_demands,
            table::seconds(self.after_seconds),
            self.topology,
            self.ranks,
            table::count(self.repetitions, "repetition"),
            table::table(&rows),
            self.bulk_served_by,
            self.urgent_served_by,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrangement_has_times_of_the_exchanges_that_it_has() {
        let runs = [3.0, 1.0, 2.0].map(|urgent| Repetition { urgent: Some(urgent), ..Repetition::default() });
        let times = ArrangementTimes::of(Arrangement::UrgentAlone, &runs);
        assert_eq!((times.bulk, times.bulk_seconds.len(), times.urgent_seconds), (None, 0, vec![3.0, 1.0, 2.0]));
        let expected = MedianAndQuartiles { first_seconds: 1.5, median_seconds: 2.0, third_seconds: 2.5 };
        assert_eq!(times.urgent, Some(expected));
    }
}
