//! Which hosts all jobs of a file get, and where each process runs.
//!
//! I/O servers come first, as they are there before any job starts; then the hosts of the jobs, both in the order of the file.
//! A job that has its hosts to itself takes hosts on which nothing is; others take hosts on which they find a core for each of
//! their processes. The random choices of each job are a stream of their own, so that a job that is changed moves no other one
//! unless it takes its place.
//!
//! The processes of a job are numbered without a gap: its ranks in the order of its hosts, those of a host one after the
//! other, and then its servers.

use crate::error::SimError;
use crate::jobs::file::{JobEntry, JobFile};
use crate::jobs::placement::{Choice, Placement, ServerPlacement};
use crate::jobs::programs::setting::JobSetting;
use crate::jobs::sites::Sites;
use crate::model::Model;
use crate::nic::layout::{Layout, Process};
use optiq_net::random::SplitMix64;
use optiq_net::{Network, NodeId};

/// The most processes of all jobs.
const MAX_PROCESSES: u64 = 1 << 22;

/// The hosts of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobHosts {
    /// Of its ranks, in their order.
    pub hosts: Vec<NodeId>,
    /// Ranks on each of them.
    pub processes: u32,
    /// Of its servers, in their order.
    pub servers: Vec<NodeId>,
}

impl JobHosts {
    /// How many ranks it has, besides its servers.
    pub fn ranks(&self) -> u32 {
        // Fits: the number of processes was checked.
        self.hosts.len() as u32 * self.processes
    }

    /// By rank, its node, counted from 0 among the job's.
    pub fn nodes(&self) -> Vec<u32> {
        let nodes = 0..self.hosts.len() as u32;
        nodes.flat_map(|node| std::iter::repeat_n(node, self.processes as usize)).collect()
    }

    /// The hosts of all of its processes, ranks and then servers.
    pub fn of_processes(&self) -> impl Iterator<Item = NodeId> {
        let ranks = self.hosts.iter().flat_map(|&h| std::iter::repeat_n(h, self.processes as usize));
        ranks.chain(self.servers.iter().copied())
    }
}

/// The hosts of all jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// By job.
    pub jobs: Vec<JobHosts>,
}

impl Allocation {
    /// Places the jobs of a file on its network.
    ///
    /// # Errors
    /// [`SimError::Workload`] with a sentence that names file, line and job: a placement that does not fit, hosts or cores
    /// that are taken.
    pub fn new(file: &JobFile, network: &Network) -> Result<Self, SimError> {
        Self::on(file, network, &Sites::new(network))
    }

    /// As [`Allocation::new`], with the network's leaf switches at hand.
    ///
    /// # Errors
    /// As [`Allocation::new`].
    pub fn on(file: &JobFile, network: &Network, sites: &Sites) -> Result<Self, SimError> {
        let mut allocator = Allocator::new(file, network, sites);
        for job in 0..file.jobs.len() {
            allocator.servers(job).map_err(|why| file.error(job, &why))?;
        }
        for job in 0..file.jobs.len() {
            allocator.ranks(job).map_err(|why| file.error(job, &why))?;
        }
        Ok(Self { jobs: allocator.jobs })
    }

    /// What the programs of a job are built for; `hosts` are those of its processes ([`JobHosts::of_processes`]). They go on
    /// after their samples. Panics if there is no such job.
    pub fn setting<'a>(
        &self,
        file: &JobFile,
        job: usize,
        (network, model): (&'a Network, &'a Model),
        hosts: &'a [u32],
    ) -> JobSetting<'a> {
        let processes = |job: &JobHosts| job.ranks() + job.servers.len() as u32;
        JobSetting {
            network,
            model,
            hosts,
            servers: self.jobs[job].servers.len() as u32,
            first: self.jobs[..job].iter().map(processes).sum(),
            seed: file.job_seed(job),
            keep_going: true,
            planning_network: None,
        }
    }

    /// All processes with their hosts and jobs, for a simulation of all jobs.
    pub fn layout(&self, file: &JobFile) -> Layout {
        let process = |job: u16| move |host: NodeId| Process { host: host.0, job };
        let processes = (0..).zip(&self.jobs).flat_map(|(i, job)| job.of_processes().map(process(i))).collect();
        let measured = (0..).zip(&file.jobs).filter(|(_, job)| job.is_measured);
        let layout = measured.fold(Layout::new(processes), |layout, (i, _)| layout.measure(i));
        (0..).zip(&file.jobs).fold(layout, |layout, (i, job)| layout.with_class(i, job.class))
    }
}

struct Allocator<'a> {
    file: &'a JobFile,
    network: &'a Network,
    sites: &'a Sites,
    jobs: Vec<JobHosts>,
    /// Per host: processes on it, whether ranks are among them, and whether a job has it to itself.
    processes: Vec<u32>,
    clients: Vec<bool>,
    exclusive: Vec<bool>,
    all: u64,
}

