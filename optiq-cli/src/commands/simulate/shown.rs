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
    /// The least time that its busiest link needs, with headers and protocol, in seconds; `None` if it is not known.
    pub bound: Option<f64>,
    /// Bytes of the demands: what a run that came to its end has delivered. `None` if all messages are demands of their own.
    pub demanded: Option<u64>,
    /// All that the simulation found.
    pub outcome: &'a Outcome,
}

/// How long an interval of a series is: the last one ends with the run, and may be empty.
pub fn width(series: &Series, at: usize, end: Time) -> Time {
    end.saturating_sub(series.interval * at as u64).min(series.interval)
}

impl Shown<'_> {
    /// Bytes that arrived where they belong, and those that hosts received only to send them on. Of a partial run it is not known
    /// which is which: no more is useful than was demanded.
    pub fn useful_and_forwarded(&self) -> (u64, u64) {
        let arrived = self.outcome.payload_bytes;
        let useful = self.demanded.map_or(arrived, |demanded| demanded.min(arrived));
        (useful, arrived - useful)
    }
}

/// What of a link's capacity is left for the bytes of messages by `model`, between headers and the protocol.
pub fn useful_part(model: &Model) -> f64 {
    let link = &model.link;
    link.efficiency * link.packet_bytes as f64 / (link.packet_bytes + link.header_bytes) as f64
}

/// Bytes that a link carries in a second at most, all lanes together, as the simulated channels do.
pub fn rate(net: &Network, model: &Model, link: usize) -> f64 {
    net.links()[link].capacity * model.link.efficiency
}
