//! `cargo xtask results`: measures, and writes the pages in `docs/results`.

use crate::args::Args;
use crate::failure::{Failure, Outcome};
use crate::install::Needs;
use crate::mpi::Library;
use crate::process::{self, Project};
use crate::requirements::{BUILD, LAB, OPEN_MPI};
use crate::{booksim_page, io_page, lab_page, preload_page, simulator_page};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::{fs, io};

const HELP: &str = "\
cargo xtask results [OPTIONS]

Builds OPTIQ, measures it, and writes the pages in docs/results: o1.md and the like (`optiq reproduce`: what the thesis
published, ours, verdict), cases-91.md (its 91 cases), table-vii.md (plans for 1,024 nodes of a Blue Gene/Q beside the
thesis's Table VII), lab.md (MPI_Alltoallv and optiq_alltoallv in turn on labs of 16 hosts and on this machine), io.md
(collective file access in a lab), preload.md (what the preload library costs), simulator.md (how fast the simulator is, and its
predictions beside what lab.md says was measured), booksim.md (load-latency curves beside BookSim2's), and README.md, which
lists them. Leave the machine alone meanwhile; lab
and io take about twenty minutes each, reproduce about an hour and a half.

  --only PART        reproduce, cases, table-vii, lab, io, preload, simulator or booksim; may be given more than once (all of them)
  --repetitions N    timed runs of either kind in the lab (7)

Examples:

  cargo xtask results --repetitions 9
  cargo xtask results --only reproduce --only cases";

/// The claims that `optiq reproduce` runs; 91 has a part of its own, as it takes minutes.
const CLAIMS: [&str; 19] = [
    "O1", "O2", "O3", "O4", "O5", "O6", "O7", "O8", "O9", "O10", "O11", "O12", "O13", "O14", "O15", "O16", "O17",
    "O18", "O19",
];

const PARTS: [&str; 8] = ["reproduce", "cases", "table-vii", "lab", "io", "preload", "simulator", "booksim"];

/// Thesis, Table VII: MB on the worst link at 1,024 nodes, per pattern: MPI, heuristic 1, heuristic 2, optimization (here
/// by planner lp and by planner optimal). In hundredths, cut there and not rounded.
const TABLE_VII: [(&str, [u64; 5]); 3] = [
    ("disjoint", [13421, 6304, 2431, 1828, 1828]),
    ("overlap", [13421, 3866, 2221, 1697, 1697]),
    ("subset", [13421, 4508, 2175, 1710, 1710]),
];
const PLANNERS: [&str; 5] = ["direct", "heu1", "heu2", "lp", "optimal"];

pub fn main(arguments: &[String]) -> Outcome {
    let Some(mut args) = Args::new("results", HELP, arguments) else { return Ok(()) };
    let mut repetitions = 7u32;
    let mut only: Vec<String> = Vec::new();
    while let Some(flag) = args.next() {
        match flag.name {
            "--repetitions" => repetitions = args.parsed(&flag, "a number above zero")?,
            "--only" => {
                let part: String = args.parsed(&flag, &PARTS.join(", "))?;
                if !PARTS.contains(&part.as_str()) {
                    return Err(Failure::Usage(format!("--only {part}: one of {} is expected", PARTS.join(", "))));
                }
                only.push(part);
            }
            _ => return Err(args.unknown(&flag)),
        }
    }
    let wanted = |part: &str| only.is_empty() || only.iter().any(|o| o == part);
    // The simulator's own tests need neither the program nor MPI.
    let runs_optiq = PARTS.iter().any(|part| *part != "booksim" && wanted(part));
    let needs = Needs::default().required(BUILD);
    let needs = if runs_optiq { needs.required(OPEN_MPI) } else { needs };
    if wanted("lab") || wanted("io") { needs.required(LAB) } else { needs }.meet(true)?;
    let project = Project::locate()?;
    let build = build(&project)?;
    if runs_optiq {
        process::step("build optiq", || {
            let what = ["--release", "--package", "optiq-cli", "--package", "optiq-preload", "--features", "mpi"];
            process::run(project.cargo("build", what).env("OPTIQ_BUILD", &build).envs(Library::OpenMpi.environment()))
        })?;
    }
    let about = about(&project, "results", &build)?;
    let pages = project.root().join("docs/results");
    fs::create_dir_all(&pages).map_err(|e| unwritten(&pages, &e))?;
    if wanted("reproduce") {
        process::step("run the thesis's claims", || reproduce(&project, &CLAIMS))?;
    }
    if wanted("cases") {
        process::step("plan the 91 cases", || reproduce(&project, &["91"]))?;
    }
    if wanted("table-vii") {
        let text = process::step("plan for 1,024 nodes", || table_vii(&project, &about))?;
        write_page(&pages.join("table-vii.md"), &text)?;
    }
    if wanted("lab") {
        let text = process::step("measure in the lab", || lab_page::page(&project, &about, repetitions))?;
        write_page(&pages.join("lab.md"), &text)?;
    }
    if wanted("io") {
        let text = process::step("access files in the lab", || io_page::page(&project, &about, repetitions))?;
        write_page(&pages.join("io.md"), &text)?;
    }
    if wanted("preload") {
        let text = process::step("pass calls on", || preload_page::page(&project, &about, repetitions))?;
        write_page(&pages.join("preload.md"), &text)?;
    }
    if wanted("simulator") {
        let text = process::step("simulate", || simulator_page::page(&project, &about))?;
        write_page(&pages.join("simulator.md"), &text)?;
    }
    if wanted("booksim") {
        let text = process::step("simulate BookSim's curves", || booksim_page::page(&project, &about))?;
        write_page(&pages.join("booksim.md"), &text)?;
    }
    write_index(&pages)
}

/// Writes the page that lists the others, from what is there.
pub fn write_index(pages: &Path) -> Outcome {
    write_page(&pages.join(INDEX), &index(pages)?)
}

/// The page that lists the others.
const INDEX: &str = "README.md";

fn unwritten(path: &Path, e: &io::Error) -> Failure {
    Failure::Failed(format!("{} cannot be written: {e}", path.display()))
}

/// Writes a page, and says where.
pub fn write_page(path: &Path, text: &str) -> Outcome {
    fs::write(path, text).map_err(|e| unwritten(path, &e))?;
    println!("{}", path.display());
    Ok(())
}

/// Runs claims, which write their own pages.
fn reproduce(project: &Project, claims: &[&str]) -> Outcome {
    let mut command = project.command(project.program("optiq"));
    process::run(command.arg("reproduce").args(claims).args(["--output", "docs/results"]))
}

/// The index: a line for each page, with its title and its verdict, if it has one.
fn index(pages: &Path) -> Outcome<String> {
    let unread = |e: io::Error| Failure::Failed(format!("{} cannot be read: {e}", pages.display()));
    let mut found: Vec<(String, String)> = Vec::new();
    for entry in fs::read_dir(pages).map_err(unread)? {
        let name = entry.map_err(unread)?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") && name != INDEX {
            let text = fs::read_to_string(pages.join(&name)).map_err(unread)?;
            found.push((name, text));
        }
    }
    Ok(index_of(found))
}

fn index_of(mut pages: Vec<(String, String)>) -> String {
    // o2 before o14: by the number in the name.
    let number = |name: &str| name.chars().filter(char::is_ascii_digit).collect::<String>().parse::<u64>().ok();
    let kind = |name: &str| name.chars().take_while(char::is_ascii_alphabetic).collect::<String>();
    pages.sort_by_key(|(name, _)| (kind(name), number(name), name.clone()));
    let mut text = String::from(
        "# Results\n\nWhat was measured and reproduced, one page each, made by `cargo xtask results` and `cargo xtask race-codes`; each page names its \
         machine, versions, date and command.\n\n",
    );
    for (name, page) in &pages {
        let title = page.lines().find_map(|l| l.strip_prefix("# ")).unwrap_or(name);
        let verdict = page.lines().find_map(|l| l.strip_prefix("Verdict: ")).unwrap_or_default().trim_end_matches('.');
        let verdict = if verdict.is_empty() { String::new() } else { format!(" \u{2014} {verdict}") };
        let _ = writeln!(text, "- [{title}]({name}){verdict}");
    }
    text
}

/// Revision and compiler.
pub fn build(project: &Project) -> Outcome<String> {
    let dirty = if say(project, "git", &["status", "--porcelain"])?.is_empty() { "" } else { ", with changes" };
    let revision = say(project, "git", &["rev-parse", "--short", "HEAD"])?;
    Ok(format!("{revision}{dirty}, {}", say(project, "rustc", &["--version"])?))
}

/// The first line that a program prints.
pub fn say(project: &Project, program: &str, arguments: &[&str]) -> Outcome<String> {
    let text = process::capture(project.command(program).args(arguments))?;
    Ok(text.lines().next().unwrap_or_default().trim().to_string())
}

/// Which command made the page, when, on what, and with which versions.
pub fn about(project: &Project, command: &str, build: &str) -> Outcome<String> {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|l| l.strip_prefix("model name"))
        .map_or("unknown", |l| l.trim_start_matches([' ', '\t', ':']));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    // Only the lab needs MPI.
    let mpi = say(project, "mpirun", &["--version"]).unwrap_or_else(|_| "no mpirun".into());
    Ok(format!(
        "Made by `cargo xtask {command}` on {}. Machine: {cores} cores ({model}), {}, shared with other work.\n\
         Versions: OPTIQ {build}, {mpi}.\n",
        say(project, "date", &["-u", "+%Y-%m-%d %H:%M UTC"])?,
        say(project, "uname", &["-sr"])?,
    ))
}

