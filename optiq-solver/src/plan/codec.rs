//! Plans in files: binary behind a header of our own, and JSON. The only file that knows of bincode.
//!
//! Binary, all numbers little-endian:
//!
//! | offset | bytes | |
//! | --- | --- | --- |
//! | 0 | 8 | magic, `OPTIQPLN` |
//! | 8 | 4 | version ([`PLAN_VERSION`]) |
//! | 12 | 4 | codec of the payload: 1 is bincode 2, standard configuration |
//! | 16 | 16 | network fingerprint |
//! | 32 | 16 | demands fingerprint |
//! | 48 | 8 | length of the payload |
//! | 56 | 8 | xxh3 of the 56 bytes above and the payload |
//! | 64 | | payload |
//!
//! The payload is a sequence of records that are decoded one by one, so that a length inside of it can make the
//! reader allocate at most one record's limit beyond what the file itself holds: the head (planner, binding words,
//! three figures, number of demands), and for every demand its record (source, destination, bytes, class, number of flows)
//! followed by its flows' (bytes, links, stops).
//!
//! JSON holds the same, with the same checksum (that of the binary form), so that neither can be changed unnoticed.
//! Both are read against the network and checked in full ([`Plan::check`]).

use super::{Flow, PLAN_VERSION, Plan};
use crate::demands::Demand;
use bincode::config::{Configuration, Limit, LittleEndian, Varint};
use optiq_files::{input, output};
use optiq_net::{Fingerprint, LinkId, Network, NodeId};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::Path;
use thiserror::Error;

const MAGIC: [u8; 8] = *b"OPTIQPLN";
const HEADER: usize = 64;
const CODEC_BINCODE_2: u32 = 1;

/// The largest plan file that is read, in bytes.
const MAX_FILE: u64 = 4 << 30;

/// How much of a file is read before anything else, to see whether it is a plan.
const BEGINNING: usize = 4096;

/// What one record of the payload may hold, in bytes of memory; a flow over a million links fits.
const MAX_RECORD: usize = 16 << 20;

const CONFIG: Configuration<LittleEndian, Varint, Limit<MAX_RECORD>> =
    bincode::config::standard().with_limit::<MAX_RECORD>();

type Head = (String, String, (f64, f64, f64), u64);
type DemandRecord = (u32, u32, u64, u8, u32);
type FlowRecord = (u64, Vec<u32>, Vec<u32>);

/// Why a plan could not be read or written.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum CodecError {
    /// The bytes are no plan.
    #[error("it is not an OPTIQ plan: it starts neither with \"OPTIQPLN\" nor as a JSON object")]
    NotAPlan,
    /// The plan has another version.
    #[error("it is a plan of version {found}; this build reads version {expected}")]
    OtherVersion {
        /// Version in the file.
        found: u32,
        /// [`PLAN_VERSION`].
        expected: u32,
    },
    /// The payload is coded in a way that this build does not know.
    #[error("its payload is in codec {0}; this build reads codec 1")]
    OtherCodec(u32),
    /// The file ends early.
    #[error("it is cut off: it has {found} bytes of {expected}")]
    CutOff {
        /// Bytes there are.
        found: u64,
        /// Bytes there should be.
        expected: u64,
    },
    /// The file goes on after the plan.
    #[error("{0} bytes follow the end of the plan")]
    Trailing(u64),
    /// The checksum differs.
    #[error("it is damaged: its checksum does not match its contents")]
    Damaged,
    /// The plan is for another network.
    #[error("it was made for network {found}, but the network given is {expected}")]
    OtherNetwork {
        /// Fingerprint in the file.
        found: String,
        /// Fingerprint of the network given.
        expected: String,
    },
    /// The contents cannot be decoded.
    #[error("its contents cannot be decoded: {0}")]
    Malformed(String),
    /// The contents are decoded but are no plan for the network.
    #[error("it is not a sound plan: {0}")]
    Unsound(String),
    /// The plan is too large to be written.
    #[error("it cannot be encoded: {0}")]
    Encode(String),
    /// The file cannot be opened, read or written.
    #[error("{0}")]
    Io(String),
    /// Any of the above, with the file.
    #[error("plan {path}: {problem}")]
    File {
        /// The file.
        path: String,
        /// What is wrong.
        problem: Box<CodecError>,
    },
}

