//! `cargo xtask race-codes`: runs CODES and OPTIQ's simulator in turn, and writes `docs/results/codes.md`.
//!
//! CODES and ROSS are not installed from here: the commands that run them are arguments. `docs/results/codes.md` has the
//! configurations that were used, so that anyone can write them down again.

use crate::args::Args;
use crate::failure::{Failure, Outcome};
use crate::install::Needs;
use crate::process::{self, Project};
use crate::requirements::BUILD;
use crate::results::{about, build, say, write_index, write_page};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const HELP: &str = "\
cargo xtask race-codes --fattree COMMAND --dragonfly-plus COMMAND [OPTIONS]

Runs CODES (github.com/codes-org/codes, on ROSS) and OPTIQ's simulator in turn on one machine, and writes
docs/results/codes.md: packets and events per second of both, and what they simulate. Each COMMAND runs a program of CODES in
sequence (--sync=1) on 4 KB messages, one a microsecond from each host; its last word is the configuration. Words are
separated by spaces; there are no quotation marks. Stops if the two do not simulate as many packets.

  --fattree COMMAND         1,296 hosts as in fattree:brown1296, 500 messages each: model-net-synthetic-fattree
  --dragonfly-plus COMMAND  3,456 hosts as in dragonfly+:3456, 150 messages each: model-net-synthetic-dragonfly-all
  --directory DIR           where the commands run, with their configurations (.)
  --versions TEXT           which CODES and ROSS they are (unknown)
  --repetitions N           runs of either kind (3)

Example:

  cargo xtask race-codes --directory ../codes/run --versions 'CODES a5958cf, ROSS dc3a6a0' \\
    --fattree '../bin/model-net-synthetic-fattree --sync=1 --payload_size=4096 --arrival_time=1000 --end=500000 -- ft.conf' \\
    --dragonfly-plus '../bin/model-net-synthetic-dragonfly-all --sync=1 --payload_sz=4096 --arrival_time=1000
    --num_messages=150 -- dfp.conf'";

/// How many times the packets per second of CODES are asked for.
const TARGET: f64 = 10.0;
/// How far apart the numbers of packets may be, as a share: CODES's fat tree draws its gaps at random, up to a fixed time.
const SAME_LOAD: f64 = 0.01;

