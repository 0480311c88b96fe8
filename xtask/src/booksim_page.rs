//! `docs/results/booksim.md`: load-latency curves beside those of BookSim2.

use crate::failure::{Failure, Outcome};
use crate::process::{self, Project};

/// Simulates for some minutes; returns the page.
pub fn page(project: &Project, about: &str) -> Outcome<String> {
    let arguments = ["--release", "--package", "optiq-sim", "--test", "booksim"];
    let mut command = project.cargo("test", arguments);
    let text = process::capture(command.args(["--", "--ignored", "--exact", "tables", "--nocapture"]))?;
    let tables = tables(&text).ok_or_else(|| Failure::Failed("the test printed no tables".into()))?;
    Ok(format!(
        "# Load-latency curves, beside BookSim2\n\n{about}\n\
         Open loop: each host makes a packet in a cycle with the same probability, for any host, itself as well. Latency is the \
         mean in cycles from when a packet is made until its last flit is in memory; accepted are flits per host and cycle. \
         BookSim's figures are in `optiq-sim/tests/data/booksim.toml` with the parameters of the routers, and the same \
         comparison is a test (`cargo test -p optiq-sim --test booksim`). At most 5 % off is asked for below saturation, and \
         3 % in saturation. The last column is the default model of a router, with the same buffers and the same time for a \
         packet that has nothing in its way: what the pipeline makes of a curve is the difference.\n\n{tables}"
    ))
}

/// What is between the harness's own lines.
fn tables(text: &str) -> Option<String> {
    let from = text.find("BookSim2 at commit")?;
    let to = from + text[from..].find("<end>")?;
    // The harness says in between that a test takes long.
    let lines = text[from..to].lines().filter(|line| !line.starts_with("test "));
    Some(lines.map(|line| format!("{line}\n")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_found() {
        let text = "running 1 test\ntest tables ... BookSim2 at commit x.\n\n## a\ntest tables has been running\n| b\n<end>\nok\n";
        assert_eq!(tables(text).as_deref(), Some("BookSim2 at commit x.\n\n## a\n| b\n"));
        assert!(tables("running 0 tests").is_none());
    }
}
