//! Prefetching of memory.

/// Prefetches the first cache line of a value.
#[inline]
pub(crate) fn prefetch<T: ?Sized>(thing: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the address is that of a reference, and fetching a line changes nothing.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(thing).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = thing;
}