/// A network on which both run.
struct Race {
    /// The option that has CODES's command.
    option: &'static str,
    topology: &'static str,
    /// Of each host.
    messages: &'static str,
    /// Routings of OPTIQ; the first is the one that does what CODES's does.
    routings: [&'static str; 2],
}

const RACES: [Race; 2] = [
    Race { option: "--fattree", topology: "fattree:brown1296", messages: "500", routings: ["adaptive-up", "fabric"] },
    Race { option: "--dragonfly-plus", topology: "dragonfly+:3456", messages: "150", routings: ["fpar", "fabric"] },
];

/// What one run of a simulator says of itself, and what it cost.
#[derive(Clone, Debug, PartialEq)]
struct Run {
    /// That were delivered.
    packets: f64,
    events: f64,
    /// Of the simulation itself, by the simulator's own clock.
    seconds: f64,
    /// Mean, from when a message is made until it has arrived, in microseconds.
    latency: f64,
    /// Packets of all simulations of the process, per second that it was on a processor, setting up included. The figure
    /// that other work on the machine changes least.
    packets_per_processor_second: f64,
}

impl Run {
    fn packets_per_second(&self) -> f64 {
        self.packets / self.seconds
    }
}

pub fn main(arguments: &[String]) -> Outcome {
    let Some(mut args) = Args::new("race-codes", HELP, arguments) else { return Ok(()) };
    let mut commands: [Option<String>; RACES.len()] = [None, None];
    let (mut directory, mut versions, mut repetitions) = (PathBuf::from("."), "unknown".to_owned(), 3usize);
    while let Some(flag) = args.next() {
        if let Some(at) = RACES.iter().position(|r| r.option == flag.name) {
            commands[at] = Some(args.value(&flag)?.to_owned());
            continue;
        }
        match flag.name {
            "--directory" => directory = args.value(&flag)?.into(),
            "--versions" => versions = args.value(&flag)?.to_owned(),
            "--repetitions" => repetitions = args.parsed(&flag, "a number above zero")?,
            _ => return Err(args.unknown(&flag)),
        }
    }
    if repetitions == 0 {
        return Err(Failure::Usage("race-codes --repetitions is 0; at least 1 is expected".into()));
    }
    let mut races = Vec::new();
    for (race, command) in RACES.iter().zip(&commands) {
        let words: Vec<&str> = command.as_deref().unwrap_or_default().split_whitespace().collect();
        if words.is_empty() {
            return Err(Failure::Usage(format!("race-codes needs {}; --help says how", race.option)));
        }
        races.push((race, words));
    }
    Needs::default().required(BUILD).meet(true)?;
    let project = Project::locate()?;
    let build = build(&project)?;
    process::step("build the simulator", || process::run(&mut bench(&project, &["--no-run"])))?;
    let mut page = head(&about(&project, "race-codes", &build)?, &versions, repetitions);
    let (mut tables, mut configurations, mut reached, mut rows) = (String::new(), String::new(), [0; 2], 0);
    for (race, words) in races {
        let configuration = directory.join(words[words.len() - 1]);
        let text = fs::read_to_string(&configuration)
            .map_err(|e| Failure::Failed(format!("{} cannot be read: {e}", configuration.display())))?;
        let _ = write!(configurations, "\n`{}`\n\n```text\n{}```\n", shown(&words), essential(&text));
        let title = format!("race on {}", race.topology);
        let rounds = process::step(&title, || rounds(&project, race, &words, &directory, repetitions))?;
        let (table, yes) = table(race, &rounds);
        tables.push_str(&table);
        reached = [reached[0] + yes[0], reached[1] + yes[1]];
        rows += race.routings.len();
    }
    let _ = write!(
        page,
        "At least {TARGET} times CODES's packets per second are asked for: {} of {rows} rows have them by the clock, {} by \
         processor time.\n{tables}{MODELS}{configurations}",
        reached[0], reached[1]
    );
    let pages = project.root().join("docs/results");
    write_page(&pages.join("codes.md"), &page)?;
    write_index(&pages)
}

fn head(about: &str, versions: &str, repetitions: usize) -> String {
    format!(
        "# The simulator beside CODES\n\n{about}CODES: {versions}; with `-O3`, run in sequence (`--sync=1`). OPTIQ: \
         `cargo bench -p optiq-sim --bench speed -- TOPOLOGY ROUTING MESSAGES 1`, one thread.\n\n\
         All programs in turn, {repetitions} rounds; the medians are shown, and for ratios also the smallest and the largest of \
         a round. *By the clock*: what each simulator says it took, without setting up. *By processor time*: packets for each \
         second that the process was on a processor, with setting up; other work on the machine, which takes turns with \
         both, changes the first more than the second, and neither is free of it. "
    )
}

/// What the page says about the two models.
const MODELS: &str = "\n## What is the same, and what is not\n\n\
    The same: the network and its link rates, hosts, messages of each host, uniform random destinations, packets of 4,096 \
    bytes, a message every microsecond from each host on average, 90 ns for a router, credits and finite buffers. The run \
    fails if the numbers of packets are more than 1 % apart.\n\n\
    - **Gaps**: OPTIQ's are 1 us exactly, from a random start; CODES's fat tree draws them from an exponential distribution \
    and stops at a simulated time, with some packets still on their way, which are not counted; CODES's Dragonfly+ has 1 us \
    exactly and all hosts start together.\n\
    - **Switching**: OPTIQ cuts through (a head goes on before its tail has come), has latencies of cables, and hosts without \
    overheads. CODES stores and forwards each chunk, here a packet, and has no latencies of cables. Mean latencies \
    differ by that.\n\
    - **Buffers**: 65,536 bytes on the fat tree and 32,768 on the Dragonfly+ for each virtual channel, in both.\n\
    - **Routing**, fat tree: CODES chooses the way up by queues, as `adaptive-up` does; `fabric` is d-mod-k. CODES's static \
    routing needs tables from another program.\n\
    - **Routing**, Dragonfly+: both have the fully progressive adaptive routing of Kang et al. with a threshold of half the \
    queue, but CODES's divides the queue by a size that is never set: all ways look alike to it, it takes one of the minimal \
    ones at random, and none of its packets leaves a minimal path (its output says so). `fabric` has one fixed minimal path for each destination, \
    so that links are loaded unevenly and packets wait, which is not what CODES does.\n\
    - **Events** are counted as each program counts them. Packets are what both have in common.\n\n\
    ## CODES's configurations\n\n\
    Directories are left out. The connections of the Dragonfly+ are made by CODES's `dragonfly-plus-topo-gen-v3.py 48 16 9 \
    intra inter`.\n";

/// The runs of one race: CODES, and OPTIQ with each routing, in turn.
fn rounds(
    project: &Project,
    race: &Race,
    words: &[&str],
    directory: &Path,
    repetitions: usize,
) -> Outcome<[Vec<Run>; 3]> {
    let mut all = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..repetitions {
        let (text, spent) = timed(project, Command::new(words[0]).args(&words[1..]).current_dir(directory))?;
        let codes = codes_run(&text, spent).map_err(|what| {
            Failure::Failed(format!("{} printed no {what}; is it a serial run of CODES?", last_part(words[0])))
        })?;
        for (at, routing) in race.routings.iter().enumerate() {
            let (text, spent) =
                timed(project, &mut bench(project, &["--", race.topology, routing, race.messages, "1"]))?;
            let ours = our_run(&text, spent)
                .ok_or_else(|| Failure::Failed("optiq-sim's bench printed no table that is understood".into()))?;
            same_load(race, &codes, &ours)?;
            all[at + 1].push(ours);
        }
        all[0].push(codes);
    }
    Ok(all)
}

fn same_load(race: &Race, codes: &Run, ours: &Run) -> Outcome {
    if (codes.packets / ours.packets - 1.0).abs() <= SAME_LOAD {
        return Ok(());
    }
    Err(Failure::Failed(format!(
        "{}: CODES delivered {} packets, OPTIQ {}; at most {} % apart is expected",
        race.topology,
        codes.packets,
        ours.packets,
        SAME_LOAD * 100.0
    )))
}

fn bench(project: &Project, arguments: &[&str]) -> Command {
    let mut command = project.cargo("bench", ["--quiet", "--package", "optiq-sim", "--bench", "speed"]);
    command.args(arguments);
    command
}

/// What a command prints, and for how many seconds it and what it started were on a processor.
fn timed(project: &Project, command: &mut Command) -> Outcome<(String, f64)> {
    let ticks = || -> Outcome<f64> {
        let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        children_ticks(&text).ok_or_else(|| Failure::Failed("/proc/self/stat has no times of children".into()))
    };
    let per_second = say(project, "getconf", &["CLK_TCK"])?;
    let per_second: f64 = per_second.parse().map_err(|_| Failure::Failed("getconf CLK_TCK is no number".into()))?;
    let before = ticks()?;
    let text = process::capture(command)?;
    Ok((text, (ticks()? - before) / per_second))
}

/// `cutime` and `cstime` of proc(5): clock ticks of children that were waited for, and of theirs.
fn children_ticks(stat: &str) -> Option<f64> {
    // The name of the program, in parentheses, may have spaces.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(13);
    Some(fields.next()?.parse::<f64>().ok()? + fields.next()?.parse::<f64>().ok()?)
}

/// Reads what CODES prints; or says what is missing there.
fn codes_run(text: &str, processor_seconds: f64) -> Result<Run, &'static str> {
    let after = |line: &str, key: &str| {
        let rest = line.split_once(key)?.1.trim_start_matches([':', '=', ' ', '\t']);
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        rest[..end].parse::<f64>().ok()
    };
    let find = |key: &'static str| text.lines().find_map(|l| after(l, key)).ok_or(key);
    // "Total packets generated 64888 finished 61691", with punctuation on the Dragonfly+.
    let generated = "Total packets generated";
    let line = text.lines().find(|l| l.contains(generated)).ok_or(generated)?;
    let packets = after(line, "finished").filter(|p| *p > 0.0).ok_or("finished packets")?;
    let seconds = find("Running Time")?;
    Ok(Run {
        packets,
        events: find("Net Events Processed")?,
        seconds,
        latency: find("average chunk latency")?,
        packets_per_processor_second: packets / processor_seconds,
    })
}

