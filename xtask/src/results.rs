//! `cargo xtask results`: measures, and writes the pages in `docs/results`.

use crate::args::Args;
use crate::failure::{Failure, Outcome};
use crate::install::Needs;
use crate::process::{self, Project};
use crate::requirements::{BUILD, LAB};
use std::fmt::Write;
use std::fs;
use std::process::Command;

const HELP: &str = "\
cargo xtask results [OPTIONS]

Builds OPTIQ, measures it, and writes the pages in docs/results: table-vii.md (plans for 1,024 nodes of a Blue Gene/Q
beside the thesis's Table VII) and lab.md (MPI_Alltoallv and optiq_alltoallv in turn on a lab of 16 hosts). Leave the
machine alone meanwhile.

  --repetitions N    timed runs of either kind (7)

Example:

  cargo xtask results --repetitions 9";

/// Thesis, Table VII: MB on the worst link at 1,024 nodes, per pattern: MPI, heuristic 1, heuristic 2, optimization.
const TABLE_VII: [(&str, [f64; 4]); 3] = [
    ("disjoint", [134.21, 63.04, 24.31, 18.28]),
    ("overlap", [134.21, 38.66, 22.21, 16.97]),
    ("subset", [134.21, 45.08, 21.75, 17.10]),
];
const PLANNERS: [&str; 4] = ["direct", "heu1", "heu2", "lp"];

pub fn main(arguments: &[String]) -> Outcome {
    let Some(mut args) = Args::new("results", HELP, arguments) else { return Ok(()) };
    let mut repetitions = 7u32;
    while let Some(flag) = args.next() {
        match flag.name {
            "--repetitions" => repetitions = args.parsed(&flag, "a number above zero")?,
            _ => return Err(args.unknown(&flag)),
        }
    }
    Needs::default().required(BUILD).required(LAB).meet(true)?;
    let project = Project::locate()?;
    process::step("build optiq", || {
        let what = ["--release", "--package", "optiq-cli", "--features", "mpi"];
        process::run(&mut project.cargo("build", what))
    })?;
    let about = about(&project)?;
    let table = process::step("plan for 1,024 nodes", || table_vii(&project, &about))?;
    let lab = process::step("measure in the lab", || lab(&project, &about, repetitions))?;
    for (name, text) in [("table-vii.md", table), ("lab.md", lab)] {
        let path = project.root().join("docs/results").join(name);
        let written = fs::create_dir_all(project.root().join("docs/results")).and_then(|()| fs::write(&path, text));
        written.map_err(|e| Failure::Failed(format!("{} cannot be written: {e}", path.display())))?;
        println!("{}", path.display());
    }
    Ok(())
}

/// When, on what, and with which versions.
fn about(project: &Project) -> Outcome<String> {
    let first = |text: String| text.lines().next().unwrap_or_default().trim().to_string();
    let say = |program: &str, arguments: &[&str]| process::capture(project.command(program).args(arguments)).map(first);
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|l| l.strip_prefix("model name"))
        .map_or("unknown", |l| l.trim_start_matches([' ', '\t', ':']));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let dirty = if say("git", &["status", "--porcelain"])?.is_empty() { "" } else { ", with changes" };
    Ok(format!(
        "Made by `cargo xtask results` on {}. Machine: {cores} cores ({model}), {}, shared with other work.\n\
         Versions: OPTIQ {}{dirty}, {}, {}.\n",
        say("date", &["-u", "+%Y-%m-%d %H:%M UTC"])?,
        say("uname", &["-sr"])?,
        say("git", &["rev-parse", "--short", "HEAD"])?,
        say("rustc", &["--version"])?,
        say("mpirun", &["--version"])?,
    ))
}

fn optiq(project: &Project, arguments: &[&str]) -> Command {
    let mut command = project.command(project.target().join("release").join("optiq"));
    command.args(arguments).arg("--json");
    command
}

