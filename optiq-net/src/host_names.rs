//! Names of a preset's hosts: `names=` and `hosts=` in a specification.
//!
//! ```text
//! torus:4x4,names=nid[00008-00023]   # a list as Slurm writes it; the first name is host 0
//! fattree:k=8,hosts=hosts.txt        # a file with a line for each host
//! ```
//!
//! Where adapters are hosts (`nodes=`), the names may be those of the nodes: adapter 2 of `node7` is `node7-2`.
//!
//! A line of such a file is a name, or a list of names, of the next hosts; or a name and the host's position (its number or,
//! on a grid, its coordinates), and then all lines have one. `#` starts a comment. Every host needs a name: a
//! position is never guessed.

use crate::file_names;
use crate::hostlist;
use crate::ids::NodeId;
use crate::names::Names;
use crate::network::Network;
use crate::text_file::{self, shorten};
use std::path::{Path, PathBuf};

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// What a specification says about the names of its hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostNames {
    /// `names=`: a list of names.
    List(String),
    /// `hosts=`: a file.
    File(String),
}

/// A specification without its `names=` or `hosts=` option, and that option. The error is the rest of a sentence.
pub(crate) fn split(spec: &str) -> Result<(String, Option<HostNames>), String> {
    // A file's path is all that follows, and may contain anything.
    if spec.trim_start().starts_with("file:") {
        return Ok((spec.to_string(), None));
    }
    let (mut rest, mut found, mut in_names) = (Vec::new(), None, false);
    for (number, part) in spec.split(',').enumerate() {
        // The commas of a list of names separate names, not options.
        if let Some(HostNames::List(list)) = found.as_mut().filter(|_| in_names && !part.contains('=')) {
            list.push(',');
            list.push_str(part.trim());
            continue;
        }
        let option = part.split_once('=').filter(|_| number > 0).map(|(key, value)| (key.trim(), value.trim()));
        let naming = match option {
            Some(("names", list)) => Some(HostNames::List(list.to_string())),
            Some(("hosts", file)) => Some(HostNames::File(file.to_string())),
            _ => None,
        };
        in_names = matches!(naming, Some(HostNames::List(_)));
        match naming {
            None => rest.push(part),
            Some(_) if found.is_some() => return Err("names= or hosts= is given twice; one of them is expected".into()),
            Some(naming) => found = Some(naming),
        }
    }
    Ok((rest.join(","), found))
}

impl HostNames {
    /// The network with these names for its hosts. The error is the rest of a sentence.
    pub fn apply(&self, mut network: Network) -> Result<Network, String> {
        let expected = network.hosts;
        let names = match self {
            HostNames::List(list) => hostlist::expand(list, expected).map_err(|why| format!("names=: {why}"))?,
            HostNames::File(file) => read(&network, Path::new(file)).map_err(|why| format!("hosts={file}: {why}"))?,
        };
        let option = if matches!(self, HostNames::List(_)) { "names=" } else { "hosts=" };
        let adapters = network.switched.as_ref().and_then(|shape| shape.node());
        let names = match adapters {
            Some(adapters) if names.len() * adapters as usize == expected => {
                let of_node = |name: String| (0..adapters).map(move |adapter| adapter_name(&name, adapter));
                names.into_iter().flat_map(of_node).collect()
            }
            _ => names,
        };
        if names.len() != expected {
            return Err(format!("{option} gives {} names, but the network has {expected} hosts", names.len()));
        }
        // A number is a position wherever a host is named.
        if let Some(number) = names.iter().find(|name| name.bytes().all(|b| b.is_ascii_digit())) {
            return Err(format!("{option} gives the name \"{}\"; a name is more than a number", shorten(number)));
        }
        let switches = (expected..network.vertices()).map(|v| network.names.of(NodeId(v as u32)).to_string());
        let all = names.into_iter().chain(switches).collect();
        network.names = Names::new(all, Vec::new()).map_err(|e| format!("{option}: {e}"))?;
        network.spec = format!("{},{self}", network.spec);
        Ok(network)
    }
}

impl std::fmt::Display for HostNames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            HostNames::List(list) => write!(f, "names={list}"),
            HostNames::File(file) => write!(f, "hosts={file}"),
        }
    }
}

/// The name of an adapter of a node, where adapters are hosts.
pub(crate) fn adapter_name(node: &str, adapter: u32) -> String {
    format!("{node}-{adapter}")
}

/// The names in the file at `path`, by host. The error is the rest of a sentence that names the file.
fn read(network: &Network, path: &Path) -> Result<Vec<String>, String> {
    let text = text_file::read(path, MAX_BYTES)?;
    let (mut in_order, mut placed): (Vec<String>, Vec<(NodeId, String, usize)>) = (Vec::new(), Vec::new());
    for (number, line) in (1usize..).zip(text.lines()) {
        let told = |why: String| format!("line {number}: {why}");
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(name) = words.next() else { continue };
        let position: Vec<&str> = words.collect();
        if position.is_empty() {
            if in_order.len() == network.hosts {
                return Err(told(format!(
                    "there are more names than hosts in the network, which has {}",
                    network.hosts
                )));
            }
            in_order.extend(hostlist::expand(name, network.hosts - in_order.len()).map_err(told)?);
        } else {
            let position = position.concat();
            let host = network.resolve(&position).map_err(|e| told(e.to_string()))?;
            if !network.is_host(host) {
                return Err(told(format!("\"{}\" is a switch; the number of a host is expected", shorten(&position))));
            }
            placed.push((host, name.to_string(), number));
        }
        if !in_order.is_empty() && !placed.is_empty() {
            return Err(told("a position for every name, or for none, is expected".into()));
        }
    }
    if placed.is_empty() {
        return Ok(in_order);
    }
    placed.sort();
    if let Some(twice) = placed.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(format!("line {}: position {} is given twice", twice[1].2, twice[1].0.0));
    }
    Ok(placed.into_iter().map(|(_, name, _)| name).collect())
}

