//! The cases of thesis 6.4.4.1, from a file of which `data/thesis91.toml` is the one that is built in; its head says
//! what the keys mean and what was chosen where the thesis is silent.
//!
//! A case is a shape: numbers of hosts are fractions of the partition's `P`, so that it fits partitions of any size.
//! It becomes demands by arithmetic and by [`SplitMix64`] alone, so that they are the same everywhere.

use crate::failure::Failure;
use optiq_files::input;
use optiq_net::random::SplitMix64;
use optiq_net::text_file;
use optiq_net::{NodeId, units};
use optiq_solver::Demand;
use optiq_solver::demands::MAX_DEMANDS;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

/// The 91 cases.
const BUILT_IN: &str = include_str!("../../../data/thesis91.toml");

/// What they are called in messages.
const BUILT_IN_NAME: &str = "data/thesis91.toml";

/// The largest file that is read; the built-in one has 30 KB.
const MAX_FILE: u64 = 16 << 20;

/// Why there are no cases, or no demands of a case.
#[derive(Clone, Debug, PartialEq)]
pub enum CaseError {
    /// The file cannot be read.
    Io {
        /// The file.
        path: String,
        /// What the operating system says.
        problem: String,
    },
    /// It is not of the form that is expected; the line, from 1, where it is known.
    Form {
        /// The file.
        path: String,
        /// The line, from 1.
        line: Option<usize>,
        /// What is wrong.
        problem: String,
    },
    /// A case in it is wrong.
    Case {
        /// The file.
        path: String,
        /// The case.
        id: String,
        /// What is wrong.
        problem: String,
    },
    /// A case does not fit a network with this number of hosts.
    Hosts {
        /// The case.
        id: String,
        /// How many hosts the network has.
        hosts: usize,
        /// What is wrong.
        problem: String,
    },
}

impl fmt::Display for CaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CaseError::Io { path, problem } => write!(f, "case file {path} cannot be read: {problem}"),
            CaseError::Form { path, line: Some(line), problem } => write!(f, "{path}:{line}: {problem}"),
            CaseError::Form { path, line: None, problem } => write!(f, "{path}: {problem}"),
            CaseError::Case { path, id, problem } => write!(f, "{path}: case \"{id}\": {problem}"),
            CaseError::Hosts { id, hosts, problem } => write!(f, "case \"{id}\" on {hosts} hosts: {problem}"),
        }
    }
}

impl std::error::Error for CaseError {}

impl From<CaseError> for Failure {
    fn from(e: CaseError) -> Self {
        Failure::Input(e.to_string())
    }
}

/// How sources and destinations relate (thesis 6.4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// No host is both.
    Disjoint,
    /// Some are both, and on either side there are others.
    Overlap,
    /// One set holds the other.
    Subset,
}

/// A part of the partition, at most the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fraction {
    above: u64,
    below: u64,
}

impl Fraction {
    fn parse(text: &str) -> Result<Self, String> {
        let refuse = || format!("\"{text}\" is not a fraction of the hosts such as \"1/16\", \"0\" or \"1\"");
        let (above, below) = text.split_once('/').unwrap_or((text, "1"));
        let whole = |t: &str| t.trim().parse::<u32>().map(u64::from).map_err(|_| refuse());
        let fraction = Fraction { above: whole(above)?, below: whole(below)? };
        if fraction.below == 0 || fraction.above > fraction.below { Err(refuse()) } else { Ok(fraction) }
    }

    fn of(self, hosts: usize) -> Result<usize, String> {
        let product = hosts as u64 * self.above;
        if product.is_multiple_of(self.below) {
            return Ok((product / self.below) as usize);
        }
        Err(format!("{}/{} of them is not a whole number of hosts", self.above, self.below))
    }
}

/// Bytes of each pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sizes {
    Same(u64),
    /// Equally likely in `min..=max`.
    Drawn {
        min: u64,
        max: u64,
        seed: u64,
    },
}

