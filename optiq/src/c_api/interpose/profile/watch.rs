//! What the profiler learns of single calls: where in the program they were made, which bytes of files they moved, and, where the MPI library
//! does not count messages itself, what their arguments say.

use super::recorder::MOST_RECORDS;
use optiq_trace::postcards::CallStack;
use optiq_trace::profile::rank_file::{CallAddress, FileTraffic};
use optiq_transport::mpi::monitoring::Counted;
use optiq_transport::mpi::{ffi, tally};
use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// What is looked at, in bits of [`WATCHED`].
pub(super) const FILES: u8 = 1;
pub(super) const CALL_SITES: u8 = 2;
pub(super) const ARGUMENTS: u8 = 4;

/// What is looked at of calls, to be asked without a lock; nothing without a profile.
static WATCHED: AtomicU8 = AtomicU8::new(0);

thread_local! {
    /// Whether this thread is in a call that is looked at: what MPI libraries call by their own public names within is no call of the program.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Elements of a datatype.
#[derive(Clone, Copy, Debug)]
pub struct Elements {
    /// How many.
    pub count: c_int,
    /// Of what.
    pub datatype: ffi::MPI_Datatype,
}

/// What a call moves, by its arguments.
#[derive(Clone, Copy, Debug)]
pub enum Moves {
    /// Nothing that is counted by its arguments.
    Other,
    /// A message to a rank of a communicator.
    Message(Elements, c_int, ffi::MPI_Comm),
    /// What is put into the window of a rank.
    Put(Elements, c_int, ffi::MPI_Win),
    /// What is got from there.
    Get(Elements, c_int, ffi::MPI_Win),
    /// What is read from a file.
    Read(Elements),
    /// What is written to one.
    Write(Elements),
}

/// Sets what is looked at from now on.
pub(super) fn watch(what: u8) {
    WATCHED.store(what, Relaxed);
}

/// Whether calls that move messages are looked at.
#[inline]
pub fn watches_messages() -> bool {
    WATCHED.load(Relaxed) & (CALL_SITES | ARGUMENTS) != 0
}

/// Whether calls that move bytes of files are looked at.
#[inline]
pub fn watches_files() -> bool {
    WATCHED.load(Relaxed) != 0
}

/// What is looked at of a call that begins now, in bits as for [`watch`], and whether this thread is in no other one; the call is over when
/// this is dropped.
pub(super) struct Watching {
    pub(super) what: u8,
}

impl Watching {
    /// None if nothing is looked at.
    #[inline]
    pub(super) fn begin() -> Option<Self> {
        let what = WATCHED.load(Relaxed);
        (what != 0 && !INSIDE.replace(true)).then_some(Self { what })
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        INSIDE.set(false);
    }
}

/// Count times the size of the datatype, in bytes.
fn bytes(elements: Elements) -> u64 {
    let mut size: ffi::MPI_Count = 0;
    // SAFETY: the program's datatype, which MPI has just used; an out-parameter.
    unsafe { ffi::PMPI_Type_size_x(elements.datatype, &mut size) };
    // MPI_UNDEFINED is negative.
    u64::try_from(size).unwrap_or(0).saturating_mul(u64::try_from(elements.count).unwrap_or(0))
}

/// Counts what a call has sent, by its arguments.
pub(super) fn count(moves: Moves) {
    // SAFETY: the program's communicator or window, which MPI has just used.
    unsafe {
        match moves {
            Moves::Message(elements, to, comm) => tally::message(bytes(elements), to, comm),
            Moves::Put(elements, target, window) => tally::one_sided(Counted::Put, bytes(elements), target, window),
            Moves::Get(elements, target, window) => tally::one_sided(Counted::Got, bytes(elements), target, window),
            Moves::Other | Moves::Read(_) | Moves::Write(_) => {}
        }
    }
}

/// What a call has moved of a file.
pub(super) fn files(moves: Moves) -> FileTraffic {
    let none = FileTraffic::default();
    match moves {
        Moves::Read(elements) => FileTraffic { reads: 1, read_bytes: bytes(elements), ..none },
        Moves::Write(elements) => FileTraffic { writes: 1, written_bytes: bytes(elements), ..none },
        _ => none,
    }
}

/// Functions of a call stack that are looked at: those of this library, of an MPI library's Fortran interface, and the program's.
const FRAMES: usize = 12;

/// Where files are mapped whose functions are not the program's: this library, and those of the MPI library.
pub(super) struct OwnCode(Vec<(usize, usize)>);

impl OwnCode {
    /// Of a process with these mappings, in the form of proc(5)'s `/proc/self/maps`.
    pub(super) fn new(maps: &str, here: usize) -> Self {
        let mapping = |line: &str| -> Option<(usize, usize, String)> {
            let (range, rest) = line.split_once(' ')?;
            let (begin, end) = range.split_once('-')?;
            let number = |text: &str| usize::from_str_radix(text, 16).ok();
            Some((number(begin)?, number(end)?, rest[rest.find('/')?..].to_owned()))
        };
        let all: Vec<_> = maps.lines().filter_map(mapping).collect();
        let own = all.iter().find(|(begin, end, _)| (*begin..*end).contains(&here)).map(|m| m.2.clone());
        let is_own = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or_default();
            own.as_deref() == Some(path) || name.starts_with("libmpi")
        };
        Self(all.iter().filter(|m| is_own(&m.2)).map(|m| (m.0, m.1)).collect())
    }

    fn has(&self, address: usize) -> bool {
        self.0.iter().any(|(begin, end)| (*begin..*end).contains(&address))
    }
}

