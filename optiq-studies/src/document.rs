//! Documents of studies: what was found, by which command, when, where and with which versions; and the files made from them.

use crate::circumstances::Circumstances;
use crate::claims::page::ClaimContent;
use crate::failure::Failure;
use crate::presets::{self, SimulatedMachine};
use crate::studies::adapters::AdaptersContent;
use crate::studies::baselines::BaselinesContent;
use crate::studies::booksim::BooksimContent;
use crate::studies::closed_loop::ClosedLoopContent;
use crate::studies::closed_loop_simulated::SimulatedLoopContent;
use crate::studies::codes::CodesContent;
use crate::studies::combined_simulated::CombinedSimulatedContent;
use crate::studies::congestion::CongestionContent;
use crate::studies::cures::CuresContent;
use crate::studies::direct::DirectContent;
use crate::studies::executor::ExecutorContent;
use crate::studies::io::IoContent;
use crate::studies::lab::LabContent;
use crate::studies::lab_jobs::LabJobsContent;
use crate::studies::mira::MiraContent;
use crate::studies::orders::OrdersContent;
use crate::studies::preload::PreloadContent;
use crate::studies::presets::PresetsContent;
use crate::studies::profiler::ProfilerContent;
use crate::studies::profiles::ProfilesContent;
use crate::studies::programs::ProgramsContent;
use crate::studies::race::RaceContent;
use crate::studies::ranks_per_host::RanksPerHostContent;
use crate::studies::scale::ScaleContent;
use crate::studies::simulator::SimulatorContent;
use crate::studies::table_vii::TableViiContent;
use crate::studies::transports::TransportsContent;
use crate::studies::whole_machine::WholeMachineContent;
use optiq_net::text_file;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// The version of the documents' form. A document of another version is refused, and its study must be run again.
pub const SCHEMA: u32 = 1;
/// The largest document that is read, in bytes.
const MAX_FILE: u64 = 256 << 20;

/// The folder of the documents, below that of the pages.
pub const DATA: &str = "data";

/// One study: one file `data/NAME.json`, one page `NAME.md`, at most one picture `NAME.svg`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyDocument {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Of its files, without an ending.
    pub name: String,
    /// What runs the study again.
    pub command: String,
    /// Where, when and with what it was run.
    pub circumstances: Circumstances,
    /// What was found.
    pub content: StudyContent,
}

/// What every version of a document has.
#[derive(Deserialize)]
struct Version {
    schema: u32,
}

/// What a study found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "study", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "one value for each study that runs, never many in memory")]
pub enum StudyContent {
    /// A claim of the thesis.
    Claim(ClaimContent),
    /// Plans beside the thesis's Table VII.
    TableVii(TableViiContent),
    /// MPI and OPTIQ in turn on real networks.
    Lab(LabContent),
    /// Jobs that share a lab.
    LabJobs(LabJobsContent),
    /// Direct messages beside MPI's algorithms.
    Direct(DirectContent),
    /// Orders of direct messages beside each other.
    Orders(OrdersContent),
    /// Labs that lose, queue and slow down.
    Profiles(ProfilesContent),
    /// Collective file access in labs.
    Io(IoContent),
    /// The cost of calls that the preload library passes on.
    Preload(PreloadContent),
    /// The cost of the profiler.
    Profiler(ProfilerContent),
    /// Whole programs in labs.
    Programs(ProgramsContent),
    /// OPTIQ beside other algorithms.
    Race(RaceContent),
    /// Of small messages.
    RaceSmall(RaceContent),
    /// 1 to 8 ranks on each host.
    RanksPerHost(RanksPerHostContent),
    /// Small messages by themselves and combined, simulated.
    CombinedSimulated(CombinedSimulatedContent),
    /// Messages, puts and gets.
    Transports(TransportsContent),
    /// Direct messages on simulated fat trees.
    Scale(ScaleContent),
    /// Nodes of several adapters, in labs and simulated.
    Adapters(AdaptersContent),
    /// An exchange beside other jobs.
    Cures(CuresContent),
    /// Plans that follow the load of links.
    ClosedLoop(ClosedLoopContent),
    /// The closed loop in the simulator.
    ClosedLoopSimulated(SimulatedLoopContent),
    /// Congestion tables of all presets.
    Congestion(CongestionContent),
    /// The simulator's speed and predictions.
    Simulator(SimulatorContent),
    /// Planned paths on simulated machines.
    Executor(ExecutorContent),
    /// OPTIQ beside the strongest MPI.
    Baselines(BaselinesContent),
    /// Blue Gene/Q's parameters fitted on one table.
    Mira(MiraContent),
    /// The machine of the thesis as a whole, with two sizes of packets.
    WholeMachine(WholeMachineContent),
    /// The same exchanges on several presets.
    Presets(PresetsContent),
    /// The simulator beside BookSim2.
    Booksim(BooksimContent),
    /// The simulator beside CODES.
    Codes(CodesContent),
}

