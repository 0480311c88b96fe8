//! The networks of a process: each is built once, however many communicators use it, and none beyond `OPTIQ_MAX_HOSTS`.

use optiq_net::spec::has_kind;
use optiq_net::{NetError, Network};
use parking_lot::Mutex;
use std::sync::Arc;
#[cfg(feature = "mpi")]
use std::sync::OnceLock;

/// The last network that was made without a file, with the specification that it was made from.
static LAST: Mutex<Option<(String, Arc<Network>)>> = Mutex::new(None);

/// Whether `spec` is the path of a file, or several: it has no kind, or `file:`.
pub(crate) fn is_file(spec: &str) -> bool {
    !has_kind(spec) || spec.trim_start().starts_with("file:")
}

/// Whether `spec` names files, which may be others on other hosts and at another time.
pub(crate) fn reads_files(spec: &str) -> bool {
    let names_hosts =
        |part: &str| part.trim_start().strip_prefix("hosts").is_some_and(|p| p.trim_start().starts_with('='));
    is_file(spec) || spec.split(',').any(names_hosts)
}

/// The network of the specification `spec`, unless it has more than `most` hosts and switches. The error is a sentence.
pub(crate) fn network(spec: &str, most: usize) -> Result<Arc<Network>, String> {
    let build = || Network::from_spec_within(spec, most).map(Arc::new).map_err(told);
    if reads_files(spec) {
        return build();
    }
    let mut last = LAST.lock();
    if let Some((_, network)) = last.as_ref().filter(|(of, network)| of == spec && network.vertices() <= most) {
        return Ok(Arc::clone(network));
    }
    let network = build()?;
    *last = Some((spec.to_owned(), Arc::clone(&network)));
    Ok(network)
}

/// The first network of the process that was guessed, in words.
#[cfg(feature = "mpi")]
static GUESSED: OnceLock<String> = OnceLock::new();

/// Keeps for reports what was guessed or discovered; the first one counts.
#[cfg(feature = "mpi")]
pub(crate) fn guessed(text: String) {
    GUESSED.get_or_init(|| text);
}

/// The line of a report about a network that was guessed or discovered; empty if none was.
#[cfg(feature = "mpi")]
pub(crate) fn guessed_line() -> String {
    GUESSED.get().map_or_else(String::new, |text| format!("  network: {text}\n"))
}

pub(crate) fn told(error: NetError) -> String {
    match error {
        NetError::TooLarge { .. } => {
            format!("OPTIQ_TOPOLOGY: {error}, since every rank keeps the network; OPTIQ_MAX_HOSTS raises the limit")
        }
        other => format!("OPTIQ_TOPOLOGY: {other}"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_network_is_built_once_and_not_beyond_the_limit() {
        let one = network("torus:4x5", 100).unwrap();
        assert!(Arc::ptr_eq(&one, &network("torus:4x5", 100).unwrap()));
        let error = network("torus:4x5", 19).unwrap_err();
        assert!(
            error.contains("has 20 hosts and switches; at most 19") && error.contains("OPTIQ_MAX_HOSTS"),
            "{error}"
        );
        assert!(network("tours:4x5", 100).unwrap_err().starts_with("OPTIQ_TOPOLOGY: "));
        assert!(reads_files("file:x") && reads_files("torus:4, hosts = x") && !reads_files("star:2,names=hosts,b"));
    }
}
