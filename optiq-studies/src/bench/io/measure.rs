//! The measurement, as every rank runs it.
//!
//! All methods run in turn in one job, the order rotating from repetition to repetition. A repetition counts from a barrier
//! until the last rank has returned. Each method of writing has its own file, which is emptied before its first,
//! untimed run; every rank reads its bytes back with MPI_File_read_at after that run and after the last one. Hints ask MPI's own
//! collective accesses to go through one rank on each I/O host, as all other methods here do, with a buffer of OPTIQ_IO_BUDGET as OPTIQ has
//! (ROMIO does so if host names are those of the topology; OMPIO ignores the hints).

use crate::bench::io::file::{File, alltoallv};
use crate::bench::io::result::{FileAccess, FileRatios, FileSide};
use crate::bench::timing;
use crate::quartiles::median_and_quartiles;
use mpi::collective::SystemOperation;
use mpi::ffi;
use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Root};
use optiq::Config;
use optiq::io::{Assignment, Extent, FileHandle, FileSession, Piece, Rounds, Servers, assign};
use optiq_lower::choices::Algorithm;
use optiq_lower::decide::Decision;
use optiq_lower::placement::Placement;
use optiq_net::Network;
use optiq_net::random::SplitMix64;
use optiq_transport::Rank;
use std::ffi::c_int;
use std::path::PathBuf;

/// A method of access, or of the exchange alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum By {
    OptiqWrite,
    DefaultWrite,
    BalancedWrite,
    MpiWrite,
    OptiqExchange,
    DefaultExchange,
    BalancedExchange,
    OptiqRead,
    MpiRead,
}

impl By {
    const ALL: [By; 9] = [
        By::OptiqWrite,
        By::DefaultWrite,
        By::BalancedWrite,
        By::MpiWrite,
        By::OptiqExchange,
        By::DefaultExchange,
        By::BalancedExchange,
        By::OptiqRead,
        By::MpiRead,
    ];

    fn name(self) -> &'static str {
        match self {
            By::OptiqWrite => "optiq_file_write_at_all",
            By::DefaultWrite => "mpi_alltoallv_default_and_write",
            By::BalancedWrite => "mpi_alltoallv_balanced_and_write",
            By::MpiWrite => "mpi_file_write_at_all",
            By::OptiqExchange => "optiq_aggregation_only",
            By::DefaultExchange => "mpi_alltoallv_default_only",
            By::BalancedExchange => "mpi_alltoallv_balanced_only",
            By::OptiqRead => "optiq_file_read_at_all",
            By::MpiRead => "mpi_file_read_at_all",
        }
    }

    /// Whether it has a file of its own.
    fn writes(self) -> bool {
        matches!(self, By::OptiqWrite | By::DefaultWrite | By::BalancedWrite | By::MpiWrite)
    }

    /// Whether it needs memory for all bytes at the I/O hosts.
    fn gathers(self) -> bool {
        !matches!(self, By::OptiqWrite | By::MpiWrite | By::OptiqRead | By::MpiRead)
    }
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct Request {
    /// The fewest bytes of a rank.
    pub least: u64,
    /// The most bytes of a rank; the number in between is random.
    pub most: u64,
    /// For the random numbers.
    pub seed: u64,
    /// Timed repetitions of each.
    pub repetitions: u32,
    /// Where files are written; rank 0's directory for temporary files if it is not given.
    pub folder: Option<PathBuf>,
    /// Move data over planned paths even where OPTIQ would leave it to plain MPI.
    pub force: bool,
    /// Leave out what needs memory for all bytes at the I/O hosts.
    pub files_only: bool,
}

/// All bytes in one exchange.
struct Exchange {
    send_counts: Vec<usize>,
    send_displacements: Vec<usize>,
    receive_counts: Vec<usize>,
    receive_displacements: Vec<usize>,
    receive: Vec<u8>,
    pieces: Vec<Piece>,
    /// On the fabric's own routes.
    link_bound_seconds: f64,
}

struct Bench<'a> {
    world: &'a SimpleCommunicator,
    session: &'a FileSession,
    mine: Extent,
    data: Vec<u8>,
    back: Vec<u8>,
    /// Balanced, and by default.
    exchanges: Option<[Exchange; 2]>,
    files: Vec<(By, File<'a>)>,
    /// What served OPTIQ's last write.
    decision: String,
}

