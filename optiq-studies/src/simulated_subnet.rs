//! InfiniBand subnets without hardware: `ibsim` simulates switches and adapters, OpenSM discovers and routes them, and the fabric's own
//! tools print what they see. In Debian these are the packages opensm, ibsim-utils and infiniband-diags.

use crate::failure::Failure;
use crate::workspace::in_path;
use optiq_net::import::{ImportOptions, ImportedFabric, Importer};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Routes by the names at their ends, each cable as `PORT>NAME/PORT`, with spaces in between: the form of `optiq fabric import --routes`.
pub type Routes = BTreeMap<(String, String), String>;

/// What is started.
const PROGRAMS: [&str; 5] = ["ibsim", "opensm", "ibnetdiscover", "dump_fts", "ibtracert"];

/// Where administrators' programs are, which are not in everybody's path.
const ADMINISTRATORS: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Far above what the simulator takes for the largest fabric here.
const LIMIT: Duration = Duration::from_secs(900);

/// Between two looks at what the simulator has printed.
const SHORT: Duration = Duration::from_millis(20);

/// The file of a rail's cables, below its folder.
pub const CABLES: &str = "ibnetdiscover.txt";
/// The file of a rail's tables, below its folder.
pub const TABLES: &str = "dump_fts.txt";
/// What OpenSM itself leaves there: cables, and the tables twice.
pub const OPENSM_FILES: [&str; 3] = ["opensm-subnet.lst", "opensm-lfts.dump", "opensm.fdbs"];

/// A fat tree: pods of leaves, with `per_leaf` hosts each; every leaf has `leaf_lanes` cables to each of `mids` switches of its pod, and
/// each of those `lanes` cables to each of its own `tops` switches, which all pods share. Without tops there is one pod. A second
/// rail is the same tree again, which has nothing in common with the first but the hosts.
#[derive(Clone, Copy, Debug)]
pub struct FatTree {
    /// Groups of leaves that only the tops join.
    pub pods: usize,
    /// Leaf switches of a pod.
    pub leaves: usize,
    /// Hosts of a leaf switch.
    pub per_leaf: usize,
    /// Switches of the second level of a pod.
    pub mids: usize,
    /// Cables from a leaf to each of them.
    pub leaf_lanes: usize,
    /// Switches of the third level above each switch of the second.
    pub tops: usize,
    /// Cables to each of them.
    pub lanes: usize,
    /// Ports of each host.
    pub rails: usize,
}

impl FatTree {
    /// One level of switches below another, with one cable between any two.
    pub const fn two_levels(leaves: usize, per_leaf: usize, mids: usize) -> Self {
        FatTree { pods: 1, leaves, per_leaf, mids, leaf_lanes: 1, tops: 0, lanes: 0, rails: 1 }
    }

    /// Three levels, with one cable between any two switches that are joined.
    pub const fn three_levels(pods: usize, leaves: usize, per_leaf: usize, mids: usize, tops: usize) -> Self {
        FatTree { pods, leaves, per_leaf, mids, leaf_lanes: 1, tops, lanes: 1, rails: 1 }
    }

    /// The same with two rails.
    pub const fn with_two_rails(self) -> Self {
        FatTree { rails: 2, ..self }
    }

    /// How many hosts there are: `node0001` and so on.
    pub fn hosts(&self) -> usize {
        self.pods * self.leaves * self.per_leaf
    }

    /// Levels of switches.
    pub fn levels(&self) -> u32 {
        if self.tops > 0 { 3 } else { 2 }
    }

    /// The level of a switch by its name, from 1; 0 for hosts.
    pub fn level_of(name: &str) -> u32 {
        let kinds = ["node", "leaf", "mid", "top"];
        let kind = name.trim_start_matches(prefix(2));
        kinds.iter().position(|k| kind.starts_with(k)).map_or(0, |level| level as u32)
    }

