//! What `optiq simulate` prints.

use super::queues::Fullest;
use super::report::Page;
use super::shown::{Shown, useful_part};
use crate::arguments::{Demands, default_mark};
use optiq_lower::choices::LegsChoice;
use optiq_net::Network;
use optiq_sim::model::Carry;
use optiq_sim::simulated_exchange::run::SimulatedRun;
use optiq_sim::time::Time;
use optiq_sim::{End, Model, Outcome, Policy};
use optiq_view::context::Context;
use optiq_view::table;
use serde::{Serialize, Serializer};
use std::collections::BTreeSet;

/// Its keys are a contract with scripts.
#[derive(Serialize)]
pub struct ExchangeDocument<'a> {
    #[serde(flatten)]
    context: &'a Context,
    message_bytes: u64,
    model: &'a Model,
    routing: String,
    #[serde(skip)]
    is_routing_default: bool,
    runs: Vec<Figures>,
}

/// The figures of one run.
#[derive(Serialize)]
struct Figures {
    name: String,
    /// `finished`, or why it ended before.
    end: &'static str,
    complete: bool,
    seconds: f64,
    bytes_per_second: f64,
    /// The time of the first run of MPI over this run's, where both ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    times_as_fast_as_mpi: Option<f64>,
    link_bound_seconds: f64,
    wire_bound_seconds: f64,
    share_of_wire_bound: f64,
    /// What flows that share links fairly would take in place of packets, for MPI's messages all at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    flow_model_seconds: Option<f64>,
    /// When the last byte of each priority class had arrived, the most urgent first; if there is more than one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    classes: Vec<ClassTime>,
    paths: usize,
    /// Where chunks were stored and forwarded: planned or hops.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "by_name")]
    legs: Option<LegsChoice>,
    /// What carried them: two-sided or one-sided.
    #[serde(skip_serializing_if = "Option::is_none")]
    transport: Option<Carry>,
    messages: u64,
    packets: u64,
    events: u64,
    /// Packets that left their minimal paths.
    detours: u64,
    packet_latency_seconds: Quantiles,
    message_latency_seconds: Quantiles,
    link_bytes_max: u64,
    links_used: usize,
    /// The most bytes that ever waited in the buffers at one link's end, if what happens over time was wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting_bytes_most: Option<u64>,
    /// The same for one queue of each kind, if queues were wanted.
    #[serde(flatten)]
    fullest: Fullest,
    /// How long the intervals of its series are, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    series_interval_seconds: Option<f64>,
    /// Of all that was simulated: the same on any number of threads, with any checkpoints.
    outcome_fingerprint: String,
    simulation_seconds: f64,
}

/// What a priority class took.
#[derive(Serialize)]
struct ClassTime {
    class: u8,
    seconds: f64,
}

/// As the option is written.
fn by_name<S: Serializer>(legs: &Option<LegsChoice>, out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(&legs.unwrap_or(LegsChoice::Planned))
}

/// Why a run ended.
pub fn end_of(end: End) -> &'static str {
    match end {
        End::Finished => "finished",
        End::Measured => "all samples measured",
        End::TimeLimit => "limit of simulated time",
        End::EventLimit => "limit of events",
        End::WallLimit => "limit of wall time",
        End::Stopped => "interrupted",
    }
}

/// The most bytes that ever waited in the buffers at one link's end, if it is known.
pub fn waiting_most(outcome: &Outcome) -> Option<u64> {
    outcome.series.as_ref().map(|series| series.waiting_most.iter().copied().max().unwrap_or(0))
}

/// Of a distribution.
#[derive(Serialize)]
pub struct Quantiles {
    mean: f64,
    pub median: f64,
    p90: f64,
    pub p99: f64,
    max: f64,
}

impl Quantiles {
    pub fn of(histogram: &hdrhistogram::Histogram<u64>) -> Self {
        let at = |q| Time::picoseconds(histogram.value_at_quantile(q)).seconds();
        // A mean is no whole number of picoseconds.
        let mean = histogram.mean() / Time::SECOND.as_picoseconds() as f64;
        let max = Time::picoseconds(histogram.max()).seconds();
        Self { mean, median: at(0.5), p90: at(0.9), p99: at(0.99), max }
    }
}

