//! What a session knows from the start: the network, where the ranks are, and which MPI calls will carry chunks.

use super::calibration::{Calibrated, Shape, recalled, recalled_words};
use super::call_stack;
use super::channels::{Channels, OpenTransport, open_two_sided};
use super::guess::{Guess, LocalSetup};
use super::job_surroundings::JobSurroundings;
use super::learning::Learning;
use super::load::LoadFollower;
use super::parts::Parts;
use crate::config::Config;
use crate::discovery::Found;
use crate::error::Error;
use crate::given_transport;
use crate::logger;
use optiq_lower::choices::{Algorithm, TransportChoice};
use optiq_lower::machine::MachineRecord;
use optiq_lower::model::CostModel;
use optiq_lower::placement::Placement;
use optiq_lower::transport_rule::transport_rule;
use optiq_net::fingerprint::Fingerprint;
use optiq_net::spec::is_auto;
use optiq_net::{Background, Network};
use optiq_trace::postcards::{RankHead, RankOptions, RankRecorder};
use optiq_trace::{TraceOptions, Tracer};
use optiq_transport::mpi::{Communicator, HostMemory, OneSided, Pull};
use optiq_transport::{Capabilities, Marked, Rank, Traced, Transport};
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// Network, placement and back end of a session.
pub(super) struct Fabric {
    pub(super) network: Arc<Network>,
    pub(super) placement: Placement,
    pub(super) channels: RefCell<Channels>,
    /// With `OPTIQ_TRACE`.
    pub(super) tracer: Option<Tracer>,
    /// The same on all ranks.
    pub(super) model: CostModel,
    /// What an agreement takes as a rule, in seconds: the shortest, which `model` has, takes less where ranks that come last do not wait.
    /// The same on all ranks.
    pub(super) usual_agreement_seconds: f64,
    /// Where hosts have several ranks and those share memory.
    pub(super) shared: Option<RefCell<HostMemory>>,
    /// Gathered exchanges so far: they use the two halves of the shared memory in turn.
    pub(super) gathered: Cell<u64>,
    pub(super) learning: Learning,
    /// Some rank shares its processor; the same on all ranks.
    pub(super) shared_processors: bool,
    /// Whether agreements are patient ([`Reduction::new`]); the same on all ranks.
    pub(super) patient: bool,
    /// With `OPTIQ_BACKGROUND=measure`.
    pub(super) load: Option<LoadFollower>,
}

/// What all ranks found to be so.
struct AgreedSetup {
    /// Some rank shares its processor.
    shared_processors: bool,
    /// All are to be traced.
    traced: bool,
    /// All are to leave postcards, of one chunk in this many.
    postcards_every: Option<u32>,
    /// What all know of agreements, from another communicator of this shape.
    recalled: Option<Calibrated>,
}

