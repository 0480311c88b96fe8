//! The JSON document of `optiq cures`. Its keys are a contract with scripts.

use super::found::Found;
use crate::commands::job_document::{JobFileDocument, SlowdownValues};
use optiq_sim::jobs::cures::exchange_bounds::{ExchangeBounds, LinkTimes};
use optiq_sim::jobs::cures::remedies::Action;
use optiq_sim::jobs::cures::trial::{JobFigures, Tried};
use optiq_sim::jobs::program_spec::WindowFrom;
use serde::Serialize;

#[derive(Serialize)]
pub struct CuresDocument<'a> {
    #[serde(flatten)]
    file: JobFileDocument<'a>,
    target: String,
    jobs: Vec<JobDocument<'a>>,
    cures: Vec<CureDocument<'a>>,
    refused: Vec<RefusedDocument<'a>>,
    exchanges: Vec<ExchangeDocument<'a>>,
    runs_left_out: usize,
}

#[derive(Serialize)]
struct JobDocument<'a> {
    name: &'a str,
    program: String,
    placement: String,
    ranks: u32,
}

#[derive(Serialize)]
struct CureDocument<'a> {
    cure: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    window_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    window_from: Option<&'static str>,
    /// Those of which there are figures.
    jobs: Vec<FiguresDocument<'a>>,
}

#[derive(Serialize)]
struct FiguresDocument<'a> {
    name: &'a str,
    samples: usize,
    mean_seconds: f64,
    median_seconds: f64,
    p99_seconds: f64,
    alone_mean_seconds: f64,
    alone_median_seconds: f64,
    alone_p99_seconds: f64,
    #[serde(flatten)]
    slowdown: Option<SlowdownValues>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_over_as_it_is: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cycle_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cycle_over_as_it_is: Option<f64>,
}

#[derive(Serialize)]
struct RefusedDocument<'a> {
    cure: String,
    why: &'a str,
}

#[derive(Serialize)]
struct ExchangeDocument<'a> {
    job: &'a str,
    measured_from_seconds: f64,
    measured_to_seconds: f64,
    busiest_links: Vec<LinkDocument<'a>>,
    without_others: TimesDocument,
    beside_others: TimesDocument,
}

#[derive(Serialize)]
struct LinkDocument<'a> {
    from: &'a str,
    to: &'a str,
    share: f64,
    bytes_per_second: f64,
}

#[derive(Serialize)]
struct TimesDocument {
    bound_seconds: f64,
    fabric_seconds: f64,
    planned_alone_seconds: f64,
    planned_beside_seconds: f64,
}

impl<'a> CuresDocument<'a> {
    pub fn new(found: &Found<'a>) -> Self {
        let &Found { file, network, model, target, trials } = found;
        let base = trials.tried.first();
        let ranks = |job: usize| base.map_or(0, |tried| tried.remedy.allocation.jobs[job].ranks());
        let job = |(number, job): (usize, &'a optiq_sim::jobs::file::JobEntry)| JobDocument {
            name: &job.name,
            program: job.program.to_string(),
            placement: job.placement.to_string(),
            ranks: ranks(number),
        };
        let refused = |refused: &'a optiq_sim::jobs::cures::remedies::Refused| RefusedDocument {
            cure: refused.action.words(file),
            why: &refused.why,
        };
        Self {
            file: JobFileDocument::new(file, network, model),
            target: target.to_string(),
            jobs: file.jobs.iter().enumerate().map(job).collect(),
            cures: trials.tried.iter().map(|tried| cure(found, tried)).collect(),
            refused: trials.refused.iter().map(refused).collect(),
            exchanges: trials.exchanges.iter().map(|exchange| of_exchange(found, exchange)).collect(),
            runs_left_out: trials.left_out,
        }
    }
}

fn cure<'a>(found: &Found<'a>, tried: &'a Tried) -> CureDocument<'a> {
    let action = &tried.remedy.action;
    let (window_seconds, window_from) = match action {
        Action::Throttle { window, from: WindowFrom::Start, .. } => (Some(window.seconds()), Some("start")),
        Action::Throttle { window, .. } => (Some(window.seconds()), Some("completion")),
        _ => (None, None),
    };
    let jobs = tried.jobs.iter().enumerate().filter_map(|(number, figures)| {
        let base = found.trials.as_it_is(number);
        Some(of_job(&found.file.jobs[number].name, figures.as_ref()?, base))
    });
    CureDocument {
        cure: action.words(found.file),
        kind: action.kind().map_or("as-it-is", |kind| kind.name()),
        job: action.job().map(|job| &*found.file.jobs[job].name),
        window_seconds,
        window_from,
        jobs: jobs.collect(),
    }
}

fn of_job<'a>(name: &'a str, figures: &JobFigures, base: Option<&JobFigures>) -> FiguresDocument<'a> {
    let JobFigures { alone, together, slowdown, cycle_seconds } = figures;
    FiguresDocument {
        name,
        samples: together.samples,
        mean_seconds: together.mean.value,
        median_seconds: together.median.value,
        p99_seconds: together.p99.value,
        alone_mean_seconds: alone.mean.value,
        alone_median_seconds: alone.median.value,
        alone_p99_seconds: alone.p99.value,
        slowdown: slowdown.as_ref().map(SlowdownValues::from),
        mean_over_as_it_is: base.map(|base| figures.mean_over(base)),
        cycle_seconds: *cycle_seconds,
        cycle_over_as_it_is: base.and_then(|base| figures.cycle_over(base)),
    }
}

fn of_exchange<'a>(found: &Found<'a>, exchange: &ExchangeBounds) -> ExchangeDocument<'a> {
    let times = |t: &LinkTimes| TimesDocument {
        bound_seconds: t.bound_seconds,
        fabric_seconds: t.fabric_seconds,
        planned_alone_seconds: t.alone_seconds,
        planned_beside_seconds: t.beside_seconds,
    };
    let link = |&(link, share): &(optiq_net::LinkId, f64)| {
        let ends = found.network.link(link);
        LinkDocument {
            from: found.network.name(ends.from),
            to: found.network.name(ends.to),
            share,
            bytes_per_second: exchange.load.bytes_per_second[link.index()],
        }
    };
    ExchangeDocument {
        job: &found.file.jobs[exchange.job].name,
        measured_from_seconds: exchange.load.from.seconds(),
        measured_to_seconds: exchange.load.end.seconds(),
        busiest_links: exchange.busiest.iter().map(link).collect(),
        without_others: times(&exchange.whole),
        beside_others: times(&exchange.left),
    }
}
