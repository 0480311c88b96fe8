//! The table of options: one record each, which feeds the environment, `optiq.conf`, info keys of a communicator, the C
//! setters, `optiq info -c` and the manual page.
//!
//! Sizes accept `64K`, `1MiB`, `8 MB` (see [`optiq_net::units`]); switches accept 0 and 1.

use super::values::Config;
use optiq_lower::scores::Scores;
use optiq_net::units::parse_bytes;
use optiq_transport::{ChunkRule, QueueOrder};
use std::str::FromStr;

/// What an option can be set for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Only the environment: it says where the rest is read, or is asked by every process that the preload library is loaded into.
    Environment,
    /// The whole process, before `optiq_init`.
    Process,
    /// The whole process, or one communicator before its first use.
    Communicator,
}

/// One option: its name in the environment, what it takes, its default, what it does, and what it can be set for.
#[derive(Clone, Copy, Debug)]
pub struct OptionRecord {
    /// Name of the environment variable.
    pub name: &'static str,
    /// What it takes, for people.
    pub takes: &'static str,
    /// The default, as it would be written.
    pub default: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// What it can be set for.
    pub scope: Scope,
    /// Sets it. The error says what is expected, where `takes` does not say it better.
    pub(super) set: fn(&mut Config, &str) -> Result<(), String>,
}

impl OptionRecord {
    /// Its name in `optiq.conf` and in the C interface: `min_bytes` for `OPTIQ_MIN_BYTES`.
    pub fn key(&self) -> String {
        self.name.strip_prefix(PREFIX).unwrap_or(self.name).to_ascii_lowercase()
    }

    /// The option of this name, as in the environment or as in `optiq.conf`, in letters of either case.
    pub fn find(name: &str) -> Option<&'static Self> {
        let upper = name.trim().to_ascii_uppercase();
        let plain = upper.strip_prefix(PREFIX).unwrap_or(&upper);
        OPTIONS.iter().find(|o| o.name.strip_prefix(PREFIX) == Some(plain))
    }

    /// The option whose name is nearest to one that does not exist, if any is near.
    pub fn nearest(name: &str) -> Option<&'static Self> {
        let upper = name.trim().to_ascii_uppercase();
        let plain = upper.strip_prefix(PREFIX).unwrap_or(&upper);
        let distance = |o: &&Self| strsim::damerau_levenshtein(o.name.strip_prefix(PREFIX).unwrap_or(o.name), plain);
        OPTIONS.iter().min_by_key(distance).filter(|o| distance(o) <= 1 + plain.len() / 4)
    }
}

/// What the names in the environment begin with.
pub(super) const PREFIX: &str = "OPTIQ_";

