//! A rank's profile and its file.
//!
//! # The file
//!
//! JSON (RFC 8259), described by `optiq-cli/schemas/profile-rank.json`, in UTF-8, laid out with a line for each key and each peer, so
//! that what is wrong can be named by its line:
//!
//! ```text
//! {
//! "schema":"optiq-profile-rank/2",
//! "job":"2391867393", "rank":3, "ranks":16, "host":"h3", ...   (one to a line)
//! "call_sites":[
//! {"module":"/home/me/app", "base":94558134272000, "address":94558134276617}],   (one key to a line)
//! "regions":[
//! {
//! "name":"solve",
//! "entries":12,
//! "seconds":0.81,
//! "sent":[
//! [0,12,98304],
//! [7,12,98304]],
//! "put":[],
//! "got":[]}]}
//! ```
//!
//! A row `[peer, messages, bytes]` is what this rank sent to `peer` (`sent`), put into its window (`put`) or got from there (`got`),
//! `peer` being a rank of `MPI_COMM_WORLD`. Peers ascend, and those to which nothing went are left out. The regions are disjoint in time:
//! a region has what was sent while it was the innermost one, so all regions together have everything. The name of a region within
//! another is `outer/inner`; the first region, whose name is empty, is what is in no other.
//!
//! With call sites a region has several records: one without `call_site`, for what was sent outside of calls that were looked at, and one
//! for each place of the program that called MPI in it, `call_site` being its number in `call_sites`. These are disjoint in time as well.
//!
//! # Versions
//!
//! Version 1 had no call sites, files and connections; its files are read as files without any.

use crate::error::TraceError;
use optiq_files::{input, output};
use serde::{Deserialize, Serialize};
use serde_json::ser::{Formatter, Serializer};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What the first key of a file says.
pub const SCHEMA: &str = "optiq-profile-rank/2";

/// What it said before there were call sites, files and connections.
const FIRST_SCHEMA: &str = "optiq-profile-rank/1";

/// What the names of the files begin and end with; the rank is between.
const NAME: (&str, &str) = ("optiq-profile-", ".json");

/// More than the file of any rank has: 65,536 peers in 1,024 regions take 2 GiB.
const MOST_BYTES: u64 = 2 << 30;

/// What one rank sent to one other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row(
    /// The other rank, in `MPI_COMM_WORLD`.
    pub u32,
    /// Messages.
    pub u64,
    /// Bytes.
    pub u64,
);

/// What a rank sent while it was in one region of its code.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// The names of the regions around it and its own, with slashes in between; empty for what is in no region.
    pub name: String,
    /// How often it was entered.
    pub entries: u64,
    /// Time in it and in no inner region, in seconds.
    pub seconds: f64,
    /// What was sent, by peer: point-to-point messages, those of collectives among them.
    pub sent: Vec<Row>,
    /// What was put by one-sided calls, by peer.
    pub put: Vec<Row>,
    /// What was got by one-sided calls, by peer.
    pub got: Vec<Row>,
    /// The place of the program that called MPI, by its number in [`RankProfile::call_sites`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_site: Option<u32>,
    /// What was read from files and written to them by `MPI_File_*`.
    #[serde(default, skip_serializing_if = "FileTraffic::is_none")]
    pub files: FileTraffic,
}

/// What a rank asked MPI's file functions to move: count times the size of the datatype, of calls that succeeded, as Darshan counts. Where
/// a file ended early, fewer bytes were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileTraffic {
    /// Calls that read.
    pub reads: u64,
    /// Bytes that they asked for.
    pub read_bytes: u64,
    /// Calls that write.
    pub writes: u64,
    /// Bytes that they were given.
    pub written_bytes: u64,
}

impl FileTraffic {
    /// Whether nothing was read or written.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what others moved; no more than 64 bits can count.
    pub fn add(&mut self, other: Self) {
        let sum = |to: &mut u64, more: u64| *to = to.saturating_add(more);
        sum(&mut self.reads, other.reads);
        sum(&mut self.read_bytes, other.read_bytes);
        sum(&mut self.writes, other.writes);
        sum(&mut self.written_bytes, other.written_bytes);
    }
}

/// A place of the program that called MPI: a return address, whose line follows from debug information when the profile is read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallAddress {
    /// The file of the program or library that has the call; empty if none is mapped there.
    pub module: String,
    /// Where its first byte was in memory.
    pub base: u64,
    /// The return address.
    pub address: u64,
}

/// What this process moved over TCP between one local interface and one address of a peer, as the kernel counts it; connections that were
/// closed before the end are missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// The interface that has the local address; the address itself, if none does.
    pub interface: String,
    /// The peer's address.
    pub peer: String,
    /// Connections between them.
    pub connections: u64,
    /// Payload bytes that the peer has acknowledged.
    pub sent_bytes: u64,
    /// Payload bytes received.
    pub received_bytes: u64,
}

/// Who counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// `pml_monitoring`: the monitoring component of Open MPI, which counts messages at the sender. It knows no ports, and only
    /// peers of the same `MPI_COMM_WORLD`. `calls`: the arguments of the program's calls, with any MPI library, and OPTIQ's own chunks.
    pub name: String,
    /// Whether messages inside collectives are among `sent`.
    pub collectives: bool,
}

