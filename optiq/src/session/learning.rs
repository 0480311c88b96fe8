//! What a session learns of MPI and OPTIQ by kinds of demands, and what it knows from earlier runs.

use super::plans::Entry;
use crate::config::Config;
use crate::error::Error;
use crate::{learned, logger};
use optiq_lower::learned::{Learned, Paths, Subject};
use optiq_lower::machine::one_line;
use optiq_lower::ports::DemandKind;
use optiq_lower::trials::{Side, Trials};
use optiq_net::Network;
use optiq_net::spec::is_auto;
use optiq_transport::mpi::Communicator;
use optiq_transport::{FlowControl, Rank};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

/// See the top of the file. All but `kept` and `file` is the same on all ranks.
#[derive(Default)]
pub(super) struct Learning {
    network: String,
    /// Whether routes are adaptive.
    routers_choose: bool,
    mpi_library: String,
    ranks: u32,
    /// From earlier runs, for this network, MPI library and number of ranks.
    known: Learned,
    /// Shared by all demand sets of a kind where messages go directly.
    direct: RefCell<BTreeMap<DemandKind, Rc<Cell<Trials>>>>,
    /// The flow control that was found to be the best when one was last compared with another.
    flow_control: Cell<FlowControl>,
    /// Whether the process keeps what is learned, for a report or the file.
    kept: bool,
    file: Option<String>,
}

impl Learning {
    /// What is known of this network, from `OPTIQ_LEARNED`; collective.
    ///
    /// # Errors
    /// What MPI reports. A file that cannot be used is said, and nothing is known.
    pub(super) fn new(comm: &Communicator, config: &Config, network: &Network) -> Result<Self, Error> {
        let (ranks, routers_choose) = (comm.size(), network.routing().is_adaptive());
        let network = match config.topology.as_deref() {
            Some(spec) if is_auto(spec) => format!("auto: {} hosts", network.hosts()),
            _ => network.spec().to_string(),
        };
        let mut learning = Self {
            network,
            routers_choose,
            mpi_library: one_line(&comm.library_version()?),
            ranks,
            kept: config.report || config.learned.is_some(),
            file: config.learned.clone(),
            ..Self::default()
        };
        let Some(file) = &config.learned else { return Ok(learning) };
        let mut text = Vec::new();
        if comm.rank() == Rank(0) {
            match Learned::read(Path::new(file)) {
                Ok(all) => text = learning.fitting(all).text().into_bytes(),
                Err(error) => logger::warn_once(&format!("OPTIQ_LEARNED: {error}; it is neither used nor replaced")),
            }
        }
        comm.broadcast(Rank(0), &mut text)?;
        // Rank 0 wrote it a moment ago; nothing, where it could not.
        learning.known = Learned::parse(&String::from_utf8_lossy(&text)).unwrap_or_default();
        Ok(learning)
    }

    fn fitting(&self, all: Learned) -> Learned {
        let fits = |s: &Subject| {
            s.network == self.network
                && s.ranks == self.ranks
                && s.mpi_library == self.mpi_library
                && s.paths == Paths::Direct
        };
        Learned(all.0.into_iter().filter(|(subject, _)| fits(subject)).collect())
    }

    /// The trials of demands of this kind that go directly. With `small_chunks` ([`FlowControl::SmallChunks`]) these are tried as
    /// well, and first where queues are long as far as known. What earlier runs measured of both sides needs no first trial.
    pub(super) fn direct(&self, kind: DemandKind, small_chunks: bool) -> Rc<Cell<Trials>> {
        let mut direct = self.direct.borrow_mut();
        let trials = direct.entry(kind).or_insert_with(|| {
            let first = Side::first_of_direct(kind, self.first_flow_control(small_chunks), self.routers_choose);
            let known = self.known.0.get(&self.subject(Paths::Direct, kind));
            let trials = known.map_or(Trials::beginning_with(first), |times| Trials::known(times, first));
            Rc::new(Cell::new(trials.with_flow_controls(flow_controls(kind, false))))
        });
        if small_chunks {
            trials.set(trials.get().with_flow_controls(flow_controls(kind, true)));
        }
        Rc::clone(trials)
    }

    /// The trials of a demand set of this kind whose plan was taken without them: its paths forward, or the user asked for a plan. `small_chunks` as in
    /// [`Learning::direct`].
    pub(super) fn planned(&self, kind: DemandKind, small_chunks: bool) -> Trials {
        let first = if matters(kind) { self.first_flow_control(small_chunks) } else { FlowControl::default() };
        Trials::beginning_with(Side::Planned(first)).with_flow_controls(flow_controls(kind, small_chunks))
    }

    fn first_flow_control(&self, small_chunks: bool) -> FlowControl {
        match self.flow_control.get() {
            FlowControl::LongQueues if small_chunks => FlowControl::SmallChunks,
            proven => proven,
        }
    }