/// Simulations of one process of the bench, of which the middle one is printed.
const RUNS_OF_A_BENCH: f64 = 3.0;

/// Reads the table of `optiq-sim/benches/speed.rs`.
fn our_run(text: &str, processor_seconds: f64) -> Option<Run> {
    let line = text.lines().rfind(|l| l.starts_with("| `"))?;
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let number = |at: usize| cells.get(at)?.parse::<f64>().ok();
    let packets = number(4)?;
    Some(Run {
        packets,
        events: packets * number(5)?,
        seconds: packets / (number(7)? * 1e3),
        latency: number(9)?,
        packets_per_processor_second: RUNS_OF_A_BENCH * packets / processor_seconds,
    })
}

/// The table of a race, and how many of its rows reach the target, by the clock and by processor time.
fn table(race: &Race, [codes, first, second]: &[Vec<Run>; 3]) -> (String, [usize; 2]) {
    let mut text = format!(
        "\n## `{}`, {} messages of each host\n\n\
         | simulator | packets | events a packet | M events/s | mean latency, us | k packets/s by the clock | times CODES | \
         k packets/s by processor time | times CODES |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
        race.topology, race.messages
    );
    let row = |name: &str, runs: &[Run], clock: &str, processor: &str| {
        let of = |value: fn(&Run) -> f64| median(runs.iter().map(value));
        format!(
            "| {name} | {:.0} | {:.1} | {:.2} | {:.2} | {:.1} | {clock} | {:.1} | {processor} |\n",
            of(|r| r.packets),
            of(|r| r.events / r.packets),
            of(|r| r.events / r.seconds / 1e6),
            of(|r| r.latency),
            of(Run::packets_per_second) / 1e3,
            of(|r| r.packets_per_processor_second) / 1e3,
        )
    };
    text.push_str(&row("CODES", codes, "1", "1"));
    let mut reached = [0; 2];
    for (routing, runs) in race.routings.iter().zip([first, second]) {
        let clock = Ratio::of(codes, runs, Run::packets_per_second);
        let processor = Ratio::of(codes, runs, |r| r.packets_per_processor_second);
        reached[0] += usize::from(clock.median >= TARGET);
        reached[1] += usize::from(processor.median >= TARGET);
        text.push_str(&row(&format!("OPTIQ, {routing}"), runs, &clock.to_string(), &processor.to_string()));
    }
    (text, reached)
}

