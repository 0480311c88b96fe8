//! What each fuzz target does with its input. tests/corpora.rs includes this file, so that the inputs in `fuzz/corpus/` are run by
//! the ordinary tests as well.
//!
//! A target must return for every input: what is parsed is read or refused with a sentence, and never panics, hangs, or allocates
//! more than its limits. What was read is then used as a command would use it. Plans are tried as they are, and with a checksum that fits, as
//! the checksum would otherwise keep the fuzzer from ever seeing what is behind it.

use optiq_net::{Background, Network};
use std::path::Path;
use std::sync::OnceLock;

/// A target: its name, which is also that of its folder in `fuzz/corpus/`, and what it does.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: &[Target] = &[
    ("background", background),
    ("calibration", calibration),
    ("cases", cases),
    ("checkpoint", checkpoint),
    ("conf", conf),
    ("demands", demands),
    ("fabric", fabric),
    ("goal", goal),
    ("jobs", jobs),
    ("learned", learned),
    ("model", model),
    ("paths", paths),
    ("plan_binary", plan_binary),
    ("plan_json", plan_json),
    ("postcards", postcards),
    ("probe_table", probe_table),
    ("scores", scores),
    ("spec", spec),
    ("steps", steps),
    ("sweeps", sweeps),
    ("topology", topology),
    ("trace", trace),
    ("transfers", transfers),
    ("units", units),
];

/// Networks of more vertices take a while to make, and are not what is looked for.
const SMALL: u64 = 4096;

fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}

fn torus() -> &'static Network {
    static NETWORK: OnceLock<Network> = OnceLock::new();
    NETWORK.get_or_init(|| Network::from_spec("torus:4x4,io=0+10").expect("a valid specification"))
}

/// Gives what can be read only from a file its input.
fn with_file(data: &[u8], read: impl FnOnce(&Path)) {
    let Ok(mut file) = tempfile::NamedTempFile::new() else { return };
    if std::io::Write::write_all(&mut file, data).is_ok() {
        read(file.path());
    }
}

/// Whether numbers in a specification multiply to a network that is small.
fn is_small(text: &str) -> bool {
    let numbers = text.split(|c: char| !c.is_ascii_digit()).filter(|n| !n.is_empty());
    let product = numbers.map(|n| n.parse().unwrap_or(u64::MAX).max(1)).fold(1u64, u64::saturating_mul);
    product <= SMALL
}

/// `--topology` as text.
pub fn spec(data: &[u8]) {
    // Of any file, only what is in the corpus of its own is read.
    let reads_files = |t: &str| t.starts_with("file:") || t.contains("hosts");
    let Some(text) = text(data).filter(|t| !reads_files(t) && is_small(t)) else { return };
    if let Ok(network) = Network::from_spec(text) {
        assert!(network.hosts() > 0);
        let mut links = Vec::new();
        let last = optiq_net::NodeId(network.hosts() as u32 - 1);
        let _ = network.route(optiq_net::NodeId(0), last, &mut links);
    }
}

/// A topology file.
pub fn topology(data: &[u8]) {
    let Some(text) = text(data) else { return };
    if let Ok(network) = Network::from_toml(text, "fuzz.toml") {
        let mut links = Vec::new();
        let last = optiq_net::NodeId(network.hosts() as u32 - 1);
        let _ = network.route(optiq_net::NodeId(0), last, &mut links);
        let _ = network.route(last, optiq_net::NodeId(0), &mut links);
    }
}

