//! `optiq-studies`: runs studies, writes their documents to docs/results/data, and makes the pages in docs/results from them.
//!
//! The exit status is 0 for success, 2 for bad input or arguments and 1 for other failures, each of the latter two with one sentence on
//! standard error.

use clap::{Args, Parser, Subcommand, ValueEnum};
use optiq_files::output;
use optiq_net::text_file;
use optiq_studies::circumstances::Circumstances;
use optiq_studies::claim_runs::{ClaimOptions, ClaimRuns};
use optiq_studies::claims::dragonfly_plus::fit as dragonfly_plus_fit;
use optiq_studies::claims::interference::baselines;
use optiq_studies::claims::list::CLAIMS;
use optiq_studies::document::{self, StudyContent, StudyDocument};
use optiq_studies::failure::Failure;
use optiq_studies::index;
use optiq_studies::measurement_cases::Platform;
use optiq_studies::progress::Progress;
use optiq_studies::readme;
use optiq_studies::selection::Selection;
use optiq_studies::studies::{
    adapters, baselines as mpi_baselines, booksim, closed_loop, closed_loop_simulated, codes, combined_simulated,
    congestion, cures, direct, executor, io, lab, lab_jobs, mira, orders, predictions, preload, presets, profiler,
    profiles, programs, race, ranks_per_host, scale, simulator, table_vii, transports, whole_machine,
};
use optiq_studies::workspace::{self, Workspace};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The largest README that is read, in bytes.
const MAX_README: u64 = 1 << 20;

/// Runs OPTIQ's studies, and makes the pages with their results
#[derive(Debug, Parser)]
#[command(
    version,
    arg_required_else_help = true,
    after_help = "\
Examples:
  optiq-studies results --only table-vii
  optiq-studies results --only reproduce --claim O1 --claim O2
  optiq-studies pages

`cargo xtask results` and `cargo xtask race-codes` install what is missing, set what Open MPI needs, and call this."
)]
struct Cli {
    #[command(subcommand)]
    command: StudyCommand,
}

#[derive(Debug, Subcommand)]
enum StudyCommand {
    /// Measure, and write documents and pages
    Results(ResultsArguments),
    /// Run CODES and OPTIQ's simulator in turn, and write codes.md
    RaceCodes(RaceArguments),
    /// Simulate jobs of document 000 alone with all candidate parameters, and print the loss of each; about eight minutes
    FitInterference,
    /// Fit the switches of document 003 on one baseline of one job alone, and print the loss of each candidate; some minutes
    FitDragonflyPlus,
    /// Fit four parameters of the simulated Blue Gene/Q on Table VII alone, and print the loss of each candidate; some minutes
    FitBgq,
    /// Fit three parameters of the simulated lab on what was measured of one pattern on one torus, and print the loss of each candidate; a minute
    FitLab,
    /// Copy the figures of the README from the documents of pages
    Readme,
    /// Make all pages again from their documents, without measuring anything
    Pages(PagesArguments),
}

impl ResultsArguments {
    /// The claims to run: those that are named, or all but the 91 cases, which are a part of their own.
    fn claims(&self) -> Vec<String> {
        let all = || CLAIMS.iter().map(|c| c.id.to_owned()).filter(|id| id != "91").collect();
        if self.claim.is_empty() { all() } else { self.claim.clone() }
    }
}

