//! The topology as programs ask for it (thesis Table IV), and path searching on it.

use super::handles::{HandleKind, Handles, place, write};
use super::jobs::{JOBS, JobList};
use super::message::guard;
use super::sessions::Sessions;
use super::settings::string;
use crate::error::Error;
use optiq_lower::placement::Placement;
use optiq_net::{Grid, Network};
use optiq_solver::pipeline::PlanOptions;
use optiq_solver::planner::PlannerName;
use optiq_transport::Rank;
use optiq_transport::mpi::ffi;
use std::ffi::{c_char, c_int};
use std::path::Path;
use std::sync::Arc;

/// A communicator's network: its shape, and which node each rank is on. 0 is none.
pub type Topology = u64;

/// Path searching on a topology. 0 is none.
pub type Algorithms = u64;

/// How `optiq_alg_search_heu` chooses paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Search {
    /// The fabric's own routes.
    Direct = 0,
    /// Heuristic 1 of the thesis (5.3.1).
    Heu1 = 1,
    /// Heuristic 2 of the thesis (5.3.2).
    Heu2 = 2,
    /// The linear program of the thesis (5.4.1); not in every build.
    Lp = 3,
    /// OPTIQ's own planner, the default elsewhere; adds paths of its own to those that are given.
    Optimal = 4,
}

impl Search {
    const ALL: [(Search, PlannerName); 5] = [
        (Search::Direct, PlannerName::Direct),
        (Search::Heu1, PlannerName::Heuristic1),
        (Search::Heu2, PlannerName::Heuristic2),
        (Search::Lp, PlannerName::LinearProgram),
        (Search::Optimal, PlannerName::Optimal),
    ];
}

/// What a topology handle stands for.
#[derive(Clone)]
pub(super) struct PlacedTopology {
    pub(super) network: Arc<Network>,
    pub(super) placement: Arc<Placement>,
    rank: Rank,
}

pub(super) static TOPOLOGIES: Handles<PlacedTopology> = Handles::new(HandleKind::Topology);
static ALGORITHMS: Handles<PlacedTopology> = Handles::new(HandleKind::Algorithms);

/// Drops what the program forgot to free.
pub(super) fn forget() {
    TOPOLOGIES.forget();
    ALGORITHMS.forget();
}

impl PlacedTopology {
    fn grid(&self) -> Result<&Grid, Error> {
        let none = || {
            let spec = self.network.spec();
            Error::Argument(format!("the topology {spec} is neither a torus nor a mesh, so nodes have no coordinates"))
        };
        self.network.geometry().grid().ok_or_else(none)
    }
}

/// The topology of a communicator: the network of the option `topology`, and the nodes that its ranks are on. Collective
/// over `comm`. Since 0.1.
///
/// Returns 0 or a status code, and in `topology` a handle that `optiq_topology_finalize` frees (0 after an error). Without a
/// network that is an error.
///
/// # Safety
/// A valid communicator; `topology` must be NULL or valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_topology_init(comm: ffi::MPI_Comm, topology: *mut Topology) -> c_int {
    guard(|| {
        // SAFETY: by this function's contract.
        unsafe { place(topology, "topology")? };
        let session = Sessions::intra(comm, "optiq_topology_init")?;
        let session = session.lock();
        let (network, placement) = session.shared_network().map_err(Error::Setup)?;
        let known = PlacedTopology { network, placement: Arc::new(placement), rank: session.rank() };
        // SAFETY: `place` has written there.
        unsafe { TOPOLOGIES.hold(known, topology) };
        Ok(())
    })
}

/// Frees a topology and sets the handle to 0. Local. Since 0.1.
///
/// Returns 0 or a status code.
///
/// # Safety
/// `topology` must be NULL or valid for reading and writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_topology_finalize(topology: *mut Topology) -> c_int {
    // SAFETY: by this function's contract.
    guard(|| unsafe { TOPOLOGIES.free(topology, "optiq_topology_finalize") })
}

