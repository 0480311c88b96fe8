//! What a file handle shows a rank: its view, its group, and what only the MPI library can serve.

use crate::error::Error;
use optiq_transport::mpi::{check, contiguous_bytes, ffi};
use std::ffi::{CStr, c_char, c_int, c_void};

/// An MPI file handle of the program's. OPTIQ never closes it and keeps it only during a call.
#[derive(Clone, Copy)]
pub struct FileHandle(pub ffi::MPI_File);

/// Why only the MPI library can serve an access. All ranks tell each other the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum Reason {
    Memory = 1,
    View,
    Representation,
    Atomic,
    Sequential,
    PartialElement,
}

impl Reason {
    const ALL: [Reason; 6] = [
        Reason::Memory,
        Reason::View,
        Reason::Representation,
        Reason::Atomic,
        Reason::Sequential,
        Reason::PartialElement,
    ];

    pub(super) fn of(number: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|&r| r as u64 == number)
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Reason::Memory => "a datatype in memory is not a plain run of bytes",
            Reason::View => "a view of the file is not contiguous",
            Reason::Representation => "the file's data representation is not native",
            Reason::Atomic => "the file is in atomic mode",
            Reason::Sequential => "the file was opened with MPI_MODE_SEQUENTIAL",
            Reason::PartialElement => "the bytes of a rank are not a whole number of the view's elementary datatype",
        }
    }
}

/// A contiguous view: `element` bytes follow each other from `displacement` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct View {
    /// Bytes from the start of the file.
    pub(super) displacement: i64,
    /// Bytes of the view's elementary datatype, in which offsets count.
    pub(super) element: u64,
}

impl FileHandle {
    /// Refuses `MPI_FILE_NULL`.
    pub(crate) fn check(self) -> Result<(), Error> {
        // SAFETY: a constant.
        if self.0 == unsafe { ffi::RSMPI_FILE_NULL } {
            return Err(Error::Argument("the file handle is MPI_FILE_NULL".into()));
        }
        Ok(())
    }

    /// The group of the communicator that the file was opened with; the caller frees it.
    ///
    /// # Safety
    /// An open file.
    pub(crate) unsafe fn group(self) -> Result<Group, Error> {
        // SAFETY: by this function's contract; the group is overwritten.
        unsafe {
            let mut group = ffi::RSMPI_GROUP_NULL;
            check(ffi::PMPI_File_get_group(self.0, &mut group), "MPI_File_get_group")?;
            Ok(Group(group))
        }
    }

    /// The view, or why only MPI can serve accesses through it.
    ///
    /// # Safety
    /// An open file.
    pub(super) unsafe fn view(self) -> Result<Result<View, Reason>, Error> {
        let (mut mode, mut atomic): (c_int, c_int) = (0, 0);
        let mut displacement: ffi::MPI_Offset = 0;
        let mut name = [0 as c_char; ffi::MPI_MAX_DATAREP_STRING as usize + 1];
        // SAFETY: by this function's contract; out-parameters of the right types and sizes.
        let (types, name) = unsafe {
            check(ffi::PMPI_File_get_amode(self.0, &mut mode), "MPI_File_get_amode")?;
            if mode & ffi::MPI_MODE_SEQUENTIAL as c_int != 0 {
                return Ok(Err(Reason::Sequential));
            }
            check(ffi::PMPI_File_get_atomicity(self.0, &mut atomic), "MPI_File_get_atomicity")?;
            if atomic != 0 {
                return Ok(Err(Reason::Atomic));
            }
            let mut types = Types([ffi::RSMPI_DATATYPE_NULL; 2]);
            let [element, file] = &mut types.0;
            let code = ffi::PMPI_File_get_view(self.0, &mut displacement, element, file, name.as_mut_ptr());
            check(code, "MPI_File_get_view")?;
            (types, CStr::from_ptr(name.as_ptr()))
        };
        if name.to_bytes() != b"native" {
            return Ok(Err(Reason::Representation));
        }
        // SAFETY: valid handles from MPI_File_get_view.
        let [element, file] = unsafe { [contiguous_bytes(types.0[0])?, contiguous_bytes(types.0[1])?] };
        Ok(match (element, file) {
            (Some(element), Some(_)) => Ok(View { displacement, element }),
            _ => Err(Reason::View),
        })
    }

    /// Whether it was opened for writing only, or for reading only.
    ///
    /// # Safety
    /// An open file.
    pub(super) unsafe fn is_one_way(self) -> Result<(bool, bool), Error> {
        let mut mode = 0;
        // SAFETY: by this function's contract.
        check(unsafe { ffi::PMPI_File_get_amode(self.0, &mut mode) }, "MPI_File_get_amode")?;
        let is = |bit: u32| mode & bit as c_int != 0;
        Ok((is(ffi::MPI_MODE_WRONLY), is(ffi::MPI_MODE_RDONLY)))
    }

    /// Bytes that the file holds behind the view's displacement.
    ///
    /// # Safety
    /// An open file.
    pub(super) unsafe fn bytes_behind(self, displacement: i64) -> Result<u64, Error> {
        let mut size: ffi::MPI_Offset = 0;
        // SAFETY: by this function's contract.
        check(unsafe { ffi::PMPI_File_get_size(self.0, &mut size) }, "MPI_File_get_size")?;
        Ok(u64::try_from(size.saturating_sub(displacement)).unwrap_or(0))
    }
}

/// Datatypes of a view, freed as MPI asks for: those that have no name of their own.
struct Types([ffi::MPI_Datatype; 2]);

impl Drop for Types {
    fn drop(&mut self) {
        for datatype in &mut self.0 {
            // SAFETY: handles that MPI_File_get_view returned to us. There is nobody to tell of an error.
            unsafe {
                if *datatype != ffi::RSMPI_DATATYPE_NULL && !optiq_transport::mpi::is_named(*datatype) {
                    ffi::PMPI_Type_free(datatype);
                }
            }
        }
    }
}

