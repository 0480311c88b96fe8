//! Specifications of switched networks; [`crate::spec`] has the table.

use crate::builder::{End, NetworkBuilder};
use crate::error::NetError;
use crate::geometry::Geometry;
use crate::host_names::adapter_name;
use crate::limits::DEFAULT_CAPACITY;
use crate::network::Network;
use crate::routing::Routing;
use crate::routing::table::{NextHops, Rule};
use crate::spec::adapters::Adapters;
use crate::switched::cables::Class;
use crate::switched::closed_form::Plane;
use crate::switched::dragonfly::Dragonfly;
use crate::switched::dragonfly_plus::DragonflyPlus;
use crate::switched::fat_tree::FatTree;
use crate::switched::rails::{MAX_RAILS, Switched};
use crate::text_file::shorten;
use crate::units::{format_rate, parse_rate};
use std::fmt;
use std::sync::Arc;

const GIB: f64 = 1_073_741_824.0;

/// Brown's dissertation, section 5.3.2: 1,296 nodes, 72 leaf switches of 36 ports, three levels, 12.5 GB/s; section 4.2:
/// full bisection and 36 / 2 * 72 * 3 = 3,888 cables. With 36 ports each that makes 72 and 36 switches above. Their wiring
/// is not given: here a switch of the middle has 9 cables to each of two parents.
const BROWN: [&[u32]; 3] = [&[18, 18, 4], &[1, 18, 2], &[1, 1, 9]];
const BROWN_LINK: f64 = 12.5e9;

/// Kang et al. 2019, section 2.1: hosts per leaf, leaves, spines, global links per spine, groups.
const KANG: [u32; 5] = [16, 24, 24, 16, 9];
const KANG_LINKS: [f64; 3] = [16.0 * GIB, 5.25 * GIB, 4.37 * GIB];
/// A dragonfly of 5,586 hosts, as in Yoga and Chabbi's evaluation after NERSC's Edison: 57 groups of 14 routers, a cable between
/// every two groups. They do not say how it is made up; rates as in Faanes et al., "Cray Cascade", SC 2012.
const EDISON: [u32; 4] = [7, 14, 4, 57];
const EDISON_LINKS: [f64; 3] = [10e9, 5.25e9, 4.7e9];

/// A specification that was read, in little memory however large the network.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SwitchedSpec {
    shape: Switched,
    /// Bytes per second of terminal, local and global cables.
    capacities: [f64; 3],
    /// Nothing for shortest paths.
    rule: Option<Rule>,
    /// Adapters that differ.
    adapters: Adapters,
    /// Bytes per second between a host and the memory of its node, where several hosts are the adapters of one.
    memory: f64,
}

/// The fields `key=value` of a specification, each taken once.
struct Fields<'s>(Vec<(&'s str, &'s str)>);

impl<'s> Fields<'s> {
    fn parse(parts: &[&'s str], expected: &str) -> Result<Self, String> {
        let mut fields: Vec<(&str, &str)> = Vec::new();
        for part in parts {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| format!("found option \"{}\"; key=value is expected", shorten(part)))?;
            let (key, value) = (key.trim(), value.trim());
            if !expected.split([' ', ',']).any(|e| e == key) || key == "or" {
                return Err(format!("there is no option \"{}\"; {expected} is expected", shorten(key)));
            }
            if fields.iter().any(|f| f.0 == key) {
                return Err(format!("option {key} is given twice"));
            }
            fields.push((key, value));
        }
        Ok(Fields(fields))
    }

    fn text(&self, key: &str) -> Option<&'s str> {
        self.0.iter().find(|f| f.0 == key).map(|f| f.1)
    }

    fn number(&self, key: &str) -> Result<Option<u32>, String> {
        self.text(key).map(|text| positive(key, text)).transpose()
    }

    fn needed(&self, key: &str) -> Result<u32, String> {
        self.number(key)?.ok_or_else(|| format!("{key}= is missing; a whole number above zero is expected"))
    }

    fn rate(&self, key: &str, default: f64) -> Result<f64, String> {
        self.text(key).map_or(Ok(default), |text| parse_rate(text).map_err(|e| e.to_string()))
    }
}