impl Plan {
    /// The plan as the contents of a binary plan file.
    ///
    /// # Errors
    /// [`CodecError::Encode`] if a flow is too large to be read again (its path has millions of links).
    pub fn to_bytes(&self) -> Result<Vec<u8>, CodecError> {
        let mut out = Vec::with_capacity(HEADER + 64 * self.demands.len());
        out.extend(MAGIC);
        out.extend(self.version.to_le_bytes());
        out.extend(CODEC_BINCODE_2.to_le_bytes());
        out.extend(self.network.0.to_le_bytes());
        out.extend(self.demands_fingerprint.0.to_le_bytes());
        out.resize(HEADER, 0);
        let figures = (self.congestion_seconds, self.direct_congestion_seconds, self.bound_seconds);
        let head: Head = (self.planner.clone(), self.binding.clone(), figures, self.demands.len() as u64);
        encode(&head, &mut out)?;
        for (d, flows) in self.demands.iter().zip(&self.flows) {
            let count = u32::try_from(flows.len()).map_err(|e| CodecError::Encode(e.to_string()))?;
            let record: DemandRecord = (d.src.0, d.dst.0, d.bytes, d.class, count);
            encode(&record, &mut out)?;
            for f in flows {
                let links = f.links.iter().map(|l| l.0).collect();
                let record: FlowRecord = (f.bytes, links, f.stops.iter().map(|s| s.0).collect());
                encode(&record, &mut out)?;
            }
        }
        let length = (out.len() - HEADER) as u64;
        out[48..56].copy_from_slice(&length.to_le_bytes());
        let sum = checksum(&out);
        out[56..64].copy_from_slice(&sum.to_le_bytes());
        Ok(out)
    }

    /// Reads the contents of a binary plan file for `net`.
    ///
    /// # Errors
    /// Everything in [`CodecError`] but `Io`, `Encode` and `File`. Nothing that is not exactly what
    /// [`Plan::to_bytes`] made for this network is accepted.
    pub fn from_bytes(bytes: &[u8], net: &Network) -> Result<Self, CodecError> {
        check_header(bytes, Some(bytes.len() as u64))?;
        if u64::from_le_bytes(field(bytes, 56)) != checksum(bytes) {
            return Err(CodecError::Damaged);
        }
        let network = Fingerprint(u128::from_le_bytes(field(bytes, 16)));
        check_network(network, net)?;
        let demands_fingerprint = Fingerprint(u128::from_le_bytes(field(bytes, 32)));
        let mut rest = &bytes[HEADER..];
        let (planner, binding, figures, count): Head = decode(&mut rest)?;
        let mut demands = Vec::new();
        let mut flows = Vec::new();
        for _ in 0..count {
            let (src, dst, bytes, class, count): DemandRecord = decode(&mut rest)?;
            demands.push(Demand { src: NodeId(src), dst: NodeId(dst), bytes, class });
            let mut of_demand = Vec::new();
            for _ in 0..count {
                let (bytes, links, stops): FlowRecord = decode(&mut rest)?;
                let links = links.into_iter().map(LinkId).collect();
                of_demand.push(Flow { links, stops: stops.into_iter().map(NodeId).collect(), bytes });
            }
            flows.push(of_demand);
        }
        if !rest.is_empty() {
            return Err(CodecError::Malformed(format!("{} bytes are left over", rest.len())));
        }
        let (congestion_seconds, direct_congestion_seconds, bound_seconds) = figures;
        let plan = Plan {
            version: PLAN_VERSION,
            planner,
            network,
            demands_fingerprint,
            demands,
            flows,
            congestion_seconds,
            direct_congestion_seconds,
            bound_seconds,
            binding,
        };
        plan.check(net).map_err(CodecError::Unsound)?;
        Ok(plan)
    }

