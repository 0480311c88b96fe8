//! How tests with labs begin: they have mains of their own, because a lab starts the running binary again.

use optiq_lab::{Lab, LabError, UpOptions, internal_main};
use optiq_net::Network;
use std::env;
use std::path::Path;
use std::process::exit;
use std::time::Duration;

/// The cases that the command line asks for.
pub struct Selection {
    filters: Vec<String>,
}

impl Selection {
    /// Whether this one is among them.
    pub fn has(&self, name: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| name.contains(filter.as_str()))
    }
}

/// To be called first in a main: serves a lab that has started this binary, and a question for the names of the cases, and returns from
/// neither.
pub fn begin<'a>(names: impl IntoIterator<Item = &'a str>) -> Selection {
    if let Some(status) = internal_main(env::args_os()) {
        exit(status);
    }
    // Programs in the lab see the caller's OPTIQ_* variables; here each case says which there are.
    for (name, _) in env::vars_os().filter(|(n, _)| n.to_string_lossy().starts_with("OPTIQ_")) {
        // SAFETY: no other thread exists yet.
        unsafe { env::remove_var(name) };
    }
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments.iter().any(|a| a == "--list") {
        names.into_iter().for_each(|name| println!("{name}: test"));
        exit(0);
    }
    Selection { filters: arguments.into_iter().filter(|a| !a.starts_with('-')).collect() }
}

/// A lab that goes with this process, whatever becomes of that.
pub fn up(name: &str, network: &Network, root: &Path) -> Result<Lab, LabError> {
    let options = UpOptions {
        name: name.into(),
        root: Some(root.to_path_buf()),
        lifetime: Some(Duration::from_secs(600)),
        attached: true,
        ..UpOptions::default()
    };
    Lab::up(network, &options)
}
