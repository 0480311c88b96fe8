//! Remedies of jobs that slow each other, with answers by hand.
//!
//! A ring of seven hosts with links of `c`. Job `others` sends from host 0 to host 3, over links 0-1, 1-2 and 2-3, and loads them with a part
//! `u`. Job `exchange` is on hosts 1, 2 and 5 and moves `V` bytes from 1 to 2: over link 1-2, and the other way around
//! the ring, which the fabric never takes, through host 5. A plan as if it were alone halves `V`; beside the others it needs `V / 2` over
//! `(1 - u) c`. A plan that knows `u` fills both ways in the same time, which is also the bound, as hosts 1 and 2 have no other link:
//!
//! ```text
//!     alone:  V / (2 (1 - u) c)        beside:  V / ((2 - u) c)        MPI:  V / ((1 - u) c)
//! ```

#![allow(clippy::unwrap_used, reason = "tests")]

use optiq_sim::Model;
use optiq_sim::jobs::cures::exchange_bounds::ExchangeBounds;
use optiq_sim::jobs::cures::remedies::{Action, ExchangeMethod, RemedyKind, Selection};
use optiq_sim::jobs::cures::trial::{JobFigures, TrialOptions, Trials, try_out};
use optiq_sim::jobs::file::JobFile;
use optiq_sim::jobs::program_spec::AllToAllVAlgorithm;
use std::fs;
use std::path::Path;

/// Bytes from host 1 to host 2.
const BYTES: f64 = 16e6;
/// Bytes per second of a link.
const RATE: f64 = 1e9;

/// A machine without overheads, so that only links count.
fn model(file: &JobFile) -> Model {
    let mut model = Model::for_network(&file.load_network().unwrap());
    model.link.header_bytes = 0;
    model.link.efficiency = 1.0;
    model.host.injection_bytes_per_second = 1e15;
    model.host.ejection_bytes_per_second = 1e15;
    model
}

/// The jobs of the head of the file; `others` is the program of the other job. Demands are in a file of this name.
fn jobs(name: &str, others: &str) -> JobFile {
    let demands = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.txt"));
    fs::write(&demands, "0 1 16000000\n").unwrap();
    let text = format!(
        "network = \"torus:7\"\nseed = 3\n\
         [[job]]\nname = \"exchange\"\nplacement = \"hosts:1+2+5\"\nsamples = 5\nwarmup = 1\n\
         program = \"alltoallv,message=1MB,demands=file:{},algorithm=linear\"\n\
         [[job]]\nname = \"others\"\nplacement = \"hosts:0+3\"\nmeasured = false\nprogram = \"{others}\"\n",
        demands.display()
    );
    JobFile::parse(&text, "ring.toml").unwrap()
}

fn try_exchanges(file: &JobFile, threads: usize) -> Trials {
    let network = file.load_network().unwrap();
    let selection = Selection { kinds: &[RemedyKind::Exchange], ..Selection::default() };
    let options = TrialOptions { threads, ..TrialOptions::default() };
    try_out((file, &network, &model(file)), &selection, &options).unwrap()
}

fn figures(trials: &Trials, wanted: ExchangeMethod) -> &JobFigures {
    let is_wanted = |action: &Action| matches!(action, Action::Exchange { method, .. } if *method == wanted);
    let tried = trials.tried.iter().find(|tried| is_wanted(&tried.remedy.action)).unwrap();
    tried.jobs[0].as_ref().unwrap()
}

fn close(found: f64, expected: f64, part: f64) -> bool {
    (found / expected - 1.0).abs() < part
}

#[test]
fn a_plan_beside_measured_load_leaves_the_link_as_computed_by_hand() {
    // 16,384 bytes each 40.96 us: u = 0.4.
    let file = jobs("cures-half", "incast,message=16384B,root=1,interval=40.96us,samples=400");
    let trials = try_exchanges(&file, 2);
    let u = 0.4;
    let [exchange] = &trials.exchanges[..] else { panic!("one exchange") };
    // Links 0-1, 1-2 and 2-3 of the ring.
    let shares: Vec<f64> = exchange.busiest.iter().take(3).map(|(_, share)| *share).collect();
    assert!(shares.iter().all(|&share| close(share, u, 0.01)), "{shares:?}");
    let ExchangeBounds { whole, left, .. } = exchange;
    let time = |part: f64| BYTES / (part * RATE);
    for (found, expected) in [
        (whole.bound_seconds, time(2.0)),
        (whole.fabric_seconds, time(1.0)),
        (whole.alone_seconds, time(2.0)),
        (left.bound_seconds, time(2.0 - u)),
        (left.fabric_seconds, time(1.0 - u)),
        (left.alone_seconds, time(2.0 * (1.0 - u))),
        (left.beside_seconds, time(2.0 - u)),
    ] {
        assert!(close(found, expected, 0.015), "{found} {expected}: {exchange:?}");
    }
    // What was computed is simulated, within 4 %.
    let [alone, beside] = [ExchangeMethod::Alone, ExchangeMethod::Beside].map(|method| figures(&trials, method));
    let mpi = figures(&trials, ExchangeMethod::Mpi(AllToAllVAlgorithm::Linear, None));
    assert!(close(mpi.together.median.value, time(1.0 - u), 0.04), "{mpi:?}");
    assert!(close(alone.together.median.value, time(2.0 * (1.0 - u)), 0.04), "{alone:?}");
    assert!(close(beside.together.median.value, left.bound_seconds, 0.04), "{beside:?}");
    assert!(close(alone.together.median.value / beside.together.median.value, 4.0 / 3.0, 0.04));
    // Alone the plan for two free ways is the better one.
    assert!(alone.alone.median.value < beside.alone.median.value);
}

#[test]
fn a_link_that_others_fill_is_left_and_threads_make_no_difference() {
    // One message after the other, without a pause.
    let file = jobs("cures-full", "incast,message=4MB,root=1,samples=20");
    let trials = try_exchanges(&file, 1);
    let [exchange] = &trials.exchanges[..] else { panic!("one exchange") };
    assert!(exchange.busiest[0].1 > 0.95, "{:?}", exchange.busiest);
    // A tenth of the link is left: V / 11 goes there, and 10 V / 11 the other way.
    assert!(close(exchange.left.beside_seconds, BYTES / (1.1 * RATE), 0.015), "{exchange:?}");
    assert!(close(exchange.left.alone_seconds, 5.0 * BYTES / RATE, 0.015), "{exchange:?}");
    let [alone, beside] = [ExchangeMethod::Alone, ExchangeMethod::Beside].map(|method| figures(&trials, method));
    // Routers serve both jobs in turn, so that half of V takes V / c on half of the link.
    assert!(close(alone.together.median.value, BYTES / RATE, 0.06), "{alone:?}");
    assert!(close(beside.together.median.value, BYTES / (1.1 * RATE), 0.06), "{beside:?}");
    // The others have more of the link, too.
    let slowdown = |method| {
        let is_wanted = |action: &Action| matches!(action, Action::Exchange { method: m, .. } if *m == method);
        let tried = trials.tried.iter().find(|tried| is_wanted(&tried.remedy.action)).unwrap();
        tried.jobs[1].as_ref().unwrap().slowdown.unwrap().mean.value
    };
    assert!(slowdown(ExchangeMethod::Beside) < slowdown(ExchangeMethod::Alone) - 0.2);
    assert_eq!(trials, try_exchanges(&file, 4));
}