fn positive(what: &str, text: &str) -> Result<u32, String> {
    let number = || text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    number().filter(|&n| n > 0).ok_or_else(|| {
        format!("found {what} \"{}\"; a whole number above zero, below 2^32, is expected", shorten(text))
    })
}

fn list(what: &str, text: &str) -> Result<Vec<u32>, String> {
    // One more than any tree may have is enough to have it refused.
    text.split('x').take(17).map(|part| positive(what, part)).collect()
}

impl SwitchedSpec {
    /// What `text` specifies, if it is of a switched kind.
    pub fn parse(text: &str) -> Result<Option<Self>, NetError> {
        let Some((kind, rest)) = text.trim().split_once(':') else { return Ok(None) };
        let parts: Vec<&str> = rest.split(',').map(str::trim).collect();
        let parsed = match kind {
            "fattree" => fat_tree(&parts),
            // A star of one rail is read with the tori: its links are its routing.
            "star" if has_rails(&parts[1..]) => star(&parts),
            "dragonfly" => dragonfly(&parts),
            "dragonfly+" => dragonfly_plus(&parts),
            _ => return Ok(None),
        };
        parsed.map(Some).map_err(|why| NetError::Spec(format!("topology \"{}\": {why}", shorten(text))))
    }

    /// Number of hosts that [`SwitchedSpec::build`] will make.
    #[cfg(test)]
    pub fn hosts(&self) -> usize {
        self.shape.hosts() as usize
    }

    /// Number of hosts and switches that [`SwitchedSpec::build`] will make.
    pub fn vertices(&self) -> usize {
        self.shape.vertices() as usize
    }

    pub fn build(&self) -> Result<Network, NetError> {
        let mut builder = NetworkBuilder::new();
        let (hosts, vertices) = (self.shape.hosts(), self.shape.vertices());
        for i in 0..hosts {
            builder.host(match self.shape.node() {
                Some(adapters) => adapter_name(&format!("h{}", i / adapters), i % adapters),
                None => format!("h{i}"),
            });
        }
        let memories = vertices - self.shape.first_memory();
        for i in 0..vertices - hosts - memories {
            builder.switch(format!("s{i}"));
        }
        for i in 0..memories {
            builder.switch(format!("m{i}"));
        }
        let end = |v: u32| if v < hosts { End::Host(v) } else { End::Switch(v - hosts) };
        for (rail, (a, b, lanes, class)) in self.shape.cables() {
            let capacity = self.capacities[class as usize];
            let own = (class == Class::Terminal).then(|| self.adapters.rate(a, rail, capacity));
            builder.duplex(end(a), end(b), lanes, own.unwrap_or(capacity));
        }
        for (host, memory) in self.shape.memory_cables() {
            builder.duplex(end(host), end(memory), 1, self.memory);
        }
        let mut network = builder.build(self.to_string(), Geometry::General, Routing::Shortest)?;
        let shape = Arc::new(self.shape.clone());
        network.switched = Some(Arc::clone(&shape));
        match self.rule {
            Some(rule) => network.with_routing(Routing::Table(NextHops::computed(shape, rule))),
            None => Ok(network),
        }
    }
}

/// The rails and adapters of a network whose planes are `plane`, with the rest of its options.
fn with_rails(fields: &Fields, plane: Plane, capacities: [f64; 3], rule: Option<Rule>) -> Result<SwitchedSpec, String> {
    let rails = fields.number("rails")?.unwrap_or(1);
    let (hosts, most) = (plane.hosts(), rails.min(MAX_RAILS));
    let adapters =
        fields.text("adapters").map(|text| Adapters::parse(text, hosts, most)).transpose()?.unwrap_or_default();
    let node = fields.text("nodes").map(node).transpose()?;
    let shape = Switched::new(plane, rails, adapters.segments(most), node.map(|(size, _)| size))?;
    if node.is_some() && rule.is_none() {
        return Err(
            "nodes= with routing=shortest, which does not know memory from fabric; another routing is expected".into(),
        );
    }
    Ok(SwitchedSpec { shape, capacities, rule, adapters, memory: node.map_or(0.0, |(_, rate)| rate) })
}