/// What can be measured alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The claims of the thesis but the 91 cases; about an hour and a half
    Reproduce,
    /// The 91 cases of the thesis, planned; about a minute
    Cases,
    /// Plans for 1,024 nodes of a Blue Gene/Q beside the thesis's Table VII; seconds
    TableVii,
    /// MPI_Alltoallv and optiq_alltoallv in turn on labs of 16 hosts and on this machine; more than an hour
    Lab,
    /// Jobs that share a lab, beside what is simulated; about ten minutes
    LabJobs,
    /// Direct messages in labs of 16 hosts, beside MPI's algorithms; about an hour
    Direct,
    /// Orders of direct messages beside each other, in labs of 16 hosts; about half an hour
    Orders,
    /// OPTIQ and MPI where links lose, queue and slow down; about fifty minutes
    Profiles,
    /// Collective file access in a lab; about twenty minutes
    Io,
    /// What the preload library costs
    Preload,
    /// What the profiler costs collectives; minutes
    Profiler,
    /// Whole programs under `optiq wrap` in labs; NPB_BIN names the folder of the NAS benchmarks; about an hour and a half
    Programs,
    /// OPTIQ beside other algorithms in labs; MPI_ADVANCE, ALLTOALLV_3STAGE, TUNA, BRUCK_ALLTOALLV and KAMPING name checkouts of rivals; about an hour with
    /// --repetitions 3
    Race,
    /// The same for small messages between several ranks of each host; about twenty minutes
    RaceSmall,
    /// 1 to 8 ranks on each host, messages of all sizes, in labs: whether OPTIQ ever slows a call; about ten minutes
    RanksPerHost,
    /// Small messages between the ranks of 128 nodes of 96, each by itself and combined, simulated; about a quarter of an hour
    CombinedSimulated,
    /// Messages, puts and gets as what carries chunks, in labs; about ten minutes
    Transports,
    /// How fast the simulator is, and its predictions beside what the document of `lab` says was measured; about ten minutes
    Simulator,
    /// Direct messages on simulated networks of up to 1,296 hosts; about a quarter of an hour
    Scale,
    /// Nodes of several adapters, in labs and simulated, beside other ways to spread messages over them; about fifteen minutes
    Adapters,
    /// An exchange beside other jobs, by MPI and by OPTIQ, simulated; minutes
    Cures,
    /// Plans that follow the load of links, in a lab; about ten minutes with --repetitions 1
    ClosedLoop,
    /// The same simulated, on a torus, a fat tree and a dragonfly; minutes
    ClosedLoopSimulated,
    /// Congestion tables of all presets, simulated; minutes
    Congestion,
    /// Planned paths on a simulated machine, and the constants that its training cases give; about half an hour
    Executor,
    /// OPTIQ beside the strongest MPI on the same simulated fabric; about half an hour
    Baselines,
    /// Blue Gene/Q's parameters fitted on one table of the thesis, and the errors on the others; about fifteen minutes
    Mira,
    /// 49,152 nodes of a Blue Gene/Q with packets of 512 and of 4,096 bytes; hours, only by name, and goes on from checkpoints when it is started
    /// again at the same commit
    WholeMachine,
    /// The same exchanges on the presets of one machine; some minutes
    Presets,
    /// Load-latency curves beside BookSim2's
    Booksim,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Builds OPTIQ where a study starts it. Leave the machine alone meanwhile. A page names the commit, so the checkout must not differ from
it, but for docs/results.

Examples:
  optiq-studies results --repetitions 9
  optiq-studies results --only reproduce --only cases
  optiq-studies results --only lab --cases lab-random,lab-shapes --repetitions 1 --output try")]
struct ResultsArguments {
    /// Only this; may be given more than once [default: everything]
    #[arg(long, value_name = "PART")]
    only: Vec<Part>,
    /// Of the claims only this one; may be given more than once [default: all]
    #[arg(long, value_name = "ID")]
    claim: Vec<String>,
    /// Of lab, lab-jobs, direct, orders, profiles, io, preload, profiler, programs, race, race-small, ranks-per-host, transports, simulator, scale, adapters, cures, closed-loop, closed-loop-simulated, congestion, executor and baselines only these cases: a group of data/cases.toml, or
    /// another name that the study has, or several with commas between them; may be given more than once [default: all]
    #[arg(long, value_name = "NAMES", requires = "only")]
    cases: Vec<String>,
    /// Timed runs of either kind in lab, lab-jobs, direct, orders, profiles, io, preload, profiler, programs, race, race-small, ranks-per-host, transports, adapters and closed-loop [default: 7; 3 in lab-jobs, programs and closed-loop, 31 in ranks-per-host]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: Option<u32>,
    /// The folder of the pages, with the documents in its folder `data` [default: docs/results of the checkout]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Runs CODES (github.com/codes-org/codes, on ROSS) and OPTIQ's simulator in turn on one machine: packets and events per second of both, and
what they simulate. Each COMMAND runs a program of CODES in sequence (--sync=1) on 4 KB messages, one a microsecond from each
host; its last word is the configuration. Words are separated by spaces; there are no quotation marks. Stops if the two do not
simulate as many packets.

Example:
  optiq-studies race-codes --directory ../codes/run --versions 'CODES a5958cf, ROSS dc3a6a0' \\
    --fattree '../bin/model-net-synthetic-fattree --sync=1 --payload_size=4096 --arrival_time=1000 --end=500000 -- ft.conf' \\
    --dragonfly-plus '../bin/model-net-synthetic-dragonfly-all --sync=1 --payload_sz=4096 --arrival_time=1000
    --num_messages=150 -- dfp.conf'")]
struct RaceArguments {
    /// 1,296 hosts as in fattree:brown1296, 500 messages each: model-net-synthetic-fattree
    #[arg(long, value_name = "COMMAND", default_value = "", hide_default_value = true)]
    fattree: String,
    /// 3,456 hosts as in dragonfly+:3456, 150 messages each: model-net-synthetic-dragonfly-all
    #[arg(long, value_name = "COMMAND", default_value = "", hide_default_value = true)]
    dragonfly_plus: String,
    /// Where the commands run, with their configurations
    #[arg(long, value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// Which CODES and ROSS they are
    #[arg(long, value_name = "TEXT", default_value = "unknown")]
    versions: String,
    /// Runs of either kind
    #[arg(long, value_name = "N", default_value_t = 3)]
    repetitions: usize,
    /// The folder of the pages, with the documents in its folder `data` [default: docs/results of the checkout]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  optiq-studies pages")]
struct PagesArguments {
    /// The folder of the pages, with the documents in its folder `data` [default: docs/results of the checkout]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        StudyCommand::Results(arguments) => results(&arguments),
        StudyCommand::RaceCodes(arguments) => race_codes(arguments),
        StudyCommand::FitInterference => fit_interference(),
        StudyCommand::FitDragonflyPlus => fit_dragonfly_plus(),
        StudyCommand::FitBgq => fit_bgq(),
        StudyCommand::FitLab => fit_lab(),
        StudyCommand::Readme => copy_figures(),
        StudyCommand::Pages(arguments) => pages(arguments.directory),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("optiq-studies: {failure}");
            ExitCode::from(if matches!(failure, Failure::Input(_)) { 2 } else { 1 })
        }
    }
}