/// One case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Unique.
    pub id: String,
    /// The thesis's section that it comes from.
    pub section: String,
    /// The thesis's pattern.
    pub pattern: Pattern,
    /// A sentence.
    pub why: String,
    sources: Fraction,
    each: usize,
    first: Fraction,
    sizes: Sizes,
    pairing_seed: Option<u64>,
    converse: bool,
}

impl Case {
    /// The hosts that send and those that receive, as numbers, in a partition of `hosts`.
    ///
    /// # Errors
    /// [`CaseError::Hosts`] if the shape does not fit.
    pub fn sides(&self, hosts: usize) -> Result<(Vec<u32>, Vec<u32>), CaseError> {
        let refuse = |problem| CaseError::Hosts { id: self.id.clone(), hosts, problem };
        let sources = self.sources.of(hosts).map_err(refuse)?;
        let first = self.first.of(hosts).map_err(refuse)?;
        let block = sources.checked_mul(self.each).filter(|&n| n <= hosts && n <= MAX_DEMANDS).ok_or_else(|| {
            refuse(format!("{sources} sources with {} destinations each need more hosts than there are", self.each))
        })?;
        if sources == 0 {
            return Err(refuse("there is no source".into()));
        }
        let near = (0..sources).map(|i| i as u32).collect();
        let mut far: Vec<u32> = (0..block).map(|t| ((first + t) % hosts) as u32).collect();
        if let Some(seed) = self.pairing_seed {
            let mut rng = SplitMix64::new(seed);
            for last in (1..far.len()).rev() {
                far.swap(last, rng.below(last as u64 + 1) as usize);
            }
        }
        Ok((near, far))
    }

