//! Arguments that several commands share.

use crate::failure::Failure;
use crate::progress::Progress;
use crate::topology_help;
use clap::Args;
use optiq_net::{Background, BusyLink, Network, spec, units};
use optiq_solver::demands::{self, Demand};
use optiq_solver::pipeline::PlanOptions;
use optiq_solver::{CandidateMethod, PlannerName, PlannerOptions};
use optiq_view::context::Context;
use std::path::PathBuf;
use std::time::Duration;

/// Which network.
#[derive(Debug, Args)]
pub struct Topology {
    #[arg(long, value_name = "SPEC", help = topology_help::SHORT, long_help = topology_help::long())]
    topology: Option<String>,
    /// What others use of the links: a file with a line FROM TO USED for each, USED a rate or a share such as 50%, * for
    /// any end; what is left of the links is planned with; - is standard input
    #[arg(long, value_name = "FILE")]
    background: Option<PathBuf>,
}

/// The specification of a network: what was given, or else what `OPTIQ_TOPOLOGY` or `optiq.conf` says.
///
/// # Errors
/// [`Failure::Input`] if there is none; `argument` is how it would be given.
pub fn specification(given: Option<&str>, argument: &str) -> Result<String, Failure> {
    let missing = || Failure::Input(format!("no network is given; {argument} or OPTIQ_TOPOLOGY is expected"));
    // What is wrong with other options does not matter here.
    let text = given.map(str::to_owned).or_else(|| optiq::Config::read().config.topology).ok_or_else(missing)?;
    Ok(spec::with_kind(&text).into_owned())
}

impl Topology {
    /// The specification, with `file:` before the path of a file.
    pub fn spec(&self) -> Result<String, Failure> {
        specification(self.topology.as_deref(), "--topology SPEC")
    }

    /// Makes the network, or what the background load leaves of it.
    pub fn load(&self, progress: &Progress) -> Result<Network, Failure> {
        Ok(self.load_with_busy_links(progress)?.0)
    }

    /// The same, with the links that the file of background load says a program took for busy.
    pub fn load_with_busy_links(&self, progress: &Progress) -> Result<(Network, Vec<BusyLink>), Failure> {
        let spec = self.spec()?;
        progress.now(format!("reading {spec}"));
        let net = Network::from_spec(&spec)?;
        net.warnings().iter().for_each(|warning| log::warn!("{warning}"));
        let Some(file) = &self.background else { return Ok((net, Vec::new())) };
        let background = Background::from_file(file)?;
        let net = net.with_background(&background)?;
        let busy = background.busy_links(&net)?;
        Ok((net, busy))
    }

    /// The file of background load, as given.
    pub fn background(&self) -> Option<String> {
        self.background.as_ref().map(|file| file.display().to_string())
    }

    /// What of the network is not given: `capacity`, `routing`. Of a file nothing, as it says what its network is.
    pub fn defaults(&self) -> Vec<&'static str> {
        let Ok(spec) = self.spec() else { return Vec::new() };
        if spec.trim_start().starts_with("file:") {
            return Vec::new();
        }
        let given = |key: &str| spec.split(',').skip(1).any(|part| part.trim_start().starts_with(key));
        let capacity = ["capacity=", "terminal=", "local=", "global="].into_iter().any(given);
        let all = [("capacity", capacity), ("routing", given("routing="))];
        all.into_iter().filter(|(_, given)| !given).map(|(what, _)| what).collect()
    }
}