/// What all measurements share.
struct Setting<'a> {
    world: &'a SimpleCommunicator,
    network: &'a Network,
    placement: &'a Placement,
    servers: &'a Servers,
    /// What each rank has of the file.
    extents: Vec<Extent>,
    me: Rank,
}

/// Measures; collective over the world. Only rank 0 returns the document, and tells `progress` what it does.
///
/// # Errors
/// One sentence, in which ranks may differ: the job must be ended then.
pub fn measure(
    world: &SimpleCommunicator,
    request: &Request,
    progress: &dyn Fn(String),
) -> Result<Option<FileAccess>, String> {
    let mut config = Config::read().usable().map_err(|error| error.to_string())?;
    config.strict = true;
    if config.topology.is_none() {
        return Err("OPTIQ_TOPOLOGY is not set; a network with I/O hosts is expected, such as torus:2x2,io=0+3".into());
    }
    if request.force {
        config.algorithm = Algorithm::Multipath;
    }
    let budget = config.io_budget;
    // SAFETY: a valid communicator, and the session is dropped before MPI is finalised.
    let session = unsafe { FileSession::new(world.as_raw(), config) }.map_err(|e| e.to_string())?;
    let setting = Setting::new(world, &session, request)?;
    let (balanced, balanced_bytes) = setting.rounds(Assignment::Balanced);
    let (default, default_bytes) = setting.rounds(Assignment::Default);
    let exchanges = match (balanced, default) {
        (Some(a), Some(b)) if a.count() == 1 && b.count() == 1 && !request.files_only => {
            Some([setting.exchange(&a)?, setting.exchange(&b)?])
        }
        _ => None,
    };
    let bounds = exchanges.as_ref().map(|x| [x[0].link_bound_seconds, x[1].link_bound_seconds]);
    let methods: Vec<By> = By::ALL.into_iter().filter(|by| exchanges.is_some() || !by.gathers()).collect();
    let files = setting.files(&methods, request.folder.clone(), budget)?;
    let mine = setting.extents[setting.me.index()];
    let data = contents(request.seed, setting.me, mine.bytes as usize);
    let back = vec![0; data.len()];
    let mut bench = Bench { world, session: &session, mine, data, back, exchanges, files, decision: String::new() };
    let told: &dyn Fn(String) = if setting.me == Rank(0) { progress } else { &drop };
    let times = bench.all(&methods, request.repetitions as usize, told)?;
    let peak_buffer_bytes = greatest(world, session.peak_buffer_bytes());
    let peak_resident_bytes = greatest(world, resident());
    drop(bench);
    if setting.me != Rank(0) {
        return Ok(None);
    }
    let total_bytes: u64 = setting.extents.iter().map(|e| e.bytes).sum();
    let sides = sides(times.seconds, total_bytes, times.optiq_bound, bounds);
    let (network, placement) = (setting.network, setting.placement);
    Ok(Some(FileAccess {
        topology: network.spec().to_string(),
        io_hosts: setting.server_names(),
        ranks: placement.len(),
        hosts: placement.can_forward().iter().filter(|&&there| there).count(),
        total_bytes,
        least_bytes: request.least,
        most_bytes: request.most,
        seed: request.seed,
        repetitions: request.repetitions as usize,
        mpi: library(),
        io_component: std::env::var("OMPI_MCA_io").ok(),
        io_budget_bytes: budget,
        collective_buffer_bytes: budget,
        peak_buffer_bytes,
        peak_resident_bytes,
        decision: times.decision,
        balanced_bytes,
        default_bytes,
        ratios: ratios(&sides),
        sides,
        verified: true,
    }))
}

/// The name of the MPI library.
fn library() -> String {
    let version = mpi::environment::library_version().unwrap_or_default();
    version.split([',', '\n']).next().unwrap_or_default().into()
}

