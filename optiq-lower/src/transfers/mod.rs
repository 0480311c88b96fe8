//! Transfers: bytes from one rank to another, and the paths that they take (thesis Tables IV and V).
//!
//! ```text
//!   file ──► TransferList ──► checked against network and ranks ──► Assignment ──► Plan ──► as any other exchange
//! ```
//!
//! Paths are found beforehand, where it matters that a program spends no time on them: they are lists of the network's
//! vertices, each with its share of the job's bytes, or without shares, as candidates for a planner. Sizes may change
//! between executions; the shares keep their proportions: path `i` of `n`, with share `s_i` of `S = s_1 + .. + s_n`, gets the
//! bytes between `floor(B (s_1 + .. + s_{i-1}) / S)` and `floor(B (s_1 + .. + s_i) / S)` of the job's `B`, so that nothing is
//! lost to rounding.
//!
//! A pair of ranks has at most one job.

mod file;

use crate::error::LowerError;
use crate::lower::{Message, by_hosts, merge, pieces};
use crate::placement::Placement;
use optiq_net::fingerprint::Hasher;
use optiq_net::{Fingerprint, LinkId, Network, NodeId};
use optiq_solver::candidates::{self, PathBuffer};
use optiq_solver::pipeline::{self, PlanOptions};
use optiq_solver::{Assignment, CandidateMethod, Candidates, Demand, Plan, Problem, Share};
use optiq_transport::Rank;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;

/// A path of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferPath {
    /// The vertices of the network from the source's host to the destination's.
    pub vertices: Vec<NodeId>,
    /// Its share of the job's bytes; on all paths of a job or on none.
    pub bytes: Option<u64>,
}

/// So many bytes from one rank to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The rank that has the bytes.
    pub source: Rank,
    /// The rank that needs them.
    pub destination: Rank,
    /// How many.
    pub bytes: u64,
    /// The paths that they take; none: whatever a planner finds, or the fabric's own route beside jobs that have paths.
    pub paths: Vec<TransferPath>,
    /// Where it stands in its file; 0 if in none.
    line: usize,
}

/// A list of jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransferList {
    /// The specification of the network that the paths were found on.
    topology: Option<String>,
    /// Its fingerprint; there if any job has a path.
    network: Option<Fingerprint>,
    list: Vec<Transfer>,
    pairs: BTreeSet<(Rank, Rank)>,
    /// What messages call it: the file's name.
    name: String,
}

/// The most jobs, and the most vertices on all their paths together, that a list may hold.
const MAX_JOBS: usize = 1 << 22;
const MAX_VERTICES: usize = 1 << 28;

impl TransferList {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// The jobs, in their order.
    pub fn list(&self) -> &[Transfer] {
        &self.list
    }

    /// The specification of the network that the paths were found on, if the file told it.
    pub fn topology(&self) -> Option<&str> {
        self.topology.as_deref()
    }

    /// One more than the highest rank that is named.
    pub fn ranks(&self) -> Rank {
        self.list.iter().map(|j| j.source.max(j.destination).saturating_add(1)).max().unwrap_or(0)
    }

    /// Adds a job without paths; its index.
    ///
    /// # Errors
    /// [`LowerError::Argument`] if the pair has a job, or the list is full.
    pub fn add(&mut self, source: Rank, destination: Rank, bytes: u64) -> Result<usize, LowerError> {
        self.push(source, destination, bytes, 0).map_err(LowerError::Argument)
    }

    fn push(&mut self, source: Rank, destination: Rank, bytes: u64, line: usize) -> Result<usize, String> {
        if self.list.len() >= MAX_JOBS {
            return Err(format!("there are more than {MAX_JOBS} jobs"));
        }
        if source == Rank::MAX || destination == Rank::MAX {
            return Err(format!("the job from {source} to {destination} names a rank beyond 2^32 - 2"));
        }
        if !self.pairs.insert((source, destination)) {
            return Err(format!("the job from rank {source} to rank {destination} is given twice"));
        }
        self.list.push(Transfer { source, destination, bytes, paths: Vec::new(), line });
        Ok(self.list.len() - 1)
    }

    /// Sets the bytes of a job.
    ///
    /// # Errors
    /// [`LowerError::Argument`] if there is no such job.
    pub fn set_bytes(&mut self, job: usize, bytes: u64) -> Result<(), LowerError> {
        let jobs = self.list.len();
        let found = self.list.get_mut(job);
        found.ok_or_else(|| LowerError::Argument(format!("there is no job {job}; there are {jobs}")))?.bytes = bytes;
        Ok(())
    }