impl<'a> Allocator<'a> {
    fn new(file: &'a JobFile, network: &'a Network, sites: &'a Sites) -> Self {
        let none = |job: &JobEntry| JobHosts { hosts: Vec::new(), processes: job.processes, servers: Vec::new() };
        Self {
            file,
            network,
            sites,
            jobs: file.jobs.iter().map(none).collect(),
            processes: vec![0; network.hosts()],
            clients: vec![false; network.hosts()],
            exclusive: vec![false; network.hosts()],
            all: 0,
        }
    }

    /// The random choices of a job's ranks or servers.
    fn stream(&self, job: usize, of_servers: bool) -> SplitMix64 {
        let base = SplitMix64::new(self.file.placement_seed).next_u64();
        SplitMix64::new(base ^ SplitMix64::new(2 * job as u64 + u64::from(of_servers) + 1).next_u64())
    }

    /// Per host, whether a job may put that number of processes there.
    fn usable(&self, job: usize, processes: u32) -> Vec<bool> {
        let is_exclusive = self.file.jobs[job].is_exclusive;
        let fits = |h: usize| {
            let there = self.processes[h];
            let shared = there == 0 || !(is_exclusive || self.exclusive[h]);
            shared && there + processes <= self.file.cores
        };
        (0..self.network.hosts()).map(fits).collect()
    }

    fn servers(&mut self, job: usize) -> Result<(), String> {
        let Some(rule) = &self.file.jobs[job].servers else { return Ok(()) };
        let usable = self.usable(job, 1);
        let hosts = match rule {
            ServerPlacement::Like(name) => {
                let other = self.other(job, name)?;
                let hosts = self.jobs[other].servers.clone();
                match hosts.is_empty() {
                    true => return Err(format!("job {name} has no servers before this one")),
                    false => self.same(job, other, hosts, &usable)?,
                }
            }
            rule => self.choice(&usable).place_servers(rule, &mut self.stream(job, true))?,
        };
        self.take(job, &hosts, 1)?;
        self.jobs[job].servers = hosts;
        Ok(())
    }

    fn ranks(&mut self, job: usize) -> Result<(), String> {
        let entry = &self.file.jobs[job];
        let usable = self.usable(job, entry.processes);
        let count = entry.hosts.map(|n| n as usize);
        let placed = match &entry.placement {
            Placement::Like(name) => {
                let other = self.other(job, name)?;
                let mut hosts = self.jobs[other].hosts.clone();
                if let Some(count) = count.filter(|&count| count > hosts.len()) {
                    return Err(format!("{count} hosts do not fit: job {name} has {}", hosts.len()));
                }
                hosts.truncate(count.unwrap_or(usize::MAX));
                self.same(job, other, hosts, &usable)
            }
            rule => self.choice(&usable).place(rule, count, &mut self.stream(job, false)),
        };
        let hosts = placed.map_err(|why| format!("placement {}: {why}", entry.placement))?;
        if hosts.is_empty() {
            return Err(format!("placement {}: none of its hosts is free", entry.placement));
        }
        self.take(job, &hosts, entry.processes)?;
        hosts.iter().for_each(|h| self.clients[h.index()] = true);
        self.jobs[job].hosts = hosts;
        Ok(())
    }

    fn choice<'b>(&'b self, usable: &'b [bool]) -> Choice<'b> {
        Choice { network: self.network, sites: self.sites, usable, clients: &self.clients }
    }

    /// A job before this one.
    fn other(&self, job: usize, name: &str) -> Result<usize, String> {
        let before = self.file.jobs[..job].iter().position(|other| other.name == name);
        before.ok_or_else(|| format!("there is no job \"{name}\" before this one"))
    }

    /// The hosts of another job, if this one may be there as well.
    fn same(&self, job: usize, other: usize, hosts: Vec<NodeId>, usable: &[bool]) -> Result<Vec<NodeId>, String> {
        let Some(host) = hosts.iter().find(|h| !usable[h.index()]) else { return Ok(hosts) };
        let [this, that] = [job, other].map(|j| &self.file.jobs[j]);
        let name = self.network.name(*host);
        Err(match this.is_exclusive || that.is_exclusive {
            true => {
                format!("host {name} would have this job and job {}; exclusive = false is expected in both", that.name)
            }
            false => format!("host {name} has {} cores, which are taken", self.file.cores),
        })
    }

