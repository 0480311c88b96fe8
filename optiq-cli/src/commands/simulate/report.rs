//! The page of `--report`: the figures of all runs, and pictures of what happened over time. It needs no script, and
//! nothing from elsewhere.

use super::queues;
use super::shown::{Shown, rate, width};
use optiq_net::Network;
use optiq_sim::time::Time;
use optiq_sim::{Model, Series};
use optiq_view::axis::number;
use optiq_view::bars::{Bar, Bars, Measure};
use optiq_view::curves::{Curve, Curves, Panel};
use optiq_view::heat::{Heat, Row};
use optiq_view::report::{self, LinkMap, Report, Run};
use optiq_view::table;

/// What it shows.
pub struct Page<'a> {
    /// What was simulated, on what.
    pub heading: String,
    /// How: the rest of what there is to know.
    pub subtitle: String,
    /// The figures: a row of names, then one for each figure, which begins with what it is.
    pub figures: &'a [Vec<String>],
    /// The runs, in the same order.
    pub runs: &'a [Shown<'a>],
}

/// Rows of all maps of a kind together; a map has at most [`MOST_ROWS`] and at least [`LEAST_ROWS`] of them.
const ROWS: usize = 192;
const MOST_ROWS: usize = 64;
const LEAST_ROWS: usize = 16;

/// Points of the longest curve of throughput, at most.
const POINTS: u64 = 128;

