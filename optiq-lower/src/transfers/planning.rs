//! Paths for transfers: found, chosen by a planner, or taken as they are.

use super::list::{Transfer, TransferList, TransferPath};
use crate::error::LowerError;
use crate::lower::{Message, by_hosts, merge, pieces};
use crate::placement::Placement;
use optiq_net::{LinkId, Network, NodeId};
use optiq_solver::candidates::{self, PathBuffer};
use optiq_solver::pipeline::{self, PlanOptions};
use optiq_solver::{Assignment, CandidateMethod, Candidates, Plan, Problem, Share};
use optiq_transport::Rank;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;

impl TransferList {
    /// Finds at most `k` paths for every transfer, the shortest first (thesis 4.2.1), without shares; those that were there are
    /// replaced. Transfers within a host get none.
    ///
    /// # Errors
    /// [`LowerError::Argument`] for unknown ranks, [`LowerError::Plan`] for pairs without a route or `k` out of range.
    pub fn find_paths(&mut self, net: &Network, placement: &Placement, k: usize) -> Result<(), LowerError> {
        self.check_ranks(placement.len() as u32)?;
        let demands = self.demands(placement, |_| 1);
        let found = Candidates::generate(net, &demands, k, CandidateMethod::Yen)?;
        let mut buffer = PathBuffer::new();
        let index: BTreeMap<_, usize> = demands.iter().enumerate().map(|(i, d)| ((d.src, d.dst), i)).collect();
        for transfer in &mut self.list {
            transfer.paths.clear();
            let Some(&d) = index.get(&(placement.host(transfer.source), placement.host(transfer.destination))) else {
                continue;
            };
            buffer.clear();
            found.expand(d, &mut buffer);
            transfer.paths =
                buffer.iter().map(|links| TransferPath { vertices: vertices(net, links), bytes: None }).collect();
        }
        self.belongs_to(net);
        Ok(())
    }

