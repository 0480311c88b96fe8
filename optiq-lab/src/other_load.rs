//! Load of others on the lab's links: packets at a steady rate from host to host, which do not care what becomes of them (UDP).
//!
//! A flow of rate `r` sends datagrams of [`DATAGRAM`] bytes, `r` counting whole frames, in bursts every [`PAUSE`] at most; after a pause that was too
//! long, what is missing is sent at once, a tenth of a second's worth at most.

use crate::error::LabError;
use crate::lab::Lab;
use crate::member::Member;
use crate::rate::Rate;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::{SocketAddrV4, UdpSocket};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// The helper's word on the command line.
pub(crate) const VERB: &str = "load";

/// The port on the receiving hosts.
const PORT: u16 = 5002;
/// Payload of a datagram.
const DATAGRAM: usize = 1400;
/// Its bytes on the wire: UDP, IP and Ethernet headers.
const FRAME: usize = DATAGRAM + 8 + 20 + 14;
/// Between bursts.
const PAUSE: Duration = Duration::from_millis(2);

/// Packets from one host to another, over the fabric's own route.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadFlow {
    /// Name of the host that sends.
    pub from: String,
    /// Name of the host that receives.
    pub to: String,
    /// How fast.
    pub bytes_per_second: f64,
}

impl LoadFlow {
    /// A flow at this rate.
    pub fn new(from: impl Into<String>, to: impl Into<String>, rate: Rate) -> Self {
        Self { from: from.into(), to: to.into(), bytes_per_second: rate.bytes() }
    }
}

/// What the helper is told.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    flows: Vec<LoadFlow>,
    duration: Duration,
}

impl Lab {
    /// Loads the lab's links with these flows for `duration`; returns when it is over.
    ///
    /// # Errors
    /// [`LabError::Argument`] for a host that the lab does not have; [`LabError::State`] if the lab is gone.
    pub fn load(&self, flows: &[LoadFlow], duration: Duration) -> Result<(), LabError> {
        let blueprint = self.state()?.blueprint;
        for flow in flows {
            for name in [&flow.from, &flow.to] {
                blueprint.host(name)?;
            }
        }
        self.helper(VERB, &Task { flows: flows.to_vec(), duration }).map(drop)
    }
}

/// The helper's work. It ends with its parent, too.
pub(crate) fn main(state_path: &Path, task: &Task) -> Result<(), LabError> {
    let member = Member::join(state_path)?;
    let blueprint = &member.state.blueprint;
    let (mut ready, mut receivers) = (Vec::new(), HashMap::new());
    for flow in &task.flows {
        let (from, to) = (&blueprint.hosts[blueprint.host(&flow.from)?], &blueprint.hosts[blueprint.host(&flow.to)?]);
        let address = SocketAddrV4::new(to.fabric, PORT);
        let doing = || format!("send from {} to {address} inside the lab", flow.from);
        // A socket belongs to the namespace in which it was made. Nothing reads at the other end; its kernel drops what arrives. Several flows may
        // have one receiver.
        if let Entry::Vacant(place) = receivers.entry(address) {
            member.enter(to.namespace)?;
            place.insert(UdpSocket::bind(address).map_err(LabError::io(doing()))?);
        }
        member.enter(from.namespace)?;
        let sender = UdpSocket::bind(SocketAddrV4::new(from.fabric, 0)).map_err(LabError::io(doing()))?;
        sender.connect(address).map_err(LabError::io(doing()))?;
        sender.set_nonblocking(true).map_err(LabError::io(doing()))?;
        ready.push((sender, flow.bytes_per_second));
    }
    send(&ready, task.duration);
    Ok(())
}

fn send(flows: &[(UdpSocket, f64)], duration: Duration) {
    let datagram = [0x5a; DATAGRAM];
    let began = Instant::now();
    let mut sent = vec![0.0f64; flows.len()];
    let parent = std::os::unix::process::parent_id();
    while began.elapsed() < duration && std::os::unix::process::parent_id() == parent {
        let now = began.elapsed().as_secs_f64();
        for ((sender, rate), sent) in flows.iter().zip(&mut sent) {
            *sent = sent.max(now * rate - rate / 10.0);
            while *sent < now * rate {
                // Where the queue is full, the packet is lost, as any other there.
                let _ = sender.send(&datagram);
                *sent += FRAME as f64;
            }
        }
        thread::sleep(PAUSE);
    }
}