/// What a map is coloured by, per interval and link.
type Cells<'a> = &'a dyn Fn(&Shown<'_>, &Series, usize, usize) -> f64;

impl Page<'_> {
    /// The page.
    pub fn html(&self, net: &Network, model: &Model) -> String {
        let (throughput, throughput_note) = self.throughput(net);
        let (most_waiting, runs) = self.links(net, model);
        let report = Report {
            heading: self.heading.clone(),
            subtitle: self.subtitle.clone(),
            model: &model.title,
            figures: self.figures,
            times: self.times(),
            moved: self.moved(),
            throughput,
            throughput_note,
            done: self.done(),
            latency: self.latency(),
            most_waiting,
            runs,
        };
        report.page()
    }

    /// How long each run took, against the least that its busiest link needs; across all, the least of these.
    fn times(&self) -> Bars {
        let bar = |(number, run): (usize, &Shown<'_>)| {
            let time = table::seconds(run.seconds);
            let words = match (run.partial, run.bound) {
                (Some(_), _) => format!("over {time}"),
                (None, Some(bound)) if bound > 0.0 => format!("{time}, {:.2} times its bound", run.seconds / bound),
                (None, _) => time,
            };
            let tip = run.bound.map_or_else(String::new, |bound| format!(", bound {}", table::seconds(bound)));
            let tip = format!("{}: {words}{tip}", run.name);
            Bar { name: marked(run), number, parts: vec![run.seconds], least: run.bound, words, tip }
        };
        let least = self.runs.iter().filter_map(|run| Some((run.bound?, run.name)));
        let least = least.min_by(|a, b| a.0.total_cmp(&b.0)).filter(|_| self.runs.len() > 1);
        let bound =
            least.map(|(bound, name)| (bound, format!("lowest of these bounds: {}, {name}", table::seconds(bound))));
        Bars {
            label: "Time of each run, and the time that its busiest link needs at least".into(),
            horizontal: "time until the last host is done".into(),
            measure: Measure::Time,
            bars: self.runs.iter().enumerate().map(bar).collect(),
            bound,
        }
    }

    /// What hosts received, and what links carried for it.
    fn moved(&self) -> Bars {
        let bar = |(number, run): (usize, &Shown<'_>)| {
            let (useful, forwarded) = run.useful_and_forwarded();
            let bytes = |n: u64| table::bytes(n as f64);
            let carried = run.outcome.link_bytes.iter().fold(0u64, |sum, &bytes| sum.saturating_add(bytes));
            let words = format!("{} forwarded; {} on links", bytes(forwarded), bytes(carried));
            let tip = format!("{}: {} useful, {words}", run.name, bytes(useful));
            Bar { name: marked(run), number, parts: vec![useful as f64, forwarded as f64], least: None, words, tip }
        };
        Bars {
            label: "Bytes that hosts received in each run: useful, and forwarded".into(),
            horizontal: "bytes that hosts received".into(),
            measure: Measure::Bytes,
            bars: self.runs.iter().enumerate().map(bar).collect(),
            bound: None,
        }
    }

    /// A curve for each run.
    fn curves(&self, points: impl Fn(&Shown<'_>) -> (Vec<(f64, f64)>, f64)) -> Vec<Curve> {
        let curve = |(number, run): (usize, &Shown<'_>)| {
            let (points, end) = points(run);
            Curve { number, name: marked(run), points, end }
        };
        self.runs.iter().enumerate().map(curve).collect()
    }

    /// What all links carry together, and what there is to say about it.
    fn throughput(&self, net: &Network) -> (Curves, String) {
        // Short intervals would make curves of noise that lie on each other. All widths are a power of two of each other.
        let last = self.runs.iter().map(|run| run.outcome.time).max().unwrap_or(Time::ZERO);
        let joined = |series: &Series| {
            let doubled = |n: &usize| (series.interval * *n as u64).saturating_mul(POINTS) >= last;
            std::iter::successors(Some(1), |n| Some(2 * n)).find(doubled).unwrap_or(1)
        };
        let mut curves = self.curves(|run| {
            let Some(series) = &run.outcome.series else { return (Vec::new(), 0.0) };
            let joined = joined(series);
            let mean = |(i, rows): (usize, &[Vec<u64>])| {
                let from = i * joined;
                let long: Time = (from..from + rows.len()).map(|at| width(series, at, run.outcome.time)).sum();
                let sum = rows.iter().flatten().sum::<u64>() as f64;
                (long > Time::ZERO).then(|| (from as f64 * series.interval.seconds(), sum / long.seconds()))
            };
            let points = series.bytes.chunks(joined).enumerate().filter_map(mean);
            (points.collect(), run.outcome.time.seconds())
        });
        let mut widths: Vec<Time> = (self.runs.iter().filter_map(|run| run.outcome.series.as_ref()))
            .map(|series| series.interval * joined(series) as u64)
            .collect();
        widths.sort_unstable();
        widths.dedup();
        let widths: Vec<String> = widths.into_iter().map(|long| table::seconds(long.seconds())).collect();
        let most = curves.iter().flat_map(|c| &c.points).map(|p| p.1).fold(0.0, f64::max);
        let (unit, name) = [(1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")]
            .into_iter()
            .find(|&(unit, _)| most >= unit)
            .unwrap_or((1.0, "B/s"));
        curves.iter_mut().flat_map(|c| &mut c.points).for_each(|p| p.1 /= unit);
        let title = match &self.runs {
            [run] => marked(run),
            _ => String::new(),
        };
        let picture = Curves {
            label: format!("What all links carry together over time, in {name}"),
            vertical: format!("bytes on all links together, headers included, {name}"),
            horizontal: "time since the start".into(),
            logarithmic: false,
            high: None,
            panels: vec![Panel { title, curves }],
        };
        let all = net.links().iter().map(|l| l.capacity).sum::<f64>() / unit;
        let used = |run: &Shown<'_>| {
            let links = net.links().iter().zip(&run.outcome.link_bytes).filter(|(_, bytes)| **bytes > 0);
            links.map(|(l, _)| l.capacity).sum::<f64>() / unit
        };
        let used: Vec<String> = match &self.runs {
            [run] => vec![format!("{} {name}", number(used(run)))],
            runs => runs.iter().map(|run| format!("{} {name} in {}", number(used(run)), run.name)).collect(),
        };
        let note = format!(
            "This is work, not speed: a byte counts on each link that it takes, so detours make more of it of the same useful bytes. All links of the network have a capacity \
             of {} {name} together; those that carried something, {}. Means over {}; a packet counts where it begins.",
            number(all),
            used.join(", "),
            widths.join(" or "),
        );
        (picture, note)
    }

    /// How many hosts were done by when.
    fn done(&self) -> Curves {
        let curves = self.curves(|run| {
            if run.done.is_empty() {
                return (Vec::new(), 0.0);
            }
            // In a run that was ended, who was not done has no time.
            let mut done: Vec<Time> =
                run.done.iter().copied().filter(|&time| run.partial.is_none() || time > Time::ZERO).collect();
            done.sort_unstable();
            let (all, end) = (run.done.len().max(1) as f64, run.outcome.time.seconds());
            let by = |(i, time): (usize, &Time)| (time.seconds(), (i + 1) as f64 / all * 100.0);
            (std::iter::once((0.0, 0.0)).chain(done.iter().enumerate().map(by)).collect(), end)
        });
        let hosts = self.runs.first().map_or(0, |run| run.done.len());
        Curves {
            label: "Share of hosts that are done, over time".into(),
            vertical: "hosts that are done, %".into(),
            horizontal: "time since the start".into(),
            logarithmic: false,
            high: Some(100.0),
            panels: vec![Panel { title: table::count(hosts, "host"), curves }],
        }
    }

    /// What share of packets and of messages took at most how long.
    fn latency(&self) -> Curves {
        let panel = |title: &str, of: &dyn Fn(&Shown<'_>) -> hdrhistogram::Histogram<u64>| {
            let curves = self.curves(|run| {
                let histogram = of(run);
                let (mut sum, all) = (0, histogram.len().max(1) as f64);
                let cells = histogram.iter_recorded().map(|cell| {
                    sum += cell.count_at_value();
                    (Time::picoseconds(cell.value_iterated_to()).seconds(), sum as f64 / all * 100.0)
                });
                let points: Vec<(f64, f64)> = cells.collect();
                // From the axis up.
                let first = points.first().map(|p| (p.0, 0.0));
                let end = points.last().map_or(0.0, |p| p.0);
                (first.into_iter().chain(points).collect(), end)
            });
            Panel { title: title.into(), curves }
        };
        Curves {
            label: "Share of packets and of messages that took at most so long".into(),
            vertical: "took at most so long, %".into(),
            horizontal: "latency".into(),
            logarithmic: true,
            high: Some(100.0),
            panels: vec![
                panel("packets", &|run| run.outcome.packet_latency.clone()),
                panel("messages", &|run| run.outcome.message_latency.clone()),
            ],
        }
    }

    /// The most bytes that waited at the end of a link, and for each run what its links carried, what waited at their ends,
    /// and its fullest queues.
    fn links(&self, net: &Network, model: &Model) -> (f64, Vec<Run>) {
        let busy: Cells<'_> = &|run, series, at, link| {
            let long = width(series, at, run.outcome.time).seconds();
            if long > 0.0 { series.bytes[at][link] as f64 / (rate(net, model, link) * long) } else { 0.0 }
        };
        let waiting: Cells<'_> = &|_, series, at, link| series.waiting_bytes[at][link] as f64;
        let each = self.runs.iter().filter_map(|run| Some((run, run.outcome.series.as_ref()?)));
        let most = each.flat_map(|(_, s)| s.waiting_bytes.iter().flatten()).copied().max().unwrap_or(0) as f64;
        let maps = |run: &Shown<'_>| {
            let carried = |tip| format!("busy for {} of the run", table::percent(tip));
            let waited = |tip| format!("{} waited on average", table::bytes(tip));
            let map = |what, (all, heat)| LinkMap { what, all, heat };
            Run {
                name: run.name.to_owned(),
                ended: run.partial.map(String::from),
                links: [
                    map("carried something", self.map(net, run, busy, 1.0, &carried)),
                    map("had something wait", self.map(net, run, waiting, most, &waited)),
                ],
                queues: queues::tables(net, run),
            }
        };
        (most, self.runs.iter().map(maps).collect())
    }

    /// How many links of a run have something, and a map of those with the most in all; `high` is the end of the scale, `tip` says what a mean is.
    fn map(
        &self,
        net: &Network,
        run: &Shown<'_>,
        cells: Cells<'_>,
        high: f64,
        tip: &dyn Fn(f64) -> String,
    ) -> (usize, Option<Heat>) {
        let Some(series) = &run.outcome.series else { return (0, None) };
        let end = run.outcome.time;
        let long = |at: usize| width(series, at, end).seconds();
        let mean = |link: usize| {
            let sum: f64 = (0..series.bytes.len()).map(|at| cells(run, series, at, link) * long(at)).sum();
            sum / end.max(Time::PICOSECOND).seconds()
        };
        let mut links: Vec<(usize, f64)> = (0..net.links().len()).map(|link| (link, mean(link))).collect();
        links.retain(|&(_, mean)| mean > 0.0);
        // Those alike stay in the order of the network.
        links.sort_by(|a, b| b.1.total_cmp(&a.1));
        let all = links.len();
        links.truncate((ROWS / self.runs.len().max(1)).clamp(LEAST_ROWS, MOST_ROWS));
        let rows: Vec<Row> = (links.iter())
            .map(|&(link, mean)| {
                let (from, to) = (net.name(net.links()[link].from), net.name(net.links()[link].to));
                let label = format!("{from} \u{2192} {to}");
                let tip = format!("{label}: {}", tip(mean));
                let cells = (0..series.bytes.len()).map(|at| cells(run, series, at, link) / high).collect();
                Row { label, tip, cells }
            })
            .collect();
        if rows.is_empty() {
            return (all, None);
        }
        let label = format!("{}: the {} links with the most, over time", marked(run), rows.len());
        (all, Some(Heat { label, rows, interval: series.interval.seconds(), end: end.seconds() }))
    }
}

/// A run's name, and whether it is partial.
fn marked(run: &Shown<'_>) -> String {
    report::marked(run.name, run.partial.is_some())
}