/// How many times as fast, by the medians, and in the worst and the best round.
struct Ratio {
    median: f64,
    worst: f64,
    best: f64,
}

impl Ratio {
    fn of(codes: &[Run], ours: &[Run], value: fn(&Run) -> f64) -> Self {
        let rounds = || codes.iter().zip(ours).map(|(c, o)| value(o) / value(c));
        Ratio {
            median: median(ours.iter().map(value)) / median(codes.iter().map(value)),
            worst: rounds().fold(f64::INFINITY, f64::min),
            best: rounds().fold(0.0, f64::max),
        }
    }
}

impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1} ({:.1} to {:.1})", self.median, self.worst, self.best)
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

/// The command without directories.
fn shown(words: &[&str]) -> String {
    words.iter().map(|w| last_part(w)).collect::<Vec<_>>().join(" ")
}

/// What follows the last `/`.
fn last_part(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// The parameters of a configuration file: its lines with values, without comments and directories.
fn essential(text: &str) -> String {
    let mut kept = String::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        if let Some((key, value)) = line.split_once('=') {
            let value = value.trim().trim_end_matches(';').trim();
            let _ = writeln!(kept, "{} = {}", key.trim(), last_part(value.trim_matches('"')));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts of what CODES a5958cf printed.
    const FAT_TREE: &str = "\
GVT #0: simulation 99% complete, max event queue size 4971 (GVT = 49500.0060) at Sun Nov 22 07:13:44 2026.
*** END SIMULATION ***

[75] lefover pending messages 34

\t: Running Time = 3.9246 seconds

TW Library Statistics:
\tTotal Events Processed                                 1490182
\tNet Events Processed                                   1490182
\tEvent Rate (events/sec)                               379705.7
\tTotal Time (Note: Using Running Time above for Speedup)     10.1887
 Average number of hops traversed 4.466794 average chunk latency 2.369439 us maximum chunk latency 4.775637 us avg message size 4096.000000 bytes finished messages 61691 finished chunks 61691 
 Total packets generated 64888 finished 61691 
";
    const DRAGONFLY_PLUS: &str = "\
\t: Running Time = 31.8958 seconds
\tNet Events Processed                                  11741478
Average number of router hops traversed: 3.880930; average chunk latency: 5.049498 us; maximum chunk latency: 24.987513 us; avg message size: 4096.000000 bytes; finished messages: 518400; finished chunks: 518400 

ADAPTIVE ROUTING STATS: 518400 chunks routed minimally 0 chunks routed non-minimally - completed packets: 518400 

Total packets generated: 518400; finished: 518400; Locally routed: same router: 2155, different-router: 55261; Remote (inter-group): 460984 
";
    const OURS: &str = "\
| topology | routing | threads | packets | events a packet | M events/s | k packets/s | memory, MB | mean latency, us | 99 %, us |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| `fattree:brown1296` | fabric | 1 | 648000 | 7.3 | 1.96 | 270 | 13 | 1.13 | 2.13 |
";

    #[test]
    fn output_of_codes_is_read() {
        let run = codes_run(FAT_TREE, 2.0).unwrap();
        let expected = Run {
            packets: 61_691.0,
            events: 1_490_182.0,
            seconds: 3.9246,
            latency: 2.369_439,
            packets_per_processor_second: 30_845.5,
        };
        assert_eq!(run, expected);
        let run = codes_run(DRAGONFLY_PLUS, 1.0).unwrap();
        assert_eq!((run.packets, run.events), (518_400.0, 11_741_478.0));
        assert_eq!((run.seconds, run.latency), (31.8958, 5.049_498));
    }

    #[test]
    fn what_codes_did_not_print_is_named() {
        assert_eq!(codes_run("", 1.0), Err("Total packets generated"));
        let without = |word: &str| codes_run(&FAT_TREE.replace(word, ""), 1.0);
        assert_eq!(without("Running Time"), Err("Running Time"));
        assert_eq!(without("Net Events Processed"), Err("Net Events Processed"));
        assert_eq!(codes_run(&FAT_TREE.replace("finished 61691", "finished 0"), 1.0), Err("finished packets"));
    }

    #[test]
    fn our_table_is_read() {
        let run = our_run(OURS, 3.6).unwrap();
        assert_eq!((run.packets, run.latency), (648_000.0, 1.13));
        assert!((run.seconds - 2.4).abs() < 1e-12 && (run.packets_per_processor_second - 540_000.0).abs() < 1e-6);
        assert!((run.events - 4_730_400.0).abs() < 1e-3);
        assert!(our_run("| --- |", 1.0).is_none());
    }

    #[test]
    fn loads_that_differ_are_refused() {
        let ours = our_run(OURS, 1.0).unwrap();
        let codes = |packets| Run { packets, ..ours.clone() };
        assert!(same_load(&RACES[0], &codes(645_593.0), &ours).is_ok());
        let error = same_load(&RACES[0], &codes(61_691.0), &ours).unwrap_err().to_string();
        assert_eq!(
            error,
            "fattree:brown1296: CODES delivered 61691 packets, OPTIQ 648000; at most 1 % apart is expected"
        );
    }

    #[test]
    fn ratios_are_of_medians_and_rounds() {
        let runs = |rates: [f64; 3]| {
            rates.map(|rate| Run {
                packets: rate,
                events: 1.0,
                seconds: 1.0,
                latency: 1.0,
                packets_per_processor_second: rate,
            })
        };
        let ratio = Ratio::of(&runs([10.0, 20.0, 40.0]), &runs([200.0, 220.0, 240.0]), Run::packets_per_second);
        assert_eq!(ratio.to_string(), "11.0 (6.0 to 20.0)");
        let codes = runs([10.0, 20.0, 40.0]).to_vec();
        // By the clock it misses the target, by processor time it does not.
        let slow = runs([200.0; 3]).map(|r| Run { packets: 199.0, ..r }).to_vec();
        let (text, reached) = table(&RACES[0], &[codes, slow, runs([200.0; 3]).to_vec()]);
        assert_eq!(reached, [1, 2], "{text}");
    }

    #[test]
    fn configurations_are_shown_without_comments_and_directories() {
        let text = "PARAMS\n{\n# a=1\n   packet_size=\"4096\"; # bytes\n   modelnet_order=( \"fattree\" );\n   \
                    inter-group-connections=\"../src/conf/dfp_8k_inter\";\n}\n";
        assert_eq!(
            essential(text),
            "packet_size = 4096\nmodelnet_order = ( \"fattree\" )\ninter-group-connections = dfp_8k_inter\n"
        );
        assert_eq!(shown(&["/opt/bin/x", "--sync=1", "--", "../a/b.conf"]), "x --sync=1 -- b.conf");
    }

    #[test]
    fn times_of_children_are_found() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4194304 1 2 3 4 11 12 130 14 20 0 1 0 5 6 7";
        assert_eq!(children_ticks(stat), Some(144.0));
        assert_eq!(children_ticks("7 (x) S 1"), None);
    }

    #[test]
    fn both_commands_are_needed() {
        let arguments: Vec<String> = ["--fattree", "x y"].map(String::from).to_vec();
        assert_eq!(main(&arguments).unwrap_err().to_string(), "race-codes needs --dragonfly-plus; --help says how");
    }
}