/// What a network interface of the rank's host moved from `MPI_Init` to the end, whoever caused it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// Its name: `eth0`, `mlx5_0/1`.
    pub name: String,
    /// Bytes sent, headers included.
    pub sent_bytes: u64,
    /// Bytes received, headers included.
    pub received_bytes: u64,
}

/// What one rank sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RankProfile {
    /// [`SCHEMA`].
    pub schema: String,
    /// What the launcher calls the job; empty if it does not say.
    pub job: String,
    /// The rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Ranks of `MPI_COMM_WORLD`.
    pub ranks: u32,
    /// The processor name.
    pub host: String,
    /// The MPI library, in its own words.
    pub library: String,
    /// Who counted.
    pub source: Source,
    /// Whether it was written by `MPI_Finalize`, and not before on a signal.
    pub complete: bool,
    /// Ends of regions that were not open, which were ignored.
    pub unmatched_ends: u64,
    /// Entries into regions beyond the most that are kept apart; their bytes are in the region around them.
    pub merged_entries: u64,
    /// Memory of the counters when it was written: 16 B for each peer in use and region. Files of older versions do not say.
    #[serde(default)]
    pub counter_bytes: u64,
    /// What the host's network interfaces moved meanwhile.
    pub interfaces: Vec<Interface>,
    /// What this process moved over TCP, by interface and peer.
    #[serde(default)]
    pub connections: Vec<Connection>,
    /// The places of the program that called MPI, if they were asked for.
    #[serde(default)]
    pub call_sites: Vec<CallAddress>,
    /// The regions, the one without a name first.
    pub regions: Vec<Region>,
}

impl RankProfile {
    /// The path of a rank's file in a folder.
    pub fn path(folder: &Path, rank: u32) -> PathBuf {
        folder.join(format!("{}{rank:05}{}", NAME.0, NAME.1))
    }

    /// Whether a file has the name of a rank's profile.
    pub fn is_named(path: &Path) -> bool {
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        let middle = name.strip_prefix(NAME.0).and_then(|n| n.strip_suffix(NAME.1));
        middle.is_some_and(|m| !m.is_empty() && m.bytes().all(|b| b.is_ascii_digit()))
    }

    /// Writes the file into a folder, completely or not at all; one that is there is replaced. Does not wait for the disk.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.serialize(&mut Serializer::with_formatter(&mut bytes, Lines { depth: 0 }))?;
        bytes.push(b'\n');
        output::write_volatile(&Self::path(folder, self.rank), output::PUBLIC, &bytes)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`TraceError`] with the line, what was found and what is expected.
    pub fn read(path: &Path) -> Result<Self, TraceError> {
        let bytes = input::read(path, MOST_BYTES).map_err(|e| TraceError::Io {
            path: path.to_path_buf(),
            what: "the profile cannot be read",
            error: e.to_string(),
        })?;
        Self::parse(&bytes).map_err(|what| TraceError::Profile { path: path.to_path_buf(), what })
    }

    /// What a file holds, or what is wrong with it, with the line where that is known.
    ///
    /// # Errors
    /// The sentence.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        if bytes.is_empty() {
            return Err("it is empty; a JSON object is expected, as a run under optiq profile writes".into());
        }
        let profile: RankProfile = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        profile.check()?;
        Ok(profile)
    }

    /// What JSON alone does not say.
    fn check(&self) -> Result<(), String> {
        if self.schema != SCHEMA && self.schema != FIRST_SCHEMA {
            return Err(format!("its schema is \"{}\"; \"{SCHEMA}\" is expected", self.schema));
        }
        if self.rank >= self.ranks {
            return Err(format!(
                "it is of rank {} of {}; a rank below {} is expected",
                self.rank, self.ranks, self.ranks
            ));
        }
        if self.host.is_empty() {
            return Err("its host has no name; the processor name is expected".into());
        }
        let mut names = BTreeSet::new();
        for region in &self.regions {
            if !names.insert((&region.name, region.call_site)) {
                return Err(format!("region \"{}\" is there twice; each region once is expected", region.name));
            }
            let sites = self.call_sites.len();
            if let Some(site) = region.call_site.filter(|site| *site as usize >= sites) {
                return Err(format!(
                    "region \"{}\" has call site {site} of {sites}; a number below that is expected",
                    region.name
                ));
            }
            for rows in [&region.sent, &region.put, &region.got] {
                self.check_rows(&region.name, rows)?;
            }
        }
        Ok(())
    }

    fn check_rows(&self, region: &str, rows: &[Row]) -> Result<(), String> {
        if let Some(row) = rows.iter().find(|row| row.0 >= self.ranks) {
            let expected = format!("a rank below {} is expected", self.ranks);
            return Err(format!("region \"{region}\" has peer {}; {expected}", row.0));
        }
        match rows.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
            Some(pair) => Err(format!(
                "region \"{region}\" has peer {} behind {}; ascending peers are expected",
                pair[1].0, pair[0].0
            )),
            None => Ok(()),
        }
    }
}