impl<'a> Setting<'a> {
    fn new(world: &'a SimpleCommunicator, session: &'a FileSession, request: &Request) -> Result<Self, String> {
        let missing = || "the topology marks no I/O hosts on which a rank runs (io=HOST+HOST, or OPTIQ_IO_HOSTS)";
        let servers = session.servers().ok_or_else(missing)?;
        let inner = session.session();
        let (network, placement) =
            inner.network().zip(inner.placement()).ok_or("the network of OPTIQ_TOPOLOGY cannot be used here")?;
        let me = Rank(world.rank() as u32);
        let mut random = SplitMix64::new(request.seed);
        let mut start = 0;
        let extents: Vec<Extent> = (0..world.size())
            .map(|_| {
                let bytes = request.least + random.below(request.most - request.least + 1);
                start += bytes;
                Extent { start: start - bytes, bytes }
            })
            .collect();
        if extents[me.index()].bytes > i32::MAX as u64 {
            return Err(format!("a rank has {} bytes; MPI counts to 2^31 - 1", extents[me.index()].bytes));
        }
        Ok(Self { world, network, placement, servers, extents, me })
    }

    /// What goes to which I/O host by a rule, and how many bytes each has.
    fn rounds(&self, rule: Assignment) -> (Option<Rounds>, Vec<u64>) {
        let shares = assign(self.servers, self.placement, &self.extents, rule, 1);
        let bytes = shares.iter().map(|s| s.iter().map(|s| s.extent.bytes).sum()).collect::<Vec<u64>>();
        (Rounds::new(&shares, 1, u64::MAX, |rank| self.placement.host(rank)), bytes)
    }

    /// This rank's part of a round.
    fn exchange(&self, rounds: &Rounds) -> Result<Exchange, String> {
        let mine = self.extents[self.me.index()];
        let mut x = Exchange::new(self.world.size() as usize);
        let mut demands = Vec::new();
        for (number, server) in self.servers.list().iter().enumerate() {
            for m in rounds.messages(number, 0) {
                demands.push((self.placement.host(m.rank), server.host, m.extent.bytes));
                if m.rank == self.me {
                    x.send_counts[server.rank.index()] = m.extent.bytes as usize;
                    x.send_displacements[server.rank.index()] = (m.extent.start - mine.start) as usize;
                }
                if server.rank == self.me {
                    x.receive_counts[m.rank.index()] = m.extent.bytes as usize;
                    x.receive_displacements[m.rank.index()] = m.at as usize;
                }
            }
            if server.rank == self.me {
                x.pieces = rounds.pieces(number, 0);
                x.receive = vec![0; rounds.largest(number) as usize];
            }
        }
        let load = self.network.route_load(demands.into_iter().filter(|d| d.0 != d.1)).map_err(|e| e.to_string())?;
        x.link_bound_seconds = load.statistics(self.network).congestion_seconds;
        Ok(x)
    }

    fn server_names(&self) -> Vec<String> {
        self.servers.list().iter().map(|s| self.network.name(s.host).to_string()).collect()
    }

    /// A file for each method of writing. MPI's aggregators may have as large a buffer as OPTIQ's.
    fn files(&self, methods: &[By], folder: Option<PathBuf>, buffer_bytes: u64) -> Result<Vec<(By, File<'a>)>, String> {
        let prefix = prefix(self.world, folder);
        // On the machines that the lab emulates, only I/O hosts reach the storage; here all hosts do. Hints therefore ask for
        // MPI's aggregators on OPTIQ's I/O hosts, if hosts have the topology's names: ROMIO aborts the job if there are no
        // such hosts.
        let name = self.network.name(self.placement.host(self.me));
        let named = mpi::environment::processor_name().is_ok_and(|processor| processor == name);
        let names = match greatest(self.world, u64::from(!named)) {
            0 => self.server_names(),
            _ => Vec::new(),
        };
        let file = |by: &By| {
            let path = PathBuf::from(format!("{prefix}-{}", by.name()));
            Ok((*by, File::create(self.world, &path, (&names, buffer_bytes))?))
        };
        methods.iter().filter(|by| by.writes()).map(file).collect()
    }
}

/// What the repetitions took, and what served OPTIQ.
struct Times {
    seconds: Vec<(By, Vec<f64>)>,
    /// The link bound of OPTIQ's planned paths, if they served an exchange.
    optiq_bound: Option<f64>,
    /// What served OPTIQ's last write.
    decision: String,
}

