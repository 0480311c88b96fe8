//! The commands for `ip` and `tc`, and the kernel settings, that make a lab.
//!
//! The holder keeps the file of namespace `n` open as descriptor `FIRST_NAMESPACE_FD + n`, and its children inherit
//! it, so the text can name namespaces without knowing any process.

use crate::blueprint::{Blueprint, FABRIC_DEVICE, MANAGEMENT_HUB, Role, Wiring, router_address};
use crate::rate::Rate;
use crate::tuning::Tuning;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Descriptor of the first namespace in the holder.
pub(crate) const FIRST_NAMESPACE_FD: i32 = 100;

/// Number of the table, and priority of the rule, for what the first host sends. Above the numbers that `ip` has names
/// for, below the priority of the main table.
const FIRST_TABLE: usize = 1000;

/// A kernel setting, written inside one namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Setting {
    /// Path below `/proc/sys/net`.
    pub path: String,
    pub value: String,
    /// Whether the lab is wrong without it; the others only make it better, and older kernels lack some.
    pub required: bool,
}

/// What is done inside one namespace once the cables are there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Script {
    /// Standard input of `ip -batch -`.
    pub ip: String,
    /// Standard input of `tc -batch -`; may be empty.
    pub tc: String,
}

/// Something that not every kernel has, tried out before the lab is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trial {
    /// Standard input of `tc -batch -` in the first namespace.
    pub tc: String,
    /// What the user is told if that fails, followed by what `tc` said.
    pub sentence: String,
}

/// All that the holder does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SetupPlan {
    /// Written in each namespace right after it was made, so that its devices are born with them.
    pub settings: Vec<Setting>,
    /// What the kernel must be able to do besides.
    pub trial: Option<Trial>,
    /// Standard input of `ip -batch -` in the management namespace: all cables.
    pub cables: String,
    /// One per namespace.
    pub scripts: Vec<Script>,
}

impl SetupPlan {
    pub(crate) fn new(blueprint: &Blueprint, wiring: &Wiring) -> Self {
        let scripts = (0..blueprint.namespaces.len())
            .map(|n| Script { ip: interfaces(blueprint, wiring, n), tc: queues(blueprint, n) })
            .collect();
        let tuning = &blueprint.tuning;
        let trial = (tuning.loss > 0.0).then(|| Trial {
            tc: link_queue("lo", Rate::MAX, tuning) + "qdisc del dev lo root\n",
            sentence: format!(
                "the profile {} needs a kernel that can drop packets at random, with the queue htb and the filter bpf (modules \
                 sch_htb and cls_bpf)",
                blueprint.profile
            ),
        });
        SetupPlan { settings: settings(tuning), trial, cables: cables(blueprint, wiring), scripts }
    }
}

fn settings(tuning: &Tuning) -> Vec<Setting> {
    let set = |required: bool, path: &str, value: String| Setting { path: path.into(), value, required };
    let mut settings = vec![
        set(true, "ipv4/ip_forward", "1".into()),
        set(true, "ipv4/conf/all/rp_filter", "0".into()),
        set(true, "ipv4/conf/default/rp_filter", "0".into()),
        set(false, "ipv4/conf/all/send_redirects", "0".into()),
        set(false, "ipv4/conf/default/send_redirects", "0".into()),
        set(false, "ipv6/conf/all/disable_ipv6", "1".into()),
        set(false, "ipv6/conf/default/disable_ipv6", "1".into()),
    ];
    settings.extend(tuning.tcp.iter().map(|(name, value)| set(false, &format!("ipv4/{name}"), value.clone())));
    settings
}

/// Creates the bridge and every cable, each end in its own namespace.
fn cables(blueprint: &Blueprint, wiring: &Wiring) -> String {
    let mut text = String::from("link add mgmt0 type bridge\n");
    for (i, host) in blueprint.hosts.iter().enumerate() {
        let _ = writeln!(text, "link add m{i} type veth peer name mgmt netns {}", inherited(host.namespace));
    }
    let mtu = blueprint.tuning.mtu;
    for (i, cable) in wiring.cables.iter().enumerate() {
        // Without ARP a frame goes out with the device's own address as its destination; the other end takes it
        // because it has the same one.
        let mac = format!("02:00:00:00:{:02x}:{:02x}", i >> 8 & 0xff, i & 0xff);
        let [(near, near_device), (far, far_device)] = &cable.ends;
        let _ = writeln!(
            text,
            "link add {near_device} netns {} address {mac} mtu {mtu} arp off type veth peer name {far_device} netns {} \
             address {mac} mtu {mtu} arp off",
            inherited(*near),
            inherited(*far)
        );
    }
    text
}