fn optiq(project: &Project, arguments: &[&str]) -> Command {
    let mut command = project.command(project.program("optiq"));
    command.args(arguments).arg("--json");
    command
}

fn table_vii(project: &Project, about: &str) -> Outcome<String> {
    let mut page = format!(
        "# Plans at 1,024 nodes, beside the thesis's Table VII\n\n{about}\n\
         `optiq plan --topology bgq:1024 --demands pattern:PATTERN --message 8MiB --k 50 --planner PLANNER`. MB are 10^6 \
         bytes on the most loaded physical link, rounded here, cut after two decimals in the thesis, and compared \
         after cutting. `direct`, the fabric's own routes, stands for the thesis's MPI row. The \
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
            let verdict = if no_more(n("bytes_per_link_max")?, published) { "yes" } else { "no" };
            let bound = n("bound_seconds")? * n("unit_capacity_bytes_per_second")? / 1e6;
            let _ = writeln!(
                page,
                "| {pattern} | {planner} | {}.{:02} | {megabytes:.2} | {verdict} | {bound:.2} | {} | {} | {} | {:.2} | {:.3} | {:.3} |",
                published / 100,
                published % 100,
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

/// Whether so many bytes, cut to hundredths of 10^6 bytes as the thesis cuts, are no more than published.
fn no_more(bytes: f64, published_hundredths: u64) -> bool {
    // A division and a multiplication may have put a whole number of bytes just below itself.
    ((bytes + 1e-3) / 1e4).floor() <= published_hundredths as f64
}

/// What follows `"name":` in one of our own documents.
fn section<'a>(text: &'a str, name: &str) -> Outcome<&'a str> {
    let key = format!("\"{name}\": ");
    let found = text.split_once(&key).map(|(_, rest)| rest);
    found.ok_or_else(|| Failure::Failed(format!("optiq printed no \"{name}\"")))
}

/// The number that follows the first `"key":`.
pub fn number(text: &str, key: &str) -> Outcome<f64> {
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
    fn published_amounts_are_cut() {
        // 128 MiB are 134.217728 MB, which the thesis prints as 134.21.
        assert!(no_more(134_217_728.0, 13421) && no_more(134_217_727.999_999_9, 13421));
        assert!(!no_more(134_220_000.0, 13421) && !no_more(134_219_999.999_999_9, 13421));
        assert!(no_more(17_109_999.0, 1710) && !no_more(17_110_000.0, 1710));
    }

    #[test]
    fn the_index_has_a_line_for_each_page() {
        let page = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let index = index_of(vec![
            page("o14.md", "# O14: x\n\nVerdict: **not shown: y**.\n"),
            page("lab.md", "# Lab\n"),
            page("o2.md", "# O2: z\n\nVerdict: **shown**.\n"),
        ]);
        let lines: Vec<&str> = index.lines().filter(|l| l.starts_with("- ")).collect();
        assert_eq!(
            lines,
            ["- [Lab](lab.md)", "- [O2: z](o2.md) \u{2014} **shown**", "- [O14: x](o14.md) \u{2014} **not shown: y**"]
        );
    }

    #[test]
    fn fields_of_a_document() {
        let text = "{\n  \"a\": 1.5,\n  \"mpi\": {\n    \"seconds\": [\n 1.0 ],\n    \"median_seconds\": 2e-3\n  },\n  \"x\": \"word\"\n}";
        assert_eq!(number(text, "a").ok(), Some(1.5));
        assert_eq!(number(section(text, "mpi").unwrap(), "median_seconds").ok(), Some(0.002));
        assert!(number(text, "b").is_err());
        assert!(number(text, "x").is_err());
    }
}
