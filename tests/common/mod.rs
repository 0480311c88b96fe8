//! Programs under `mpirun`, with a timeout.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Far above what a run takes, far below what CI allows.
const TIMEOUT: Duration = Duration::from_secs(180);

/// What a run printed, and whether it ended well.
pub struct Run {
    /// Exit status 0 within the time.
    pub success: bool,
    /// Standard output, then standard error.
    pub output: String,
}

/// Runs `program` on `ranks` ranks of this machine, with these `OPTIQ_*` variables and no others.
pub fn mpirun(ranks: u32, program: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Run {
    let mut command = Command::new("mpirun");
    command.args(["--oversubscribe", "--mca", "btl_vader_single_copy_mechanism", "none", "-n", &ranks.to_string()]);
    command.arg(program).args(arguments);
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    for (name, _) in std::env::vars().filter(|(n, _)| n.starts_with("OPTIQ_")) {
        command.env_remove(name);
    }
    command.envs(environment.iter().copied());
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("mpirun starts");
    let mut pipes: (Option<_>, Option<_>) = (child.stdout.take(), child.stderr.take());
    let readers = (
        std::thread::spawn(move || read(pipes.0.take().unwrap())),
        std::thread::spawn(move || read(pipes.1.take().unwrap())),
    );
    let start = Instant::now();
    let status = loop {
        match child.try_wait().expect("mpirun can be waited for") {
            Some(status) => break Some(status),
            None if start.elapsed() > TIMEOUT => {
                child.kill().ok();
                child.wait().ok();
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let mut output = readers.0.join().unwrap() + &readers.1.join().unwrap();
    if status.is_none() {
        output += "\n(killed after the timeout)";
    }
    Run { success: status.is_some_and(|s| s.success()), output }
}

fn read(mut pipe: impl Read) -> String {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes).ok();
    String::from_utf8_lossy(&bytes).into_owned()
}