/// What tools of fabrics print. What is imported must make a network file that is read, with the routes that were walked.
pub fn fabric(data: &[u8]) {
    let mut importer = optiq_net::import::Importer::new();
    if importer.read(data, "fuzz").is_err() {
        return;
    }
    let Ok(fabric) = importer.finish(&optiq_net::import::ImportOptions::default()) else { return };
    let network = fabric.toml("fuzz").and_then(|text| Network::from_toml(&text, "fuzz.toml")).expect("a network");
    assert_eq!(network.hosts(), fabric.hosts);
    if fabric.pairs > SMALL || fabric.routes_per_link_max.is_none() {
        return;
    }
    let (mut links, mut arrive) = (Vec::new(), 0);
    for (from, to) in (0..fabric.hosts as u32).flat_map(|a| (0..fabric.hosts as u32).map(move |b| (a, b))) {
        arrive += u64::from(network.route(optiq_net::NodeId(from), optiq_net::NodeId(to), &mut links).is_ok());
        links.clear();
    }
    assert_eq!(arrive, fabric.pairs_resolved + fabric.hosts as u64);
}

/// A file of background load.
pub fn background(data: &[u8]) {
    let Some(text) = text(data) else { return };
    if let Ok(background) = Background::parse(text, "fuzz") {
        let _ = torus().clone().with_background(&background);
    }
}

/// Sizes, rates and I/O hosts.
pub fn units(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let _ = (optiq_net::units::parse_bytes(text), optiq_net::units::parse_rate(text), torus().parse_io_hosts(text));
}

/// `--demands`: a pattern in the first line or, if that is empty, a file.
pub fn demands(data: &[u8]) {
    if let Some(file) = data.strip_prefix(b"\n") {
        return with_file(file, |path| {
            let _ = optiq_solver::demands::parse(&format!("file:{}", path.display()), torus(), 1000);
        });
    }
    let Some(text) = text(data).filter(|t| !t.starts_with("file:") && is_small(t)) else { return };
    let _ = optiq_solver::demands::parse(text, torus(), 1000);
}

/// A path file.
pub fn paths(data: &[u8]) {
    let _ = optiq_solver::candidates::file::read_from("fuzz", data, torus());
}

/// A plan file. The 32 bytes of fingerprints are left as they are only where they fit anyway.
pub fn plan_binary(data: &[u8]) {
    let _ = optiq_solver::Plan::from_bytes(data, torus());
    if data.len() >= 64 {
        let mut sealed = data.to_vec();
        sealed[48..56].copy_from_slice(&((data.len() - 64) as u64).to_le_bytes());
        sealed[16..32].copy_from_slice(&torus().fingerprint().0.to_le_bytes());
        let mut hash = xxhash_rust::xxh3::Xxh3::new();
        hash.update(&sealed[..56]);
        hash.update(&sealed[64..]);
        sealed[56..64].copy_from_slice(&hash.digest().to_le_bytes());
        if let Ok(plan) = optiq_solver::Plan::from_bytes(&sealed, torus()) {
            assert_eq!(plan.to_bytes().as_deref(), Ok(&sealed[..]), "what is read is what is written");
        }
    }
}

/// A plan as JSON.
pub fn plan_json(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let _ = optiq_solver::Plan::from_json(text, torus());
}

/// A transfer file (`optiq transfers`), in either form.
pub fn transfers(data: &[u8]) {
    let Some(text) = text(data) else { return };
    if let Ok(list) = optiq_lower::transfers::TransferList::parse(text, "fuzz") {
        let written = list.to_text();
        assert!(
            optiq_lower::transfers::TransferList::parse(&written, "fuzz").is_ok(),
            "what is written can be read: {written}"
        );
    }
}

/// A calibration file: the record of a machine.
pub fn calibration(data: &[u8]) {
    with_file(data, |path| {
        let _ = optiq_lower::machine::MachineRecord::read(path);
    });
    let Some(text) = text(data) else { return };
    if let Ok(record) = optiq_lower::machine::MachineRecord::parse(text, "fuzz") {
        let written = record.to_string();
        let read = optiq_lower::machine::MachineRecord::parse(&written, "fuzz");
        assert!(read.is_ok(), "what is written can be read: {written}");
        let (model, note) = record.model_on(torus().fingerprint(), Some("an MPI library"));
        assert!(note.is_some() || model == record.model);
    }
}