fn results(arguments: &ResultsArguments) -> Result<(), Failure> {
    // Hours of simulation are for those who ask for them.
    let wanted = |part: Part| match arguments.only.is_empty() {
        true => part != Part::WholeMachine,
        false => arguments.only.contains(&part),
    };
    if !arguments.claim.is_empty() && !wanted(Part::Reproduce) {
        return Err(Failure::Input("--claim is given, but not --only reproduce".into()));
    }
    let selection = Selection::new(&arguments.cases);
    if !arguments.cases.is_empty() {
        selection.check(&case_names(&arguments.only)?)?;
    }
    let workspace = Workspace::locate()?;
    let circumstances = workspace.circumstances()?;
    if Part::value_variants().iter().copied().any(|part| wanted(part) && part.runs_optiq()) {
        build_optiq(&workspace)?;
    }
    let writer = Writer::new(&workspace, arguments.output.as_deref(), circumstances)?;
    for part in Part::value_variants().iter().copied().filter(|&part| wanted(part)) {
        workspace::step(part.doing(), || part.run(&workspace, &writer, arguments, &selection))?;
    }
    writer.index()
}

/// Builds the command and the preload library.
fn build_optiq(workspace: &Workspace) -> Result<(), Failure> {
    workspace::step("build optiq", || {
        let what = ["--release", "--package", "optiq-cli", "--package", "optiq-pmpi", "--features", "mpi"];
        workspace::run(&mut workspace.cargo("build", what))
    })
}

