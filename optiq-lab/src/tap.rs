//! Taps: what the kernel sees of single bytes on their way through the lab, in hosts and in switches that know nothing of it.
//!
//! A helper has a packet socket in each namespace (packet(7)). It follows the bytes of TCP streams whose sequence number is a multiple of
//! `M`: whatever the kernel makes of segments on the way, by cutting, gathering or sending them again, the byte is in exactly one of
//! them at a time, and which bytes are followed every tap reads in the packet alone. With `q` a segment's sequence number and `n` its
//! payload, the byte is in it if
//!
//! ```text
//!     ((q + M - 1) mod 2^32, rounded down to a multiple of M) - q  <  n        (mod 2^32)
//! ```
//!
//! which a classic BPF program in the kernel computes (S. McCanne and V. Jacobson, "The BSD Packet Filter", USENIX Winter 1993), so
//! that all other packets cost next to nothing. A packet that leaves is seen behind the queue of its device, one that comes before
//! it is forwarded, both with the kernel's own clock.

use crate::blueprint::{Blueprint, FABRIC_DEVICE, HOST_DEVICE, Role};
use crate::entry::{ENTRY, current_binary};
use crate::error::LabError;
use crate::lab::Lab;
use crate::member::Member;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, Signal};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ffi::CString;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::mem::{size_of, size_of_val, zeroed};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::{self, JoinHandle};

/// The tapping helper's word on the command line.
pub(crate) const VERB: &str = "tap";

/// Enough of a packet for the headers of IP (60 bytes at most) and TCP's first 16.
const SNAP: u32 = 96;
/// What a socket may hold that was not read yet, in bytes.
const SOCKET_BYTES: libc::c_int = 8 << 20;
/// Packets of one socket before the others have their turn.
const AT_ONCE: usize = 256;

/// The command line of the helper.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    /// `M`.
    pub every: u32,
}

/// A followed byte in a packet, at one end of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TapRecord {
    /// Index of the namespace that saw it.
    pub namespace: usize,
    /// That at the other end of the cable.
    pub far: usize,
    /// Whether it left.
    pub outgoing: bool,
    /// Nanoseconds since 1970, by the kernel's clock.
    pub time: u64,
    /// Where the packet is from.
    pub source: Ipv4Addr,
    /// And to.
    pub destination: Ipv4Addr,
    /// The two ports.
    pub ports: (u16, u16),
    /// The byte's sequence number in its stream.
    pub mark: u32,
}

/// What all taps saw.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tapped {
    /// By index of the namespace; the management's has none.
    pub names: Vec<String>,
    /// The hosts: their addresses, and their namespaces.
    pub hosts: Vec<(Ipv4Addr, usize)>,
    /// In no order.
    pub records: Vec<TapRecord>,
    /// By namespace: packets that did not fit into a socket's buffer.
    pub dropped: Vec<u64>,
}

/// A line of the helper.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Ready,
    Seen(TapRecord),
    Dropped(usize, u64),
}

/// Taps that are open; closed when dropped.
#[derive(Debug)]
pub struct Taps {
    child: Child,
    /// The helper ends with it.
    lifeline: Option<ChildStdin>,
    reader: Option<JoinHandle<io::Result<Tapped>>>,
}