    /// A number for everything but the sizes: the pairs and their paths.
    pub fn shape(&self) -> u64 {
        let mut h = Hasher::new("optiq jobs 1");
        h.u64(self.list.len() as u64);
        for job in &self.list {
            h.u64(u64::from(job.source) << 32 | u64::from(job.destination));
            h.u64(job.paths.len() as u64);
            for path in &job.paths {
                h.u64(path.bytes.map_or(u64::MAX, |b| b));
                h.u64(path.vertices.len() as u64);
                path.vertices.iter().for_each(|v| h.u64(u64::from(v.0)));
            }
        }
        h.finish().0 as u64
    }

    /// Whether any job has a path.
    pub fn has_paths(&self) -> bool {
        self.list.iter().any(|j| !j.paths.is_empty())
    }

    /// Whether all ranks that are named are there.
    ///
    /// # Errors
    /// [`LowerError::Argument`], naming the file and line.
    pub fn check_ranks(&self, ranks: Rank) -> Result<(), LowerError> {
        let Some(job) = self.list.iter().find(|j| j.source >= ranks || j.destination >= ranks) else { return Ok(()) };
        let wrong = job.source.max(job.destination);
        Err(self.wrong(job, &format!("there is no rank {wrong}; there are {ranks} ranks")))
    }

    /// An error about a job.
    fn wrong(&self, job: &Transfer, problem: &str) -> LowerError {
        let place = if job.line > 0 { format!("{}:{}: ", self.name, job.line) } else { String::new() };
        LowerError::Argument(format!("{place}the job from rank {} to rank {}: {problem}", job.source, job.destination))
    }

    /// Finds at most `k` paths for every job, the shortest first (thesis 4.2.1), without shares; those that were there are
    /// replaced. Transfers within a host get none.
    ///
    /// # Errors
    /// [`LowerError::Argument`] for ranks that are not there, [`LowerError::Plan`] for pairs without a route or `k` out of range.
    pub fn find_paths(&mut self, net: &Network, placement: &Placement, k: usize) -> Result<(), LowerError> {
        self.check_ranks(placement.len() as Rank)?;
        let demands = self.demands(placement, |_| 1);
        let found = Candidates::generate(net, &demands, k, CandidateMethod::Yen)?;
        let mut buffer = PathBuffer::new();
        let index: BTreeMap<_, usize> = demands.iter().enumerate().map(|(i, d)| ((d.src, d.dst), i)).collect();
        for job in &mut self.list {
            job.paths.clear();
            let Some(&d) = index.get(&(placement.host(job.source), placement.host(job.destination))) else { continue };
            buffer.clear();
            found.expand(d, &mut buffer);
            job.paths =
                buffer.iter().map(|links| TransferPath { vertices: vertices(net, links), bytes: None }).collect();
        }
        self.belongs_to(net);
        Ok(())
    }

    /// Lets a planner choose paths and shares for the jobs' bytes: from the paths that jobs have, or from its own
    /// candidates if none has any. Transfers of 0 bytes lose their paths. Returns the plan.
    ///
    /// # Errors
    /// As [`TransferList::plan`], and [`LowerError::Argument`] for ranks that are not there.
    pub fn search(&mut self, net: &Network, placement: &Placement, options: &PlanOptions) -> Result<Plan, LowerError> {
        self.check_ranks(placement.len() as Rank)?;
        let messages = self.messages(&self.bytes());
        let plan = self.plan_with(net, placement, &messages, options, self.has_paths())?;
        self.take(net, placement, &messages, &plan)?;
        Ok(plan)
    }

    /// Takes over the paths of a plan that was made for these messages.
    fn take(
        &mut self,
        net: &Network,
        placement: &Placement,
        messages: &[Message],
        plan: &Plan,
    ) -> Result<(), LowerError> {
        let by_hosts = by_hosts(messages, placement);
        let mut paths: BTreeMap<(Rank, Rank), Vec<TransferPath>> = BTreeMap::new();
        for (demand, flows) in plan.demands.iter().zip(&plan.flows) {
            let messages = by_hosts.get(&(demand.src, demand.dst)).map_or(&[][..], Vec::as_slice);
            for (m, flow, _, bytes) in pieces(messages, flows).map_err(LowerError::BadPlan)? {
                let path = TransferPath { vertices: vertices(net, &flows[flow].links), bytes: Some(bytes) };
                paths.entry((m.source, m.destination)).or_default().push(path);
            }
        }
        for job in &mut self.list {
            job.paths = paths.remove(&(job.source, job.destination)).unwrap_or_default();
        }
        self.belongs_to(net);
        Ok(())
    }