impl<'a> ExchangeDocument<'a> {
    pub fn new(
        context: &'a Context,
        demands: &Demands,
        model: &'a Model,
        routing: Option<Policy>,
        runs: &[SimulatedRun],
    ) -> Self {
        let useful = useful_part(model);
        let bytes = context.demand_bytes as f64;
        let mpi = runs.iter().find(|run| run.executor.is_none() && run.finished()).map(SimulatedRun::seconds);
        let runs = runs.iter().map(|run| {
            let (o, seconds, wire) = (&run.exchanged.outcome, run.seconds(), run.link_bound / useful);
            let complete = run.finished();
            Figures {
                name: run.name.clone(),
                end: end_of(o.end),
                complete,
                seconds,
                bytes_per_second: if complete && seconds > 0.0 { bytes / seconds } else { 0.0 },
                times_as_fast_as_mpi: mpi
                    .filter(|_| complete && seconds > 0.0 && runs.len() > 1)
                    .map(|mpi| mpi / seconds),
                link_bound_seconds: run.link_bound,
                wire_bound_seconds: wire,
                share_of_wire_bound: if complete && seconds > 0.0 { wire / seconds } else { 0.0 },
                flow_model_seconds: run.flow_seconds,
                classes: run
                    .class_seconds()
                    .into_iter()
                    .rev()
                    .map(|(class, seconds)| ClassTime { class, seconds })
                    .collect(),
                paths: run.paths,
                legs: run.executor.map(|e| e.legs),
                transport: run.executor.map(|e| e.carry),
                messages: o.messages,
                packets: o.packets,
                events: o.events,
                detours: o.detours,
                packet_latency_seconds: Quantiles::of(&o.packet_latency),
                message_latency_seconds: Quantiles::of(&o.message_latency),
                link_bytes_max: o.link_bytes.iter().copied().max().unwrap_or(0),
                links_used: o.link_bytes.iter().filter(|&&b| b > 0).count(),
                waiting_bytes_most: waiting_most(o),
                fullest: Fullest::of(o),
                series_interval_seconds: o.series.as_ref().map(|series| series.interval.seconds()),
                outcome_fingerprint: o.fingerprint().to_string(),
                simulation_seconds: o.wall_seconds,
            }
        });
        Self {
            context,
            message_bytes: demands.message,
            model,
            routing: routing.unwrap_or_default().to_string(),
            is_routing_default: routing.is_none(),
            runs: runs.collect(),
        }
    }

