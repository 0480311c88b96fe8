//! Which local interface carried how much to and from which peer: the TCP connections of this process, as the kernel counts their payload
//! (`TCP_INFO`, Linux 4.1 and later).
//!
//! # What it does not see
//!
//! Connections that were closed before; what goes by other ways than TCP (shared memory, verbs, libfabric's own providers), for which the counters of
//! ports stand ([`super::interfaces`]); which rank of the peer's host is at the other end. The launcher's own connections are among them.

use optiq_trace::profile::rank_file::Connection;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_int};
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The head of the kernel's `tcp_info` (linux/tcp.h), up to what is read here: libc's has less of it.
#[repr(C)]
struct TcpInfo {
    /// States and options.
    flags: [u8; 8],
    /// Times, sizes, windows.
    words: [u32; 24],
    pacing: [u64; 2],
    bytes_acked: u64,
    bytes_received: u64,
}

/// All connections of this process to other addresses than its own, by interface and peer.
pub(super) fn read() -> Vec<Connection> {
    let names = interfaces();
    let mut all: BTreeMap<(String, IpAddr), Connection> = BTreeMap::new();
    for descriptor in descriptors() {
        let Some((local, peer, sent_bytes, received_bytes)) = connection(descriptor) else { continue };
        let interface = names.get(&local).cloned().unwrap_or_else(|| local.to_string());
        let sum = all.entry((interface.clone(), peer)).or_insert_with(|| Connection {
            interface,
            peer: peer.to_string(),
            connections: 0,
            sent_bytes: 0,
            received_bytes: 0,
        });
        sum.connections += 1;
        sum.sent_bytes = sum.sent_bytes.saturating_add(sent_bytes);
        sum.received_bytes = sum.received_bytes.saturating_add(received_bytes);
    }
    all.into_values().collect()
}

/// The open files of this process.
fn descriptors() -> Vec<c_int> {
    let names = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.to_str()?.parse().ok()).collect()
}

/// Of a TCP connection: both addresses, and what was sent and received.
fn connection(descriptor: c_int) -> Option<(IpAddr, IpAddr, u64, u64)> {
    let protocol: c_int = option(descriptor, libc::SOL_SOCKET, libc::SO_PROTOCOL)?;
    if protocol != libc::IPPROTO_TCP {
        return None;
    }
    let local = address(descriptor, libc::getsockname)?;
    // One that listens has none.
    let peer = address(descriptor, libc::getpeername)?;
    let info: TcpInfo = option(descriptor, libc::IPPROTO_TCP, libc::TCP_INFO)?;
    let _ = (info.flags, info.words, info.pacing);
    Some((local, peer, info.bytes_acked, info.bytes_received))
}

/// An option of a socket; none if the descriptor is no socket, or the kernel has less to say.
fn option<T>(descriptor: c_int, level: c_int, name: c_int) -> Option<T> {
    let mut value = MaybeUninit::<T>::zeroed();
    let mut size = size_of::<T>() as libc::socklen_t;
    // SAFETY: a buffer of this size; the types that are asked for are integers, of which every value is valid.
    unsafe {
        let code = libc::getsockopt(descriptor, level, name, value.as_mut_ptr().cast(), &mut size);
        (code == 0 && size as usize >= size_of::<T>()).then(|| value.assume_init())
    }
}

type NameOf = unsafe extern "C" fn(c_int, *mut libc::sockaddr, *mut libc::socklen_t) -> c_int;

fn address(descriptor: c_int, of: NameOf) -> Option<IpAddr> {
    // SAFETY: zeros are a valid address without a family; a buffer of this size for the other one.
    unsafe {
        let mut storage: libc::sockaddr_storage = std::mem::zeroed();
        let mut size = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        let code = of(descriptor, (&raw mut storage).cast(), &mut size);
        if code == 0 { ip((&raw const storage).cast()) } else { None }
    }
}

/// # Safety
/// An address of the family that it says.
unsafe fn ip(address: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: by this function's contract.
    let found = unsafe {
        match c_int::from((*address).sa_family) {
            libc::AF_INET => {
                let four = address.cast::<libc::sockaddr_in>().read_unaligned();
                IpAddr::V4(Ipv4Addr::from(four.sin_addr.s_addr.to_ne_bytes()))
            }
            libc::AF_INET6 => {
                let six = address.cast::<libc::sockaddr_in6>().read_unaligned();
                IpAddr::V6(Ipv6Addr::from(six.sin6_addr.s6_addr))
            }
            _ => return None,
        }
    };
    // IPv4 through a socket of IPv6.
    Some(found.to_canonical())
}

/// The interface of each local address.
fn interfaces() -> BTreeMap<IpAddr, String> {
    let mut names = BTreeMap::new();
    let mut list = std::ptr::null_mut();
    // SAFETY: a list that the C library makes and frees; its names are C strings, its addresses may be missing.
    unsafe {
        if libc::getifaddrs(&mut list) != 0 {
            return names;
        }
        let mut entry = list;
        while let Some(one) = entry.as_ref() {
            if let (false, false) = (one.ifa_addr.is_null(), one.ifa_name.is_null())
                && let Some(address) = ip(one.ifa_addr)
            {
                names.insert(address, CStr::from_ptr(one.ifa_name).to_string_lossy().into_owned());
            }
            entry = one.ifa_next;
        }
        libc::freeifaddrs(list);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn what_a_connection_has_moved_is_told_by_interface_and_peer() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let mut there = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut here, _) = listener.accept().unwrap();
        there.write_all(&[1; 5000]).unwrap();
        here.read_exact(&mut [0; 5000]).unwrap();
        here.write_all(&[2; 70]).unwrap();
        there.read_exact(&mut [0; 70]).unwrap();
        // Both ends are ours, so that all is there twice, in both directions; other tests may have connections as well.
        let all = read();
        let own = all.iter().find(|c| c.peer == "127.0.0.1").unwrap();
        assert!(own.interface == "lo" && own.connections >= 2, "{all:?}");
        assert!(own.received_bytes >= 5070 && own.sent_bytes >= 5000, "{all:?}");
    }
}