/// Addresses, routes, and everything up.
fn interfaces(blueprint: &Blueprint, wiring: &Wiring, n: usize) -> String {
    let mut text = String::from("link set lo up\n");
    let namespace = &blueprint.namespaces[n];
    match namespace.role {
        Role::Management => {
            let _ = writeln!(text, "addr add {MANAGEMENT_HUB}/16 dev mgmt0\nlink set mgmt0 up");
            for i in 0..blueprint.hosts.len() {
                let _ = writeln!(text, "link set m{i} master mgmt0 up");
            }
        }
        Role::Host => {
            for host in blueprint.hosts.iter().filter(|h| h.namespace == n) {
                let _ = writeln!(text, "addr add {}/16 dev mgmt\nlink set mgmt up", host.management);
                if let Some(packets) = blueprint.tuning.train {
                    let _ = writeln!(text, "link set {FABRIC_DEVICE} gso_max_segs {packets}");
                }
                let _ = writeln!(text, "addr add {}/16 dev {FABRIC_DEVICE}\nlink set {FABRIC_DEVICE} up", host.fabric);
            }
        }
        Role::Router => {
            if let Some(vertex) = namespace.vertex {
                let _ = writeln!(text, "addr add {}/32 dev lo", router_address(vertex));
            }
            for (at, device) in wiring.cables.iter().flat_map(|c| &c.ends) {
                if *at == n {
                    let _ = writeln!(text, "link set {device} up");
                }
            }
            for (host, device) in &wiring.routes[n] {
                let _ = writeln!(text, "route add {}/32 dev {device}", blueprint.hosts[*host].fabric);
            }
            let mut ruled = None;
            for (source, host, device) in &wiring.rules[n] {
                let table = FIRST_TABLE + source;
                if ruled.replace(source) != Some(source) {
                    let from = blueprint.hosts[*source].fabric;
                    let _ = writeln!(text, "rule add from {from}/32 lookup {table} priority {table}");
                }
                let to = blueprint.hosts[*host].fabric;
                let _ = writeln!(text, "route add {to}/32 dev {device} table {table}");
            }
        }
    }
    text
}

/// The queues that make devices into links of their rate.
fn queues(blueprint: &Blueprint, n: usize) -> String {
    let links = blueprint.links.iter().filter(|l| l.namespace == n);
    links.map(|link| link_queue(&link.device, link.rate, &blueprint.tuning)).collect()
}

/// The commands for `tc` that make a device into a link: a token bucket, and what loses packets before it.
pub(crate) fn link_queue(device: &str, rate: Rate, tuning: &Tuning) -> String {
    let bucket = link_rate(device, rate, tuning);
    if tuning.loss > 0.0 { bucket + &losses(device, rate, tuning) } else { bucket }
}

/// The command that gives a link another rate. What waits in its queue stays there, and what loses packets as it is.
pub(crate) fn link_rate(device: &str, rate: Rate, tuning: &Tuning) -> String {
    // Tokens for 4 ms: a busy machine runs the queue's timer late, and tokens beyond the burst are lost.
    let burst = (rate.bytes() * 0.004).max(f64::from(tuning.burst)).max(f64::from(tuning.mtu) * 2.0) as u64;
    let limit = tuning.queue_bytes(rate);
    format!("qdisc replace dev {device} root handle 1: tbf rate {}bit burst {burst} limit {limit}\n", rate.bits())
}

/// The rate of the classes that only sort packets: far above every link's, so that the token bucket alone delays them.
const SORTING: &str = "htb rate 34gbit burst 1mb cburst 1mb quantum 60000";