/// The words behind a figure that is a default.
pub fn default_mark(defaults: &[&'static str], what: &str) -> &'static str {
    if defaults.contains(&what) { " (default)" } else { "" }
}

/// The words for the background load of a network, behind its name.
pub fn beside(context: &Context) -> String {
    context.background.as_ref().map_or_else(String::new, |file| format!(" beside {file}"))
}

/// How long a message is unless the demands say it.
pub const MESSAGE: &str = "8MiB";

/// Which bytes go where.
#[derive(Debug, Args)]
pub struct Demands {
    /// pattern:disjoint, overlap, subset, alltoall, random, coupling or aggregate (with ,KEY=VALUE: sources, destinations; count, seed, min,
    /// max, classes; class), or the path of a file (- is standard input) with a line SRC DST BYTES [class=N] for each demand.
    /// Higher priority classes are more urgent: they are planned first, and lower ones around them
    #[arg(long, value_name = "DEMANDS")]
    pub demands: String,
    /// Bytes of each demand of a pattern
    #[arg(long, value_name = "SIZE", default_value = MESSAGE, value_parser = units::parse_bytes, allow_hyphen_values = true)]
    pub message: u64,
}

impl Demands {
    /// Reads or makes the demands.
    pub fn load(&self, net: &Network, progress: &Progress) -> Result<Vec<Demand>, Failure> {
        progress.now(format!("reading {}", self.demands));
        Ok(demands::parse(&self.demands, net, self.message)?)
    }
}

/// Which candidate paths.
#[derive(Debug, Args)]
pub struct Search {
    /// Candidate paths for each pair, at most: a number, or auto, which is 50, or for the planner optimal 12 to 150
    /// depending on the number of pairs
    #[arg(long, default_value = "auto", value_parser = k, allow_hyphen_values = true)]
    pub k: K,
    /// How they are found: yen (the k shortest), diverse (through all pairs of ports), via (direct or through one other
    /// host), priced (those that a plan of the planner optimal for all demands puts most bytes on), or auto (diverse where hosts
    /// are joined directly, via with switches)
    #[arg(long, value_name = "METHOD", default_value = "auto")]
    pub method: CandidateMethod,
}

/// A number of candidate paths; `None` is automatic.
#[derive(Clone, Copy, Debug)]
pub struct K(pub Option<usize>);

fn k(text: &str) -> Result<K, String> {
    match text {
        "auto" => Ok(K(None)),
        number => number.parse().map(|k| K(Some(k))).map_err(|_| "a whole number or auto is expected".into()),
    }
}

/// Which planner.
#[derive(Debug, Args)]
pub struct Planning {
    #[command(flatten)]
    pub search: Search,
    /// direct (the network's own routes), heu1 (equal shares), heu2 (chunk by chunk), lp (linear program) or optimal
    /// (first-order method, within 1 % of every routing) [default: optimal]
    #[arg(long, value_name = "NAME")]
    planner: Option<PlannerName>,
    /// heu1: paths that a link may carry, to begin with
    #[arg(long, value_name = "PATHS", default_value_t = PlannerOptions::default().maxload)]
    pub maxload: u32,
    /// heu2: bytes that are assigned at a time
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = units::parse_bytes, allow_hyphen_values = true)]
    pub chunk: u64,
    /// Take the candidate paths from a path file (`optiq paths --output`) instead of searching them; - is
    /// standard input
    #[arg(long, value_name = "FILE")]
    pub paths: Option<PathBuf>,
    /// optimal: the gap to the proved bound that is good enough, as 1% or 0.01
    #[arg(long, value_name = "GAP", default_value = "1%", value_parser = gap, allow_hyphen_values = true)]
    pub gap: f64,
    /// optimal: seconds that planning may take; what it has found by then is the plan
    #[arg(long, value_name = "SECONDS", value_parser = duration, allow_hyphen_values = true)]
    pub time_limit: Option<Duration>,
    /// optimal: how much more congestion than the least, as 1% or 0.01, may be spent on forwarding fewer bytes
    #[arg(long, value_name = "SLACK", default_value = "1%", value_parser = slack, allow_hyphen_values = true)]
    pub slack: f64,
}

/// A fraction, as `1%` or `0.01`; the caller checks its range.
pub fn fraction(text: &str) -> Option<f64> {
    let (number, divisor) = match text.trim().strip_suffix('%') {
        Some(percent) => (percent, 100.0),
        None => (text, 1.0),
    };
    number.trim().parse::<f64>().ok().map(|n| n / divisor).filter(|n| n.is_finite())
}

fn gap(text: &str) -> Result<f64, String> {
    let above = fraction(text).filter(|&gap| gap > 0.0);
    above.ok_or_else(|| "a gap above zero is expected, such as 1% or 0.01".into())
}

fn slack(text: &str) -> Result<f64, String> {
    let least = fraction(text).filter(|&slack| slack >= 0.0);
    least.ok_or_else(|| "a slack of at least zero is expected, such as 1% or 0.01".into())
}

/// A length of time in seconds that a clock can count, above zero.
pub fn duration(text: &str) -> Result<Duration, String> {
    // Signs, NaN and what no clock can count are refused by the conversion.
    let limit = text.trim().parse::<f64>().ok().and_then(|s| Duration::try_from_secs_f64(s).ok());
    let above = limit.filter(|limit| !limit.is_zero());
    above.ok_or_else(|| "a number of seconds above zero is expected, such as 0.5".into())
}

impl Planning {
    /// The planner that is given, or else the default.
    pub fn planner(&self) -> PlannerName {
        self.planner.unwrap_or(PlannerName::Optimal)
    }

    /// `planner`, if none is given.
    pub fn defaults(&self) -> Option<&'static str> {
        self.planner.is_none().then_some("planner")
    }

    /// The solver's options for `planner`.
    pub fn options(&self, planner: PlannerName) -> PlanOptions {
        PlanOptions {
            planner,
            k: self.search.k.0,
            method: self.search.method,
            maxload: self.maxload,
            chunk: self.chunk,
            candidate_file: self.paths.clone(),
            gap: self.gap,
            time_limit: self.time_limit,
            slack: self.slack,
            ..PlanOptions::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_and_limits() {
        assert_eq!((gap("1%"), gap("0.01"), gap(" 2.5 % ")), (Ok(0.01), Ok(0.01), Ok(0.025)));
        assert_eq!((slack("0"), slack("0%"), slack("10%")), (Ok(0.0), Ok(0.0), Ok(0.1)));
        assert_eq!(duration("0.5"), Ok(Duration::from_millis(500)));
        for text in ["0", "0%", "-1%", "-0.1", "nan", "NaN%", "inf", "1e400", "", "%", "one"] {
            assert!(gap(text).is_err(), "{text}");
        }
        for text in ["-1%", "nan", "inf", "", "x%"] {
            assert!(slack(text).is_err(), "{text}");
        }
        for text in ["0", "-1", "nan", "inf", "1e30", "1e-12", "", "1s"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
