//! Words for what proves a bound, such that a person can find it in the network.

use crate::bound::cut::{Cut, Verb, all, at_host, boundary, by_host, ends};
use crate::bound::region::{Interval, Region, directions};
use crate::demands::Demand;
use optiq_net::{Grid, LinkId, Network, NodeId};

/// Words that complete "the bound is set by ...".
pub(super) fn of(net: &Network, demands: &[Demand], cut: &Cut) -> String {
    match cut {
        Cut::Nothing => "nothing, as there is nothing to move".into(),
        Cut::Host(host, verb) => format!("{} {}", that(net, at_host(net, *host, *verb), *verb), net.name(*host)),
        Cut::Ends(verb) => {
            let side = if *verb == Verb::Leave { "source" } else { "destination" };
            let inside = ends(net, &by_host(net, demands, *verb));
            let hosts = members(net, &inside, true);
            format!("{} the {} ({})", links(net, &inside, *verb), count(hosts.len(), side), names(net, &hosts))
        }
        Cut::Volume => {
            let lanes = grouped(net.physical_links());
            format!("all {lanes} links together, with every byte on a shortest path")
        }
        Cut::Box(region, verb) => match net.geometry().grid() {
            Some(grid) => {
                let inside = region.members(grid);
                format!("{} {}", links(net, &inside, *verb), of_region(grid, region))
            }
            None => String::new(),
        },
        Cut::Part(inside, verb) => {
            let parts = [(true, "host"), (false, "switch")].map(|(hosts, word)| (members(net, inside, hosts), word));
            let parts = parts.into_iter().filter(|(of, _)| !of.is_empty());
            let parts: Vec<String> =
                parts.map(|(of, word)| format!("{} ({})", count(of.len(), word), names(net, &of))).collect();
            format!("{} the group of {}", links(net, inside, *verb), parts.join(" and "))
        }
    }
}

/// `the slab A = 0..1 (1,024 nodes)`, `the box C = 0..3, D = 14..15,0 (96 nodes)`.
fn of_region(grid: &Grid, region: &Region) -> String {
    let part = |d: usize| region.0[d].length < grid.dims()[d];
    let dims: Vec<usize> = (0..grid.dims().len()).filter(|&d| part(d)).collect();
    let range = |&d: &usize| format!("{} = {}", letter(d), of_interval(&region.0[d], grid.dims()[d]));
    let ranges: Vec<String> = dims.iter().map(range).collect();
    let what = if dims.len() == 1 { "slab" } else { "box" };
    let nodes: usize = region.0.iter().map(|i| i.length as usize).product();
    format!("the {what} {} ({})", ranges.join(", "), count(nodes, "node"))
}

fn of_interval(interval: &Interval, length: u32) -> String {
    let range = |from: u32, to: u32| if from == to { from.to_string() } else { format!("{from}..{to}") };
    let end = interval.start + interval.length;
    match end.checked_sub(length) {
        Some(beyond) if beyond > 0 => format!("{},{}", range(interval.start, length - 1), range(0, beyond - 1)),
        _ => range(interval.start, end - 1),
    }
}

/// Dimensions are A, B, C, ... as on Blue Gene/Q.
fn letter(d: usize) -> char {
    char::from(b'A' + (d % 26) as u8)
}

fn links(net: &Network, inside: &[bool], verb: Verb) -> String {
    that(net, boundary(net, inside, verb), verb)
}

/// `the 1 link that leaves`, `the 4 links that leave`.
fn that(net: &Network, links: impl Iterator<Item = LinkId>, verb: Verb) -> String {
    let lanes: usize = links.map(|l| net.link(l).lanes as usize).sum();
    let verb = if verb == Verb::Leave { "leave" } else { "enter" };
    let singular = if lanes == 1 { "s" } else { "" };
    format!("the {} that {verb}{singular}", count(lanes, "link"))
}

/// The hosts, or the switches, that are inside.
fn members(net: &Network, inside: &[bool], hosts: bool) -> Vec<NodeId> {
    let vertices = (0..net.vertices() as u32).map(NodeId);
    vertices.filter(|&v| inside[v.index()] && net.is_host(v) == hosts).collect()
}

/// `h3`, `h0 to h31`, or `h0 ... h40` if there are gaps.
fn names(net: &Network, of: &[NodeId]) -> String {
    match of {
        [] => String::new(),
        [only] => net.name(*only).to_owned(),
        [first, .., last] => {
            let joined = if (last.0 - first.0) as usize + 1 == of.len() { "to" } else { "..." };
            format!("{} {joined} {}", net.name(*first), net.name(*last))
        }
    }
}

/// `1 link`, `1,024 links`, `2 switches`.
fn count(n: usize, of: &str) -> String {
    let plural = match of {
        _ if n == 1 => "",
        "switch" => "es",
        _ => "s",
    };
    format!("{} {of}{plural}", grouped(n))
}