/// The number of adapters and the rate of memory of `nodes=4@10GB/s`.
fn node(text: &str) -> Result<(u32, f64), String> {
    let bad =
        || format!("found nodes \"{}\"; ADAPTERS@RATE, the rate of memory, as 4@50GB/s, is expected", shorten(text));
    let (adapters, rate) = text.split_once('@').ok_or_else(bad)?;
    Ok((positive("nodes", adapters.trim())?, parse_rate(rate.trim()).map_err(|e| e.to_string())?))
}

/// Whether the options of a star say something of rails or adapters.
fn has_rails(options: &[&str]) -> bool {
    let says = |option: &&str| matches!(option.split('=').next().map(str::trim), Some("rails" | "adapters" | "nodes"));
    options.iter().any(says)
}

/// A star of several rails, or with adapters that differ: a fat tree of one level.
fn star(parts: &[&str]) -> Result<SwitchedSpec, String> {
    let fields = Fields::parse(&parts[1..], "capacity, rails, adapters, nodes, routing, names, hosts or io")?;
    let plane = FatTree::new(vec![positive("hosts", parts[0])?], vec![1], vec![1])?;
    tree(&fields, plane, DEFAULT_CAPACITY)
}

/// The options of a fat tree.
fn tree(fields: &Fields, plane: FatTree, capacity: f64) -> Result<SwitchedSpec, String> {
    let rule = match fields.text("routing") {
        None | Some("dmodk") => Some(Rule::Destination),
        Some("smodk") => Some(Rule::Source),
        Some("shortest") => None,
        Some(other) => {
            return Err(format!("there is no routing \"{}\"; dmodk, smodk or shortest is expected", shorten(other)));
        }
    };
    with_rails(fields, Plane::FatTree(plane), [fields.rate("capacity", capacity)?; 3], rule)
}

fn fat_tree(parts: &[&str]) -> Result<SwitchedSpec, String> {
    let fields = Fields::parse(&parts[1..], "capacity, rails, adapters, nodes, routing, names, hosts or io")?;
    let (plane, capacity) = match parts[0] {
        "brown1296" => {
            let [children, parents, parallel] = BROWN.map(<[u32]>::to_vec);
            (FatTree::new(children, parents, parallel)?, BROWN_LINK)
        }
        text if text.starts_with("k=") => (FatTree::classical(positive("k", &text[2..])?)?, DEFAULT_CAPACITY),
        text => {
            let lists: Vec<&str> = text.split(':').collect();
            let (children, parents, parallel) = match lists[..] {
                [m, w] => (list("number of children", m)?, list("number of parents", w)?, None),
                [m, w, p] => (list("number of children", m)?, list("number of parents", w)?, Some(p)),
                _ => {
                    return Err(format!(
                        "found \"{}\"; children:parents per level (18x18x4:1x18x2:1x1x9 with parallel cables), k=36 or \
                         brown1296 is expected",
                        shorten(text)
                    ));
                }
            };
            let ones = || Ok(vec![1; children.len()]);
            let parallel = parallel.map_or_else(ones, |p| list("number of parallel cables", p))?;
            (FatTree::new(children, parents, parallel)?, DEFAULT_CAPACITY)
        }
    };
    tree(&fields, plane, capacity)
}

/// The capacities and the rule of both dragonflies.
fn options(fields: &Fields, plane: Plane, defaults: [f64; 3]) -> Result<SwitchedSpec, String> {
    let all = |default| fields.rate("capacity", default);
    let capacities = [
        fields.rate("terminal", all(defaults[0])?)?,
        fields.rate("local", all(defaults[1])?)?,
        fields.rate("global", all(defaults[2])?)?,
    ];
    let rule = match fields.text("routing") {
        None | Some("minimal") => Some(Rule::Destination),
        Some("shortest") => None,
        Some(other) => {
            return Err(format!("there is no routing \"{}\"; minimal or shortest is expected", shorten(other)));
        }
    };
    with_rails(fields, plane, capacities, rule)
}

/// The options that both dragonflies have.
const DRAGONFLY_OPTIONS: &str =
    "capacity, terminal, local, global, rails, adapters, nodes, routing, names, hosts or io";

