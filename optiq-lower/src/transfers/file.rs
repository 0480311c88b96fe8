//! Transfer files, as text and as JSON.
//!
//! ```text
//! optiq-jobs 1
//! topology torus:4x4
//! network 4ea02c3c8e4a1d3f0b5d8a64b9f1c7e2
//! job 0 5 8MiB
//! path 4194304 0 1 5
//! path 4194304 0 4 5
//! job 1 6 8MiB class=1
//! ```
//!
//! The first line says what it is. `topology`, a specification, and `network`, a fingerprint, say what the paths were found
//! on; the second must be there if there are paths. A `job` has the rank that sends, the rank that receives, the bytes
//! and, where it is more urgent than others, its priority class (0 to 255, 0 by default); its `path` lines have their share of the bytes, or `-` on all of them where a planner is to choose, and the numbers of
//! the vertices from the source's host to the destination's. `#` starts a comment. In JSON, an object with the keys
//! `optiq_jobs` (1), `topology`, `network`, `jobs`, these with `source_rank`, `destination_rank`, `bytes`, `class` and `paths`, these
//! with `bytes` (or null) and `vertices`.

use super::list::{MAX_VERTICES, Transfer, TransferList, TransferPath};
use crate::error::LowerError;
use optiq_files::output;
use optiq_net::text_file::{self, shorten};
use optiq_net::units::parse_bytes;
use optiq_net::{Fingerprint, NodeId};
use optiq_solver::demands::class_word;
use optiq_transport::Rank;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

