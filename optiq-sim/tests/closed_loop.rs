//! The closed loop in the simulator: plans follow a load that they are not told.
#![allow(clippy::unwrap_used, reason = "tests")]

use optiq_net::{LinkId, Network, NodeId};
use optiq_sim::Policy;
use optiq_sim::jobs::allocation::Allocation;
use optiq_sim::jobs::closed_loop::{Fixed, LoopSeries, LoopSetting, Source};
use optiq_sim::jobs::file::JobFile;
use optiq_sim::jobs::program_spec::AllToAllVAlgorithm;

const CALLS: usize = 12;

fn with<R>(text: &str, threads: usize, run: impl FnOnce(&LoopSetting<'_>) -> R) -> R {
    let file = JobFile::parse(text, "test").unwrap();
    let network = file.load_network().unwrap();
    let model = file.load_model(&network).unwrap();
    let allocation = Allocation::new(&file, &network).unwrap();
    run(&LoopSetting {
        file: &file,
        network: &network,
        model: &model,
        allocation: &allocation,
        threads,
        min_gain: 1.02,
    })
}

fn job(name: &str, hosts: &str, program: &str, more: &str) -> String {
    format!("[[job]]\nname = \"{name}\"\nplacement = \"{hosts}\"\nprogram = \"{program}\"\n{more}\n")
}

/// A ring of eight hosts: four exchange, and each of the other four sends to the next of them.
fn ring() -> String {
    format!(
        "network = \"torus:8,capacity=1GB/s\"\nseed = 3\n{}{}",
        job("exchange", "hosts:0-3", "alltoallv,message=2MB,demands=random;count=4;seed=5", ""),
        job("load", "hosts:4-7", "open,message=32KB,rate=300MB/s,shift=1", "samples = 200\nmeasured = false")
    )
}

/// The fat tree of the study, with smaller messages.
fn fat_tree() -> String {
    let text = std::fs::read_to_string("../data/jobs/closed-loop-fattree.toml").unwrap();
    text.replace("message=4MB", "message=1MB")
}

/// The slowest call of the second half of a phase. MPI may have a trial in it.
fn settled(series: &LoopSeries, phase: usize) -> f64 {
    let (by_mpi, planned): (Vec<_>, Vec<_>) = series.phases[phase][CALLS / 2..].iter().partition(|call| call.by_mpi);
    assert!(by_mpi.len() <= 1, "{series:?}");
    planned.iter().map(|call| call.seconds).fold(0.0, f64::max)
}

#[test]
fn nothing_changes_without_a_load_and_any_number_of_threads_finds_the_same() {
    let of = |threads| {
        with(&ring(), threads, |setting| setting.follow(Source::LegTimes, &[None, Some(1)], 4).unwrap().phases)
    };
    let one = of(1);
    assert!(one[0].iter().all(|call| !call.took_over && call.busy_links.is_empty()), "{one:?}");
    assert_eq!(one, of(2));
    assert_eq!(one, of(3));
}

/// The fat tree of the study, smaller: the loop finds a plan that is at least a fifth faster than the one that does not know the load, within six calls,
/// keeps it, and is back where it was when the load has ended.
#[test]
fn a_load_is_followed_on_a_fat_tree() {
    with(&fat_tree(), 1, |setting| {
        let phases = [None, Some(1), None];
        let series = setting.follow(Source::LegTimes, &phases, CALLS).unwrap();
        let unaware = setting.fixed(Fixed::Unaware, &phases, 2).unwrap();
        // A change of the load is no reason for another trial.
        assert!(series.phases.iter().flatten().filter(|call| call.by_mpi).count() <= 1, "{series:?}");
        assert!(settled(&series, 1) * 1.2 <= unaware[1][0], "{series:?} {unaware:?}");
        assert!(settled(&series, 2) <= 1.05 * unaware[0][0], "{series:?} {unaware:?}");
        assert!(!series.phases[1].last().unwrap().busy_links.is_empty(), "{series:?}");
        // Calls of the same plan differ by the load's random numbers alone.
        let mpi = setting.fixed(Fixed::Mpi(AllToAllVAlgorithm::Linear, Policy::AdaptiveUp), &[None], 2).unwrap();
        assert!((mpi[0][0] / mpi[0][1] - 1.0).abs() < 0.05, "{mpi:?}");
    });
}

/// The same with port counters: one change of the plan finds what there is to find, since counters show the links that carry nothing of ours as well.
#[test]
fn port_counters_show_all_of_a_load() {
    with(&fat_tree(), 1, |setting| {
        let phases = [None, Some(1), None];
        let series = setting.follow(Source::Counters, &phases, CALLS).unwrap();
        let [knows, unaware] = [Fixed::Knows, Fixed::Unaware].map(|side| setting.fixed(side, &phases, 2).unwrap());
        let [beside, after] = [1, 2].map(|phase| settled(&series, phase));
        assert!(beside <= 1.15 * knows[1][0], "{beside} {knows:?}");
        assert!(after <= 1.05 * unaware[0][0], "{after} {unaware:?}");
        let plans = series.phases.iter().map(|calls| calls.iter().filter(|call| call.took_over).count());
        assert_eq!(plans.collect::<Vec<_>>(), [0, 1, 1]);
        // All links that the load takes a third of and more, whether calls need them or not.
        let left = setting.left_beside(Some(1)).unwrap();
        let busy = &series.phases[1].last().unwrap().busy_links;
        for (link, whole) in (0..).map(LinkId).zip(setting.network.links()) {
            let is_busy = busy.iter().any(|(of, _)| *of == link);
            let share = left.link(link).capacity / whole.capacity;
            assert!(is_busy || share > 0.67, "{link:?}: {share} is left");
            assert!(!is_busy || share < 0.95, "{link:?}: {share} is left");
        }
    });
}

/// A fat tree whose switches choose the way up, which OPTIQ is not told: packets find their way around the load by themselves, those of direct
/// messages as those of MPI, and the loop makes nothing of times that no fixed route explains.
#[test]
fn where_switches_choose_nothing_is_blamed() {
    let text = fat_tree().replace("seed = 1", "seed = 3\nrouting = \"adaptive-up\"");
    with(&text, 1, |setting| {
        let phases = [None, Some(1)];
        let series = setting.follow(Source::LegTimes, &phases, CALLS).unwrap();
        let mpi = setting.fixed(Fixed::Mpi(AllToAllVAlgorithm::Linear, Policy::AdaptiveUp), &phases, 1).unwrap();
        for (calls, mpi) in series.phases.iter().zip(&mpi) {
            let mean = calls.iter().map(|call| call.seconds).sum::<f64>() / CALLS as f64;
            assert!(mean * 0.97 <= mpi[0], "{mpi:?} {series:?}");
            assert!(calls.iter().all(|call| !call.took_over && call.busy_links.is_empty()), "{series:?}");
        }
    });
}

/// By hand: hosts 4 to 7 of a ring send 300 MB/s to the next one, and the last to the first, three hops back; each of their links keeps 700 MB/s. A
/// window of twenty milliseconds begins and ends in the middle of messages.
#[test]
fn what_a_load_leaves_is_measured() {
    with(&ring(), 1, |setting| {
        let left = setting.left_beside(Some(1)).unwrap();
        let network: &Network = setting.network;
        for (from, to) in [(4, 5), (5, 6), (6, 7), (7, 6), (6, 5), (5, 4)] {
            let link = network.link_between(NodeId(from), NodeId(to)).unwrap();
            let share = left.link(link).capacity / network.link(link).capacity;
            assert!((share - 0.7).abs() < 0.06, "{from} to {to}: {share}");
        }
        let idle = network.link_between(NodeId(0), NodeId(1)).unwrap();
        assert_eq!(left.link(idle).capacity, network.link(idle).capacity);
        assert_eq!(setting.left_beside(None).unwrap().fingerprint(), network.fingerprint());
    });
}

#[test]
fn the_first_job_must_be_an_exchange() {
    let text = ring().replace("alltoallv,message=2MB,demands=random;count=4;seed=5", "pairs,message=1MB");
    let why = with(&text, 1, |setting| setting.follow(Source::LegTimes, &[None], 1).unwrap_err().to_string());
    assert!(why.contains("exchange") && why.contains("an alltoallv is expected"), "{why}");
}