    fn belongs_to(&mut self, net: &Network) {
        self.topology = Some(net.spec().to_string());
        self.network = Some(net.fingerprint());
    }

    /// The bytes of all jobs.
    pub fn bytes(&self) -> Vec<u64> {
        self.list.iter().map(|j| j.bytes).collect()
    }

    /// The jobs as messages of these sizes, ascending by (source, destination), without those of a rank to itself or of 0 bytes.
    pub fn messages(&self, bytes: &[u64]) -> Vec<Message> {
        let message = |(j, &bytes): (&Transfer, &u64)| Message { source: j.source, destination: j.destination, bytes };
        let mut messages: Vec<Message> = self.list.iter().zip(bytes).map(message).collect();
        messages.retain(|m| m.bytes > 0 && m.source != m.destination);
        messages.sort_unstable();
        messages
    }

    fn demands(&self, placement: &Placement, bytes: impl Fn(&Transfer) -> u64) -> Vec<Demand> {
        let mut sums: BTreeMap<(NodeId, NodeId), u64> = BTreeMap::new();
        for job in &self.list {
            let (src, dst) = (placement.host(job.source), placement.host(job.destination));
            if src != dst {
                let sum = sums.entry((src, dst)).or_default();
                *sum = sum.saturating_add(bytes(job));
            }
        }
        sums.into_iter().map(|((src, dst), bytes)| Demand::new(src, dst, bytes)).collect()
    }

    /// The plan for these messages, which must be those of the jobs: along the jobs' paths in proportion to their
    /// shares; from paths without shares a planner chooses. Without any path, a planner finds them.
    ///
    /// # Errors
    /// [`LowerError::Argument`] for paths that the network does not have or that do not lead from host to host,
    /// [`LowerError::Plan`] if the planner fails.
    pub fn plan(
        &self,
        net: &Network,
        placement: &Placement,
        messages: &[Message],
        options: &PlanOptions,
    ) -> Result<Plan, LowerError> {
        let shared = self.list.iter().flat_map(|j| &j.paths).any(|p| p.bytes.is_some());
        if !shared {
            return self.plan_with(net, placement, messages, options, self.has_paths());
        }
        self.is_for(net)?;
        let demands = merge(messages, placement).map_err(LowerError::Argument)?;
        let jobs: BTreeMap<_, &Transfer> = self.list.iter().map(|j| ((j.source, j.destination), j)).collect();
        let index: BTreeMap<_, usize> = demands.iter().enumerate().map(|(i, d)| ((d.src, d.dst), i)).collect();
        let mut assignment = Assignment { shares: vec![Vec::new(); demands.len()], ..Assignment::default() };
        for message in messages {
            let hosts = (placement.host(message.source), placement.host(message.destination));
            let (Some(&demand), Some(job)) = (index.get(&hosts), jobs.get(&(message.source, message.destination)))
            else {
                continue;
            };
            let shares = self.shares(net, hosts, job, message.bytes)?;
            assignment.shares[demand].extend(shares);
        }
        let problem = Problem::new(net, &demands, None)?;
        let forwarders = placement.can_forward();
        let plan = pipeline::finish(&problem.with_forwarders(Some(&forwarders)), "jobs", assignment);
        plan.map_err(LowerError::Plan)
    }

    /// A job's bytes on its paths, or on the fabric's own route if it has none.
    fn shares(
        &self,
        net: &Network,
        hosts: (NodeId, NodeId),
        job: &Transfer,
        bytes: u64,
    ) -> Result<Vec<Share>, LowerError> {
        if job.paths.is_empty() {
            let mut links = Vec::new();
            net.route(hosts.0, hosts.1, &mut links)?;
            return Ok(vec![Share { links, bytes }]);
        }
        let total: u128 = job.paths.iter().map(|p| u128::from(p.bytes.unwrap_or(0))).sum();
        if total == 0 {
            return Err(self.wrong(job, "its paths have no bytes"));
        }
        let (mut sum, mut end, mut shares) = (0u128, 0u64, Vec::new());
        for path in &job.paths {
            let links = self.links(net, hosts, job, path)?;
            sum += u128::from(path.bytes.unwrap_or(0));
            // At most `bytes`, since `sum` is at most `total`.
            let next = (u128::from(bytes) * sum / total) as u64;
            if next > end {
                shares.push(Share { links, bytes: next - end });
            }
            end = next;
        }
        Ok(shares)
    }