impl Lab {
    /// Opens taps in all hosts, switches and routers, which follow one byte of every TCP stream in `every`, a power of two.
    ///
    /// # Errors
    /// [`LabError::Argument`] for another number; [`LabError::State`] if the lab is gone; [`LabError::Refused`] with what the kernel
    /// refuses.
    pub fn tap(&self, every: u32) -> Result<Taps, LabError> {
        if !every.is_power_of_two() {
            return Err(LabError::Argument(format!(
                "one byte in {every} cannot be followed; a power of two is expected"
            )));
        }
        let blueprint = self.state()?.blueprint;
        let names = names(&blueprint);
        let hosts = blueprint.hosts.iter().map(|host| (host.fabric, host.namespace)).collect();
        let dropped = vec![0; names.len()];
        let tapped = Tapped { names, hosts, records: Vec::new(), dropped };
        let binary = current_binary()?;
        let task = serde_json::to_string(&Task { every }).map_err(LabError::io("tell a helper what to do"))?;
        let mut child = Command::new(&binary)
            .args([ENTRY, VERB])
            .arg(self.dir.state_path())
            .arg(task)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(LabError::io(format!("start {}", binary.display())))?;
        let (lifeline, output) = (child.stdin.take(), child.stdout.take());
        let mut taps = Taps { child, lifeline, reader: None };
        let Some(output) = output else { return Err(LabError::Refused("the lab's taps have no output".into())) };
        let mut lines = BufReader::new(output);
        let mut first = String::new();
        lines.read_line(&mut first).map_err(LabError::io("hear from the lab's taps"))?;
        if !matches!(serde_json::from_str(&first), Ok(Line::Ready)) {
            return Err(taps.why());
        }
        taps.reader = Some(thread::spawn(move || collect(lines, tapped)));
        Ok(taps)
    }
}

/// Reads what the helper says until it ends.
fn collect(lines: impl BufRead, mut tapped: Tapped) -> io::Result<Tapped> {
    for line in lines.lines() {
        match serde_json::from_str(&line?)? {
            Line::Ready => {}
            Line::Seen(record) => tapped.records.push(record),
            Line::Dropped(namespace, packets) => {
                if let Some(dropped) = tapped.dropped.get_mut(namespace) {
                    *dropped += packets;
                }
            }
        }
    }
    Ok(tapped)
}

impl Taps {
    /// Closes the taps and returns what they saw, also of a run that failed or was interrupted.
    ///
    /// # Errors
    /// [`LabError::Refused`] if the helper ended early, with what it said.
    pub fn finish(mut self) -> Result<Tapped, LabError> {
        drop(self.lifeline.take());
        let read = self.reader.take().map(JoinHandle::join);
        let status = self.child.wait().map_err(LabError::io("wait for the lab's taps"))?;
        match read {
            Some(Ok(tapped)) if status.success() => tapped.map_err(LabError::io("understand the lab's taps")),
            _ => Err(self.why()),
        }
    }

    /// What the helper said before it ended.
    fn why(&mut self) -> LabError {
        drop(self.lifeline.take());
        let mut said = String::new();
        if let Some(errors) = self.child.stderr.take() {
            // What cannot be read is not said.
            let _ = BufReader::new(errors).read_line(&mut said);
        }
        match said.trim() {
            "" => LabError::Refused("the lab's taps ended early".into()),
            said => LabError::Refused(said.to_owned()),
        }
    }
}

impl Drop for Taps {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        // It ends by itself; what cannot be waited for has ended.
        let _ = self.child.wait();
    }
}

/// What each namespace is called: a host, a switch, or the router of a host.
fn names(blueprint: &Blueprint) -> Vec<String> {
    let mut names = vec![String::new(); blueprint.namespaces.len()];
    for link in &blueprint.links {
        names[link.namespace].clone_from(&link.from);
    }
    for host in &blueprint.hosts {
        if let Some(router) = router_of(blueprint, host.namespace) {
            names[router] = format!("{}'s router", host.name);
        }
        names[host.namespace].clone_from(&host.name);
    }
    names
}

/// The router of a host, if it has one.
fn router_of(blueprint: &Blueprint, host: usize) -> Option<usize> {
    let vertex = blueprint.namespaces.get(host)?.vertex;
    let is_router =
        |(_, other): &(usize, &crate::blueprint::Namespace)| other.role == Role::Router && other.vertex == vertex;
    blueprint.namespaces.iter().enumerate().find(is_router).map(|(at, _)| at)
}