impl Fabric {
    pub(super) fn transport_name(&self) -> &'static str {
        self.capabilities().name
    }

    /// What the transports can do.
    pub(super) fn capabilities(&self) -> Capabilities {
        self.channels.borrow().capabilities()
    }

    /// The bytes of a host below which not even a look at the demands would be won back.
    pub(super) fn least_bytes(&self) -> u64 {
        self.model.least_bytes(self.network.unit_capacity())
    }

    /// The staging area of the next gathered exchange: two of them are used in turn, so that a rank that is ahead writes
    /// nothing that others still read. All have left the one before last, since all have entered the last one.
    pub(super) fn next_area(&self, shared: &HostMemory) -> *mut u8 {
        let number = self.gathered.get();
        self.gathered.set(number + 1);
        shared.base().wrapping_add((number % 2 * (shared.bytes() / 2)) as usize)
    }

    /// Collective. The inner error is why calls go to plain MPI; it is the same way on all ranks.
    pub(super) fn new(comm: &Rc<Communicator>, config: &Config) -> Result<Result<Self, String>, Error> {
        let mut parts = Parts::begin();
        let surroundings = JobSurroundings::gather(comm, config)?;
        parts.end("names");
        let local = Self::local(&surroundings, config, &comm.library_version()?, comm.rank() == Rank(0));
        // 1: usable, 0: plain MPI was asked for, -1: wrong. The fingerprints must be the same everywhere.
        let (state, print, placed) = match &local {
            Ok(Some((network, placement, _, guess))) => {
                let print = guess.as_ref().map_or(network.fingerprint(), |guess| guess.print(network.fingerprint()));
                (1, print.0 as i64, placement.fingerprint().0 as i64)
            }
            Ok(None) => (0, 0, 0),
            Err(_) => (-1, 0, 0),
        };
        let settings = config.agreed_settings() ^ given_transport::number();
        let [print, placed, settings] = [print, placed, settings].map(|word| word.max(i64::MIN + 1));
        let traced = i64::from(config.trace.is_some());
        let alone = i64::from(!comm.shares_processor());
        let every = config.postcards.as_ref().map_or(0, |_| i64::from(config.postcards_every));
        let shape = local.as_ref().ok().and_then(|local| local.as_ref()).map(|(_, placement, ..)| Shape::of(placement));
        let [known, least, usual, patient, impatient] = recalled_words(shape);
        let mut agreed = [
            state, print, -print, settings, -settings, traced, -traced, placed, -placed, alone, every, -every, known,
            least, usual, patient, impatient,
        ];
        parts.end("network and placement");
        comm.all_min(&mut agreed)?;
        parts.end("agreement");
        let [
            state,
            print,
            print_max,
            settings,
            settings_max,
            traced,
            traced_max,
            placed,
            placed_max,
            alone,
            every,
            every_max,
            recalled_minima @ ..,
        ] = agreed;
        let (same_network, same_settings) = (print == -print_max, settings == -settings_max);
        let same = same_network && same_settings && placed == -placed_max;
        let wrong = match local {
            Ok(Some((network, placement, model, guess))) if state == 1 && same => {
                if traced != -traced_max && comm.rank() == Rank(0) {
                    logger::warn_once("OPTIQ_TRACE is not set on all ranks; nothing is traced");
                }
                if every != -every_max && comm.rank() == Rank(0) {
                    logger::warn_once(
                        "OPTIQ_POSTCARDS and OPTIQ_POSTCARDS_EVERY are not the same on all ranks; nothing is marked",
                    );
                }
                let postcards_every = u32::try_from(every).ok().filter(|&n| n > 0 && every == -every_max);
                let (shared_processors, traced) = (alone == 0, traced == 1);
                let recalled = recalled(recalled_minima, comm.size());
                let agreed = AgreedSetup { shared_processors, traced, postcards_every, recalled };
                return Self::on(comm, config, (network, placement, model, guess), agreed, parts).map(Ok);
            }
            Ok(None) if state == 0 => return Ok(Err(asked_for(config))),
            Err(reason) => reason,
            Ok(_) if state == 1 && !same_settings => {
                "OPTIQ_* options that all ranks must share are not the same on all ranks".to_string()
            }
            Ok(_) if state == 1 && !same_network => {
                "OPTIQ_TOPOLOGY, less OPTIQ_BACKGROUND, is not the same network on all ranks".to_string()
            }
            Ok(_) if state == 1 => {
                "files of the topology or of OPTIQ_PLACEMENT put ranks on other hosts on other ranks".to_string()
            }
            Ok(_) => "another rank cannot use its configuration".to_string(),
        };
        if config.strict {
            return Err(Error::Setup(wrong));
        }
        if comm.rank() == Rank(0) {
            logger::warn_once(&format!("{wrong}; all calls go to plain MPI"));
        }
        Ok(Err(wrong))
    }

    /// The rest, once all ranks agree that they have the same network and placement; collective.
    fn on(
        comm: &Rc<Communicator>,
        config: &Config,
        (network, placement, model, guess): LocalSetup,
        agreed: AgreedSetup,
        mut parts: Parts,
    ) -> Result<Self, Error> {
        let network = match guess {
            Some(guess) => guess.settle(comm, network)?,
            None => network,
        };
        parts.end("rates");
        let (model, elsewhere) = model.unzip();
        if let Some(note) = elsewhere.flatten().filter(|_| comm.rank() == Rank(0)) {
            logger::warn_once(&format!("OPTIQ_CALIBRATION: {note}"));
        }
        if comm.rank() == Rank(0) {
            network.warnings().into_iter().chain(placement.note()).for_each(|note| logger::warn_once(&note));
            log::info!("positions of {} ranks are known by {}", placement.len(), placement.provenance());
        }
        let (transport, open) = back_end(comm, config)?;
        // A trace, and postcards, tell of one exchange at a time.
        let open = open.filter(|_| !agreed.traced && agreed.postcards_every.is_none());
        let (transport, tracer) = watch(comm, config, &agreed, transport)?;
        let channels = RefCell::new(Channels::new(transport, open));
        parts.end("transport");
        let calibrated = match (model, agreed.recalled) {
            (Some(model), _) => Calibrated::of_file(comm, model, agreed.shared_processors)?,
            (None, Some(recalled)) => recalled,
            (None, None) => Calibrated::measure(comm, Shape::of(&placement), agreed.shared_processors)?,
        };
        let Calibrated { model, usual_agreement_seconds, patient } = calibrated;
        parts.end("cost model");
        let shared = shared_memory(comm, &placement)?.map(RefCell::new);
        parts.end("shared memory");
        let learning = Learning::new(comm, config, &network)?;
        if comm.rank() == Rank(0) {
            parts.log();
        }
        let gathered = Cell::new(0);
        let load = config.measures_background().then(|| LoadFollower::new(&network, comm.rank(), config));
        let shared_processors = agreed.shared_processors;
        Ok(Self {
            network,
            placement,
            channels,
            tracer,
            model,
            usual_agreement_seconds,
            shared,
            gathered,
            learning,
            shared_processors,
            patient,
            load,
        })
    }

    /// What this rank makes of its configuration: a network, a placement, and the cost model if a file has it; nothing;
    /// or a sentence.
    fn local(
        surroundings: &JobSurroundings,
        config: &Config,
        mpi_library: &str,
        speaks: bool,
    ) -> Result<Option<LocalSetup>, String> {
        if config.topology.is_none() || config.algorithm == Algorithm::Mpi {
            return Ok(None);
        }
        let mut network = match surroundings.discover(config, speaks)? {
            Found::Hosts(hosts) => return Guess::local(hosts, config, mpi_library),
            Found::Network(network, _) => network,
        };
        // What others use of the links does not make it another network to a calibration file.
        let file = config.calibration.as_deref().map(|file| (file, network.fingerprint()));
        if let Some(file) = config.background_file() {
            let background = Background::from_file(Path::new(file));
            let left = background.and_then(|background| Arc::unwrap_or_clone(network).with_background(&background));
            network = left.map(Arc::new).map_err(|e| format!("OPTIQ_BACKGROUND: {e}"))?;
        }
        let placement = Placement::new(&network, &surroundings.processors(), &config.placement)?;
        let model = file.map(|(file, network)| model_of_file(file, network, mpi_library)).transpose()?;
        Ok(Some((network, placement, model, None)))
    }
}