    /// The demands in a partition of `hosts`.
    ///
    /// # Errors
    /// [`CaseError::Hosts`] if the shape does not fit.
    pub fn demands(&self, hosts: usize) -> Result<Vec<Demand>, CaseError> {
        let (near, far) = self.sides(hosts)?;
        let mut rng = match self.sizes {
            Sizes::Same(_) => SplitMix64::new(0),
            Sizes::Drawn { seed, .. } => SplitMix64::new(seed),
        };
        let mut demands = Vec::with_capacity(far.len());
        for (t, &other) in far.iter().enumerate() {
            let one = near[t / self.each];
            let bytes = match self.sizes {
                Sizes::Same(bytes) => bytes,
                Sizes::Drawn { min, max, .. } => min + rng.up_to(max - min),
            };
            let (src, dst) = if self.converse { (other, one) } else { (one, other) };
            if src != dst {
                demands.push(Demand::new(NodeId(src), NodeId(dst), bytes));
            }
        }
        Ok(demands)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileForm {
    #[serde(default)]
    case: Vec<CaseForm>,
}

/// A case as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseForm {
    id: String,
    section: String,
    pattern: Pattern,
    sources: String,
    each: u32,
    first: String,
    bytes: Option<String>,
    min: Option<String>,
    max: Option<String>,
    size_seed: Option<u64>,
    pairing_seed: Option<u64>,
    #[serde(default)]
    converse: bool,
    why: String,
}

impl CaseForm {
    fn check(self) -> Result<Case, String> {
        let size = |key: &str, text: &str| units::parse_bytes(text).map_err(|e| format!("{key}: {e}"));
        let sizes = match (&self.bytes, &self.min, &self.max, self.size_seed) {
            (Some(bytes), None, None, None) => Sizes::Same(size("bytes", bytes)?),
            (None, Some(min), Some(max), Some(seed)) => {
                let (min, max) = (size("min", min)?, size("max", max)?);
                if min > max {
                    return Err(format!("min is {min} bytes, more than max, which is {max}"));
                }
                Sizes::Drawn { min, max, seed }
            }
            _ => return Err("either bytes, or min, max and size_seed are expected".into()),
        };
        if self.each == 0 {
            return Err("each is 0; every source needs a destination".into());
        }
        if self.why.trim().is_empty() {
            return Err("why is empty; a sentence is expected".into());
        }
        Ok(Case {
            sources: Fraction::parse(&self.sources).map_err(|e| format!("sources: {e}"))?,
            each: self.each as usize,
            first: Fraction::parse(&self.first).map_err(|e| format!("first: {e}"))?,
            sizes,
            pairing_seed: self.pairing_seed,
            converse: self.converse,
            id: self.id,
            section: self.section,
            pattern: self.pattern,
            why: self.why,
        })
    }
}

/// The cases in `text`; `path` is for messages.
///
/// # Errors
/// [`CaseError::Form`] and [`CaseError::Case`]: not TOML, an unknown or missing key, a value out of range, an id that
/// is there twice, no case at all.
pub fn parse(text: &str, path: &str) -> Result<Vec<Case>, CaseError> {
    let form: FileForm = toml::from_str(text).map_err(|e| CaseError::Form {
        path: path.to_owned(),
        line: e.span().and_then(|s| text.get(..s.start)).map(|before| before.matches('\n').count() + 1),
        problem: e.message().lines().collect::<Vec<_>>().join(" "),
    })?;
    if form.case.is_empty() {
        let problem = "there is no [[case]]".into();
        return Err(CaseError::Form { path: path.to_owned(), line: None, problem });
    }
    let mut ids = BTreeSet::new();
    let check = |form: CaseForm| {
        let id = form.id.clone();
        let refuse = |problem: String| CaseError::Case { path: path.to_owned(), id: id.clone(), problem };
        if id.trim().is_empty() {
            return Err(refuse("the id is empty".into()));
        }
        if !ids.insert(id.clone()) {
            return Err(refuse("the id is there twice".into()));
        }
        form.check().map_err(refuse)
    };
    form.case.into_iter().map(check).collect()
}

/// The 91 cases that are built in.
///
/// # Errors
/// As [`parse`], which a test excludes.
pub fn built_in() -> Result<Vec<Case>, CaseError> {
    parse(BUILT_IN, BUILT_IN_NAME)
}

/// The cases of a file.
///
/// # Errors
/// [`CaseError::Io`] for a file that cannot be read, is larger than 16 MiB or not UTF-8; else as [`parse`].
pub fn read(path: &Path) -> Result<Vec<Case>, CaseError> {
    let name = input::name(path);
    let text = text_file::read(path, MAX_FILE).map_err(|problem| CaseError::Io { path: name.clone(), problem })?;
    parse(&text, &name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use optiq_net::Network;
    use optiq_solver::demands;

    const PARTITIONS: [usize; 4] = [512, 1024, 2048, 4096];

    fn one(keys: &str) -> Result<Case, CaseError> {
        let text = format!("[[case]]\nid = \"a\"\nsection = \"1\"\npattern = \"disjoint\"\nwhy = \"w\"\n{keys}");
        parse(&text, "f").map(|mut cases| cases.remove(0))
    }

    fn triples(case: &Case, hosts: usize) -> Vec<(u32, u32, u64)> {
        case.demands(hosts).unwrap().iter().map(|d| (d.src.0, d.dst.0, d.bytes)).collect()
    }

    #[test]
    fn there_are_91_with_ids_of_their_own() {
        let cases = built_in().unwrap();
        assert_eq!(cases.len(), 91);
        let ids: BTreeSet<&str> = cases.iter().map(|c| c.id.as_str()).collect();
        assert_eq!(ids.len(), 91);
        let of = |p| cases.iter().filter(|c| c.pattern == p).count();
        assert_eq!((of(Pattern::Disjoint), of(Pattern::Overlap), of(Pattern::Subset)), (30, 30, 31));
        for section in ["6.4.4.2", "6.4.4.3", "6.4.4.4", "6.4.4.5", "6.4.4.6"] {
            assert!(cases.iter().any(|c| c.section == section), "{section}");
        }
        // No case is there twice under two names.
        let shapes: BTreeSet<Vec<(u32, u32, u64)>> = cases.iter().map(|c| triples(c, 2048)).collect();
        assert_eq!(shapes.len(), 91);
    }

    #[test]
    fn every_case_fits_every_partition() {
        for case in built_in().unwrap() {
            for hosts in PARTITIONS {
                let demands = case.demands(hosts).unwrap();
                let (near, far) = case.sides(hosts).unwrap();
                assert_eq!(near.len() * case.each, far.len());
                let (near, far): (BTreeSet<u32>, BTreeSet<u32>) =
                    (near.into_iter().collect(), far.into_iter().collect());
                assert_eq!(far.len(), near.len() * case.each, "{}: a destination is there twice", case.id);
                let both = near.intersection(&far).count();
                match case.pattern {
                    Pattern::Disjoint => assert_eq!(both, 0, "{}", case.id),
                    Pattern::Subset => assert_eq!(both, near.len(), "{}", case.id),
                    Pattern::Overlap => assert!(both > 0 && both < near.len() && both < far.len(), "{}", case.id),
                }
                let pairs: BTreeSet<(NodeId, NodeId)> = demands.iter().map(|d| (d.src, d.dst)).collect();
                assert_eq!(pairs.len(), demands.len(), "{}: a pair is there twice", case.id);
                // At most one pair for each source falls on itself.
                assert!(demands.len() + near.len() >= far.len() && demands.len() <= far.len(), "{}", case.id);
                for d in &demands {
                    assert!(d.src != d.dst && (d.src.0 as usize) < hosts && (d.dst.0 as usize) < hosts, "{}", case.id);
                    assert!((64 << 10..=8 << 20).contains(&d.bytes), "{}: {} bytes", case.id, d.bytes);
                    let (one, other) = if case.converse { (d.dst.0, d.src.0) } else { (d.src.0, d.dst.0) };
                    assert!(near.contains(&one) && far.contains(&other), "{}", case.id);
                }
            }
        }
    }

    #[test]
    fn the_thesis_s_patterns_are_the_solver_s() {
        let cases = built_in().unwrap();
        for (spec, hosts) in [("bgq:512", 512), ("bgq:2048", 2048)] {
            let net = Network::from_spec(spec).unwrap();
            for pattern in ["disjoint", "overlap", "subset"] {
                let case = cases.iter().find(|c| c.id == format!("scaling-{pattern}-16")).unwrap();
                let expected = demands::parse(&format!("pattern:{pattern}"), &net, 8 << 20).unwrap();
                assert_eq!(case.demands(hosts).unwrap(), expected);
            }
        }
    }

    #[test]
    fn positions_are_those_of_the_thesis() {
        // 6.4.4.4: sources 0-255; destinations 256-767, 512-1023, 1024-1535 and 1536-2047 of 2,048 nodes.
        let cases = built_in().unwrap();
        for (k, first) in [(1, 256), (2, 512), (3, 1024), (4, 1536)] {
            let case = cases.iter().find(|c| c.id == format!("distance-disjoint-{k}")).unwrap();
            let (near, far) = case.sides(2048).unwrap();
            assert_eq!((near.len(), far.len()), (256, 512));
            assert_eq!((far[0], far[511]), (first, first + 511));
        }
    }

    #[test]
    fn small_cases_by_hand() {
        // Of 8 hosts 0 and 1 send to 2 each; the block of 4 from host 6 on goes around the end: 6 7 0 1.
        let shape = "sources = \"1/4\"\neach = 2\nfirst = \"3/4\"\nbytes = \"5\"";
        assert_eq!(triples(&one(shape).unwrap(), 8), [(0, 6, 5), (0, 7, 5), (1, 0, 5)]);
        let converse = one(&format!("{shape}\nconverse = true")).unwrap();
        assert_eq!(triples(&converse, 8), [(6, 0, 5), (7, 0, 5), (0, 1, 5)]);
        // A range of one size.
        let drawn = "sources = \"1/4\"\neach = 1\nfirst = \"1/2\"\nmin = \"7\"\nmax = \"7\"\nsize_seed = 3";
        assert_eq!(triples(&one(drawn).unwrap(), 8), [(0, 4, 7), (1, 5, 7)]);
        // Two places shuffled: SplitMix64's first number decides whether they are exchanged.
        let shuffled = one("sources = \"1/4\"\neach = 1\nfirst = \"1/2\"\nbytes = \"5\"\npairing_seed = 9").unwrap();
        let exchanged = SplitMix64::new(9).below(2) == 0;
        let expected = if exchanged { [(0, 5, 5), (1, 4, 5)] } else { [(0, 4, 5), (1, 5, 5)] };
        assert_eq!(triples(&shuffled, 8), expected);
    }

    #[test]
    fn draws_differ_and_repeat() {
        let cases = built_in().unwrap();
        let of = |id: &str| triples(cases.iter().find(|c| c.id == id).unwrap(), 512);
        assert_eq!(of("random-disjoint-16-1"), of("random-disjoint-16-1"));
        assert_ne!(of("random-disjoint-16-1"), of("random-disjoint-16-2"));
        assert_ne!(of("sizes-disjoint-16-1"), of("sizes-disjoint-16-2"));
        let sizes: BTreeSet<u64> = of("sizes-disjoint-16-1").iter().map(|t| t.2).collect();
        assert!(sizes.len() > 200, "{} sizes", sizes.len());
    }

    #[test]
    fn bad_files_get_one_sentence() {
        let good = "sources = \"1/4\"\neach = 2\nfirst = \"1/2\"\nbytes = \"5\"";
        for (keys, says) in [
            (good.replace("1/4", "5/4"), "case \"a\": sources: \"5/4\" is not a fraction"),
            (good.replace("1/4", "1/0"), "is not a fraction"),
            (good.replace("\"1/2\"", "\"half\""), "first: \"half\" is not a fraction"),
            (good.replace("each = 2", "each = 0"), "each is 0"),
            (good.replace("\"5\"", "\"many\""), "bytes: "),
            (format!("{good}\nmin = \"1\""), "either bytes, or min, max and size_seed"),
            (format!("{good}\ncolour = 1"), "f:10: unknown field `colour`"),
            (good.replace("each = 2", "each = -2"), "f:7: "),
            (good.replace("bytes = \"5\"", "min = \"6\"\nmax = \"5\"\nsize_seed = 1"), "min is 6 bytes, more than max"),
        ] {
            let error = one(&keys).unwrap_err().to_string();
            assert!(error.contains(says) && error.lines().count() == 1, "{error}");
        }
        assert_eq!(parse("", "f").unwrap_err().to_string(), "f: there is no [[case]]");
        let twice = format!(
            "{0}\n{0}",
            format_args!("[[case]]\nid = \"a\"\nsection = \"1\"\npattern = \"subset\"\nwhy = \"w\"\n{good}")
        );
        assert!(parse(&twice, "f").unwrap_err().to_string().contains("the id is there twice"));
        let third = one(&good.replace("1/4", "1/3")).unwrap().demands(8).unwrap_err().to_string();
        assert_eq!(third, "case \"a\" on 8 hosts: 1/3 of them is not a whole number of hosts");
        let wide = one(&good.replace("each = 2", "each = 5")).unwrap().demands(8).unwrap_err().to_string();
        assert!(wide.contains("2 sources with 5 destinations each need more hosts"), "{wide}");
        assert!(matches!(read(Path::new("/nowhere/x.toml")), Err(CaseError::Io { .. })));
    }
}
