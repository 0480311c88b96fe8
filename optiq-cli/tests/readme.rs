//! The README: its length, its links, its figures, its commands, and its picture.
//!
//! The picture, docs/picture.svg, is drawn here from the document of docs/results/lab.md. After new measurements,
//! `OPTIQ_BLESS=1 cargo test --release -p optiq-cli --features mpi --test readme` writes it.
//!
//! Text between the lines `<!-- figures: PAGE -->` and `<!-- end of figures -->` is copied from the document of PAGE by `cargo run -p
//! optiq-studies -- readme`. It may state a number with a decimal point only if PAGE has it as well; text outside states none.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use optiq_studies::document::{StudyContent, StudyDocument};
use optiq_studies::studies::lab::LabContent;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The exchanges of the picture: network, case as the results page has it, and what the picture says.
const CASES: [(&str, &str, &str); 7] = [
    ("torus:4x4", "disjoint, 4MB", "disjoint, 4 MB per pair"),
    ("torus:4x4", "overlap, 4MB", "overlap, 4 MB per pair"),
    ("torus:4x4", "subset, 4MB", "subset, 4 MB per pair"),
    ("torus:4x4", "random,count=8,seed=2, 4MB", "8 random pairs, 4 MB each"),
    ("torus:4x4", "alltoall, 512kB", "all to all, 512 kB per pair"),
    ("torus:4x4", "alltoall, 64kB", "all to all, 64 kB per pair"),
    ("fattree:k=4", "overlap, 4MB", "fat tree: overlap, 4 MB"),
];
const RESULTS: &str = "docs/results/lab.md";
const DOCUMENT: &str = "docs/results/data/lab.json";
const PICTURE: &str = "docs/picture.svg";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// One measured exchange; times in milliseconds.
struct Measured {
    label: &'static str,
    mpi: f64,
    optiq: f64,
    mpi_bound: f64,
    optiq_bound: f64,
    ratio: String,
    is_served_by_mpi: bool,
}

/// The document of the page.
fn lab() -> LabContent {
    match StudyDocument::read(&root().join(DOCUMENT)).unwrap().content {
        StudyContent::Lab(content) => content,
        _ => panic!("{DOCUMENT} is of another study"),
    }
}

