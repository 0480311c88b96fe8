//! Options set by the program: for the whole process, or for one communicator.

use super::sessions::{Sessions, set_for};
use super::{ffi, guard};
use crate::config::{OptionRecord, Origin, Scope, Settings};
use crate::error::Error;
use optiq_transport::mpi::entries_of;
use parking_lot::Mutex;
use std::ffi::{CStr, c_char, c_int};

/// What was set before `optiq_init`.
static EARLY: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

/// What the settings are before `optiq_init`: files, environment, and what the program has set by then.
fn before_init() -> Settings {
    let mut settings = Settings::read();
    for (name, value) in EARLY.lock().iter() {
        // It was tried when it was set.
        let _ = settings.set(name, value, Origin::Program);
    }
    settings
}

/// The settings that `optiq_init` begins with; what the program has set counts for this one.
pub(super) fn at_init() -> Settings {
    let settings = before_init();
    EARLY.lock().clear();
    settings
}

/// An option's name and value as C passes them; NULL is an empty value.
///
/// # Safety
/// Both must be NULL or strings that end with a zero byte.
unsafe fn option(name: *const c_char, value: *const c_char) -> Result<(String, String), Error> {
    // SAFETY: by this function's contract.
    unsafe {
        let name = string(name, "the name of the option")?;
        let value = if value.is_null() { String::new() } else { string(value, "the value of the option")? };
        Ok((name, value))
    }
}

/// A string that a C program passes.
///
/// # Safety
/// `text` must be NULL or a string that ends with a zero byte.
pub(super) unsafe fn string(text: *const c_char, what: &str) -> Result<String, Error> {
    if text.is_null() {
        return Err(Error::Argument(format!("{what} is NULL")));
    }
    // SAFETY: by this function's contract.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(str::to_owned).map_err(|_| Error::Argument(format!("{what} is not UTF-8 text")))
}

/// Copies `text` and a zero byte into a buffer of a C program, cut off if it is too small; NULL and 0 are allowed.
///
/// # Safety
/// `buffer` must be NULL, or valid for writing `size` bytes.
pub(super) unsafe fn copy_out(text: &str, buffer: *mut c_char, size: usize) {
    if buffer.is_null() || size == 0 {
        return;
    }
    let length = text.len().min(size - 1);
    // SAFETY: by this function's contract; `length` and the zero fit.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), buffer, length);
        *buffer.add(length) = 0;
    }
}

/// Sets an option, over environment and `optiq.conf`. `name` is as in either, such as `topology` or `OPTIQ_TOPOLOGY`;
/// `value` is copied; NULL or an empty string take the option back to its default. Before `optiq_init`, or after it for
/// communicators whose first use is still to come; options of the process as a whole (log, trace, progress) only before.
/// To be called alike on all ranks. `optiq info -cf` lists options. Since 0.1.
///
/// Returns 0 or a status code; nothing is changed by a call that fails. Not thread-safe.
///
/// # Safety
/// Both must be NULL or strings that end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_set_option(name: *const c_char, value: *const c_char) -> c_int {
    guard(|| {
        // SAFETY: by this function's contract.
        let (name, value) = unsafe { option(name, value)? };
        let change = |settings: &mut Settings| {
            if OptionRecord::find(&name).is_some_and(|o| o.scope == Scope::Process) {
                return Err(Error::Argument(format!("the option {name} can only be set before optiq_init")));
            }
            Ok(settings.set(&name, &value, Origin::Program)?)
        };
        if let Some(result) = Sessions::change(change) {
            return result;
        }
        Settings::default().set(&name, &value, Origin::Program)?;
        EARLY.lock().push((name, value));
        Ok(())
    })
}

/// The value of an option for communicators whose first use is still to come, as it was written, or its default; cut off
/// at `size` - 1 bytes. `length`, unless it is NULL, receives the length of the whole value. `value` may be NULL if `size`
/// is 0. Since 0.1.
///
/// Returns 0 or a status code. Thread-safe.
///
/// # Safety
/// `name` must be NULL or a string that ends with a zero byte, `value` valid for writing `size` bytes, `length` NULL or
/// valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_get_option(
    name: *const c_char,
    value: *mut c_char,
    size: usize,
    length: *mut usize,
) -> c_int {
    guard(|| {
        // SAFETY: by this function's contract.
        let name = unsafe { string(name, "the name of the option")? };
        if value.is_null() && size > 0 {
            return Err(Error::Argument("the place for the value is NULL".into()));
        }
        let settings = Sessions::settings().unwrap_or_else(before_init);
        let record = OptionRecord::find(&name).ok_or_else(|| crate::ConfigError::Unknown(name.clone()))?;
        let found = settings.all().into_iter().find(|s| s.record.name == record.name);
        let text = found.map(|s| s.value).unwrap_or_default();
        // SAFETY: by this function's contract.
        unsafe {
            copy_out(&text, value, size);
            if let Some(length) = length.as_mut() {
                *length = text.len();
            }
        }
        Ok(())
    })
}

/// Sets an option for one communicator, over everything else; before its first use. To be called alike on all its ranks.
/// Duplicates of the communicator do not inherit it. Since 0.1.
///
/// Returns 0 or a status code. Not thread-safe.
///
/// # Safety
/// A valid communicator; both others must be NULL or strings that end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_comm_set_option(
    comm: ffi::MPI_Comm,
    name: *const c_char,
    value: *const c_char,
) -> c_int {
    guard(|| {
        // SAFETY: by this function's contract.
        let (name, value) = unsafe { option(name, value)? };
        set_for(comm, &[(name, value)], "optiq_comm_set_option")
    })
}

/// Sets options for one communicator from the keys of `info` that begin with `optiq_`, such as `optiq_topology`; before
/// its first use. To be called alike on all its ranks. Keys that the MPI library itself keeps with a communicator are read
/// as well, without this call; few libraries keep keys that they do not know (Open MPI does those of
/// `MPI_Comm_dup_with_info`). Since 0.1.
///
/// Returns 0 or a status code; nothing is changed by a call that fails. Not thread-safe. `info` is read and not kept.
///
/// # Safety
/// A valid communicator and a valid info object, or `MPI_INFO_NULL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn optiq_comm_set_info(comm: ffi::MPI_Comm, info: ffi::MPI_Info) -> c_int {
    guard(|| {
        // SAFETY: by this function's contract.
        let entries = unsafe { entries_of(info)? };
        let ours: Vec<_> = entries.into_iter().filter(|(name, _)| name.starts_with("optiq_")).collect();
        set_for(comm, &ours, "optiq_comm_set_info")
    })
}