/// Each method with its median, its quartiles and its link bound; `bounds` are those of the balanced and of the default exchange.
fn sides(
    times: Vec<(By, Vec<f64>)>,
    total_bytes: u64,
    optiq_bound: Option<f64>,
    bounds: Option<[f64; 2]>,
) -> Vec<FileSide> {
    let side = |(by, seconds): (By, Vec<f64>)| {
        let (median_seconds, quartiles) = median_and_quartiles(&seconds);
        let link_bound_seconds = match by {
            By::OptiqWrite | By::OptiqExchange | By::OptiqRead => optiq_bound,
            By::DefaultWrite | By::DefaultExchange => bounds.map(|b| b[1]),
            By::BalancedWrite | By::BalancedExchange => bounds.map(|b| b[0]),
            By::MpiWrite | By::MpiRead => None,
        };
        let bytes_per_second = total_bytes as f64 / median_seconds;
        FileSide { name: by.name(), seconds, median_seconds, quartiles, link_bound_seconds, bytes_per_second }
    };
    times.into_iter().map(side).collect()
}

fn ratios(sides: &[FileSide]) -> FileRatios {
    let of = |by: By| sides.iter().find(|s| s.name == by.name()).map(|s| s.median_seconds);
    let ratio = |by: By, to: By| of(by).zip(of(to)).map(|(a, b)| a / b);
    FileRatios {
        over_mpi_alltoallv_default: ratio(By::DefaultWrite, By::OptiqWrite),
        over_mpi_alltoallv_balanced: ratio(By::BalancedWrite, By::OptiqWrite),
        over_mpi_file_write_at_all: ratio(By::MpiWrite, By::OptiqWrite).unwrap_or(f64::NAN),
        over_mpi_file_read_at_all: ratio(By::MpiRead, By::OptiqRead).unwrap_or(f64::NAN),
        aggregation_over_mpi_alltoallv_default: ratio(By::DefaultExchange, By::OptiqExchange),
        aggregation_over_mpi_alltoallv_balanced: ratio(By::BalancedExchange, By::OptiqExchange),
    }
}

impl Exchange {
    fn new(ranks: usize) -> Self {
        let zeros = || vec![0; ranks];
        Self {
            send_counts: zeros(),
            send_displacements: zeros(),
            receive_counts: zeros(),
            receive_displacements: zeros(),
            receive: Vec::new(),
            pieces: Vec::new(),
            link_bound_seconds: 0.0,
        }
    }

    /// By MPI; all counts fit its integers.
    fn by_mpi(&mut self, world: &SimpleCommunicator, data: &[u8]) -> Result<(), String> {
        let narrow = |list: &[usize]| list.iter().map(|&x| x as c_int).collect::<Vec<_>>();
        let (a, b) = (narrow(&self.send_counts), narrow(&self.send_displacements));
        let (c, d) = (narrow(&self.receive_counts), narrow(&self.receive_displacements));
        alltoallv(world, (data, &a, &b), (&mut self.receive, &c, &d))
    }

    fn write(&self, file: &File<'_>) -> Result<(), String> {
        let bytes = |p: &Piece| &self.receive[p.at as usize..(p.at + p.extent.bytes) as usize];
        self.pieces.iter().try_for_each(|p| file.write_at(p.extent.start, bytes(p)))
    }
}