impl Network {
    /// [`Network::spec`] as it is understood from any directory: the files that it names have absolute paths.
    pub fn absolute_spec(&self) -> String {
        let absolute = |path: &str| std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
        if let Some(path) = self.spec.strip_prefix("file:") {
            return format!("file:{}", file_names::absolute(path));
        }
        let part = |part: &str| match part.strip_prefix("hosts=") {
            Some(path) => format!("hosts={}", absolute(path).display()),
            None => part.to_string(),
        };
        self.spec.split(',').map(part).collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::spec::tests::mutations;
    use proptest::prelude::*;

    #[test]
    fn every_preset_can_name_its_hosts() {
        for (spec, canonical, last) in [
            ("torus:4x4,names=nid[00008-00023]", "torus:4x4,names=nid[00008-00023]", "nid00023"),
            ("mesh:2x2, names = a[1-2],b[1,3] ,capacity=2GB/s", "mesh:2x2,capacity=2GB/s,names=a[1-2],b[1,3]", "b3"),
            ("star:4,io=n2@1GB/s,names=n[1-4]", "star:4,names=n[1-4],io=1@1GB/s", "n4"),
            ("fattree:2x2:1x2,names=r[1-2]n[1-2],rails=2", "fattree:2x2:1x2,rails=2,names=r[1-2]n[1-2]", "r2n2"),
            ("dragonfly:p=1,a=2,h=1,names=n[1-6]", "dragonfly:p=1,a=2,h=1,g=3,names=n[1-6]", "n6"),
            ("star:8,nodes=4@8GB/s,names=n[1-2]", "star:8,nodes=4@8GB/s,names=n[1-2]", "n2-3"),
            ("bgq:512,names=n[000-511]", "bgq:512,names=n[000-511]", "n511"),
        ] {
            let network = Network::from_spec(spec).unwrap();
            assert_eq!(network.spec(), canonical);
            assert_eq!(network.host(last), Some(NodeId(network.hosts() as u32 - 1)), "{spec}");
            assert_eq!(network.host("h0"), None, "{spec}");
            let again = Network::from_spec(canonical).unwrap();
            assert_eq!((again.spec(), again.io_hosts()), (canonical, network.io_hosts()));
            // Names are no part of what a plan depends on.
            let unnamed = Network::from_spec(&split(spec).unwrap().0.replace("io=n2", "io=1")).unwrap();
            assert_eq!(network.fingerprint(), unnamed.fingerprint());
        }
    }

    #[test]
    fn files_of_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hosts.txt");
        let spec = format!("torus:2x2,hosts={}", path.display());
        let network = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Network::from_spec(&spec).map_err(|e| e.to_string())
        };
        let names = |net: Network| (0..4).map(|h| net.name(NodeId(h)).to_string()).collect::<Vec<_>>().join(" ");
        assert_eq!(names(network("# rack 1\na\nb[1-2]  # two\n\nc\n").unwrap()), "a b1 b2 c");
        assert_eq!(names(network("a (1,1)\nb 0\nc 1,0\nd (0, 1)\n").unwrap()), "b d c a");
        assert_eq!(network("a\nb\nc\nd\n").unwrap().absolute_spec(), spec);
        for (text, expected) in [
            ("a\nb\n", "gives 2 names, but the network has 4 hosts"),
            ("a\nb\nc\nd\n\ne\n", "line 6: there are more names than hosts in the network, which has 4"),
            ("a\nb[1-9]\n", "line 2: list of names \"b[1-9]\": it has more than 3 names"),
            ("a\na\nb\nc\n", "\"a\" is given to two vertices"),
            ("a 0\nb 0\nc 1\nd 2\n", "line 2: position 0 is given twice"),
            ("a 0\nb\n", "line 2: a position for every name, or for none"),
            ("a 7\n", "line 1: \"7\" is not in the network; an index below 4"),
            ("\n a[1-\n", "line 2: list of names"),
            ("1\n2\n3\n4\n", "a name is more than a number"),
        ] {
            let error = network(text).unwrap_err();
            assert!(error.contains(expected) && !error.contains('\n'), "{text:?}: {error}");
        }
        let error = Network::from_spec("torus:2x2,hosts=/dev/zero").unwrap_err().to_string();
        assert!(error.contains("regular file"), "{error}");
    }

    #[test]
    fn refusals_say_what_was_expected() {
        for (text, expected) in [
            ("torus:4x4,names=n[1-15]", "gives 15 names, but the network has 16 hosts"),
            ("torus:4x4,names=n[1-17]", "it has more than 16 names"),
            ("torus:4x4,names=n[1-16],hosts=x", "given twice"),
            ("torus:4x4,names=", "a name is missing"),
            ("torus:4x4,names=n[1-16", "not closed"),
            ("torus:4x4,hosts=no/such/file", "hosts=no/such/file"),
            ("star:2,names=a,s0", "\"s0\" is given to two vertices"),
        ] {
            let error = Network::from_spec(text).unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains('\n'), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn mutated_names_do_not_panic(
            text in mutations(vec!["torus:2x2,names=n[1-2,4],m,io=0", "star:3,names=a[01-03],capacity=1GB/s"]),
        ) {
            if let Ok(net) = Network::from_spec(&text) && net.hosts() < 2000 {
                let again = Network::from_spec(net.spec()).unwrap();
                prop_assert_eq!(again.spec(), net.spec());
            }
        }
    }
}