/// All options, in the order in which they are documented.
pub const OPTIONS: &[OptionRecord] = &[
    OptionRecord {
        name: "OPTIQ_TOPOLOGY",
        takes: "topology specification, or auto",
        default: "",
        doc: "The network, as `torus:4x4`, `fattree:k=8,names=node[001-128]` or `file:net.toml`; see `optiq-topology`(7). auto discovers it: from OPTIQ_TOPOLOGY_FILES, from what Slurm and other process managers tell, or it takes every processor name for a host and joins them by one switch; rates that nobody tells are measured at first use, in 0.05 s; `optiq info --discovery` shows it; a wrong guess costs speed, never data; in the environment it gives way to a topology in a file. Without it every call goes to plain MPI; `optiq wrap` sets auto.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.topology, Some(v.into())),
    },
    OptionRecord {
        name: "OPTIQ_TOPOLOGY_FILES",
        takes: "FILE[+FILE]...",
        default: "",
        doc: "Where OPTIQ_TOPOLOGY=auto looks first: a network file, or files that the tools of the fabric print (ibnetdiscover, OpenSM, Slurm's topology.conf; see `optiq-fabric-import`(1)), joined; for `optiq.conf` of a machine. Not used for a job with a host that is not in them.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.topology_files, Some(v.into())),
    },
    OptionRecord {
        name: "OPTIQ_BACKGROUND",
        takes: "file | measure",
        default: "",
        doc: "What others use of the links: a file with a line `FROM TO USED` for each, USED a rate or a share such as `50%`, `*` for any end; plans use what is left. measure learns it while the program runs, from the times of its own exchanges or from OPTIQ_COUNTERS, and plans anew when it changes.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.background, Some(v.into())),
    },
    OptionRecord {
        name: "OPTIQ_COUNTERS",
        takes: "file",
        default: "",
        doc: "With OPTIQ_BACKGROUND=measure: what every link has carried, in a file that somebody writes again and again: a line `seconds S`, and `FROM TO BYTES` for each link. Rank 0 reads it; when it was written counts as when the counters were read.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.counters, Some(v.into())),
    },
    OptionRecord {
        name: "OPTIQ_BUSY_LINKS",
        takes: "file",
        default: "",
        doc: "With OPTIQ_BACKGROUND=measure: where rank 0 writes which links it takes for busy and since when, again whenever a plan takes over; in the form that OPTIQ_BACKGROUND and optiq explain --background read.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.busy_links, Some(v.into())),
    },
    OptionRecord {
        name: "OPTIQ_MAX_HOSTS",
        takes: "number",
        default: "131072",
        doc: "The most hosts and switches of a topology: every rank keeps the whole network, about 0.4 kB for each of them, and takes about 10 microseconds to build it; larger ones go to plain MPI.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.max_hosts, v.parse().ok().filter(|&n| n > 0).ok_or("a whole number of at least 1")?),
    },
    OptionRecord {
        name: "OPTIQ_PLACEMENT",
        takes: "auto | names | rank:K | file:FILE",
        default: "auto",
        doc: "Which host a rank is on: by the processor's name; K ranks to a host in rank order; or a file with a line for each rank, its host's name, number or coordinates. With a name that the topology does not have, all calls go to plain MPI; but auto takes ranks that are all on one such processor as those of one host.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.placement, parsed(v)?),
    },
    OptionRecord {
        name: "OPTIQ_ALGORITHM",
        takes: "auto | multipath | mpi",
        default: "auto",
        doc: "Whether to move data over planned paths always, never, or where that is predicted to pay.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.algorithm, parsed(v)?),
    },
    OptionRecord {
        name: "OPTIQ_PLANNER",
        takes: "auto | direct | heu1 | heu2 | lp | optimal",
        default: "auto",
        doc: "The planner; auto is optimal. optimal may take a tenth of the link bound, from 0.015 to 1 s.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.planner, parsed(v)?),
    },
    OptionRecord {
        name: "OPTIQ_K",
        takes: "number",
        default: "20",
        doc: "Candidate paths per pair of hosts.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.k, number(v, 1)?),
    },
    OptionRecord {
        name: "OPTIQ_TRANSPORT",
        takes: "auto | two-sided | one-sided | pull",
        default: "auto",
        doc: "The MPI calls that carry chunks; auto follows the rule for the MPI library (`optiq info`), one-sided puts, with pull receivers fetch, and both fall back to two-sided where windows cannot be had.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.transport, parsed(v)?),
    },
    OptionRecord {
        name: "OPTIQ_LEGS",
        takes: "auto | planned | hops",
        default: "auto",
        doc: "At which hosts chunks are stored and forwarded: at the forwarders of the plan, or at every host that they pass and that has ranks, so that those of different paths do not wait for each other in routers; auto takes what the cost model says, which is planned unless a calibration file has a store_and_forward_link_efficiency above its planned_link_efficiency.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.legs, parsed(v)?),
    },
    OptionRecord {
        name: "OPTIQ_DIRECT_ORDER",
        takes: "auto | timetable | shifts | xor | stages | credits | proportion",
        default: "auto",
        doc: "Who sends to whom when, where messages go directly: in step with a timetable in which no port serves two others at one time (the shortest that is found; or by shifts, by exclusive or of host numbers, or in the exact stages of a Birkhoff decomposition), when receivers grant it (credits), or all at once with bytes in flight in proportion; auto takes the timetable for small messages and where all ports have about the same load, on networks of less than 1.5 GB/s only.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.direct_order, parsed(v)?),
    },
    OptionRecord {
        name: "OPTIQ_COMBINE",
        takes: "auto | no | always, with ,radix=R ,carriers=C ,message=SIZE",
        default: "auto",
        doc: "Whether messages of the ranks of a host travel together, in calls so small that ranks do not agree on them: gathered in shared memory, carried by C ranks of each host in rounds of Bruck's algorithm with radix R, up to a message of SIZE between two ranks; auto does so where it is predicted to pay and was measured to be faster than MPI, and chooses what is not given.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.combine, parsed(v)?),
    },
    OptionRecord {
        name: "OPTIQ_CHUNK",
        takes: "auto | thesis | size",
        default: "auto",
        doc: "Size of the pieces in which a path's bytes travel; auto is the optimum of the pipeline that the path is, and never more than MPI sends at once; thesis is its rule, 64 KiB for large messages.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.chunk, chunk(v)?),
    },
    OptionRecord {
        name: "OPTIQ_WINDOW",
        takes: "number",
        default: "32",
        doc: "Chunks per path that a rank has room for.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.window, number(v, 1)?),
    },
    OptionRecord {
        name: "OPTIQ_BUDGET",
        takes: "size",
        default: "64MiB",
        doc: "Buffer memory per rank beyond the user's own buffers.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.budget, size(v)?),
    },
    OptionRecord {
        name: "OPTIQ_ORDER",
        takes: "proportional | forward-first | local-first | round-robin",
        default: "proportional",
        doc: "Whether chunks of others or a rank's own leave first.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.order, order(v)?),
    },
    OptionRecord {
        name: "OPTIQ_SCORES",
        takes: "list of BYTES-BYTES[@HOSTS-HOSTS]=auto|multipath|mpi",
        default: "",
        doc: "With OPTIQ_ALGORITHM=auto: what serves exchanges by the size of the largest demand and the number of hosts, such as `0-64KiB=mpi,1MiB-inf@2-512=multipath`; the first rule that fits counts, and the cost model decides the rest.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.scores, scores(v)?),
    },
    OptionRecord {
        name: "OPTIQ_CALIBRATION",
        takes: "file",
        default: "",
        doc: "The cost model's parameters, as `optiq calibrate` writes and `optiq info --scores` prints them; the link efficiencies of a file that was measured on another network or with another MPI library are not used; without it they are measured when a communicator is first used.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.calibration, Some(v.into())),
    },
    OptionRecord {
        name: "OPTIQ_LEARNED",
        takes: "file",
        default: "",
        doc: "What was learned of which kind of demands MPI and OPTIQ serve how fast: read when a communicator is first used, so that a kind that is known needs no trial before the faster side serves it, and kept up by rank 0 at the end; `optiq info --scores` shows it. Without it every run learns anew.",
        scope: Scope::Process,
        set: |c, v| put(&mut c.learned, Some(v.into())),
    },
    OptionRecord {
        name: "OPTIQ_MIN_BYTES",
        takes: "size",
        default: "",
        doc: "With OPTIQ_ALGORITHM=auto: exchanges in which every host sends another one less than this go to plain MPI; by default the cost model decides.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.min_bytes, Some(bytes(v, "a size such as 128KiB")?)),
    },
    OptionRecord {
        name: "OPTIQ_MIN_GAIN",
        takes: "number",
        default: "1.02",
        doc: "With OPTIQ_ALGORITHM=auto: how many times faster than plain MPI a plan must be, as the cost model predicts until both were measured, and as measured from then on.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.min_gain, gain(v)?),
    },
    OptionRecord {
        name: "OPTIQ_CHECK",
        takes: "0 | 1",
        default: "0",
        doc: "Compare all send and receive counts before every exchange, and name the ranks that disagree.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.check, switch(v)?),
    },
    OptionRecord {
        name: "OPTIQ_PROGRESS",
        takes: "0 | 1",
        default: "0",
        doc: "A thread that advances exchanges that were started; needs MPI_THREAD_MULTIPLE.",
        scope: Scope::Process,
        set: |c, v| put(&mut c.progress, switch(v)?),
    },
    OptionRecord {
        name: "OPTIQ_PLANS",
        takes: "number",
        default: "16",
        doc: "Plans kept per communicator; the one that was not used for longest makes room.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.plans, number(v, 1)?),
    },
    OptionRecord {
        name: "OPTIQ_STRICT",
        takes: "0 | 1",
        default: "0",
        doc: "Return an error for a wrong configuration instead of falling back to plain MPI with a warning.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.strict, switch(v)?),
    },
    OptionRecord {
        name: "OPTIQ_IO_BUDGET",
        takes: "size",
        default: "64MiB",
        doc: "Collective file access: buffer memory of a rank that serves an I/O host; half of it is written while the other half fills.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.io_budget, size(v)?),
    },
    OptionRecord {
        name: "OPTIQ_IO_ASSIGNMENT",
        takes: "balanced | default",
        default: "balanced",
        doc: "Which I/O host gets which bytes of a file: as much to each as it can take, or each host's to its default I/O host, the nearest.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.io_assignment, parsed(v)?),
    },
    OptionRecord {
        name: "OPTIQ_IO_HOSTS",
        takes: "HOST[@RATE]+HOST[@RATE]...",
        default: "",
        doc: "The I/O hosts, such as `0+10` or `h0@2GB/s+h10@2GB/s` with what their links to the storage carry; by default those that the topology marks.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.io_hosts, Some(v.into())),
    },
    OptionRecord {
        name: "OPTIQ_IO_TIMEOUT",
        takes: "seconds",
        default: "",
        doc: "Collective file access: how long ranks wait for each other before, and within, a round; longer than any round takes. Then all that wait get an error. By default they wait for ever, as in MPI.",
        scope: Scope::Communicator,
        set: |c, v| put(&mut c.io_timeout, Some(timeout(v)?)),
    },
    OptionRecord {
        name: "OPTIQ_TRACE",
        takes: "directory",
        default: "",
        doc: "Where each rank writes when it sent, received and forwarded which chunk, for `optiq trace`; made if it is not there.",
        scope: Scope::Process,
        set: |c, v| put(&mut c.trace, Some(v.into())),
    },
    OptionRecord {
        name: "OPTIQ_TRACE_EVENTS",
        takes: "number",
        default: "65536",
        doc: "With OPTIQ_TRACE: records of 48 bytes that a rank keeps in memory, from 16 to 16777216; beyond that the oldest of an exchange are overwritten and counted.",
        scope: Scope::Process,
        set: |c, v| put(&mut c.trace_events, trace_events(v)?),
    },
    OptionRecord {
        name: "OPTIQ_POSTCARDS",
        takes: "directory",
        default: "",
        doc: "Where each rank writes postcards of the marked chunks that it sends, passes on or receives, for `optiq postcards join`; made if it is not there. The same on all ranks.",
        scope: Scope::Process,
        set: |c, v| put(&mut c.postcards, Some(v.into())),
    },
    OptionRecord {
        name: "OPTIQ_POSTCARDS_EVERY",
        takes: "number",
        default: "100",
        doc: "With OPTIQ_POSTCARDS: one chunk in this many is marked. The same on all ranks.",
        scope: Scope::Process,
        set: |c, v| put(&mut c.postcards_every, number(v, 1)?),
    },
    OptionRecord {
        name: "OPTIQ_DISABLE",
        takes: "0 | 1",
        default: "0",
        doc: "Under liboptiq_pmpi.so: all calls go straight to the MPI library, and nothing is initialised.",
        scope: Scope::Process,
        set: |c, v| put(&mut c.disable, switch(v)?),
    },
    OptionRecord {
        name: "OPTIQ_PRELOAD",
        takes: "list of alltoallv, alltoall, ialltoallv, neighbor_alltoallv, neighbor_alltoall, ineighbor_alltoallv",
        default: "alltoallv",
        doc: "Under liboptiq_pmpi.so: the MPI functions that are taken over. With alltoallv also MPI_Alltoallv_init (MPIX_Alltoallv_init in Open MPI 4), and so with neighbor_alltoallv; these and ialltoallv and ineighbor_alltoallv, which threads carry, only if MPI provides MPI_THREAD_MULTIPLE on all ranks. The same on all ranks, all of which must be preloaded.",
        scope: Scope::Process,
        set: |c, v| put(&mut c.preload, parsed(v)?),
    },
    OptionRecord {
        name: "OPTIQ_REPORT",
        takes: "0 | 1",
        default: "0",
        doc: "At the end rank 0 says on standard error how many calls planned paths served, and how many MPI, for which reasons: all ranks' calls under liboptiq_pmpi.so, its own in a program that calls the library.",
        scope: Scope::Process,
        set: |c, v| put(&mut c.report, switch(v)?),
    },
    OptionRecord {
        name: "OPTIQ_PROFILE",
        takes: "directory",
        default: "",
        doc: "Under liboptiq_pmpi.so: where each rank writes at MPI_Finalize how many messages and bytes it sent to each other rank, with Open MPI those inside collectives among them, and what it read from files and wrote to them, by region of the code; for `optiq profile show` and `optiq traffic`; made if it is not there.",
        scope: Scope::Environment,
        set: |c, v| put(&mut c.profile, Some(v.into())),
    },
    OptionRecord {
        name: "OPTIQ_PROFILE_SIGNAL",
        takes: "USR1 | USR2",
        default: "",
        doc: "With OPTIQ_PROFILE: the profile is also written when the process gets SIGUSR1 or SIGUSR2, if the program does not handle that itself.",
        scope: Scope::Environment,
        set: |c, v| put(&mut c.profile_signal, Some(parsed(v)?)),
    },
    OptionRecord {
        name: "OPTIQ_PROFILE_CALL_SITES",
        takes: "0 | 1",
        default: "0",
        doc: "With OPTIQ_PROFILE: what was sent is also counted by the place in the program that called MPI, which is looked up at every call that sends.",
        scope: Scope::Environment,
        set: |c, v| put(&mut c.profile_call_sites, switch(v)?),
    },
    OptionRecord {
        name: "OPTIQ_PROFILE_SOURCE",
        takes: "auto | monitoring | calls",
        default: "auto",
        doc: "With OPTIQ_PROFILE: who counts messages: Open MPI's monitoring component, or the arguments of calls and OPTIQ's own transports, which see nothing inside MPI's collectives; auto is the former where there is one.",
        scope: Scope::Environment,
        set: |c, v| put(&mut c.profile_source, parsed(v)?),
    },
    OptionRecord {
        name: "OPTIQ_LOG",
        takes: "off | error | warn | info | debug | trace",
        default: "warn",
        doc: "What is logged to standard error; info says for every call what served it and why.",
        scope: Scope::Process,
        set: |c, v| put(&mut c.log, parsed(v)?),
    },
    OptionRecord {
        name: "OPTIQ_CONF",
        takes: "file | none",
        default: "",
        doc: "The file with options, as `KEY = value`; by default `/etc/optiq.conf`, and what `~/.config/optiq/optiq.conf` says beyond that or otherwise.",
        scope: Scope::Environment,
        set: |_, _| Ok(()),
    },
];