    /// Lets a planner choose paths and shares for the transfers' bytes: from the paths that transfers have, or from its own
    /// candidates if none has any. Transfers of 0 bytes lose their paths. Returns the plan.
    ///
    /// # Errors
    /// As [`TransferList::plan`], and [`LowerError::Argument`] for unknown ranks.
    pub fn search(&mut self, net: &Network, placement: &Placement, options: &PlanOptions) -> Result<Plan, LowerError> {
        self.check_ranks(placement.len() as u32)?;
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
            let messages = by_hosts.get(&(demand.src, demand.dst, demand.class)).map_or(&[][..], Vec::as_slice);
            for (m, flow, _, bytes) in pieces(messages, flows.iter().map(|f| f.bytes)).map_err(LowerError::BadPlan)? {
                let path = TransferPath { vertices: vertices(net, &flows[flow].links), bytes: Some(bytes) };
                paths.entry((m.source, m.destination)).or_default().push(path);
            }
        }
        for transfer in &mut self.list {
            transfer.paths = paths.remove(&(transfer.source, transfer.destination)).unwrap_or_default();
        }
        self.belongs_to(net);
        Ok(())
    }

    /// The plan for these messages, which must be those of the transfers: along the transfers' paths in proportion to their
    /// shares; a planner chooses from paths without shares, and finds paths if there are none.
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
        let transfers: BTreeMap<_, &Transfer> = self.list.iter().map(|j| ((j.source, j.destination), j)).collect();
        let index: BTreeMap<_, usize> = demands.iter().enumerate().map(|(i, d)| ((d.src, d.dst, d.class), i)).collect();
        let mut assignment = Assignment { shares: vec![Vec::new(); demands.len()], ..Assignment::default() };
        for message in messages {
            let hosts = (placement.host(message.source), placement.host(message.destination));
            let (Some(&demand), Some(transfer)) =
                (index.get(&(hosts.0, hosts.1, message.class)), transfers.get(&(message.source, message.destination)))
            else {
                continue;
            };
            let shares = self.shares(net, hosts, transfer, message.bytes)?;
            assignment.shares[demand].extend(shares);
        }
        let problem = Problem::new(net, &demands, None)?;
        let forwarders = placement.can_forward();
        let plan = pipeline::finish(&problem.with_forwarders(Some(&forwarders)), "jobs", assignment);
        plan.map_err(LowerError::Plan)
    }

    /// A transfer's bytes on its paths, or on the fabric's own route if it has none.
    fn shares(
        &self,
        net: &Network,
        hosts: (NodeId, NodeId),
        transfer: &Transfer,
        bytes: u64,
    ) -> Result<Vec<Share>, LowerError> {
        if transfer.paths.is_empty() {
            let mut links = Vec::new();
            net.route(hosts.0, hosts.1, &mut links)?;
            return Ok(vec![Share { links, bytes }]);
        }
        let total: u128 = transfer.paths.iter().map(|p| u128::from(p.bytes.unwrap_or(0))).sum();
        if total == 0 {
            return Err(self.wrong(transfer, "its paths have no bytes"));
        }
        let (mut sum, mut end, mut shares) = (0u128, 0u64, Vec::new());
        for path in &transfer.paths {
            let links = self.links(net, hosts, transfer, path)?;
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
        transfer: &Transfer,
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
            return Err(self.wrong(transfer, &problem));
        }
        let link = |pair: &[NodeId]| {
            let there = pair.iter().all(|v| v.index() < net.vertices());
            let none = || self.wrong(transfer, &format!("the network has no link from {} to {}", pair[0].0, pair[1].0));
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

    /// Lets a planner choose, from the transfers' own paths if `given`.
    fn plan_with(
        &self,
        net: &Network,
        placement: &Placement,
        messages: &[Message],
        options: &PlanOptions,
        given: bool,
    ) -> Result<Plan, LowerError> {
        let demands = merge(messages, placement).map_err(LowerError::Argument)?;
        let options = PlanOptions { forwarders: Some(placement.can_forward()), together: true, ..options.clone() };
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
            for (transfer, path) in of_pair.flat_map(|j| j.paths.iter().map(move |p| (j, p))) {
                self.links(net, hosts, transfer, path)?;
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
    use optiq_solver::planner::PlannerName;

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
        let mut transfers = TransferList::parse(&text, "jobs").unwrap();
        for (bytes, expected) in [
            (10, vec![3, 7]),
            (11, vec![3, 8]),
            (1, vec![1]),
            ((1 << 60) + 6, vec![345_876_451_382_054_094, 807_045_053_224_792_888]),
        ] {
            transfers.set_bytes(0, bytes).unwrap();
            let messages = transfers.messages(&transfers.bytes());
            let plan = transfers.plan(&net, &placement, &messages, &PlanOptions::default()).unwrap();
            assert_eq!(plan.flows[0].iter().map(|f| f.bytes).collect::<Vec<_>>(), expected, "{bytes}");
            // A transfer without paths beside others takes the fabric's own route.
            assert_eq!(plan.flows[1].iter().map(|f| (f.links.len(), f.bytes)).collect::<Vec<_>>(), [(1, 9)]);
        }
    }

    #[test]
    fn searched_paths_carry_the_jobs_bytes_also_for_several_ranks_of_a_host() {
        let (net, placement) = setting("torus:4x4", 32, 2);
        let mut transfers = TransferList::new();
        for (source, destination, bytes) in
            [(0, 20, 5_000_000), (1, 21, 3_000_000), (0, 21, 123), (0, 1, 50), (8, 30, 0)]
        {
            transfers.add(Rank(source), Rank(destination), bytes).unwrap();
        }
        transfers.find_paths(&net, &placement, 8).unwrap();
        assert_eq!(transfers.list().iter().map(|j| j.paths.len()).collect::<Vec<_>>(), [8, 8, 8, 0, 6]);
        for planner in [PlannerName::Heuristic1, PlannerName::Heuristic2, PlannerName::Optimal] {
            let mut chosen = transfers.clone();
            chosen.search(&net, &placement, &PlanOptions { planner, ..PlanOptions::default() }).unwrap();
            for transfer in chosen.list() {
                let sum: u64 = transfer.paths.iter().map(|p| p.bytes.unwrap()).sum();
                assert!(transfer.paths.is_empty() || sum == transfer.bytes, "{planner}: {transfer:?}");
                // Out of the eight that were offered; `optimal` adds what lacks.
                let offered = &transfers.list()[0].paths;
                assert!(
                    planner == PlannerName::Optimal
                        || transfer.paths.iter().all(|p| offered.iter().any(|o| o.vertices == p.vertices)),
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
            let transfers = TransferList::parse(&text, "j.txt").unwrap();
            let messages = transfers.messages(&transfers.bytes());
            transfers.plan(&net, &placement, &messages, &PlanOptions::default()).unwrap_err().to_string()
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
        let transfers = TransferList::parse(text, "j.txt").unwrap();
        let messages = transfers.messages(&transfers.bytes());
        let error = transfers.plan(&net, &placement, &messages, &PlanOptions::default()).unwrap_err().to_string();
        assert_eq!(error, "j.txt: the paths were found on the network mesh:4x4, not on torus:4x4");
        let error = transfers.check_ranks(5).unwrap_err().to_string();
        assert_eq!(error, "j.txt:4: the job from rank 0 to rank 5: there is no rank 5; there are 5 ranks");
    }
}