/// Copies one number per dimension, as many as there is room for, and the number of dimensions.
///
/// # Safety
/// `values` must be NULL or valid for writing `capacity` ints, `dimensions` NULL or valid for writing.
unsafe fn per_dimension(
    list: impl ExactSizeIterator<Item = u32>,
    capacity: c_int,
    values: *mut c_int,
    dimensions: *mut c_int,
    what: &str,
) -> Result<(), Error> {
    let count = list.len();
    if capacity < 0 {
        return Err(Error::Argument(format!("there is room for {capacity} {what}; it must not be negative")));
    }
    if values.is_null() && capacity > 0 {
        return Err(Error::Argument(format!("the place for {what} is NULL")));
    }
    // SAFETY: by this function's contract.
    unsafe {
        list.take(capacity as usize).enumerate().for_each(|(i, value)| *values.add(i) = value as c_int);
        if let Some(dimensions) = dimensions.as_mut() {
            *dimensions = count as c_int;
        }
    }
    if (capacity as usize) < count && !(capacity == 0 && values.is_null()) {
        return Err(Error::Argument(format!(
            "there is room for {capacity} {what}, but the topology has {count} dimensions"
        )));
    }
    Ok(())
}

/// The size of a torus or mesh in each dimension, such as 2, 4, 4, 4, 2. `size` has room for `capacity` numbers; NULL and 0
/// ask for their number alone. `dimensions` may be NULL. Since 0.1.
///
/// Returns 0 or a status code: it is an error if the topology has no dimensions, or more than there is room for. Thread-safe.
///
/// # Safety
/// `size` must be NULL or valid for writing `capacity` ints, `dimensions` NULL or valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_topology_get_size(
    topology: Topology,
    capacity: c_int,
    size: *mut c_int,
    dimensions: *mut c_int,
) -> c_int {
    guard(|| {
        let known = TOPOLOGIES.get(topology, "optiq_topology_get_size")?;
        let known = known.lock();
        // SAFETY: by this function's contract.
        unsafe { per_dimension(known.grid()?.dims().iter().copied(), capacity, size, dimensions, "sizes") }
    })
}

/// Which dimensions are rings (1) and which are not (0); as `optiq_topology_get_size`. Since 0.1.
///
/// Returns 0 or a status code. Thread-safe.
///
/// # Safety
/// As for `optiq_topology_get_size`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_topology_get_torus(
    topology: Topology,
    capacity: c_int,
    torus: *mut c_int,
    dimensions: *mut c_int,
) -> c_int {
    guard(|| {
        let known = TOPOLOGIES.get(topology, "optiq_topology_get_torus")?;
        let known = known.lock();
        let wrap = known.grid()?.wrap().iter().map(|&w| u32::from(w));
        // SAFETY: by this function's contract.
        unsafe { per_dimension(wrap, capacity, torus, dimensions, "flags") }
    })
}

/// The coordinates of this rank's node; as `optiq_topology_get_size`. Since 0.1.
///
/// Returns 0 or a status code. Thread-safe.
///
/// # Safety
/// As for `optiq_topology_get_size`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_topology_get_coordinate(
    topology: Topology,
    capacity: c_int,
    coordinate: *mut c_int,
    dimensions: *mut c_int,
) -> c_int {
    guard(|| {
        let known = TOPOLOGIES.get(topology, "optiq_topology_get_coordinate")?;
        let known = known.lock();
        let list = known.grid()?.coordinates(known.placement.host(known.rank)).into_iter();
        // SAFETY: by this function's contract.
        unsafe { per_dimension(list, capacity, coordinate, dimensions, "coordinates") }
    })
}

/// The node that this rank is on: its number in the topology, from 0. Since 0.1.
///
/// Returns 0 or a status code. Thread-safe.
///
/// # Safety
/// `node` must be NULL or valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_topology_get_nodeId(topology: Topology, node: *mut c_int) -> c_int {
    guard(|| {
        let known = TOPOLOGIES.get(topology, "optiq_topology_get_nodeId")?;
        let known = known.lock();
        // SAFETY: by this function's contract.
        unsafe { write(node, known.placement.host(known.rank).0 as c_int, "the node") }
    })
}

/// The node that a rank of the communicator is on. Since 0.1.
///
/// Returns 0 or a status code. Thread-safe.
///
/// # Safety
/// `node` must be NULL or valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_topology_get_node_of_rank(topology: Topology, rank: c_int, node: *mut c_int) -> c_int {
    guard(|| {
        let known = TOPOLOGIES.get(topology, "optiq_topology_get_node_of_rank")?;
        let known = known.lock();
        let ranks = known.placement.len();
        let none = || Error::Argument(format!("there is no rank {rank}; there are {ranks} ranks"));
        let rank = u32::try_from(rank).ok().map(Rank).filter(|r| r.index() < ranks).ok_or_else(none)?;
        // SAFETY: by this function's contract.
        unsafe { write(node, known.placement.host(rank).0 as c_int, "the node") }
    })
}

