//! The certificate of `jobs::sharing` against simulations: two jobs that are certified are, beside each other, what each of
//! them is alone, to the bit; and among those that are not certified there are some that slow each other.
#![allow(clippy::unwrap_used, reason = "tests")]

use optiq_net::random::SplitMix64;
use optiq_net::{Network, NodeId};
use optiq_sim::jobs::allocation::{Allocation, JobHosts};
use optiq_sim::jobs::certificate::Certificate;
use optiq_sim::jobs::file::JobFile;
use optiq_sim::jobs::programs::build::build;
use optiq_sim::model::{Allocator, Arbitration, Pipeline, Switching};
use optiq_sim::time::Time;
use optiq_sim::{End, Idle, Layout, Model, Process, Program, RunOptions, simulate_jobs};

const NETWORKS: [&str; 8] = [
    "fattree:4x4:1x4",
    "fattree:2x3x3:1x2x3",
    "fattree:3x3x2:1x3x1:1x1x3",
    "fattree:3x3x2:1x3x3,routing=smodk",
    "dragonfly:p=2,a=2,h=2",
    "dragonfly+:p=2,l=2,s=2,h=2",
    "torus:4x4",
    "mesh:6x4",
];

const PROGRAMS: [&str; 8] = [
    "pairs,message=20KB,think=1us,jitter=5%,samples=4,warmup=1",
    "uniform,message=9KB,samples=5,warmup=0",
    "alltoall,message=8KB,samples=2,warmup=0",
    "alltoall,message=8KB,algorithm=pairwise,samples=2,warmup=0",
    "incast,message=10KB,samples=3,warmup=0",
    "broadcast,message=30KB,samples=2,warmup=0",
    "alltoallv,message=40KB,demands=alltoall,samples=1,warmup=0",
    "io-write,request=20KB,think=1us,jitter=5%,samples=4,warmup=0",
];

/// Routers of several kinds: what they arbitrate by, with a clock or without, with little or much memory.
fn model(which: u64) -> Model {
    let mut model = Model::default();
    model.link.packet_bytes = 2048;
    model.router.buffer_bytes = 4096;
    match which % 7 {
        0 => model.router.arbitration = Arbitration::Age,
        1 => model.router.switching = Switching::StoreAndForward,
        2 => (model.router.input_speedup, model.router.lanes) = (1, 2),
        3 => model.host.eager_bytes = 4000,
        5 => model.router.arbitration = Arbitration::FirstCome,
        4 => {
            let allocator = if which.is_multiple_of(4) { Allocator::Islip } else { Allocator::SeparableInputFirst };
            model.router.pipeline = Some(Pipeline { cycle_picoseconds: 1_000_000, allocator, ..Pipeline::default() });
            model.router.delay_picoseconds = 1_000_000;
        }
        _ => {}
    }
    model
}

struct Pair {
    network: Network,
    model: Model,
    file: JobFile,
    allocation: Allocation,
}

impl Pair {
    fn draw(seed: u64) -> Self {
        let mut rng = SplitMix64::new(seed);
        let network = Network::from_spec(NETWORKS[rng.below(NETWORKS.len() as u64) as usize]).unwrap();
        let mut text = format!("network = \"{}\"\nseed = {seed}\n", network.spec());
        // Disjoint hosts: neighbours by number, or any.
        let mut hosts: Vec<u32> = (0..network.hosts() as u32).collect();
        if rng.below(2) == 0 {
            (1..hosts.len()).rev().for_each(|i| hosts.swap(i, rng.below(i as u64 + 1) as usize));
        } else {
            hosts.rotate_left(rng.below(network.hosts() as u64) as usize);
        }
        let list = |hosts: &[u32]| hosts.iter().map(u32::to_string).collect::<Vec<_>>().join("+");
        for name in ["a", "b"] {
            let program = PROGRAMS[rng.below(PROGRAMS.len() as u64) as usize];
            let mine = hosts.split_off(hosts.len() - 2 - rng.below(5) as usize);
            let servers = usize::from(program.starts_with("io"));
            text += &format!("[[job]]\nname = \"{name}\"\nprogram = \"{program}\"\n");
            text += &format!("placement = \"hosts:{}\"\n", list(&mine[servers..]));
            // Pairs are of an even number.
            let processes = if program.starts_with("pairs") { 2 } else { 1 + rng.below(2) };
            text += &format!("processes = {processes}\n");
            if servers > 0 {
                text += &format!("servers = \"hosts:{}\"\n", list(&mine[..servers]));
            }
        }
        let file = JobFile::parse(&text, "drawn").unwrap();
        let allocation = Allocation::new(&file, &network).unwrap();
        Self { model: model(rng.next_u64()), network, file, allocation }
    }

