//! O20: the interface of the thesis (Table IV) and its two source examples, in C, under `mpirun`.

use super::facts::{COLUMNS, left_out, row};
use super::setting::Setting;
use crate::failure::Failure;
use crate::findings::{Findings, Row, Verdict};
use crate::real_runs::{RealRuns, Source};
use crate::workspace;
use std::fs;

/// Table IV, part by part.
const TABLE_IV: [(&str, &[&str]); 6] = [
    ("initialization and finalization", &["optiq_init", "optiq_finalize"]),
    (
        "topology",
        &[
            "optiq_topology_init",
            "optiq_topology_get_size",
            "optiq_topology_get_nodeId",
            "optiq_topology_get_coordinate",
            "optiq_topology_get_torus",
            "optiq_topology_finalize",
        ],
    ),
    ("algorithms", &["optiq_alg_init", "optiq_alg_generate_kpaths", "optiq_alg_search_heu", "optiq_alg_finalize"]),
    ("schedule", &["optiq_schedule_init", "optiq_schedule_create_schedule", "optiq_schedule_finalize"]),
    ("transport", &["optiq_transport_init", "optiq_transport_execute", "optiq_transport_finalize"]),
    ("data movement", &["optiq_alltoallv", "optiq_execute_jobs_from_file"]),
];

/// Ranks of the programs, one on each host of this network.
const RANKS: u32 = 16;
const NETWORK: &str = "torus:4x4";

/// O20.
pub(super) fn table_iv(setting: &Setting) -> Result<Findings, Failure> {
    let runs = match RealRuns::find() {
        Ok(runs) => runs,
        Err(why) => return Ok(left_out(why)),
    };
    let mut rows: Vec<Row> = TABLE_IV.iter().map(|(part, functions)| called(part, functions)).collect();

    setting.progress.now("every function of Table IV");
    let said = run(&runs, Source::TableIv, &[&runs.path("").display().to_string()])?;
    rows.push(ran("every function of Table IV", &said, "all is well"));
    setting.progress.now("source example 1");
    rows.push(ran("source example 1", &run(&runs, Source::Alltoallv, &["1000000"])?, "all bytes are right"));
    setting.progress.now("source example 2");
    rows.push(aggregated(&runs)?);
    let notes = vec![format!(
        "Compiled by the MPI library's compiler wrapper against `optiq/include/optiq.h` and the shared library; {RANKS} ranks of this machine, which \
         stand for the nodes of `{NETWORK}`. The thesis passes C++ vectors of jobs; here a list of jobs is a handle, so that C and Fortran have it as \
         well. `tests/c/table_iv.c` looks at what each function returns, at every byte that moves, and at wrong arguments."
    )];
    Ok(Findings::new(COLUMNS, rows, notes))
}

/// How many functions of a part the programs call.
fn called(part: &str, functions: &[&str]) -> Row {
    let callers = [Source::TableIv, Source::Alltoallv, Source::Aggregate].map(Source::text);
    let is_missing = |name: &&str| !callers.iter().any(|text| text.contains(&format!("{name}(")));
    let missing: Vec<&str> = functions.iter().copied().filter(is_missing).collect();
    let verdict = Verdict::of(missing.is_empty(), || format!("{} is not called", missing.join(", ")));
    let found = ((functions.len() - missing.len()) as f64, "functions");
    row(&format!("Table IV, {part}"), "called by the programs below", found, &functions.len().to_string(), verdict)
}

/// What a program prints that runs on all ranks.
fn run(runs: &RealRuns, source: Source, arguments: &[&str]) -> Result<String, Failure> {
    let program = runs.compile(source)?;
    let words = runs.mpirun(RANKS);
    let mut command = runs.command(&words[0]);
    command.args(&words[1..]).arg(program).args(arguments);
    command.env("OPTIQ_TOPOLOGY", NETWORK).env("OPTIQ_PLACEMENT", "rank").env("OPTIQ_ALGORITHM", "multipath");
    workspace::capture(&mut command)
}

/// Whether a program said what it says when all went well.
fn ran(case: &str, said: &str, expected: &str) -> Row {
    let well = said.contains(expected);
    let verdict = Verdict::of(well, || format!("{case} printed: {said:.200}"));
    row(case, "runs, and its bytes are right", (f64::from(u8::from(well)), "of 1"), &format!("\"{expected}\""), verdict)
}

/// Source example 2: all ranks' bytes over paths from a file to two bridge nodes, and from there into a file.
fn aggregated(runs: &RealRuns) -> Result<Row, Failure> {
    let mut plan = runs.optiq(&[
        "transfers",
        "plan",
        "--topology",
        NETWORK,
        "--to",
        "0,10",
        "--bytes",
        "750000",
        "--output",
        "bridges.jobs",
    ]);
    workspace::run(&mut plan)?;
    let said = run(runs, Source::Aggregate, &["bridges.jobs", "out.dat"])?;
    let written = fs::read(runs.path("out.dat"));
    let written = written.map_err(|e| Failure::Work(format!("what source example 2 wrote cannot be read: {e}")))?;
    // As its own source has it: a rank's number, as often as it has bytes.
    let expected: Vec<u8> = (0..RANKS as usize).flat_map(|r| vec![r as u8; 700_000 + (r * 7919) % 100_000]).collect();
    let wrong = written.iter().zip(&expected).filter(|(a, b)| a != b).count() + written.len().abs_diff(expected.len());
    let verdict = Verdict::of(wrong == 0 && said.contains("paths by planner jobs"), || {
        format!("source example 2 wrote {wrong} wrong bytes, and printed: {said:.200}")
    });
    Ok(row(
        "source example 2",
        "bytes of the file that are right",
        ((expected.len() - wrong) as f64, "B"),
        &expected.len().to_string(),
        verdict,
    ))
}