fn put<T>(field: &mut T, value: T) -> Result<(), String> {
    *field = value;
    Ok(())
}

/// A value whose type knows its words; `takes` lists them.
fn parsed<T: FromStr>(value: &str) -> Result<T, String> {
    value.parse().map_err(|_| String::new())
}

fn number<T: FromStr + PartialOrd + From<u8>>(value: &str, least: u8) -> Result<T, String> {
    let expected = || format!("a whole number of at least {least}");
    value.parse().ok().filter(|n| *n >= T::from(least)).ok_or_else(expected)
}

fn switch(value: &str) -> Result<bool, String> {
    match value {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(String::new()),
    }
}

fn bytes(value: &str, expected: &str) -> Result<u64, String> {
    parse_bytes(value).map_err(|_| expected.to_string())
}

fn size(value: &str) -> Result<u64, String> {
    let expected = "a size above zero, such as 64MiB,";
    Some(bytes(value, expected)?).filter(|&b| b > 0).ok_or_else(|| expected.to_string())
}

fn chunk(value: &str) -> Result<ChunkRule, String> {
    match value {
        "auto" => Ok(ChunkRule::Auto),
        "thesis" => Ok(ChunkRule::Thesis),
        _ => {
            let size = bytes(value, "auto, or a size such as 64KiB,")?;
            let possible = (1..=1 << 30).contains(&size);
            possible.then_some(ChunkRule::Fixed(size)).ok_or_else(|| "a size between 1 and 1GiB".into())
        }
    }
}