/// `optiq.conf`.
pub fn conf(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let mut settings = optiq::Settings::default();
    settings.add_text(text, Path::new("fuzz.conf"));
    // The values are read here.
    let _ = settings.resolve();
}

/// `OPTIQ_LEARNED`.
pub fn learned(data: &[u8]) {
    let Some(text) = text(data) else { return };
    if let Ok(learned) = optiq_lower::learned::Learned::parse(text) {
        let again = optiq_lower::learned::Learned::parse(&learned.text());
        assert_eq!(again.as_ref(), Ok(&learned), "what is written can be read");
        let _ = learned.to_string();
    }
}

/// `OPTIQ_SCORES`.
pub fn scores(data: &[u8]) {
    let Some(text) = text(data) else { return };
    if let Ok(scores) = text.parse::<optiq_lower::scores::Scores>() {
        for rule in &scores.0 {
            assert!(
                rule.to_string().parse::<optiq_lower::scores::Scores>().is_ok(),
                "what is printed can be read: {rule}"
            );
        }
    }
}

/// A rank's trace.
pub fn trace(data: &[u8]) {
    let _ = optiq_trace::RankTrace::parse(data, Path::new("fuzz.trace"));
}

/// Postcards of a simulation or of a rank: read, and joined if they are few.
pub fn postcards(data: &[u8]) {
    use optiq_trace::postcards::{Clocks, Context, Gathered, decode, decode_rank, join};
    let of_rank = || {
        let rank = decode_rank(Path::new("fuzz.postcards"), data).ok()?;
        let line = |_: &_| Context { file: String::new(), line: 0, function: String::new() };
        Some(Gathered::of_ranks(vec![rank]).ok()?.collection(line))
    };
    if let Some(collection) = decode(data).ok().or_else(of_rank)
        && collection.postcards() < 1000
    {
        let _ = join(&collection, &Clocks::estimate(&collection));
    }
}

/// A GOAL schedule: read, and replayed if it is small.
pub fn goal(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let Ok(schedule) = optiq_sim::workload::goal::schedule::Goal::parse(text) else { return };
    if data.len() < 2000 && schedule.ranks() as usize <= torus().hosts() {
        let limits = optiq_sim::Limits { events: Some(20_000), ..optiq_sim::Limits::default() };
        let options = optiq_sim::RunOptions { limits, ..optiq_sim::RunOptions::default() };
        let _ = optiq_sim::workload::goal::replay::replay(torus(), &optiq_sim::Model::default(), &schedule, &options);
    }
}

/// A file of steps.
pub fn steps(data: &[u8]) {
    if let Some(text) = text(data) {
        let _ = optiq_sim::jobs::steps_file::StepsFile::parse(text, "fuzz");
    }
}

/// A training table: read, every pair predicted by every method, written and read again.
pub fn probe_table(data: &[u8]) {
    use optiq_probe::predict::{table::TrainingTable, training::Method};
    let Some(table) = text(data).and_then(|text| TrainingTable::parse(text).ok()) else { return };
    for predictor in Method::ALL.map(|method| method.train(&table)) {
        for victim in table.applications.iter().take(4) {
            for aggressor in table.applications.iter().take(4) {
                assert!(predictor.predict(&victim.name, &aggressor.name).is_ok_and(|slowdown| slowdown >= -1.0));
            }
        }
    }
    assert_eq!(TrainingTable::parse(&table.text()).as_ref(), Ok(&table));
}