const VERSION: &str = "optiq-jobs 1";
const LARGEST_FILE: u64 = 1 << 30;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TransferDocument {
    optiq_jobs: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    topology: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    network: Option<Fingerprint>,
    #[serde(rename = "jobs")]
    transfers: Vec<TransferRecord>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TransferRecord {
    source_rank: u32,
    destination_rank: u32,
    bytes: u64,
    #[serde(default, skip_serializing_if = "is_usual")]
    class: u8,
    #[serde(default)]
    paths: Vec<PathRecord>,
}

/// Whether a class need not be written.
fn is_usual(class: &u8) -> bool {
    *class == 0
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PathRecord {
    #[serde(default)]
    bytes: Option<u64>,
    vertices: Vec<u32>,
}

impl TransferList {
    /// Reads a job file: JSON if it begins with `{`, text otherwise.
    ///
    /// # Errors
    /// [`LowerError::Argument`], naming the file, and the line of the first thing that is wrong.
    pub fn read(path: &Path) -> Result<Self, LowerError> {
        let name = optiq_files::input::name(path);
        let text = text_file::read(path, LARGEST_FILE).map_err(|e| LowerError::Argument(format!("{name}: {e}")))?;
        Self::parse(&text, &name)
    }

    /// Reads the text of a job file; `name` is what messages call it.
    ///
    /// # Errors
    /// As [`TransferList::read`].
    pub fn parse(text: &str, name: &str) -> Result<Self, LowerError> {
        let mut transfers =
            if text.trim_start().starts_with('{') { Self::from_json(text, name) } else { Self::from_text(text, name) }?;
        transfers.name = name.to_string();
        Ok(transfers)
    }

    fn from_json(text: &str, name: &str) -> Result<Self, LowerError> {
        let bad = |problem: String| LowerError::Argument(format!("{name}: {problem}"));
        let document: TransferDocument = serde_json::from_str(text).map_err(|e| bad(e.to_string()))?;
        if document.optiq_jobs != 1 {
            return Err(bad(format!("optiq_jobs is {}; version 1 is expected", document.optiq_jobs)));
        }
        let mut reading = Reader::default();
        reading.transfers.topology = document.topology;
        reading.transfers.network = document.network;
        for transfer in document.transfers {
            let index = reading
                .transfers
                .push(Rank(transfer.source_rank), Rank(transfer.destination_rank), transfer.bytes, 0)
                .map_err(bad)?;
            reading.transfers.list[index].class = transfer.class;
            for path in transfer.paths {
                reading.path(index, path.bytes, path.vertices.into_iter().map(NodeId).collect()).map_err(bad)?;
            }
        }
        reading.finish().map_err(bad)
    }

    fn from_text(text: &str, name: &str) -> Result<Self, LowerError> {
        let mut reading = Reader::default();
        let mut lines = text.lines().enumerate().map(|(i, l)| (i + 1, l.split('#').next().unwrap_or("").trim()));
        let mut first = lines.by_ref().filter(|(_, l)| !l.is_empty());
        match first.next() {
            Some((_, VERSION)) => {}
            Some((number, other)) => {
                let problem = format!("{name}:{number}: found \"{}\"; \"{VERSION}\" is expected", shorten(other));
                return Err(LowerError::Argument(problem));
            }
            None => return Err(LowerError::Argument(format!("{name}: it is empty; \"{VERSION}\" is expected"))),
        }
        for (number, line) in lines.filter(|(_, l)| !l.is_empty()) {
            reading.line(line, number).map_err(|e| LowerError::Argument(format!("{name}:{number}: {e}")))?;
        }
        reading.finish().map_err(|e| LowerError::Argument(format!("{name}: {e}")))
    }

    /// The text of a job file.
    pub fn to_text(&self) -> String {
        let mut text = format!("{VERSION}\n");
        if let Some(topology) = &self.topology {
            let _ = writeln!(text, "topology {topology}");
        }
        if let Some(network) = &self.network {
            let _ = writeln!(text, "network {network}");
        }
        for transfer in &self.list {
            let _ = write!(text, "job {} {} {}", transfer.source, transfer.destination, transfer.bytes);
            if transfer.class > 0 {
                let _ = write!(text, " class={}", transfer.class);
            }
            text.push('\n');
            for path in &transfer.paths {
                let share = path.bytes.map_or("-".into(), |b| b.to_string());
                let _ = write!(text, "path {share}");
                for vertex in &path.vertices {
                    let _ = write!(text, " {}", vertex.0);
                }
                text.push('\n');
            }
        }
        text
    }

    /// The same as JSON.
    ///
    /// # Errors
    /// Nothing that is known of.
    pub fn to_json(&self) -> Result<String, LowerError> {
        let path = |p: &TransferPath| PathRecord { bytes: p.bytes, vertices: p.vertices.iter().map(|v| v.0).collect() };
        let transfer = |j: &Transfer| TransferRecord {
            source_rank: j.source.0,
            destination_rank: j.destination.0,
            bytes: j.bytes,
            class: j.class,
            paths: j.paths.iter().map(path).collect(),
        };
        let document = TransferDocument {
            optiq_jobs: 1,
            topology: self.topology.clone(),
            network: self.network,
            transfers: self.list.iter().map(transfer).collect(),
        };
        serde_json::to_string_pretty(&document)
            .map_err(|e| LowerError::Argument(format!("the jobs cannot be written: {e}")))
    }

    /// Writes a job file: JSON if its name ends with `.json`, text otherwise. A file that exists is replaced when the new one
    /// is complete.
    ///
    /// # Errors
    /// [`LowerError::Argument`], naming the file.
    pub fn write(&self, path: &Path) -> Result<(), LowerError> {
        let json = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("json"));
        let text = if json { self.to_json()? + "\n" } else { self.to_text() };
        output::write(path, output::PUBLIC, |out| out.write_all(text.as_bytes()))
            .map_err(|e| LowerError::Argument(format!("{}: {e}", path.display())))
    }
}

#[derive(Default)]
struct Reader {
    transfers: TransferList,
    vertices: usize,
}

impl Reader {
    fn line(&mut self, line: &str, number: usize) -> Result<(), String> {
        let (key, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match key {
            "topology" | "network" if !self.transfers.list.is_empty() => {
                Err(format!("{key} comes after the first job"))
            }
            "topology" => {
                self.transfers.topology = Some(rest.to_string()).filter(|r| !r.is_empty());
                Ok(())
            }
            "network" => {
                self.transfers.network = Some(Fingerprint::try_from(rest.to_string())?);
                Ok(())
            }
            "job" => {
                let words: Vec<&str> = rest.split_whitespace().collect();
                let (source, destination, bytes, class) = match *words.as_slice() {
                    [source, destination, bytes] => (source, destination, bytes, 0),
                    [source, destination, bytes, word] => (source, destination, bytes, class_word(word)?),
                    _ => {
                        let form = "job SOURCE DESTINATION BYTES [class=N]";
                        return Err(format!("\"{}\" is found; {form} is expected", shorten(line)));
                    }
                };
                let bytes = parse_bytes(bytes).map_err(|e| e.to_string())?;
                let index = self.transfers.push(rank(source)?, rank(destination)?, bytes, number)?;
                self.transfers.list[index].class = class;
                Ok(())
            }
            "path" => {
                let mut words = rest.split_whitespace();
                let share = match words.next() {
                    Some("-") => None,
                    Some(word) => Some(parse_bytes(word).map_err(|e| e.to_string())?),
                    None => return Err("path BYTES VERTEX VERTEX ... is expected".into()),
                };
                let vertices = words.map(vertex).collect::<Result<_, _>>()?;
                let last = self.transfers.list.len().checked_sub(1).ok_or("a path comes before the first job")?;
                self.path(last, share, vertices)
            }
            other => Err(format!("found \"{}\"; topology, network, job or path is expected", shorten(other))),
        }
    }

    fn path(&mut self, transfer: usize, bytes: Option<u64>, vertices: Vec<NodeId>) -> Result<(), String> {
        self.vertices += vertices.len();
        if self.vertices > MAX_VERTICES {
            return Err(format!("the paths have more than {MAX_VERTICES} vertices"));
        }
        if vertices.len() < 2 {
            return Err("a path has two vertices or more".into());
        }
        let paths = &mut self.transfers.list[transfer].paths;
        if paths.first().is_some_and(|p| p.bytes.is_some() != bytes.is_some()) {
            return Err("some paths of the job have bytes and others have not".into());
        }
        paths.push(TransferPath { vertices, bytes });
        Ok(())
    }

    fn finish(self) -> Result<TransferList, String> {
        if self.transfers.has_paths() && self.transfers.network.is_none() {
            return Err("there are paths, but no line \"network FINGERPRINT\" says of which network".into());
        }
        for transfer in self.transfers.list.iter().filter(|j| !j.paths.is_empty()) {
            let (source, destination) = (transfer.source, transfer.destination);
            let sum = transfer.paths.iter().try_fold(0u64, |sum, p| sum.checked_add(p.bytes.unwrap_or(0)));
            if transfer.paths[0].bytes.is_some() && sum != Some(transfer.bytes) {
                return Err(format!(
                    "the paths of the job from rank {source} to rank {destination} do not carry its {} bytes",
                    transfer.bytes
                ));
            }
        }
        Ok(self.transfers)
    }
}

fn rank(word: &str) -> Result<Rank, String> {
    digits(word).map(Rank).ok_or_else(|| format!("\"{}\" is not a rank; a whole number is expected", shorten(word)))
}

fn vertex(word: &str) -> Result<NodeId, String> {
    let wrong = || format!("\"{}\" is not a vertex; a whole number is expected", shorten(word));
    digits(word).map(NodeId).ok_or_else(wrong)
}

/// A number without a sign, which Rust's own reading would take.
fn digits(word: &str) -> Option<u32> {
    word.parse().ok().filter(|_| word.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NETWORK: &str = "network 00000000000000000000000000000001\n";

    fn parse(text: &str) -> Result<TransferList, String> {
        TransferList::parse(text, "jobs.txt").map_err(|e| e.to_string())
    }

    #[test]
    fn text_and_json_hold_the_same() {
        let text = format!(
            "# made by hand\n{VERSION}\ntopology torus:4x4 # ours\n{NETWORK}job 0 5 1KiB\npath 1000 0 1 5\npath 24 0 4 5\n\
             job 1 6 7 class=3\npath - 1 2 6\npath - 1 5 6\njob 2 2 0\n"
        );
        let transfers = parse(&text).unwrap();
        assert_eq!((transfers.list().len(), transfers.ranks(), transfers.topology()), (3, 7, Some("torus:4x4")));
        assert_eq!(transfers.list()[0].bytes, 1024);
        assert_eq!(
            transfers.list()[0].paths[1],
            TransferPath { vertices: vec![NodeId(0), NodeId(4), NodeId(5)], bytes: Some(24) }
        );
        assert_eq!(transfers.list()[1].paths[0].bytes, None);
        assert_eq!(transfers.list().iter().map(|t| t.class).collect::<Vec<_>>(), [0, 3, 0]);
        let again = parse(&transfers.to_text()).unwrap();
        assert_eq!(again.to_text(), transfers.to_text());
        let json = TransferList::parse(&transfers.to_json().unwrap(), "jobs.json").unwrap();
        assert_eq!((json.to_text(), json.shape()), (transfers.to_text(), transfers.shape()));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (lines, expected) in [
            ("", "jobs.txt: it is empty; \"optiq-jobs 1\" is expected"),
            ("optiq-jobs 2", "jobs.txt:1: found \"optiq-jobs 2\"; \"optiq-jobs 1\" is expected"),
            (
                "optiq-jobs 1\njob 0 1",
                "jobs.txt:2: \"job 0 1\" is found; job SOURCE DESTINATION BYTES [class=N] is expected",
            ),
            ("optiq-jobs 1\njob 0 1 5 urgent", "jobs.txt:2: \"urgent\" is found where class=N is expected"),
            ("optiq-jobs 1\njob 0 1 5 class=256", "jobs.txt:2: class=256: a whole number from 0 to 255 is expected"),
            ("optiq-jobs 1\njob 0 +1 5", "jobs.txt:2: \"+1\" is not a rank; a whole number is expected"),
            ("optiq-jobs 1\n\njob 0 1 5\njob 0 1 6", "jobs.txt:4: the job from rank 0 to rank 1 is given twice"),
            ("optiq-jobs 1\njob 0 4294967295 5", "names a rank beyond 2^32 - 2"),
            ("optiq-jobs 1\npath 5 0 1", "jobs.txt:2: a path comes before the first job"),
            ("optiq-jobs 1\njob 0 1 5\npath 5 0", "jobs.txt:3: a path has two vertices or more"),
            ("optiq-jobs 1\njob 0 1 5\npath", "jobs.txt:3: path BYTES VERTEX VERTEX ... is expected"),
            ("optiq-jobs 1\njob 0 1 5\npath 5 0 x", "jobs.txt:3: \"x\" is not a vertex"),
            (
                "optiq-jobs 1\njob 0 1 5\npath 5 0 1\npath - 0 2 1",
                "some paths of the job have bytes and others have not",
            ),
            ("optiq-jobs 1\njob 0 1 5\npath 5 0 1", "there are paths, but no line \"network FINGERPRINT\""),
            ("optiq-jobs 1\njob 0 1 5\ntopology x", "topology comes after the first job"),
            ("optiq-jobs 1\nwork 0 1 5", "jobs.txt:2: found \"work\"; topology, network, job or path is expected"),
            ("optiq-jobs 1\nnetwork 5", "jobs.txt:2: \"5\" is not a fingerprint"),
            ("{\"optiq_jobs\":1,\"jobs\":[{\"source_rank\":0}]}", "jobs.txt: missing field"),
            ("{\"optiq_jobs\":3,\"jobs\":[]}", "jobs.txt: optiq_jobs is 3; version 1 is expected"),
        ] {
            let error = parse(lines).unwrap_err();
            assert!(error.contains(expected), "{lines:?}: {error}");
        }
        let sum = format!("{VERSION}\n{NETWORK}job 3 1 6\npath 5 3 1");
        let error = parse(&sum).unwrap_err();
        assert_eq!(error, "jobs.txt: the paths of the job from rank 3 to rank 1 do not carry its 6 bytes");
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "(\\PC|\n| |job|path|-|[0-9]|network|\\{|\"){0,200}") {
            let _ = parse(&text);
            let _ = parse(&format!("{VERSION}\n{NETWORK}{text}"));
        }
    }
}
