//! Path files: candidate paths as text (thesis 4.2.1, last paragraph).
//!
//! ```text
//! optiq-paths 1
//! network 4ea02c3c8e4a1d3f0b5d8a64b9f1c7e2
//! method diverse
//! k 50
//! # h0 -> h5
//! job 0 5
//! path 0 1 5
//! path 0 4 5
//! ```
//!
//! The four header lines come first, in this order; then one block for each pair: a `job` line with source and
//! destination, and its `path` lines, each the numbers of the vertices on the path. `#` starts a comment and blank
//! lines are skipped. Paths are numbers and not names, so that a file stays valid when hosts are renamed; the
//! fingerprint keeps it from being read for another network.

use crate::candidates::limits::{MAX_K, MAX_PATHS};
use crate::candidates::method::CandidateMethod;
use crate::candidates::set::Candidates;
use crate::candidates::table::{PathBuffer, PathTable};
use crate::error::PathFileError;
use crate::legs;
use optiq_files::{input, output};
use optiq_net::text_file::shorten;
use optiq_net::{LinkId, Network, NodeId};
use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

/// The version in the first line.
const VERSION: &str = "optiq-paths 1";

/// The largest path file that is read, in bytes.
const MAX_FILE: u64 = 4 << 30;

/// The longest line that is read, in bytes.
const MAX_LINE: u64 = 1 << 20;

/// Writes `candidates`, which were found for `net`. A file that exists is replaced when the new one is complete.
///
/// # Errors
/// [`PathFileError::Io`] if the file cannot be written.
pub fn write(path: &Path, net: &Network, candidates: &Candidates) -> Result<(), PathFileError> {
    output::write(path, output::PUBLIC, |out| write_to(out, net, candidates))
        .map_err(|e| PathFileError::Io { path: path.display().to_string(), problem: e.to_string() })
}

/// Writes the text of a path file.
///
/// # Errors
/// What `out` reports.
pub fn write_to(out: &mut impl Write, net: &Network, candidates: &Candidates) -> io::Result<()> {
    writeln!(out, "{VERSION}")?;
    writeln!(out, "network {}\nmethod {}\nk {}", candidates.network(), candidates.method(), candidates.k())?;
    let mut written = BTreeSet::new();
    let mut paths = PathBuffer::new();
    for (d, &(src, dst)) in candidates.pairs.iter().enumerate() {
        if !written.insert((src, dst)) {
            continue;
        }
        writeln!(out, "# {} -> {}", net.name(src), net.name(dst))?;
        writeln!(out, "job {} {}", src.0, dst.0)?;
        paths.clear();
        candidates.expand(d, &mut paths);
        for path in paths.iter() {
            write!(out, "path {}", src.0)?;
            for &l in path {
                write!(out, " {}", net.link(l).to.0)?;
            }
            writeln!(out)?;
        }
    }
    Ok(())
}

/// Reads a path file for `net`.
///
/// # Errors
/// [`PathFileError::Io`] for a file that cannot be read or is larger than 4 GiB, [`PathFileError::OtherNetwork`]
/// for one made for another network, and [`PathFileError::Line`] for the first line that is wrong: not of the form
/// above, a path that the network does not have or that its routing cannot execute, a pair given twice or without
/// a path.
pub fn read(path: &Path, net: &Network) -> Result<Candidates, PathFileError> {
    let name = input::name(path);
    let io = |e: io::Error| PathFileError::Io { path: name.clone(), problem: e.to_string() };
    let file = input::Input::open(path).and_then(|input| input.at_most(MAX_FILE)).map_err(io)?;
    read_from(&name, BufReader::new(file), net)
}

/// Reads the text of a path file; `name` is what messages call it.
///
/// # Errors
/// As [`read`].
pub fn read_from(name: &str, input: impl BufRead, net: &Network) -> Result<Candidates, PathFileError> {
    let mut lines = Lines { name, input, number: 0, text: String::new() };
    match lines.next()? {
        Some(VERSION) => {}
        Some(other) => {
            let problem = format!("\"{}\" is found where \"{VERSION}\" is expected", shorten(other));
            return Err(lines.bad(problem));
        }
        None => return Err(lines.bad(format!("the file is empty; \"{VERSION}\" is expected"))),
    }
    let found = lines.header("network")?;
    let given = net.fingerprint().to_string();
    if found != given {
        return Err(PathFileError::OtherNetwork { path: name.to_owned(), found: shorten(&found), expected: given });
    }
    let method = match lines.header("method")?.parse() {
        Ok(method) if method != CandidateMethod::Auto => method,
        _ => return Err(lines.bad("the method is none of diverse, priced, via and yen".into())),
    };
    let k = match lines.header("k")?.parse::<usize>() {
        Ok(k) if (1..=MAX_K).contains(&k) => k,
        _ => return Err(lines.bad(format!("k is not a number from 1 to {MAX_K}"))),
    };
    let mut reading = Reading {
        net,
        k,
        pairs: Vec::new(),
        table: PathTable::default(),
        cutter: legs::Cutter::new(net),
        jobs: BTreeSet::new(),
        all_executable: legs::every_path_has_legs(net),
        nodes: Vec::new(),
        links: Vec::new(),
        passed: vec![0; net.vertices()],
        paths: 0,
    };
    while let Some(line) = lines.next()? {
        if let Err(problem) = reading.line(line) {
            return Err(lines.bad(problem));
        }
    }
    reading.finish_job().map_err(|problem| lines.bad(problem))?;
    Ok(Candidates::from_table((net.fingerprint(), k, method), reading.pairs, reading.table))
}

