//! The profiler of the preload library: who sent what to whom, by region of the code.
//!
//! It observes only: `MPI_Init`, `MPI_Finalize`, `MPI_Pcontrol` and the functions of files come by here on their way. The MPI library
//! counts messages itself ([`optiq_transport::mpi::monitoring`]); the counts are read at the bounds of regions and at the end. Calls that send
//! come by here as well if call sites are wanted (`OPTIQ_PROFILE_CALL_SITES`), or if the library does not count and their arguments are all
//! that there is ([`optiq_transport::mpi::tally`]): module `watch`. Without `OPTIQ_PROFILE` in the environment nothing is done.
//!
//! Messages of OPTIQ's own executor are point-to-point messages of MPI, so they are counted as well: a profile of a program
//! whose exchanges go over planned paths has what each *leg* carried.

mod connections;
mod interfaces;
mod recorder;
mod signal;
mod watch;

use super::communicators;
use crate::config::{Config, ProfileSource};
use crate::logger;
use optiq_trace::profile::rank_file::{FileTraffic, Interface, RankProfile, SCHEMA, Source};
use optiq_transport::mpi::monitoring::{self, Counted, Monitoring};
use optiq_transport::mpi::{Library, ffi, is_initialized, library_version, processor_name, tally};
use recorder::Recorder;
use std::ffi::{c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
pub use watch::{Elements, Moves, watches_files, watches_messages};
use watch::{OwnCode, Sites, Watching};

/// The variable that switches the profiler on; nothing else does, so that a process without it only looks for it.
const VARIABLE: &str = "OPTIQ_PROFILE";

/// Whether there is a profile, to be asked without a lock.
static RUNS: AtomicBool = AtomicBool::new(false);
static PROFILE: Mutex<Option<Profile>> = Mutex::new(None);

/// Who counts messages.
enum Counters {
    /// The MPI library.
    Monitoring(Monitoring),
    /// Calls and OPTIQ's transports, by their arguments.
    Calls,
}

impl Counters {
    /// As the user wants it: by default the MPI library where it can.
    fn open(wanted: ProfileSource) -> Result<Self, String> {
        let calls = match wanted {
            ProfileSource::Monitoring => false,
            ProfileSource::Calls => true,
            ProfileSource::Auto => Library::CURRENT != Library::OpenMpi,
        };
        if calls {
            tally::begin();
            return Ok(Self::Calls);
        }
        Monitoring::open()
            .map(Self::Monitoring)
            .map_err(|why| format!("{why}; OPTIQ_PROFILE_SOURCE=calls counts what calls say"))
    }

    fn source(&self) -> Source {
        match self {
            Self::Monitoring(monitoring) => {
                Source { name: "pml_monitoring".into(), collectives: monitoring.collectives() }
            }
            Self::Calls => Source { name: "calls".into(), collectives: false },
        }
    }

    fn ranks(&self) -> usize {
        match self {
            Self::Monitoring(monitoring) => monitoring.ranks(),
            Self::Calls => tally::ranks().unwrap_or(0),
        }
    }

    fn read(&self, counted: Counted, messages: &mut [u64], bytes: &mut [u64]) -> bool {
        match self {
            Self::Monitoring(monitoring) => monitoring.read(counted, messages, bytes),
            Self::Calls => tally::read(counted, messages, bytes),
        }
    }

    fn close(self) {
        if let Self::Monitoring(monitoring) = self {
            monitoring.close();
        }
    }
}

/// What a profile needs until it is written.
struct Profile {
    counters: Counters,
    recorder: Recorder,
    /// Places of the program, if they are wanted.
    sites: Sites,
    own_code: OwnCode,
    /// For a reading: an element for each rank.
    messages: Vec<u64>,
    bytes: Vec<u64>,
    folder: PathBuf,
    start: Instant,
    /// What the interfaces had moved before.
    before: Vec<Interface>,
    /// The rest of the file.
    head: RankProfile,
}

/// `MPI_Init` and `MPI_Init_thread`.
pub fn initialize(next: impl FnOnce() -> c_int) -> c_int {
    if std::env::var_os(VARIABLE).is_none_or(|folder| folder.is_empty()) || is_initialized() {
        return next();
    }
    let read = Config::read();
    if let Some(error) = &read.error {
        let code = next();
        logger::init("", read.config.log);
        give_up(&error.to_string());
        return code;
    }
    let Some(folder) = read.config.profile.clone().filter(|_| !read.config.disable && communicators::is_our_library())
    else {
        return next();
    };
    if read.config.profile_source != ProfileSource::Calls {
        // SAFETY: MPI_Init is about to begin, before which a program with threads must not use the environment either.
        unsafe { monitoring::request() };
    }
    let code = next();
    if code == ffi::MPI_SUCCESS as c_int && is_initialized() {
        let begun = catch_unwind(|| begin(&folder, &read.config));
        if let Err(why) = begun.unwrap_or_else(|_| Err("internal error in OPTIQ".into())) {
            give_up(&why);
        }
    }
    code
}

/// Says why there is no profile, once on each host.
fn give_up(why: &str) {
    if is_first_of_host() {
        logger::warn_once(&format!("no profile is written: {why}"));
    }
}

/// Begins a profile, which goes into `folder`.
fn begin(folder: &str, config: &Config) -> Result<(), String> {
    let mut place = PROFILE.lock().unwrap_or_else(PoisonError::into_inner);
    if place.is_some() {
        return Ok(());
    }
    let (mut rank, mut ranks) = (0, 0);
    // SAFETY: MPI is initialised; out-parameters.
    unsafe {
        ffi::PMPI_Comm_rank(ffi::RSMPI_COMM_WORLD, &mut rank);
        ffi::PMPI_Comm_size(ffi::RSMPI_COMM_WORLD, &mut ranks);
    }
    logger::init(&format!(" [rank {rank}]"), config.log);
    let counters = Counters::open(config.profile_source)?;
    let source = counters.source();
    let made = std::fs::create_dir_all(folder).and_then(|()| Path::new(folder).canonicalize());
    let folder = match made {
        Ok(folder) => folder,
        Err(error) => {
            counters.close();
            return Err(format!("the directory {folder} of {VARIABLE} cannot be made: {error}"));
        }
    };
    if !source.collectives && rank == 0 {
        logger::warn_once(match counters {
            Counters::Monitoring(_) => {
                "OMPI_MCA_pml_monitoring_enable is not 1: the profile leaves out messages inside collectives, which MPI then \
                 counts apart"
            }
            Counters::Calls => {
                "the profile has what the arguments of point-to-point and one-sided calls say, and OPTIQ's own chunks: messages \
                 inside MPI's collectives are not seen"
            }
        });
    }
    let library = library_version().unwrap_or_default();
    let head = RankProfile {
        schema: SCHEMA.into(),
        job: job(),
        rank: rank.unsigned_abs(),
        ranks: ranks.unsigned_abs(),
        host: processor_name().map_err(|e| e.to_string())?,
        library: library.split([',', '\n']).next().unwrap_or_default().trim().into(),
        source,
        complete: false,
        unmatched_ends: 0,
        merged_entries: 0,
        counter_bytes: 0,
        interfaces: Vec::new(),
        connections: Vec::new(),
        call_sites: Vec::new(),
        regions: Vec::new(),
    };
    let elements = counters.ranks();
    let arguments = if matches!(counters, Counters::Calls) { watch::ARGUMENTS } else { 0 };
    let call_sites = if config.profile_call_sites { watch::CALL_SITES } else { 0 };
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    *place = Some(Profile {
        counters,
        recorder: Recorder::new(0.0),
        sites: Sites::default(),
        own_code: OwnCode::new(&maps, begin as fn(&str, &Config) -> Result<(), String> as usize),
        messages: vec![0; elements],
        bytes: vec![0; elements],
        folder,
        start: Instant::now(),
        before: interfaces::read(Path::new("/")),
        head,
    });
    RUNS.store(true, Relaxed);
    drop(place);
    watch::watch(watch::FILES | arguments | call_sites);
    if let Err(why) = signal::on(config.profile_signal, || with(|profile| profile.write(false))) {
        logger::warn_once(&format!("the profile is written at the end only: {why}"));
    }
    Ok(())
}

/// What the launcher calls the job, as Open MPI's and batch systems do.
fn job() -> String {
    let names = ["PMIX_NAMESPACE", "SLURM_JOB_ID", "PBS_JOBID"];
    names.iter().find_map(|name| std::env::var(name).ok()).unwrap_or_default()
}

/// Whether this is the first rank of its host, as Open MPI tells its processes; true if it does not.
fn is_first_of_host() -> bool {
    std::env::var("OMPI_COMM_WORLD_LOCAL_RANK").is_ok_and(|rank| rank == "0")
        || std::env::var_os("OMPI_COMM_WORLD_LOCAL_RANK").is_none()
}

/// Does something with the profile, if there is one. A panic of ours must not end the program.
fn with(act: impl FnOnce(&mut Profile)) {
    let mut place = PROFILE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(profile) = place.as_mut() {
        let _ = catch_unwind(AssertUnwindSafe(|| act(profile)));
    }
}

impl Profile {
    /// Reads the counters: what grew belongs to the innermost region.
    fn advance(&mut self) {
        for counted in Counted::ALL {
            if self.counters.read(counted, &mut self.messages, &mut self.bytes) {
                self.recorder.read(counted, &self.messages, &self.bytes);
            }
        }
        self.recorder.pass(self.now());
    }

    /// In seconds.
    fn now(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// A call of the program begins.
    fn call_begins(&mut self) {
        let site = self.sites.number(watch::caller(&self.own_code));
        if self.recorder.site() == Some(site) {
            self.recorder.pass(self.now());
        } else {
            self.advance();
        }
        self.recorder.call_begins(site);
    }

    /// It returns, having moved bytes of a file.
    fn call_ends(&mut self, files: FileTraffic) {
        self.recorder.call_ends(self.now());
        self.recorder.files(files);
    }

    /// Writes the file as of now; `complete` at the end.
    fn write(&mut self, complete: bool) {
        self.advance();
        let profile = RankProfile {
            complete,
            unmatched_ends: self.recorder.unmatched_ends,
            merged_entries: self.recorder.merged_entries,
            counter_bytes: self.recorder.counter_bytes(),
            interfaces: interfaces::since(&self.before, interfaces::read(Path::new("/"))),
            connections: connections::read(),
            call_sites: self.sites.written(),
            regions: self.recorder.regions(),
            ..self.head.clone()
        };
        if let Err(error) = profile.write(&self.folder) {
            give_up(&format!("{}: {error}", self.folder.display()));
        }
    }
}

/// Makes a call and notes what it moves; `moves` reads its arguments.
pub fn call(moves: impl FnOnce() -> Moves, next: impl FnOnce() -> c_int) -> c_int {
    let Some(watching) = Watching::begin() else { return next() };
    let moves = moves();
    let has_sites = watching.what & watch::CALL_SITES != 0;
    if has_sites {
        with(Profile::call_begins);
    }
    let code = next();
    let is_done = code == ffi::MPI_SUCCESS as c_int;
    if is_done && watching.what & watch::ARGUMENTS != 0 {
        watch::count(moves);
    }
    let files = if is_done { watch::files(moves) } else { FileTraffic::default() };
    if has_sites || !files.is_none() {
        with(|profile| profile.call_ends(files));
    }
    code
}

/// `MPI_Finalize`, before it is called.
pub fn finalize() {
    if !RUNS.swap(false, Relaxed) {
        return;
    }
    watch::watch(0);
    with(|profile| profile.write(true));
    let ended = PROFILE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(profile) = ended {
        profile.counters.close();
    }
}

/// `MPI_Pcontrol`: level 1 with a name begins a region, -1 ends it, or the innermost one if no name can be read. All other levels,
/// and 1 without a name, which MPI defines otherwise, do nothing.
///
/// # Safety
/// `name` may be anything, as a program need not pass a second argument; it is read only if it can be.
pub unsafe fn control(level: c_int, name: *const c_char) {
    if !RUNS.load(Relaxed) || (level != 1 && level != -1) {
        return;
    }
    let name = readable(name);
    if level == 1 && name.is_none() {
        return;
    }
    with(|profile| {
        profile.advance();
        match (level, &name) {
            (1, Some(name)) => profile.recorder.begin(name),
            (_, name) => profile.recorder.end(name.as_deref()),
        }
    });
}

/// The most bytes that the name of a region has.
pub(in crate::c_api) const LONGEST_NAME: usize = 128;

/// No page is smaller.
const PAGE: usize = 4096;

/// The text at an address that may be none: printable, not empty, and ended by a zero byte within [`LONGEST_NAME`] bytes.
fn readable(name: *const c_char) -> Option<String> {
    let mut bytes = [0u8; LONGEST_NAME + 1];
    let mut length = 0;
    // There may be no page behind a page.
    while length < bytes.len() && !bytes[..length].contains(&0) {
        let from = name.cast::<u8>().wrapping_add(length);
        let part = (bytes.len() - length).min(PAGE - from.addr() % PAGE);
        copy(from, &mut bytes[length..length + part])?;
        length += part;
    }
    let end = bytes[..length].iter().position(|byte| *byte == 0)?;
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    is_region_name(text).then(|| text.to_owned())
}

/// Whether a region may have this name.
pub(in crate::c_api) fn is_region_name(text: &str) -> bool {
    (1..=LONGEST_NAME).contains(&text.len()) && text.chars().all(|c| !c.is_control())
}

/// Copies memory that may not be there: through a pipe, as the kernel answers with an error where a load would end the program.
fn copy(from: *const u8, into: &mut [u8]) -> Option<()> {
    static PIPE: Mutex<Option<[c_int; 2]>> = Mutex::new(None);
    let mut pipe = PIPE.lock().unwrap_or_else(PoisonError::into_inner);
    if pipe.is_none() {
        let mut ends = [0; 2];
        // SAFETY: an out-parameter.
        let made = unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } == 0;
        *pipe = made.then_some(ends);
    }
    let [reading, writing] = (*pipe)?;
    // SAFETY: an address of the program's that the kernel checks; a buffer of this length. Nothing else is in the pipe, and no part is
    // longer than what a pipe takes at once.
    let copied = unsafe {
        let written = libc::write(writing, from.cast::<c_void>(), into.len());
        if written <= 0 { written } else { libc::read(reading, into.as_mut_ptr().cast::<c_void>(), into.len()) }
    };
    (usize::try_from(copied) == Ok(into.len())).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_are_read_and_nothing_else_is_touched() {
        assert_eq!(readable(c"solve step".as_ptr()), Some("solve step".into()));
        assert_eq!(readable(c"".as_ptr()), None);
        assert_eq!(readable(c"a\nb".as_ptr()), None);
        for nowhere in [0usize, 1, 0x10, usize::MAX, usize::MAX - 4096] {
            assert_eq!(readable(std::ptr::without_provenance(nowhere)), None);
        }
        let long = std::ffi::CString::new(vec![b'x'; LONGEST_NAME + 1]).unwrap();
        assert_eq!(readable(long.as_ptr()), None);
        let longest = std::ffi::CString::new(vec![b'x'; LONGEST_NAME]).unwrap();
        assert_eq!(readable(longest.as_ptr()).map(|name| name.len()), Some(LONGEST_NAME));
    }
}