    fn subject(&self, paths: Paths, kind: DemandKind) -> Subject {
        let Self { network, mpi_library, ranks, .. } = self;
        Subject { network: network.clone(), ranks: *ranks, mpi_library: mpi_library.clone(), paths, kind }
    }

    /// Keeps what the trials of a demand set say by now, for other demand sets, and for this process's report and file.
    pub(super) fn keep(&self, entry: &Entry) {
        match entry.trials.get().proven_flow_control() {
            // That is of sizes that differ, and says of queues that they are long.
            Some(FlowControl::SmallChunks) => self.flow_control.set(FlowControl::LongQueues),
            Some(flow_control) => self.flow_control.set(flow_control),
            None => {}
        }
        if let (true, Some((paths, kind))) = (self.kept, entry.kind) {
            learned::keep(self.subject(paths, kind), entry.trials.get().times(), self.file.as_deref());
        }
    }
}

/// The flow control that is tried for demands of this kind.
fn flow_controls(kind: DemandKind, small_chunks: bool) -> &'static [FlowControl] {
    match (matters(kind), small_chunks) {
        (true, true) => &FlowControl::ALL,
        (true, false) => &FlowControl::QUEUES,
        (false, _) => &[],
    }
}

/// Whether flow control makes a difference to demands of this kind.
fn matters(kind: DemandKind) -> bool {
    FlowControl::matters(kind.lower_ends()[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use optiq_lower::decide::Decision;
    use optiq_lower::trials::LinkBounds;

    const KIND: DemandKind = DemandKind { size: 9, fan_out: 3, fan_in: 3, imbalance: 0, is_even: false };
    const SMALL: DemandKind = DemandKind { size: 3, ..KIND };

    fn first(learning: &Learning, kind: DemandKind, small_chunks: bool) -> Side {
        learning.direct(kind, small_chunks).get().next(1.02, LinkBounds::default())
    }

    /// What is kept once these flow controls took this many times the link bound.
    fn kept(learning: &Learning, times: &[(FlowControl, f64)]) -> FlowControl {
        let trials = Rc::new(Cell::new(Trials::beginning_with(Side::PLANNED)));
        let entry = Entry { trials, ..Entry::new(Decision::Mpi { reason: String::new() }, None) };
        for &(flow_control, bounds) in times {
            // The first use of a side may have opened connections.
            (0..2).for_each(|_| entry.record(Side::Planned(flow_control), bounds));
        }
        learning.keep(&entry);
        learning.flow_control.get()
    }

    #[test]
    fn small_chunks_come_first_where_a_timetable_may_lose_to_them() {
        for (kind, small_chunks, expected) in [
            (KIND, false, Side::PLANNED),
            (KIND, true, Side::Planned(FlowControl::SmallChunks)),
            (SMALL, true, Side::Plain),
        ] {
            assert_eq!(first(&Learning::default(), kind, small_chunks), expected, "{kind} {small_chunks}");
        }
        let adaptive = Learning { routers_choose: true, ..Learning::default() };
        assert_eq!(first(&adaptive, KIND, true), Side::Plain);
        let short = Learning { flow_control: Cell::new(FlowControl::ShortQueues), ..Learning::default() };
        assert_eq!(first(&short, KIND, true), Side::Planned(FlowControl::ShortQueues), "what was measured of queues");
        // Where the user asked for a plan there is no first call of MPI's.
        for (kind, small_chunks, expected) in [
            (KIND, false, Side::PLANNED),
            (KIND, true, Side::Planned(FlowControl::SmallChunks)),
            (SMALL, true, Side::PLANNED),
        ] {
            let mut planned = Learning::default().planned(kind, small_chunks);
            assert_eq!(planned.next(1.02, LinkBounds::default()), expected, "{kind} {small_chunks}");
        }
        // Even demands of the same size have trials of their own.
        let learning = Learning::default();
        let trials = learning.direct(KIND, true);
        assert!(Rc::ptr_eq(&trials, &learning.direct(KIND, false)));
        assert!(!Rc::ptr_eq(&trials, &learning.direct(DemandKind { is_even: true, ..KIND }, false)));
    }

    #[test]
    fn small_chunks_are_not_carried_over_to_other_demands() {
        use FlowControl::{LongQueues, ShortQueues, SmallChunks};
        let learning = Learning { flow_control: Cell::new(ShortQueues), ..Learning::default() };
        assert_eq!(kept(&learning, &[(SmallChunks, 1.0)]), ShortQueues, "compared with nothing");
        assert_eq!(kept(&learning, &[(SmallChunks, 1.0), (LongQueues, 1.2)]), LongQueues, "queues must be long");
        assert_eq!(kept(&learning, &[(SmallChunks, 1.5), (ShortQueues, 1.1)]), ShortQueues);
    }
}
