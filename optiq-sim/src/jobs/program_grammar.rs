//! The grammar of programs as data, for the parser, help and the book: `NAME[,KEY=VALUE...]`.

/// A program of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramEntry {
    /// Its name.
    pub name: &'static str,
    /// What its ranks do, a sentence or a part of one without a full stop.
    pub meaning: &'static str,
    /// A specification.
    pub example: &'static str,
}

/// A key of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyEntry {
    /// The key.
    pub key: &'static str,
    /// The programs that take it, by name, separated by blanks.
    pub programs: &'static str,
    /// What it means, a sentence or a part of one without a full stop.
    pub meaning: &'static str,
    /// What holds where it is not given.
    pub default: &'static str,
}

const fn program(name: &'static str, meaning: &'static str, example: &'static str) -> ProgramEntry {
    ProgramEntry { name, meaning, example }
}

const fn key(key: &'static str, programs: &'static str, meaning: &'static str, default: &'static str) -> KeyEntry {
    KeyEntry { key, programs, meaning, default }
}

/// What programs there are.
pub const PROGRAMS: &[ProgramEntry] = &[
    program(
        "open",
        "each rank sends at a rate, whether or not its messages arrive, to a rank that is drawn each time or, with shift=, to a \
         fixed one",
        "open,message=4KB,load=50%",
    ),
    program(
        "pairs",
        "ranks are paired at random; each sends to its partner, and again when that has arrived",
        "pairs,message=4MB,think=500us,jitter=5%",
    ),
    program("uniform", "as pairs, to a rank that is drawn each time", "uniform,message=4KB,interval=3us"),
    program("tornado", "as pairs, to the rank at a fixed distance", "tornado,message=512KB,shift=384,interval=150us"),
    program(
        "stencil",
        "ranks are a 3-D grid that closes to rings; each sends to its neighbours, six where no length is below 3, and waits for \
         theirs",
        "stencil,message=4KB,dims=4x4x4,think=10us",
    ),
    program(
        "broadcast",
        "rank 0 sends a message to all, itself or by a binomial tree, and again when all have confirmed it",
        "broadcast,message=4KB,algorithm=linear",
    ),
    program(
        "alltoall",
        "each rank sends to all others and receives from all",
        "alltoall,message=64KB,algorithm=pairwise",
    ),
    program(
        "allreduce",
        "ranks reduce a message of which all have the result, by recursive doubling",
        "allreduce,message=8B,think=10us",
    ),
    program(
        "alltoallv",
        "an exchange of these demands between ranks, by OPTIQ's plan and chunk scheduler or by MPI's algorithms",
        "alltoallv,message=1MB,demands=random,algorithm=optiq",
    ),
    program(
        "samplesort",
        "sorts: samples go to rank 0, splitters to all, then each bucket to its rank; sizes of buckets differ by their draw",
        "samplesort,total=1GB",
    ),
    program("goal", "a schedule in a GOAL file; rank r of it is rank r of the job", "goal,file=app.goal"),
    program(
        "io-write",
        "each client writes requests to the job's servers, the first at random, then round robin, and again when a server has \
         confirmed one",
        "io-write,request=4MB,total=4.3GB,window=2ms",
    ),
    program("io-read", "as io-write; the servers send the bytes", "io-read,request=4MB,think=1ms"),
    program("incast", "all ranks send to one, each again when its message has arrived", "incast,message=64KB"),
    program(
        "impact",
        "ImpactB: hosts are paired, and the ranks on one of a pair exchange a message with those on the other, now and then",
        "impact,message=1KiB,think=100ms",
    ),
    program(
        "compression",
        "CompressionB: each rank sends messages= to each of the partners= hosts before its own, and again when all have arrived and \
         window= is over",
        "compression,message=40KiB,partners=4,messages=10,window=96us",
    ),
    program("steps", "exchanges with computing between them, in a file", "steps,file=data/jobs/proxies/fftw.toml"),
    program("idle", "nothing", "idle"),
];

const LOOPS: &str = "pairs uniform tornado incast stencil broadcast alltoall allreduce alltoallv samplesort io-write io-read impact compression steps";
const SAMPLED: &str = "open pairs uniform tornado incast stencil broadcast alltoall allreduce alltoallv samplesort goal io-write io-read impact compression steps";
const IO: &str = "io-write io-read";

