//! Forwarding tables in network files, a row for each vertex that has several links:
//!
//! ```toml
//! [[tables]]
//! at = "leaf0"                 # a switch, or a host with several links
//! via = ["node1", "spine0"]    # its neighbours
//! next = "0 1*3 -"             # for each host in their order: which neighbour is next, from 0; 1*3 is three times 1, - is none
//! ```
//!
//! A row is as long as the network has hosts, and that is what bounds its size once it is expanded.

use crate::ids::NodeId;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// No next hop.
pub(crate) const NONE: u32 = u32::MAX;

/// The row of next vertices `next`, one for each host: the vertices in it in ascending order, and the text that refers
/// to them.
pub(crate) fn encode(next: &[Option<u32>]) -> (Vec<u32>, String) {
    let numbers: BTreeMap<u32, usize> = next.iter().flatten().map(|vertex| (*vertex, 0)).collect();
    let via: Vec<u32> = numbers.into_keys().collect();
    let mut text = String::new();
    for run in next.chunk_by(|a, b| a == b) {
        if !text.is_empty() {
            text.push(' ');
        }
        let number = run[0].and_then(|vertex| via.binary_search(&vertex).ok());
        // Writing to a string does not fail.
        let _ = match number {
            Some(number) => write!(text, "{number}"),
            None => write!(text, "-"),
        };
        if run.len() > 1 {
            let _ = write!(text, "*{}", run.len());
        }
    }
    (via, text)
}

/// The next vertices that `text` gives for `hosts` hosts, [`NONE`] where it has none. The error is the rest of a
/// sentence.
pub(crate) fn decode(text: &str, via: &[NodeId], hosts: usize) -> Result<Vec<u32>, String> {
    let mut next = Vec::new();
    for word in text.split_ascii_whitespace() {
        let (number, times) = word.split_once('*').unwrap_or((word, "1"));
        let times = times.parse::<usize>().ok().filter(|times| *times > 0);
        let vertex = match number {
            "-" => Some(NONE),
            _ => number.parse::<usize>().ok().and_then(|n| via.get(n)).map(|v| v.0),
        };
        let (Some(times), Some(vertex)) = (times, vertex) else {
            let word = crate::text_file::shorten(word);
            let most = via.len().saturating_sub(1);
            return Err(format!(
                "found \"{word}\" in next; - or a number up to {most}, perhaps with *times, is expected"
            ));
        };
        if times > hosts - next.len() {
            return Err(format!("next has more entries than the network has hosts; {hosts} are expected"));
        }
        next.resize(next.len() + times, vertex);
    }
    match next.len() {
        found if found < hosts => Err(format!("next has {found} entries; {hosts} are expected, one for each host")),
        _ => Ok(next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn runs_are_written_once() {
        let next = [Some(7), Some(3), Some(3), Some(3), None];
        assert_eq!(encode(&next), (vec![3, 7], "1 0*3 -".to_owned()));
        assert_eq!(encode(&[]), (vec![], String::new()));
    }

    #[test]
    fn what_is_wrong_is_told() {
        let via = [NodeId(3), NodeId(7)];
        for (text, why) in [
            ("2 0*4", "found \"2\" in next; - or a number up to 1, perhaps with *times, is expected"),
            ("0*0", "found \"0*0\" in next; - or a number up to 1, perhaps with *times, is expected"),
            ("x", "found \"x\" in next; - or a number up to 1, perhaps with *times, is expected"),
            (
                "0*99999999999999999999",
                "found \"0*99999999999999999999\" in next; - or a number up to 1, perhaps with *times, is expected",
            ),
            ("0*4 1*2", "next has more entries than the network has hosts; 5 are expected"),
            ("0*18446744073709551615", "next has more entries than the network has hosts; 5 are expected"),
            ("0*4", "next has 4 entries; 5 are expected, one for each host"),
        ] {
            assert_eq!(decode(text, &via, 5).unwrap_err(), why);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(next in prop::collection::vec(prop::option::of(0u32..5), 0..50)) {
            let (via, text) = encode(&next);
            let via: Vec<NodeId> = via.into_iter().map(NodeId).collect();
            let expected: Vec<u32> = next.iter().map(|v| v.unwrap_or(NONE)).collect();
            prop_assert_eq!(decode(&text, &via, next.len()).unwrap(), expected);
        }
    }
}