/// By namespace, its devices with the namespaces at their other ends.
fn cables(blueprint: &Blueprint) -> Vec<Vec<(String, usize)>> {
    let edge: HashMap<&str, usize> = blueprint.links.iter().map(|l| (l.from.as_str(), l.namespace)).collect();
    let mut cables = vec![Vec::new(); blueprint.namespaces.len()];
    for (link, number) in blueprint.links.iter().zip(0..) {
        let Some(&far) = edge.get(link.to.as_str()) else { continue };
        cables[link.namespace].push((link.device.clone(), far));
        let is_back = |other: &&crate::link::LabLink| other.from == link.to && other.to == link.from;
        if !blueprint.links.iter().any(|other| is_back(&other)) {
            cables[far].push((format!("x{number}"), link.namespace));
        }
    }
    for host in &blueprint.hosts {
        if let Some(router) = router_of(blueprint, host.namespace) {
            cables[host.namespace].push((FABRIC_DEVICE.to_owned(), router));
            cables[router].push((HOST_DEVICE.to_owned(), host.namespace));
        }
    }
    cables
}

/// A socket in one namespace.
struct Tap {
    socket: OwnedFd,
    namespace: usize,
    /// By interface number.
    far: HashMap<i32, usize>,
}

/// The helper's work.
pub(crate) fn main(state_path: &Path, task: &Task) -> Result<(), LabError> {
    let member = Member::join(state_path)?;
    set_pdeathsig(Signal::SIGKILL).map_err(LabError::io("tie the taps to the command that opened them"))?;
    // Ctrl-C ends the run; the taps end when the command closes their input.
    let ignored: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().collect();
    ignored.thread_block().map_err(LabError::io("block signals"))?;
    let filter = filter(task.every);
    let mut taps = Vec::new();
    for (namespace, devices) in cables(&member.state.blueprint).into_iter().enumerate().filter(|(_, d)| !d.is_empty()) {
        member.enter(namespace)?;
        let socket = open(&filter).map_err(LabError::io(format!("tap namespace {namespace} of the lab")))?;
        let far = devices.into_iter().filter_map(|(device, far)| Some((number_of(&device)?, far))).collect();
        taps.push(Tap { socket, namespace, far });
    }
    let mut out = BufWriter::new(io::stdout());
    let tell = |out: &mut BufWriter<io::Stdout>, line: &Line| -> Result<(), LabError> {
        serde_json::to_writer(&mut *out, line).map_err(LabError::io("tell what a tap saw"))?;
        out.write_all(b"\n").map_err(LabError::io("tell what a tap saw"))
    };
    tell(&mut out, &Line::Ready)?;
    let input = io::stdin();
    let mut is_over = false;
    while !is_over {
        out.flush().map_err(LabError::io("tell what a tap saw"))?;
        let mut fds: Vec<PollFd<'_>> =
            taps.iter().map(|tap| PollFd::new(tap.socket.as_fd(), PollFlags::POLLIN)).collect();
        fds.push(PollFd::new(input.as_fd(), PollFlags::POLLIN));
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(e) => return Err(LabError::io("wait for packets")(e)),
        }
        // Then what is there is read to its end.
        is_over = fds.last().is_some_and(|fd| fd.any().unwrap_or(false));
        for tap in &taps {
            let most = if is_over { usize::MAX } else { AT_ONCE };
            for _ in 0..most {
                let Some(packet) = receive(&tap.socket).map_err(LabError::io("read a packet"))? else { break };
                if let Some(record) = record(tap, &packet, task.every) {
                    tell(&mut out, &Line::Seen(record))?;
                }
            }
        }
    }
    for tap in &taps {
        tell(&mut out, &Line::Dropped(tap.namespace, dropped(&tap.socket)))?;
    }
    out.flush().map_err(LabError::io("tell what a tap saw"))
}

/// The number of a device in the calling thread's namespace.
fn number_of(device: &str) -> Option<i32> {
    let name = CString::new(device).ok()?;
    // SAFETY: a string that lives until the call returns.
    let number = unsafe { libc::if_nametoindex(name.as_ptr()) };
    i32::try_from(number).ok().filter(|&number| number > 0)
}

/// What a socket gives: headers, whether it left, which device, when.
struct Packet {
    bytes: [u8; SNAP as usize],
    length: usize,
    outgoing: bool,
    device: i32,
    time: u64,
}

/// A byte that is followed, as a packet's headers say it.
#[derive(Debug, PartialEq, Eq)]
struct Segment {
    source: Ipv4Addr,
    destination: Ipv4Addr,
    ports: (u16, u16),
    mark: u32,
}

