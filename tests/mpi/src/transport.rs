//! The transports that the program tests.

use optiq_transport::mpi::{Communicator, OneSided, Pull, TwoSided, ffi};
use std::rc::Rc;

/// A transport by name, on a duplicate of the world.
pub fn transport(name: &str) -> Result<Box<dyn optiq_transport::Transport>, String> {
    // SAFETY: MPI is initialised.
    let comm = Rc::new(unsafe { Communicator::duplicate(ffi::RSMPI_COMM_WORLD) }.map_err(|e| e.to_string())?);
    match name {
        "two-sided" => Ok(Box::new(TwoSided::new(comm).map_err(|e| e.to_string())?)),
        "one-sided" => Ok(Box::new(OneSided::new(comm).map_err(|e| e.to_string())?)),
        "pull" => Ok(Box::new(Pull::new(comm).map_err(|e| e.to_string())?)),
        _ => Err(format!("there is no transport {name}")),
    }
}