    fn links(
        &self,
        net: &Network,
        hosts: (NodeId, NodeId),
        job: &Transfer,
        path: &TransferPath,
    ) -> Result<Vec<LinkId>, LowerError> {
        let (first, last) = (path.vertices.first(), path.vertices.last());
        if first != Some(&hosts.0) || last != Some(&hosts.1) {
            let end = |v: Option<&NodeId>| v.map_or(String::from("nothing"), |v| v.0.to_string());
            let problem = format!(
                "a path leads from vertex {} to {}, but the ranks are on hosts {} and {}",
                end(first),
                end(last),
                hosts.0.0,
                hosts.1.0
            );
            return Err(self.wrong(job, &problem));
        }
        let link = |pair: &[NodeId]| {
            let there = pair.iter().all(|v| v.index() < net.vertices());
            let none = || self.wrong(job, &format!("the network has no link from {} to {}", pair[0].0, pair[1].0));
            net.link_between(pair[0], pair[1]).filter(|_| there).ok_or_else(none)
        };
        path.vertices.windows(2).map(link).collect()
    }

    fn is_for(&self, net: &Network) -> Result<(), LowerError> {
        match self.network {
            Some(network) if network != net.fingerprint() => {
                let (here, there) = (net.spec(), self.topology.as_deref().unwrap_or("another one"));
                let name = if self.name.is_empty() { "the jobs" } else { &self.name };
                Err(LowerError::Argument(format!("{name}: the paths were found on the network {there}, not on {here}")))
            }
            _ => Ok(()),
        }
    }

    /// Lets a planner choose, from the jobs' own paths if `given`.
    fn plan_with(
        &self,
        net: &Network,
        placement: &Placement,
        messages: &[Message],
        options: &PlanOptions,
        given: bool,
    ) -> Result<Plan, LowerError> {
        let demands = merge(messages, placement).map_err(LowerError::Argument)?;
        let options = PlanOptions { forwarders: Some(placement.can_forward()), ..options.clone() };
        if !given {
            return Ok(pipeline::run(net, &demands, &options)?.plan);
        }
        self.is_for(net)?;
        // As a path file, so that there is one place that knows what a path must be.
        let mut text = String::new();
        let mut pairs = BTreeSet::new();
        let mut most = 1;
        for message in messages {
            let hosts = (placement.host(message.source), placement.host(message.destination));
            if hosts.0 == hosts.1 || !pairs.insert(hosts) {
                continue;
            }
            let of_pair = self
                .list
                .iter()
                .filter(|j| (placement.host(j.source), placement.host(j.destination)) == hosts && !j.paths.is_empty());
            let mut seen = BTreeSet::new();
            let mut lines = String::new();
            for (job, path) in of_pair.flat_map(|j| j.paths.iter().map(move |p| (j, p))) {
                self.links(net, hosts, job, path)?;
                if seen.insert(&path.vertices) {
                    let words: Vec<String> = path.vertices.iter().map(|v| v.0.to_string()).collect();
                    lines += &format!("path {}\n", words.join(" "));
                }
            }
            if seen.is_empty() {
                let mut links = Vec::new();
                net.route(hosts.0, hosts.1, &mut links)?;
                let words: Vec<String> = vertices(net, &links).iter().map(|v| v.0.to_string()).collect();
                lines = format!("path {}\n", words.join(" "));
            }
            most = most.max(seen.len());
            text += &format!("job {} {}\n{lines}", hosts.0.0, hosts.1.0);
        }
        let head = format!("optiq-paths 1\nnetwork {}\nmethod yen\nk {most}\n", net.fingerprint());
        let name = if self.name.is_empty() { "the jobs" } else { &self.name };
        let candidates = candidates::file::read_from(name, Cursor::new(head + &text), net);
        let candidates = candidates.map_err(optiq_solver::PlanError::from)?;
        Ok(pipeline::run_with(net, &demands, &options, Some(&candidates))?.plan)
    }
}

