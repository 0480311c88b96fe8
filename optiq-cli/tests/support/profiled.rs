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