/// Random loss inside a link's token bucket: a class for packets that pass and one whose packets vanish, without a message
/// to those who sent them. `netem` does the same and is in fewer kernels. The filter is a program for the classic packet
/// filter, which users of namespaces may load as well: a random number of 32 bits below the threshold loses the packet.
fn losses(device: &str, rate: Rate, tuning: &Tuning) -> String {
    // Instructions as code, jump if true, jump if false, operand: load the random number (an extension at 0xfffff038), skip
    // one if it is at least the threshold, return "this class", return "no match".
    let threshold = (tuning.loss * 2f64.powi(32)) as u32;
    let program = format!("4,32 0 0 4294963256,53 1 0 {threshold},6 0 0 4294967295,6 0 0 0");
    format!(
        "qdisc add dev {device} parent 1:1 handle 2: htb default 1\n\
         class add dev {device} parent 2: classid 2:1 {SORTING}\n\
         class add dev {device} parent 2: classid 2:2 {SORTING}\n\
         qdisc add dev {device} parent 2:1 handle 3: bfifo limit {}\n\
         qdisc add dev {device} parent 2:2 handle 4: {CUT}\n\
         filter add dev {device} parent 2: protocol all prio 1 bpf bytecode \"{program}\" flowid 2:2\n",
        tuning.queue_bytes(rate)
    )
}

/// What stands in a link's place while it is cut: everything is lost without a message.
pub(crate) const CUT: &str = "blackhole";