impl Part {
    /// Of its document and for `--only`.
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// What is said while it runs.
    fn doing(self) -> &'static str {
        match self {
            Part::Reproduce => "run the thesis's claims",
            Part::Cases => "plan the 91 cases",
            Part::TableVii => "plan for 1,024 nodes",
            Part::Lab => "measure in the lab",
            Part::LabJobs => "run jobs beside each other in labs",
            Part::Direct => "send directly in labs",
            Part::Orders => "send directly by every order in labs",
            Part::Profiles => "measure in labs of all profiles",
            Part::Io => "access files in the lab",
            Part::Preload => "pass calls on",
            Part::Profiler => "profile collectives",
            Part::Programs => "run programs in labs",
            Part::Race => "race in labs",
            Part::RaceSmall => "race with small messages in a lab",
            Part::RanksPerHost => "several ranks on each host, in labs",
            Part::CombinedSimulated => "simulate combined messages",
            Part::Transports => "carry chunks in labs",
            Part::Simulator => "simulate",
            Part::Scale => "simulate direct messages",
            Part::Adapters => "spread messages over adapters",
            Part::Cures => "simulate an exchange beside other jobs",
            Part::ClosedLoop => "follow load in a lab",
            Part::ClosedLoopSimulated => "follow simulated load",
            Part::Congestion => "simulate congestion",
            Part::Executor => "simulate planned paths",
            Part::Baselines => "simulate MPI at its strongest",
            Part::Mira => "fit the simulated Blue Gene/Q",
            Part::WholeMachine => "simulate Mira whole",
            Part::Presets => "simulate on several presets",
            Part::Booksim => "simulate BookSim's curves",
        }
    }

    /// The names that `--cases` takes for it; none if it has no cases of that kind.
    fn case_names(self) -> Result<Option<Vec<String>>, Failure> {
        Ok(match self {
            Part::Lab => Some(lab::case_names()?),
            Part::LabJobs => Some(lab_jobs::case_names()?),
            Part::Direct => Some(direct::case_names()?),
            Part::Orders => Some(orders::case_names()?),
            Part::Profiles => Some(profiles::case_names()),
            Part::Io => Some(io::case_names()),
            Part::Preload => Some(preload::case_names()),
            Part::Profiler => Some(profiler::case_names()),
            Part::Programs => Some(programs::case_names()?),
            Part::Race => Some(race::case_names(Platform::Race)?),
            Part::RaceSmall => Some(race::case_names(Platform::RaceSmall)?),
            Part::RanksPerHost => Some(ranks_per_host::case_names()?),
            Part::Transports => Some(transports::case_names()?),
            Part::Simulator => Some(simulator::case_names()?),
            Part::Scale => Some(scale::case_names()?),
            Part::Adapters => Some(adapters::case_names()?),
            Part::Cures => Some(cures::case_names()),
            Part::ClosedLoop => Some(closed_loop::case_names()),
            Part::ClosedLoopSimulated => Some(closed_loop_simulated::case_names()),
            Part::Congestion => Some(congestion::case_names()),
            Part::Executor => Some(executor::case_names()?),
            Part::Baselines => Some(mpi_baselines::case_names()),
            Part::Reproduce
            | Part::Cases
            | Part::CombinedSimulated
            | Part::TableVii
            | Part::Mira
            | Part::WholeMachine
            | Part::Presets
            | Part::Booksim => None,
        })
    }

    /// How often what is compared is measured in turn if `--repetitions` does not say it; nothing where nothing is measured in turn.
    fn usual_repetitions(self) -> Option<u32> {
        match self {
            Part::Programs | Part::LabJobs | Part::ClosedLoop => Some(3),
            Part::RanksPerHost => Some(ranks_per_host::REPETITIONS),
            Part::Lab
            | Part::Direct
            | Part::Orders
            | Part::Adapters
            | Part::Profiles
            | Part::Io
            | Part::Preload
            | Part::Profiler
            | Part::Race
            | Part::RaceSmall
            | Part::Transports => Some(7),
            _ => None,
        }
    }

    /// Whether it starts the command or the library, which are built before.
    fn runs_optiq(self) -> bool {
        // Claims about profiles do, and predictions are of plans of the command.
        self.usual_repetitions().is_some() || matches!(self, Part::Reproduce | Part::Simulator)
    }

    /// Runs it, and writes what it found.
    fn run(
        self,
        workspace: &Workspace,
        writer: &Writer,
        arguments: &ResultsArguments,
        selection: &Selection,
    ) -> Result<(), Failure> {
        let usual = self.usual_repetitions();
        let repetitions = arguments.repetitions.or(usual).unwrap_or(1);
        let content = match self {
            Part::Reproduce => return writer.claims(&arguments.claims()),
            Part::Cases => return writer.claims(&["91".to_owned()]),
            Part::TableVii => StudyContent::TableVii(table_vii::run()?),
            Part::Lab => StudyContent::Lab(lab::run(workspace, repetitions, selection)?),
            Part::LabJobs => StudyContent::LabJobs(lab_jobs::run(workspace, repetitions, selection)?),
            Part::Direct => StudyContent::Direct(direct::run(workspace, Platform::Direct, repetitions, selection)?),
            Part::Orders => StudyContent::Orders(orders::run(workspace, repetitions, selection)?),
            Part::Profiles => StudyContent::Profiles(profiles::run(workspace, repetitions, selection)?),
            Part::Io => StudyContent::Io(io::run(workspace, repetitions, selection)?),
            Part::Preload => StudyContent::Preload(preload::run(workspace, repetitions, selection)?),
            Part::Profiler => StudyContent::Profiler(profiler::run(repetitions, selection)?),
            Part::Programs => StudyContent::Programs(programs::run(workspace, repetitions, selection)?),
            Part::Race => StudyContent::Race(race::run(workspace, Platform::Race, repetitions, selection)?),
            Part::RaceSmall => {
                StudyContent::RaceSmall(race::run(workspace, Platform::RaceSmall, repetitions, selection)?)
            }
            Part::RanksPerHost => StudyContent::RanksPerHost(ranks_per_host::run(workspace, repetitions, selection)?),
            Part::CombinedSimulated => StudyContent::CombinedSimulated(combined_simulated::run()?),
            Part::Transports => StudyContent::Transports(transports::run(workspace, repetitions, selection)?),
            Part::Simulator => {
                let (labs, profiles) = (measured_in_lab(&writer.pages)?, measured_in_profiles(&writer.pages)?);
                StudyContent::Simulator(simulator::run(workspace, &labs, profiles.as_ref(), selection)?)
            }
            Part::Scale => StudyContent::Scale(scale::run(workspace, selection)?),
            Part::Adapters => StudyContent::Adapters(adapters::run(workspace, repetitions, selection)?),
            Part::Cures => StudyContent::Cures(cures::run(workspace, selection)?),
            Part::ClosedLoop => StudyContent::ClosedLoop(closed_loop::run(workspace, repetitions, selection)?),
            Part::ClosedLoopSimulated => {
                StudyContent::ClosedLoopSimulated(closed_loop_simulated::run(workspace, selection)?)
            }
            Part::Congestion => StudyContent::Congestion(congestion::run(selection)?),
            Part::Executor => StudyContent::Executor(executor::run(workspace, selection)?),
            Part::Baselines => StudyContent::Baselines(mpi_baselines::run(selection)?),
            Part::Mira => StudyContent::Mira(mira::run(&Progress::new(&|doing| log::info!("{doing}")))?),
            Part::WholeMachine => StudyContent::WholeMachine(whole_machine::run(workspace, &writer.commit())?),
            Part::Presets => StudyContent::Presets(presets::run(&Progress::new(&|doing| log::info!("{doing}")))?),
            Part::Booksim => StudyContent::Booksim(booksim::run(workspace)?),
        };
        let times = usual.map_or_else(String::new, |_| format!(" --repetitions {repetitions}"));
        let (name, cases) = (self.name(), selection.option(&self.case_names()?.unwrap_or_default()));
        let command = format!("cargo xtask results --only {name}{cases}{times}");
        writer.write(&name, command, content)
    }
}

