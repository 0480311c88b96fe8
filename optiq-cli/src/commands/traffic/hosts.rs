//! Which host of the network a rank of a profile is on. Never guessed: by name, or by a file.

use crate::failure::Failure;
use optiq_net::{Network, NodeId, text_file};
use optiq_trace::profile::job::JobProfile;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// More than a line for each host of the largest machines.
const MOST_BYTES: u64 = 16 << 20;

/// What `--hosts` gives: a processor name, the host of the network, and the line.
#[derive(Default)]
pub struct HostMap {
    path: PathBuf,
    hosts: BTreeMap<String, (String, usize)>,
}

impl HostMap {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let text = text_file::read(path, MOST_BYTES)
            .map_err(|why| Failure::Input(format!("--hosts {}: {why}", path.display())))?;
        let mut map = Self { path: path.to_owned(), hosts: BTreeMap::new() };
        for (number, line) in (1..).zip(text.lines()) {
            let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
            match words[..] {
                [] => {}
                [name, host] => {
                    let before = map.hosts.insert(name.to_owned(), (host.to_owned(), number));
                    if let Some((_, first)) = before {
                        return Err(map.wrong(
                            number,
                            &format!("\"{name}\" is on line {first} already; each name once is expected"),
                        ));
                    }
                }
                _ => {
                    let what = format!("found {} words; a processor name and a host are expected", words.len());
                    return Err(map.wrong(number, &what));
                }
            }
        }
        Ok(map)
    }

    fn wrong(&self, line: usize, what: &str) -> Failure {
        Failure::Input(format!("{}:{line}: {what}", self.path.display()))
    }

    /// The host of each rank of a job; `None` for those without a file, of which nothing is known.
    ///
    /// # Errors
    /// [`Failure::Input`] that names the processor that is no host.
    pub fn place(&self, net: &Network, profile: &JobProfile) -> Result<Vec<Option<NodeId>>, Failure> {
        let mut known: BTreeMap<&str, NodeId> = BTreeMap::new();
        // Two processors that were found without their domains may be two machines.
        let mut taken: BTreeMap<NodeId, &str> = BTreeMap::new();
        let mut hosts = vec![None; profile.ranks() as usize];
        for file in &profile.files {
            let name = file.host.as_str();
            let host = match known.get(name) {
                Some(host) => *host,
                None => {
                    let host = self.host(net, name, file.rank)?;
                    if let Some(other) = taken.insert(host, name) {
                        let net_host = net.name(host);
                        let what =
                            format!("the processors \"{other}\" and \"{name}\" would both be the host \"{net_host}\"");
                        return Err(Failure::Input(format!("{what}; --hosts FILE tells them apart")));
                    }
                    known.insert(name, host);
                    host
                }
            };
            hosts[file.rank as usize] = Some(host);
        }
        Ok(hosts)
    }

    fn host(&self, net: &Network, name: &str, rank: u32) -> Result<NodeId, Failure> {
        if let Some((host, line)) = self.hosts.get(name) {
            let found = net.resolve(host).map_err(|e| self.wrong(*line, &e.to_string()))?;
            return match net.is_host(found) {
                true => Ok(found),
                false => Err(self.wrong(*line, &format!("\"{host}\" is a switch; a host is expected"))),
            };
        }
        net.host(name).ok_or_else(|| {
            Failure::Input(format!(
                "rank {rank} of the profile ran on \"{name}\", which is no host of {}; the network of the job is expected, or \
                 --hosts FILE with a line \"{name} HOST\"",
                net.title()
            ))
        })
    }
}
