//! A run as the files and the page show it.

use optiq_net::Network;
use optiq_sim::time::Time;
use optiq_sim::{Model, Outcome, Series};

/// A run as the files show it.
pub struct Shown<'a> {
    /// A planner, an algorithm of MPI, or a schedule.
    pub name: &'a str,
    /// Why it ended before its end, if it did.
    pub partial: Option<&'static str>,
    /// When the last host was done, or when it was ended, in seconds.
    pub seconds: f64,
    /// When each host was done; zero is at once, or not by the end of a run that is partial. Empty if it is not known.
    pub done: &'a [Time],
    /// All that the simulation found.
    pub outcome: &'a Outcome,
}

/// How long an interval of a series is: the last one ends with the run, and may be empty.
pub fn width(series: &Series, at: usize, end: Time) -> Time {
    end.saturating_sub(series.interval * at as u64).min(series.interval)
}

/// Bytes that a link carries in a second at most, all lanes together, as the simulated channels do.
pub fn rate(net: &Network, model: &Model, link: usize) -> f64 {
    net.links()[link].capacity * model.link.efficiency
}
