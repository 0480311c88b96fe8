//! What the benchmarks share: the command line, measuring in turn, medians, tables.
//!
//! Things that are compared run in turn in one process, in an order that is turned round from repetition to
//! repetition, so that whatever else the machine does falls on all of them alike. A first round is not counted.

use optiq_measure::statistics::median;
use serde::Serialize;
use std::process::ExitCode;

/// What a benchmark found: one document for scripts, and tables for people.
pub trait Document: Serialize {
    /// The tables.
    fn text(&self) -> String;
}

/// A thing to measure: does it once, and gives the seconds that count.
pub type Subject<'a> = Box<dyn FnMut() -> Result<f64, String> + 'a>;

struct Options {
    repetitions: usize,
    json: bool,
}

/// Runs a benchmark as its command line says: `--repetitions N`, `--json`, `--help`. Status 2 for a wrong command line,
/// 1 if the measurement fails.
pub fn main<D: Document>(name: &str, repetitions: usize, measure: impl FnOnce(usize) -> Result<D, String>) -> ExitCode {
    let fail = |status: u8, error: String| {
        eprintln!("{name}: {error}");
        ExitCode::from(status)
    };
    let options = match options(std::env::args().skip(1), repetitions) {
        Ok(Some(options)) => options,
        Ok(None) => {
            println!("cargo bench --bench {name} -- [--repetitions N (default {repetitions})] [--json]");
            return ExitCode::SUCCESS;
        }
        Err(error) => return fail(2, error),
    };
    let document = match measure(options.repetitions) {
        Ok(document) => document,
        Err(error) => return fail(1, error),
    };
    if !options.json {
        print!("{}", document.text());
        return ExitCode::SUCCESS;
    }
    match serde_json::to_string_pretty(&document) {
        Ok(text) => println!("{text}"),
        Err(error) => return fail(1, error.to_string()),
    }
    ExitCode::SUCCESS
}

/// `None` if help is asked for.
fn options(mut words: impl Iterator<Item = String>, repetitions: usize) -> Result<Option<Options>, String> {
    let mut options = Options { repetitions, json: false };
    while let Some(word) = words.next() {
        match word.as_str() {
            // `cargo bench` adds it.
            "--bench" => {}
            "--json" => options.json = true,
            "--help" | "-h" => return Ok(None),
            "--repetitions" => {
                let value = words.next().unwrap_or_default();
                options.repetitions = value
                    .parse()
                    .ok()
                    .filter(|&n| n > 0)
                    .ok_or_else(|| format!("--repetitions is \"{value}\", and a number above zero is expected"))?;
            }
            other => return Err(format!("there is no option \"{other}\"; --help lists them")),
        }
    }
    Ok(Some(options))
}

/// The median seconds of every subject over `repetitions` rounds.
pub fn in_turn(repetitions: usize, subjects: &mut [Subject<'_>]) -> Result<Vec<f64>, String> {
    let mut seconds = vec![Vec::with_capacity(repetitions); subjects.len()];
    for round in 0..=repetitions {
        let mut order: Vec<usize> = (0..subjects.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for i in order {
            let took = subjects[i]()?;
            if round > 0 {
                seconds[i].push(took);
            }
        }
    }
    Ok(seconds.iter().map(|times| median(times).unwrap_or(f64::NAN)).collect())
}

/// Lines of cells below their heads, the first `left` columns aligned left and the others right.
pub fn table(left: usize, heads: &[&str], rows: &[Vec<String>]) -> String {
    let heads: Vec<String> = heads.iter().map(ToString::to_string).collect();
    let lines: Vec<&Vec<String>> = std::iter::once(&heads).chain(rows).collect();
    let widths: Vec<usize> =
        (0..heads.len()).map(|c| lines.iter().map(|l| l[c].chars().count()).max().unwrap_or(0)).collect();
    let cell = |c: usize, text: &str| {
        let width = widths[c];
        if c < left { format!("{text:<width$}") } else { format!("{text:>width$}") }
    };
    let line = |l: &&Vec<String>| {
        let cells: Vec<String> = l.iter().enumerate().map(|(c, text)| cell(c, text)).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    lines.iter().map(line).collect()
}
