//! The multi-rank tests; `tests/mpi.rs` beside it starts them under `mpirun`. Every rank says "all is well" or ends the job.

mod alltoallv;
mod blocks;
mod conformance;
mod errors;
mod faults;
mod io;
mod load;
mod persistent;
mod priorities;
mod small;
mod soak;
mod support;
mod transport;

use optiq_transport::mpi::{check, ffi};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let different = match arguments[..] {
        ["different-topologies"] => Some(("OPTIQ_TOPOLOGY", ["torus:2x2", "mesh:2x2"])),
        ["different-options"] => Some(("OPTIQ_CHECK", ["0", "1"])),
        _ => None,
    };
    if let Some((name, [even_value, odd_value])) = different {
        // Before MPI and OPTIQ look at it: ranks with an odd number in the job see another one.
        let odd = std::env::var("OMPI_COMM_WORLD_RANK").or_else(|_| std::env::var("PMI_RANK"));
        let odd = odd.ok().and_then(|r| r.parse::<u32>().ok()).is_some_and(|r| r % 2 == 1);
        // SAFETY: no other thread exists yet.
        unsafe { std::env::set_var(name, if odd { odd_value } else { even_value }) };
    }
    // As programs in C have it, where a test wants to see it.
    if std::env::var_os("OPTIQ_LOG").is_some() {
        optiq::logger::init("", optiq::Config::read().config.log);
    }
    let (nothing, mut level) = (std::ptr::null_mut(), 0);
    let asked = if matches!(arguments[..], ["progress-thread"] | ["priorities"]) {
        ffi::MPI_THREAD_MULTIPLE
    } else {
        ffi::MPI_THREAD_SINGLE
    };
    // SAFETY: called once, at the start.
    let started =
        check(unsafe { ffi::PMPI_Init_thread(nothing, nothing.cast(), asked as i32, &mut level) }, "MPI_Init");
    let result = started.map_err(|e| e.to_string()).and_then(|()| run(&arguments));
    let rank = support::rank();
    match result {
        Ok(()) => {
            println!("rank {rank}: all is well");
            // SAFETY: called once, at the end; nothing of ours is left.
            unsafe { ffi::PMPI_Finalize() };
        }
        Err(error) => {
            eprintln!("rank {rank}: FAILED: {error}");
            // SAFETY: ends the job.
            unsafe { ffi::PMPI_Abort(ffi::RSMPI_COMM_WORLD, 1) };
        }
    }
}

fn run(arguments: &[&str]) -> Result<(), String> {
    match arguments {
        ["conformance", transport, rounds] => {
            let rounds = rounds.parse().map_err(|_| format!("{rounds} rounds: a number is expected"))?;
            conformance::random_exchanges(transport, rounds)
        }
        ["cases", transport] => conformance::cases(transport),
        ["alltoallv" | "different-topologies" | "different-options"] => alltoallv::all(),
        ["errors"] => errors::arguments(),
        ["errors-without-topology"] => errors::plain(),
        ["errors-before-and-after"] => errors::before_and_after(),
        ["lifetimes"] => errors::lifetimes(),
        ["persistent"] => persistent::many_rounds(),
        ["handles"] => persistent::handles(),
        ["crossing"] => persistent::crossing(),
        ["two-communicators"] => persistent::two_communicators(),
        ["priorities"] => priorities::any_order(),
        ["priorities-overtake", overtakes] => priorities::overtake(overtakes),
        ["priorities-wrong"] => priorities::wrong(),
        ["forecasts"] => persistent::forecasts(),
        ["in-turn", plans] => persistent::in_turn(plans),
        ["nearly-the-same"] => persistent::nearly_the_same(),
        ["checked"] => persistent::checked(),
        ["progress-thread"] => persistent::thread(),
        ["fault", rest @ ..] => faults::run(rest),
        ["small-disagreeing"] => small::disagreeing(),
        ["small", sizes, one_in] => small::run(sizes, one_in),
        ["small-started", sizes] => small::started(sizes),
        ["small-sparse", hosts] => small::sparse(hosts),
        ["soak", calls, seed] => soak::run(calls, seed),
        ["io", "random", rounds, largest] => io::random(rounds, largest, true),
        ["io", "errors"] => io::errors(),
        ["io", "only-mpi"] => io::handed_over(),
        ["io", "lifetimes"] => io::lifetimes(),
        ["io", "full"] => io::full(false),
        ["io", "limited"] => io::full(true),
        ["io", "budget", mebibytes] => io::budget(mebibytes),
        ["io", "again"] => io::again(),
        ["io", "stops"] => io::stops(),
        ["io", "handed-over", rounds, largest] => io::random(rounds, largest, false),
        ["strict"] => errors::strict(),
        _ => Err(format!("there is no test {arguments:?}")),
    }
}