fn dragonfly(parts: &[&str]) -> Result<SwitchedSpec, String> {
    if parts[0] == "5586" {
        let fields = Fields::parse(&parts[1..], DRAGONFLY_OPTIONS)?;
        let [p, a, h, g] = EDISON;
        return options(&fields, Plane::Dragonfly(Dragonfly::new(p, a, h, Some(g))?), EDISON_LINKS);
    }
    let fields = Fields::parse(parts, &format!("p, a, h, g, {DRAGONFLY_OPTIONS}"))?;
    let shape = Dragonfly::new(fields.needed("p")?, fields.needed("a")?, fields.needed("h")?, fields.number("g")?)?;
    options(&fields, Plane::Dragonfly(shape), [DEFAULT_CAPACITY; 3])
}

fn dragonfly_plus(parts: &[&str]) -> Result<SwitchedSpec, String> {
    let preset = parts[0] == "3456";
    let fields = &parts[usize::from(preset)..];
    if preset {
        let fields = Fields::parse(fields, DRAGONFLY_OPTIONS)?;
        let [p, l, s, h, g] = KANG;
        let shape = DragonflyPlus::new(p, l, s, h, Some(g))?;
        return options(&fields, Plane::DragonflyPlus(shape), KANG_LINKS);
    }
    let fields = Fields::parse(fields, &format!("p, l, s, h, g, {DRAGONFLY_OPTIONS}"))?;
    let [p, l, s, h] = ["p", "l", "s", "h"].map(|key| fields.needed(key));
    let shape = DragonflyPlus::new(p?, l?, s?, h?, fields.number("g")?)?;
    options(&fields, Plane::DragonflyPlus(shape), [DEFAULT_CAPACITY; 3])
}

