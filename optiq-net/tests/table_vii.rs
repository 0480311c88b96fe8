//! The MPI row of the thesis's Table VII: 4x4x4x8x2, 64 sources with 8 destinations each, 8 MiB a message, on the
//! fabric's default routes.
#![allow(clippy::unwrap_used)]

use optiq_net::{Network, NodeId};

const MESSAGE: u64 = 8 << 20;

#[test]
fn the_mpi_row_of_table_vii() {
    let network = Network::from_spec("bgq:1024").unwrap();
    let nodes = network.hosts() as u32;
    // Pattern, first destination of source 0, published mean of routes per link, ours, and the links that we use.
    let rows = [
        ("disjoint", nodes / 2, 3.07, 3072.0 / 1000.0, 1000),
        ("overlap", nodes / 32, 3.38, 2624.0 / 808.0, 808),
        ("subset", 0, 3.52, 2560.0 / 744.0, 744),
    ];
    for (pattern, first, published, ours, used) in rows {
        let demands =
            (0..nodes / 16).flat_map(|i| (0..8).map(move |j| (NodeId(i), NodeId(first + 8 * i + j), MESSAGE)));
        let s = network.route_load(demands).unwrap().statistics(&network);
        assert_eq!(s.paths_per_link_max, 16, "{pattern}");
        assert_eq!(s.bytes_per_link_max, 134_217_728.0, "{pattern}");
        assert_eq!(s.congestion_seconds, 134_217_728.0 / 1.8e9, "{pattern}");
        assert_eq!(s.links_used, used, "{pattern}");
        assert_eq!(s.paths_per_link_mean, ours, "{pattern}");
        assert!((s.paths_per_link_mean / published - 1.0).abs() < 0.05, "{pattern}: {}", s.paths_per_link_mean);
    }
}
