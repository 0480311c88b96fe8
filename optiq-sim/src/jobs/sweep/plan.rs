//! How much work runs are, before they are started: packets from what their jobs are to send, and the speed of the simulator from
//! a short run.
//!
//! The packets of a job are those of one operation of each rank ([`traffic`], messages of the protocols included) times its operations,
//! each of at most the model's packet size. A job that keeps going sends for as long as the measured ones take, which is not
//! known before: it is counted with its own operations. With each job alone as well every job is simulated twice.

use super::identity::Machine;
use crate::engine::limits::Limits;
use crate::error::SimError;
use crate::jobs::allocation::Allocation;
use crate::jobs::file::JobFile;
use crate::jobs::programs::setting::JobSetting;
use crate::jobs::programs::traffic::traffic;
use crate::jobs::run::{JobRunOptions, Jobs, Which, run_jobs};
use std::time::Duration;

/// The expected packets of a run.
///
/// # Errors
/// Jobs that do not fit.
pub fn packets(file: &JobFile, machine: &Machine, which: Which) -> Result<f64, SimError> {
    let allocation = Allocation::new(file, &machine.network)?;
    let mut packets = 0.0;
    let mut first = 0;
    for (number, (entry, hosts)) in file.jobs.iter().zip(&allocation.jobs).enumerate() {
        let of_processes: Vec<u32> = hosts.of_processes().map(|host| host.0).collect();
        let setting = JobSetting {
            network: &machine.network,
            model: &machine.model,
            hosts: &of_processes,
            servers: hosts.servers.len() as u32,
            first,
            seed: file.job_seed(number),
            keep_going: false,
            planning_network: None,
        };
        first += of_processes.len() as u32;
        let flows = traffic(&entry.program, &setting).map_err(|e| file.error(number, &e.to_string()))?;
        let packet = machine.model.link.packet_bytes as f64;
        let once: f64 = (flows.iter())
            .map(|flow| {
                let pairs = flow.sources.len() as f64 * flow.destinations.len() as f64;
                pairs * flow.bytes / packet
            })
            .sum();
        packets += once * entry.program.operations() as f64;
    }
    Ok(packets * if which == Which::Both && file.jobs.len() > 1 { 2.0 } else { 1.0 })
}

/// How many packets per second of one thread's time the simulator moves in a run, from its first ones: at most so much time is
/// taken for each of its simulations. `None` if none has arrived.
///
/// # Errors
/// Jobs that do not fit or fail.
pub fn packets_per_second(file: &JobFile, machine: &Machine, most: Duration) -> Result<Option<f64>, SimError> {
    let allocation = Allocation::new(file, &machine.network)?;
    let jobs = Jobs {
        file,
        network: &machine.network,
        model: &machine.model,
        allocation: &allocation,
        planning_networks: &[],
    };
    let limits = Limits { wall: Some(most), ..Limits::default() };
    let options = JobRunOptions { which: Which::Together, threads: 1, limits, ..JobRunOptions::default() };
    let found = run_jobs(&jobs, &options)?;
    let run = found.together.filter(|run| run.packets > 0 && run.wall_seconds > 0.0);
    Ok(run.map(|run| run.packets as f64 / run.wall_seconds))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use optiq_net::units::parse_bytes;

    /// Four ranks send 5 messages of 20 packets each, and each is confirmed by a control message.
    #[test]
    fn packets_by_hand_and_by_simulation() {
        let text = "network = \"star:4\"\n[[job]]\nname = \"a\"\nhosts = 4\n\
                    program = \"pairs,message=40KiB,samples=4,warmup=1\"\n";
        let file = JobFile::parse(text, "a").unwrap();
        let mut machine = Machine::of(&file, None).unwrap();
        let mut model = (*machine.model).clone();
        model.link.packet_bytes = 2048;
        model.host.eager_bytes = u64::MAX;
        let control = model.host.control_bytes as f64;
        machine.model = std::sync::Arc::new(model);
        let expected = 4.0 * 5.0 * (parse_bytes("40KiB").unwrap() as f64 + control) / 2048.0;
        let found = packets(&file, &machine, Which::Both).unwrap();
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        let rate = packets_per_second(&file, &machine, Duration::from_secs(5)).unwrap().unwrap();
        assert!(rate > 1e3, "{rate}");
    }
}