    /// A net file of `ibsim`. The first node is where OpenSM runs, and must be a host.
    fn net(&self) -> String {
        let mut ports: BTreeMap<String, Vec<(String, usize)>> = BTreeMap::new();
        (1..=self.rails).for_each(|rail| self.join(prefix(rail), &mut ports));
        let (hosts, switches): (Vec<_>, Vec<_>) = ports.iter().rev().partition(|(name, _)| name.starts_with("node"));
        let mut text = String::new();
        for (name, ports) in hosts.into_iter().chain(switches) {
            let (kind, radix) =
                if name.starts_with("node") { ("Hca", self.rails) } else { ("Switch", ports.len().max(36)) };
            let _ = writeln!(text, "{kind} {radix} \"{name}\"");
            for (port, (peer, far)) in ports.iter().enumerate() {
                let _ = writeln!(text, "[{}] \"{peer}\"[{far}]", port + 1);
            }
            text.push('\n');
        }
        text
    }

    /// Joins one rail: each node's neighbours with their ports, by port from 1.
    fn join(&self, rail: &str, ports: &mut BTreeMap<String, Vec<(String, usize)>>) {
        let mut join = |a: &str, b: &str| {
            let next = |ports: &BTreeMap<String, Vec<(String, usize)>>, n: &str| ports.get(n).map_or(0, Vec::len) + 1;
            let (at_a, at_b) = (next(ports, a), next(ports, b));
            ports.entry(a.to_owned()).or_default().push((b.to_owned(), at_b));
            ports.entry(b.to_owned()).or_default().push((a.to_owned(), at_a));
        };
        for (pod, leaf) in (0..self.pods).flat_map(|p| (0..self.leaves).map(move |l| (p, l))) {
            let name = format!("{rail}leaf-{pod:02}-{leaf:02}");
            let first = (pod * self.leaves + leaf) * self.per_leaf;
            (first..first + self.per_leaf).for_each(|host| join(&format!("node{:04}", host + 1), &name));
            let mids = (0..self.mids).flat_map(|mid| std::iter::repeat_n(mid, self.leaf_lanes));
            mids.for_each(|mid| join(&name, &format!("{rail}mid-{pod:02}-{mid:02}")));
        }
        for (pod, mid) in (0..self.pods).flat_map(|p| (0..self.mids).map(move |m| (p, m))) {
            let tops = (0..self.tops).flat_map(|top| std::iter::repeat_n(top, self.lanes));
            tops.for_each(|top| join(&format!("{rail}mid-{pod:02}-{mid:02}"), &format!("{rail}top-{mid:02}-{top:02}")));
        }
    }
}

/// What the names of a rail's switches begin with.
const fn prefix(rail: usize) -> &'static str {
    if rail == 1 { "" } else { "rail2-" }
}

/// A program in the path, or where administrators' programs are.
fn find(program: &str) -> Option<PathBuf> {
    let elsewhere =
        || ADMINISTRATORS.map(|folder| Path::new(folder).join(program)).into_iter().find(|file| file.is_file());
    in_path(program).or_else(elsewhere)
}

/// What has clients of `ibsim` talk to it in place of a kernel.
fn client_library() -> Option<PathBuf> {
    let below = |folder: &str| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.chain([PathBuf::from(folder)]).map(|place| place.join("umad2sim/libumad2sim.so")).collect::<Vec<_>>()
    };
    ["/usr/lib", "/usr/lib64"].into_iter().flat_map(below).find(|file| file.is_file())
}

/// What is missing on this machine to simulate a subnet, as a sentence; none if all is there.
pub fn missing() -> Option<String> {
    let mut absent: Vec<&str> = PROGRAMS.into_iter().filter(|program| find(program).is_none()).collect();
    if client_library().is_none() {
        absent.push("libumad2sim.so");
    }
    let packages = "Debian's packages opensm, ibsim-utils and infiniband-diags have what is needed";
    (!absent.is_empty()).then(|| format!("no {} on this machine; {packages}", absent.join(", ")))
}