/// 1,234,567.
fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The most links that are called by their names.
const NAMED: usize = 3;

/// Parts below this share of all prices are not worth words.
const SMALL: f64 = 0.01;

/// Where the prices `y` of links lie (one for each link; at least 0; only their ratios matter), in words that complete "the
/// bound is set by ...": `prices on 1,926 links: 71 % on dimension A, 22 % on direction B+, 7 % on dimension C; 64 % on
/// links that leave sources`. On a grid parts are dimensions, or directions if one has at least nine tenths of its
/// dimension's; elsewhere links between hosts and switches. Links of sources or destinations of `demands` are named
/// where they have more than half of all.
pub(crate) fn describe_prices(net: &Network, demands: &[Demand], y: &[f64]) -> String {
    let priced: Vec<(LinkId, f64)> = all(net).zip(y.iter().copied()).filter(|p| p.1 > 0.0).collect();
    let sum: f64 = priced.iter().map(|p| p.1).sum();
    if priced.is_empty() {
        return "prices on no link".into();
    }
    if priced.len() <= NAMED {
        let link = |l: LinkId| format!("{} -> {}", net.name(net.link(l).from), net.name(net.link(l).to));
        let shares: Vec<String> = priced.iter().map(|&(l, y)| format!("{} on {}", percent(y / sum), link(l))).collect();
        return format!("prices on {}: {}", count(priced.len(), "link"), shares.join(", "));
    }
    let mut parts = match net.geometry().grid() {
        Some(grid) => by_dimension(net, grid, &priced),
        None => by_class(net, &priced),
    };
    let share = |of: f64| of / sum;
    parts.retain(|part| share(part.0) >= SMALL);
    // Stable: as above among equals.
    parts.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut words: Vec<String> = parts.iter().map(|(y, on)| format!("{} on {on}", percent(share(*y)))).collect();
    let rest = 1.0 - parts.iter().map(|part| share(part.0)).sum::<f64>();
    if rest >= SMALL {
        words.push(format!("{} elsewhere", percent(rest)));
    }
    let mut text = format!("prices on {}: {}", count(priced.len(), "link"), words.join(", "));
    let (mut sends, mut receives) = (vec![false; net.vertices()], vec![false; net.vertices()]);
    for d in demands.iter().filter(|d| d.bytes > 0) {
        sends[d.src.index()] = true;
        receives[d.dst.index()] = true;
    }
    let at = |holds: &dyn Fn(LinkId) -> bool| priced.iter().filter(|p| holds(p.0)).map(|p| p.1).sum::<f64>();
    let ends = [
        (at(&|l| sends[net.link(l).from.index()]), "leave sources"),
        (at(&|l| receives[net.link(l).to.index()]), "enter destinations"),
    ];
    // Where all hosts send, that says nothing.
    for ((y, words), of) in ends.into_iter().zip([&sends, &receives]) {
        if share(y) > 0.5 && of[..net.hosts()].contains(&false) {
            text.push_str(&format!("; {} on links that {words}", percent(share(y))));
        }
    }
    text
}

fn by_dimension(net: &Network, grid: &Grid, priced: &[(LinkId, f64)]) -> Vec<(f64, String)> {
    let directions = directions(net, grid);
    let mut sums = vec![[0.0; 2]; grid.dims().len()];
    for &(l, y) in priced {
        let direction = usize::from(directions[l.index()]);
        sums[direction / 2][direction % 2] += y;
    }
    let part = |(d, &[down, up]): (usize, &[f64; 2])| {
        // The two directions of a ring of two are the same links.
        let two = grid.wrap()[d] && grid.dims()[d] == 2;
        let (most, sign) = if up >= down { (up, '+') } else { (down, '-') };
        let all = down + up;
        let on = match most >= 0.9 * all && !two {
            true => format!("direction {}{sign}", letter(d)),
            false => format!("dimension {}", letter(d)),
        };
        (all, on)
    };
    sums.iter().enumerate().map(part).collect()
}

fn by_class(net: &Network, priced: &[(LinkId, f64)]) -> Vec<(f64, String)> {
    let classes = [
        "links between hosts",
        "links from hosts to switches",
        "links from switches to hosts",
        "links between switches",
    ];
    let mut sums = [0.0; 4];
    for &(l, y) in priced {
        let link = net.link(l);
        let class = match (net.is_host(link.from), net.is_host(link.to)) {
            (true, true) => 0,
            (true, false) => 1,
            (false, true) => 2,
            (false, false) => 3,
        };
        sums[class] += y;
    }
    sums.into_iter().zip(classes.map(str::to_owned)).collect()
}

fn percent(share: f64) -> String {
    let rounded = (100.0 * share).round();
    if rounded < 1.0 { "less than 1 %".into() } else { format!("{rounded} %") }
}
