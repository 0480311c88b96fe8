//! From files to what they say: which parser gets which line.
//!
//! A line is known by how it begins, whatever the file is called: headings begin a section, and what follows belongs to
//! it until the next heading. So files may be joined with `cat`, and may have the words of other tools around and
//! between sections.

use super::collected::{Collected, Place};
use super::fabric::Fabric;
use super::lines::Lines;
use super::node_blocks::{self, Block, Preface};
use super::rates::rate_of_word;
use super::slurm::{self, SlurmLines};
use super::slurm_yaml::{self, SlurmYaml};
use super::summary::{ImportOptions, ImportedFabric};
use super::unicast_tables::{self, TableLines};
use super::{fdbs, subnet_list};
use crate::error::NetError;
use crate::text_file::shorten;
use optiq_files::input::Input;
use std::io::{self, Read};
use std::path::Path;

/// The largest file that is read. The tables of 3,456 hosts in three levels are 130 MB, and those of the largest fabric
/// whose tables a network can have less than 1 GiB.
const MAX_BYTES: u64 = 1 << 30;

/// How much of a file is looked at for a line of a known form, in bytes.
const MAX_FOREIGN: usize = 16 << 20;

/// What files may be.
const EXPECTED: &str = "what ibnetdiscover, dump_lfts or dump_fts print, opensm-subnet.lst, opensm-lfts.dump, \
                        opensm.fdbs, a net file of ibsim, or Slurm's topology.conf or topology.yaml is expected";

/// Reads the files of a fabric, in any order.
///
/// ```
/// use optiq_net::import::{ImportOptions, Importer};
///
/// let mut importer = Importer::new();
/// let text = "SwitchName=s0 Nodes=a[1-2]\nSwitchName=s1 Nodes=a[3-4]\nSwitchName=s2 Switches=s[0-1]\n";
/// importer.read(text.as_bytes(), "topology.conf")?;
/// let fabric = importer.finish(&ImportOptions::default())?;
/// assert_eq!((fabric.hosts, fabric.switches, fabric.levels), (4, 3, 2));
/// let network = optiq_net::Network::from_toml(&fabric.toml("cluster")?, "cluster.toml")?;
/// assert_eq!(network.distance(network.resolve("a1")?, network.resolve("a4")?), 4);
/// # Ok::<(), optiq_net::NetError>(())
/// ```
#[derive(Debug, Default)]
pub struct Importer {
    collected: Collected,
}

/// What the lines belong to.
enum Section {
    /// Nothing that is known.
    None,
    Block(Block),
    Table(TableLines),
    Distances,
    Slurm(SlurmLines),
    Yaml(SlurmYaml),
}

/// A file that is being read.
struct FileReader<'c> {
    into: &'c mut Collected,
    section: Section,
    preface: Preface,
    /// How many headings and lines of known forms it has.
    known: usize,
    /// The first line that is not empty, for messages.
    first: String,
}

impl Importer {
    /// One that has read nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the regular file at `path`, or standard input where the program permits that.
    ///
    /// # Errors
    /// [`NetError::Spec`] if it cannot be read, is larger than 1 GiB, or is of no known form.
    pub fn read_file(&mut self, path: &Path) -> Result<(), NetError> {
        let label = optiq_files::input::name(path);
        let input = Input::open(path).and_then(|input| input.at_most(MAX_BYTES));
        let input = input.map_err(|e| NetError::Spec(format!("fabric file {label}: {e}")))?;
        self.read(input, &label)
    }

    /// Reads a text; `label` names it in messages.
    ///
    /// # Errors
    /// [`NetError::Spec`] if it cannot be read or is of no known form.
    pub fn read(&mut self, input: impl Read, label: &str) -> Result<(), NetError> {
        let into = &mut self.collected;
        let file = u16::try_from(into.files.len())
            .map_err(|_| NetError::Spec("more than 65536 fabric files are not supported".into()))?;
        into.files.push(label.to_owned());
        let unreadable = |e: io::Error| NetError::Spec(format!("fabric file {label}: {e}"));
        let mut lines = Lines::new(input).map_err(unreadable)?;
        let mut reader =
            FileReader { into, section: Section::None, preface: Preface::default(), known: 0, first: String::new() };
        let mut place = Place { file, line: 0 };
        let mut foreign = 0;
        while let Some(line) = lines.next().map_err(unreadable)? {
            place.line = line.number;
            foreign += line.length;
            reader.line(line.text, line.ended, place)?;
            if reader.known == 0 && foreign > MAX_FOREIGN {
                break;
            }
        }
        reader.end_section(place);
        let (known, first) = (reader.known, std::mem::take(&mut reader.first));
        match (known, first.as_str()) {
            (0, "") => Err(NetError::Spec(format!("fabric file {label}: it is empty; {EXPECTED}"))),
            (0, first) => Err(NetError::Spec(format!("fabric file {label}: it begins with \"{first}\"; {EXPECTED}"))),
            _ => Ok(()),
        }
    }

