//! Interconnect networks: hosts, switches and directed links; topologies; the fabric's own routing.
//!
//! It does not depend on demands, MPI or threads.
//!
//! ```
//! use optiq_net::{Network, NodeId};
//!
//! let network = Network::from_spec("torus:4x4,capacity=100Mbit/s")?;
//! let mut route = Vec::new();
//! network.route(NodeId(0), network.resolve("(1,3)")?, &mut route)?;
//! assert_eq!(route.len() as u32, network.distance(NodeId(0), NodeId(7)));
//! # Ok::<(), optiq_net::NetError>(())
//! ```
mod background;
mod builder;
mod distance;
mod error;
mod fabric_files;
mod file;
mod file_names;
pub mod fingerprint;
mod geometry;
pub mod grammar;
pub mod graph;
mod host_names;
mod hostlist;
mod ids;
pub mod import;
mod io_hosts;
mod io_list;
mod limits;
mod load;
mod lookup;
mod names;
mod natural;
mod network;
mod ports;
pub mod random;
mod routes;
pub mod routing;
mod shape;
pub mod spec;
pub mod structure;
mod switch_tree;
mod switched;
mod table_rows;
pub mod text_file;
mod toml_keys;
pub mod units;

pub use background::{Background, BusyLink};
pub use builder::{End, NetworkBuilder};
pub use error::NetError;
pub use fingerprint::Fingerprint;
pub use geometry::{Geometry, Grid};
pub use hostlist::expand_host_list;
pub use ids::{Link, LinkId, NodeId};
pub use io_list::IoHost;
pub use limits::{MAX_HOSTS, MAX_LINKS};
pub use load::{LinkLoad, LoadStatistics};
pub use lookup::HostMatch;
pub use natural::natural_order;
pub use network::Network;
pub use ports::{Exit, FixedOrder, Ports};
pub use routing::Routing;
pub use routing::dimension_order::{DimensionOrder, Ties};
pub use routing::equal_cost::EqualCost;
pub use routing::table::{HopRule, NextHops};
pub use routing::zone::Zone;
pub use shape::{Shape, ShapeKind};
pub use switch_tree::{SwitchPath, SwitchTree};
pub use switched::cables::Class;
