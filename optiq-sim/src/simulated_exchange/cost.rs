//! The cost model of a simulated machine.
//!
//! With `h` half of the grid's diameter, rounded down (0 without a grid), `t` the time of a hop, `s` and `r` the overheads of a send and a
//! receive, `f` that of forwarding, and `P` ranks:
//!
//! ```text
//!     latency    =  h t + s + r
//!     agreement  =  ceil(log2 P) latency          (a reduction by recursive doubling)
//!     chunk      =  m s + r + f                   (m = 1 message for each chunk; 2 with puts, which are announced)
//!     copy       =  1 / rate                      (where forwarders copy what they forward)
//! ```

use crate::constants::{PUT_PLANNED_LINK_EFFICIENCY, PUT_STORE_AND_FORWARD_LINK_EFFICIENCY};
use crate::model::{Carry, Model};
use crate::time::Time;
use optiq_lower::model::CostModel;
use optiq_net::Network;

/// What a session would measure about a simulated machine, in seconds and shares of the link bound. With rendezvous messages,
/// relays at every host bring no gain that is certain, so both efficiencies are the default there.
pub fn cost_model(model: &Model, network: &Network, carry: Carry) -> CostModel {
    let hop =
        Time::picoseconds(model.link.local_latency_picoseconds) + Time::picoseconds(model.router.delay_picoseconds);
    let host = &model.host;
    let [send, receive, forward] =
        [host.send_overhead_picoseconds, host.receive_overhead_picoseconds, host.forward_overhead_picoseconds]
            .map(Time::picoseconds);
    let hops = network.geometry().grid().map_or(1, |grid| grid.diameter()) / 2;
    let latency = (hop * u64::from(hops) + send + receive).seconds();
    let steps = network.hosts().next_power_of_two().trailing_zeros();
    let default = CostModel::default();
    let (messages, planned, store_and_forward) = match carry {
        Carry::TwoSided => (1, default.planned_link_efficiency, default.planned_link_efficiency),
        // The chunk, and the message that announces it.
        Carry::OneSided => (2, PUT_PLANNED_LINK_EFFICIENCY, PUT_STORE_AND_FORWARD_LINK_EFFICIENCY),
    };
    // Where routers choose, every plan has relays at every host.
    let adaptive = network.routing().is_adaptive();
    let planned = if adaptive { store_and_forward } else { planned };
    let chunk = send * messages + receive + forward;
    CostModel {
        agreement_seconds: f64::from(steps) * latency,
        latency_seconds: latency,
        chunk_seconds: chunk.seconds(),
        copy_seconds_per_byte: host.forwarded_copies().map_or(0.0, f64::recip),
        planned_link_efficiency: planned,
        store_and_forward_link_efficiency: store_and_forward,
        ..default
    }
}
