//! A simulation that is resumed from a checkpoint ends as an uninterrupted one: the same bits.
#![allow(clippy::unwrap_used, reason = "tests")]

use optiq_net::{Fingerprint, Network};
use optiq_sim::model::{Carry, Pipeline, Queues};
use optiq_sim::time::Time;
use optiq_sim::workload::exchange::{Method, exchange};
use optiq_sim::workload::goal::replay::replay;
use optiq_sim::workload::goal::schedule::Goal;
use optiq_sim::workload::message::Message;
use optiq_sim::workload::synthetic::{Gaps, Open, Pattern, Sizes};
use optiq_sim::{Checkpoints, End, Limits, Model, Policy, Program, RunOptions, SimError, simulate};
use optiq_transport::{Path, PathId, QueueOrder, Rank, ScheduleOptions};
use std::path::Path as File;
use std::sync::Mutex;
use std::time::Duration;

/// What a run found, how it ended, and how many events it had.
type Ran = Result<(Fingerprint, End, u64), SimError>;

/// Runs a simulation whole, then in pieces of `pieces` events, each of which goes on from the one before, on `threads`
/// threads.
fn in_pieces(name: &str, threads: usize, pieces: u64, run: &dyn Fn(&RunOptions<'_>) -> Ran) {
    let whole = run(&RunOptions { threads, ..RunOptions::default() }).unwrap();
    assert_eq!(whole.1, End::Finished);
    let kept = Mutex::new(Vec::new());
    let keep = |bytes: &[u8]| {
        *kept.lock().unwrap() = bytes.to_vec();
        Ok(())
    };
    let checkpoints = Some(Checkpoints { every: None, keep: &keep });
    let (mut last, mut rounds) = (None, 0);
    loop {
        // The last piece has no limit.
        let events = (rounds + 1 < pieces).then_some((rounds + 1) * whole.2 / pieces);
        let limits = Limits { events, ..Limits::default() };
        // Going on, the number of threads is that of the checkpoint.
        let threads = if last.is_none() { threads } else { 1 };
        let options = RunOptions { threads, limits, checkpoints, resume: last.as_deref(), ..RunOptions::default() };
        let ran = run(&options).unwrap_or_else(|e| panic!("{name}: {e}"));
        rounds += 1;
        if ran.1 == End::Finished {
            assert_eq!(ran.0, whole.0, "{name} on {threads} threads, in {rounds} pieces");
            break;
        }
        assert!(ran.1 == End::EventLimit && ran.2 < whole.2, "{name}: {:?}", ran.1);
        last = Some(std::mem::take(&mut *kept.lock().unwrap()));
    }
    assert!(rounds > pieces / 2, "{name}: {rounds} pieces");
}

fn open(spec: &str, model: &Model, routing: Policy, options: &RunOptions<'_>) -> Ran {
    let network = Network::from_spec(spec).unwrap();
    let hosts = network.hosts() as u32;
    let sizes = Sizes::Either(3000, 20_000);
    let gaps = Gaps::Poisson(Time::picoseconds(3_000_000));
    let open = Open { pattern: Pattern::Uniform, gaps, sizes, messages: 8, hosts };
    let programs = (0..hosts).map(|_| Box::new(open.clone()) as Box<dyn Program>).collect();
    let o = simulate(&network, model, programs, &RunOptions { routing, ..*options })?;
    Ok((o.fingerprint(), o.end, o.events))
}

#[test]
fn every_preset_and_routing_goes_on() {
    for (preset, spec, routing) in [
        ("bgq", "torus:4x2x2x4x2,capacity=2GB/s", "fabric"),
        ("bgq", "torus:4x4x2,capacity=2GB/s", "adaptive"),
        ("bgq-pipeline", "torus:4x4x2,capacity=2GB/s", "fabric"),
        ("fattree-12.5", "fattree:6x6x4:1x6x2:1x1x3,capacity=12.5GB/s", "fabric"),
        ("fattree-12.5", "fattree:k=4,capacity=12.5GB/s", "adaptive-up"),
        ("dragonfly+3456", "dragonfly+:p=2,l=4,s=4,h=4,terminal=17GB/s,local=5.6GB/s,global=4.7GB/s", "fpar"),
        ("edison", "dragonfly:p=2,a=4,h=2,capacity=5GB/s", "par"),
    ] {
        let mut model = Model::read(preset).unwrap();
        model.host.eager_bytes = 10_000;
        if (preset, routing) == ("fattree-12.5", "fabric") {
            // Routers with a clock have more to remember.
            model.router.pipeline = Some(Pipeline { cycle_picoseconds: 50_000, ..Pipeline::default() });
        }
        for queues in [Queues::Inputs, Queues::Outputs] {
            if queues == Queues::Outputs {
                (model.router.queues, model.router.pipeline) = (queues, None);
            }
            for threads in [1, 2] {
                let name = format!("{routing} on {spec}, queues at {queues:?}");
                in_pieces(&name, threads, 4, &|o| open(spec, &model, routing.parse().unwrap(), o));
            }
        }
    }
}

#[test]
fn exchanges_and_replays_go_on() {
    let network = Network::from_spec("torus:3x3,capacity=2GB/s").unwrap();
    let message = |source, destination, bytes| Message { source, destination, bytes, class: 0 };
    let messages = [message(0, 4, 3_000_000), message(1, 8, 1_000_000), message(2, 2, 5000)];
    let path = |id, ranks: &[u32], bytes, offset| Path {
        id: PathId(id),
        ranks: ranks.iter().copied().map(Rank).collect(),
        bytes,
        source_offset: offset,
        destination_offset: offset,
        starts_at: None,
        class: 0,
    };
    let paths = vec![
        path(0, &[0, 1, 4], 1_000_000, 0),
        path(1, &[0, 3, 4], 2_000_000, 1_000_000),
        path(2, &[1, 2, 8], 500_000, 0),
        path(3, &[1, 7, 8], 500_000, 500_000),
    ];
    let chunked = |carry| {
        let (paths, options, order) = (paths.clone(), ScheduleOptions::default(), QueueOrder::default());
        Method::Paths { paths, options, order, carry }
    };
    let model = Model::read("bgq").unwrap();
    let mut one_way_at_a_time = model.clone();
    one_way_at_a_time.host.both_ways_bytes = Some(100_000);
    let both_ways = [message(0, 4, 3_000_000), message(4, 0, 2_000_000), message(1, 4, 100)];
    let exchanged = |model: &Model, messages: &[Message], method: &Method, options: &RunOptions<'_>| -> Ran {
        let done = exchange(&network, model, messages, method, options)?;
        // When each host was done is no part of the outcome, but of what is gone on from.
        let mut all = optiq_net::fingerprint::Hasher::new("done");
        all.bytes(&done.outcome.fingerprint().0.to_le_bytes());
        done.done.iter().for_each(|time| all.u64(time.as_picoseconds()));
        Ok((all.finish(), done.outcome.end, done.outcome.events))
    };
    for threads in [1, 2] {
        let methods = [chunked(Carry::TwoSided), chunked(Carry::OneSided), Method::Linear, Method::Pairwise];
        for method in &methods {
            in_pieces(&format!("{method:?}"), threads, 7, &|options| exchanged(&model, &messages, method, options));
        }
        in_pieces("one way at a time", threads, 7, &|options| {
            exchanged(&one_way_at_a_time, &both_ways, &Method::Linear, options)
        });
        for file in ["ring-allreduce-16.goal", "halo-8.goal"] {
            let file = File::new(env!("CARGO_MANIFEST_DIR")).join("../data/goal").join(file);
            let goal = Goal::read(&file).unwrap();
            let network = Network::from_spec("torus:4x4").unwrap();
            in_pieces(&file.display().to_string(), threads, 5, &|options| {
                let done = replay(&network, &model, &goal, options)?;
                Ok((done.outcome.fingerprint(), done.outcome.end, done.outcome.events))
            });
        }
    }
}