    /// The plan as a JSON document, ending in a newline.
    ///
    /// # Errors
    /// As [`Plan::to_bytes`], whose checksum it holds.
    pub fn to_json(&self) -> Result<String, CodecError> {
        let flow = |f: &Flow| JsonFlow { bytes: f.bytes, stops: f.stops.clone(), links: f.links.clone() };
        let demand = |(d, flows): (&Demand, &Vec<Flow>)| JsonDemand {
            src: d.src,
            dst: d.dst,
            bytes: d.bytes,
            class: d.class,
            flows: flows.iter().map(flow).collect(),
        };
        let json = JsonPlan {
            format: JSON_FORMAT.into(),
            version: self.version,
            planner: self.planner.clone(),
            network: self.network,
            demands_fingerprint: self.demands_fingerprint,
            congestion_seconds: self.congestion_seconds,
            direct_congestion_seconds: self.direct_congestion_seconds,
            bound_seconds: self.bound_seconds,
            binding: self.binding.clone(),
            demands: self.demands.iter().zip(&self.flows).map(demand).collect(),
            checksum: format!("{:016x}", checksum(&self.to_bytes()?)),
        };
        let mut text = serde_json::to_string_pretty(&json).map_err(|e| CodecError::Encode(e.to_string()))?;
        text.push('\n');
        Ok(text)
    }

    /// Reads a JSON plan for `net`.
    ///
    /// # Errors
    /// As [`Plan::from_bytes`]; a document that is not JSON or cut off is [`CodecError::Malformed`].
    pub fn from_json(text: &str, net: &Network) -> Result<Self, CodecError> {
        // Version and network first: another version may well differ in the fields that follow.
        let intro: JsonIntro = serde_json::from_str(text).map_err(|e| CodecError::Malformed(e.to_string()))?;
        if intro.format != JSON_FORMAT {
            return Err(CodecError::NotAPlan);
        }
        if intro.version != PLAN_VERSION {
            return Err(CodecError::OtherVersion { found: intro.version, expected: PLAN_VERSION });
        }
        let json: JsonPlan = serde_json::from_str(text).map_err(|e| CodecError::Malformed(e.to_string()))?;
        check_network(json.network, net)?;
        let mut demands = Vec::with_capacity(json.demands.len());
        let mut flows = Vec::with_capacity(json.demands.len());
        for d in json.demands {
            demands.push(Demand { src: d.src, dst: d.dst, bytes: d.bytes, class: d.class });
            flows.push(d.flows.into_iter().map(|f| Flow { links: f.links, stops: f.stops, bytes: f.bytes }).collect());
        }
        let plan = Plan {
            version: json.version,
            planner: json.planner,
            network: json.network,
            demands_fingerprint: json.demands_fingerprint,
            demands,
            flows,
            congestion_seconds: json.congestion_seconds,
            direct_congestion_seconds: json.direct_congestion_seconds,
            bound_seconds: json.bound_seconds,
            binding: json.binding,
        };
        if json.checksum != format!("{:016x}", checksum(&plan.to_bytes()?)) {
            return Err(CodecError::Damaged);
        }
        plan.check(net).map_err(CodecError::Unsound)?;
        Ok(plan)
    }

    /// Writes the plan to a file: JSON if its name ends in `.json`, binary otherwise. A file that exists is replaced
    /// when the new one is complete.
    ///
    /// # Errors
    /// [`CodecError::File`].
    pub fn save(&self, path: &Path) -> Result<(), CodecError> {
        let save = || {
            let json = path.extension().is_some_and(|e| e == "json");
            let contents = if json { self.to_json()?.into_bytes() } else { self.to_bytes()? };
            output::write(path, output::PUBLIC, |out| out.write_all(&contents))
                .map_err(|e| CodecError::Io(e.to_string()))
        };
        save().map_err(|e| of_file(path, e))
    }

