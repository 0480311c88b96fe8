//! What each link has carried, as the kernel counts it.

use crate::error::LabError;
use crate::lab::Lab;
use crate::member::Member;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// The counting helper's word on the command line.
pub(crate) const VERB: &str = "count";

/// What one link has carried since the lab came up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Bytes, headers included, of all packets that were given to the link.
    pub bytes: u64,
    /// Packets; a train of segments that the kernel keeps together counts as one.
    pub packets: u64,
    /// Packets that found the link's queue full.
    pub dropped: u64,
}

impl Lab {
    /// What each link has carried since the lab came up, in the order of the network's links.
    ///
    /// # Errors
    /// [`LabError::State`] if the lab is gone.
    pub fn counters(&self) -> Result<Vec<Traffic>, LabError> {
        let answer = self.helper(VERB, &())?;
        serde_json::from_str(&answer).map_err(LabError::io("understand the lab's counters"))
    }
}

/// The helper's work.
pub(crate) fn main(state_path: &Path) -> Result<Vec<Traffic>, LabError> {
    let member = Member::join(state_path)?;
    let links = &member.state.blueprint.links;
    let mut counted = vec![Traffic::default(); links.len()];
    let mut order: Vec<usize> = (0..links.len()).collect();
    order.sort_by_key(|&l| links[l].namespace);
    let mut entered = None;
    let mut table = String::new();
    for l in order {
        let link = &links[l];
        if entered != Some(link.namespace) {
            member.enter(link.namespace)?;
            entered = Some(link.namespace);
            let path = "/proc/thread-self/net/dev";
            table = fs::read_to_string(path).map_err(LabError::io(format!("read {path}")))?;
        }
        counted[l] = sent(&table, &link.device).ok_or_else(|| {
            LabError::Refused(format!(
                "the lab's link {} -> {} has lost its device {}",
                link.from, link.to, link.device
            ))
        })?;
    }
    Ok(counted)
}

/// The sending half of a device's line: eight numbers about receiving, then bytes, packets, errors, dropped.
fn sent(table: &str, device: &str) -> Option<Traffic> {
    let line = table.lines().find_map(|l| l.trim_start().strip_prefix(device)?.strip_prefix(':'))?;
    let mut numbers = line.split_whitespace().skip(8).map(|n| n.parse::<u64>().ok());
    let (bytes, packets) = (numbers.next()??, numbers.next()??);
    Some(Traffic { bytes, packets, dropped: numbers.nth(1)?? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_sending_half() {
        let table = "Inter-| Receive | Transmit\n face |bytes packets errs\n    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n\
                     \x20  l1: 0 0 0 0 0 0 0 0 1500 3 0 2 0 0 0 0\n   l10: 0 0 0 0 0 0 0 0 7 1 0 0 0 0 0 0\n";
        assert_eq!(sent(table, "l1"), Some(Traffic { bytes: 1500, packets: 3, dropped: 2 }));
        assert_eq!(sent(table, "l10"), Some(Traffic { bytes: 7, packets: 1, dropped: 0 }));
        assert_eq!(sent(table, "l2"), None);
        assert_eq!(sent("l1: 1 2", "l1"), None);
    }
}
