//! CODES and OPTIQ's simulator in turn on one machine.
//!
//! CODES and ROSS are not installed from here: the commands that run them are arguments. The page has the configurations that were
//! used, so that anyone can write them down again.

use crate::failure::Failure;
use crate::markdown::TextTable;
use crate::workspace::{self, Workspace};
use optiq_measure::statistics;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RaceRun {
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

impl RaceRun {
    fn packets_per_second(&self) -> f64 {
        self.packets / self.seconds
    }
}

/// What is raced.
#[derive(Clone, Debug)]
pub struct RaceOptions {
    /// The command of CODES for each of the networks, in words separated by spaces; the last word is the configuration.
    pub commands: [String; RACES.len()],
    /// Where the commands run, with their configurations.
    pub directory: PathBuf,
    /// Which CODES and ROSS they are.
    pub versions: String,
    /// Runs of either kind.
    pub repetitions: usize,
}

/// The runs of one race: CODES, and OPTIQ with each routing, in turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RaceResult {
    topology: String,
    /// Of each host.
    messages: String,
    /// CODES's command, without directories.
    command: String,
    /// The parameters of CODES's configuration.
    configuration: String,
    codes: Vec<RaceRun>,
    /// A routing, and its runs.
    ours: Vec<(String, Vec<RaceRun>)>,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CodesContent {
    versions: String,
    repetitions: usize,
    races: Vec<RaceResult>,
}

/// Races for some minutes, and more with CODES's slower programs.
///
/// # Errors
/// [`Failure::Input`] for options that are not usable; [`Failure::Work`] if a program fails, prints what is not understood, or does not
/// simulate as many packets as the other.
pub fn run(workspace: &Workspace, options: &RaceOptions) -> Result<CodesContent, Failure> {
    if options.repetitions == 0 {
        return Err(Failure::Input("race-codes --repetitions is 0; at least 1 is expected".into()));
    }
    let mut words: Vec<Vec<&str>> = Vec::new();
    for (race, command) in RACES.iter().zip(&options.commands) {
        words.push(command.split_whitespace().collect());
        if words.last().is_none_or(Vec::is_empty) {
            return Err(Failure::Input(format!("race-codes needs {}; --help says how", race.option)));
        }
    }
    let read = |words: &Vec<&str>| {
        let configuration = options.directory.join(words[words.len() - 1]);
        fs::read_to_string(&configuration)
            .map_err(|e| Failure::Input(format!("{} cannot be read: {e}", configuration.display())))
    };
    let configurations: Vec<String> = words.iter().map(read).collect::<Result<_, _>>()?;
    workspace::step("build the simulator", || workspace::run(&mut bench(workspace, &["--no-run"])))?;
    let mut races = Vec::new();
    for ((race, words), text) in RACES.iter().zip(words).zip(configurations) {
        let title = format!("race on {}", race.topology);
        let [codes, first, second] = workspace::step(&title, || rounds(workspace, race, &words, options))?;
        let ours = race.routings.map(String::from).into_iter().zip([first, second]).collect();
        races.push(RaceResult {
            topology: race.topology.into(),
            messages: race.messages.into(),
            command: shown(&words),
            configuration: essential(&text),
            codes,
            ours,
        });
    }
    Ok(CodesContent { versions: options.versions.clone(), repetitions: options.repetitions, races })
}

impl CodesContent {
    /// Of the page.
    pub const TITLE: &'static str = "The simulator beside CODES";

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let (mut tables, mut configurations, mut reached, mut rows) = (String::new(), String::new(), [0; 2], 0);
        for race in &self.races {
            let (table, yes) = race.table();
            let _ = write!(
                tables,
                "\n## `{}`, {} messages of each host\n\n{}",
                race.topology,
                race.messages,
                table.markdown()
            );
            let _ = write!(configurations, "\n`{}`\n\n```text\n{}```\n", race.command, race.configuration);
            reached = [reached[0] + yes[0], reached[1] + yes[1]];
            rows += race.ours.len();
        }
        format!(
            "CODES: {}; with `-O3`, run in sequence (`--sync=1`). OPTIQ: `cargo bench -p optiq-sim --bench speed -- TOPOLOGY ROUTING \
             MESSAGES 1`, one thread.\n\n\
             All programs in turn, {} rounds; the medians are shown, and for ratios also the smallest and the largest of \
             a round. *By the clock*: what each simulator says it took, without setting up. *By processor time*: packets for each \
             second that the process was on a processor, with setting up; other work on the machine, which takes turns with \
             both, changes the first more than the second, and neither is free of it. \
             At least {TARGET} times CODES's packets per second are asked for: {} of {rows} rows have them by the clock, {} by \
             processor time.\n{tables}{MODELS}{configurations}",
            self.versions, self.repetitions, reached[0], reached[1]
        )
    }
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
    The files are in `data/codes`, with how CODES was built. Directories are left out. The connections of the Dragonfly+ are made by CODES's `dragonfly-plus-topo-gen-v3.py 48 16 9 \
    intra inter`.\n";

/// The runs of one race: CODES, and OPTIQ with each routing, in turn.
fn rounds(
    workspace: &Workspace,
    race: &Race,
    words: &[&str],
    options: &RaceOptions,
) -> Result<[Vec<RaceRun>; 3], Failure> {
    let mut all = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..options.repetitions {
        let (text, spent) = timed(workspace, Command::new(words[0]).args(&words[1..]).current_dir(&options.directory))?;
        let codes = codes_run(&text, spent).map_err(|what| {
            Failure::Work(format!("{} printed no {what}; is it a serial run of CODES?", last_part(words[0])))
        })?;
        for (at, routing) in race.routings.iter().enumerate() {
            let (text, spent) =
                timed(workspace, &mut bench(workspace, &["--", race.topology, routing, race.messages, "1"]))?;
            let ours = our_run(&text, spent)
                .ok_or_else(|| Failure::Work("optiq-sim's bench printed no table that is understood".into()))?;
            same_load(race, &codes, &ours)?;
            all[at + 1].push(ours);
        }
        all[0].push(codes);
    }
    Ok(all)
}

fn same_load(race: &Race, codes: &RaceRun, ours: &RaceRun) -> Result<(), Failure> {
    if (codes.packets / ours.packets - 1.0).abs() <= SAME_LOAD {
        return Ok(());
    }
    Err(Failure::Work(format!(
        "{}: CODES delivered {} packets, OPTIQ {}; at most {} % apart is expected",
        race.topology,
        codes.packets,
        ours.packets,
        SAME_LOAD * 100.0
    )))
}

fn bench(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut command = workspace.cargo("bench", ["--quiet", "--package", "optiq-sim", "--bench", "speed"]);
    command.args(arguments);
    command
}

/// What a command prints, and for how many seconds it and what it started were on a processor.
fn timed(workspace: &Workspace, command: &mut Command) -> Result<(String, f64), Failure> {
    let ticks = || -> Result<f64, Failure> {
        let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        children_ticks(&text).ok_or_else(|| Failure::Work("/proc/self/stat has no times of children".into()))
    };
    let per_second = workspace.say("getconf", &["CLK_TCK"])?;
    let per_second: f64 = per_second.parse().map_err(|_| Failure::Work("getconf CLK_TCK is no number".into()))?;
    let before = ticks()?;
    let text = workspace::capture(command)?;
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
fn codes_run(text: &str, processor_seconds: f64) -> Result<RaceRun, &'static str> {
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
    Ok(RaceRun {
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
fn our_run(text: &str, processor_seconds: f64) -> Option<RaceRun> {
    let line = text.lines().rfind(|l| l.starts_with("| `"))?;
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let number = |at: usize| cells.get(at)?.parse::<f64>().ok();
    let packets = number(4)?;
    Some(RaceRun {
        packets,
        events: packets * number(5)?,
        seconds: packets / (number(7)? * 1e3),
        latency: number(9)?,
        packets_per_processor_second: RUNS_OF_A_BENCH * packets / processor_seconds,
    })
}

impl RaceResult {
    /// The table of a race, and how many of its rows reach the target, by the clock and by processor time.
    fn table(&self) -> (TextTable, [usize; 2]) {
        let mut table = TextTable::new(&[
            "simulator<",
            "packets",
            "events a packet",
            "M events/s",
            "mean latency, us",
            "k packets/s by the clock",
            "times CODES",
            "k packets/s by processor time",
            "times CODES",
        ]);
        let row = |name: String, runs: &[RaceRun], clock: String, processor: String| {
            let of = |value: fn(&RaceRun) -> f64| median(runs.iter().map(value));
            vec![
                name,
                format!("{:.0}", of(|r| r.packets)),
                format!("{:.1}", of(|r| r.events / r.packets)),
                format!("{:.2}", of(|r| r.events / r.seconds / 1e6)),
                format!("{:.2}", of(|r| r.latency)),
                format!("{:.1}", of(RaceRun::packets_per_second) / 1e3),
                clock,
                format!("{:.1}", of(|r| r.packets_per_processor_second) / 1e3),
                processor,
            ]
        };
        table.rows.push(row("CODES".into(), &self.codes, "1".into(), "1".into()));
        let mut reached = [0; 2];
        for (routing, runs) in &self.ours {
            let clock = Ratio::of(&self.codes, runs, RaceRun::packets_per_second);
            let processor = Ratio::of(&self.codes, runs, |r| r.packets_per_processor_second);
            reached[0] += usize::from(clock.median >= TARGET);
            reached[1] += usize::from(processor.median >= TARGET);
            table.rows.push(row(format!("OPTIQ, {routing}"), runs, clock.to_string(), processor.to_string()));
        }
        (table, reached)
    }
}

/// How many times as fast, by the medians, and in the worst and the best round.
struct Ratio {
    median: f64,
    worst: f64,
    best: f64,
}

impl Ratio {
    fn of(codes: &[RaceRun], ours: &[RaceRun], value: fn(&RaceRun) -> f64) -> Self {
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

/// Of at least one run; not a number if there is none.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    statistics::median(&values.collect::<Vec<_>>()).unwrap_or(f64::NAN)
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
    #![allow(clippy::unwrap_used, reason = "tests")]
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
        let expected = RaceRun {
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
        let codes = |packets| RaceRun { packets, ..ours.clone() };
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
            rates.map(|rate| RaceRun {
                packets: rate,
                events: 1.0,
                seconds: 1.0,
                latency: 1.0,
                packets_per_processor_second: rate,
            })
        };
        let ratio = Ratio::of(&runs([10.0, 20.0, 40.0]), &runs([200.0, 220.0, 240.0]), RaceRun::packets_per_second);
        assert_eq!(ratio.to_string(), "11.0 (6.0 to 20.0)");
        let codes = runs([10.0, 20.0, 40.0]).to_vec();
        // By the clock it misses the target, by processor time it does not.
        let slow = runs([200.0; 3]).map(|r| RaceRun { packets: 199.0, ..r }).to_vec();
        let ours = vec![("first".into(), slow), ("second".into(), runs([200.0; 3]).to_vec())];
        let [topology, messages, command, configuration] = [(); 4].map(|()| String::new());
        let (table, reached) = RaceResult { topology, messages, command, configuration, codes, ours }.table();
        assert_eq!(reached, [1, 2], "{table:?}");
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
        let options = RaceOptions {
            commands: ["x y".into(), String::new()],
            directory: ".".into(),
            versions: String::new(),
            repetitions: 3,
        };
        let error = run(&Workspace::locate().unwrap(), &options).unwrap_err().to_string();
        assert_eq!(error, "race-codes needs --dragonfly-plus; --help says how");
    }
}
