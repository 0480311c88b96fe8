//! The JSON document of `optiq throttle`.

use crate::commands::job_document::SlowdownValues;
use optiq_sim::jobs::closed_queue::{QueueFigures, Service};
use optiq_sim::jobs::file::JobFile;
use optiq_sim::jobs::throttle::{Observed, Throttle, Verified};
use serde::Serialize;

#[derive(Serialize)]
pub struct ThrottleDocument<'a> {
    title: &'a str,
    topology: &'a str,
    job: &'a str,
    target: String,
    clients: f64,
    servers: u32,
    service: &'static str,
    service_seconds: f64,
    think_seconds: f64,
    threshold_seconds: f64,
    /// From completion to start; zero if none is needed.
    window_seconds: f64,
    /// A client's cycle with the window over that without.
    cost: f64,
    without: ComputedDocument,
    with: ComputedDocument,
    /// Left out where nothing was simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    simulated: Option<Vec<SimulatedDocument<'a>>>,
}

#[derive(Serialize)]
struct ComputedDocument {
    response_seconds: f64,
    utilisation: f64,
    requests_per_second: f64,
}

#[derive(Serialize)]
struct SimulatedDocument<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    without: Option<ObservedDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    with: Option<ObservedDocument>,
}

#[derive(Serialize)]
struct ObservedDocument {
    mean_seconds: f64,
    cycle_seconds: f64,
    #[serde(flatten)]
    slowdown: Option<SlowdownValues>,
}

impl<'a> ThrottleDocument<'a> {
    pub fn new(file: &'a JobFile, found: &Throttle, verified: Option<&Verified>) -> Self {
        let queue = &found.queue;
        let simulated = verified.map(|verified| {
            let each = file.jobs.iter().zip(&verified.without).zip(&verified.with);
            each.map(|((job, without), with)| SimulatedDocument {
                name: &job.name,
                without: without.as_ref().map(observed),
                with: with.as_ref().map(observed),
            })
            .collect()
        });
        Self {
            title: &file.title,
            topology: &file.network,
            job: &file.jobs[found.job].name,
            target: found.target.to_string(),
            clients: queue.clients,
            servers: queue.servers,
            service: match queue.service {
                Service::Deterministic => "one-at-a-time",
                Service::Shared => "shared",
            },
            service_seconds: queue.service_seconds,
            think_seconds: queue.think_seconds,
            threshold_seconds: queue.threshold_seconds(),
            window_seconds: found.window.seconds(),
            cost: found.cost(),
            without: computed(&found.without),
            with: computed(&found.with),
            simulated,
        }
    }
}

fn computed(figures: &QueueFigures) -> ComputedDocument {
    ComputedDocument {
        response_seconds: figures.response_seconds,
        utilisation: figures.utilisation,
        requests_per_second: figures.throughput,
    }
}

fn observed(o: &Observed) -> ObservedDocument {
    ObservedDocument {
        mean_seconds: o.mean_seconds,
        cycle_seconds: o.cycle_seconds,
        slowdown: o.slowdown.as_ref().map(SlowdownValues::from),
    }
}