/// The lines of a file without comments and blanks.
struct Lines<'a, R> {
    name: &'a str,
    input: R,
    number: usize,
    text: String,
}

impl<R: BufRead> Lines<'_, R> {
    fn next(&mut self) -> Result<Option<&str>, PathFileError> {
        loop {
            self.number += 1;
            self.text.clear();
            let read = (&mut self.input).take(MAX_LINE + 1).read_line(&mut self.text);
            match read {
                Ok(0) => return Ok(None),
                Ok(n) if n as u64 > MAX_LINE => {
                    return Err(self.bad(format!("the line is longer than {MAX_LINE} bytes")));
                }
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::InvalidData => {
                    return Err(self.bad("the line is not UTF-8 text".into()));
                }
                Err(e) => return Err(PathFileError::Io { path: self.name.to_owned(), problem: e.to_string() }),
            }
            let end = self.text.find('#').unwrap_or(self.text.len());
            if !self.text[..end].trim().is_empty() {
                return Ok(Some(self.text[..end].trim()));
            }
        }
    }

    fn header(&mut self, key: &str) -> Result<String, PathFileError> {
        match self.next()?.and_then(|line| line.split_once(' ')) {
            Some((found, value)) if found == key => Ok(value.trim().to_owned()),
            _ => Err(self.bad(format!("the header line \"{key} ...\" is expected here"))),
        }
    }

    fn bad(&self, problem: String) -> PathFileError {
        PathFileError::Line { path: self.name.to_owned(), line: self.number, problem }
    }
}

/// What was read so far.
struct Reading<'n> {
    net: &'n Network,
    k: usize,
    pairs: Vec<(NodeId, NodeId)>,
    table: PathTable,
    cutter: legs::Cutter<'n>,
    jobs: BTreeSet<(NodeId, NodeId)>,
    all_executable: bool,
    /// The vertices of the current line, and the links between them: kept, so that lines do not allocate.
    nodes: Vec<NodeId>,
    links: Vec<LinkId>,
    /// Per vertex, the number of the last path that passed it.
    passed: Vec<u32>,
    /// Paths so far.
    paths: u32,
}

impl Reading<'_> {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let mut words = line.split_ascii_whitespace();
        let key = words.next().unwrap_or_default();
        self.nodes.clear();
        for word in words {
            let node = self.node(word)?;
            self.nodes.push(node);
        }
        match key {
            "job" => self.job(),
            "path" => self.path(),
            other => Err(format!("\"{}\" is found where job or path is expected", shorten(other))),
        }
    }

    fn node(&self, word: &str) -> Result<NodeId, String> {
        match word.parse::<u32>() {
            Ok(n) if (n as usize) < self.net.vertices() => Ok(NodeId(n)),
            _ => {
                let last = self.net.vertices() - 1;
                Err(format!("\"{}\" is not a vertex; a number from 0 to {last} is expected", shorten(word)))
            }
        }
    }

    fn job(&mut self) -> Result<(), String> {
        self.finish_job()?;
        let &[src, dst] = self.nodes.as_slice() else {
            return Err(format!("a job has {} numbers; source and destination are expected", self.nodes.len()));
        };
        if src == dst || !self.net.is_host(src) || !self.net.is_host(dst) {
            return Err("a job is from one host to another".into());
        }
        if !self.jobs.insert((src, dst)) {
            return Err(format!("the job {} {} is given twice", src.0, dst.0));
        }
        let start = self.table.stored_paths() as u32;
        self.pairs.push((src, dst));
        self.table.rows.push(start..start);
        Ok(())
    }

    fn path(&mut self) -> Result<(), String> {
        let Some(&(src, dst)) = self.pairs.last() else {
            return Err("a path is given before the first job".into());
        };
        if self.nodes.first() != Some(&src) || self.nodes.last() != Some(&dst) {
            return Err(format!("the path does not lead from {} to {}", src.0, dst.0));
        }
        // A number for each path: MAX_PATHS keeps it below 2^32.
        self.paths += 1;
        for v in &self.nodes {
            // A switch may be passed twice, on the way to a forwarder and back; links are looked at below.
            let again = std::mem::replace(&mut self.passed[v.index()], self.paths) == self.paths;
            if again && self.net.is_host(*v) {
                return Err(format!("the path passes {} twice", v.0));
            }
        }
        self.links.clear();
        for w in self.nodes.windows(2) {
            let none = || format!("the network has no link from {} to {}", w[0].0, w[1].0);
            self.links.push(self.net.link_between(w[0], w[1]).ok_or_else(none)?);
        }
        if let Some(v) = (!self.all_executable).then(|| legs::repeated(self.net, &self.links)).flatten() {
            return Err(format!("the path takes the same link from {} twice", v.0));
        }
        if !self.all_executable && self.cutter.stops(&self.links).is_none() {
            return Err("the path does not follow the fabric's own routes between its hosts".into());
        }
        self.table.stored.push(&self.links);
        if self.table.stored_paths() > MAX_PATHS {
            return Err(format!("more than {MAX_PATHS} paths"));
        }
        if let Some(row) = self.table.rows.last_mut() {
            row.end = self.table.stored.len() as u32;
            if row.len() > self.k {
                return Err(format!("the job has more than k = {} paths", self.k));
            }
        }
        Ok(())
    }

    fn finish_job(&self) -> Result<(), String> {
        match (self.table.rows.last(), self.pairs.last()) {
            (Some(row), Some((src, dst))) if row.is_empty() => Err(format!("the job {} {} has no path", src.0, dst.0)),
            _ => Ok(()),
        }
    }
}