/// A group of processes, freed when it is dropped.
pub(crate) struct Group(pub(crate) ffi::MPI_Group);

impl Group {
    /// Whether both have the same processes in the same order.
    pub(crate) fn is(&self, other: &Group) -> Result<bool, Error> {
        let mut result = 0;
        // SAFETY: two groups of ours.
        check(unsafe { ffi::PMPI_Group_compare(self.0, other.0, &mut result) }, "MPI_Group_compare")?;
        // SAFETY: a constant.
        Ok(result == unsafe { ffi::RSMPI_IDENT })
    }

    /// A communicator of its processes; collective over them. `None` if they were not started together, so that
    /// `MPI_COMM_WORLD` does not have them all.
    pub(crate) fn communicator(&self) -> Result<Option<ffi::MPI_Comm>, Error> {
        let mut world = Group(self.0);
        let mut size: c_int = 0;
        // SAFETY: out-parameters; the world's group is ours from then on.
        unsafe {
            check(ffi::PMPI_Group_size(self.0, &mut size), "MPI_Group_size")?;
            if let Err(error) = check(ffi::PMPI_Comm_group(ffi::RSMPI_COMM_WORLD, &mut world.0), "MPI_Comm_group") {
                std::mem::forget(world);
                return Err(error.into());
            }
        }
        let ranks: Vec<c_int> = (0..size).collect();
        let mut there = vec![0; ranks.len()];
        // SAFETY: arrays of `size` ints.
        unsafe {
            let code = ffi::PMPI_Group_translate_ranks(self.0, size, ranks.as_ptr(), world.0, there.as_mut_ptr());
            check(code, "MPI_Group_translate_ranks")?;
            if there.contains(&ffi::RSMPI_UNDEFINED) {
                return Ok(None);
            }
            let mut comm = ffi::RSMPI_COMM_NULL;
            let code = ffi::PMPI_Comm_create_group(ffi::RSMPI_COMM_WORLD, self.0, TAG, &mut comm);
            check(code, "MPI_Comm_create_group")?;
            Ok(Some(comm))
        }
    }
}

/// Tag for making communicators, in a space of tags of its own (MPI 4.0, 7.4.2). "OPTI" mod 2^15, as far as any MPI counts.
const TAG: c_int = 0x5049;

impl Drop for Group {
    fn drop(&mut self) {
        if optiq_transport::mpi::is_initialized() {
            // SAFETY: a group of ours. There is nobody to tell of an error.
            unsafe { ffi::PMPI_Group_free(&mut self.0) };
        }
    }
}

/// The bytes of `count` elements in memory, if they are one run.
///
/// # Safety
/// A valid datatype handle.
pub(super) unsafe fn memory(
    buffer: *const c_void,
    count: c_int,
    datatype: ffi::MPI_Datatype,
) -> Result<Result<u64, Reason>, Error> {
    if count < 0 {
        return Err(Error::Argument(format!("the count is {count}; it must not be negative")));
    }
    // SAFETY: a constant.
    if datatype == unsafe { ffi::RSMPI_DATATYPE_NULL } {
        return Err(Error::Argument("the datatype is MPI_DATATYPE_NULL".into()));
    }
    if count == 0 {
        return Ok(Ok(0));
    }
    // SAFETY: by this function's contract.
    let Some(size) = (unsafe { contiguous_bytes(datatype)? }) else { return Ok(Err(Reason::Memory)) };
    let bytes = u64::from(count.unsigned_abs()).checked_mul(size).filter(|&b| b <= i64::MAX as u64);
    let bytes =
        bytes.ok_or_else(|| Error::Argument(format!("{count} elements of {size} bytes are beyond 2^63 bytes")))?;
    if buffer.is_null() {
        return Err(Error::Argument(format!("the buffer is NULL, but {bytes} bytes are to be moved")));
    }
    Ok(Ok(bytes))
}

/// Where a rank's access begins, in bytes of its view.
pub(super) fn start(offset: i64, bytes: u64, view: View) -> Result<u64, Error> {
    let bad = || Error::Argument(format!("the offset is {offset}; it must not be negative"));
    let offset = u64::try_from(offset).map_err(|_| bad())?;
    let far = || {
        let View { element, displacement } = view;
        Error::Argument(format!(
            "offset {offset} in elements of {element} bytes, displacement {displacement} and {bytes} bytes are beyond 2^63 - 1, the last byte that MPI can name"
        ))
    };
    let start = offset.checked_mul(view.element).ok_or_else(far)?;
    let end = start.checked_add(bytes).and_then(|end| end.checked_add(view.displacement.max(0) as u64));
    end.filter(|&end| end <= i64::MAX as u64).map(|_| start).ok_or_else(far)
}

/// Fills a status as an access of so many bytes does, for `MPI_Get_count` with any datatype.
///
/// # Safety
/// `MPI_STATUS_IGNORE`, NULL or valid for writing.
pub(super) unsafe fn set_status(status: *mut ffi::MPI_Status, bytes: u64) -> Result<(), Error> {
    // SAFETY: by this function's contract. NULL is MPI_STATUS_IGNORE in some libraries and a mistake in others.
    unsafe {
        if status == ffi::RSMPI_STATUS_IGNORE || status.is_null() {
            return Ok(());
        }
        let code = ffi::PMPI_Status_set_elements_x(status, ffi::RSMPI_UINT8_T, bytes as ffi::MPI_Count);
        check(code, "MPI_Status_set_elements_x")?;
        Ok(check(ffi::PMPI_Status_set_cancelled(status, 0), "MPI_Status_set_cancelled")?)
    }
}
