//! Whether a buffer is in the memory of a GPU, which OPTIQ does not touch: such calls go to the MPI library.
//!
//! An MPI library that knows GPUs accepts pointers that this processor cannot read. The driver tells them from others, and
//! only a driver that the program has loaded itself can have made them; so no driver is ever loaded here. Drivers may be
//! loaded late, by `dlopen`: the loader's own count of what was loaded, which takes a few tens of nanoseconds to read, says
//! when to look again.

use std::ffi::{CStr, c_int, c_uint, c_void};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// `cuPointerGetAttribute`.
type CudaQuery = unsafe extern "C" fn(*mut c_void, c_int, u64) -> c_int;
/// `hipPointerGetAttributes`.
type HipQuery = unsafe extern "C" fn(*mut HipAttributes, *const c_void) -> c_int;

/// `CU_POINTER_ATTRIBUTE_MEMORY_TYPE` and its value for memory of this processor; `CU_POINTER_ATTRIBUTE_IS_MANAGED`.
const CUDA_MEMORY_TYPE: c_int = 2;
const CUDA_HOST: c_uint = 1;
const CUDA_IS_MANAGED: c_int = 8;

/// `hipPointerAttribute_t`, of which ROCm 5 and 6 agree on the fields that are read; with room for what others add.
#[repr(C)]
struct HipAttributes {
    /// What 1 means is device memory in ROCm 5 and host memory in ROCm 6.
    kind: c_int,
    device: c_int,
    device_pointer: *mut c_void,
    host_pointer: *mut c_void,
    is_managed: c_int,
    flags: c_uint,
    more: [u64; 8],
}

static CUDA: AtomicUsize = AtomicUsize::new(0);
static HIP: AtomicUsize = AtomicUsize::new(0);
/// The largest kind of memory that is the processor's own.
static HIP_HOST: AtomicUsize = AtomicUsize::new(0);
/// How many libraries had been loaded when drivers were last looked for; 0: never.
static LOADED: AtomicU64 = AtomicU64::new(0);

/// Whether a driver says that memory of `bytes` bytes is not plain memory of the processor: it is a GPU's, or moves between
/// both. Both ends are asked about. False where no driver is loaded, and for no memory.
pub(crate) fn is_device(first: *const u8, bytes: u64) -> bool {
    bytes > 0 && (is_address_of_device(first) || is_address_of_device(first.wrapping_add(bytes as usize - 1)))
}

fn is_address_of_device(address: *const u8) -> bool {
    let loaded = libraries_loaded();
    if LOADED.load(Relaxed) != loaded {
        look_for_drivers();
        LOADED.store(loaded, Relaxed);
    }
    let (cuda, hip) = (CUDA.load(Relaxed), HIP.load(Relaxed));
    // SAFETY: addresses of the functions of these names, which stay loaded, since a reference to the library is kept.
    (cuda != 0 && unsafe { is_cuda(std::mem::transmute::<usize, CudaQuery>(cuda), address) })
        // SAFETY: as above.
        || (hip != 0 && unsafe { is_hip(std::mem::transmute::<usize, HipQuery>(hip), address) })
}

/// # Safety
/// `query` must be the driver's function.
unsafe fn is_cuda(query: CudaQuery, address: *const u8) -> bool {
    let ask = |attribute| {
        let mut value: c_uint = 0;
        // SAFETY: both attributes are of 32 bits or fewer; any address may be asked about.
        let code = unsafe { query((&raw mut value).cast(), attribute, address as u64) };
        (code == 0).then_some(value)
    };
    // Memory that the driver does not know is an error, which is what all plain memory gives.
    ask(CUDA_MEMORY_TYPE).is_some_and(|kind| kind != CUDA_HOST && kind != 0)
        || ask(CUDA_IS_MANAGED).is_some_and(|managed| managed & 0xff != 0)
}

/// # Safety
/// `query` must be the runtime's function.
unsafe fn is_hip(query: HipQuery, address: *const u8) -> bool {
    let null = std::ptr::null_mut();
    let mut found = HipAttributes {
        kind: 0,
        device: 0,
        device_pointer: null,
        host_pointer: null,
        is_managed: 0,
        flags: 0,
        more: [0; 8],
    };
    // SAFETY: as large as the runtime's own structure, or larger; any address may be asked about.
    let code = unsafe { query(&mut found, address.cast()) };
    code == 0 && (found.kind as usize > HIP_HOST.load(Relaxed) || found.is_managed != 0)
}

/// How often libraries were loaded into this process so far; never 0.
fn libraries_loaded() -> u64 {
    unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _: usize, count: *mut c_void) -> c_int {
        // SAFETY: the loader's record, and the counter below. Another value than 0 ends the iteration.
        unsafe { *count.cast::<u64>() = (*info).dlpi_adds };
        1
    }
    let mut count: u64 = 0;
    // SAFETY: the callback keeps nothing.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut count).cast()) };
    count.max(1)
}

fn look_for_drivers() {
    static ONE: Mutex<()> = Mutex::new(());
    let _turn = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if CUDA.load(Relaxed) == 0
        && let Some(library) = loaded(c"libcuda.so.1")
    {
        CUDA.store(function(library, c"cuPointerGetAttribute"), Relaxed);
    }
    if HIP.load(Relaxed) == 0 {
        let names = [c"libamdhip64.so.7", c"libamdhip64.so.6", c"libamdhip64.so.5", c"libamdhip64.so"];
        if let Some(library) = names.into_iter().find_map(loaded) {
            // Registered and unregistered host memory are two kinds from ROCm 6 on.
            HIP_HOST.store(usize::from(hip_version(library) >= 6), Relaxed);
            HIP.store(function(library, c"hipPointerGetAttributes"), Relaxed);
        }
    }
}

/// The library of this name, if the program has loaded it.
fn loaded(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: loads nothing; the reference is kept for good, so that the library stays.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    (!library.is_null()).then_some(library)
}

/// A function's address, or 0.
fn function(library: *mut c_void, name: &CStr) -> usize {
    // SAFETY: a library that is loaded.
    unsafe { libc::dlsym(library, name.as_ptr()) as usize }
}

/// The runtime's major version; 0 if it does not say.
fn hip_version(library: *mut c_void) -> c_int {
    let address = function(library, c"hipRuntimeGetVersion");
    let mut version = 0;
    if address != 0 {
        // SAFETY: the function of this name has this signature.
        unsafe { std::mem::transmute::<usize, unsafe extern "C" fn(*mut c_int) -> c_int>(address)(&mut version) };
    }
    version / 10_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With drivers: tests/preload.rs, which brings stand-ins for them.
    #[test]
    fn without_a_driver_nothing_is_a_gpus() {
        let here = 1u8;
        assert!(!is_device(&here, 1) && !is_device(std::ptr::null(), 8) && !is_device(&here, 0));
        assert_eq!(LOADED.load(Relaxed), libraries_loaded());
    }
}