    /// Reads a plan from a file for `net`, binary or JSON, whatever its name.
    ///
    /// # Errors
    /// [`CodecError::File`], which names the file and tells apart: no plan, another version, cut off, damaged,
    /// another network's, and unsound.
    pub fn load(path: &Path, net: &Network) -> Result<Self, CodecError> {
        let load = || {
            let io = |e: std::io::Error| CodecError::Io(e.to_string());
            let bytes = input::read_checked(path, BEGINNING, io, check_beginning)?;
            match bytes.iter().find(|b| !b.is_ascii_whitespace()) {
                Some(b'{') => {
                    let text = std::str::from_utf8(&bytes).map_err(|e| CodecError::Malformed(e.to_string()))?;
                    Plan::from_json(text, net)
                }
                _ => Plan::from_bytes(&bytes, net),
            }
        };
        load().map_err(|e| of_file(path, e))
    }
}

fn of_file(path: &Path, problem: CodecError) -> CodecError {
    CodecError::File { path: input::name(path), problem: Box::new(problem) }
}

/// Looks at how a file begins, and says how many bytes of it may be read.
fn check_beginning(beginning: &[u8], length: Option<u64>) -> Result<u64, CodecError> {
    let mut visible = beginning.iter().filter(|b| !b.is_ascii_whitespace());
    match (visible.next(), visible.next()) {
        (Some(b'{'), None | Some(b'"' | b'}')) => Ok(MAX_FILE),
        (Some(b'{'), Some(_)) => Err(CodecError::NotAPlan),
        _ => Ok(check_header(beginning, length)?.min(MAX_FILE)),
    }
}

/// Looks at the header of a binary plan, of which `bytes` are at least the beginning and `length` the size, if that is known. Says
/// how large it should be.
fn check_header(bytes: &[u8], length: Option<u64>) -> Result<u64, CodecError> {
    let compared = bytes.len().min(MAGIC.len());
    if bytes[..compared] != MAGIC[..compared] || bytes.is_empty() {
        return Err(CodecError::NotAPlan);
    }
    if bytes.len() < HEADER {
        return Err(CodecError::CutOff { found: bytes.len() as u64, expected: HEADER as u64 });
    }
    let version = u32::from_le_bytes(field(bytes, 8));
    if version != PLAN_VERSION {
        return Err(CodecError::OtherVersion { found: version, expected: PLAN_VERSION });
    }
    let codec = u32::from_le_bytes(field(bytes, 12));
    if codec != CODEC_BINCODE_2 {
        return Err(CodecError::OtherCodec(codec));
    }
    let expected = u64::from_le_bytes(field(bytes, 48)).saturating_add(HEADER as u64);
    match length {
        Some(found) if found < expected => Err(CodecError::CutOff { found, expected }),
        Some(found) if found > expected => Err(CodecError::Trailing(found - expected)),
        _ => Ok(expected),
    }
}

fn check_network(found: Fingerprint, net: &Network) -> Result<(), CodecError> {
    let expected = net.fingerprint();
    if found == expected {
        return Ok(());
    }
    Err(CodecError::OtherNetwork { found: found.to_string(), expected: expected.to_string() })
}

/// `N` bytes of the header, which `bytes` holds in full.
fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}

/// xxh3 of a binary plan without its checksum field.
fn checksum(bytes: &[u8]) -> u64 {
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    hash.update(&bytes[..56]);
    hash.update(&bytes[HEADER..]);
    hash.digest()
}