/// The parts that have names of cases, with these.
fn case_names(parts: &[Part]) -> Result<Vec<(String, Vec<String>)>, Failure> {
    let names = |part: &Part| {
        let names = part.case_names()?.ok_or_else(|| Failure::Input(cases_are_for(*part)))?;
        Ok((part.name(), names))
    };
    parts.iter().map(names).collect()
}

/// What is wrong with `--cases` for a part without.
fn cases_are_for(part: Part) -> String {
    let with_cases = |part: &&Part| part.case_names().is_ok_and(|names| names.is_some());
    let names: Vec<String> = Part::value_variants().iter().filter(with_cases).map(|part| part.name()).collect();
    format!("--cases is not for {}, but for {}", part.name(), names.join(", "))
}

fn race_codes(arguments: RaceArguments) -> Result<(), Failure> {
    let RaceArguments { fattree, dragonfly_plus, directory, versions, repetitions, output } = arguments;
    let workspace = Workspace::locate()?;
    let writer = Writer::new(&workspace, output.as_deref(), workspace.circumstances()?)?;
    let directory = std::path::absolute(&directory)
        .map_err(|e| Failure::Input(format!("--directory {}: {e}", directory.display())))?;
    let options = codes::RaceOptions { commands: [fattree, dragonfly_plus], directory, versions, repetitions };
    let content = codes::run(&workspace, &options)?;
    writer.write("codes", "cargo xtask race-codes".into(), StudyContent::Codes(content))?;
    writer.index()
}

fn fit_interference() -> Result<(), Failure> {
    let say = |doing: String| log::info!("{doing}");
    let progress = Progress::new(&say);
    println!("{}", baselines::fit(&progress)?);
    print!("{}", baselines::fit_buffers(&progress)?);
    Ok(())
}

fn fit_dragonfly_plus() -> Result<(), Failure> {
    let say = |doing: String| log::info!("{doing}");
    print!("{}", dragonfly_plus_fit::fit(&Progress::new(&say))?);
    Ok(())
}

fn fit_bgq() -> Result<(), Failure> {
    let say = |doing: String| log::info!("{doing}");
    print!("{}", mira::fit(&Progress::new(&say))?);
    Ok(())
}

