//! What a run is known by: a fingerprint of everything that its results follow from, files that it reads included.
//!
//! Titles, comments and the place of a key in the file are no part of it, nor which lists there are: a run that two sweeps have in
//! common has one name. Which version of the simulator found a result is part of it.

use crate::error::SimError;
use crate::jobs::file::JobFile;
use crate::jobs::placement::{Placement, ServerPlacement};
use crate::jobs::program_spec::{ProgramKind, ProgramSpec};
use crate::jobs::run::Which;
use crate::model::Model;
use optiq_files::input;
use optiq_net::Network;
use optiq_net::fingerprint::{Fingerprint, Hasher};
use std::path::Path;
use std::sync::Arc;

/// The largest file that a program or a placement may name.
const MAX_FILE: u64 = 1 << 30;

/// A network and its model, kept for runs that have the same ones.
#[derive(Clone)]
pub struct Machine {
    /// The network's specification, and the model's name.
    key: (String, Option<String>),
    /// The network.
    pub network: Arc<Network>,
    /// The model of the machine.
    pub model: Arc<Model>,
}

impl Machine {
    /// The machine of a job file; the one that is at hand, if it is the same.
    ///
    /// # Errors
    /// What is wrong with network or model.
    pub fn of(file: &JobFile, at_hand: Option<&Machine>) -> Result<Self, SimError> {
        let key = (file.network.clone(), file.model.clone());
        if let Some(machine) = at_hand.filter(|machine| machine.key == key) {
            return Ok(machine.clone());
        }
        let network = Arc::new(file.load_network()?);
        let model = Arc::new(file.load_model(&network)?);
        Ok(Self { key, network, model })
    }
}

/// The fingerprint of a run.
///
/// # Errors
/// A file that it reads and that cannot be read.
pub fn fingerprint(file: &JobFile, machine: &Machine, which: Which) -> Result<Fingerprint, SimError> {
    let mut hasher = Hasher::new("optiq sweep run 1");
    hasher.bytes(env!("CARGO_PKG_VERSION").as_bytes());
    hasher.bytes(&machine.network.fingerprint().0.to_le_bytes());
    let JobFile { routing, seed, placement_seed, cores, .. } = file;
    let top = format!("{:?} {routing} {seed} {placement_seed} {cores} {which:?}", machine.model);
    hasher.bytes(top.as_bytes());
    for (number, job) in file.jobs.iter().enumerate() {
        let servers = job.servers.as_ref().map(ToString::to_string);
        let (hosts, processes) = (job.hosts, job.processes);
        let flags = (job.is_exclusive, job.is_measured);
        for part in [&job.name, &job.program.to_string(), &job.placement.to_string(), &servers.unwrap_or_default()] {
            hasher.bytes(part.as_bytes());
        }
        hasher.bytes(format!("{hosts:?} {processes} {flags:?}").as_bytes());
        // Documents of runs without classes keep their names.
        if job.class > 0 {
            hasher.bytes(format!("class {}", job.class).as_bytes());
        }
        for path in files_of(&job.program, &job.placement, job.servers.as_ref()) {
            let bytes = input::read(Path::new(path), MAX_FILE);
            let bytes = bytes.map_err(|e| file.error(number, &format!("{path}: {e}")))?;
            hasher.bytes(&bytes);
        }
    }
    Ok(hasher.finish())
}

/// The files that a job reads when it is placed or built.
fn files_of<'a>(
    program: &'a ProgramSpec,
    placement: &'a Placement,
    servers: Option<&'a ServerPlacement>,
) -> impl Iterator<Item = &'a str> {
    let of_program = match &program.kind {
        ProgramKind::Goal { file } | ProgramKind::Steps { file } => file.to_str(),
        ProgramKind::AllToAllV { demands, .. } => demands.strip_prefix("file:"),
        _ => None,
    };
    let of_placement = match placement {
        Placement::File(path) => Some(path.as_str()),
        _ => None,
    };
    let of_servers = match servers {
        Some(ServerPlacement::File(path)) => Some(path.as_str()),
        _ => None,
    };
    [of_program, of_placement, of_servers].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn name(text: &str, which: Which) -> Fingerprint {
        let file = JobFile::parse(text, "a").unwrap();
        let machine = Machine::of(&file, None).unwrap();
        let again = Machine::of(&file, Some(&machine)).unwrap();
        assert!(Arc::ptr_eq(&machine.network, &again.network));
        fingerprint(&file, &machine, which).unwrap()
    }

    #[test]
    fn what_results_follow_from_decides_and_nothing_else() {
        let text =
            "network = \"star:8\"\n[[job]]\nname = \"a\"\nhosts = 4\nprogram = \"pairs,message=4KB,think=1ms\"\n";
        let first = name(text, Which::Both);
        let same = format!("# a comment\ntitle = \"t\"\nseed = 0\n{}", text.replace("think=1ms", "think=1000us"));
        assert_eq!(first, name(&same, Which::Both));
        for other in [
            text.replace("star:8", "star:9"),
            text.replace("hosts = 4", "hosts = 2"),
            text.replace("1ms", "2ms"),
            text.replace("\"a\"", "\"b\""),
            format!("seed = 1\n{text}"),
            format!("placement_seed = 1\n{text}"),
            format!("model = \"bgq\"\n{}", text.replace("star:8", "star:8,capacity=1.8GB/s")),
            format!("{text}samples = 3\n"),
            format!("{text}placement = \"contiguous\"\n"),
        ] {
            assert_ne!(first, name(&other, Which::Both), "{other}");
        }
        assert_ne!(first, name(text, Which::Together));
    }

    #[test]
    fn files_count_with_what_is_in_them() {
        let folder = std::env::temp_dir().join(format!("optiq-identity-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let list = folder.join("hosts");
        let text = format!(
            "network = \"star:8\"\n[[job]]\nname = \"a\"\nplacement = \"file:{}\"\nprogram = \"pairs,message=4KB\"\n",
            list.display()
        );
        std::fs::write(&list, "0\n1\n").unwrap();
        let first = name(&text, Which::Both);
        std::fs::write(&list, "0\n2\n").unwrap();
        assert_ne!(first, name(&text, Which::Both));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