/// The first result of a case on a network.
fn measured(lab: &LabContent, (network, case, label): (&str, &str, &'static str)) -> Measured {
    let labs = lab.labs.iter().filter(|lab| lab.topology == network);
    let found = labs.flat_map(|lab| &lab.benches).flat_map(|bench| &bench.suite.cases).find(|found| found.case == case);
    let found = found.unwrap_or_else(|| panic!("{DOCUMENT} has no case \"{case}\" on {network}"));
    Measured {
        label,
        mpi: found.mpi.median_seconds * 1e3,
        optiq: found.optiq.median_seconds * 1e3,
        ratio: format!("{:.2} x", found.ratio),
        mpi_bound: found.mpi.link_bound_seconds * 1e3,
        optiq_bound: found.optiq.link_bound_seconds * 1e3,
        is_served_by_mpi: found.served_by == "MPI",
    }
}

/// Where bars begin, and how wide the longest may be.
const LEFT: f64 = 230.0;
const WIDTH: f64 = 560.0;
const TOP: f64 = 118.0;
const STEP: f64 = 54.0;

/// The picture has a background of its own, so that it can be read wherever it is shown, and darker colours where the
/// reader's system asks for these.
const STYLE: &str = "
.card { fill: #ffffff; stroke: #d0d7de; }
text { font: 14px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #1f2328; }
.title { font-size: 18px; font-weight: 600; }
.small { font-size: 12px; fill: #59636e; }
.ratio { font-weight: 600; }
.mpi { fill: #9aa4b0; }
.optiq { fill: #0969da; }
.bound { stroke: #1f2328; stroke-width: 2; }
.grid { stroke: #d0d7de; stroke-width: 1; }
@media (prefers-color-scheme: dark) {
.card { fill: #0d1117; stroke: #3d444d; }
text { fill: #f0f6fc; }
.small { fill: #9198a1; }
.mpi { fill: #768390; }
.optiq { fill: #4493f8; }
.bound { stroke: #f0f6fc; }
.grid { stroke: #3d444d; }
}
";

fn picture(rows: &[Measured], repetitions: u32) -> String {
    let longest = rows.iter().map(|r| r.mpi.max(r.optiq)).fold(0.0, f64::max);
    let unit = if longest > 800.0 { 200.0 } else { 100.0 };
    let last = (longest / unit).ceil();
    let x = |time: f64| LEFT + WIDTH * time / (last * unit);
    let bottom = TOP + STEP * rows.len() as f64;
    let height = bottom + 52.0;
    let mut svg = String::new();
    let mut add = |line: String| writeln!(svg, "{line}").unwrap();
    add(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\" height=\"{height}\" viewBox=\"0 0 900 {height}\" role=\"img\">"
    ));
    add("<title>Times of exchanges with MPI_Alltoallv and with optiq_alltoallv</title>".into());
    add(format!("<style>{STYLE}</style>"));
    add(format!("<rect class=\"card\" x=\"0.5\" y=\"0.5\" width=\"899\" height=\"{}\" rx=\"8\"/>", height - 1.0));
    add("<text class=\"title\" x=\"24\" y=\"36\">Time of one exchange between 16 hosts, links of 100 Mbit/s</text>"
        .into());
    add("<rect class=\"mpi\" x=\"24\" y=\"56\" width=\"14\" height=\"14\"/><text x=\"46\" y=\"68\">MPI_Alltoallv</text>".into());
    add("<rect class=\"optiq\" x=\"170\" y=\"56\" width=\"14\" height=\"14\"/><text x=\"192\" y=\"68\">optiq_alltoallv</text>".into());
    add("<path class=\"bound\" d=\"M331 54v18\"/><text x=\"342\" y=\"68\">lower bound: what the most loaded link needs for its bytes</text>".into());
    for tick in 0..=last as usize {
        let (time, at) = (tick as f64 * unit, x(tick as f64 * unit));
        add(format!("<path class=\"grid\" d=\"M{at:.1} {:.0}V{bottom:.0}\"/>", TOP - 10.0));
        add(format!(
            "<text class=\"small\" x=\"{at:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{time} ms</text>",
            TOP - 16.0
        ));
    }
    for (row, index) in rows.iter().zip(0..) {
        let y = TOP + STEP * f64::from(index);
        add(format!("<text x=\"{}\" y=\"{:.0}\" text-anchor=\"end\">{}</text>", LEFT - 12.0, y + 25.0, row.label));
        for (class, top, time, bound) in
            [("mpi", y + 2.0, row.mpi, row.mpi_bound), ("optiq", y + 22.0, row.optiq, row.optiq_bound)]
        {
            let width = x(time) - LEFT;
            add(format!("<rect class=\"{class}\" x=\"{LEFT}\" y=\"{top:.0}\" width=\"{width:.1}\" height=\"17\"/>"));
            add(format!("<path class=\"bound\" d=\"M{:.1} {:.0}v21\"/>", x(bound), top - 2.0));
        }
        let ratio =
            if row.is_served_by_mpi { format!("{}, served by MPI_Alltoallv", row.ratio) } else { row.ratio.clone() };
        let longer = x(row.mpi.max(row.mpi_bound)).max(x(row.optiq));
        // Beside OPTIQ's bar, unless MPI's is shorter or as long.
        let at = if row.is_served_by_mpi { longer } else { x(row.optiq.max(row.optiq_bound)) };
        add(format!("<text class=\"ratio\" x=\"{:.1}\" y=\"{:.0}\">{ratio}</text>", at + 10.0, y + 36.0));
    }
    add(format!(
        "<text class=\"small\" x=\"24\" y=\"{:.0}\">The first six rows: a 4x4 torus. x: MPI's time divided by OPTIQ's. Medians of {repetitions} repetitions, every byte checked. \
         Numbers: {RESULTS}.</text>",
        bottom + 28.0
    ));
    add("</svg>".into());
    svg
}

#[test]
fn the_picture_shows_the_numbers_of_the_results_page() {
    let lab = lab();
    let drawn = picture(&CASES.map(|case| measured(&lab, case)), lab.repetitions);
    if std::env::var_os("OPTIQ_BLESS").is_some() {
        fs::write(root().join(PICTURE), &drawn).unwrap();
    }
    assert!(
        read(PICTURE) == drawn,
        "{PICTURE} is not what {DOCUMENT} says; OPTIQ_BLESS=1 cargo test --release -p optiq-cli --features mpi --test readme"
    );
    assert!(read("README.md").contains(&format!("({PICTURE})")), "the README shows the picture");
}

#[test]
fn the_readme_is_short_and_its_links_lead_somewhere() {
    let text = read("README.md");
    assert!(text.lines().count() <= 150, "the README has {} lines", text.lines().count());
    for link in text.split("](").skip(1) {
        let target = link.split([')', '#']).next().unwrap();
        assert!(target.contains("://") || root().join(target).exists(), "the README has a link to {target}");
    }
}

/// Numbers with a decimal point, apart from versions and sizes of networks.
fn figures(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !(c.is_ascii_digit() || c == '.')).map(|w| w.trim_matches('.'));
    words.filter(|w| w.split_once('.').is_some_and(|(a, b)| !a.is_empty() && !b.is_empty())).map(String::from).collect()
}

#[test]
fn the_figures_of_the_readme_are_copied_from_pages() {
    let text = read("README.md");
    let copied = optiq_studies::readme::with_figures(&text, &root().join("docs/results")).unwrap();
    assert!(copied == text, "README.md is not what the documents say; cargo run -p optiq-studies -- readme");
}

#[test]
fn every_figure_of_the_readme_stands_on_a_results_page() {
    let (mut page, mut seen) = (None, 0);
    for line in read("README.md").lines() {
        if let Some(name) = line.strip_prefix("<!-- figures: ") {
            page = Some(read(name.trim_end_matches("-->").trim()));
        } else if line == "<!-- end of figures -->" {
            page = None;
        }
        for figure in figures(line) {
            // The oldest Rust toolchain that builds OPTIQ, as in Cargo.toml.
            let is_version = figure == env!("CARGO_PKG_RUST_VERSION");
            let stands = page.as_ref().is_some_and(|p| figures(p).contains(&figure));
            assert!(is_version || stands, "the README says {figure}, which is on no results page: {line}");
            seen += usize::from(stands);
        }
    }
    assert!(seen > 0, "the README has no figure");
}

#[test]
fn the_commands_of_the_readme_run() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("readme-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let text = read("README.md");
    let mut ran = 0;
    // A lab and ranks are the book's matter.
    let is_tried = |line: &&str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.first() == Some(&"optiq") && words.get(1).is_some_and(|w| !["lab", "wrap", "is"].contains(w))
    };
    for line in text.lines().filter(is_tried) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_optiq"));
        for (name, _) in std::env::vars().filter(|(n, _)| n.starts_with("OPTIQ_")) {
            command.env_remove(name);
        }
        command.env("OPTIQ_CONF", "none").args(line.split_whitespace().skip(1)).current_dir(&folder);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        ran += 1;
    }
    fs::remove_dir_all(&folder).unwrap();
    assert!(ran >= 5, "only {ran} commands were found in the README");
}