/// JSON with a line for each key and each row.
struct Lines {
    depth: usize,
}

impl Lines {
    /// Values deeper than this stay in their line: the numbers of a row.
    const DEEPEST: usize = 4;

    fn begin<W: ?Sized + Write>(&self, out: &mut W, first: bool) -> io::Result<()> {
        if !first {
            out.write_all(b",")?;
        }
        if self.depth <= Self::DEEPEST { out.write_all(b"\n") } else { Ok(()) }
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        out.write_all(b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth -= 1;
        out.write_all(b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.begin(out, first)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        out.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth -= 1;
        out.write_all(b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.begin(out, first)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    pub fn sample() -> RankProfile {
        RankProfile {
            schema: SCHEMA.into(),
            job: "17".into(),
            rank: 1,
            ranks: 4,
            host: "h1".into(),
            library: "Open MPI v4.1.4".into(),
            source: Source { name: "pml_monitoring".into(), collectives: true },
            complete: true,
            unmatched_ends: 0,
            merged_entries: 0,
            counter_bytes: 64,
            interfaces: vec![Interface { name: "eth0".into(), sent_bytes: 5, received_bytes: 6 }],
            connections: vec![Connection {
                interface: "eth0".into(),
                peer: "10.0.0.2".into(),
                connections: 1,
                sent_bytes: 4,
                received_bytes: 3,
            }],
            call_sites: vec![CallAddress { module: "/a".into(), base: 4096, address: 5000 }],
            regions: vec![
                Region { sent: vec![Row(0, 1, 10), Row(3, 2, 20)], entries: 1, ..Region::default() },
                Region {
                    call_site: Some(0),
                    files: FileTraffic { reads: 1, read_bytes: 9, ..FileTraffic::default() },
                    ..Region::default()
                },
                Region { name: "solve".into(), put: vec![Row(2, 1, 8)], ..Region::default() },
            ],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        sample().write(folder.path()).unwrap();
        let path = folder.path().join("optiq-profile-00001.json");
        assert_eq!(RankProfile::read(&path).unwrap(), sample());
        assert!(RankProfile::is_named(&path));
        for other in ["optiq-profile-.json", "optiq-profile-1.json.tmp", "net.json", "optiq-profile-x.json"] {
            assert!(!RankProfile::is_named(Path::new(other)), "{other}");
        }
        let text = std::fs::read_to_string(&path).unwrap();
        // What an older version wrote.
        let older = r#"{"schema":"optiq-profile-rank/1","job":"17","rank":1,"ranks":4,"host":"h1","library":"","source":{"name":"pml_monitoring",
            "collectives":true},"complete":true,"unmatched_ends":0,"merged_entries":0,"interfaces":[],"regions":[{"name":"","entries":1,
            "seconds":0.5,"sent":[[0,1,10]],"put":[],"got":[]}]}"#;
        let older = RankProfile::parse(older.as_bytes()).unwrap();
        assert_eq!((older.counter_bytes, older.call_sites.len(), older.regions[0].sent[0]), (0, 0, Row(0, 1, 10)));
        assert!(text.contains("\n\"rank\":1,\n") && text.contains("[\n[0,1,10],\n[3,2,20]],\n"), "{text}");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let mut bytes = Vec::new();
        sample().serialize(&mut Serializer::with_formatter(&mut bytes, Lines { depth: 0 })).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let wrong = |from: &str, to: &str| {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text);
            RankProfile::parse(changed.as_bytes()).unwrap_err()
        };
        let line = 1 + text.lines().position(|l| l.starts_with("[3,2,20]")).unwrap();
        assert!(wrong("[3,2,20]", "[3,2,\"x\"]").ends_with(&format!("line {line} column 8")));
        assert!(wrong("[3,2,20]", "[3,2,-20]").contains("expected u64"));
        assert!(wrong("[3,2,20]", "[4,2,20]").contains("peer 4; a rank below 4 is expected"));
        assert!(wrong("[3,2,20]", "[0,2,20]").contains("peer 0 behind 0; ascending"));
        assert!(wrong("rank/2", "rank/7").contains("\"optiq-profile-rank/2\" is expected"));
        assert!(wrong("\"rank\":1", "\"rank\":4").contains("a rank below 4 is expected"));
        assert!(wrong("\"solve\"", "\"\"").contains("is there twice"));
        assert!(wrong("\"call_site\":0", "\"call_site\":1").contains("call site 1 of 1; a number below"));
        assert!(wrong("\"h1\"", "\"\"").contains("the processor name is expected"));
        assert!(RankProfile::parse(b"").unwrap_err().contains("it is empty"));
        assert!(RankProfile::parse(&text.as_bytes()[..text.len() / 2]).unwrap_err().contains("line "));
    }

    #[test]
    fn no_beginning_of_a_file_is_taken_for_a_file() {
        let mut bytes = Vec::new();
        sample().serialize(&mut Serializer::with_formatter(&mut bytes, Lines { depth: 0 })).unwrap();
        assert!((0..bytes.len()).all(|end| RankProfile::parse(&bytes[..end]).is_err()));
    }
}
