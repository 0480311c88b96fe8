//! An exchange by the flow model.

use super::flows::{Finished, Flow, Limits, is_direct, unknown_host};
use super::run::run;
use crate::error::SimError;
use crate::model::Model;
use crate::time::Time;
use crate::workload::message::Message;
use optiq_net::{Network, NodeId};

/// All messages at once, as [`crate::workload::exchange::Method::Linear`] sends them: the time that the packet simulator
/// should find too, if large messages and fair routers make packets share links as flows do.
///
/// A message has the latency of its route, of what processors do for it, and of the request and the grant where it is larger than
/// `eager_bytes`. Only for sends does the model know that a processor is busy with one message when the next one comes. All
/// of the latency comes before the bytes meet those of others, so that this is a model for messages which take longer than
/// their latency.
///
/// # Errors
/// As [`run`]; an invalid model.
pub fn exchange(network: &Network, model: &Model, messages: &[Message]) -> Result<Finished, SimError> {
    model.check().map_err(SimError::Model)?;
    let limits = Limits::of(model, network);
    let hosts = network.hosts() as u32;
    if let Some(m) = messages.iter().find(|m| m.source.max(m.destination) >= hosts) {
        return Err(unknown_host("message", m.source, m.destination, hosts));
    }
    // To the next host first, to itself last, as there.
    let mut order: Vec<usize> = (0..messages.len()).filter(|&i| messages[i].bytes > 0).collect();
    let distance = |m: &Message| match (m.destination + hosts - m.source) % hosts {
        0 => hosts,
        by => by,
    };
    order.sort_by_key(|&i| distance(&messages[i]));
    let [send, receive, delay] =
        [model.host.send_overhead_picoseconds, model.host.receive_overhead_picoseconds, model.router.delay_picoseconds]
            .map(Time::picoseconds);
    let mut flows: Vec<Flow> = messages.iter().map(|m| Flow::new(m.source, m.destination, 0)).collect();
    let mut sent = vec![0u64; network.hosts()];
    let mut route = Vec::new();
    for i in order {
        let Message { source, destination, bytes, .. } = messages[i];
        let flow = &mut flows[i];
        sent[source as usize] += 1;
        flow.start = (send * sent[source as usize]).seconds();
        flow.bytes = bytes;
        if source == destination {
            flow.cap = Some(model.host.copy_bytes_per_second).filter(|&rate| rate > 0.0);
            continue;
        }
        route.clear();
        network.route(NodeId(source), NodeId(destination), &mut route)?;
        let routers = if is_direct(network) { route.len() + 1 } else { route.len().saturating_sub(1) };
        let wire: Time = route.iter().map(|&link| model.link.latency(network.class(link))).sum();
        let trip = (wire + delay * routers as u64).seconds();
        let dealt = receive.seconds();
        flow.latency = trip + dealt;
        if bytes > model.host.eager_bytes {
            let slowest = route.iter().map(|&l| network.link(l).capacity).fold(f64::INFINITY, f64::min);
            flow.latency += 2.0 * (trip + dealt + model.host.control_bytes as f64 / (slowest * limits.efficiency));
        }
        flow.links = Some(std::mem::take(&mut route));
    }
    run(network, &flows, &limits)
}
