//! Interconnect networks: hosts, switches and directed links; topologies; the fabric's own routing.
//!
//! This is the lowest room of the house: it knows nothing of demands, MPI or threads.
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
mod file;
pub mod fingerprint;
mod geometry;
pub mod graph;
mod io_hosts;
mod load;
mod names;
mod network;
mod ports;
pub mod random;
pub mod routing;
mod spec;
mod switched;
pub mod text_file;
pub mod units;

pub use background::Background;
pub use builder::{End, MAX_HOSTS, MAX_LINKS, NetworkBuilder};
pub use error::NetError;
pub use fingerprint::Fingerprint;
pub use geometry::{Geometry, Grid};
pub use io_hosts::IoHost;
pub use load::{LinkLoad, LoadStatistics};
pub use network::{Link, LinkId, Network, NodeId};
pub use ports::{Exit, FixedOrder, Ports};
pub use routing::{DimensionOrder, NextHops, Routing, Ties, Zone};
pub use switched::{Class, Shape, ShapeKind};