/// A file that is made from a document, below the folder of the pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyFile {
    /// Relative to the folder of the pages.
    pub path: PathBuf,
    /// What stands in it.
    pub text: String,
}

impl StudyDocument {
    /// A document of today's schema.
    pub fn new(name: String, command: String, circumstances: Circumstances, content: StudyContent) -> Self {
        StudyDocument { schema: SCHEMA, name, command, circumstances, content }
    }

    /// Reads a document.
    ///
    /// # Errors
    /// [`Failure::Input`] if the file cannot be read, is not of this form, of another version, or not named after its study.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let refuse = |why: String| Failure::Input(format!("{}: {why}", path.display()));
        let text = text_file::read(path, MAX_FILE).map_err(|e| refuse(format!("cannot be read: {e}")))?;
        // First, as a document of another version may have other fields.
        let Version { schema } = serde_json::from_str(&text).map_err(|e| refuse(e.to_string()))?;
        if schema != SCHEMA {
            return Err(refuse(format!("schema is {schema}, and {SCHEMA} is expected; run the study again")));
        }
        let document: StudyDocument = serde_json::from_str(&text).map_err(|e| refuse(e.to_string()))?;
        if path.file_stem().is_none_or(|stem| stem != document.name.as_str()) {
            return Err(refuse(format!("name is \"{}\", and that of the file is expected", document.name)));
        }
        Ok(document)
    }

    /// The document, its page and its picture.
    ///
    /// # Errors
    /// [`Failure::Work`] if it cannot be written as JSON.
    pub fn files(&self) -> Result<Vec<StudyFile>, Failure> {
        let mut json = serde_json::to_string_pretty(self).map_err(|e| Failure::Work(format!("{}: {e}", self.name)))?;
        json.push('\n');
        let mut files = vec![StudyFile { path: Path::new(DATA).join(format!("{}.json", self.name)), text: json }];
        if let Some(text) = self.picture() {
            files.push(StudyFile { path: format!("{}.svg", self.name).into(), text });
        }
        files.push(StudyFile { path: format!("{}.md", self.name).into(), text: self.page() });
        Ok(files)
    }

    /// The page, in Markdown.
    pub fn page(&self) -> String {
        let mut about = format!("{} Made by `{}`.", self.circumstances.paragraph(), self.command);
        let machine = self.machine().sentence();
        if !machine.is_empty() {
            about = format!("{about}\n\n{machine}");
        }
        match &self.content {
            StudyContent::Claim(c) => c.page(&about, &format!("{}.svg", self.name)),
            StudyContent::TableVii(c) => titled(TableViiContent::TITLE, &about, &c.body()),
            StudyContent::Lab(c) => titled(LabContent::TITLE, &about, &c.body()),
            StudyContent::LabJobs(c) => titled(LabJobsContent::TITLE, &about, &c.body()),
            StudyContent::Direct(c) => titled(DirectContent::TITLE, &about, &c.body()),
            StudyContent::Orders(c) => titled(OrdersContent::TITLE, &about, &c.body()),
            StudyContent::Profiles(c) => titled(ProfilesContent::TITLE, &about, &c.body()),
            StudyContent::Io(c) => titled(IoContent::TITLE, &about, &c.body()),
            StudyContent::Preload(c) => titled(PreloadContent::TITLE, &about, &c.body()),
            StudyContent::Profiler(c) => titled(ProfilerContent::TITLE, &about, &c.body()),
            StudyContent::Programs(c) => titled(ProgramsContent::TITLE, &about, &c.body()),
            StudyContent::Race(c) => titled(RaceContent::TITLE, &about, &c.body()),
            StudyContent::RaceSmall(c) => titled(RaceContent::TITLE_SMALL, &about, &c.body()),
            StudyContent::RanksPerHost(c) => titled(RanksPerHostContent::TITLE, &about, &c.body()),
            StudyContent::CombinedSimulated(c) => titled(CombinedSimulatedContent::TITLE, &about, &c.body()),
            StudyContent::Transports(c) => titled(TransportsContent::TITLE, &about, &c.body()),
            StudyContent::Scale(c) => titled(ScaleContent::TITLE, &about, &c.body()),
            StudyContent::Adapters(c) => titled(AdaptersContent::TITLE, &about, &c.body()),
            StudyContent::Cures(c) => titled(CuresContent::TITLE, &about, &c.body()),
            StudyContent::ClosedLoop(c) => titled(ClosedLoopContent::TITLE, &about, &c.body()),
            StudyContent::ClosedLoopSimulated(c) => titled(SimulatedLoopContent::TITLE, &about, &c.body()),
            StudyContent::Congestion(c) => titled(CongestionContent::TITLE, &about, &c.body()),
            StudyContent::Simulator(c) => titled(SimulatorContent::TITLE, &about, &c.body()),
            StudyContent::Executor(c) => titled(ExecutorContent::TITLE, &about, &c.body()),
            StudyContent::Baselines(c) => titled(BaselinesContent::TITLE, &about, &c.body()),
            StudyContent::Mira(c) => titled(MiraContent::TITLE, &about, &c.body()),
            StudyContent::WholeMachine(c) => titled(WholeMachineContent::TITLE, &about, &c.body()),
            StudyContent::Presets(c) => titled(PresetsContent::TITLE, &about, &c.body()),
            StudyContent::Booksim(c) => titled(BooksimContent::TITLE, &about, &c.body()),
            StudyContent::Codes(c) => titled(CodesContent::TITLE, &about, &c.body()),
        }
    }

    /// What simulates what it is about.
    pub fn machine(&self) -> SimulatedMachine {
        match &self.content {
            StudyContent::Claim(c) => SimulatedMachine::of_claim(&c.id),
            StudyContent::CombinedSimulated(_) | StudyContent::Scale(_) | StudyContent::Adapters(_) => {
                SimulatedMachine::Presets(&[presets::FATTREE_12_5])
            }
            StudyContent::Executor(_) | StudyContent::Baselines(_) | StudyContent::WholeMachine(_) => {
                SimulatedMachine::Presets(&[presets::BGQ])
            }
            StudyContent::Mira(_) => SimulatedMachine::Presets(&[presets::MIRA]),
            StudyContent::Presets(_) => {
                SimulatedMachine::Presets(&[presets::BGQ, presets::MIRA, presets::BGQ_PIPELINE])
            }
            StudyContent::Simulator(_) => SimulatedMachine::Presets(&[presets::LAB]),
            StudyContent::LabJobs(_) => SimulatedMachine::Presets(&[presets::LAB_JOBS]),
            StudyContent::Cures(_) | StudyContent::ClosedLoopSimulated(_) | StudyContent::Congestion(_) => {
                SimulatedMachine::ByNetwork
            }
            _ => SimulatedMachine::None,
        }
    }

    fn picture(&self) -> Option<String> {
        match &self.content {
            StudyContent::Claim(c) => c.findings.plot.as_ref().map(|plot| plot.svg()),
            StudyContent::ClosedLoop(c) => Some(c.plot().svg()),
            StudyContent::ClosedLoopSimulated(c) => Some(c.plot().svg()),
            _ => None,
        }
    }

    /// The title of the page.
    pub fn title(&self) -> String {
        match &self.content {
            StudyContent::Claim(c) => format!("{}: {}", c.id, c.title),
            StudyContent::TableVii(_) => TableViiContent::TITLE.into(),
            StudyContent::Lab(_) => LabContent::TITLE.into(),
            StudyContent::LabJobs(_) => LabJobsContent::TITLE.into(),
            StudyContent::Direct(_) => DirectContent::TITLE.into(),
            StudyContent::Orders(_) => OrdersContent::TITLE.into(),
            StudyContent::Profiles(_) => ProfilesContent::TITLE.into(),
            StudyContent::Io(_) => IoContent::TITLE.into(),
            StudyContent::Preload(_) => PreloadContent::TITLE.into(),
            StudyContent::Profiler(_) => ProfilerContent::TITLE.into(),
            StudyContent::Programs(_) => ProgramsContent::TITLE.into(),
            StudyContent::Race(_) => RaceContent::TITLE.into(),
            StudyContent::RaceSmall(_) => RaceContent::TITLE_SMALL.into(),
            StudyContent::RanksPerHost(_) => RanksPerHostContent::TITLE.into(),
            StudyContent::CombinedSimulated(_) => CombinedSimulatedContent::TITLE.into(),
            StudyContent::Transports(_) => TransportsContent::TITLE.into(),
            StudyContent::Scale(_) => ScaleContent::TITLE.into(),
            StudyContent::Adapters(_) => AdaptersContent::TITLE.into(),
            StudyContent::Cures(_) => CuresContent::TITLE.into(),
            StudyContent::ClosedLoop(_) => ClosedLoopContent::TITLE.into(),
            StudyContent::ClosedLoopSimulated(_) => SimulatedLoopContent::TITLE.into(),
            StudyContent::Congestion(_) => CongestionContent::TITLE.into(),
            StudyContent::Simulator(_) => SimulatorContent::TITLE.into(),
            StudyContent::Executor(_) => ExecutorContent::TITLE.into(),
            StudyContent::Baselines(_) => BaselinesContent::TITLE.into(),
            StudyContent::Mira(_) => MiraContent::TITLE.into(),
            StudyContent::WholeMachine(_) => WholeMachineContent::TITLE.into(),
            StudyContent::Presets(_) => PresetsContent::TITLE.into(),
            StudyContent::Booksim(_) => BooksimContent::TITLE.into(),
            StudyContent::Codes(_) => CodesContent::TITLE.into(),
        }
    }

    /// The claim that it is of; nothing of other studies.
    pub fn claim(&self) -> Option<&str> {
        match &self.content {
            StudyContent::Claim(c) => Some(&c.id),
            _ => None,
        }
    }

    /// Whether it says that throughputs of the simulated Blue Gene/Q are too far off to be compared as numbers.
    pub fn says_direction_only(&self) -> bool {
        matches!(&self.content, StudyContent::Mira(c) if c.is_direction_only())
    }

    /// Whether a published claim was shown; nothing of studies that judge none.
    pub fn verdict(&self) -> Option<String> {
        match &self.content {
            StudyContent::Claim(c) => Some(c.findings.verdict().sentence()),
            _ => None,
        }
    }
}

fn titled(title: &str, about: &str, body: &str) -> String {
    format!("# {title}\n\n{about}\n\n{body}")
}

/// All documents of a folder of pages, by name.
///
/// # Errors
/// As [`StudyDocument::read`]; no folder of documents is none.
pub fn read_all(pages: &Path) -> Result<Vec<StudyDocument>, Failure> {
    let folder = pages.join(DATA);
    let Ok(entries) = fs::read_dir(&folder) else { return Ok(Vec::new()) };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "json"));
    paths.sort();
    paths.iter().map(|path| StudyDocument::read(path)).collect()
}