/// A job file: read, and its jobs placed and certified on a small network if that is theirs. Files that it names are not read.
pub fn jobs(data: &[u8]) {
    use optiq_sim::jobs::{adviser, allocation::Allocation, certificate::Certificate, file::JobFile};
    let Some(text) = text(data) else { return };
    let Ok(file) = JobFile::parse(text, "fuzz") else { return };
    let reads_files = text.contains("file") || text.contains("hosts=") || file.model.is_some();
    if reads_files || !is_small(&file.network) || file.jobs.len() > 8 || text.contains("alltoallv") {
        return;
    }
    let Ok(network) = file.load_network() else { return };
    let model = optiq_sim::Model::default();
    if let Ok(allocation) = Allocation::new(&file, &network) {
        let processes = allocation.jobs.iter().flat_map(|job| job.of_processes()).count();
        if processes > 500 {
            return;
        }
        if let Ok(found) = Certificate::new(&file, &network, &model, &allocation, |_, _| {}) {
            for sharing in found.pairs.iter().map(|pair| &pair.sharing) {
                assert!(sharing.parts().iter().chain(&sharing.parts_much()).all(|p| (0.0..=1.0).contains(p)));
            }
        }
        let _ = adviser::advise(&file, &network, &model, 1, |i, _| i < 4);
    }
}

/// A sweep file: read, and the job files of its first, its last and one more of its runs.
pub fn sweeps(data: &[u8]) {
    use optiq_sim::jobs::sweep::file::{MAX_RUNS, Sweep};
    let Some(text) = text(data) else { return };
    let Ok(sweep) = Sweep::parse(text, "fuzz") else { return };
    assert!((1..=MAX_RUNS).contains(&sweep.runs()));
    for run in [0, sweep.runs() / 2, sweep.runs() - 1] {
        assert_eq!(sweep.choices(run).len(), sweep.axes().len());
        if let Err(e) = sweep.job_file(run) {
            assert!(!e.to_string().contains('\n'));
        }
    }
}

/// A model of a machine.
pub fn model(data: &[u8]) {
    with_file(data, |path| {
        let Some(path) = path.to_str() else { return };
        let _ = optiq_sim::Model::read(path);
    });
}

/// A list of cases: of a measurement, of the thesis's claims, or training and held-out ones.
pub fn cases(data: &[u8]) {
    with_file(data, |path| {
        let Some(path) = path.to_str() else { return };
        let _ = optiq_studies::bench::cases::cases(path);
    });
    let Some(text) = text(data) else { return };
    let _ = optiq_studies::claims::thesis_cases::parse(text, "fuzz");
    let _ = optiq_studies::measurement_cases::parse(text, "fuzz");
}

/// A checkpoint of a small simulation, as it is and with a checksum that fits.
pub fn checkpoint(data: &[u8]) {
    resume(Some(data), None);
    let mut sealed = data.to_vec();
    optiq_sim::seal_checkpoint(&mut sealed);
    // A panic inside becomes an error, and libFuzzer's hook, which ends the program at once, must not see it.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    resume(Some(&sealed), None);
    std::panic::set_hook(hook);
}

/// A checkpoint as the simulator writes it, from the middle of the small simulation.
pub fn a_checkpoint() -> Vec<u8> {
    let kept = std::sync::Mutex::new(Vec::new());
    let keep = |bytes: &[u8]| {
        *kept.lock().map_err(|e| e.to_string())? = bytes.to_vec();
        Ok(())
    };
    resume(None, Some(optiq_sim::Checkpoints { every: None, keep: &keep }));
    kept.into_inner().unwrap_or_default()
}

fn resume(from: Option<&[u8]>, checkpoints: Option<optiq_sim::Checkpoints<'_>>) {
    use optiq_sim::workload::exchange::{Method, exchange};
    use optiq_sim::workload::message::Message;
    let message = |source, destination, bytes| Message { source, destination, bytes, class: 0 };
    let messages = [message(0, 5, 20_000), message(3, 9, 90_000)];
    let limits = optiq_sim::Limits { events: Some(40), ..optiq_sim::Limits::default() };
    let options = optiq_sim::RunOptions { limits, resume: from, checkpoints, ..optiq_sim::RunOptions::default() };
    let _ = exchange(torus(), &optiq_sim::Model::default(), &messages, &Method::Linear, &options);
}
