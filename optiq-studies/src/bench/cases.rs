//! Which cases are measured: lists of demands and sizes, and files of cases.

use optiq_files::input;
use optiq_net::text_file;
use optiq_net::units::{format_bytes, parse_bytes};
use optiq_solver::demands;
use serde::Deserialize;
use std::path::Path;

/// The name of the list of cases that is built in, and the list.
pub const THESIS30: &str = "thesis30";
const THESIS30_TEXT: &str = include_str!("../../../data/thesis30.toml");

/// Bytes per pair by default.
pub const MESSAGE: &str = "4MB";

/// The largest file of cases that is read, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// The most cases, and sizes of a list.
const MAX_CASES: usize = 10_000;

/// The default factor from one size of a range to the next.
const FACTOR: u64 = 4;

/// One thing to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// `pattern:...` or `file:...`.
    pub demands: String,
    /// Bytes per pair of a pattern.
    pub message_bytes: u64,
}

impl Case {
    /// What it is called: `disjoint, 4MB`.
    pub fn name(&self) -> String {
        match self.demands.strip_prefix("pattern:") {
            Some(pattern) if pattern.contains("min=") && pattern.contains("max=") => pattern.to_owned(),
            Some(pattern) => format!("{pattern}, {}", format_bytes(self.message_bytes)),
            None => self.demands.clone(),
        }
    }
}

/// Sizes of a list such as `1KB,64KB`, `1B..16MB` (each four times the one before, and the last), `1B..1MB*8`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes(pub Vec<u64>);

impl std::str::FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut sizes = Vec::new();
        for part in text.split(',') {
            match part.split_once("..") {
                None => sizes.push(parse_bytes(part).map_err(|e| e.to_string())?),
                Some((low, rest)) => sizes.extend(range(part, low, rest)?),
            }
        }
        if sizes.len() > MAX_CASES {
            return Err(format!("there are {} sizes; at most {MAX_CASES} are expected", sizes.len()));
        }
        Ok(Sizes(sizes))
    }
}

fn range(part: &str, low: &str, rest: &str) -> Result<Vec<u64>, String> {
    let (high, factor) = match rest.split_once('*') {
        None => (rest, FACTOR),
        Some((high, factor)) => {
            let refuse = || format!("\"{part}\": the factor is \"{factor}\"; a whole number from 2 on is expected");
            (high, factor.trim().parse().ok().filter(|&f| f >= 2).ok_or_else(refuse)?)
        }
    };
    let (low, high) = (parse_bytes(low).map_err(|e| e.to_string())?, parse_bytes(high).map_err(|e| e.to_string())?);
    if low == 0 || low > high {
        return Err(format!("\"{part}\" is not a range; its lower end must be above zero and not above the upper end"));
    }
    let steps = std::iter::successors(Some(low), |&size| size.checked_mul(factor));
    Ok(steps.take_while(|&size| size < high).chain([high]).collect())
}

/// The patterns and files of a list: commas part them where `pattern:`, `file:` or the path of a file follows, as patterns have
/// commas, too.
pub fn split_demands(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for part in text.split(',') {
        let part = &*demands::with_form(part.trim_start());
        let begins = ["pattern:", "file:"].iter().any(|form| part.starts_with(form));
        match found.last_mut() {
            Some(last) if !begins => {
                last.push(',');
                last.push_str(part);
            }
            _ => found.push(part.to_owned()),
        }
    }
    found
}

