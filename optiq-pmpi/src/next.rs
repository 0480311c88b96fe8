//! Who is behind: the next library that has a function of the same name, such as a profiler that was preloaded after this
//! one, or MPI.

use std::ffi::CStr;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The next function of one name, looked for when it is needed first.
pub struct Next {
    name: &'static CStr,
    address: AtomicUsize,
}

impl Next {
    pub const fn new(name: &'static CStr) -> Self {
        Self { name, address: AtomicUsize::new(0) }
    }

    /// Its address, if it was found before.
    #[inline]
    pub fn known(&self) -> Option<NonZeroUsize> {
        NonZeroUsize::new(self.address.load(Relaxed))
    }

    /// Its address; 0 if there is none.
    #[inline]
    pub fn address(&self) -> usize {
        match self.address.load(Relaxed) {
            0 => self.find(),
            address => address,
        }
    }

    #[cold]
    fn find(&self) -> usize {
        // SAFETY: a C string. The search begins behind the library that this function is in.
        let address = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) } as usize;
        self.address.store(address, Relaxed);
        address
    }
}
