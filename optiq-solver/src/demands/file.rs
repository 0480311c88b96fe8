//! Demand files: one `SRC DST BYTES [class=N]` per line.
//!
//! Lines of the same pair and class are one demand, whose bytes are their sum, where the first of them stands: traces and
//! generated files often have a line for each message, and planning message by message would cost time and memory for
//! nothing. They are merged while they are read, whenever as many demands have come as are merged already, so that memory
//! follows the number of different demands and not that of lines.

use crate::demands::demand::{Demand, MAX_DEMANDS, parse_class};
use crate::error::DemandError;
use optiq_files::input;
use optiq_net::{Network, NodeId, units};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// The largest demand file that is read, in bytes.
const MAX_FILE: u64 = 256 << 20;

/// The longest line that makes sense, in bytes.
const MAX_LINE: u64 = 4096;

pub(super) fn read(path: &str, net: &Network) -> Result<Vec<Demand>, DemandError> {
    let name = input::name(Path::new(path));
    let file = input::Input::open(Path::new(path)).and_then(|input| input.at_most(MAX_FILE));
    let file = file.map_err(|e| DemandError::Io { path: name.clone(), problem: e.to_string() })?;
    read_from(&name, BufReader::new(file), net)
}

/// Reads the lines of `input`; `path` is for messages.
fn read_from(path: &str, mut input: impl BufRead, net: &Network) -> Result<Vec<Demand>, DemandError> {
    let mut demands: Vec<Demand> = Vec::new();
    // At this many, those of the same pair are merged.
    let mut full = MERGE_FROM;
    let mut sum = 0u64;
    let mut bytes = Vec::new();
    for number in 1.. {
        let bad = |problem: String| DemandError::Line { path: path.to_owned(), line: number, problem };
        bytes.clear();
        let read = (&mut input).take(MAX_LINE + 1).read_until(b'\n', &mut bytes);
        if read.map_err(|e| DemandError::Io { path: path.to_owned(), problem: e.to_string() })? == 0 {
            break;
        }
        if bytes.len() as u64 > MAX_LINE {
            return Err(bad(format!("the line is longer than {MAX_LINE} bytes")));
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| bad("the line is not UTF-8 text".into()))?;
        let Some(demand) = line(text, net).map_err(bad)? else { continue };
        sum = sum
            .checked_add(demand.bytes)
            .ok_or_else(|| bad("the demands up to here sum to more bytes than 64 bits hold".into()))?;
        match demands.last_mut() {
            Some(last) if pair(last) == pair(&demand) => last.bytes += demand.bytes,
            _ => demands.push(demand),
        }
        if demands.len() >= full {
            merge(&mut demands);
            if demands.len() > MAX_DEMANDS {
                return Err(bad(format!("more than {MAX_DEMANDS} different demands")));
            }
            full = (2 * demands.len()).clamp(MERGE_FROM, MAX_DEMANDS + 1);
        }
    }
    merge(&mut demands);
    Ok(demands)
}

/// Fewer demands are merged only at the end.
const MERGE_FROM: usize = 1 << 16;

/// What demands that are merged have in common.
fn pair(demand: &Demand) -> (NodeId, NodeId, u8) {
    (demand.src, demand.dst, demand.class)
}

/// Makes all demands of the same pair and class one, where the first of them stands. Their sum fits 64 bits.
fn merge(demands: &mut Vec<Demand>) {
    let mut order: Vec<u32> = (0..demands.len() as u32).collect();
    order.sort_unstable_by_key(|&i| (pair(&demands[i as usize]), i));
    let (mut merged, mut first) = (false, 0);
    for (place, i) in order.into_iter().map(|i| i as usize).enumerate() {
        if place == 0 || pair(&demands[i]) != pair(&demands[first]) {
            first = i;
            continue;
        }
        demands[first].bytes += demands[i].bytes;
        // From here on a host to itself stands for what is part of another demand.
        demands[i].dst = demands[i].src;
        merged = true;
    }
    if merged {
        demands.retain(|d| d.src != d.dst);
    }
}

/// One line: a demand, or nothing if it is blank, a comment, or of a host to itself.
fn line(text: &str, net: &Network) -> Result<Option<Demand>, String> {
    let text = text.split('#').next().unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().collect();
    let (src, dst, bytes, class) = match *words.as_slice() {
        [] => return Ok(None),
        [src, dst, bytes] => (src, dst, bytes, 0),
        [src, dst, bytes, word] => (src, dst, bytes, class_word(word)?),
        _ => return Err(format!("{} words; SRC DST BYTES [class=N] are expected", words.len())),
    };
    let (src, dst) = (host(src, net)?, host(dst, net)?);
    let bytes = units::parse_bytes(bytes).map_err(|e| e.to_string())?;
    Ok((src != dst).then_some(Demand { class, ..Demand::new(src, dst, bytes) }))
}

/// The class in a word `class=N`.
///
/// # Errors
/// A sentence with the word, if it is none.
pub fn class_word(word: &str) -> Result<u8, String> {
    let number = word.strip_prefix("class=");
    let number = number.ok_or_else(|| format!("\"{word}\" is found where class=N is expected"))?;
    parse_class(number).map_err(|e| format!("{word}: {e}"))
}