/// The path of a namespace in a child of the holder.
fn inherited(n: usize) -> String {
    format!("/proc/self/fd/{}", FIRST_NAMESPACE_FD + n as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blueprint::network_at;
    use crate::profile::Profile;

    fn setup(spec: &str) -> SetupPlan {
        let network = network_at(spec, "100Mbit/s".parse().unwrap()).unwrap();
        let (blueprint, wiring) = Blueprint::new(&network, Profile::Tuned, None, &[]).unwrap();
        SetupPlan::new(&blueprint, &wiring)
    }

    /// Descriptor 100 is the management namespace, then the hosts; here 101 to 104, and their routers 105 to 108.
    /// In a 2x2 torus the two ways around are one bundle of two lanes, so links run at 200 Mbit/s: 100,000 bytes in
    /// 4 ms, 500,000 in 20 ms, 16 times that in the queue.
    #[test]
    fn torus_of_two_by_two() {
        let setup = setup("torus:2x2");
        let cables: Vec<&str> = setup.cables.lines().collect();
        let fabric = |i: usize, near: (&str, i32), far: (&str, i32)| {
            format!(
                "link add {} netns /proc/self/fd/{} address 02:00:00:00:00:0{i} mtu 9000 arp off type veth peer name {} \
                 netns /proc/self/fd/{} address 02:00:00:00:00:0{i} mtu 9000 arp off",
                near.0, near.1, far.0, far.1
            )
        };
        // Links by (from, to): 0: h0-h1, 1: h0-h2, 2: h1-h0, 3: h1-h3, 4: h2-h0, 5: h2-h3, 6: h3-h1, 7: h3-h2.
        let expected = [
            "link add mgmt0 type bridge".to_string(),
            "link add m0 type veth peer name mgmt netns /proc/self/fd/101".into(),
            "link add m1 type veth peer name mgmt netns /proc/self/fd/102".into(),
            "link add m2 type veth peer name mgmt netns /proc/self/fd/103".into(),
            "link add m3 type veth peer name mgmt netns /proc/self/fd/104".into(),
            fabric(0, ("fab0", 101), ("host0", 105)),
            fabric(1, ("fab0", 102), ("host0", 106)),
            fabric(2, ("fab0", 103), ("host0", 107)),
            fabric(3, ("fab0", 104), ("host0", 108)),
            fabric(4, ("l0", 105), ("l2", 106)),
            fabric(5, ("l1", 105), ("l4", 107)),
            fabric(6, ("l3", 106), ("l6", 108)),
            fabric(7, ("l5", 107), ("l7", 108)),
        ];
        assert_eq!(cables, expected);
        assert_eq!(setup.scripts.len(), 9);
        assert_eq!(
            setup.scripts[0].ip,
            "link set lo up\naddr add 198.19.255.254/16 dev mgmt0\nlink set mgmt0 up\nlink set m0 master mgmt0 up\n\
             link set m1 master mgmt0 up\nlink set m2 master mgmt0 up\nlink set m3 master mgmt0 up\n"
        );
        assert_eq!(setup.scripts[0].tc, "");
        assert_eq!(
            setup.scripts[4].ip,
            "link set lo up\naddr add 198.19.0.4/16 dev mgmt\nlink set mgmt up\naddr add 198.18.0.4/16 dev fab0\n\
             link set fab0 up\n"
        );
        assert_eq!(setup.scripts[4].tc, "");
        // The router of h2 = (1,0). To h1 = (0,1) the first dimension is corrected first, through h0.
        assert_eq!(
            setup.scripts[7].ip,
            "link set lo up\naddr add 198.18.128.2/32 dev lo\nlink set host0 up\nlink set l4 up\nlink set l5 up\n\
             route add 198.18.0.1/32 dev l4\nroute add 198.18.0.2/32 dev l4\nroute add 198.18.0.3/32 dev host0\n\
             route add 198.18.0.4/32 dev l5\n"
        );
        assert_eq!(
            setup.scripts[7].tc,
            "qdisc replace dev l4 root handle 1: tbf rate 200000000bit burst 100000 limit 8000000\n\
             qdisc replace dev l5 root handle 1: tbf rate 200000000bit burst 100000 limit 8000000\n"
        );
    }

    /// Hosts on a switch have no routers: their `fab0` is the link.
    #[test]
    fn star_of_three() {
        let setup = setup("star:3");
        assert_eq!(setup.cables.lines().count(), 1 + 3 + 3);
        assert_eq!(
            setup.cables.lines().last(),
            Some(
                "link add fab0 netns /proc/self/fd/103 address 02:00:00:00:00:02 mtu 9000 arp off type veth peer name l5 \
                 netns /proc/self/fd/104 address 02:00:00:00:00:02 mtu 9000 arp off"
            )
        );
        assert_eq!(setup.scripts.len(), 5);
        assert_eq!(
            setup.scripts[3].tc,
            "qdisc replace dev fab0 root handle 1: tbf rate 100000000bit burst 50000 limit 4000000\n"
        );
        assert_eq!(
            setup.scripts[4].ip,
            "link set lo up\naddr add 198.18.128.3/32 dev lo\nlink set l3 up\nlink set l4 up\nlink set l5 up\n\
             route add 198.18.0.1/32 dev l3\nroute add 198.18.0.2/32 dev l4\nroute add 198.18.0.3/32 dev l5\n"
        );
    }

    /// Under s-mod-k h1 reaches h2 and h3 over s3 and not over s2, as h0 does. Links by (from, to): 0 to 3 from the
    /// hosts, 4: s0-h0, 5: s0-h1, 6: s0-s2, 7: s0-s3.
    #[test]
    fn sources_with_rules() {
        let setup = setup("fattree:2x2:1x2,routing=smodk");
        let rules: Vec<&str> = setup.scripts[5].ip.lines().skip_while(|l| !l.starts_with("rule")).collect();
        assert_eq!(
            rules,
            [
                "rule add from 198.18.0.2/32 lookup 1001 priority 1001",
                "route add 198.18.0.3/32 dev l7 table 1001",
                "route add 198.18.0.4/32 dev l7 table 1001"
            ]
        );
    }

    /// Two packets must fit the bucket of the slowest link, or it would pass none.
    #[test]
    fn burst_holds_packets() {
        let slow = "64kbit".parse().unwrap();
        let tuning = Tuning { burst: 0, ..Tuning::new(Profile::Tuned, slow) };
        let expected = "qdisc replace dev x root handle 1: tbf rate 64000bit burst 18000 limit 2097152\n";
        assert_eq!(link_queue("x", slow, &tuning), expected);
    }

    /// Only a lossy lab tries the kernel out, and has hosts that send packets one by one.
    #[test]
    fn lossy_links() {
        let network = network_at("star:2", "100Mbit/s".parse().unwrap()).unwrap();
        let (blueprint, wiring) = Blueprint::new(&network, Profile::Lossy, None, &[]).unwrap();
        let setup = SetupPlan::new(&blueprint, &wiring);
        assert!(setup.scripts[1].ip.contains("link set fab0 gso_max_segs 1\n"));
        let tc: Vec<&str> = setup.scripts[1].tc.lines().collect();
        assert_eq!(tc[0], "qdisc replace dev fab0 root handle 1: tbf rate 100000000bit burst 50000 limit 4000000");
        assert_eq!(tc[4], "qdisc add dev fab0 parent 2:1 handle 3: bfifo limit 4000000");
        assert!(tc[6].contains("53 1 0 4294967,"), "{}", tc[6]);
        assert!(setup.trial.unwrap().tc.ends_with("qdisc del dev lo root\n"));
        assert!(self::setup("star:2").trial.is_none());
    }
}