    /// What a job and the other one, if it runs, make of it: durations of all operations, and all statistics of the job.
    fn run(&self, jobs: [bool; 2]) -> [Option<(Vec<Time>, u128)>; 2] {
        let mut programs: Vec<Box<dyn Program>> = Vec::new();
        let mut processes = Vec::new();
        let mut reports = Vec::new();
        for (number, job) in (0..).zip(&self.allocation.jobs) {
            let hosts: Vec<u32> = job.of_processes().map(|h| h.0).collect();
            let mut setting = self.allocation.setting(&self.file, number, (&self.network, &self.model), &hosts);
            setting.keep_going = false;
            assert_eq!(setting.first as usize, programs.len());
            let built = build(&self.file.jobs[number].program, &setting).unwrap();
            processes.extend(hosts.iter().map(|&host| Process { host, job: number as u16 }));
            match jobs[number] {
                true => programs.extend(built.programs),
                false => programs.extend(hosts.iter().map(|_| Box::new(Idle) as Box<dyn Program>)),
            }
            reports.push(built.report);
        }
        let layout = Layout::new(processes);
        let options = RunOptions { threads: 1, seed: self.file.seed, ..RunOptions::default() };
        let outcome = simulate_jobs(&self.network, &self.model, &layout, programs, &options).unwrap();
        assert_eq!(outcome.end, End::Finished);
        [0, 1].map(|i| jobs[i].then(|| (reports[i].durations(), outcome.jobs[i].fingerprint().0)))
    }

    fn describe(&self) -> String {
        let of = |job: &JobHosts| job.of_processes().map(|h: NodeId| h.0).collect::<Vec<_>>();
        let jobs = self.file.jobs.iter().zip(&self.allocation.jobs);
        let jobs: Vec<String> = jobs.map(|(entry, job)| format!("{} on {:?}", entry.program, of(job))).collect();
        format!("{}: {}", self.network.spec(), jobs.join("; "))
    }
}

#[test]
fn certified_jobs_do_not_slow_each_other_in_200_random_pairs() {
    let (mut certified, mut slowed, mut unmoved) = (0, 0, 0);
    for seed in 0..200 {
        let pair = Pair::draw(seed);
        let found = Certificate::new(&pair.file, &pair.network, &pair.model, &pair.allocation, |_, _| {}).unwrap();
        let together = pair.run([true, true]);
        let alone = [pair.run([true, false])[0].clone(), pair.run([false, true])[1].clone()];
        if found.is_certified() {
            certified += 1;
            assert_eq!(together, alone, "seed {seed}: {}", pair.describe());
        } else if together == alone {
            unmoved += 1;
        } else {
            slowed += 1;
        }
    }
    println!("{certified} certified; of the others {slowed} moved each other and {unmoved} did not");
    // Neither side of the claim is empty.
    assert!(certified >= 40 && slowed >= 40, "{certified} certified, {slowed} moved");
}

/// Hosts that both jobs are on couple them without any link, so they are never certified; and they do slow each other there.
#[test]
fn jobs_on_one_host_are_not_certified() {
    let text = "network = \"star:8\"\n[[job]]\nname = \"a\"\nplacement = \"hosts:0-3\"\nexclusive = false\n\
                program = \"alltoall,message=30KB,samples=3\"\n[[job]]\nname = \"b\"\nplacement = \"like:a\"\nexclusive = false\n\
                program = \"alltoall,message=30KB,samples=3\"\n";
    let file = JobFile::parse(text, "text").unwrap();
    let network = file.load_network().unwrap();
    let allocation = Allocation::new(&file, &network).unwrap();
    let pair = Pair { model: Model::default(), network, file, allocation };
    let found = Certificate::new(&pair.file, &pair.network, &pair.model, &pair.allocation, |_, _| {}).unwrap();
    assert!(!found.is_certified());
    assert_eq!(found.pairs[0].sharing.hosts.len(), 4);
    let mean = |run: &Option<(Vec<Time>, u128)>| {
        let durations = &run.as_ref().unwrap().0;
        durations.iter().map(|t| t.seconds()).sum::<f64>() / durations.len() as f64
    };
    let [together, alone] = [pair.run([true, true]), pair.run([true, false])].map(|run| mean(&run[0]));
    assert!(together > 1.5 * alone, "{together} {alone}");
}
