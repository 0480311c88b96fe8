//! What a planner is given and what it gives back.
//!
//! Given a network with links `l` of capacity `c_l`, demands `j` of `b_j` bytes and paths `P_j` for each, choose bytes
//! `x_jp >= 0` on paths with `sum_p x_jp = b_j` such that the congestion `max_l (sum of x_jp over p through l) / c_l`
//! is small (thesis 5.4).
//!
//! With a *base load* of `a_l` bytes that are on the links already, those of more urgent classes (thesis 7.2.3), it is
//! `max_l (a_l + sum of x_jp over p through l) / c_l` that is to be small.

use crate::bound::Bound;
use crate::candidates::{CandidateSource, Candidates};
use crate::checks::{check_demands, name};
use crate::deadline::Deadline;
use crate::demands::Demand;
use crate::error::PlanError;
use crate::progress::Progress;
use optiq_net::{LinkId, LinkLoad, Network};

/// A planning problem whose parts fit together.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    net: &'a Network,
    demands: &'a [Demand],
    candidates: Option<&'a Candidates>,
    search: Option<&'a dyn CandidateSource>,
    deadline: Deadline,
    forwarders: Option<&'a [bool]>,
    base: Option<&'a LinkLoad>,
}

impl<'a> Problem<'a> {
    /// Checks that demands and candidates fit the network.
    ///
    /// # Errors
    /// [`PlanError::NoSuchHost`], [`PlanError::SelfDemand`], [`PlanError::Overflow`], [`PlanError::OtherNetwork`],
    /// and [`PlanError::Uncovered`] if the candidates are not those of these demands.
    pub fn new(net: &'a Network, demands: &'a [Demand], candidates: Option<&'a Candidates>) -> Result<Self, PlanError> {
        check_demands(net, demands)?;
        let deadline = Deadline::NEVER;
        let problem = Problem { net, demands, candidates: None, search: None, deadline, forwarders: None, base: None };
        if let Some(candidates) = candidates {
            problem.check_candidates(candidates)?;
        }
        Ok(Problem { candidates, ..problem })
    }

    /// That they are those of these demands, on this network.
    fn check_candidates(&self, candidates: &Candidates) -> Result<(), PlanError> {
        let (net, demands) = (self.net, self.demands);
        candidates.check_network(net)?;
        let uncovered = match candidates.fits(demands) {
            false => demands.first().map(|_| 0),
            true => (0..demands.len()).find(|&d| candidates.count(d) == 0),
        };
        match uncovered {
            None => Ok(()),
            Some(demand) => {
                let d = &demands[demand];
                Err(PlanError::Uncovered { demand, from: name(net, d.src), to: name(net, d.dst) })
            }
        }
    }

    /// The same problem for a planner whose candidates are searched when it asks for them.
    pub(crate) fn with_search(self, search: &'a dyn CandidateSource) -> Self {
        Problem { search: Some(search), ..self }
    }

    /// The same problem for a planner that should end in time.
    pub(crate) fn with_deadline(self, deadline: Deadline) -> Self {
        Problem { deadline, ..self }
    }

    /// When a planner that iterates should end.
    pub(crate) fn deadline(&self) -> Deadline {
        self.deadline
    }

    /// The same problem beside the bytes and paths of others that are on the links already.
    ///
    /// # Errors
    /// [`PlanError::Base`] if `base` has not one entry for each link, [`PlanError::BaseOverflow`] if a link's bytes and
    /// those of all demands do not fit 64 bits together.
    pub fn with_base(self, base: &'a LinkLoad) -> Result<Self, PlanError> {
        let links = self.net.links();
        for found in [base.bytes.len(), base.paths.len()] {
            if found != links.len() {
                return Err(PlanError::Base { found, expected: links.len() });
            }
        }
        // As paths have no loops, no link gets more than all demands together.
        let total: u64 = self.demands.iter().map(|d| d.bytes).sum();
        if let Some(l) = base.bytes.iter().position(|b| b.checked_add(total).is_none()) {
            let (from, to) = (name(self.net, links[l].from), name(self.net, links[l].to));
            return Err(PlanError::BaseOverflow { from, to });
        }
        Ok(Problem { base: Some(base), ..self })
    }