fn table_vii(project: &Project, about: &str) -> Outcome<String> {
    let mut page = format!(
        "# Plans at 1,024 nodes, beside the thesis's Table VII\n\n{about}\n\
         `optiq plan --topology bgq:1024 --demands pattern:PATTERN --message 8MiB --k 50 --planner PLANNER`. MB are 10^6 \
         bytes on the most loaded physical link. `direct`, the fabric's own routes, stands for the thesis's MPI row. The \
         bound holds for every routing. Paths per link are means over links that some path takes.\n\n\
         | pattern | planner | thesis, MB | here, MB | no more than the thesis | bound, MB | paths | per pair, most | per link, most | per link, mean | candidates, s | planning, s |\n\
         | --- | --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
    );
    for (pattern, published) in TABLE_VII {
        for (planner, published) in PLANNERS.iter().zip(published) {
            let demands = format!("pattern:{pattern}");
            let plan = ["plan", "--topology", "bgq:1024", "--demands", &demands, "--message", "8MiB", "--k", "50"];
            let text = process::capture(optiq(project, &plan).args(["--planner", planner]))?;
            let n = |key| number(&text, key);
            let megabytes = n("bytes_per_link_max")? / 1e6;
            // Published values are rounded to 10 kB.
            let verdict = if megabytes <= published + 0.005 + 1e-9
                || *planner == "direct" && (megabytes - published).abs() < 0.02
            {
                "yes"
            } else {
                "no"
            };
            let bound = n("bound_seconds")? * n("unit_capacity_bytes_per_second")? / 1e6;
            let _ = writeln!(
                page,
                "| {pattern} | {planner} | {published:.2} | {megabytes:.2} | {verdict} | {bound:.2} | {} | {} | {} | {:.2} | {:.3} | {:.3} |",
                n("paths")?,
                n("paths_per_job_max")?,
                n("paths_per_link_max")?,
                n("paths_per_link_mean")?,
                n("candidates_seconds")?,
                n("plan_seconds")?
            );
        }
    }
    page.push_str(
        "\nThe thesis's means for the MPI row are 3.07, 3.38 and 3.52; the routing that was found reproduces the first \
         (decision 007). `overlap` and `subset` are this project's definitions, with destinations from P/32 and from 0.\n",
    );
    Ok(page)
}

fn lab(project: &Project, about: &str, repetitions: u32) -> Outcome<String> {
    let mut page = format!(
        "# `MPI_Alltoallv` and `optiq_alltoallv` in turn on a real network\n\n{about}\n\
         `optiq demo --rate RATE --demands pattern:PATTERN --planner PLANNER --repetitions {repetitions}`: a 4x4 torus of 16 hosts, \
         one rank each, 4 MB per pair, every byte of every repetition checked. Medians; in brackets the share of the link \
         bound that was reached. One stream alone is the calibration: its share of a link, over one link and over the \
         longest route.\n\n\
         | pattern | planner | links, Mbit/s | one stream | MPI, s | its bound, s | OPTIQ, s | its bound, s | speed-up |\n\
         | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
    );
    let cases = [
        ("disjoint", "lp", 100),
        ("overlap", "lp", 100),
        ("subset", "lp", 100),
        ("disjoint", "heu2", 100),
        ("disjoint", "lp", 50),
    ];
    for (pattern, planner, rate) in cases {
        let (demands, rate_text, n) = (format!("pattern:{pattern}"), format!("{rate}Mbit/s"), repetitions.to_string());
        let demo = ["demo", "--rate", &rate_text, "--demands", &demands, "--planner", planner, "--repetitions", &n];
        let text = process::capture(&mut optiq(project, &demo))?;
        let side = |name| {
            section(&text, name).and_then(|s| {
                Ok((number(s, "median_seconds")?, number(s, "link_bound_seconds")?, number(s, "share_of_bound")?))
            })
        };
        let ((mpi, mpi_bound, mpi_share), (ours, our_bound, our_share)) = (side("mpi")?, side("optiq")?);
        let shares: Vec<f64> =
            section(&text, "calibration")?.split("\"share\": ").skip(1).filter_map(leading_number).collect();
        let streams: Vec<String> = shares.iter().map(|s| format!("{:.1} %", s * 100.0)).collect();
        let _ = writeln!(
            page,
            "| {pattern} | {planner} | {rate} | {} | {mpi:.3} ({:.0} %) | {mpi_bound:.3} | {ours:.3} ({:.0} %) | {our_bound:.3} | {:.2} |",
            streams.join(", "),
            mpi_share * 100.0,
            our_share * 100.0,
            number(&text, "ratio")?
        );
    }
    Ok(page)
}

/// What follows `"name":` in one of our own documents.
fn section<'a>(text: &'a str, name: &str) -> Outcome<&'a str> {
    let key = format!("\"{name}\": ");
    let found = text.split_once(&key).map(|(_, rest)| rest);
    found.ok_or_else(|| Failure::Failed(format!("optiq printed no \"{name}\"")))
}

/// The number that follows the first `"key":`.
fn number(text: &str, key: &str) -> Outcome<f64> {
    let rest = section(text, key)?;
    leading_number(rest).ok_or_else(|| Failure::Failed(format!("optiq printed a \"{key}\" that is no number")))
}

fn leading_number(text: &str) -> Option<f64> {
    let end = text.find([',', '\n', '}', ']']).unwrap_or(text.len());
    text[..end].trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_document() {
        let text = "{\n  \"a\": 1.5,\n  \"mpi\": {\n    \"seconds\": [\n 1.0 ],\n    \"median_seconds\": 2e-3\n  },\n  \"x\": \"word\"\n}";
        assert_eq!(number(text, "a").ok(), Some(1.5));
        assert_eq!(number(section(text, "mpi").unwrap(), "median_seconds").ok(), Some(0.002));
        assert!(number(text, "b").is_err());
        assert!(number(text, "x").is_err());
    }
}