    /// Joins what the files say to one fabric, and walks every pair of hosts along its tables.
    ///
    /// # Errors
    /// [`NetError::Spec`] if no file says what is joined to what, if there are no hosts, and for lists of hosts that
    /// cannot be read; [`NetError::Routing`] for tables that are too large.
    pub fn finish(self, options: &ImportOptions) -> Result<ImportedFabric, NetError> {
        ImportedFabric::new(Fabric::join(self.collected)?, options)
    }
}

impl FileReader<'_> {
    fn line(&mut self, line: &str, ended: bool, place: Place) -> Result<(), NetError> {
        if self.first.is_empty() {
            self.first = shorten(line.trim());
        }
        if line.is_empty() || self.heading(line, place)? {
            return Ok(());
        }
        // Of a number at the end of a file that was cut, digits may be missing.
        let cut = !ended && !self.is_whole(line);
        let read = match &mut self.section {
            Section::None => ended || !line.starts_with('{'),
            Section::Block(block) if line.starts_with('[') => !cut && block.line(line, place, self.into)?,
            Section::Block(_) => true,
            Section::Table(table) => !cut && table.line(line, place, self.into)?,
            Section::Distances => !cut && fdbs::line(line, place, self.into)?,
            Section::Slurm(lines) => {
                if lines.goes_on() {
                    lines.line(line, place, self.into);
                }
                true
            }
            Section::Yaml(yaml) => {
                yaml.line(line, place);
                true
            }
        };
        if !read {
            self.garbled(line, ended, place);
        }
        Ok(())
    }

    /// Whether the last line of a file can be told to be complete although no line end follows.
    fn is_whole(&self, line: &str) -> bool {
        let is_port = |word: &str| word.len() == 3 && word.bytes().all(|b| b.is_ascii_digit());
        match self.section {
            Section::Block(_) => {
                let last = line.split_whitespace().next_back().unwrap_or_default();
                last.ends_with([']', '"', ')']) || rate_of_word(last).is_some()
            }
            Section::Table(_) => line.ends_with("dumped") || line.split_whitespace().nth(1).is_some_and(is_port),
            Section::Distances => line.split(':').nth(1).is_some_and(|port| is_port(port.trim())),
            _ => true,
        }
    }

    fn garbled(&mut self, line: &str, ended: bool, place: Place) {
        let expected = match self.section {
            Section::Block(_) => "a port such as [1] \"S-0002c90200411f56\"[7]",
            Section::Table(_) => "a LID and a port such as 0x0002 001",
            Section::Distances => "a LID and a port such as 0x0002 : 001",
            _ => "a cable such as { CA ... LID:0002 PN:01 } { SW ... LID:0004 PN:01 } PHY=4x",
        };
        let cut = if ended { "" } else { ", which ends in the middle" };
        self.into.trouble(place, &format!("found \"{}\"{cut}; {expected} is expected", shorten(line.trim())));
    }

    /// Begins a section, or reads a line that is one by itself; whether the line is such.
    fn heading(&mut self, line: &str, place: Place) -> Result<bool, NetError> {
        // Nearly all lines are entries of tables or blocks, and no heading begins like them.
        if line.starts_with(|c: char| c.is_ascii_digit() || c == '[' || c == '#') {
            return Ok(false);
        }
        if unicast_tables::is_heading(line) {
            self.end_section(place);
            self.section = Section::Table(unicast_tables::heading(line, place, self.into));
        } else if fdbs::is_heading(line) {
            self.end_section(place);
            fdbs::heading(line, place, self.into);
            self.section = Section::Distances;
        } else if subnet_list::is_line(line) {
            self.end_section(place);
            if !subnet_list::line(line, place, self.into)? {
                self.garbled(line, true, place);
            }
        } else if node_blocks::is_heading(line) {
            self.end_section(place);
            let preface = std::mem::take(&mut self.preface);
            if let Some(block) = node_blocks::heading(line, place, preface, self.into)? {
                self.section = Section::Block(block);
            }
        } else if slurm::is_line(line) {
            if !matches!(self.section, Section::Slurm(_)) {
                self.end_section(place);
                self.section = Section::Slurm(SlurmLines::default());
            }
            if let Section::Slurm(lines) = &mut self.section {
                lines.line(line, place, self.into);
            }
        } else if slurm_yaml::is_heading(line) {
            if !matches!(self.section, Section::Yaml(_)) {
                self.end_section(place);
                self.section = Section::Yaml(SlurmYaml::default());
            }
            if let Section::Yaml(yaml) = &mut self.section {
                yaml.line(line, place);
            }
        } else {
            return Ok(self.preface.read(line));
        }
        self.known += 1;
        Ok(true)
    }

    fn end_section(&mut self, place: Place) {
        match std::mem::replace(&mut self.section, Section::None) {
            Section::Table(table) if table.is_cut() => {
                let Some((begin, entries)) = self.into.tables.last().map(|t| (t.place, t.entries.len())) else {
                    return;
                };
                let why =
                    format!("the table ends after {entries} LIDs without the line that counts them, as if it were cut");
                self.into.trouble(begin, &why);
            }
            Section::Slurm(mut lines) => lines.end(place, self.into),
            Section::Yaml(yaml) => yaml.end(place, self.into),
            _ => {}
        }
    }
}