/// The number of nodes of the topology. Since 0.1.
///
/// Returns 0 or a status code. Thread-safe.
///
/// # Safety
/// `nodes` must be NULL or valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_topology_get_nodes(topology: Topology, nodes: *mut c_int) -> c_int {
    guard(|| {
        let known = TOPOLOGIES.get(topology, "optiq_topology_get_nodes")?;
        // SAFETY: by this function's contract.
        unsafe { write(nodes, known.lock().network.hosts() as c_int, "the number of nodes") }
    })
}

/// Path searching on a topology, which may be freed afterwards. Local. Since 0.1.
///
/// Returns 0 or a status code, and in `algorithms` a handle that `optiq_alg_finalize` frees (0 after an error).
///
/// # Safety
/// `algorithms` must be NULL or valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_alg_init(topology: Topology, algorithms: *mut Algorithms) -> c_int {
    guard(|| {
        // SAFETY: by this function's contract.
        unsafe { place(algorithms, "handle of algorithms")? };
        let known = TOPOLOGIES.get(topology, "optiq_alg_init")?.lock().clone();
        // SAFETY: `place` has written there.
        unsafe { ALGORITHMS.hold(known, algorithms) };
        Ok(())
    })
}

/// Frees it and sets the handle to 0. Local. Since 0.1.
///
/// Returns 0 or a status code.
///
/// # Safety
/// `algorithms` must be NULL or valid for reading and writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_alg_finalize(algorithms: *mut Algorithms) -> c_int {
    // SAFETY: by this function's contract.
    guard(|| unsafe { ALGORITHMS.free(algorithms, "optiq_alg_finalize") })
}

/// Finds the `num_paths` shortest paths for every job (thesis 4.2.1 and 5.2) and keeps them with the jobs, without shares of
/// the bytes. `graphfile` is a topology file whose network must be that of the topology, or NULL. Local; the same on every
/// rank. Since 0.1.
///
/// Returns 0 or a status code; the jobs are not changed by a call that fails.
///
/// # Safety
/// `graphfile` must be NULL or a string that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_alg_generate_kpaths(
    algorithms: Algorithms,
    graphfile: *const c_char,
    jobs: JobList,
    num_paths: c_int,
) -> c_int {
    guard(|| {
        let known = ALGORITHMS.get(algorithms, "optiq_alg_generate_kpaths")?;
        let known = known.lock();
        if !graphfile.is_null() {
            // SAFETY: by this function's contract.
            let file = unsafe { string(graphfile, "the name of the topology file")? };
            let network = Network::from_file(Path::new(&file))?;
            if network.fingerprint() != known.network.fingerprint() {
                let spec = known.network.spec();
                return Err(Error::Argument(format!("{file}: it is not the communicator's network, {spec}")));
            }
        }
        let wrong = || Error::Argument(format!("{num_paths} paths are asked for; 1 or more are expected"));
        let k = usize::try_from(num_paths).ok().filter(|&k| k > 0).ok_or_else(wrong)?;
        let jobs = JOBS.get(jobs, "optiq_alg_generate_kpaths")?;
        let list = &mut jobs.lock().list;
        let mut changed = list.clone();
        changed.find_paths(&known.network, &known.placement, k)?;
        *list = changed;
        Ok(())
    })
}

/// Chooses paths for the jobs' bytes, and how many bytes take each (thesis 4.2.2): from the paths that
/// `optiq_alg_generate_kpaths` or a file gave them, or from the planner's own. `search` is one of `optiq_search`. The sizes
/// of all jobs count, so they must be known here. Local; the same on every rank that has the same jobs. Since 0.1.
///
/// Returns 0 or a status code; the jobs are not changed by a call that fails.
#[unsafe(no_mangle)]
pub extern "C" fn optiq_alg_search_heu(algorithms: Algorithms, jobs: JobList, search: c_int) -> c_int {
    guard(|| {
        let known = ALGORITHMS.get(algorithms, "optiq_alg_search_heu")?;
        let known = known.lock();
        let found = Search::ALL.into_iter().find(|(s, _)| *s as c_int == search);
        let wrong = || Error::Argument(format!("{search} is no search; one of optiq_search is expected"));
        let planner = found.ok_or_else(wrong)?.1;
        let jobs = JOBS.get(jobs, "optiq_alg_search_heu")?;
        let list = &mut jobs.lock().list;
        let mut changed = list.clone();
        changed.search(&known.network, &known.placement, &PlanOptions { planner, ..PlanOptions::default() })?;
        *list = changed;
        Ok(())
    })
}
