//! The lab's functions from the command line, for work on the lab itself; users have `optiq lab`.
//!
//! ```text
//! lab up SPEC RATE | run PROGRAM... | exec HOST PROGRAM... | calibrate | status | down
//! ```

use optiq_lab::{Lab, LabError, RunOptions, Tuning, UpOptions, internal_main, network_at};
use std::env;
use std::ffi::OsString;
use std::process::exit;
use std::time::{Duration, Instant};

fn main() {
    if let Some(status) = internal_main(env::args_os()) {
        exit(status);
    }
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let words: Vec<String> = arguments.iter().map(|a| a.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match command(&words, &arguments) {
        Ok(status) => exit(status),
        Err(e) => {
            eprintln!("lab: {e}");
            exit(1);
        }
    }
}

fn command(words: &[&str], arguments: &[OsString]) -> Result<i32, LabError> {
    let open = || Lab::open(Lab::DEFAULT_NAME, None);
    match words {
        ["up", spec, rate] => {
            let began = Instant::now();
            let options = UpOptions { tuning: tuning(), ..UpOptions::default() };
            Lab::up(&network_at(spec, rate.parse()?)?, &options)?;
            println!("up in {:.3} s", began.elapsed().as_secs_f64());
        }
        ["run", _, ..] => {
            let outcome = open()?.run(&arguments[1..], &RunOptions::default())?;
            eprintln!("{:?}, status {}, {:.2} s", outcome.end, outcome.status, outcome.seconds);
            return Ok(outcome.status);
        }
        ["exec", host, _, ..] => return Ok(open()?.exec(host, &arguments[2..], None, false)?.status),
        ["calibrate"] => {
            for s in open()?.calibrate(Duration::from_secs(2))? {
                println!(
                    "{} -> {}, {} links: {:.2} MB/s, {:.1} %",
                    s.from,
                    s.to,
                    s.links,
                    s.bytes_per_second / 1e6,
                    s.share * 100.0
                );
            }
        }
        ["status"] => {
            let status = open()?.status()?;
            let json = serde_json::to_string_pretty(&status);
            println!("{}", json.unwrap_or_default());
        }
        ["down"] => println!("{}", if Lab::find(Lab::DEFAULT_NAME, None)?.down()? { "down" } else { "was down" }),
        _ => {
            eprintln!("usage: lab up SPEC RATE | run PROGRAM... | exec HOST PROGRAM... | calibrate | status | down");
            return Ok(2);
        }
    }
    Ok(0)
}

/// The default settings, changed by a JSON object in `LAB_TUNING`.
fn tuning() -> Option<Tuning> {
    let text = env::var("LAB_TUNING").ok()?;
    Some(serde_json::from_str(&text).unwrap_or_else(|e| {
        eprintln!("lab: LAB_TUNING is not a set of settings: {e}");
        exit(2)
    }))
}