/// The first followed byte in a packet that begins with its IP header.
fn segment(bytes: &[u8], every: u32) -> Option<Segment> {
    let byte = |at: usize| bytes.get(at).copied();
    let half = |at: usize| Some(u16::from_be_bytes([byte(at)?, byte(at + 1)?]));
    let word = |at: usize| Some(u32::from_be_bytes([byte(at)?, byte(at + 1)?, byte(at + 2)?, byte(at + 3)?]));
    let first = byte(0)?;
    if first & 0xf0 != 0x40 || byte(9)? != 6 || half(6)? & 0x1fff != 0 {
        return None;
    }
    let ip = usize::from(first & 0xf) * 4;
    let headers = ip + usize::from(byte(ip + 12)? >> 4) * 4;
    let payload = usize::from(half(2)?).checked_sub(headers)? as u32;
    let sequence = word(ip + 4)?;
    let mark = sequence.wrapping_add(every - 1) & !(every - 1);
    (mark.wrapping_sub(sequence) < payload).then_some(())?;
    let (source, destination) = (word(12)?.into(), word(16)?.into());
    Some(Segment { source, destination, ports: (half(ip)?, half(ip + 2)?), mark })
}

fn record(tap: &Tap, packet: &Packet, every: u32) -> Option<TapRecord> {
    let far = *tap.far.get(&packet.device)?;
    let Segment { source, destination, ports, mark } = segment(&packet.bytes[..packet.length], every)?;
    let (namespace, outgoing, time) = (tap.namespace, packet.outgoing, packet.time);
    Some(TapRecord { namespace, far, outgoing, time, source, destination, ports, mark })
}

/// [`segment`], for the kernel; see the top of the file.
fn filter(every: u32) -> Vec<libc::sock_filter> {
    const LOAD_BYTE: u16 = 0x30;
    const LOAD_HALF: u16 = 0x28;
    const LOAD_BYTE_FROM_X: u16 = 0x50;
    const LOAD_WORD_FROM_X: u16 = 0x40;
    const X_IS_HEADER: u16 = 0xb1;
    const X_IS_MEMORY: u16 = 0x61;
    const STORE: u16 = 0x02;
    const ADD: u16 = 0x04;
    const AND: u16 = 0x54;
    const SHIFT: u16 = 0x74;
    const ADD_X: u16 = 0x0c;
    const SUBTRACT_X: u16 = 0x1c;
    let step = |code, k| libc::sock_filter { code, jt: 0, jf: 0, k };
    let jump = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    Vec::from([
        step(LOAD_BYTE, 0),
        step(AND, 0xf0),
        jump(JUMP_IF_SAME, 0x40, 0, 24),
        step(LOAD_BYTE, 9),
        jump(JUMP_IF_SAME, 6, 0, 22),
        step(LOAD_HALF, 6),
        jump(JUMP_IF_ANY_BIT, 0x1fff, 20, 0),
        step(X_IS_HEADER, 0),
        step(LOAD_BYTE_FROM_X, 12),
        step(AND, 0xf0),
        step(SHIFT, 2),
        step(ADD_X, 0),
        step(STORE, 0),
        step(LOAD_HALF, 2),
        step(X_IS_MEMORY, 0),
        step(SUBTRACT_X, 0),
        step(STORE, 1),
        step(X_IS_HEADER, 0),
        step(LOAD_WORD_FROM_X, 4),
        step(STORE, 2),
        step(ADD, every - 1),
        step(AND, !(every - 1)),
        step(X_IS_MEMORY, 2),
        step(SUBTRACT_X, 0),
        step(X_IS_MEMORY, 1),
        jump(JUMP_IF_NOT_BELOW_X, 0, 1, 0),
        step(RETURN, SNAP),
        step(RETURN, 0),
    ])
}

const JUMP_IF_SAME: u16 = 0x15;
const JUMP_IF_ANY_BIT: u16 = 0x45;
const JUMP_IF_NOT_BELOW_X: u16 = 0x3d;
const RETURN: u16 = 0x06;

