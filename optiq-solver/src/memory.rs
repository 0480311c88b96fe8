//! How much memory there is, so that what does not fit is refused and not killed half-way.

use std::fs;

/// Bytes that this process may still take: what the machine, its control group and its address space leave, the least of
/// these; `None` where the operating system does not say.
pub(crate) fn available() -> Option<u64> {
    [of_machine(), of_control_group(), of_address_space()].into_iter().flatten().min()
}

/// The number behind `key` on its line.
fn number(text: &str, key: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(key))?;
    rest.split_whitespace().next()?.parse().ok()
}

fn of_machine() -> Option<u64> {
    // In KiB, though the file says kB.
    Some(number(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")? << 10)
}

/// What a control group (version 2) allows beyond the memory that its processes have; caches give way.
fn of_control_group() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    // Inside a container the group is the root of what can be seen.
    let of = |group: &str| {
        let file = |name: &str| fs::read_to_string(format!("/sys/fs/cgroup{group}/{name}")).ok();
        let most: u64 = file("memory.max")?.trim().parse().ok()?;
        Some(most.saturating_sub(number(&file("memory.stat")?, "anon ")?))
    };
    [of(group.trim_end_matches('/')), of("")].into_iter().flatten().min()
}

/// What `ulimit -v` leaves.
fn of_address_space() -> Option<u64> {
    let most = number(&fs::read_to_string("/proc/self/limits").ok()?, "Max address space")?;
    let taken = number(&fs::read_to_string("/proc/self/status").ok()?, "VmSize:")? << 10;
    Some(most.saturating_sub(taken))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_behind_keys() {
        let text =
            "MemTotal:  100 kB\nMemAvailable:     24 kB\nanon 7\nanon_thp 8\nMax address space  unlimited  bytes\n";
        assert_eq!(number(text, "MemAvailable:"), Some(24));
        assert_eq!(number(text, "anon "), Some(7));
        assert_eq!(number(text, "Max address space"), None);
        assert_eq!(number(text, "SwapFree:"), None);
    }
}
