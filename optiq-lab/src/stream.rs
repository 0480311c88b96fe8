//! How fast the lab's links really are: one TCP stream between two hosts.

use crate::error::LabError;
use crate::lab::Lab;
use crate::member::Member;
use serde::{Deserialize, Serialize};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// The streamer's word on the command line.
pub(crate) const VERB: &str = "stream";

/// The port on the receiving host.
const PORT: u16 = 5001;
/// The stream's beginning is not counted: windows grow, and the links' tokens are spent.
const WARM_UP: Duration = Duration::from_millis(300);
/// How long a connection may take to be made, and how much longer than planned a stream may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(3);
/// Bytes per read and write.
const BLOCK: usize = 64 << 10;

/// What one stream reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// Name of the sending host.
    pub from: String,
    /// Name of the receiving host.
    pub to: String,
    /// Links between them.
    pub links: usize,
    /// Capacity of the slowest of these, in bytes per second.
    pub capacity: f64,
    /// Payload received per second, in bytes.
    pub bytes_per_second: f64,
    /// `bytes_per_second / capacity`.
    pub share: f64,
}

/// The command line of the streamer.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    /// Index of the sending host.
    pub from: usize,
    /// Index of the receiving host.
    pub to: usize,
    /// How long to count.
    pub duration: Duration,
}

impl Lab {
    /// Sends one TCP stream over a shortest and one over a longest route, one after the other, for `duration` each.
    ///
    /// # Errors
    /// [`LabError::State`] if the lab is gone; [`LabError::Refused`] if a stream fails, for instance over a link that
    /// was cut.
    pub fn calibrate(&self, duration: Duration) -> Result<Vec<Stream>, LabError> {
        let state = self.state()?;
        state.blueprint.probes.iter().map(|p| self.stream(p.from, p.to, &p.links, duration)).collect()
    }

    fn stream(&self, from: usize, to: usize, links: &[usize], duration: Duration) -> Result<Stream, LabError> {
        let blueprint = self.state()?.blueprint;
        let task = Task { from, to, duration };
        let answer = self.helper(VERB, &task)?;
        let bytes_per_second: f64 = answer.trim().parse().map_err(|_| {
            LabError::Refused(format!("the lab's streamer answered \"{}\"; a number is expected", answer.trim()))
        })?;
        let capacity = links.iter().map(|&l| blueprint.links[l].rate.bytes()).fold(f64::INFINITY, f64::min);
        Ok(Stream {
            from: blueprint.hosts[from].name.clone(),
            to: blueprint.hosts[to].name.clone(),
            links: links.len(),
            capacity,
            bytes_per_second,
            share: bytes_per_second / capacity,
        })
    }
}

/// The streamer's work: returns bytes per second.
pub(crate) fn main(state_path: &Path, task: &Task) -> Result<f64, LabError> {
    let member = Member::join(state_path)?;
    let hosts = &member.state.blueprint.hosts;
    let (Some(from), Some(to)) = (hosts.get(task.from), hosts.get(task.to)) else {
        return Err(LabError::Argument(format!("the lab has no hosts {} and {}", task.from, task.to)));
    };
    let address = SocketAddrV4::new(to.fabric, PORT);
    let total = WARM_UP + task.duration;
    // A socket belongs to the namespace in which it was made, whichever process uses it later.
    member.enter(to.namespace)?;
    let listener = TcpListener::bind(address).map_err(LabError::io(format!("listen on {address} inside the lab")))?;
    member.enter(from.namespace)?;
    let sender = connect(address, total)?;
    let (receiver, _) = listener.accept().map_err(LabError::io("accept the lab's stream"))?;
    thread::scope(|scope| {
        let sending = scope.spawn(move || send(sender, total));
        let received = receive(receiver, task.duration);
        match sending.join() {
            Ok(Ok(())) => received,
            Ok(Err(e)) => received.and(Err(e)),
            Err(_) => Err(LabError::Refused("the lab's sender stopped".into())),
        }
    })
}

fn connect(address: SocketAddrV4, total: Duration) -> Result<TcpStream, LabError> {
    let doing = || format!("reach {address} through the lab");
    let stream = TcpStream::connect_timeout(&address.into(), CONNECT_LIMIT).map_err(LabError::io(doing()))?;
    stream.set_write_timeout(Some(total + CONNECT_LIMIT)).map_err(LabError::io(doing()))?;
    Ok(stream)
}

fn send(mut stream: TcpStream, total: Duration) -> Result<(), LabError> {
    let block = vec![0x5a; BLOCK];
    let began = Instant::now();
    while began.elapsed() < total {
        match stream.write_all(&block) {
            Ok(()) => {}
            // The receiver has what it wants.
            Err(e) if matches!(e.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => return Ok(()),
            Err(e) => return Err(LabError::io("send through the lab")(e)),
        }
    }
    Ok(())
}

fn receive(mut stream: TcpStream, duration: Duration) -> Result<f64, LabError> {
    let doing = "receive through the lab";
    stream.set_read_timeout(Some(WARM_UP + duration + CONNECT_LIMIT)).map_err(LabError::io(doing))?;
    let mut block = vec![0; BLOCK];
    let began = Instant::now();
    let mut counted = 0u64;
    let mut first = None;
    loop {
        let n = stream.read(&mut block).map_err(LabError::io(doing))?;
        let now = began.elapsed();
        match first {
            _ if n == 0 => break,
            None if now >= WARM_UP => first = Some(now),
            None => {}
            Some(_) => counted += n as u64,
        }
        if now >= WARM_UP + duration {
            break;
        }
    }
    let seconds = began.elapsed().saturating_sub(first.unwrap_or_default()).as_secs_f64();
    if first.is_none() || seconds <= 0.0 {
        return Err(LabError::Refused("the lab's stream ended before it could be measured".into()));
    }
    Ok(counted as f64 / seconds)
}
