//! `docs/results/simulator.md`: how fast the simulator is, and what it predicts beside what was measured.

use crate::failure::{Failure, Outcome};
use crate::process::{self, Project};
use crate::results::number;
use std::fmt::Write;

/// Networks of `lab.md` whose first table is compared.
const NETWORKS: [&str; 2] = ["torus:4x4", "torus:2x2x2x2"];
/// A prediction should be so close, in percent.
const WITHIN: f64 = 15.0;

/// A line of a table of `lab.md`.
struct Case {
    demands: String,
    message: Option<String>,
    mpi: f64,
    optiq: f64,
    served_by_mpi: bool,
}

/// Simulates for some minutes; returns the page.
pub fn page(project: &Project, about: &str) -> Outcome<String> {
    let mut page = format!(
        "# The simulator: its speed, and its predictions\n\n{about}\n\
         ## Speed\n\n`cargo bench -p optiq-sim --bench speed`: uniform random messages of 4 KB, one a microsecond from each host, the \
         middle one of three runs. Events are arrivals, what hosts do, and wake-ups of channels. The target on one core is 5 M \
         events/s, 400 k packets/s, at most 12 events a packet and 500 MB.\n\n"
    );
    let table = process::capture(&mut project.cargo("bench", ["--package", "optiq-sim", "--bench", "speed"]))?;
    table.lines().filter(|l| l.starts_with('|')).for_each(|l| page.push_str(&format!("{l}\n")));
    page.push_str(
        "\n## Predictions\n\nThe times of `lab.md`, measured there on a real network, and those that `optiq simulate --model lab` \
         finds for the same demands: all messages at once for MPI, planner optimal for OPTIQ. One model for all cases.\n",
    );
    let path = project.root().join("docs/results/lab.md");
    let measured = std::fs::read_to_string(&path)
        .map_err(|e| Failure::Failed(format!("{} cannot be read: {e}", path.display())))?;
    let (mut close, mut all, mut sum) = (0, 0, 0.0);
    for network in NETWORKS {
        let _ = write!(
            page,
            "\n### `{network}`\n\n| demands | message | MPI, measured, ms | simulated | off, % | OPTIQ, measured, ms | simulated | off, % |\n\
             | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        );
        for case in cases(&measured, network)? {
            let mpi = simulate(project, network, &case, &["--mpi", "linear"])?;
            let optiq = if case.served_by_mpi { mpi } else { simulate(project, network, &case, &[])? };
            let off = [(mpi, case.mpi), (optiq, case.optiq)].map(|(ours, measured)| (ours / measured - 1.0) * 100.0);
            close += off.iter().filter(|o| o.abs() <= WITHIN).count();
            all += off.len();
            sum += off.iter().map(|o| o.abs()).sum::<f64>();
            let _ = writeln!(
                page,
                "| {} | {} | {:.1} | {:.1} | {:+.1} | {:.1} | {:.1} | {:+.1} |",
                case.demands.trim_start_matches("pattern:"),
                case.message.as_deref().unwrap_or("-"),
                case.mpi * 1e3,
                mpi * 1e3,
                off[0],
                case.optiq * 1e3,
                optiq * 1e3,
                off[1],
            );
        }
    }
    let mean = sum / all.max(1) as f64;
    let _ =
        write!(page, "\n{close} of {all} predictions are within {WITHIN} %; on average they are {mean:.1} % off.\n");
    page.push_str(&executor(project)?);
    Ok(page)
}

/// What planned paths reach of their link bound at a thousand nodes.
fn executor(project: &Project) -> Outcome<String> {
    let mut text = String::from(
        "\n## A thousand nodes\n\n`optiq simulate --topology bgq:1024 --message 8MiB --threads 2`, planner optimal, with the overheads of \
         forwarding: 85 % of the link bound, in less than a minute, are asked for. Why stopping at every host helps: \
         `docs/executor.md`.\n\n\
         | demands | legs | transport | link bound, ms | simulated, ms | share of the bound, % | packets | simulated in, s |\n\
         | --- | --- | --- | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for pattern in ["disjoint", "overlap", "subset"] {
        for (legs, transport) in [("planned", "two-sided"), ("hops", "one-sided")] {
            let demands = format!("pattern:{pattern}");
            let mut command = project.command(project.program("optiq"));
            command.args(["simulate", "--topology", "bgq:1024", "--demands", &demands, "--message", "8MiB"]);
            command.args(["--threads", "2", "--json", "--legs", legs, "--transport", transport]);
            let document = process::capture(&mut command)?;
            let [bound, seconds, packets, took] =
                ["link_bound_seconds", "seconds", "packets", "simulation_seconds"].map(|key| number(&document, key));
            let (bound, seconds) = (bound?, seconds?);
            let _ = writeln!(
                text,
                "| {pattern} | {legs} | {transport} | {:.2} | {:.2} | {:.1} | {:.0} | {:.0} |",
                bound * 1e3,
                seconds * 1e3,
                bound / seconds * 100.0,
                packets?,
                took?,
            );
        }
    }
    Ok(text)
}

/// The cases of a network's first table.
fn cases(text: &str, network: &str) -> Outcome<Vec<Case>> {
    let missing =
        || Failure::Failed(format!("lab.md has no table for {network}; cargo xtask results --only lab makes it"));
    let (_, rest) = text.split_once(&format!("## `{network}`")).ok_or_else(missing)?;
    let (_, rest) = rest.split_once("served by\n").ok_or_else(missing)?;
    let lines = rest.lines().take_while(|l| !l.is_empty());
    lines.map(|l| case(l).ok_or_else(|| Failure::Failed(format!("lab.md: \"{l}\" is not a line of a table")))).collect()
}

/// `disjoint, 1MB   159 ms  81.7 ms  1.95 x ...`
fn case(line: &str) -> Option<Case> {
    let cells: Vec<&str> = line.split("  ").map(str::trim).filter(|c| !c.is_empty()).collect();
    let [name, mpi, optiq, .., served] = cells[..] else { return None };
    let (demands, message) = match name.rsplit_once(", ") {
        Some((demands, message)) => (demands, Some(message.to_owned())),
        None => (name, None),
    };
    let served_by_mpi = served == "MPI";
    Some(Case {
        demands: format!("pattern:{demands}"),
        message,
        mpi: seconds(mpi)?,
        optiq: seconds(optiq)?,
        served_by_mpi,
    })
}

fn seconds(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once(' ')?;
    let unit = match unit {
        "s" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * unit)
}

fn simulate(project: &Project, network: &str, case: &Case, more: &[&str]) -> Outcome<f64> {
    let mut command = project.command(project.program("optiq"));
    let topology = format!("{network},capacity=12.5MB/s");
    command.args(["simulate", "--model", "lab", "--json", "--topology", &topology, "--demands", &case.demands]);
    if let Some(message) = &case.message {
        command.args(["--message", message]);
    }
    number(&process::capture(command.args(more))?, "seconds")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_lab_s_tables_are_read() {
        let line = "subset, 1MB      177 ms  58.2 ms  3.05 x        160 ms   90.2 %   53.8 ms  92.5 %  14 paths";
        let c = case(line).unwrap();
        assert_eq!((c.demands.as_str(), c.message.as_deref()), ("pattern:subset", Some("1MB")));
        assert!((c.mpi - 0.177).abs() < 1e-12 && (c.optiq - 0.0582).abs() < 1e-12 && !c.served_by_mpi);
        let line =
            "random,count=16,seed=4,min=64KB,max=8MB   1.10 s  1.10 s  2.06 x   1.10 s   99.4 %  425 ms  79.4 %  MPI";
        let c = case(line).unwrap();
        assert!(c.message.is_none() && c.served_by_mpi);
        assert!(case("every byte is right").is_none());
    }
}
