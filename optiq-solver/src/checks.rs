//! Whether demands fit a network, and errors that name hosts.

use crate::demands::Demand;
use crate::error::PlanError;
use optiq_net::{NetError, Network, NodeId};

/// Checks that demands are between different hosts of the network and that their bytes can be summed. As paths have
/// no loops, no link's load exceeds that sum.
pub(crate) fn check_demands(net: &Network, demands: &[Demand]) -> Result<(), PlanError> {
    let mut sum = 0u64;
    for (i, d) in demands.iter().enumerate() {
        for node in [d.src, d.dst] {
            if !net.is_host(node) {
                return Err(PlanError::NoSuchHost { demand: i, node: node.0, last: net.hosts() as u32 - 1 });
            }
        }
        if d.src == d.dst {
            return Err(PlanError::SelfDemand { demand: i, name: name(net, d.src) });
        }
        sum = sum.checked_add(d.bytes).ok_or_else(|| PlanError::Overflow {
            demand: i,
            from: name(net, d.src),
            to: name(net, d.dst),
        })?;
    }
    Ok(())
}

/// The error for demand `demand`, between whose ends the network has no route.
pub(crate) fn unconnected(net: &Network, demands: &[Demand], demand: usize, error: NetError) -> PlanError {
    match error {
        NetError::Unreachable { .. } => {
            let d = &demands[demand];
            PlanError::Unconnected { demand, from: name(net, d.src), to: name(net, d.dst) }
        }
        other => PlanError::Net(other),
    }
}

pub(crate) fn name(net: &Network, node: NodeId) -> String {
    net.name(node).to_owned()
}