fn encode<T: bincode::Encode>(record: &T, out: &mut Vec<u8>) -> Result<(), CodecError> {
    let before = out.len();
    bincode::encode_into_std_write(record, out, CONFIG).map_err(|e| CodecError::Encode(e.to_string()))?;
    // Decoding charges at most 8 bytes of memory for one of a record.
    if (out.len() - before) > MAX_RECORD / 8 {
        return Err(CodecError::Encode(format!("a record of it has {} bytes", out.len() - before)));
    }
    Ok(())
}

fn decode<T: bincode::Decode<()>>(rest: &mut &[u8]) -> Result<T, CodecError> {
    let (record, read) = bincode::decode_from_slice(rest, CONFIG).map_err(|e| CodecError::Malformed(e.to_string()))?;
    *rest = &rest[read..];
    Ok(record)
}

const JSON_FORMAT: &str = "optiq-plan";

#[derive(Deserialize)]
struct JsonIntro {
    #[serde(default)]
    format: String,
    #[serde(default)]
    version: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonPlan {
    format: String,
    version: u32,
    planner: String,
    network: Fingerprint,
    demands_fingerprint: Fingerprint,
    congestion_seconds: f64,
    direct_congestion_seconds: f64,
    bound_seconds: f64,
    binding: String,
    demands: Vec<JsonDemand>,
    checksum: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonDemand {
    src: NodeId,
    dst: NodeId,
    bytes: u64,
    class: u8,
    flows: Vec<JsonFlow>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonFlow {
    bytes: u64,
    stops: Vec<NodeId>,
    links: Vec<LinkId>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{PlanOptions, run};
    use proptest::prelude::*;

    fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
        let length = (bytes.len() - HEADER) as u64;
        bytes[48..56].copy_from_slice(&length.to_le_bytes());
        let sum = checksum(&bytes);
        bytes[56..64].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn example() -> (Network, Vec<u8>) {
        let net = Network::from_spec("torus:4x4").unwrap();
        let demands = crate::demands::parse("pattern:disjoint", &net, 999_999).unwrap();
        let plan = run(&net, &demands, &PlanOptions::default()).unwrap().plan;
        let bytes = plan.to_bytes().unwrap();
        (net, bytes)
    }

    #[test]
    fn lengths_inside_the_payload_are_not_believed() {
        let (net, bytes) = example();
        let mut hostile = bytes[..HEADER].to_vec();
        // A planner's name of 2^62 bytes.
        hostile.push(253);
        hostile.extend((1u64 << 62).to_le_bytes());
        assert!(matches!(Plan::from_bytes(&sealed(hostile), &net), Err(CodecError::Malformed(_))));
        // 2^62 demands, of which none follows.
        let mut hostile = bytes[..HEADER].to_vec();
        let head: Head = (String::new(), String::new(), (0.0, 0.0, 0.0), 1 << 62);
        encode(&head, &mut hostile).unwrap();
        assert!(matches!(Plan::from_bytes(&sealed(hostile), &net), Err(CodecError::Malformed(_))));
        assert!(matches!(Plan::from_bytes(&sealed([bytes, vec![0]].concat()), &net), Err(CodecError::Malformed(_))));
    }

    proptest! {
        /// Damage that the checksum does not show is found by decoding or checking, or leaves a plan that holds.
        #[test]
        fn sealed_damage_never_gives_a_wrong_plan(
            changes in prop::collection::vec((0usize..10_000, any::<u8>()), 1..4),
            cut in prop::option::of(0usize..10_000),
        ) {
            let (net, mut bytes) = example();
            let payload = bytes.len() - HEADER;
            for (at, byte) in changes {
                bytes[HEADER + at % payload] = byte;
            }
            if let Some(cut) = cut {
                bytes.truncate(HEADER + cut % payload);
            }
            if let Ok(plan) = Plan::from_bytes(&sealed(bytes), &net) {
                prop_assert_eq!(plan.check(&net), Ok(()));
                prop_assert!(plan.demands.iter().all(|d| d.bytes == 999_999));
            }
        }
    }
}
