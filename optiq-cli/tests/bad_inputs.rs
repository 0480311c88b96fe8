//! Bad inputs of `data/bad_inputs.toml`: each is refused in one line with the right status, quickly and in little memory.
#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

mod support;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::stat::Mode;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};
use support::Folder;

/// What a refusal may take: processor time, as the machine may have other work; and memory.
const MOST_SECONDS: f64 = 1.0;
const MOST_KIB: i64 = 200_000_000 / 1024;
/// A refusal that takes longer by the clock waits for something.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    input: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    args: String,
    says: String,
    #[serde(default = "usage")]
    status: i32,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    made: BTreeMap<String, Made>,
    #[serde(default)]
    pipes: Vec<String>,
    #[serde(default)]
    input: String,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

fn usage() -> i32 {
    2
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Made {
    Tables,
    Entries,
    Large,
    Latin1,
    Header,
    Sparse,
    Empty,
    Magic,
    Brace,
}

impl Made {
    fn contents(self) -> Vec<u8> {
        let plan = |version: u32, length: u64| {
            let mut header = b"OPTIQPLN".to_vec();
            header.extend(version.to_le_bytes());
            header.extend(1u32.to_le_bytes());
            header.extend([0; 32]);
            header.extend(length.to_le_bytes());
            header.extend([0; 8]);
            header
        };
        match self {
            Made::Tables => {
                let mut text = String::new();
                for i in 0.. {
                    if text.len() > (16 << 20) - 20 {
                        break;
                    }
                    write!(text, "[t{i}]\na = 1\n").unwrap();
                }
                text.into_bytes()
            }
            Made::Entries => b"[[links]]\n".repeat((16 << 20) / 10),
            Made::Large => vec![b' '; 17 << 20],
            Made::Latin1 => vec![b'#', 0xe4],
            Made::Header => plan(optiq_solver::plan::PLAN_VERSION, 1 << 60),
            Made::Magic => plan(99, 0),
            Made::Brace => b"{".to_vec(),
            Made::Sparse | Made::Empty => Vec::new(),
        }
    }

    fn size(self) -> Option<u64> {
        matches!(self, Made::Sparse | Made::Brace).then_some(3 << 30)
    }
}

/// What all children so far have taken: seconds of processor time, and the most memory of one in KiB.
fn usage_so_far() -> (f64, i64) {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let seconds = |t: nix::sys::time::TimeVal| t.tv_sec() as f64 + t.tv_usec() as f64 * 1e-6;
    (seconds(usage.user_time()) + seconds(usage.system_time()), usage.max_rss())
}

/// What is wrong with how the command refuses an input, if anything.
fn wrong(entry: &Entry) -> Option<String> {
    let folder = Folder::new("bad-inputs");
    for (name, text) in &entry.files {
        folder.write(name, text);
    }
    for (name, made) in &entry.made {
        folder.write(name, made.contents());
        if let Some(size) = made.size() {
            File::options().write(true).open(folder.path(name)).unwrap().set_len(size).unwrap();
        }
    }
    for name in &entry.pipes {
        nix::unistd::mkfifo(&folder.path(name), Mode::S_IRWXU).unwrap();
    }
    let before = folder.names();
    let (seconds, memory) = usage_so_far();
    let mut command = folder.command(&entry.args.split_whitespace().collect::<Vec<_>>());
    let mut child =
        command.envs(&entry.env).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It may be refused before it is read.
    let _ = child.stdin.take().unwrap().write_all(entry.input.as_bytes());
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            return Some(format!("has not ended after {PATIENCE:?}"));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().unwrap();
    let (seconds_after, memory_after) = usage_so_far();
    let error = String::from_utf8_lossy(&output.stderr);
    let taken = seconds_after - seconds;
    let said = error.starts_with("optiq: ") && error.lines().count() == 1 && error.contains(&entry.says);
    if output.status.code() != Some(entry.status) || !said || !output.stdout.is_empty() {
        let expected = format!("status {} and \"{}\"", entry.status, entry.says);
        return Some(format!("ends with {} and \"{}\"; {expected} are expected", output.status, error.trim_end()));
    }
    if taken > MOST_SECONDS {
        return Some(format!("takes {taken:.2} s of processor time"));
    }
    if memory_after > MOST_KIB && memory_after > memory {
        return Some(format!("takes {} MB", memory_after * 1024 / 1_000_000));
    }
    (folder.names() != before).then(|| format!("leaves {:?}, and there were {before:?}", folder.names()))
}

#[test]
fn bad_inputs_are_refused_in_one_line_quickly_and_in_little_memory() {
    let table: Table = toml::from_str(include_str!("../../data/bad_inputs.toml")).unwrap();
    assert!(table.input.len() >= 60, "{} bad inputs", table.input.len());
    let found: Vec<String> =
        table.input.iter().filter_map(|e| Some(format!("optiq {}: {}", e.args, wrong(e)?))).collect();
    assert!(found.is_empty(), "{} of {}:\n{}", found.len(), table.input.len(), found.join("\n"));
}