/// A simulated fabric that OpenSM has routed. It ends with this value.
#[derive(Debug)]
pub struct Subnet {
    folder: TempDir,
    simulator: Child,
    console: Option<ChildStdin>,
    socket: String,
}

impl Subnet {
    /// Simulates a tree and has OpenSM route each of its rails by a routing engine (`ftree`, `updn`, `minhop`, `dfsssp`), with 2^`lmc`
    /// LIDs for each port; takes a second for 324 hosts, and minutes for thousands.
    ///
    /// # Errors
    /// [`Failure::Work`] if something is missing, does not start, fails, or OpenSM does not route as it was asked to.
    pub fn start(tree: &FatTree, routing: &str, lmc: u32) -> Result<Self, Failure> {
        if let Some(what) = missing() {
            return Err(Failure::Work(what));
        }
        let folder = tempfile::Builder::new().prefix("optiq-subnet-").tempdir().map_err(failed("a directory"))?;
        fs::write(folder.path().join("fabric.net"), tree.net()).map_err(failed("fabric.net"))?;
        let name = folder.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let socket = format!("{name}-{}", std::process::id());
        let log = File::create(folder.path().join("ibsim.log")).map_err(failed("ibsim.log"))?;
        let second = log.try_clone().map_err(failed("ibsim.log"))?;
        let mut simulator = Command::new(program("ibsim"))
            .args("-s -N 16384 -S 4096 -P 262144 -L 49152 fabric.net".split(' '))
            .current_dir(folder.path())
            .env("IBSIM_SOCKNAME", &socket)
            .stdin(Stdio::piped())
            .stdout(second)
            .stderr(log)
            .spawn()
            .map_err(failed("ibsim"))?;
        let console = simulator.stdin.take();
        let subnet = Subnet { folder, simulator, console, socket };
        subnet.wait_for(|log| log.contains("simulator ready"))?;
        for rail in 1..=tree.rails {
            subnet.route(rail, routing, lmc)?;
        }
        Ok(subnet)
    }

    /// Has OpenSM route one rail, and the tools print it.
    fn route(&self, rail: usize, routing: &str, lmc: u32) -> Result<(), Failure> {
        let folder = self.rail(rail);
        fs::create_dir_all(&folder).map_err(failed("a directory"))?;
        let bits = lmc.to_string();
        let words = ["opensm", "-o", "-e", "-R", routing, "-l", &bits, "-D", "0x43", "-f", "opensm.log"];
        self.run(rail, &words, "opensm.out")?;
        let log = self.read(&folder.join("opensm.log"))?;
        // OpenSM's ftree does not know LMC above 0, and falls back.
        let used = if routing == "ftree" && lmc > 0 { "minhop" } else { routing };
        if !log.contains(&format!("{used} tables configured")) {
            let last = log.lines().next_back().unwrap_or_default();
            return Err(Failure::Work(format!("OpenSM did not route rail {rail} by {used}; it ended with: {last}")));
        }
        self.run(rail, &["ibnetdiscover"], CABLES)?;
        self.run(rail, &["dump_fts"], TABLES)
    }

    /// The folder of a rail's files; the first rail is 1.
    pub fn rail(&self, rail: usize) -> PathBuf {
        self.folder.path().join(format!("rail-{rail}"))
    }

    /// A file of a rail: [`CABLES`], [`TABLES`], one of [`OPENSM_FILES`].
    pub fn file(&self, rail: usize, name: &str) -> PathBuf {
        self.rail(rail).join(name)
    }

    /// Imports a rail's cables and tables.
    ///
    /// # Errors
    /// As [`import`].
    pub fn import(&self, rail: usize) -> Result<ImportedFabric, Failure> {
        import(&[self.file(rail, CABLES), self.file(rail, TABLES)])
    }