    fn take(&mut self, job: usize, hosts: &[NodeId], processes: u32) -> Result<(), String> {
        self.all += hosts.len() as u64 * u64::from(processes);
        if self.all > MAX_PROCESSES {
            return Err(format!("with it there are {} processes; at most {MAX_PROCESSES} are possible", self.all));
        }
        for host in hosts {
            self.processes[host.index()] += processes;
            self.exclusive[host.index()] |= self.file.jobs[job].is_exclusive;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn allocate(text: &str) -> Result<Vec<JobHosts>, String> {
        let file = JobFile::parse(text, "j.toml").unwrap();
        let network = file.load_network().unwrap();
        Allocation::new(&file, &network).map(|a| a.jobs).map_err(|e| e.to_string())
    }

    fn job(name: &str, keys: &str) -> String {
        let keys = keys.replace(", ", "\n");
        let program = if keys.contains("servers") { "io-write,request=1MB" } else { "pairs,message=4KB" };
        format!("[[job]]\nname = \"{name}\"\nprogram = \"{program}\"\n{keys}\n")
    }

    fn two(top: &str, a: &str, b: &str) -> String {
        format!("network = \"fattree:2x3x2:1x2x3\"\n{top}\n{}{}", job("a", a), job("b", b))
    }

    fn numbers(hosts: &[NodeId]) -> Vec<u32> {
        hosts.iter().map(|h| h.0).collect()
    }

    #[test]
    fn servers_come_first_and_exclusive_hosts_are_not_shared() {
        let jobs = allocate(&two(
            "",
            "hosts = 3, placement = 'contiguous'",
            "hosts = 3, placement = 'contiguous', servers = 'spread-target:6'",
        ))
        .unwrap();
        assert_eq!((numbers(&jobs[0].hosts), numbers(&jobs[1].hosts)), (vec![0, 2, 4], vec![6, 8, 10]));
        assert_eq!(numbers(&jobs[1].servers), [1, 3, 5, 7, 9, 11]);
        assert_eq!(jobs[1].of_processes().count(), 9);
        // Whole switches: what a job leaves of its last switch is no whole switch for the next.
        let jobs =
            allocate(&two("", "hosts = 3, placement = 'random-switch'", "hosts = 8, placement = 'random-switch'"))
                .unwrap();
        let leaves = |hosts: &[NodeId]| hosts.iter().map(|h| h.0 / 2).collect::<std::collections::BTreeSet<_>>();
        assert!(leaves(&jobs[0].hosts).is_disjoint(&leaves(&jobs[1].hosts)));
    }

    #[test]
    fn shared_hosts_have_cores_for_all() {
        let shared = "hosts = 12, exclusive = false, processes = 2, placement = 'contiguous'";
        let like = "placement = 'like:a', exclusive = false, processes = 2";
        let jobs = allocate(&two("cores = 4", shared, like)).unwrap();
        assert_eq!(jobs[0].hosts, jobs[1].hosts);
        assert_eq!(jobs[1].of_processes().take(3).map(|h| h.0).collect::<Vec<_>>(), [0, 0, 1]);
        let file = JobFile::parse(&two("cores = 4", shared, like), "j").unwrap();
        let layout = Allocation { jobs }.layout(&file);
        assert_eq!((layout.processes().len(), layout.jobs(), layout.is_measured(1)), (48, 2, true));
        assert_eq!(layout.processes()[25], Process { host: 0, job: 1 });
    }

    #[test]
    fn refusals_name_the_job() {
        let shared = "hosts = 12, exclusive = false, processes = 2";
        for (text, line, expected) in [
            (two("", "hosts = 7", "hosts = 6"), 7, "job b: placement random-node: 6 hosts do not fit: 5 are free"),
            (two("", "placement = 'hosts:0-3'", "placement = 'hosts:3-5'"), 7, "host h3 is taken"),
            (two("", "hosts = 4", "placement = 'like:a'"), 7, "exclusive = false is expected in both"),
            (two("", "hosts = 4", "placement = 'like:c'"), 7, "there is no job \"c\" before this one"),
            (two("cores = 3", shared, "placement = 'like:a', exclusive = false, processes = 2"), 9, "host h"),
            (
                two("cores = 3", shared, "hosts = 1, exclusive = false, processes = 2"),
                9,
                "1 hosts do not fit: 0 are free",
            ),
            (two("", "hosts = 4, placement = 'random-group'", "hosts = 1"), 3, "it needs groups"),
            (
                two("", "hosts = 9, placement = 'random-switch'", "hosts = 3, placement = 'random-switch'"),
                8,
                "1 are free, with 2 hosts",
            ),
            (
                two("", "hosts = 1", "hosts = 1, servers = 'isolated-target:13'"),
                7,
                "13 servers on leaf switches of their own",
            ),
            (two("", "hosts = 1", "hosts = 1, servers = 'like:a'"), 7, "job a has no servers"),
        ] {
            let why = allocate(&text).expect_err(&text);
            let place = format!("job file j.toml, line {line}: job ");
            assert!(why.starts_with(&place) && why.contains(expected) && !why.contains('\n'), "{text}\n{why}");
        }
    }

    #[test]
    fn the_seed_decides_and_a_later_job_moves_no_earlier_one() {
        let of = |seed: u64, b: &str| allocate(&two(&format!("seed = {seed}"), "hosts = 5", b)).unwrap();
        assert_eq!(of(1, "hosts = 3"), of(1, "hosts = 3"));
        assert_ne!(of(1, "hosts = 3")[0], of(2, "hosts = 3")[0]);
        assert_eq!(of(1, "hosts = 3")[0], of(1, "hosts = 7")[0]);
    }
}
