//! What the network interfaces of this host have moved, whoever caused it: totals per port, which the counters of messages do
//! not know.

use optiq_trace::profile::rank_file::Interface;
use std::path::Path;

/// The counters of InfiniBand ports are in words of four bytes (InfiniBand specification 1.4, section 16.1.3.5).
const WORD: u64 = 4;

/// The counters of all interfaces but the loopback one; `root` is `/`. What cannot be read is left out: not every machine shows them.
pub(super) fn read(root: &Path) -> Vec<Interface> {
    let devices = std::fs::read_to_string(root.join("proc/self/net/dev")).unwrap_or_default();
    let mut all: Vec<Interface> = devices.lines().filter_map(device).collect();
    all.extend(ports(&root.join("sys/class/infiniband")));
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// A line of Linux's `/proc/net/dev`: the name, eight counters of what was received, of which the first is bytes, and the
/// same of what was sent.
fn device(line: &str) -> Option<Interface> {
    let (name, counters) = line.split_once(':')?;
    let counters: Vec<u64> = counters.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let name = name.trim();
    (name != "lo").then_some(())?;
    Some(Interface { name: name.into(), sent_bytes: *counters.get(8)?, received_bytes: *counters.first()? })
}

/// The ports of InfiniBand adapters, as `mlx5_0/1`.
fn ports(adapters: &Path) -> Vec<Interface> {
    let entries = |path: &Path| std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut all = Vec::new();
    for adapter in entries(adapters) {
        for port in entries(&adapter.join("ports")) {
            let counter = |file: &str| -> Option<u64> {
                let text = std::fs::read_to_string(port.join("counters").join(file)).ok()?;
                text.trim().parse::<u64>().ok()?.checked_mul(WORD)
            };
            if let (Some(sent_bytes), Some(received_bytes)) = (counter("port_xmit_data"), counter("port_rcv_data")) {
                all.push(Interface { name: format!("{}/{}", name(&adapter), name(&port)), sent_bytes, received_bytes });
            }
        }
    }
    all
}

/// What was moved between two readings; interfaces that came or went are left out.
pub(super) fn since(before: &[Interface], now: Vec<Interface>) -> Vec<Interface> {
    let moved = |now: Interface| {
        let then = before.iter().find(|then| then.name == now.name)?;
        Some(Interface {
            sent_bytes: now.sent_bytes.saturating_sub(then.sent_bytes),
            received_bytes: now.received_bytes.saturating_sub(then.received_bytes),
            name: now.name,
        })
    };
    now.into_iter().filter_map(moved).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of this test's own, as the crate has no dependency that makes one.
    fn folder() -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("optiq-interfaces-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn devices_and_ports_are_read_and_subtracted() {
        let root = folder();
        let counters = root.join("sys/class/infiniband/mlx5_0/ports/1/counters");
        std::fs::create_dir_all(&counters).unwrap();
        std::fs::create_dir_all(root.join("proc/self/net")).unwrap();
        let text = "Inter-|   Receive                                                |  Transmit\n \
                    face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n    \
                    lo:   5 1 0 0 0 0 0 0 5 1 0 0 0 0 0 0\n  fab0: 100 2 0 0 0 0 0 0 70 3 0 0 0 0 0 0\n";
        std::fs::write(root.join("proc/self/net/dev"), text).unwrap();
        std::fs::write(counters.join("port_xmit_data"), "10\n").unwrap();
        std::fs::write(counters.join("port_rcv_data"), "25\n").unwrap();
        let now = read(&root);
        let of = |name: &str, sent_bytes, received_bytes| Interface { name: name.into(), sent_bytes, received_bytes };
        assert_eq!(now, [of("fab0", 70, 100), of("mlx5_0/1", 40, 100)]);
        let before = [of("fab0", 50, 99), of("gone", 1, 1)];
        assert_eq!(since(&before, now), [of("fab0", 20, 1)]);
        assert!(read(&root.join("nothing")).is_empty());
        std::fs::remove_dir_all(root).unwrap();
    }
}
