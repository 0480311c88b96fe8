//! A real network on one machine: Linux network namespaces joined by veth pairs that `tc` shapes.
//!
//! Real kernel forwarding, real TCP, real MPI, real wall clock. Any [`optiq_net::Network`] can be had, with its own
//! routing: torus and mesh, where each host has a router of its own, and networks with switches.
//!
//! ```no_run
//! use optiq_lab::{Lab, RunOptions, UpOptions, network_at};
//!
//! let network = network_at("torus:4x4", "100Mbit/s".parse()?)?;
//! let lab = Lab::up(&network, &UpOptions::default())?;
//! let outcome = lab.run(&["hostname".into()], &RunOptions::default())?;
//! println!("status {} after {:.2} s", outcome.status, outcome.seconds);
//! lab.down()?;
//! # Ok::<(), optiq_lab::LabError>(())
//! ```
//!
//! Works as root, and without root where the system permits user namespaces. Touches nothing in the machine's own
//! namespaces, and leaves nothing behind: a lab is the open files of one process (its *holder*), and what runs in it
//! runs in a process namespace of its own.
//!
//! The library starts the running binary again for everything that needs rights. **The `main` of a program that uses
//! it must therefore begin with [`internal_main`].**

mod agent;
mod batch;
mod blueprint;
pub mod constants;
mod counters;
mod entry;
mod error;
mod forwarding;
mod holder;
mod jobs;
mod lab;
mod link;
mod member;
mod mpi;
mod needed;
mod netns;
mod other_load;
mod proc;
mod profile;
mod rate;
mod run;
mod shape;
mod slow;
mod speeds;
mod state;
mod stream;
mod supervise;
mod tables;
mod tap;
mod tools;
mod tuning;

pub use blueprint::{Blueprint, Host, MAX_NAMESPACES, Namespace, Probe, Role, network_as_given, network_at};
pub use counters::Traffic;
pub use error::LabError;
pub use jobs::LabJob;
pub use lab::{Lab, Status, UpOptions, list};
pub use link::LabLink;
pub use mpi::{MpiFlavour, PROFILE_VARIABLE, TOPOLOGY_VARIABLE};
pub use other_load::LoadFlow;
pub use proc::ProcessId;
pub use profile::Profile;
pub use rate::Rate;
pub use run::{Outcome, RunOptions};
pub use speeds::LinkRate;
pub use stream::Stream;
pub use supervise::End;
pub use tap::{TapRecord, Tapped, Taps};
pub use tuning::{Queue, Tuning};

use entry::{ENTRY, HOLD_VERB};
use serde::de::DeserializeOwned;
use slow::Pace;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

/// The other mains of a binary that uses labs. To be called first, before any thread is started, with the whole
/// command line, the program's name included; if it returns an exit status, the program must end with it.
pub fn internal_main(arguments: impl IntoIterator<Item = OsString>) -> Option<i32> {
    let arguments: Vec<OsString> = arguments.into_iter().skip(1).collect();
    let (entry, rest) = arguments.split_first()?;
    if entry != ENTRY {
        return None;
    }
    let words: Vec<&OsStr> = rest.iter().map(OsString::as_os_str).collect();
    Some(match (words.first().and_then(|v| v.to_str()), words.as_slice()) {
        (Some(HOLD_VERB), [_, state, life]) => match life.to_str().and_then(|s| s.parse().ok()) {
            Some(seconds) => holder::main(Path::new(state), Duration::from_secs(seconds)),
            None => misused(),
        },
        (Some(supervise::VERB), [_, state, task, _, ..]) => match parse(task) {
            Some(task) => supervise::main(Path::new(state), &task, &rest[3..]),
            None => misused(),
        },
        (Some(supervise::INIT_VERB), [_, parent, pace, _, ..]) => {
            match (parent.to_str().and_then(|s| s.parse().ok()), Pace::parse(pace)) {
                (Some(parent), Some(pace)) => supervise::init_main(parent, pace, &rest[3..]),
                _ => misused(),
            }
        }
        (Some(slow::VERB), [_]) => slow::main(),
        (Some(verb @ (agent::VERB | agent::DEVICES_VERB)), [_, state, run_dir, host, _, ..]) => {
            let devices = verb == agent::DEVICES_VERB;
            agent::main(Path::new(state), Path::new(run_dir), host, &rest[4..], devices)
                .unwrap_or_else(|e| tell(Err(e)))
        }
        (Some(stream::VERB), [_, state, task]) => match parse(task) {
            Some(task) => tell(stream::main(Path::new(state), &task).map(|rate| println!("{rate}"))),
            None => misused(),
        },
        (Some(other_load::VERB), [_, state, task]) => match parse(task) {
            Some(task) => tell(other_load::main(Path::new(state), &task)),
            None => misused(),
        },
        (Some(tap::VERB), [_, state, task]) => match parse(task) {
            Some(task) => tell(tap::main(Path::new(state), &task)),
            None => misused(),
        },
        (Some(counters::VERB), [_, state, _]) => tell(counters::main(Path::new(state)).map(|counted| {
            println!("{}", serde_json::to_string(&counted).unwrap_or_default());
        })),
        (Some(shape::VERB), [_, state, task]) => match parse(task) {
            Some(task) => tell(shape::main(Path::new(state), &task)),
            None => misused(),
        },
        _ => misused(),
    })
}

fn parse<T: DeserializeOwned>(task: &OsStr) -> Option<T> {
    serde_json::from_str(task.to_str()?).ok()
}

/// The helper's half of an agreement: an error is one line on standard error and status 1.
fn tell(result: Result<(), LabError>) -> i32 {
    match result {
        Ok(()) => 0,
        Err(e) => {
            eprintln!("{e}");
            1
        }
    }
}

fn misused() -> i32 {
    eprintln!("{ENTRY} is how this program starts itself inside a lab; it is not for use by hand");
    2
}
