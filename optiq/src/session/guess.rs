//! `OPTIQ_TOPOLOGY=auto`: what a rank makes of its configuration then, and the rate of the links, which ranks measure together.
//!
//! The hosts are what [`crate::discovery`] found, which is the same on all ranks. The rate is that of a
//! calibration file of this machine, or of an earlier session of all of these ranks, or it is measured: all pairs of hosts at
//! once, then one alone, each for [`PROBE_SECONDS`]. Who has nothing to send sleeps
//! meanwhile, since ranks that spin would take the processors of those that measure.

use super::pair_rates::pair_rates;
use crate::config::Config;
use crate::error::Error;
use crate::logger;
use crate::networks;
use optiq_lower::constants::PROBE_SECONDS;
use optiq_lower::guessed_network::{GuessedHosts, LinkRate, link_rate};
use optiq_lower::machine::MachineRecord;
use optiq_lower::model::CostModel;
use optiq_lower::placement::Placement;
use optiq_net::Network;
use optiq_net::fingerprint::Fingerprint;
use optiq_net::text_file::shorten;
use optiq_net::units::format_rate;
use optiq_transport::Rank;
use optiq_transport::mpi::Communicator;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// The rate that this process measured last, in bytes per second; 0 before.
static MEASURED: AtomicU64 = AtomicU64::new(0);

/// The share of links between switches that was measured with it, in thousandths.
static SHARE: AtomicU64 = AtomicU64::new(1000);

/// The capacity of links until they are measured, in bytes per second. Nothing is planned with it.
const NOT_YET_MEASURED: u64 = 1_000_000_000;

/// What a rank makes of its configuration alone: the cost model of a calibration file, if there is one, with what is to be said
/// about it, and what is left to be found out of a network that is guessed.
pub(super) type LocalSetup = (Arc<Network>, Placement, Option<(CostModel, Option<String>)>, Option<Guess>);

/// What was guessed from names and files.
pub(super) struct Guess {
    hosts: GuessedHosts,
    /// Bytes per second of the links, and the file that has them.
    rate: Option<(u64, String)>,
    /// What rank 0 says.
    notes: Vec<String>,
    /// The cost model is read from a file.
    has_model: bool,
    max_hosts: usize,
}

impl Guess {
    /// What this rank makes of its configuration. Nothing where there is one host, and so no network.
    pub(super) fn local(hosts: GuessedHosts, config: &Config, mpi_library: &str) -> Result<Option<LocalSetup>, String> {
        if config.background_file().is_some() {
            return Err("OPTIQ_BACKGROUND names links of a network that is known, and OPTIQ_TOPOLOGY is auto".into());
        }
        if hosts.len() < 2 {
            return Ok(None);
        }
        let record = config.calibration.as_deref().map(|file| MachineRecord::read(Path::new(file)));
        let record = record.transpose().map_err(|e| format!("OPTIQ_CALIBRATION: {e}"))?;
        let mut guess = Self { notes: hosts.notes(), hosts, rate: None, has_model: false, max_hosts: config.max_hosts };
        let file = config.calibration.as_deref().unwrap_or_default();
        let usable = record.filter(|record| guess.is_of_this_machine(record, file));
        let rate = guess.rate.as_ref().map_or(NOT_YET_MEASURED, |(rate, _)| *rate);
        let network = guess.network(rate, 1000)?;
        let model = usable.map(|record| {
            // A file that gives no rate has no network that could be another one.
            let measured = guess.rate.is_some().then(|| network.fingerprint());
            let (model, note) = measured.map_or((record.model, None), |at| record.model_on(at, Some(mpi_library)));
            (model, note.map(|note| format!("calibration file {file}: {note}")))
        });
        guess.has_model = model.is_some();
        let placement = guess.hosts.placement(&network);
        Ok(Some((network, placement, model, Some(guess))))
    }

