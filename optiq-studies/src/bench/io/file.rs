//! A file of all ranks, by MPI.

use mpi::ffi;
use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};
use std::ffi::{CString, c_int};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

/// The most bytes of one independent access.
const AT_ONCE: usize = 1 << 30;

/// An open file, which is removed when this is dropped.
pub struct File<'a> {
    world: &'a SimpleCommunicator,
    pub handle: ffi::MPI_File,
    path: PathBuf,
}

fn check(code: c_int, call: &str) -> Result<(), String> {
    if code == ffi::MPI_SUCCESS as c_int { Ok(()) } else { Err(format!("{call} failed with code {code}")) }
}

impl<'a> File<'a> {
    /// A new file; collective. MPI's collective accesses are to have buffers of so many bytes and, where `aggregators` are given (processor
    /// names), go through one rank on each of them: hints, which libraries may ignore (MPI 4.0, 14.2.8; `romio_cb_*` of ROMIO, which has
    /// 16 MiB unless told otherwise).
    pub fn create(
        world: &'a SimpleCommunicator,
        path: &Path,
        (aggregators, buffer_bytes): (&[String], u64),
    ) -> Result<Self, String> {
        let text = CString::new(path.to_string_lossy().as_bytes()).map_err(|e| e.to_string())?;
        let mode = (ffi::MPI_MODE_CREATE | ffi::MPI_MODE_RDWR) as c_int;
        // SAFETY: a valid communicator, a C string, and an out-parameter.
        unsafe {
            let mut handle = ffi::RSMPI_FILE_NULL;
            let mut info = ffi::RSMPI_INFO_NULL;
            let list = aggregators.iter().map(|name| format!("{name}:1")).collect::<Vec<_>>().join(",");
            let number = aggregators.len().to_string();
            // ROMIO reads it as an int.
            let buffer = buffer_bytes.min(c_int::MAX as u64).to_string();
            let mut hints = vec![("cb_buffer_size", buffer.as_str())];
            if !aggregators.is_empty() {
                hints.extend([("romio_cb_write", "enable"), ("romio_cb_read", "enable")]);
                hints.extend([("cb_nodes", number.as_str()), ("cb_config_list", &list)]);
            }
            check(ffi::MPI_Info_create(&mut info), "MPI_Info_create")?;
            for (name, value) in hints {
                let [name, value] = [name, value].map(|t| CString::new(t).unwrap_or_default());
                check(ffi::MPI_Info_set(info, name.as_ptr(), value.as_ptr()), "MPI_Info_set")?;
            }
            let code = ffi::MPI_File_open(world.as_raw(), text.as_ptr(), mode, info, &mut handle);
            ffi::MPI_Info_free(&mut info);
            check(code, "MPI_File_open").map_err(|e| format!("{}: {e}", path.display()))?;
            Ok(Self { world, handle, path: path.to_owned() })
        }
    }

    /// Empties it; collective.
    pub fn truncate(&self) -> Result<(), String> {
        // SAFETY: an open file.
        check(unsafe { ffi::MPI_File_set_size(self.handle, 0) }, "MPI_File_set_size")
    }

    /// `MPI_File_write_at`.
    pub fn write_at(&self, at: u64, bytes: &[u8]) -> Result<(), String> {
        for (number, part) in (0..).zip(bytes.chunks(AT_ONCE)) {
            let offset = (at + number * AT_ONCE as u64) as ffi::MPI_Offset;
            // SAFETY: an open file and a slice.
            let code = unsafe {
                let (data, count) = (part.as_ptr().cast(), part.len() as c_int);
                ffi::MPI_File_write_at(self.handle, offset, data, count, ffi::RSMPI_UINT8_T, ffi::RSMPI_STATUS_IGNORE)
            };
            check(code, "MPI_File_write_at")?;
        }
        Ok(())
    }

    /// Whether these bytes are there, by `MPI_File_read_at`.
    pub fn holds(&self, at: u64, bytes: &[u8]) -> Result<bool, String> {
        let mut found = vec![0; bytes.len().min(16 << 20)];
        let mut right = true;
        for (number, part) in (0..).zip(bytes.chunks(16 << 20)) {
            let offset = (at + number * (16 << 20)) as ffi::MPI_Offset;
            // SAFETY: an open file and a buffer that is large enough.
            let code = unsafe {
                let (data, count) = (found.as_mut_ptr().cast(), part.len() as c_int);
                ffi::MPI_File_read_at(self.handle, offset, data, count, ffi::RSMPI_UINT8_T, ffi::RSMPI_STATUS_IGNORE)
            };
            check(code, "MPI_File_read_at")?;
            right &= found[..part.len()] == *part;
        }
        Ok(right)
    }

    /// `MPI_File_write_at_all`; collective.
    pub fn write_at_all(&self, at: u64, bytes: &[u8]) -> Result<(), String> {
        // SAFETY: an open file and a slice, whose length the caller has checked.
        let code = unsafe {
            let (data, count) = (bytes.as_ptr().cast(), bytes.len() as c_int);
            let (byte, ignore) = (ffi::RSMPI_UINT8_T, ffi::RSMPI_STATUS_IGNORE);
            ffi::MPI_File_write_at_all(self.handle, at as ffi::MPI_Offset, data, count, byte, ignore)
        };
        check(code, "MPI_File_write_at_all")
    }

    /// `MPI_File_read_at_all`; collective.
    pub fn read_at_all(&self, at: u64, bytes: &mut [u8]) -> Result<(), String> {
        // SAFETY: as above.
        let code = unsafe {
            let (data, count) = (bytes.as_mut_ptr().cast(), bytes.len() as c_int);
            let (byte, ignore) = (ffi::RSMPI_UINT8_T, ffi::RSMPI_STATUS_IGNORE);
            ffi::MPI_File_read_at_all(self.handle, at as ffi::MPI_Offset, data, count, byte, ignore)
        };
        check(code, "MPI_File_read_at_all")
    }
}

impl Drop for File<'_> {
    fn drop(&mut self) {
        // SAFETY: an open file of ours. A destructor cannot return an error.
        unsafe { ffi::MPI_File_close(&mut self.handle) };
        self.world.barrier();
        if self.world.rank() == 0 {
            std::fs::remove_file(&self.path).ok();
        }
    }
}

/// `MPI_Alltoallv` of bytes; counts and displacements as MPI has them.
pub fn alltoallv(
    world: &SimpleCommunicator,
    send: (&[u8], &[c_int], &[c_int]),
    receive: (&mut [u8], &[c_int], &[c_int]),
) -> Result<(), String> {
    // An empty slice's address may be the very value of MPI_IN_PLACE.
    let from = if send.0.is_empty() { null_mut() } else { send.0.as_ptr().cast_mut() };
    let into = if receive.0.is_empty() { null_mut() } else { receive.0.as_mut_ptr() };
    // SAFETY: arrays with as many elements as there are ranks, and buffers that hold what they say.
    let code = unsafe {
        let byte = ffi::RSMPI_UINT8_T;
        let (a, b, c, d) = (send.1.as_ptr(), send.2.as_ptr(), receive.1.as_ptr(), receive.2.as_ptr());
        ffi::MPI_Alltoallv(from.cast(), a, b, byte, into.cast(), c, d, byte, world.as_raw())
    };
    check(code, "MPI_Alltoallv")
}