/// A packet socket in the calling thread's namespace.
fn open(filter: &[libc::sock_filter]) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // Without a protocol it gets nothing until the filter is there.
    // SAFETY: makes a descriptor.
    let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was made above, and no other owner has it.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    set(&socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)?;
    // The larger one needs a capability that not every user has.
    set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &SOCKET_BYTES)
        .or_else(|_| set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &SOCKET_BYTES))?;
    set(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &(1 as libc::c_int))?;
    // SAFETY: plain numbers, of which zeros are valid.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    // Packets that leave are for those alone who want all protocols.
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: an address of the length that is given.
    match unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) } {
        0 => Ok(socket),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set<T>(socket: &OwnedFd, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
    let length = size_of_val(value) as libc::socklen_t;
    // SAFETY: a value of the length that is given.
    match unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const *value).cast(), length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The next packet that has come, if there is one.
fn receive(socket: &OwnedFd) -> io::Result<Option<Packet>> {
    let mut bytes = [0; SNAP as usize];
    let mut control = [0u64; 16];
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: plain numbers and pointers, of which zeros are valid.
    let (mut address, mut message): (libc::sockaddr_ll, libc::msghdr) = unsafe { (zeroed(), zeroed()) };
    message.msg_name = (&raw mut address).cast();
    message.msg_namelen = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: all parts live until the call returns and have the lengths that are given.
    let length = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) };
    if length < 0 {
        let error = io::Error::last_os_error();
        // A device that goes away is an error once; its cable has no packets then.
        let is_nothing = [libc::EAGAIN, libc::EINTR, libc::ENETDOWN].contains(&error.raw_os_error().unwrap_or(0));
        return if is_nothing { Ok(None) } else { Err(error) };
    }
    let (outgoing, device) = (address.sll_pkttype == libc::PACKET_OUTGOING, address.sll_ifindex);
    Ok(Some(Packet { bytes, length: (length as usize).min(bytes.len()), outgoing, device, time: stamp(&message) }))
}