/// With a checkpoint every millisecond of its own time, nothing changes, and the last one leads to the same end.
#[test]
fn checkpoints_on_the_way_change_nothing() {
    let spec = "fattree:k=4,capacity=12.5GB/s";
    let model = Model::for_topology(spec);
    for threads in [1, 2] {
        let kept = Mutex::new((0, Vec::new()));
        let keep = |bytes: &[u8]| {
            let mut kept = kept.lock().unwrap();
            *kept = (kept.0 + 1, bytes.to_vec());
            Ok(())
        };
        let run = |options: &RunOptions<'_>| {
            let network = Network::from_spec(spec).unwrap();
            let (pattern, sizes) = (Pattern::Uniform, Sizes::Fixed(5000));
            let gaps = Gaps::Poisson(Time::picoseconds(1_000_000));
            let open = Open { pattern, gaps, sizes, messages: 2000, hosts: 16 };
            let programs = (0..16).map(|_| Box::new(open.clone()) as Box<dyn Program>).collect();
            simulate(&network, &model, programs, options).unwrap().fingerprint()
        };
        let plain = RunOptions { threads, ..RunOptions::default() };
        let whole = run(&plain);
        let every = Some(Duration::from_millis(1));
        assert_eq!(run(&RunOptions { checkpoints: Some(Checkpoints { every, keep: &keep }), ..plain }), whole);
        let (times, last) = kept.into_inner().unwrap();
        assert!(times > 0, "no checkpoint was made");
        assert_eq!(run(&RunOptions { resume: Some(&last), ..plain }), whole);
    }
}