/// The canonical form: defaults are left out, presets go by their name.
impl fmt::Display for SwitchedSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut defaults = [DEFAULT_CAPACITY; 3];
        match self.shape.plane() {
            Plane::FatTree(tree) => {
                let [m, w, p] = tree.shape();
                let join = |of: &[u32]| of.iter().map(u32::to_string).collect::<Vec<_>>().join("x");
                let several = self.shape.rails() > 1 || !self.adapters.is_empty() || self.shape.node().is_some();
                if tree.shape() == BROWN && self.capacities == [BROWN_LINK; 3] {
                    defaults = self.capacities;
                    f.write_str("fattree:brown1296")?;
                } else if several && m.len() == 1 && w == [1] && p == [1] {
                    write!(f, "star:{}", m[0])?;
                } else {
                    write!(f, "fattree:{}:{}", join(m), join(w))?;
                    if p.iter().any(|&p| p > 1) {
                        write!(f, ":{}", join(p))?;
                    }
                }
            }
            Plane::Dragonfly(d) if d.words() == EDISON && self.capacities == EDISON_LINKS => {
                defaults = self.capacities;
                f.write_str("dragonfly:5586")?;
            }
            Plane::Dragonfly(d) => {
                let [p, a, h, g] = d.words();
                write!(f, "dragonfly:p={p},a={a},h={h},g={g}")?;
            }
            Plane::DragonflyPlus(d) if d.words() == KANG && self.capacities == KANG_LINKS => {
                defaults = self.capacities;
                f.write_str("dragonfly+:3456")?;
            }
            Plane::DragonflyPlus(d) => {
                let [p, l, s, h, g] = d.words();
                write!(f, "dragonfly+:p={p},l={l},s={s},h={h},g={g}")?;
            }
        }
        if self.shape.rails() > 1 {
            write!(f, ",rails={}", self.shape.rails())?;
        }
        if !self.adapters.is_empty() {
            write!(f, ",adapters={}", self.adapters)?;
        }
        if let Some(adapters) = self.shape.node() {
            write!(f, ",nodes={adapters}@{}", format_rate(self.memory))?;
        }
        let [terminal, local, global] = self.capacities;
        if self.capacities == defaults {
            // Nothing to say.
        } else if terminal == local && local == global {
            write!(f, ",capacity={}", format_rate(terminal))?;
        } else {
            for (key, rate) in [("terminal", terminal), ("local", local), ("global", global)] {
                write!(f, ",{key}={}", format_rate(rate))?;
            }
        }
        match self.rule {
            None => f.write_str(",routing=shortest"),
            Some(Rule::Source) => f.write_str(",routing=smodk"),
            // The default of every kind.
            Some(Rule::Destination) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::tests::mutations;
    use proptest::prelude::*;

    fn parse(text: &str) -> SwitchedSpec {
        SwitchedSpec::parse(text).unwrap().unwrap()
    }

    #[test]
    fn canonical_forms() {
        let cases = [
            ("fattree:k=4", "fattree:2x2x4:1x2x2"),
            ("fattree:2x2:1x2:1x1,routing=dmodk", "fattree:2x2:1x2"),
            ("fattree:18x18x4:1x18x2:1x1x9,capacity=12.5GB/s", "fattree:brown1296"),
            ("fattree:brown1296,capacity=1GB/s", "fattree:18x18x4:1x18x2:1x1x9"),
            ("dragonfly+:3456,routing=shortest", "dragonfly+:3456,routing=shortest"),
            ("dragonfly:5586,routing=minimal", "dragonfly:5586"),
            ("dragonfly:5586,capacity=1GB/s", "dragonfly:p=7,a=14,h=4,g=57"),
            ("fattree:k=4,routing=smodk", "fattree:2x2x4:1x2x2,routing=smodk"),
            ("fattree:2x2:1x2,rails=1", "fattree:2x2:1x2"),
            ("fattree:brown1296,routing=smodk,rails=2", "fattree:brown1296,rails=2,routing=smodk"),
            ("star:8,routing=dmodk,rails=4", "star:8,rails=4"),
            ("fattree:8:1,rails=4", "star:8,rails=4"),
            ("star:8,capacity=1GB/s,nodes=4@8GB/s", "star:8,nodes=4@8GB/s"),
            ("star:8,adapters=1-3.0@50%", "star:8,adapters=1-3.0@50%"),
            ("dragonfly:5586,rails=2", "dragonfly:5586,rails=2"),
            (
                "star:8,rails=4,capacity=2GB/s,adapters=3@500MB/s + 7.3@none",
                "star:8,rails=4,adapters=3@500MB/s+7.3@none,capacity=2GB/s",
            ),
            (" dragonfly:h=1, a=2,p=3,capacity=1GB/s,routing=shortest", "dragonfly:p=3,a=2,h=1,g=3,routing=shortest"),
            (
                "dragonfly+:p=1,l=2,s=2,h=2,global=2GB/s",
                "dragonfly+:p=1,l=2,s=2,h=2,g=5,terminal=1GB/s,local=1GB/s,global=2GB/s",
            ),
        ];
        for (text, canonical) in cases {
            assert_eq!(parse(text).to_string(), canonical);
            assert_eq!(parse(canonical), parse(text));
        }
        // Also where the capacities are no round numbers.
        let preset = parse("dragonfly+:3456,local=1GB/s");
        assert_eq!(parse(&preset.to_string()), preset);
    }

    proptest! {
        #[test]
        fn mutated_specifications_do_not_panic(
            text in mutations(vec![
                "fattree:2x3x2:1x2x2:1x1x2,routing=smodk",
                "fattree:k=4,capacity=2GB/s",
                "fattree:2x2:2x2,rails=3",
                "fattree:2x4:1x2,nodes=4@8GB/s,adapters=3.0@25%",
                "star:5,rails=3,adapters=1@50%+0-3.2@none",
                "dragonfly:p=2,a=3,h=2,g=4,rails=2,adapters=3.0@none",
                "dragonfly:p=2,a=3,h=2,g=4,global=2GB/s",
                "dragonfly+:p=2,l=2,s=3,h=2,g=3",
                "dragonfly+:3456,local=1GB/s",
                "dragonfly:5586,global=1GB/s",
            ]),
        ) {
            if let Ok(Some(spec)) = SwitchedSpec::parse(&text) {
                prop_assert_eq!(&parse(&spec.to_string()), &spec);
                if spec.hosts() <= 500 && spec.vertices() <= 2000 {
                    let network = spec.build().unwrap();
                    prop_assert_eq!(network.hosts(), spec.hosts());
                    let last = crate::ids::NodeId(network.hosts() as u32 - 1);
                    network.route(crate::ids::NodeId(0), last, &mut Vec::new()).unwrap();
                }
            }
        }
    }
}
