//! `docs/results/preload.md`: what the preload library costs calls that it passes on.

use crate::failure::{Failure, Outcome};
use crate::mpi::Library;
use crate::process::{self, Project};
use crate::results::number;
use std::fmt::Write;

/// Ranks, calls in a batch, and pairs of batches.
const RUNS: [[&str; 3]; 3] = [["1", "20000", "101"], ["2", "5000", "201"], ["16", "200", "401"]];

/// Title, whether the library is preloaded, and the environment.
type Side = (&'static str, bool, &'static [(&'static str, &'static str)]);

/// The first is the same program without the library: what it shows is noise.
const SIDES: [Side; 3] = [
    ("not preloaded", false, &[]),
    ("preloaded, no topology: passed on", true, &[]),
    (
        "preloaded, with a topology: OPTIQ decides",
        true,
        &[("OPTIQ_TOPOLOGY", "torus:4x4"), ("OPTIQ_PLACEMENT", "rank")],
    ),
];

/// Measures for some minutes; returns the page. The library is built.
pub fn page(project: &Project, about: &str, rounds: u32) -> Outcome<String> {
    let program = project.target().join("release/passed");
    let compiler =
        Library::OpenMpi.compiler().ok_or_else(|| Failure::Failed("Open MPI's mpicc is not there".into()))?;
    process::run(project.command(compiler).args(["-O2", "-o"]).arg(&program).arg("benches/passed.c"))?;
    let mut page = format!(
        "# What the preload library costs a call that it passes on\n\n{about}\n\
         `benches/passed.c`: `MPI_Alltoallv`, which the library has, and `PMPI_Alltoallv`, which it has not, in pairs of \
         batches in one program, a byte from each rank to each. Medians over all pairs, in microseconds per call, with \
         the middle half of the pairs. Each line was run {rounds} times, in turn with the others of its table, and the run \
         with the median difference is shown beside the lowest and the highest. The target is 1 us or 1 %, whichever is larger.\n"
    );
    for [ranks, calls, pairs] in RUNS {
        let _ = write!(
            page,
            "\n## {ranks} rank{}\n\n| | PMPI, us | more, us | middle half | lowest and highest run | more, % | within the \
             target |\n| --- | ---: | ---: | --- | --- | ---: | --- |\n",
            if ranks == "1" { "" } else { "s" }
        );
        let mut runs: Vec<Vec<Run>> = vec![Vec::new(); SIDES.len()];
        for _ in 0..rounds {
            for ((_, preloaded, environment), runs) in SIDES.iter().zip(&mut runs) {
                let mut command = project.command("mpirun");
                command.envs(Library::OpenMpi.environment()).args(["-n", ranks]);
                if *preloaded {
                    let library = project.target().join("release/liboptiq_preload.so");
                    command.arg("-x").arg(format!("LD_PRELOAD={}", library.display()));
                }
                for (name, value) in *environment {
                    command.arg("-x").arg(format!("{name}={value}"));
                }
                let text = process::capture(command.arg(&program).args(["1", calls, pairs]))?;
                runs.push(Run::read(&text)?);
            }
        }
        for ((title, ..), runs) in SIDES.iter().zip(&mut runs) {
            page.push_str(&line(title, runs));
        }
    }
    Ok(page)
}

/// Microseconds.
#[derive(Clone, Copy)]
struct Run {
    plain: f64,
    more: f64,
    half: [f64; 2],
}

impl Run {
    fn read(text: &str) -> Outcome<Self> {
        let of = |key| Ok(1e6 * number(text, key)?);
        Ok(Self {
            plain: of("pmpi_seconds")?,
            more: of("more_seconds")?,
            half: [of("more_seconds_at_a_quarter")?, of("more_seconds_at_three_quarters")?],
        })
    }
}

fn line(title: &str, runs: &mut [Run]) -> String {
    runs.sort_by(|a, b| a.more.total_cmp(&b.more));
    let (Some(lowest), Some(highest), Some(run)) = (runs.first(), runs.last(), runs.get(runs.len() / 2)) else {
        return String::new();
    };
    let Run { plain, more, half: [from, to] } = run;
    let within = if *more <= (plain / 100.0).max(1.0) { "yes" } else { "no" };
    format!(
        "| {title} | {plain:.3} | {more:.3} | {from:.3} to {to:.3} | {:.3} and {:.3} | {:.2} | {within} |\n",
        lowest.more,
        highest.more,
        100.0 * more / plain
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_run_is_shown() {
        let run = |more| Run { plain: 200.0, more, half: [more - 0.5, more + 0.5] };
        let text = line("x", &mut [run(3.0), run(1.5), run(-1.0)]);
        assert_eq!(text, "| x | 200.000 | 1.500 | 1.000 to 2.000 | -1.000 and 3.000 | 0.75 | yes |\n");
        assert!(line("x", &mut [run(2.1)]).ends_with("| 1.05 | no |\n"));
        let read = Run::read(
            "{\"pmpi_seconds\": 1e-4, \"more_seconds\": 2e-6, \"more_seconds_at_a_quarter\": 0, \"more_seconds_at_three_quarters\": 1}",
        );
        assert_eq!(read.map(|r| (r.plain.round(), r.more.round())).ok(), Some((100.0, 2.0)));
    }
}
