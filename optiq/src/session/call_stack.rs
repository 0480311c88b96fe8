//! The return addresses of a call, for postcards: what lines they are of is found when postcards are joined.

use optiq_trace::postcards::MOST_FRAMES;

/// Appends the return addresses from here on, the innermost one first; none where the C library cannot tell them.
pub(super) fn addresses(into: &mut Vec<u64>) {
    #[cfg(target_env = "gnu")]
    {
        let mut frames = [std::ptr::null_mut::<libc::c_void>(); MOST_FRAMES];
        // SAFETY: as many addresses as the array has are written at most.
        let count = unsafe { libc::backtrace(frames.as_mut_ptr(), MOST_FRAMES as libc::c_int) };
        into.extend(frames.iter().take(count.max(0) as usize).map(|&frame| frame as usize as u64));
    }
    #[cfg(not(target_env = "gnu"))]
    let _ = (into, MOST_FRAMES);
}

/// What is mapped where in this process.
pub(super) fn mappings() -> String {
    std::fs::read_to_string("/proc/self/maps").unwrap_or_default()
}