    /// Per link, the bytes that are on it already; `None` if there are none.
    pub fn base(&self) -> Option<&'a [u64]> {
        self.base.map(|base| base.bytes.as_slice())
    }

    /// Per link, how many paths are on it already; `None` if there are none.
    pub fn base_paths(&self) -> Option<&'a [u64]> {
        self.base.map(|base| base.paths.as_slice())
    }

    /// The bytes to begin with on every link: [`Problem::base`], or 0 everywhere.
    pub(crate) fn base_or_zero(&self) -> Vec<u64> {
        self.base().map_or_else(|| vec![0; self.net.links().len()], <[u64]>::to_vec)
    }

    /// The same problem for a planner that finds further paths: they are forwarded only at hosts for which `forwarders`
    /// says so; at all if it is `None`. Hosts beyond the end of the slice do not forward.
    pub fn with_forwarders(self, forwarders: Option<&'a [bool]>) -> Self {
        Problem { forwarders, ..self }
    }

    /// Per host, whether it can forward; `None` if all can.
    pub fn forwarders(&self) -> Option<&'a [bool]> {
        self.forwarders
    }

    /// The network.
    pub fn net(&self) -> &'a Network {
        self.net
    }

    /// The demands.
    pub fn demands(&self) -> &'a [Demand] {
        self.demands
    }

    /// The candidate paths, at least one for every demand.
    ///
    /// # Errors
    /// [`PlanError::NoCandidates`] if the problem has none; `planner` is who asks. Where they are searched only now, as
    /// [`Candidates::generate`].
    pub fn candidates(&self, planner: &'static str) -> Result<&'a Candidates, PlanError> {
        match (self.candidates, self.search) {
            (Some(candidates), _) => Ok(candidates),
            (None, Some(search)) => {
                let found = search.get()?;
                self.check_candidates(found)?;
                Ok(found)
            }
            (None, None) => Err(PlanError::NoCandidates(planner)),
        }
    }

    /// `capacity / unit capacity` of every link: a load of bytes divided by it is bytes per unit link. At least 1
    /// where there is no background load.
    pub fn relative_capacities(&self) -> Vec<f64> {
        let unit = self.net.unit_capacity();
        self.net.links().iter().map(|l| l.capacity / unit).collect()
    }
}

/// Bytes on one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The links from source to destination.
    pub links: Vec<LinkId>,
    /// The bytes that take them, above zero.
    pub bytes: u64,
}

/// What a planner decides: for every demand its shares, which sum to the demand's bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assignment {
    /// Per demand, in the order of the demands. No shares for a demand of 0 bytes.
    pub shares: Vec<Vec<Share>>,
    /// The best that the planner has proved of every routing, cuts ([`crate::bound::lower_bound`]) included, if it has
    /// looked.
    pub bound: Option<Bound>,
    /// What it has proved of everything that software can do, in seconds, where that is less than every routing because
    /// switches cannot be chosen.
    pub over_legs: Option<f64>,
    /// How the planner got there, if it is one that approaches the optimum.
    pub trace: Vec<Progress>,
}

impl Assignment {
    /// `bytes[j][i]` bytes of demand `j` on its `i`-th candidate path; paths without bytes are left out.
    pub fn from_bytes(candidates: &Candidates, bytes: &[Vec<u64>]) -> Self {
        let shares = |(d, bytes): (usize, &Vec<u64>)| {
            let used = candidates.paths(d).zip(bytes).filter(|&(_, &b)| b > 0);
            used.map(|(path, &bytes)| Share { links: path.to_vec(), bytes }).collect()
        };
        Assignment { shares: bytes.iter().enumerate().map(shares).collect(), ..Assignment::default() }
    }
}
