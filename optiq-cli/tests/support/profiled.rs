//! Profiles that are written by hand.

use crate::support::Folder;
use serde_json::{Value, json};

/// A rank's file: rank `r` of `ranks` on host `host`, with regions and what was sent in them.
pub fn file(rank: u32, ranks: u32, host: &str, regions: &[(&str, Value)]) -> String {
    let region = |(name, sent): &(&str, Value)| json!({"name": name, "entries": 1, "seconds": 0.5, "sent": sent, "put": [], "got": []});
    json!({
        "schema": "optiq-profile-rank/1", "job": "17", "rank": rank, "ranks": ranks, "host": host,
        "library": "Open MPI v4.1.4", "source": {"name": "pml_monitoring", "collectives": true}, "complete": true,
        "unmatched_ends": 0, "merged_entries": 0,
        "interfaces": [{"name": "eth0", "sent_bytes": 100 + rank, "received_bytes": 7}],
        "regions": regions.iter().map(region).collect::<Vec<_>>(),
    })
    .to_string()
}

/// The same for call sites: a record has the region, the call site, and what was sent.
#[allow(dead_code, reason = "not every test program needs it")]
pub fn file_with_sites(
    rank: u32,
    ranks: u32,
    host: &str,
    addresses: &[u64],
    records: &[(&str, Option<u32>, Value)],
) -> String {
    let mut file: Value = serde_json::from_str(&file(rank, ranks, host, &[])).unwrap();
    let record = |(name, site, sent): &(&str, Option<u32>, Value)| {
        let mut record = json!({"name": name, "entries": 1, "seconds": 0.5, "sent": sent, "put": [], "got": []});
        if let Some(site) = site {
            record["call_site"] = json!(site);
        }
        record
    };
    file["schema"] = json!("optiq-profile-rank/2");
    file["regions"] = records.iter().map(record).collect();
    // No such program: its lines are named by where they are in it.
    file["call_sites"] = addresses.iter().map(|a| json!({"module": "/gone/app", "base": 0, "address": a})).collect();
    file.to_string()
}

/// Two jobs of two ranks each: job `one` on h0 and h2, `two` on h1 and h3, in folders of these names.
#[allow(dead_code, reason = "not every test program needs it")]
pub fn two_jobs(name: &str) -> Folder {
    let folder = Folder::new(name);
    for (job, hosts, bytes) in [("one", ["h0", "h2"], 1000), ("two", ["h1", "h3"], 400)] {
        std::fs::create_dir(folder.path(job)).unwrap();
        for rank in 0..2 {
            let sent = json!([[1 - rank, 1, bytes / (1 + 9 * rank)]]);
            let text = file(rank, 2, hosts[rank as usize], &[("", json!([])), ("solve", sent)]);
            folder.write(
                &format!("{job}/optiq-profile-{rank:05}.json"),
                text.replace("\"job\":\"17\"", &format!("\"job\":\"{job}\"")),
            );
        }
    }
    folder
}

/// Five ranks on the hosts of two leaves: h0 has ranks 0 and 1, the others one each.
pub fn profiled(name: &str) -> Folder {
    let folder = Folder::new(name);
    let write = |rank: u32, host: &str, regions: &[(&str, Value)]| {
        folder.write(&format!("optiq-profile-{rank:05}.json"), file(rank, 5, host, regions));
    };
    write(0, "h0", &[("", json!([[1, 1, 50]])), ("solve", json!([[3, 2, 100], [4, 1, 10]]))]);
    write(1, "h0", &[("", json!([[3, 1, 20]]))]);
    write(2, "h1", &[("", json!([[0, 1, 3], [4, 1, 7]]))]);
    write(3, "h2", &[("", json!([])), ("solve", json!([])), ("solve/halo", json!([[0, 1, 1000]]))]);
    write(4, "h3", &[("", json!([]))]);
    folder
}