/// The keys of programs.
pub const KEYS: &[KeyEntry] = &[
    key(
        "message",
        "open pairs uniform tornado incast stencil broadcast alltoall allreduce alltoallv impact compression",
        "the size of a message; to each neighbour (stencil), for each pair (alltoall, and patterns of alltoallv)",
        "must be given",
    ),
    key("samples", SAMPLED, "how many operations of each rank are measured", "30; of goal 1; as many as total= needs"),
    key("warmup", SAMPLED, "how many operations come before, which are not", "3; with total= and of goal 0"),
    key("think", LOOPS, "from the completion of an operation to the start of the next one (a closed loop)", "0"),
    key(
        "jitter",
        LOOPS,
        "think times, windows, intervals and the computing of steps differ by up to this, each time by another draw",
        "0",
    ),
    key("compute", LOOPS, "how long the processor is busy after the think time, before an operation starts", "0"),
    key("window", LOOPS, "a throttle: the next operation starts this long after the last one, or later", "none"),
    key("window-from", LOOPS, "what the window counts from: start or completion of the last operation", "start"),
    key(
        "interval",
        "open pairs uniform tornado incast stencil",
        "from start to start, whether or not messages have arrived (an open loop), in place of think",
        "none; open takes one of interval, rate and load",
    ),
    key(
        "start",
        "open pairs uniform tornado incast stencil",
        "when ranks start: random (anywhere in the first interval or think time) or together (all at once)",
        "random",
    ),
    key("rate", "open", "what each rank sends, in bytes per second", "none"),
    key("load", "open", "the same, as a part of the capacity of its host's slowest link", "none"),
    key("gaps", "open", "of which kind intervals are: fixed or poisson (exponentially distributed)", "poisson"),
    key(
        "shift",
        "open tornado",
        "the distance of the destination, in ranks",
        "of tornado half of the ranks; of open none",
    ),
    key("dims", "stencil", "the lengths of the grid, as 4x4x2", "three factors of the ranks that differ least"),
    key(
        "algorithm",
        "broadcast alltoall alltoallv",
        "of broadcast linear or tree; of alltoall linear (all at once) or pairwise (in steps); of alltoallv also optiq",
        "linear; of alltoallv optiq",
    ),
    key(
        "demands",
        "alltoallv",
        "who sends how much to whom: a pattern (its own keys after semicolons, as random;count=500) or file:PATH, with ranks in \
         place of hosts",
        "alltoall",
    ),
    key(
        "total",
        "samplesort io-write io-read",
        "bytes in all of each rank, or each client",
        "of samplesort must be given",
    ),
    key("file", "goal steps", "the path of a GOAL file, or of one of steps", "must be given"),
    key("partners", "compression", "to how many hosts a rank sends", "1"),
    key("messages", "compression", "how many messages to each of them", "1"),
    key("request", IO, "the size of a request", "must be given"),
    key("stripes", IO, "over how many servers, one after the other, a request is spread", "1"),
    key("depth", IO, "how many requests a client has open; each is a loop of its own", "1"),
    key("service", IO, "how long a server takes for a request, besides its bytes; one at a time", "0"),
    key("server-rate", IO, "bytes per second that a server stores or loads", "no limit"),
    key(
        "server-memory",
        IO,
        "bytes of requests that a server holds; one that does not fit waits until it does",
        "no limit",
    ),
    key("root", "incast", "the rank to which all send", "0"),
    key(
        "by",
        "incast",
        "what it is sent by: messages, or puts, which cost the receiver's processor nothing and need no permission",
        "messages",
    ),
];

/// The keys that a program takes, in the order of [`KEYS`].
pub fn keys_of(program: &str) -> impl Iterator<Item = &'static KeyEntry> + '_ {
    KEYS.iter().filter(move |entry| entry.programs.split(' ').any(|name| name == program))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::jobs::program_spec::ProgramSpec;

    #[test]
    fn every_example_is_a_program_and_every_key_is_of_programs() {
        for entry in PROGRAMS {
            let spec = ProgramSpec::parse(entry.example).unwrap_or_else(|e| panic!("{}: {e}", entry.example));
            assert_eq!(spec.name(), entry.name);
        }
        for entry in KEYS {
            for name in entry.programs.split(' ') {
                assert!(PROGRAMS.iter().any(|p| p.name == name), "{} of {name}", entry.key);
            }
        }
    }
}