fn host(text: &str, net: &Network) -> Result<NodeId, String> {
    match net.resolve(text) {
        Ok(node) if net.is_host(node) => Ok(node),
        Ok(node) => Err(format!("{} is a switch; only hosts have demands", net.name(node))),
        Err(e) => Err(e.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use optiq_net::Network;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<Vec<(u32, u32, u64)>, String> {
        let net = Network::from_spec("torus:4x4").unwrap();
        let read = read_from("demands.txt", text.as_bytes(), &net).map_err(|e| e.to_string())?;
        Ok(read.iter().map(|d| (d.src.0, d.dst.0, d.bytes)).collect())
    }

    #[test]
    fn reads_numbers_coordinates_and_comments() {
        let text = "# src dst bytes\n0 5 100 # a job\n\n  (1,2)\t3,3  7\r\n4 4 9";
        assert_eq!(parse(text), Ok(vec![(0, 5, 100), (6, 15, 7)]));
        assert_eq!(parse(""), Ok(vec![]));
    }

    #[test]
    fn reads_classes() {
        let net = Network::from_spec("torus:4x4").unwrap();
        let classes = |text: &str| -> Result<Vec<u8>, String> {
            let read = read_from("demands.txt", text.as_bytes(), &net).map_err(|e| e.to_string())?;
            Ok(read.iter().map(|d| d.class).collect())
        };
        assert_eq!(classes("0 1 5 class=255\n0 1 5\n0 2 5 class=0 # least\n0 1 5 class=7"), Ok(vec![255, 0, 0, 7]));
        for (word, why) in [
            ("class=256", "class=256: a whole number from 0 to 255 is expected"),
            ("class=-1", "class=-1: a whole number from 0 to 255 is expected"),
            ("class=+1", "class=+1: a whole number from 0 to 255 is expected"),
            ("class=", "class=: a whole number from 0 to 255 is expected"),
            ("urgent", "\"urgent\" is found where class=N is expected"),
            ("class=1 x", "5 words; SRC DST BYTES [class=N] are expected"),
        ] {
            assert_eq!(classes(&format!("1 2 3\n0 1 5 {word}")), Err(format!("demands.txt:2: {why}")));
        }
    }

    /// Lines of a pair are one demand, where the first stands; another class or the way back is another demand.
    #[test]
    fn lines_of_the_same_pair_are_one_demand() {
        let net = Network::from_spec("torus:4x4").unwrap();
        let text = "0 5 100\n1 2 7\n0 5 1\n5 0 2\n0 5 10 class=1\n1 2 0\n0 5 1000\n0 5 20 class=1";
        let read = read_from("demands.txt", text.as_bytes(), &net).unwrap();
        let found: Vec<_> = read.iter().map(|d| (d.src.0, d.dst.0, d.bytes, d.class)).collect();
        assert_eq!(found, [(0, 5, 1101, 0), (1, 2, 7, 0), (5, 0, 2, 0), (0, 5, 30, 1)]);
    }

    /// Many more lines than are kept at a time: every host sends 1 byte to the next one and 2 to the one after it, in turn.
    #[test]
    fn memory_follows_different_demands() {
        let net = Network::from_spec("torus:4x4").unwrap();
        let turns = 8000;
        let turn: String = (0..16).map(|i| format!("{i} {} 1\n{i} {} 2\n", (i + 1) % 16, (i + 2) % 16)).collect();
        let read = read_from("demands.txt", turn.repeat(turns).as_bytes(), &net).unwrap();
        assert!(32 * turns > 3 * MERGE_FROM);
        assert_eq!(read.len(), 32);
        assert!(read.capacity() <= 2 * MERGE_FROM, "{}", read.capacity());
        for (i, d) in read.iter().enumerate() {
            let (src, hops) = (i as u32 / 2, i as u32 % 2 + 1);
            assert_eq!((d.src.0, d.dst.0, d.bytes), (src, (src + hops) % 16, turns as u64 * u64::from(hops)));
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "([0-9]{1,3}|class=|[0-9 #\\n(),xMiB=-]|\\PC){0,60}") {
            if let Ok(read) = parse(&text) {
                prop_assert!(read.iter().all(|d| d.0 < 16 && d.1 < 16 && d.0 != d.1));
            }
        }
    }

    #[test]
    fn names_the_line_that_is_wrong() {
        assert_eq!(parse("0 1 2\n3 4").unwrap_err(), "demands.txt:2: 2 words; SRC DST BYTES [class=N] are expected");
        assert!(parse("0 16 2").unwrap_err().starts_with("demands.txt:1: "));
        assert!(parse("0 1 -5").unwrap_err().starts_with("demands.txt:1: "));
        let max = u64::MAX;
        assert_eq!(
            parse(&format!("0 1 {max}\n\n1 2 1")).unwrap_err(),
            "demands.txt:3: the demands up to here sum to more bytes than 64 bits hold"
        );
        let long = "0 ".repeat(5000);
        assert_eq!(parse(&long).unwrap_err(), "demands.txt:1: the line is longer than 4096 bytes");
    }
}
