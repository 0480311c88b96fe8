//! The counters of Open MPI's monitoring component: messages and bytes to each peer, those inside collectives among them.
//!
//! The component `pml_monitoring` (Open MPI 4.0 and later, part of a stock build; Bosilca et al., "Online Dynamic Monitoring of MPI
//! Communications", Euro-Par 2017) counts messages where they are sent, and shows the counts as performance variables of the MPI tool
//! information interface (MPI 4.0, chapter 15). It must be asked for before `MPI_Init`: [`request`].
//!
//! # What it does not see
//!
//! - Ports and links: a count is one of a pair of ranks.
//! - What collectives put at a peer apart from the program's own messages: with `pml_monitoring_enable=1` both are one count. With 2
//!   the component counts them apart, but its variables have the program's own messages only.
//! - Peers of other `MPI_COMM_WORLD`s, and what collective components move without messages (shared memory, switches).
//! - Headers, acknowledgements and repetitions of the layers below.
//!
//! # A defect of Open MPI 4.1
//!
//! The component takes the place of the selected one in the moment in which it is closed, and closing marks its variables as
//! invalid (found with 4.1.4). Calling the function with which it registers them, `mca_common_monitoring_register`, a second time makes
//! them valid again.

use super::comm::is_initialized;
use super::ffi;
use super::library::Library;
use std::ffi::{CStr, OsString, c_char, c_int, c_void};

unsafe extern "C" {
    fn optiq_mpi_monitoring_register() -> c_int;
    fn optiq_mpi_pvar_class_size() -> c_int;
}

/// The variable that switches the component on.
const ENABLE: &str = "OMPI_MCA_pml_monitoring_enable";

/// The variable with the components that may carry messages.
const COMPONENTS: &str = "OMPI_MCA_pml";

/// Which way bytes are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Counted {
    /// Messages that this rank sent.
    Sent,
    /// What this rank put into windows of others.
    Put,
    /// What this rank got from windows of others.
    Got,
}

impl Counted {
    /// All of them, in the order of their numbers.
    pub const ALL: [Counted; 3] = [Counted::Sent, Counted::Put, Counted::Got];

    /// The variables with the number of messages and of bytes.
    fn variables(self) -> [&'static CStr; 2] {
        match self {
            Counted::Sent => [c"pml_monitoring_messages_count", c"pml_monitoring_messages_size"],
            Counted::Put => [c"osc_monitoring_messages_sent_count", c"osc_monitoring_messages_sent_size"],
            Counted::Got => [c"osc_monitoring_messages_recv_count", c"osc_monitoring_messages_recv_size"],
        }
    }
}

/// Asks the MPI library to count, which it does from `MPI_Init` on. What the user has asked for already stays.
///
/// # Safety
/// To be called at the beginning of `MPI_Init`, which changes the environment as well: no other thread may read it.
pub unsafe fn request() {
    // SAFETY: by this function's contract.
    unsafe {
        if std::env::var_os(ENABLE).is_none() {
            std::env::set_var(ENABLE, "1");
        }
        if let Some(list) = std::env::var_os(COMPONENTS).and_then(with_monitoring) {
            std::env::set_var(COMPONENTS, list);
        }
    }
}

/// A list of components in which the monitoring one is missing, with it: behind the others, as it is not to be selected.
fn with_monitoring(list: OsString) -> Option<String> {
    let list = list.into_string().ok().filter(|list| !list.trim().is_empty() && !list.starts_with('^'))?;
    let there = list.split(',').any(|component| component.trim() == "monitoring");
    (!there).then(|| format!("{list},monitoring"))
}

/// The counters of this process.
pub struct Monitoring {
    session: ffi::MPI_T_pvar_session,
    /// By [`Counted`]: messages, bytes. One-sided counters may be missing.
    handles: [Option<[ffi::MPI_T_pvar_handle; 2]>; 3],
    ranks: usize,
    collectives: bool,
}

// SAFETY: handles of the tool interface belong to the process and to no thread.
unsafe impl Send for Monitoring {}

/// The word for "no such variable" and its reasons.
const MISSING: &str = "MPI's monitoring component does not run: Open MPI 4 or later is expected, MPI_Init must come by \
                       liboptiq_pmpi.so, and no file of parameters may leave the component out (pml = ob1; pml = ob1,monitoring is well)";

impl Monitoring {
    /// The counters, which have counted since `MPI_Init` if [`request`] was called before.
    ///
    /// # Errors
    /// A sentence that says why there are none.
    pub fn open() -> Result<Self, String> {
        if Library::CURRENT != Library::OpenMpi {
            return Err(format!("only Open MPI counts messages so far, and this is {}", Library::CURRENT.name()));
        }
        if !is_initialized() {
            return Err("MPI is not initialised".into());
        }
        let (mut provided, mut ranks) = (0, 0);
        // SAFETY: out-parameters; the tool interface may be initialised at any time, and more than once.
        let code = unsafe {
            ffi::PMPI_Comm_size(ffi::RSMPI_COMM_WORLD, &mut ranks);
            ffi::PMPI_T_init_thread(ffi::MPI_THREAD_MULTIPLE as c_int, &mut provided)
        };
        told(code, "MPI_T_init_thread")?;
        let opened = Self::open_session(ranks.max(0) as usize);
        if opened.is_err() {
            // SAFETY: initialised above.
            unsafe { ffi::PMPI_T_finalize() };
        }
        opened
    }