/// The kernel's stamp of a packet; 0 if there is none.
fn stamp(message: &libc::msghdr) -> u64 {
    // SAFETY: a message that the kernel has filled in; the macros stay within its control data.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while let Some(control) = header.as_ref() {
            if control.cmsg_level == libc::SOL_SOCKET && control.cmsg_type == libc::SCM_TIMESTAMPNS {
                let time: libc::timespec = libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned();
                return time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    0
}

/// Packets that did not fit into a socket's buffer.
fn dropped(socket: &OwnedFd) -> u64 {
    // SAFETY: plain numbers, of which zeros are valid.
    let mut statistics: libc::tpacket_stats = unsafe { zeroed() };
    let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
    let into = (&raw mut statistics).cast();
    // SAFETY: a value of the length that is given.
    let got = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS, into, &raw mut length)
    };
    if got == 0 { statistics.tp_drops.into() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    /// A TCP packet's headers: options of IP and TCP of 4 and 8 bytes, so 24 + 28.
    fn packet(sequence: u32, payload: u16) -> Vec<u8> {
        let mut bytes = vec![0; 60];
        bytes[0] = 0x46;
        bytes[2..4].copy_from_slice(&(52 + payload).to_be_bytes());
        bytes[9] = 6;
        bytes[12..16].copy_from_slice(&[198, 18, 0, 1]);
        bytes[16..20].copy_from_slice(&[198, 18, 0, 2]);
        bytes[24..28].copy_from_slice(&[0x12, 0x34, 0x00, 0x50]);
        bytes[28..32].copy_from_slice(&sequence.to_be_bytes());
        bytes[36] = 0x70;
        bytes
    }

    #[test]
    fn a_byte_is_in_one_segment() {
        let mark = |sequence, payload| segment(&packet(sequence, payload), 4096).map(|s| s.mark);
        assert_eq!([mark(4096, 1), mark(4095, 1), mark(4095, 2)], [Some(4096), None, Some(4096)]);
        assert_eq!([mark(4097, 4095), mark(4097, 4096)], [None, Some(8192)]);
        assert_eq!([mark(0, 0), mark(0, 1), mark(u32::MAX, 1), mark(u32::MAX, 2)], [None, Some(0), None, Some(0)]);
        let found = segment(&packet(4096, 1), 4096).unwrap();
        assert_eq!((found.source, found.destination), ([198, 18, 0, 1].into(), [198, 18, 0, 2].into()));
        assert_eq!(found.ports, (0x1234, 80));
        for (at, byte) in [(0, 0x60), (9, 17), (7, 1)] {
            let mut other = packet(4096, 1);
            other[at] = byte;
            assert_eq!(segment(&other, 4096), None, "byte {at}");
        }
        for end in 0..44 {
            assert_eq!(segment(&packet(4096, 1)[..end.min(36)], 4096), None);
        }
    }

    /// What the kernel does with a filter.
    fn run(filter: &[libc::sock_filter], packet: &[u8]) -> u32 {
        let (mut a, mut x, mut memory, mut at) = (0u32, 0u32, [0u32; 16], 0);
        let load = |from: usize, bytes: usize| packet[from..from + bytes].iter().fold(0, |n, b| n << 8 | u32::from(*b));
        loop {
            let libc::sock_filter { code, jt, jf, k } = filter[at];
            at += 1;
            let mut choose = |yes: bool| at += usize::from(if yes { jt } else { jf });
            match code {
                0x30 => a = load(k as usize, 1),
                0x28 => a = load(k as usize, 2),
                0x50 => a = load((x + k) as usize, 1),
                0x40 => a = load((x + k) as usize, 4),
                0xb1 => x = 4 * (load(k as usize, 1) & 0xf),
                0x61 => x = memory[k as usize],
                0x02 => memory[k as usize] = a,
                0x04 => a = a.wrapping_add(k),
                0x54 => a &= k,
                0x74 => a >>= k,
                0x0c => a = a.wrapping_add(x),
                0x1c => a = a.wrapping_sub(x),
                JUMP_IF_SAME => choose(a == k),
                JUMP_IF_ANY_BIT => choose(a & k != 0),
                JUMP_IF_NOT_BELOW_X => choose(a >= x),
                RETURN => return k,
                other => panic!("code {other:#x}"),
            }
        }
    }

    #[test]
    fn the_kernel_takes_the_same_packets() {
        let filter = filter(4096);
        for sequence in [0, 1, 4000, 4095, 4096, 4097, 70_000, u32::MAX - 4096, u32::MAX - 1, u32::MAX] {
            for payload in [0, 1, 2, 95, 96, 97, 1448, 4095, 4096, 4097, 60_000] {
                let packet = packet(sequence, payload);
                let taken = segment(&packet, 4096).is_some();
                assert_eq!(run(&filter, &packet) > 0, taken, "{payload} bytes from {sequence}");
            }
        }
        for (at, byte) in [(0, 0x60), (9, 17), (7, 1)] {
            let mut other = packet(4096, 1);
            other[at] = byte;
            assert_eq!(run(&filter, &other), 0);
        }
    }

    #[test]
    fn cables_lead_both_ways() {
        for spec in ["star:4", "torus:3x2", "fattree:k=4"] {
            let network = crate::network_at(spec, "100mbit".parse().unwrap()).unwrap();
            let (blueprint, wiring) = Blueprint::new(&network, Profile::Tuned, None, &[]).unwrap();
            let cables = cables(&blueprint);
            let names = names(&blueprint);
            assert!(names[1..].iter().all(|name| !name.is_empty()), "{spec}: {names:?}");
            let ends = wiring.cables.iter().flat_map(|c| [(&c.ends[0], &c.ends[1]), (&c.ends[1], &c.ends[0])]);
            for ((namespace, device), (far, _)) in ends.clone() {
                assert!(cables[*namespace].contains(&(device.clone(), *far)), "{spec}: {device} of {namespace}");
            }
            assert_eq!(cables.iter().map(Vec::len).sum::<usize>(), ends.count(), "{spec}");
        }
    }
}