fn order(value: &str) -> Result<QueueOrder, String> {
    Ok(match value {
        "forward-first" => QueueOrder::ForwardFirst,
        "local-first" => QueueOrder::LocalFirst,
        "round-robin" => QueueOrder::RoundRobin,
        "proportional" => QueueOrder::Proportional,
        _ => return Err(String::new()),
    })
}

fn scores(value: &str) -> Result<Scores, String> {
    value
        .parse()
        .map_err(|rule| format!("a list of rules such as 0-64KiB=mpi or 1MiB-inf@2-512=multipath, not \"{rule}\","))
}

fn gain(value: &str) -> Result<f64, String> {
    let gain = value.parse::<f64>().ok().filter(|g| g.is_finite() && *g >= 0.0);
    gain.ok_or_else(|| "a number of at least 0".into())
}

fn timeout(value: &str) -> Result<f64, String> {
    let seconds = value.parse().ok().filter(|s| (1e-3..=1e9).contains(s));
    seconds.ok_or_else(|| "seconds, from 0.001 to 1e9,".into())
}

fn trace_events(value: &str) -> Result<usize, String> {
    let events = value.parse().ok().filter(|n| optiq_trace::EVENTS.contains(n));
    events.ok_or_else(|| "a whole number from 16 to 16777216".into())
}