    fn open_session(ranks: usize) -> Result<Self, String> {
        let mut index = 0;
        // SAFETY: a string and an out-parameter.
        let known = unsafe {
            let [name, _] = Counted::Sent.variables();
            ffi::PMPI_T_pvar_get_index(name.as_ptr(), class(), &mut index) == SUCCESS
                || optiq_mpi_monitoring_register() != 0
        };
        if !known {
            return Err(MISSING.into());
        }
        let mut session = std::ptr::null_mut();
        // SAFETY: an out-parameter.
        told(unsafe { ffi::PMPI_T_pvar_session_create(&mut session) }, "MPI_T_pvar_session_create")?;
        let handles = Counted::ALL.map(|counted| pair(session, counted, ranks));
        let level = enabled();
        match handles[Counted::Sent as usize] {
            // 0 is off; the component is then there all the same.
            Some(_) if level != 0 => Ok(Self { session, handles, ranks, collectives: level == 1 }),
            _ => {
                // SAFETY: the session that was made above.
                unsafe { ffi::PMPI_T_pvar_session_free(&mut session) };
                Err(MISSING.into())
            }
        }
    }

    /// Whether messages inside collectives are counted.
    pub fn collectives(&self) -> bool {
        self.collectives
    }

    /// Ranks of `MPI_COMM_WORLD`.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// What was moved to, or got from, each rank of `MPI_COMM_WORLD` since `MPI_Init`: messages and bytes. False if there is no such
    /// count. Both must have as many elements as there are ranks.
    pub fn read(&self, counted: Counted, messages: &mut [u64], bytes: &mut [u64]) -> bool {
        assert!(messages.len() == self.ranks && bytes.len() == self.ranks, "an element for each rank");
        let Some(handles) = self.handles[counted as usize] else { return false };
        let into = [messages.as_mut_ptr(), bytes.as_mut_ptr()];
        let read = |(handle, into): (ffi::MPI_T_pvar_handle, *mut u64)| {
            // SAFETY: an element of 64 bits for each rank, as the handle's count says.
            unsafe { ffi::PMPI_T_pvar_read(self.session, handle, into.cast::<c_void>()) == SUCCESS }
        };
        handles.into_iter().zip(into).all(read)
    }

    /// Ends it. `MPI_Finalize` does not end the component while somebody is using the tool interface.
    pub fn close(mut self) {
        // SAFETY: the session of this object, which ends here. Handles go with it, and are not stopped: that would end the
        // count that the component itself may be asked to write.
        unsafe {
            ffi::PMPI_T_pvar_session_free(&mut self.session);
            ffi::PMPI_T_finalize();
        }
    }
}

const SUCCESS: c_int = ffi::MPI_SUCCESS as c_int;

fn class() -> c_int {
    // SAFETY: gives a constant, which is none that Rust can see with every library.
    unsafe { optiq_mpi_pvar_class_size() }
}

fn told(code: c_int, function: &str) -> Result<(), String> {
    if code == SUCCESS { Ok(()) } else { Err(format!("{function} ended with code {code}")) }
}

/// The handles of a count, for `MPI_COMM_WORLD`, started: one that was not started gives zeros.
fn pair(session: ffi::MPI_T_pvar_session, counted: Counted, ranks: usize) -> Option<[ffi::MPI_T_pvar_handle; 2]> {
    let mut handles = [std::ptr::null_mut(); 2];
    for (name, handle) in counted.variables().into_iter().zip(&mut handles) {
        let (mut index, mut count) = (0, 0);
        // SAFETY: a string, out-parameters, and the address of a communicator's handle.
        let made = unsafe {
            let mut world = ffi::RSMPI_COMM_WORLD;
            let object = (&raw mut world).cast::<c_void>();
            ffi::PMPI_T_pvar_get_index(name.as_ptr(), class(), &mut index) == SUCCESS
                && ffi::PMPI_T_pvar_handle_alloc(session, index, object, handle, &mut count) == SUCCESS
                && usize::try_from(count) == Ok(ranks)
                && ffi::PMPI_T_pvar_start(session, *handle) == SUCCESS
        };
        if !made {
            return None;
        }
    }
    Some(handles)
}

/// The value of `pml_monitoring_enable`: 1 if all messages are counted, more if those of collectives are apart, 0 if none. What was
/// asked for, if the library does not tell.
fn enabled() -> c_int {
    let asked = std::env::var(ENABLE).ok().and_then(|text| text.trim().parse().ok());
    let (mut index, mut count, mut value) = (0, 0, asked.unwrap_or(0));
    let mut handle = std::ptr::null_mut();
    let name: *const c_char = c"pml_monitoring_enable".as_ptr();
    // SAFETY: a string and out-parameters; the variable is an int.
    unsafe {
        if ffi::PMPI_T_cvar_get_index(name, &mut index) == SUCCESS
            && ffi::PMPI_T_cvar_handle_alloc(index, std::ptr::null_mut(), &mut handle, &mut count) == SUCCESS
        {
            ffi::PMPI_T_cvar_read(handle, (&raw mut value).cast::<c_void>());
            ffi::PMPI_T_cvar_handle_free(&mut handle);
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_component_is_named_behind_those_that_are_given() {
        let with = |list: &str| with_monitoring(list.into());
        assert_eq!(with("ob1"), Some("ob1,monitoring".into()));
        assert_eq!(with("ob1,monitoring"), None);
        assert_eq!(with("^ucx"), None);
        assert_eq!(with(" "), None);
    }
}