    /// All figures, for people: a row of names, then one for each figure.
    pub fn rows(&self, net: &Network) -> Vec<Vec<String>> {
        let row = |label: &str, cell: &dyn Fn(&Figures) -> String| {
            std::iter::once(label.to_owned()).chain(self.runs.iter().map(cell)).collect::<Vec<_>>()
        };
        // Four digits.
        let rate = |r: f64| {
            let unit = 10f64.powi((r.max(1.0).log10().floor() as i32 - 3).max(0));
            optiq_net::units::format_rate((r / unit).round() * unit)
        };
        let whole = |r: &Figures, cell: String| if r.complete { cell } else { "-".into() };
        let mut rows = vec![
            row("", &|r| r.name.clone()),
            row("time", &|r| {
                if r.complete { table::seconds(r.seconds) } else { format!("over {}", table::seconds(r.seconds)) }
            }),
            row("throughput", &|r| whole(r, rate(r.bytes_per_second))),
            row("link bound", &|r| table::seconds(r.link_bound_seconds)),
            row("with headers and protocol", &|r| table::seconds(r.wire_bound_seconds)),
            row("share of that bound", &|r| whole(r, table::percent(r.share_of_wire_bound))),
            row("by the flow model", &|r| r.flow_model_seconds.map_or("-".into(), table::seconds)),
            row("bytes on the busiest link", &|r| table::bytes(r.link_bytes_max as f64)),
            row("links used", &|r| format!("{} of {}", r.links_used, net.links().len())),
            row("paths", &|r| r.paths.to_string()),
            row("chunks stop", &|r| {
                let stop = |legs| if legs == LegsChoice::Hops { "at every host" } else { "as planned" };
                r.legs.map_or("-", stop).to_owned()
            }),
            row("chunks travel", &|r| r.transport.map_or("-", |carry| carry.name()).to_owned()),
            row("packet latency, median", &|r| table::seconds(r.packet_latency_seconds.median)),
            row("packet latency, 99 %", &|r| table::seconds(r.packet_latency_seconds.p99)),
            row("message latency, median", &|r| table::seconds(r.message_latency_seconds.median)),
            row("message latency, 99 %", &|r| table::seconds(r.message_latency_seconds.p99)),
            row("packets", &|r| r.packets.to_string()),
            row("events", &|r| r.events.to_string()),
            row("simulated in", &|r| table::seconds(r.simulation_seconds)),
        ];
        let classes: BTreeSet<u8> = self.runs.iter().flat_map(|r| r.classes.iter().map(|c| c.class)).collect();
        for class in classes {
            let cell = |r: &Figures| {
                let found = r.classes.iter().find(|c| c.class == class);
                found.map_or("-".into(), |c| table::seconds(c.seconds))
            };
            rows.insert(2, row(&format!("class {class} done"), &cell));
        }
        if self.runs.iter().any(|r| r.times_as_fast_as_mpi.is_some()) {
            let ratio = |r: &Figures| r.times_as_fast_as_mpi.map_or("-".into(), |ratio| format!("{ratio:.2} x"));
            rows.insert(2, row("times as fast as MPI", &ratio));
        }
        if self.runs.iter().any(|r| r.waiting_bytes_most.is_some()) {
            let most = |r: &Figures| r.waiting_bytes_most.map_or("-".into(), |most| table::bytes(most as f64));
            let last = rows.len() - 1;
            rows.insert(last, row("most waiting at a link's end", &most));
        }
        let known = |r: &&Figures| r.fullest.rows().any(|row| row.1.is_some());
        let names = self.runs.iter().find(known).into_iter().flat_map(|r| r.fullest.rows()).map(|row| row.0);
        for (i, name) in names.enumerate() {
            let cell = |r: &Figures| r.fullest.rows().nth(i).and_then(|row| row.1).unwrap_or("-".into());
            let last = rows.len() - 1;
            rows.insert(last, row(name, &cell));
        }
        rows
    }

    /// The page with these rows.
    pub fn page<'b>(&self, rows: &'b [Vec<String>], runs: &'b [Shown<'b>]) -> Page<'b> {
        let context = self.context;
        let background = context.background.as_ref().map(|file| format!("; background load {file}"));
        let subtitle = format!(
            "{}; model {}; routing {}{}",
            table::bytes(context.demand_bytes as f64),
            self.model.title,
            self.routing,
            background.unwrap_or_default()
        );
        Page { heading: format!("{} on {}", context.demands, context.topology), subtitle, figures: rows, runs }
    }

    /// For people; `hint` says how to resume runs that were ended early.
    pub fn text(&self, net: &Network, hint: &str) -> String {
        let mark = |what| default_mark(&self.context.defaults, what);
        let mut text = format!(
            "{} on {}: {}\nlinks of {}{}; model {}{}{}; routing {}{}\n\n{}",
            self.context.demands,
            self.context.topology,
            table::bytes(self.context.demand_bytes as f64),
            optiq_net::units::format_rate(net.unit_capacity()),
            mark("capacity"),
            self.model.title,
            mark("model"),
            // Which planner it is stands in the table.
            if self.context.defaults.contains(&"planner") { "; planner (default)" } else { "" },
            self.routing,
            if self.is_routing_default { " (default)" } else { "" },
            table::table(&self.rows(net)),
        );
        for run in self.runs.iter().filter(|r| !r.complete) {
            text.push_str(&format!(
                "\n{}: ended before the exchange did ({}); its figures are partial\n",
                run.name, run.end
            ));
            text.push_str(hint);
        }
        text
    }
}