/// The return address in the program of the call that is being made; 0 where the C library cannot tell.
pub(super) fn caller(own: &OwnCode) -> usize {
    #[cfg(target_env = "gnu")]
    {
        let mut frames = [std::ptr::null_mut::<libc::c_void>(); FRAMES];
        // SAFETY: as many addresses as the array has are written at most.
        let count = unsafe { libc::backtrace(frames.as_mut_ptr(), FRAMES as c_int) };
        let addresses = frames.iter().take(usize::try_from(count).unwrap_or(0)).map(|frame| frame.addr());
        addresses.into_iter().find(|address| !own.has(*address)).unwrap_or(0)
    }
    #[cfg(not(target_env = "gnu"))]
    {
        let _ = (own, FRAMES);
        0
    }
}

/// The places of the program that made calls, numbered as they come.
#[derive(Default)]
pub(super) struct Sites {
    numbers: HashMap<usize, u32>,
    addresses: Vec<usize>,
}

impl Sites {
    /// The number of a place. No more places than there are records are kept apart: the last number stands for all others.
    pub(super) fn number(&mut self, address: usize) -> u32 {
        if let Some(number) = self.numbers.get(&address) {
            return *number;
        }
        if self.addresses.len() >= MOST_RECORDS {
            return self.addresses.len() as u32;
        }
        let number = self.addresses.len() as u32;
        self.numbers.insert(address, number);
        self.addresses.push(address);
        number
    }

    /// With the files that they are in; one more stands for those that are not kept apart.
    pub(super) fn written(&self) -> Vec<CallAddress> {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let of = |address: &usize| {
            let stack = CallStack::new(&[*address as u64], 0, &maps);
            let frame = stack.frames.into_iter().next();
            let (module, base) = frame.map_or_else(Default::default, |frame| (frame.module, frame.base));
            CallAddress { module, base, address: *address as u64 }
        };
        let mut all: Vec<CallAddress> = self.addresses.iter().map(of).collect();
        if all.len() >= MOST_RECORDS {
            all.push(CallAddress { module: String::new(), base: 0, address: 0 });
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_this_library_and_of_mpi_is_not_the_programs() {
        let maps = "\
1000-2000 r-xp 00000000 08:01 1     /home/me/app
3000-4000 r-xp 00000000 08:01 2     /opt/lib/liboptiq_pmpi.so
5000-6000 r-xp 00000000 08:01 3     /usr/lib/libmpi_mpifh.so.40
7000-8000 rw-p 00000000 00:00 0     [heap]
nonsense
";
        let own = OwnCode::new(maps, 0x3100);
        let found = [0x1800, 0x3fff, 0x4000, 0x5000, 0x7000].map(|address| own.has(address));
        assert_eq!(found, [false, true, false, true, false]);
    }

    #[test]
    fn the_caller_is_outside_of_what_is_our_own() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let here = the_caller_is_outside_of_what_is_our_own as fn() as usize;
        // All of the test program is our own; the first address that is not is one of the C library's.
        let own = OwnCode::new(&maps, here);
        let found = caller(&own);
        assert!(!own.has(found), "{found:#x}");
        assert!(own.has(caller(&OwnCode(Vec::new()))), "nothing is our own");
    }

    #[test]
    fn places_have_numbers() {
        let mut sites = Sites::default();
        assert_eq!([7, 9, 7].map(|address| sites.number(address)), [0, 1, 0]);
        assert_eq!(sites.written().iter().map(|site| site.address).collect::<Vec<_>>(), [7, 9]);
    }
}
