//! One exchange again and again, call by call, in phases: what each call took, and what served it.
//!
//! Between phases whoever started the measurement may change the network: rank 0 makes a file `ready-N` in a folder and waits for `go-N`, while
//! all others wait for it in a barrier. Calls count from a barrier until the last rank has returned; between them nothing is timed. Bytes of the first and
//! the last call of each phase are checked.

use crate::bench::exchange::{Exchange, counts};
use crate::bench::session;
use crate::bench::timing;
use mpi::datatype::{Partition, PartitionMut};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};
use optiq::{BusyLink, Config, Session};
use optiq_lower::decide::Decision;
use optiq_solver::demands;
use optiq_transport::Rank;
use serde::Serialize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Who serves the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// `MPI_Alltoallv`.
    Mpi,
    /// `optiq_alltoallv`.
    Optiq,
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct Request {
    /// As `optiq plan` takes them.
    pub demands: String,
    /// Bytes for each pair of a pattern.
    pub message_bytes: u64,
    /// Calls in each phase.
    pub calls: usize,
    /// How many phases.
    pub phases: usize,
    /// Who serves.
    pub by: By,
    /// By phase: a file of background load for a session of that phase alone; the configuration's where there is none.
    pub backgrounds: Vec<Option<String>>,
    /// Where to wait between phases.
    pub meet: Option<PathBuf>,
}

/// One call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Call {
    /// Until the last rank has returned.
    pub seconds: f64,
    /// Since the first call began.
    pub began_seconds: f64,
    /// `MPI`, `direct` or how many paths.
    pub served_by: String,
    /// Of what served it, on what was taken for left of the links.
    pub link_bound_seconds: f64,
}

/// A phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Phase {
    /// The file of background load; empty if there is none.
    pub background: String,
    /// In order.
    pub calls: Vec<Call>,
    /// Links that were taken for busy at its end.
    pub busy_links: Vec<BusyLink>,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallSeries {
    /// The network.
    pub topology: String,
    /// As asked for.
    pub demands: String,
    /// As asked for.
    pub message_bytes: u64,
    /// MPI ranks.
    pub ranks: usize,
    /// Who was asked to serve.
    pub by: By,
    /// On the fabric's own routes, without other load.
    pub link_bound_seconds: f64,
    /// All bytes that were looked at were right.
    pub verified: bool,
    /// In order.
    pub phases: Vec<Phase>,
}

/// How long to wait for whoever changes the network.
const MEETING_LIMIT: Duration = Duration::from_secs(120);
/// Between looks.
const MEETING_PAUSE: Duration = Duration::from_millis(5);

/// Runs the series; collective over the world. Only rank 0 returns what was measured.
///
/// # Errors
/// One sentence, in which ranks may differ: the job must be ended then.
pub fn measure(world: &SimpleCommunicator, request: &Request) -> Result<Option<CallSeries>, String> {
    let config = Config { strict: true, ..Config::read().usable().map_err(|error| error.to_string())? };
    if config.topology.is_none() {
        return Err("OPTIQ_TOPOLOGY is not set; a network is expected, as optiq lab run names it".into());
    }
    let mut session = session::open(world, config.clone())?;
    let known = session.network().cloned().zip(session.placement().cloned());
    let (network, placement) = known.ok_or("the network of OPTIQ_TOPOLOGY cannot be used here")?;
    let list = demands::parse(&request.demands, &network, request.message_bytes).map_err(|e| e.to_string())?;
    let me = Rank(world.rank() as u32);
    let mut exchange = Exchange::in_job(world, counts(&list, &placement, me, false)?);
    let load = network.route_load(list.iter().map(|d| (d.src, d.dst, d.bytes))).map_err(|e| e.to_string())?;
    let direct = load.statistics(&network).congestion_seconds;
    let began = Instant::now();
    let mut phases = Vec::new();
    for phase in 0..request.phases {
        meet(world, request, phase)?;
        let background = request.backgrounds.get(phase).cloned().flatten();
        if !request.backgrounds.is_empty() {
            session = session::open(world, Config { background: background.clone(), ..config.clone() })?;
        }
        let mut calls = Vec::new();
        for call in 0..request.calls {
            let checked = call == 0 || call + 1 == request.calls;
            if checked {
                exchange.clear();
            }
            let began_seconds = began.elapsed().as_secs_f64();
            let seconds = timing::seconds(world, || serve(world, request.by, &session, &mut exchange))?;
            if checked && !exchange.is_right() {
                return Err(format!("call {call} of phase {phase} delivered wrong bytes to rank {}", world.rank()));
            }
            let (served_by, bound) = served(request.by, &session.decision(), direct);
            calls.push(Call { seconds, began_seconds, served_by, link_bound_seconds: bound });
        }
        let background = background.unwrap_or_default();
        phases.push(Phase { background, calls, busy_links: session.busy_links() });
    }
    let series = CallSeries {
        topology: network.spec().to_string(),
        demands: request.demands.clone(),
        message_bytes: request.message_bytes,
        ranks: placement.len(),
        by: request.by,
        link_bound_seconds: direct,
        verified: true,
        phases,
    };
    Ok((world.rank() == 0).then_some(series))
}