/// The vertices on a path of links.
fn vertices(net: &Network, links: &[LinkId]) -> Vec<NodeId> {
    optiq_solver::legs::nodes(net, links).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(spec: &str, ranks: usize, per_host: u32) -> (Network, Placement) {
        let net = Network::from_spec(spec).unwrap();
        let placement = Placement::by_rank(&net, ranks, per_host).unwrap();
        (net, placement)
    }

    #[test]
    fn shares_keep_their_proportions_and_lose_nothing() {
        let (net, placement) = setting("torus:4x4", 16, 1);
        let text =
            format!("optiq-jobs 1\nnetwork {}\njob 0 5 10\npath 3 0 1 5\npath 7 0 4 5\njob 6 7 9\n", net.fingerprint());
        let mut jobs = TransferList::parse(&text, "jobs").unwrap();
        for (bytes, expected) in [
            (10, vec![3, 7]),
            (11, vec![3, 8]),
            (1, vec![1]),
            ((1 << 60) + 6, vec![345_876_451_382_054_094, 807_045_053_224_792_888]),
        ] {
            jobs.set_bytes(0, bytes).unwrap();
            let messages = jobs.messages(&jobs.bytes());
            let plan = jobs.plan(&net, &placement, &messages, &PlanOptions::default()).unwrap();
            assert_eq!(plan.flows[0].iter().map(|f| f.bytes).collect::<Vec<_>>(), expected, "{bytes}");
            // A job without paths beside others takes the fabric's own route.
            assert_eq!(plan.flows[1].iter().map(|f| (f.links.len(), f.bytes)).collect::<Vec<_>>(), [(1, 9)]);
        }
    }

    #[test]
    fn searched_paths_carry_the_jobs_bytes_also_for_several_ranks_of_a_host() {
        let (net, placement) = setting("torus:4x4", 32, 2);
        let mut jobs = TransferList::new();
        for (source, destination, bytes) in
            [(0, 20, 5_000_000), (1, 21, 3_000_000), (0, 21, 123), (0, 1, 50), (8, 30, 0)]
        {
            jobs.add(source, destination, bytes).unwrap();
        }
        jobs.find_paths(&net, &placement, 8).unwrap();
        assert_eq!(jobs.list().iter().map(|j| j.paths.len()).collect::<Vec<_>>(), [8, 8, 8, 0, 6]);
        for planner in ["heu1", "heu2", "optimal"] {
            let mut chosen = jobs.clone();
            chosen
                .search(&net, &placement, &PlanOptions { planner: planner.into(), ..PlanOptions::default() })
                .unwrap();
            for job in chosen.list() {
                let sum: u64 = job.paths.iter().map(|p| p.bytes.unwrap()).sum();
                assert!(job.paths.is_empty() || sum == job.bytes, "{planner}: {job:?}");
                // Out of the eight that were offered; `optimal` adds what lacks.
                let offered = &jobs.list()[0].paths;
                assert!(
                    planner == "optimal" || job.paths.iter().all(|p| offered.iter().any(|o| o.vertices == p.vertices)),
                    "{planner}"
                );
            }
            assert!(chosen.list()[3].paths.is_empty() && chosen.list()[4].paths.is_empty());
            let again = TransferList::parse(&chosen.to_text(), "again").unwrap();
            let messages = again.messages(&again.bytes());
            let plan = again.plan(&net, &placement, &messages, &PlanOptions::default()).unwrap();
            plan.check(&net).unwrap();
            assert_eq!(plan.demands.iter().map(|d| d.bytes).collect::<Vec<_>>(), [8_000_123]);
        }
    }

    #[test]
    fn paths_that_do_not_fit_are_refused() {
        let (net, placement) = setting("torus:4x4", 16, 1);
        let refused = |lines: &str| {
            let text = format!("optiq-jobs 1\nnetwork {}\n{lines}", net.fingerprint());
            let jobs = TransferList::parse(&text, "j.txt").unwrap();
            let messages = jobs.messages(&jobs.bytes());
            jobs.plan(&net, &placement, &messages, &PlanOptions::default()).unwrap_err().to_string()
        };
        let error = refused("job 0 5 10\npath 10 0 6 5\n");
        assert_eq!(error, "j.txt:3: the job from rank 0 to rank 5: the network has no link from 0 to 6");
        let error = refused("job 0 5 10\npath 10 0 1\n");
        assert!(error.contains("a path leads from vertex 0 to 1, but the ranks are on hosts 0 and 5"), "{error}");
        assert!(refused("job 0 5 10\npath 10 0 99 5\n").contains("no link from 0 to 99"));
        assert!(refused("job 0 5 10\npath 10 0 1 0 4 5\n").contains("passes a host"));
        assert!(refused("job 0 5 10\npath - 0 1 0 4 5\n").contains("passes 0 twice"));
        let text =
            "optiq-jobs 1\ntopology mesh:4x4\nnetwork 00000000000000000000000000000001\njob 0 5 10\npath 10 0 1 5";
        let jobs = TransferList::parse(text, "j.txt").unwrap();
        let messages = jobs.messages(&jobs.bytes());
        let error = jobs.plan(&net, &placement, &messages, &PlanOptions::default()).unwrap_err().to_string();
        assert_eq!(error, "j.txt: the paths were found on the network mesh:4x4, not on torus:4x4");
        let error = jobs.check_ranks(5).unwrap_err().to_string();
        assert_eq!(error, "j.txt:4: the job from rank 0 to rank 5: there is no rank 5; there are 5 ranks");
    }
}