#[test]
fn others_and_damaged_ones_are_refused() {
    let (spec, model) = ("torus:4x4", Model::for_topology("torus:4x4"));
    let kept = Mutex::new(Vec::new());
    let keep = |bytes: &[u8]| {
        *kept.lock().unwrap() = bytes.to_vec();
        Ok(())
    };
    let limits = Limits { events: Some(500), ..Limits::default() };
    let checkpoints = Some(Checkpoints { every: None, keep: &keep });
    let options = RunOptions { limits, checkpoints, ..RunOptions::default() };
    assert_eq!(open(spec, &model, Policy::Fabric, &options).unwrap().1, End::EventLimit);
    let good = kept.lock().unwrap().clone();
    let resume = |bytes: &[u8], spec: &str, model: &Model, seed: u64| {
        let ran = open(spec, model, Policy::Fabric, &RunOptions { resume: Some(bytes), seed, ..RunOptions::default() });
        ran.map(|r| r.1).map_err(|e| e.to_string())
    };
    assert_eq!(resume(&good, spec, &model, 0), Ok(End::Finished));
    let mut slower = model.clone();
    slower.router.delay_picoseconds += 1;
    for (spec, model, seed) in [("torus:4x5", &model, 0), (spec, &slower, 0), (spec, &model, 1)] {
        let text = resume(&good, spec, model, seed).unwrap_err();
        assert!(text.contains("of another simulation"), "{text}");
    }
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 4;
    for (bytes, why) in [
        (&flipped[..], "damaged"),
        (&good[..good.len() - 9], "damaged"),
        (&good[..20], "damaged"),
        (b"PNG", "OPTIQSIM"),
    ] {
        let text = resume(bytes, spec, &model, 0).unwrap_err();
        assert!(text.contains(why), "{text}");
    }
    // A disk that is full ends the run.
    let full = |_: &[u8]| Err("no space left on device".to_owned());
    let checkpoints = Some(Checkpoints { every: None, keep: &full });
    let text = open(spec, &model, Policy::Fabric, &RunOptions { checkpoints, ..options }).err().unwrap().to_string();
    assert!(text.contains("no space left"), "{text}");
}