    fn read(&self, path: &Path) -> Result<String, Failure> {
        let bytes = fs::read(path).map_err(failed(&path.file_name().unwrap_or_default().to_string_lossy()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Runs a client of the simulator in a rail's folder. Its output goes to a file.
    fn run(&self, rail: usize, words: &[&str], into: &str) -> Result<(), Failure> {
        let folder = self.rail(rail);
        let library = client_library().unwrap_or_default();
        let mut command = Command::new(program(words[0]));
        command.args(&words[1..]).current_dir(&folder).env("IBSIM_SOCKNAME", &self.socket).env("LD_PRELOAD", library);
        // Clients are at the first node unless told otherwise, and see its first port alone.
        if rail > 1 {
            command.env("SIM_HOST", format!("{}leaf-00-00", prefix(rail)));
        }
        command.env("OSM_TMP_DIR", &folder).env("OSM_CACHE_DIR", &folder).stdin(Stdio::null());
        let output = File::create(folder.join(into)).map_err(failed(into))?;
        let status = command.stdout(output).stderr(Stdio::null()).status().map_err(failed(words[0]))?;
        if status.success() { Ok(()) } else { Err(Failure::Work(format!("{} ended with {status}", words.join(" ")))) }
    }

    fn wait_for(&self, done: impl Fn(&str) -> bool) -> Result<String, Failure> {
        let began = Instant::now();
        loop {
            let log = self.read(&self.folder.path().join("ibsim.log"))?;
            if done(&log) {
                return Ok(log);
            }
            if began.elapsed() > LIMIT {
                return Err(Failure::Work(format!("ibsim does not answer: {log:.500}")));
            }
            // The log of many routes is long.
            std::thread::sleep(if began.elapsed() < Duration::from_secs(1) { SHORT } else { 10 * SHORT });
        }
    }

    /// The LID of every host on a rail, by name.
    ///
    /// # Errors
    /// [`Failure::Work`] if the file is gone.
    pub fn lids(&self, rail: usize) -> Result<BTreeMap<String, u32>, Failure> {
        let mut lids = BTreeMap::new();
        for line in self.read(&self.file(rail, CABLES))?.lines().filter(|line| line.contains("\"H-")) {
            // [1]	"H-0000000000100018"[1](100019) 		# "node0013" lid 19 4xSDR
            let Some((_, comment)) = line.split_once("# \"node") else { continue };
            let words: Vec<&str> = comment.split_whitespace().collect();
            if let [name, "lid", lid, ..] = words[..]
                && let Ok(lid) = lid.parse()
            {
                lids.insert(format!("node{}", name.trim_end_matches('"')), lid);
            }
        }
        Ok(lids)
    }

    /// Routes as the simulator's console finds them along the switches' own tables, for pairs of LIDs of the first rail.
    ///
    /// # Errors
    /// [`Failure::Work`] if it does not answer.
    pub fn console(&mut self, pairs: &[(u32, u32)]) -> Result<Routes, Failure> {
        let commands: String = pairs.iter().map(|(from, to)| format!("route {from} {to}\n")).collect();
        fs::write(self.folder.path().join("commands"), commands).map_err(failed("commands"))?;
        let before = self.read(&self.folder.path().join("ibsim.log"))?.len();
        let console = self.console.as_mut().ok_or_else(|| Failure::Work("ibsim has no console".into()))?;
        console.write_all(b"!commands\n").map_err(failed("ibsim"))?;
        let log = self.wait_for(|log| log[before.min(log.len())..].matches("To node").count() == pairs.len())?;
        let mut routes = Routes::new();
        let (mut from, mut route) = (String::new(), String::new());
        for line in log[before..].lines() {
            let quoted = || line.split('"').nth(1).unwrap_or_default().to_owned();
            if line.contains("From node") {
                (from, route) = (quoted(), String::new());
            } else if line.starts_with("To node") {
                routes.insert((from.clone(), quoted()), std::mem::take(&mut route));
            } else if line.starts_with('[') {
                push_hop(&mut route, line);
            }
        }
        Ok(routes)
    }

    /// The route that `ibtracert` finds between two LIDs of a rail.
    ///
    /// # Errors
    /// [`Failure::Work`] if it fails.
    pub fn ibtracert(&self, rail: usize, from: u32, to: u32) -> Result<String, Failure> {
        self.run(rail, &["ibtracert", &from.to_string(), &to.to_string()], "ibtracert.txt")?;
        let mut route = String::new();
        let text = self.read(&self.file(rail, "ibtracert.txt"))?;
        text.lines().filter(|line| line.starts_with('[')).for_each(|line| push_hop(&mut route, line));
        Ok(route)
    }
}

/// Imports files of a fabric, as `optiq fabric import` does.
///
/// # Errors
/// [`Failure::Input`] for what is no fabric.
pub fn import(files: &[PathBuf]) -> Result<ImportedFabric, Failure> {
    let mut importer = Importer::new();
    files.iter().try_for_each(|file| importer.read_file(file))?;
    Ok(importer.finish(&ImportOptions::default())?)
}

/// Adds a line such as `[8] -> "L-03"[8]` or `[8] -> switch port {0x0000000000200005}[8] lid 12-12 "L-03"` to a route.
fn push_hop(route: &mut String, line: &str) {
    let ports: Vec<&str> = line.split('[').skip(1).filter_map(|rest| rest.split(']').next()).collect();
    let name = line.split('"').nth(1).unwrap_or_default();
    let space = if route.is_empty() { "" } else { " " };
    if let [from, to, ..] = ports[..] {
        let _ = write!(route, "{space}{from}>{name}/{to}");
    }
}

/// The path of a program of [`PROGRAMS`], which is known to be there.
fn program(name: &str) -> PathBuf {
    find(name).unwrap_or_else(|| name.into())
}

fn failed(what: &str) -> impl FnOnce(std::io::Error) -> Failure {
    move |e| Failure::Work(format!("{what} cannot be used: {e}"))
}

impl Drop for Subnet {
    fn drop(&mut self) {
        drop(self.console.take());
        let _ = self.simulator.kill();
        let _ = self.simulator.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_node_is_a_host_and_cables_have_two_ends() {
        let net = FatTree::three_levels(2, 2, 2, 2, 1).with_two_rails().net();
        assert!(net.starts_with("Hca 2 \"node0008\"\n[1] \"leaf-01-01\"[2]\n[2] \"rail2-leaf-01-01\"[2]\n\nHca 2 "));
        // By hand: of each rail 8 cables of hosts, 8 between leaves and mids, 4 above; each is at both of its ends.
        assert_eq!(net.lines().filter(|line| line.starts_with('[')).count(), 2 * 2 * (8 + 8 + 4));
        // And 4 leaves, 4 mids, 2 tops.
        assert_eq!(net.matches("Switch 36 ").count(), 2 * (4 + 4 + 2));
        assert!(
            net.contains(
                "Switch 36 \"mid-01-00\"\n[1] \"leaf-01-00\"[3]\n[2] \"leaf-01-01\"[3]\n[3] \"top-00-00\"[2]\n"
            )
        );
    }

    #[test]
    fn hops_of_both_tools_are_alike() {
        let (mut console, mut tracert) = (String::new(), String::new());
        push_hop(&mut console, "[8] -> \"L-03\"[9]");
        push_hop(&mut tracert, "[8] -> switch port {0x0000000000200005}[9] lid 12-12 \"L-03\"");
        assert_eq!((console.as_str(), tracert.as_str()), ("8>L-03/9", "8>L-03/9"));
        push_hop(&mut console, "[1] -> \"n\"[1]");
        assert_eq!(console, "8>L-03/9 1>n/1");
    }

    #[test]
    fn levels_of_names() {
        assert_eq!(["node0001", "leaf-00-01", "rail2-mid-00-00", "top-01-00"].map(FatTree::level_of), [0, 1, 2, 3]);
    }
}
