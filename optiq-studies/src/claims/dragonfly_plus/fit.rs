//! The fit of the machine of document 003, on one baseline of one job alone.
//!
//! The text leaves open how switches share their outputs, what their buffers hold, and how many messages a rank sends. The candidates are a small
//! grid of these, and the loss is
//!
//! ```text
//!     sum over three intervals of ln^2 (ours / published)
//! ```
//!
//! over the means of uniform random messages of 4 KB under contiguous placement (Figure 5(a): 2.79, 16.10 and 51.36 us each 3, 1 and 0.5 us).
//! No run has two jobs, and no other placement, pattern or size is looked at. In two steps: switches, buffers and a few numbers of messages,
//! then more numbers of messages with the best of these. The best candidate is `data/sim/kang3456.toml` and the number of messages in
//! `system.rs`.

use super::super::setting::Setting;
use super::system::{MODEL, Pattern, Placement, System};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::published::Published;
use optiq_sim::Model;
use optiq_sim::model::{Arbitration, Queues, RouterModel};
use optiq_view::table;

/// Messages of each rank in the first step.
const MESSAGES: [u64; 4] = [100, 150, 200, 264];
/// And in the second one.
const MORE_MESSAGES: [u64; 11] = [100, 110, 120, 130, 140, 150, 160, 170, 180, 190, 200];

/// Where packets wait, who goes first, and how many times as fast as links inputs are read.
const SWITCHES: [(&str, Queues, Arbitration, u32); 5] = [
    ("inputs in turn", Queues::Inputs, Arbitration::RoundRobin, 1),
    ("inputs in turn, twice as fast", Queues::Inputs, Arbitration::RoundRobin, 2),
    ("first come", Queues::Inputs, Arbitration::FirstCome, 1),
    ("first come, twice as fast", Queues::Inputs, Arbitration::FirstCome, 2),
    ("queues at outputs", Queues::Outputs, Arbitration::RoundRobin, 1),
];

/// Buffers of a virtual channel, in bytes, and those within groups. The last ones are the defaults of CODES's model.
const BUFFERS: [(u64, Option<u64>); 8] = [
    (16_384, None),
    (24_576, None),
    (32_768, None),
    (40_960, None),
    (49_152, None),
    (57_344, None),
    (65_536, None),
    (65_536, Some(16_384)),
];

/// A candidate and what it makes of the baseline.
struct Candidate {
    /// Its place in [`SWITCHES`].
    switch: usize,
    buffers: (u64, Option<u64>),
    messages: u64,
    /// Ours, in microseconds, for each interval.
    means: [f64; 3],
}

impl Candidate {
    fn loss(&self, published: &[f64; 3]) -> f64 {
        self.means.iter().zip(published).map(|(ours, published)| (ours / published).ln().powi(2)).sum()
    }
}

/// The preset with another switch.
fn with_switch(model: &Model, switch: usize, (buffer_bytes, local_buffer_bytes): (u64, Option<u64>)) -> Model {
    let (_, queues, arbitration, input_speedup) = SWITCHES[switch];
    let router =
        RouterModel { queues, arbitration, input_speedup, buffer_bytes, local_buffer_bytes, ..model.router.clone() };
    Model { router, ..model.clone() }
}

/// Simulates all candidates; a table with the loss of each, the best one first. Some minutes.
///
/// # Errors
/// As its simulations have them.
pub fn fit(progress: &Progress) -> Result<String, Failure> {
    let all = Published::load()?;
    let setting =
        Setting { published: &all, nodes: None, repetitions: 1, scale: None, packets: None, cases: &[], progress };
    let mut system = System::new(&setting)?;
    let size = &system.published.size[0];
    let published = size.uniform_microseconds.as_ref().map(|values| values.contiguous);
    let published = published.ok_or_else(|| Failure::Work("data/published.toml lacks the baseline".into()))?;
    let base = Model::read(MODEL)?;
    let mut run = |switch: usize, buffers: (u64, Option<u64>), messages: u64| -> Result<Candidate, Failure> {
        system.model = with_switch(&base, switch, buffers);
        let mut means = [0.0; 3];
        for (interval, mean) in means.iter_mut().enumerate() {
            *mean = system.mean((Pattern::Uniform, Placement::Contiguous), (0, interval), messages, None)?;
        }
        Ok(Candidate { switch, buffers, messages, means })
    };
    let mut candidates = Vec::new();
    for switch in 0..SWITCHES.len() {
        for (buffers, messages) in BUFFERS.iter().flat_map(|&b| MESSAGES.map(|messages| (b, messages))) {
            candidates.push(run(switch, buffers, messages)?);
        }
    }
    let by_loss = |a: &Candidate, b: &Candidate| a.loss(&published).total_cmp(&b.loss(&published));
    candidates.sort_by(by_loss);
    if let Some(&Candidate { switch, buffers, .. }) = candidates.first() {
        for messages in MORE_MESSAGES.into_iter().filter(|messages| !MESSAGES.contains(messages)) {
            candidates.push(run(switch, buffers, messages)?);
        }
    }
    candidates.sort_by(by_loss);
    Ok(text(&candidates, &published))
}

fn text(candidates: &[Candidate], published: &[f64; 3]) -> String {
    let head = ["switch", "buffer, bytes", "within groups", "messages", "loss", "3 us", "1 us", "0.5 us"];
    let said = ["published", "", "", "", ""].map(str::to_owned).into_iter();
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.push(said.chain(published.map(|mean| format!("{mean:.2}"))).collect());
    rows.extend(candidates.iter().map(|c| {
        let (buffer, local) = c.buffers;
        let start = [
            SWITCHES[c.switch].0.to_owned(),
            buffer.to_string(),
            local.unwrap_or(buffer).to_string(),
            c.messages.to_string(),
            format!("{:.4}", c.loss(published)),
        ];
        start.into_iter().chain(c.means.map(|mean| format!("{mean:.2}"))).collect()
    }));
    table::aligned(&rows, |column| column > 0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::super::system::SCALES;
    use super::*;

    #[test]
    fn the_preset_and_the_number_of_messages_are_a_candidate() {
        let fitted = Model::read(MODEL).unwrap();
        let candidates = (0..SWITCHES.len()).flat_map(|switch| BUFFERS.map(|buffers| (switch, buffers)));
        assert!(candidates.into_iter().any(|(switch, buffers)| with_switch(&fitted, switch, buffers) == fitted));
        assert!(MESSAGES.iter().chain(&MORE_MESSAGES).any(|&messages| messages == SCALES[0].0));
    }

    /// One mean twice, one half as long as published: ln 2 squared, twice.
    #[test]
    fn the_loss_by_hand() {
        let candidate = Candidate { switch: 0, buffers: (1, None), messages: 1, means: [2.0, 8.0, 5.0] };
        assert!((candidate.loss(&[1.0, 16.0, 5.0]) - 2.0 * 2f64.ln().powi(2)).abs() < 1e-12);
    }
}
