//! What jobs send is what they receive, and all jobs together are all that there is.

use optiq_net::{LinkId, Network};
use optiq_sim::{
    Delivery, Host, Layout, Model, Notice, Outcome, Process, Program, Recording, RunOptions, simulate_jobs,
};
use proptest::prelude::*;

/// Sends messages at once, the first ones as a warm-up.
#[derive(Clone, Debug, Default)]
struct Sends {
    messages: Vec<(u32, u64)>,
    warm_up: usize,
}

impl Program for Sends {
    fn start(&mut self, host: &mut Host<'_>) {
        host.warm_up(true);
        for (number, &(to, bytes)) in self.messages.iter().enumerate() {
            if number == self.warm_up {
                host.warm_up(false);
            }
            let notice = [Notice::None, Notice::Left, Notice::Received, Notice::Put][number % 4];
            host.send(to, bytes, 0, notice);
        }
    }

    fn received(&mut self, _: &mut Host<'_>, _: Delivery) {}
}

const HOSTS: u32 = 16;

/// Host and job of up to 40 processes, and the messages of each: to which (modulo their number), and how large.
fn jobs() -> impl Strategy<Value = (Vec<Process>, Vec<Sends>)> {
    let process = (0..HOSTS, 0u16..4).prop_map(|(host, job)| Process { host, job });
    let messages = prop::collection::vec((any::<u32>(), 0u64..30_000), 0..5);
    let sends = (messages, 0usize..4).prop_map(|(messages, warm_up)| Sends { messages, warm_up });
    prop::collection::vec((process, sends), 1..40).prop_map(|all| {
        let count = all.len() as u32;
        let (processes, mut programs): (Vec<Process>, Vec<Sends>) = all.into_iter().unzip();
        programs.iter_mut().flat_map(|p| &mut p.messages).for_each(|message| message.0 %= count);
        (processes, programs)
    })
}

fn run(spec: &str, routing: &str, layout: &Layout, programs: &[Sends], threads: usize) -> Outcome {
    let network = Network::from_spec(spec).unwrap();
    let mut model = Model::for_topology(spec);
    model.host.eager_bytes = 10_000;
    let programs = programs.iter().map(|program| Box::new(program.clone()) as Box<dyn Program>).collect();
    let routing = routing.parse().unwrap();
    let options = RunOptions { routing, threads, series: Recording::Links, ..RunOptions::default() };
    simulate_jobs(&network, &model, layout, programs, &options).unwrap()
}

/// Sums over jobs are what the outcome says.
fn adds_up(outcome: &Outcome) {
    let sum = |of: &dyn Fn(&optiq_sim::JobOutcome) -> u64| outcome.jobs.iter().map(of).sum::<u64>();
    assert_eq!(sum(&|job| job.packets), outcome.packets);
    assert_eq!(sum(&|job| job.messages), outcome.messages);
    assert_eq!(sum(&|job| job.payload_bytes), outcome.payload_bytes);
    assert_eq!(sum(&|job| job.detours), outcome.detours);
    assert_eq!(sum(&|job| job.packet_latency.len()), outcome.packet_latency.len());
    assert_eq!(sum(&|job| job.message_latency.len()), outcome.message_latency.len());
    for (link, &bytes) in outcome.link_bytes.iter().enumerate() {
        assert_eq!(sum(&|job| job.link_bytes[link]), bytes, "link {link}");
    }
    let series = outcome.series.as_ref().unwrap();
    assert_eq!(series.jobs.len(), if outcome.jobs.len() > 1 { outcome.jobs.len() } else { 0 });
    for (of, job) in series.jobs.iter().zip(&outcome.jobs) {
        assert_eq!(of.delivered_bytes.iter().sum::<u64>(), job.payload_bytes);
        for (link, &bytes) in job.link_bytes.iter().enumerate() {
            assert_eq!(of.bytes.iter().map(|row| row[link]).sum::<u64>(), bytes, "{:?}", LinkId(link as u32));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn jobs_receive_what_they_send((processes, programs) in jobs(), network in 0usize..3) {
        let (spec, routing) =
            [("torus:4x4", "adaptive"), ("fattree:k=4", "adaptive-up"), ("fattree:k=4", "fabric")][network];
        let layout = Layout::new(processes.clone());
        let outcome = run(spec, routing, &layout, &programs, 1);
        let mut sent = vec![(0, 0, 0); layout.jobs()];
        for (program, from) in programs.iter().zip(&processes) {
            for (number, &(to, bytes)) in program.messages.iter().enumerate() {
                // Messages on a host are copies.
                if processes[to as usize].host != from.host {
                    let job = &mut sent[usize::from(from.job)];
                    *job = (job.0 + 1, job.1 + bytes, job.2 + u64::from(number >= program.warm_up));
                }
            }
        }
        let counted = |job: &optiq_sim::JobOutcome| (job.messages, job.payload_bytes, job.message_latency.len());
        prop_assert_eq!(outcome.jobs.iter().map(counted).collect::<Vec<_>>(), sent);
        adds_up(&outcome);
        let other = run(spec, routing, &layout, &programs, 3);
        prop_assert_eq!((other.fingerprint(), other.series), (outcome.fingerprint(), outcome.series));
    }
}