impl Bench<'_> {
    /// All methods in turn, once untimed and then `repetitions` times.
    fn all(&mut self, methods: &[By], repetitions: usize, progress: &dyn Fn(String)) -> Result<Times, String> {
        let mut times = Times {
            seconds: methods.iter().map(|&by| (by, Vec::new())).collect(),
            optiq_bound: None,
            decision: String::new(),
        };
        for repetition in 0..=repetitions {
            progress(format!("repetition {repetition} of {repetitions}"));
            for number in 0..methods.len() {
                // Writing comes before reading what was written, in the first and untimed run.
                let turn = if repetition == 0 { number } else { (number + repetition) % methods.len() };
                let by = methods[turn];
                let look = repetition == 0 || repetition == repetitions;
                let seconds = self.once(by, repetition == 0, look)?;
                if repetition > 0 {
                    times.seconds[turn].1.push(seconds);
                }
                match by {
                    By::OptiqWrite => times.decision = self.decision.clone(),
                    By::OptiqExchange => {
                        if let Decision::Multipath { congestion_seconds, .. } = self.session.session().planned() {
                            times.optiq_bound = Some(congestion_seconds);
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(times)
    }

    /// Seconds of one run, whose bytes are checked afterwards.
    fn once(&mut self, by: By, first: bool, look: bool) -> Result<f64, String> {
        let at = self.files.iter().position(|f| f.0 == by).unwrap_or(0);
        if first && by.writes() {
            self.files[at].1.truncate()?;
        }
        if matches!(by, By::OptiqRead | By::MpiRead) {
            self.back.fill(0);
        }
        let longest = timing::seconds(self.world, || self.run(by, at))?;
        let wrong = || format!("{} delivered wrong bytes of rank {}", by.name(), self.world.rank());
        if matches!(by, By::OptiqRead | By::MpiRead) && self.back != self.data {
            return Err(wrong());
        }
        if look && by.writes() && !self.files[at].1.holds(self.mine.start, &self.data)? {
            return Err(wrong());
        }
        Ok(longest)
    }

    fn run(&mut self, by: By, at: usize) -> Result<(), String> {
        let file = &self.files[at].1;
        let exchanges = self.exchanges.as_mut();
        match (by, exchanges) {
            (By::OptiqWrite, _) => {
                let (offset, count) = (self.mine.start as ffi::MPI_Offset, self.data.len() as c_int);
                // SAFETY: an open file, and a buffer of `count` bytes.
                let done = unsafe {
                    let (byte, ignore) = (ffi::RSMPI_UINT8_T, ffi::RSMPI_STATUS_IGNORE);
                    let file = FileHandle(file.handle);
                    self.session.write_at_all(file, offset, self.data.as_ptr().cast(), count, byte, ignore)
                };
                self.decision = done.map_err(|e| e.to_string())?.decision.to_string();
                Ok(())
            }
            (By::OptiqRead, _) => {
                let (offset, count) = (self.mine.start as ffi::MPI_Offset, self.back.len() as c_int);
                // SAFETY: an open file, and a buffer of `count` bytes.
                let done = unsafe {
                    let (byte, ignore) = (ffi::RSMPI_UINT8_T, ffi::RSMPI_STATUS_IGNORE);
                    let file = FileHandle(file.handle);
                    self.session.read_at_all(file, offset, self.back.as_mut_ptr().cast(), count, byte, ignore)
                };
                done.map(drop).map_err(|e| e.to_string())
            }
            (By::MpiWrite, _) => file.write_at_all(self.mine.start, &self.data),
            (By::MpiRead, _) => file.read_at_all(self.mine.start, &mut self.back),
            (By::OptiqExchange, Some([x, _])) => {
                let (a, b, c, d) = (&x.send_counts, &x.send_displacements, &x.receive_counts, &x.receive_displacements);
                let moved = self.session.session().alltoallv(&self.data, a, b, &mut x.receive, c, d);
                moved.map_err(|e| e.to_string())
            }
            (By::BalancedExchange | By::BalancedWrite, Some([x, _]))
            | (By::DefaultExchange | By::DefaultWrite, Some([_, x])) => {
                x.by_mpi(self.world, &self.data)?;
                if by.writes() { x.write(file) } else { Ok(()) }
            }
            (_, None) => Ok(()),
        }
    }
}

/// The bytes that a rank writes.
fn contents(seed: u64, rank: Rank, bytes: usize) -> Vec<u8> {
    let mut random = SplitMix64::new(seed ^ (u64::from(rank.0) + 1) << 32);
    let mut data = Vec::with_capacity(bytes + 8);
    while data.len() < bytes {
        data.extend_from_slice(&random.next_u64().to_le_bytes());
    }
    data.truncate(bytes);
    data
}

/// What this run's files begin with, as rank 0 chooses; the same on all ranks.
fn prefix(world: &SimpleCommunicator, asked: Option<PathBuf>) -> String {
    let path = asked.unwrap_or_else(std::env::temp_dir).join(format!("optiq-bench-io-{}", std::process::id()));
    let mut path = path.to_string_lossy().into_owned().into_bytes();
    let mut length = path.len() as u64;
    let root = world.process_at_rank(0);
    root.broadcast_into(&mut length);
    path.resize(length as usize, 0);
    root.broadcast_into(&mut path[..]);
    String::from_utf8_lossy(&path).into_owned()
}

fn greatest(world: &SimpleCommunicator, mine: u64) -> u64 {
    let mut all = mine;
    world.all_reduce_into(&mine, &mut all, SystemOperation::max());
    all
}

/// The most resident memory so far; 0 where /proc does not say.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kib = line.and_then(|l| l.trim().strip_suffix("kB")).and_then(|n| n.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