/// Every demand set with every size; a file once, as it has sizes of its own.
pub fn product(demands: &[String], sizes: &[u64]) -> Vec<Case> {
    let of = |demands: &String| {
        let sizes = if demands.starts_with("file:") { &sizes[..sizes.len().min(1)] } else { sizes };
        sizes.iter().map(|&message_bytes| Case { demands: demands.clone(), message_bytes }).collect::<Vec<_>>()
    };
    demands.iter().flat_map(of).collect()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    case: Vec<CaseEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseEntry {
    demands: toml::Spanned<String>,
    message: Option<toml::Spanned<String>>,
}

/// The cases of the built-in list [`THESIS30`], or of a file.
///
/// # Errors
/// One sentence that names the file, and the line where there is one.
pub fn cases(name: &str) -> Result<Vec<Case>, String> {
    if name == THESIS30 {
        return parse_cases(THESIS30_TEXT, "data/thesis30.toml");
    }
    let bad = |why: String| format!("cases {name}: {why} (the one list that is built in is {THESIS30})");
    let text = text_file::read(Path::new(name), MAX_FILE).map_err(bad)?;
    parse_cases(&text, &input::name(Path::new(name)))
}

fn parse_cases(text: &str, label: &str) -> Result<Vec<Case>, String> {
    let line = |at: usize| 1 + text.bytes().take(at).filter(|&b| b == b'\n').count();
    let document: CaseFile = toml::from_str(text).map_err(|e| {
        let why = e.message().split_whitespace().collect::<Vec<_>>().join(" ");
        format!("{label}, line {}: {why}", line(e.span().map_or(0, |span| span.start)))
    })?;
    if document.case.is_empty() || document.case.len() > MAX_CASES {
        return Err(format!("{label}: there are {} cases; 1 to {MAX_CASES} are expected", document.case.len()));
    }
    let case = |entry: CaseEntry| {
        let demands = &*demands::with_form(entry.demands.get_ref());
        if !demands.starts_with("pattern:") && !demands.starts_with("file:") {
            let at = line(entry.demands.span().start);
            return Err(format!("{label}, line {at}: \"{demands}\" is neither pattern:NAME nor file:PATH"));
        }
        let message = entry.message.as_ref().map_or(MESSAGE, |m| m.get_ref());
        let message_bytes = parse_bytes(message).map_err(|e| {
            let at = line(entry.message.as_ref().map_or(0, |m| m.span().start));
            format!("{label}, line {at}: {e}")
        })?;
        Ok(Case { demands: demands.to_owned(), message_bytes })
    };
    document.case.into_iter().map(case).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use optiq_net::Network;

    #[test]
    fn sizes() {
        let read = |text: &str| text.parse::<Sizes>().map(|sizes| sizes.0);
        assert_eq!(read("4MB").unwrap(), [4_000_000]);
        assert_eq!(read("1,8,64KiB").unwrap(), [1, 8, 65536]);
        assert_eq!(read("1B..100B").unwrap(), [1, 4, 16, 64, 100]);
        assert_eq!(read("1B..64B*8,1KB").unwrap(), [1, 8, 64, 1000]);
        assert_eq!(read("5..5").unwrap(), [5]);
        for (bad, says) in [
            ("", "number of bytes"),
            ("4MX", "4MX"),
            ("8..4", "not a range"),
            ("0..4", "not a range"),
            ("1..9*1", "factor"),
            ("1,,2", "number of bytes"),
        ] {
            let error = read(bad).unwrap_err();
            assert!(error.contains(says) && !error.contains('\n'), "{bad}: {error}");
        }
        assert_eq!(read("1..18446744073709551615*2").unwrap().len(), 65);
    }

    #[test]
    fn lists_of_demands() {
        let parts = |text| split_demands(text);
        assert_eq!(parts("pattern:random,count=4,seed=1"), ["pattern:random,count=4,seed=1"]);
        assert_eq!(
            parts("pattern:disjoint,pattern:random,count=4, file:a.txt"),
            ["pattern:disjoint", "pattern:random,count=4", "file:a.txt"]
        );
        let cases = product(&parts("pattern:alltoall,file:a,b"), &[1, 2]);
        let names: Vec<String> = cases.iter().map(Case::name).collect();
        assert_eq!(names, ["alltoall, 1B", "alltoall, 2B", "file:a,b"]);
    }

    #[test]
    fn files_of_cases() {
        let read = |text| parse_cases(text, "cases.toml");
        let found =
            read("[[case]]\ndemands = \"pattern:disjoint\"\n[[case]]\ndemands='file:x'\nmessage='1KiB'\n").unwrap();
        assert_eq!(found[0], Case { demands: "pattern:disjoint".into(), message_bytes: 4_000_000 });
        assert_eq!(found[1], Case { demands: "file:x".into(), message_bytes: 1024 });
        for (bad, says) in [
            ("case = []", "0 cases"),
            ("[[case]]\nmessage = '1B'", "line 1"),
            ("[[case]]\ndemands = 'disjoint'", "line 2"),
            ("[[case]]\ndemands = 'pattern:disjoint'\nmessage = 'much'", "line 3"),
            ("[[case]]\ndemands = 'pattern:disjoint'\nsize = '1B'", "size"),
        ] {
            let error = read(bad).unwrap_err();
            assert!(error.starts_with("cases.toml") && error.contains(says) && !error.contains('\n'), "{error}");
        }
        assert!(cases("/nowhere").unwrap_err().contains("thesis30"));
    }

    /// 15 of the thesis's and 15 others, no two alike, each with something to move on 16 hosts.
    #[test]
    fn thirty_cases() {
        let cases = cases(THESIS30).unwrap();
        assert_eq!(cases.len(), 30);
        let names: std::collections::BTreeSet<String> = cases.iter().map(Case::name).collect();
        assert_eq!(names.len(), 30);
        for pattern in ["disjoint", "overlap", "subset"] {
            let sizes: Vec<u64> = cases
                .iter()
                .filter(|c| c.demands == format!("pattern:{pattern}"))
                .map(|c| c.message_bytes / 1_000_000)
                .collect();
            assert_eq!(sizes, [1, 2, 4, 8, 16]);
        }
        for topology in ["torus:4x4", "torus:2x2x2x2", "fattree:k=4", "star:16"] {
            let net = Network::from_spec(topology).unwrap();
            for case in &cases {
                let list = optiq_solver::demands::parse(&case.demands, &net, case.message_bytes).unwrap();
                assert!(list.iter().any(|d| d.bytes > 0), "{} on {topology}", case.name());
            }
        }
    }
}