fn serve(world: &SimpleCommunicator, by: By, session: &Session, x: &mut Exchange) -> Result<(), String> {
    let (from, to) = (&x.send_counts, &x.receive_counts);
    if by == By::Optiq {
        let done =
            session.alltoallv(&x.send, from, &x.send_displacements, &mut x.receive, to, &x.receive_displacements);
        return done.map_err(|e| e.to_string());
    }
    // Counts were checked to be below 2^31.
    let narrow = |list: &[usize]| list.iter().map(|&i| i as i32).collect::<Vec<_>>();
    let from = Partition::new(&x.send[..], narrow(from), narrow(&x.send_displacements));
    let mut into = PartitionMut::new(&mut x.receive[..], narrow(to), narrow(&x.receive_displacements));
    world.all_to_all_varcount_into(&from, &mut into);
    Ok(())
}

/// What served a call, and its link bound.
fn served(by: By, decision: &Decision, direct: f64) -> (String, f64) {
    match decision {
        _ if by == By::Mpi => ("MPI".into(), direct),
        Decision::Multipath { paths, congestion_seconds, .. } => {
            (optiq_view::table::count(*paths, "path"), *congestion_seconds)
        }
        Decision::Direct { .. } => ("direct".into(), direct),
        _ => ("MPI".into(), direct),
    }
}

/// Waits until the network is what it is to be in this phase; collective.
fn meet(world: &SimpleCommunicator, request: &Request, phase: usize) -> Result<(), String> {
    if let Some(folder) = request.meet.as_ref().filter(|_| world.rank() == 0) {
        let ready = folder.join(format!("ready-{phase}"));
        std::fs::write(&ready, "").map_err(|e| format!("{} cannot be written: {e}", ready.display()))?;
        let go = folder.join(format!("go-{phase}"));
        let began = Instant::now();
        while !go.exists() {
            if began.elapsed() > MEETING_LIMIT {
                return Err(format!("{} did not come within {} s", go.display(), MEETING_LIMIT.as_secs()));
            }
            std::thread::sleep(MEETING_PAUSE);
        }
    }
    world.barrier();
    Ok(())
}

impl CallSeries {
    /// For people: a line for each phase.
    pub fn text(&self) -> String {
        let bound = optiq_view::table::seconds(self.link_bound_seconds);
        let mut text = format!(
            "{} on {}, {} ranks; link bound of the fabric's own routes {bound}\n",
            self.demands, self.topology, self.ranks
        );
        for (number, phase) in self.phases.iter().enumerate() {
            let times: Vec<String> = phase.calls.iter().map(|call| optiq_view::table::seconds(call.seconds)).collect();
            text.push_str(&format!("phase {number}: {}\n", times.join(", ")));
            for link in &phase.busy_links {
                text.push_str(&format!("  busy: {link}\n"));
            }
        }
        text
    }
}
