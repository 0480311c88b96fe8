//! K8: fully progressive adaptive routing.

use super::system::{MODEL, System};
use super::table::judged_if;
use crate::claims::setting::Setting;
use crate::failure::Failure;
use crate::findings::{Cell, Column, Findings, Row, Verdict, column};
use optiq_net::Network;
use optiq_sim::jobs::placed::{PlacedJob, simulate_placed};
use optiq_sim::{Model, Outcome, Policy, RunOptions, channel_dependencies};

const COLUMNS: &[Column] = &[
    column("case", "case", 0),
    column("routing", "routing", 0),
    column("simulated", "simulated", 3),
    column("unit", "unit", 0),
    column("asked for", "asked", 0),
];

/// Small networks on which every decision in every state is looked at: the wiring of the system's, and others.
const EXPLORED: [&str; 3] =
    ["dragonfly+:p=1,l=2,s=2,h=2,g=3", "dragonfly+:p=1,l=3,s=2,h=4,g=3", "dragonfly+:p=1,l=2,s=2,h=2,g=5"];
/// Messages of each host.
const MESSAGES: u64 = 150;
/// The machine: the preset of such networks. What is claimed is of the routing, so the switches that were fitted to the document's baselines
/// are only shown beside it.
const PRESET: &str = "dragonfly+3456";

fn row(case: &str, routing: Policy, (value, unit): (f64, &str), asked: &str, verdict: Verdict) -> Row {
    let asked = if asked.is_empty() { Cell::Nothing } else { asked.into() };
    Row::new(vec![case.into(), routing.to_string().into(), value.into(), unit.into(), asked], verdict)
}

/// All hosts send messages of 4 KB to those one group further.
fn adversarial(
    system: &System<'_>,
    routing: Policy,
    interval_nanoseconds: u64,
    messages: u64,
) -> Result<Outcome, Failure> {
    let hosts = system.network.hosts() as u32;
    let shift = hosts / system.published.groups;
    let program =
        format!("tornado,shift={shift},message=4096B,interval={interval_nanoseconds}ns,warmup=0,samples={messages}");
    let job = PlacedJob { program: program.parse()?, hosts: (0..hosts).collect(), servers: 0, is_measured: true };
    let options = RunOptions { threads: 1, seed: 1, routing, ..RunOptions::default() };
    Ok(simulate_placed(&system.network, &system.model, &[job], &options)?.outcome)
}

/// K8.
pub(in super::super) fn progressive(setting: &Setting) -> Result<Findings, Failure> {
    let mut system = System::new(setting)?;
    let fitted = std::mem::replace(&mut system.model, Model::read(PRESET)?);
    let messages = (MESSAGES / setting.scale.unwrap_or(1)).max(1);
    let fpar = Policy::Fpar { threshold: Policy::FPAR_THRESHOLD };
    let mut rows = Vec::new();
    for spec in EXPLORED {
        setting.progress.now(format!("dependencies on {spec}"));
        let found = channel_dependencies(&Network::from_spec(spec)?, fpar)?;
        let case = format!("{spec}: virtual lanes; dependencies between channels: {}", found.dependencies);
        let holds = found.is_acyclic && found.classes == 2;
        let why = || format!("{spec}: {} virtual lanes, acyclic: {}", found.classes, found.is_acyclic);
        rows.push(row(&case, fpar, (f64::from(found.classes), "lanes"), "2, without a cycle", Verdict::of(holds, why)));
    }
    // 48 cables for 384 hosts: at one message each 14 us the direct ones carry half of what they can, at 3 us 2.3 times that.
    for (interval, load, is_above) in [(14_000, 0.5, false), (3_000, 2.33, true)] {
        for threshold in [0.0, 0.25, 0.5, 0.75, 1.0] {
            let routing = Policy::Fpar { threshold };
            setting.progress.now(format!("{routing} at {load} of the direct cables"));
            let found = adversarial(&system, routing, interval, messages)?;
            let percent = found.detours as f64 / found.packets.max(1) as f64 * 100.0;
            let case = format!("to the next group, {load} times what the direct cables carry: off minimal paths");
            let (asked, holds) = match (threshold, is_above) {
                (0.0, _) => ("0", percent == 0.0),
                (0.5, false) => ("below 1 %", percent < 1.0),
                (0.5, true) => ("above 10 %", percent > 10.0),
                _ => ("", true),
            };
            let verdict = match asked {
                "" => Verdict::NotJudged,
                _ => Verdict::of(holds, || format!("{routing} at {load}: {percent:.2} % of packets")),
            };
            rows.push(row(&case, routing, (percent, "%"), asked, verdict));
        }
    }
    rows.extend(gain(&system, fpar, messages, true)?);
    system.model = fitted;
    rows.extend(gain(&system, fpar, messages, false)?);
    let note = format!(
        "Dependencies: every decision in every state that can be reached, with queues empty or endless. Traffic to the next group: all \
         3,456 hosts, {messages} messages of 4,096 bytes each to the host 384 further, one each interval from random starts. Minimal \
         routing: the fabric's own, with one cable for each destination. How many times as good: the time until all have arrived, with \
         four messages each microsecond offered (0.25 us), so that links are the limit. A detour takes two cables in place of one: of \
         384 cables of a group 48 are direct, so that at most 48 + 336 / 2 = 216, or 4.5 times as many, serve such traffic. Model `data/sim/{PRESET}.toml`, as \
         before decision 081; the last rows have the switches that were fitted for K2 to K7 (`data/sim/{MODEL}.toml`), whose larger buffers fill before packets leave \
         minimal paths: with them this claim would not be shown."
    );
    Ok(Findings::new(COLUMNS, judged_if(system.judged, rows), vec![note]))
}

/// How much sooner everything has arrived than by minimal routing.
fn gain(system: &System<'_>, fpar: Policy, messages: u64, is_judged: bool) -> Result<Vec<Row>, Failure> {
    let run = |routing| adversarial(system, routing, 250, messages);
    let machine = if is_judged { "" } else { ", fitted switches" };
    let case = format!("to the next group, far above what the direct cables carry: until all have arrived{machine}");
    let minimal = run(Policy::Fabric)?.time.seconds();
    let adaptive = run(fpar)?.time.seconds();
    let asked = system.published.adversarial_times_minimal;
    let times = minimal / adaptive;
    let (words, verdict) = match is_judged {
        true => (
            format!("at least {asked:.0} times minimal's"),
            Verdict::of(times >= asked, || format!("{times:.2} times as fast as minimal routing")),
        ),
        false => (String::new(), Verdict::NotJudged),
    };
    Ok(vec![
        row(&case, Policy::Fabric, (minimal * 1e6, "us"), "", Verdict::NotJudged),
        row(&case, fpar, (adaptive * 1e6, "us"), "", Verdict::NotJudged),
        row(&format!("how many times as fast as minimal routing{machine}"), fpar, (times, "times"), &words, verdict),
    ])
}