    /// Whether a calibration is of this machine, or does not say of which it is; with the rate of the links, if it has one.
    fn is_of_this_machine(&mut self, record: &MachineRecord, file: &str) -> bool {
        let Some(measured) = &record.measurement else { return true };
        if self.hosts.has_switches() {
            self.notes.push(format!(
                "OPTIQ_CALIBRATION: calibration file {file} has no rates for the switches that the process manager tells, and is not used"
            ));
            return false;
        }
        match Network::from_spec_within(&measured.topology, self.max_hosts).ok().filter(|net| self.hosts.are_on(net)) {
            Some(network) => {
                self.rate = Some((network.unit_capacity().max(1.0) as u64, file.to_owned()));
                true
            }
            None => {
                self.notes.push(format!(
                    "OPTIQ_CALIBRATION: calibration file {file} is of another machine ({}, {} hosts), and is not used",
                    shorten(&measured.topology),
                    measured.hosts
                ));
                false
            }
        }
    }

    fn network(&self, rate: u64, share_permille: u64) -> Result<Arc<Network>, String> {
        let share = share_permille as f64 / 1000.0;
        self.hosts.network(rate, share, self.max_hosts).map(Arc::new).map_err(networks::told)
    }

    /// A number that ranks compare: those that would measure, or have a cost model, while others would not or have none, must
    /// not begin.
    pub(super) fn print(&self, network: Fingerprint) -> Fingerprint {
        Fingerprint(network.0 ^ (1 | u128::from(self.rate.is_some()) << 1 | u128::from(self.has_model) << 2))
    }

    /// The network with the rate of its links; collective, if none is known.
    pub(super) fn settle(self, comm: &Communicator, network: Arc<Network>) -> Result<Arc<Network>, Error> {
        let start = Instant::now();
        let (network, rate, share, origin) = match &self.rate {
            Some((rate, file)) => (network, *rate, 1000, format!("as in {file}")),
            None => {
                let mut known = [MEASURED.load(Relaxed) as i64, SHARE.load(Relaxed) as i64];
                comm.all_min(&mut known)?;
                let (rate, share, origin) = match known {
                    [rate, share] if rate > 0 => (rate as u64, share as u64, "measured before".to_owned()),
                    _ => {
                        let found = measure(comm, &self.hosts)?;
                        self.say_shared(comm, &found);
                        let took = start.elapsed().as_secs_f64() * 1e3;
                        (found.bytes_per_second, found.share_permille(), format!("measured in {took:.0} ms"))
                    }
                };
                MEASURED.store(rate, Relaxed);
                SHARE.store(share, Relaxed);
                (self.network(rate, share).map_err(Error::Setup)?, rate, share, origin)
            }
        };
        let mut text = format!("{}; links of {}, {origin}", self.hosts.describe(), format_rate(rate as f64));
        if self.hosts.has_switches() && share < 1000 {
            text += &format!("; links above a switch carry {:.0} % of what its hosts can send", share as f64 / 10.0);
        }
        if comm.rank() == Rank(0) {
            self.notes.iter().for_each(|note| logger::warn_once(note));
            log::info!("network: {text}");
        }
        networks::guessed(text);
        Ok(network)
    }

    fn say_shared(&self, comm: &Communicator, found: &LinkRate) {
        // Where switches are known, what pairs share is taken for the capacity of the links between them.
        let is_said = comm.rank() == Rank(0) && !self.hosts.has_switches();
        let Some(together) = found.shared.filter(|_| is_said) else { return };
        logger::warn_once(&format!(
            "OPTIQ_TOPOLOGY=auto: the network does not look like one switch: {} pairs of hosts reach {} each on average when all \
             send at once, and one alone {}; a topology that describes the network gains more",
            self.hosts.pairs().len(),
            format_rate(together as f64),
            format_rate(found.bytes_per_second as f64)
        ));
    }
}

/// Measures the rate of the links; collective, the same on all ranks.
fn measure(comm: &Communicator, hosts: &GuessedHosts) -> Result<LinkRate, Error> {
    let pairs = hosts.pairs();
    // Opening connections takes as long as a measurement.
    pair_rates(comm, &pairs, 0.0)?;
    let together = pair_rates(comm, &pairs, PROBE_SECONDS)?;
    let alone = if pairs.len() > 1 { pair_rates(comm, &pairs[..1], PROBE_SECONDS)? } else { together.clone() };
    Ok(link_rate(&together, alone.first().copied().unwrap_or(0)))
}
