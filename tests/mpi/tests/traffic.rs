//! A profile on the links of a lab, beside what the kernel has counted on them: equal less headers, within 1 %.
//!
//! Has a main of its own because the lab starts the running binary again. Skipped, with the reason, where the system permits no namespaces,
//! and with other libraries than Open MPI, which count no messages.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../../common/mod.rs"]
mod common;
mod in_lab;

use optiq_lab::{End, LabError, RunOptions, network_at};
use optiq_lower::link_traffic::HostTraffics;
use optiq_lower::placement::{Placement, PlacementRule};
use optiq_net::Network;
use optiq_trace::ids::Rank;
use optiq_trace::profile::job::{JobProfile, Moved};
use optiq_transport::mpi::Library;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// No run takes longer, however busy the machine.
const LIMIT: Duration = Duration::from_secs(100);

/// Of a packet: Ethernet 14 B, IPv4 20 B, TCP 20 B and its time stamps 12 B. What the kernel keeps together as one packet has them once.
const HEADERS: u64 = 14 + 20 + 20 + 12;

const NETWORKS: [&str; 3] = ["torus:2x2", "fattree:2x2:1x2", "star:4"];

fn main() {
    let selected = in_lab::begin(NETWORKS);
    let folder = TempDir::new().unwrap();
    for spec in NETWORKS.into_iter().filter(|spec| selected.has(spec)) {
        if Library::CURRENT != Library::OpenMpi {
            println!("test {spec} ... skipped: only Open MPI counts messages");
            continue;
        }
        match run(spec, folder.path()) {
            Ok(()) => println!("test {spec} ... ok"),
            Err(LabError::Missing(why)) => println!("test {spec} ... skipped: {why}"),
            Err(e) => panic!("{e}"),
        }
    }
}

/// The program of tests/profile.rs.
fn program(folder: &Path) -> OsString {
    let program = folder.join("traffic");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../preload/traffic.c");
    let output =
        Command::new(common::mpicc()).args(["-std=gnu99", "-O1", "-o"]).arg(&program).arg(source).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program.into()
}

fn run(spec: &str, folder: &Path) -> Result<(), LabError> {
    let network = network_at(spec, "200Mbit/s".parse()?)?;
    let lab = in_lab::up("traffic", &network, &folder.join("lab"))?;
    let profile = folder.join(spec.replace(':', "-"));
    let variables =
        [format!("LD_PRELOAD={}", common::preload_library()), format!("OPTIQ_PROFILE={}", profile.display())];
    let mut words: Vec<OsString> = vec!["env".into()];
    words.extend(variables.map(OsString::from));
    words.push(program(folder));
    words.extend(["bulk", "alltoall"].map(OsString::from));
    let before = lab.counters()?;
    let options = RunOptions { timeout: Some(LIMIT), capture: true, ..RunOptions::default() };
    let outcome = lab.run(&words, &options)?;
    let output = String::from_utf8_lossy(&outcome.stdout).into_owned();
    assert!((outcome.end, outcome.status) == (End::Exited, 0), "{output}");
    assert_eq!(output.matches("all is well").count(), 4, "{output}");
    let after = lab.counters()?;
    let predicted = predicted(&network, &profile);
    let status = lab.status()?;
    for ((link, bytes), (before, after)) in status.links.iter().zip(predicted).zip(before.iter().zip(&after)) {
        let packets = after.packets - before.packets;
        let counted = (after.bytes - before.bytes).saturating_sub(packets * HEADERS);
        println!("  {} to {}: {bytes} B predicted, {counted} B counted in {packets} packets", link.from, link.to);
        assert!(bytes > 1_000_000, "{spec}: {} to {}: {bytes} bytes are too few to compare", link.from, link.to);
        // Beside the program's messages there are those that connect the ranks.
        assert!(counted.abs_diff(bytes) <= bytes / 100, "{spec}: {} to {}: {counted} for {bytes}", link.from, link.to);
    }
    lab.down()?;
    Ok(())
}

/// What the profile puts on each link.
fn predicted(network: &Network, profile: &Path) -> Vec<u64> {
    let profile = JobProfile::load(profile).unwrap();
    assert!(profile.gaps().is_empty());
    let names: Vec<String> = profile.files.iter().map(|f| f.host.clone()).collect();
    let placement = Placement::new(network, &names, &PlacementRule::Names).unwrap();
    let pairs = profile.pairs(Moved::Sent);
    let sent = pairs.iter().map(|(&(from, to), t)| (0, placement.host(Rank(from)), placement.host(Rank(to)), t.bytes));
    let traffic = HostTraffics::new(sent);
    traffic.load(network).unwrap().bytes
}