fn fit_lab() -> Result<(), Failure> {
    let workspace = Workspace::locate()?;
    build_optiq(&workspace)?;
    let measured = measured_in_lab(&workspace.path("docs/results"))?;
    print!("{}", predictions::fit(&workspace, &measured, &|tried| log::info!("{tried}"))?);
    Ok(())
}

fn copy_figures() -> Result<(), Failure> {
    let workspace = Workspace::locate()?;
    let path = workspace.path("README.md");
    let text = text_file::read(&path, MAX_README)
        .map_err(|e| Failure::Input(format!("{} cannot be read: {e}", path.display())))?;
    write(&path, &readme::with_figures(&text, &workspace.path("docs/results"))?)
}

fn pages(directory: Option<PathBuf>) -> Result<(), Failure> {
    let pages = match directory {
        Some(directory) => directory,
        None => Workspace::locate()?.path("docs/results"),
    };
    for document in document::read_all(&pages)? {
        write_files(&pages, &document)?;
    }
    write_index(&pages)
}

/// Where documents and pages go, and what they say of this run.
struct Writer {
    pages: PathBuf,
    circumstances: Circumstances,
}

impl Writer {
    /// Writes to a folder; the checkout's docs/results if none is given.
    fn new(workspace: &Workspace, output: Option<&Path>, circumstances: Circumstances) -> Result<Self, Failure> {
        let pages = match output {
            Some(folder) => std::path::absolute(folder)
                .map_err(|e| Failure::Input(format!("--output {}: {e}", folder.display())))?,
            None => workspace.path("docs/results"),
        };
        Ok(Writer { pages, circumstances })
    }

    /// The commit that is run; what there is of its name if no checkout is known.
    fn commit(&self) -> String {
        self.circumstances.checkout.as_ref().map_or_else(|| "unknown".to_owned(), |checkout| checkout.commit.clone())
    }

    /// Runs claims; each is written as soon as it is known, for the next may take minutes.
    fn claims(&self, ids: &[String]) -> Result<(), Failure> {
        let runs = ClaimRuns::new(ids, ClaimOptions::default())?;
        for claim in runs.claims() {
            let findings = runs.run(claim, &Progress::new(&|doing| log::info!("{doing}")))?;
            write_files(&self.pages, &runs.document(claim, findings, &self.circumstances))?;
        }
        Ok(())
    }

    fn write(&self, name: &str, command: String, content: StudyContent) -> Result<(), Failure> {
        write_files(&self.pages, &StudyDocument::new(name.into(), command, self.circumstances.clone(), content))
    }

    fn index(&self) -> Result<(), Failure> {
        write_index(&self.pages)
    }
}

/// The document of what was measured in labs.
fn measured_in_lab(pages: &Path) -> Result<lab::LabContent, Failure> {
    let path = pages.join(document::DATA).join("lab.json");
    match StudyDocument::read(&path)?.content {
        StudyContent::Lab(content) => Ok(content),
        _ => Err(Failure::Input(format!("{}: a document of study lab is expected", path.display()))),
    }
}

/// The document of what was measured in the labs' profiles; none if there is none.
fn measured_in_profiles(pages: &Path) -> Result<Option<profiles::ProfilesContent>, Failure> {
    let path = pages.join(document::DATA).join("profiles.json");
    if !path.exists() {
        return Ok(None);
    }
    match StudyDocument::read(&path)?.content {
        StudyContent::Profiles(content) => Ok(Some(content)),
        _ => Err(Failure::Input(format!("{}: a document of study profiles is expected", path.display()))),
    }
}

fn write_index(pages: &Path) -> Result<(), Failure> {
    let documents = document::read_all(pages)?;
    write(&pages.join(index::INDEX), &index::page(&documents, &index::undocumented()?))
}

fn write_files(pages: &Path, document: &StudyDocument) -> Result<(), Failure> {
    document.files()?.iter().try_for_each(|file| write(&pages.join(&file.path), &file.text))
}

/// Writes a file, and says where.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let written = path
        .parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| output::write(path, output::PUBLIC, |out| out.write_all(text.as_bytes())));
    written.map_err(|e| Failure::Input(format!("{} cannot be written: {e}", path.display())))?;
    println!("{}", path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_separate_names_of_cases() {
        for part in Part::value_variants() {
            let names = part.case_names().unwrap().unwrap_or_default();
            assert!(names.iter().all(|name| !name.contains(',')), "{names:?}");
        }
    }
}
