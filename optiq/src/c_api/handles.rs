//! What C programs hold: numbers, which are looked up; so a handle that was freed, never made, or is one of something else
//! is found out instead of followed.
//!
//! A handle is `kind << 56 | number`, with numbers that never come again. 0 is none.

use crate::error::Error;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a handle stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Request = 1,
    Topology,
    Algorithms,
    Jobs,
    Schedule,
    Transport,
}

impl Kind {
    const ALL: [Kind; 6] =
        [Kind::Request, Kind::Topology, Kind::Algorithms, Kind::Jobs, Kind::Schedule, Kind::Transport];

    fn words(self) -> &'static str {
        match self {
            Kind::Request => "request",
            Kind::Topology => "topology",
            Kind::Algorithms => "handle of algorithms",
            Kind::Jobs => "list of jobs",
            Kind::Schedule => "schedule",
            Kind::Transport => "transport",
        }
    }
}

/// All handles of one kind.
pub(super) struct Handles<T> {
    kind: Kind,
    held: Mutex<Held<T>>,
}

struct Held<T> {
    next: u64,
    things: BTreeMap<u64, Arc<Mutex<T>>>,
}

impl<T> Handles<T> {
    pub(super) const fn new(kind: Kind) -> Self {
        Self { kind, held: Mutex::new(Held { next: 1, things: BTreeMap::new() }) }
    }

    /// Holds a thing and writes its handle to `place`.
    ///
    /// # Safety
    /// `place` must be valid for writing; see [`place`].
    pub(super) unsafe fn hold(&self, thing: T, place: *mut u64) {
        let mut held = self.held.lock();
        let handle = (self.kind as u64) << 56 | held.next;
        held.next += 1;
        held.things.insert(handle, Arc::new(Mutex::new(thing)));
        // SAFETY: by this function's contract.
        unsafe { *place = handle };
    }

    /// What a handle stands for.
    pub(super) fn get(&self, handle: u64, function: &str) -> Result<Arc<Mutex<T>>, Error> {
        let wanted = self.kind.words();
        let wrong = || {
            let found = Kind::ALL.into_iter().find(|&k| k as u64 == handle >> 56);
            Error::Argument(match found {
                _ if handle == 0 => format!("{function} was given no {wanted}: the handle is 0"),
                Some(kind) if kind != self.kind => {
                    format!("{function} was given a {} where a {wanted} is expected", kind.words())
                }
                Some(_) => format!("{function} was given a {wanted} that was freed or never made"),
                None => format!("{function} was given {handle}, which is no {wanted}"),
            })
        };
        self.held.lock().things.get(&handle).cloned().ok_or_else(wrong)
    }

    /// What the handle at an address stands for.
    ///
    /// # Safety
    /// `handle` must be NULL or valid for reading.
    pub(super) unsafe fn at(&self, handle: *const u64, function: &str) -> Result<Arc<Mutex<T>>, Error> {
        // SAFETY: by this function's contract.
        match unsafe { handle.as_ref() } {
            Some(&handle) => self.get(handle, function),
            None => Err(Error::Argument(format!("the {} that {function} was given is NULL", self.kind.words()))),
        }
    }

    /// Lets go of what the handle at an address stands for, and sets it to 0.
    ///
    /// # Safety
    /// `handle` must be NULL or valid for reading and writing.
    pub(super) unsafe fn free(&self, handle: *mut u64, function: &str) -> Result<(), Error> {
        // SAFETY: by this function's contract; `at` has read it.
        unsafe {
            self.at(handle, function)?;
            self.held.lock().things.remove(&*handle);
            *handle = 0;
        }
        Ok(())
    }

    /// Lets go of everything.
    pub(super) fn forget(&self) {
        let things = std::mem::take(&mut self.held.lock().things);
        // Outside of the lock: what they hold may hold handles.
        drop(things);
    }
}

/// Makes sure that there is a place for a handle, and writes 0 to it: there is none after an error.
///
/// # Safety
/// `place` must be NULL or valid for writing.
pub(super) unsafe fn place(place: *mut u64, what: &str) -> Result<(), Error> {
    // SAFETY: by this function's contract.
    match unsafe { place.as_mut() } {
        Some(handle) => {
            *handle = 0;
            Ok(())
        }
        None => Err(Error::Argument(format!("the place for the {what} is NULL"))),
    }
}

/// Writes to a place of the caller's.
///
/// # Safety
/// `place` must be NULL or valid for writing.
pub(super) unsafe fn write<V>(place: *mut V, value: V, what: &str) -> Result<(), Error> {
    // SAFETY: by this function's contract.
    match unsafe { place.as_mut() } {
        Some(slot) => {
            *slot = value;
            Ok(())
        }
        None => Err(Error::Argument(format!("the place for {what} is NULL"))),
    }
}