/// The cost model of a calibration file on this network, and a sentence if it was measured elsewhere.
fn model_of_file(file: &str, network: Fingerprint, mpi_library: &str) -> Result<(CostModel, Option<String>), String> {
    let record = MachineRecord::read(Path::new(file)).map_err(|e| format!("OPTIQ_CALIBRATION: {e}"))?;
    let (model, note) = record.model_on(network, Some(mpi_library));
    let note = note.map(|note| format!("calibration file {file}: {note}"));
    log::debug!("cost model of calibration file {file}: {}", model.to_string().trim_end().replace('\n', ", "));
    Ok((model, note))
}

/// Wraps the transport if all ranks ask for a trace or for postcards; collective. A rank that cannot write says so and goes on without.
fn watch(
    comm: &Communicator,
    config: &Config,
    agreed: &AgreedSetup,
    transport: Box<dyn Transport>,
) -> Result<(Box<dyn Transport>, Option<Tracer>), Error> {
    let trace = config.trace.as_ref().filter(|_| agreed.traced);
    let postcards = config.postcards.as_ref().zip(agreed.postcards_every);
    if trace.is_none() && postcards.is_none() {
        return Ok((transport, None));
    }
    // Postcards have the number only: their clocks are estimated from themselves.
    let (clock, session) = comm.align()?;
    let transport = match postcards {
        Some((directory, every)) => marked(comm, directory, every, session, transport)?,
        None => transport,
    };
    let Some(directory) = trace else { return Ok((transport, None)) };
    let (directory, events) = (PathBuf::from(directory), config.trace_events);
    let options = TraceOptions { directory, events, session, rank: comm.rank(), ranks: comm.size(), clock };
    match Tracer::create(&options, transport.name()) {
        Ok(tracer) => Ok((Box::new(Traced::new(transport, tracer.clone())), Some(tracer))),
        Err(error) => {
            log::warn!("rank {} is not traced: OPTIQ_TRACE: {error}", comm.rank());
            Ok((transport, None))
        }
    }
}

/// Has this rank leave postcards of one chunk in `every`.
fn marked(
    comm: &Communicator,
    directory: &str,
    every: u32,
    session: u64,
    transport: Box<dyn Transport>,
) -> Result<Box<dyn Transport>, Error> {
    let head = RankHead { session, rank: comm.rank().0, ranks: comm.size(), host: comm.processor_name()? };
    let directory = PathBuf::from(directory);
    let (call_stack, mappings) = (call_stack::addresses, call_stack::mappings);
    match RankRecorder::create(RankOptions { directory, every, head, call_stack, mappings }) {
        Ok(recorder) => Ok(Box::new(Marked::new(transport, recorder))),
        Err(error) => {
            log::warn!("rank {} leaves no postcards: OPTIQ_POSTCARDS: {error}", comm.rank());
            Ok(transport)
        }
    }
}

/// Memory for gathered exchanges, if any host has several ranks.
fn shared_memory(comm: &Communicator, placement: &Placement) -> Result<Option<HostMemory>, Error> {
    let mut ranks = (0..placement.len() as u32).map(Rank);
    if !ranks.any(|r| placement.ranks(placement.host(r)).len() > 1) {
        return Ok(None);
    }
    let memory = HostMemory::new(comm, placement.host(comm.rank()).0)?;
    if memory.is_none() && comm.rank() == Rank(0) {
        log::info!("ranks of a host do not share memory; their messages are not gathered");
    }
    Ok(memory)
}

fn asked_for(config: &Config) -> String {
    match (&config.rejected, config.algorithm) {
        (Some(rejected), _) => rejected.clone(),
        (None, Algorithm::Mpi) => "OPTIQ_ALGORITHM=mpi".into(),
        _ if config.topology.as_deref().is_some_and(is_auto) => {
            "OPTIQ_TOPOLOGY=auto, and all ranks are on one host, so that nothing crosses a network".into()
        }
        _ => "OPTIQ_TOPOLOGY is not set, so nothing is known of the network".into(),
    }
}

/// What the program gives, what the user asks for, or the rule for this MPI library; two-sided where windows cannot be had. And what makes
/// another one, where an exchange can begin and end on it without waiting for all ranks, as it does not where there are windows.
fn back_end(comm: &Rc<Communicator>, config: &Config) -> Result<(Box<dyn Transport>, Option<OpenTransport>), Error> {
    if let Some(transport) = given_transport::connected(comm, config.strict)? {
        return Ok((transport, None));
    }
    let choice = match config.transport {
        TransportChoice::Auto => {
            let version = comm.library_version()?;
            let rule = transport_rule(&version);
            if comm.rank() == Rank(0) {
                let library = version.split([',', '\n']).next().unwrap_or_default();
                log::info!("{library}: chunks travel {}, because {}", rule.choice, rule.reason);
            }
            rule.choice
        }
        asked => asked,
    };
    if matches!(choice, TransportChoice::OneSided | TransportChoice::Pull) {
        let made: Result<Box<dyn Transport>, _> = match choice {
            TransportChoice::Pull => Pull::new(Rc::clone(comm)).map(|transport| Box::new(transport) as _),
            _ => OneSided::new(Rc::clone(comm)).map(|transport| Box::new(transport) as _),
        };
        match made {
            Ok(transport) => return Ok((transport, None)),
            Err(e) if comm.rank() == Rank(0) => {
                logger::warn_once(&format!("one-sided transport cannot be had ({e}); using two-sided"));
            }
            Err(_) => {}
        }
    }
    Ok((open_two_sided(Rc::clone(comm))?, Some(open_two_sided)))
}
