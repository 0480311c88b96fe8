//! Collective file access against MPI's own: the same bytes in the file, the same bytes back, the same counts.

use crate::load;
use crate::support::{self, init, last_message, rank, size, succeeds, text, world};
use optiq::Status;
use optiq::c_api::{
    optiq_file_read_at_all, optiq_file_write_at_all, optiq_finalize, optiq_last_decision, peak_buffer_bytes,
};
use optiq::io::{FileHandle, FileSession};
use optiq_net::random::SplitMix64;
use optiq_transport::mpi::{check, ffi};
use std::ffi::{CString, c_int};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

/// An open file of all ranks; removed when it is closed.
pub struct File {
    pub handle: ffi::MPI_File,
    pub path: PathBuf,
}

/// A name that no other test uses at the same time; the same on all ranks.
fn path(name: &str) -> Result<PathBuf, String> {
    let folder = std::env::var("IO_TEST_FOLDER").map_err(|_| "IO_TEST_FOLDER is not set")?;
    Ok(Path::new(&folder).join(name))
}

pub fn barrier() {
    // SAFETY: a valid communicator.
    unsafe { ffi::PMPI_Barrier(world()) };
}

impl File {
    pub fn open(name: &str, mode: u32) -> Result<Self, String> {
        Self::open_on(world(), name, mode)
    }

    pub fn open_on(comm: ffi::MPI_Comm, name: &str, mode: u32) -> Result<Self, String> {
        let path = path(name)?;
        let text = CString::new(path.to_string_lossy().as_bytes()).map_err(|e| e.to_string())?;
        // SAFETY: a valid communicator and a C string.
        unsafe {
            let mut handle = ffi::RSMPI_FILE_NULL;
            let info = ffi::RSMPI_INFO_NULL;
            let code = ffi::PMPI_File_open(comm, text.as_ptr(), mode as c_int, info, &mut handle);
            check(code, "MPI_File_open").map_err(|e| e.to_string())?;
            Ok(Self { handle, path })
        }
    }

    /// The contents, looked at behind MPI's back, when all ranks have written.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        // SAFETY: an open file.
        check(unsafe { ffi::PMPI_File_sync(self.handle) }, "MPI_File_sync").map_err(|e| e.to_string())?;
        barrier();
        let bytes = std::fs::read(&self.path).map_err(|e| e.to_string())?;
        barrier();
        Ok(bytes)
    }

    pub fn truncate(&self) -> Result<(), String> {
        // SAFETY: an open file.
        check(unsafe { ffi::PMPI_File_set_size(self.handle, 0) }, "MPI_File_set_size").map_err(|e| e.to_string())?;
        barrier();
        Ok(())
    }

    pub fn view(
        &self,
        displacement: i64,
        element: ffi::MPI_Datatype,
        filetype: ffi::MPI_Datatype,
    ) -> Result<(), String> {
        // SAFETY: an open file and valid datatypes.
        let code = unsafe {
            let info = ffi::RSMPI_INFO_NULL;
            ffi::PMPI_File_set_view(self.handle, displacement, element, filetype, c"native".as_ptr(), info)
        };
        check(code, "MPI_File_set_view").map_err(|e| e.to_string())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: an open file.
        unsafe { ffi::PMPI_File_close(&mut self.handle) };
        barrier();
        if rank() == 0 {
            std::fs::remove_file(&self.path).ok();
        }
    }
}

pub const BOTH: u32 = ffi::MPI_MODE_CREATE | ffi::MPI_MODE_RDWR;

/// A call's status, and the count in its `MPI_Status`.
type Outcome = (c_int, c_int);

/// What MPI_Get_count says; nothing else was in there before.
fn counted(status: &ffi::MPI_Status, datatype: ffi::MPI_Datatype) -> c_int {
    let mut count = -1;
    // SAFETY: a status of ours.
    unsafe { ffi::PMPI_Get_count(status, datatype, &mut count) };
    count
}

pub fn write(
    by_mpi: bool,
    file: &File,
    offset: i64,
    data: &[u8],
    count: c_int,
    datatype: ffi::MPI_Datatype,
) -> Outcome {
    // SAFETY: an open file; a buffer that holds what is said, or arguments that must be refused.
    unsafe {
        let mut status: ffi::MPI_Status = std::mem::zeroed();
        let data = data.as_ptr().cast();
        let code = match by_mpi {
            true => ffi::PMPI_File_write_at_all(file.handle, offset, data, count, datatype, &mut status),
            false => optiq_file_write_at_all(file.handle, offset, data, count, datatype, &mut status),
        };
        (code, counted(&status, datatype))
    }
}

pub fn read(
    by_mpi: bool,
    file: &File,
    offset: i64,
    data: &mut [u8],
    count: c_int,
    datatype: ffi::MPI_Datatype,
) -> Outcome {
    // SAFETY: as above.
    unsafe {
        let mut status: ffi::MPI_Status = std::mem::zeroed();
        let data = data.as_mut_ptr().cast();
        let code = match by_mpi {
            true => ffi::PMPI_File_read_at_all(file.handle, offset, data, count, datatype, &mut status),
            false => optiq_file_read_at_all(file.handle, offset, data, count, datatype, &mut status),
        };
        (code, counted(&status, datatype))
    }
}

/// `MPI_File_read_at`.
fn read_alone(file: &File, offset: i64, data: &mut [u8], count: c_int, datatype: ffi::MPI_Datatype) -> Outcome {
    // SAFETY: as above.
    unsafe {
        let mut status: ffi::MPI_Status = std::mem::zeroed();
        let code = ffi::PMPI_File_read_at(file.handle, offset, data.as_mut_ptr().cast(), count, datatype, &mut status);
        (code, counted(&status, datatype))
    }
}

/// Bytes of a rank in a round.
fn contents(rank: u32, round: u64, bytes: usize) -> Vec<u8> {
    let mut random = SplitMix64::new(u64::from(rank) << 32 | round);
    (0..bytes).map(|_| random.below(256) as u8).collect()
}

fn expect(what: &str, found: Outcome, count: c_int) -> Result<(), String> {
    succeeds(what, found.0)?;
    if found.1 == count { Ok(()) } else { Err(format!("{what}: the status counts {} instead of {count}", found.1)) }
}

pub fn decision() -> String {
    text(optiq_last_decision())
}

/// What ranks access: offsets and counts in elements, the same list on all ranks.
struct Layout {
    /// Bytes of an element, and of the datatype in memory in elements.
    element: usize,
    in_memory: usize,
    displacement: i64,
    /// Per rank, (offset in elements, count of the datatype in memory).
    of: Vec<(i64, usize)>,
}

/// A file's contents.
#[derive(Default)]
struct Model {
    bytes: Vec<u8>,
    /// Written, or zero because the file had this length before.
    defined: Vec<bool>,
}

impl Layout {
    /// Writes what all ranks write.
    fn apply(&self, round: u64, file: &mut Model) {
        for (rank, &(offset, count)) in self.of.iter().enumerate() {
            let data = contents(rank as u32, round, count * self.in_memory * self.element);
            let start = self.displacement as usize + offset as usize * self.element;
            let end = start + data.len();
            if start < end {
                file.bytes.resize(file.bytes.len().max(end), 0);
                file.defined.resize(file.bytes.len(), false);
                file.bytes[start..end].copy_from_slice(&data);
                file.defined[start..end].fill(true);
            }
        }
    }
}

/// `kind` 0 is without holes, in rank order; others are not.
fn layout(random: &mut SplitMix64, ranks: usize, kind: u64, largest: u64) -> Layout {
    let element = [1, 1, 4, 8, 24][random.below(5) as usize];
    let in_memory = if kind > 1 { 1 + random.below(3) as usize } else { 1 };
    let mut order: Vec<usize> = (0..ranks).collect();
    if kind > 0 {
        // Fisher and Yates.
        (1..ranks).for_each(|i| order.swap(i, random.below(i as u64 + 1) as usize));
    }
    let mut next = if kind > 2 { random.below(1000) } else { 0 };
    let mut of = vec![(0, 0); ranks];
    for r in order {
        let empty = kind > 0 && random.below(4) == 0;
        let count = if empty { 0 } else { 1 + random.below(largest / (element * in_memory) as u64 + 1) };
        of[r] = (next as i64, count as usize);
        next += count * in_memory as u64;
        if kind > 1 && random.below(2) == 0 {
            next += random.below(500);
        }
    }
    let displacement = if kind > 2 { random.below(100) as i64 } else { 0 };
    Layout { element, in_memory, displacement, of }
}

/// A committed contiguous type of `count` elements of `of`.
fn contiguous(count: usize, of: ffi::MPI_Datatype) -> ffi::MPI_Datatype {
    // SAFETY: a valid datatype.
    unsafe {
        let mut made = ffi::RSMPI_DATATYPE_NULL;
        ffi::PMPI_Type_contiguous(count as c_int, of, &mut made);
        ffi::PMPI_Type_commit(&mut made);
        made
    }
}

fn free(mut datatype: ffi::MPI_Datatype) {
    // SAFETY: a datatype that `contiguous` made.
    unsafe { ffi::PMPI_Type_free(&mut datatype) };
}

fn byte() -> ffi::MPI_Datatype {
    // SAFETY: a constant.
    unsafe { ffi::RSMPI_UINT8_T }
}

/// Both files hold what the model says; in undefined holes MPI may have left anything.
fn compare_files(what: &str, ours: &File, theirs: &File, model: &Model, served: bool) -> Result<(), String> {
    for (whose, file) in [("MPI's", theirs), ("the", ours)] {
        let found = file.bytes()?;
        // What MPI libraries leave in holes behind the former end of the file is anything, as MPI allows (4.0, 14.2.5).
        let right =
            |(i, byte): (usize, &u8)| model.bytes[i] == *byte || ((whose == "MPI's" || !served) && !model.defined[i]);
        let at =
            if found.len() == model.bytes.len() { found.iter().enumerate().position(|x| !right(x)) } else { Some(0) };
        if let Some(at) = at {
            let (a, b) = (found.len(), model.bytes.len());
            return Err(format!("{what}: {whose} file of {a} bytes is not the expected one of {b}, first at {at}"));
        }
    }
    Ok(())
}

/// All ranks read the same bytes, and beyond the end.
fn read_beyond_the_end(
    what: &str,
    ours: &File,
    theirs: &File,
    layout: &Layout,
    model: &Model,
    element: ffi::MPI_Datatype,
    served: bool,
) -> Result<(), String> {
    let me = rank();
    // All the same bytes, and beyond the end.
    let far = layout.of.iter().map(|o| o.0 as u64 + (o.1 * layout.in_memory) as u64).max().unwrap_or(0) as i64;
    for offset in [far / 2, (far - 3).max(0), far - i64::from(me % 2), far + 5] {
        let offset = offset.max(0);
        let count = 10 * layout.in_memory as c_int;
        let mut data = vec![7u8; 10 * layout.in_memory * layout.element];
        let found = read(false, ours, offset, &mut data, count, element);
        if served {
            // Not by MPI_File_read_at_all: both Open MPI's OMPIO and ROMIO count there what was asked for.
            let mut mpis = data.clone();
            let by_mpi = read_alone(theirs, offset, &mut mpis, count, element);
            let start = (layout.displacement as usize + offset as usize * layout.element).min(model.bytes.len());
            let mut expected = model.bytes[start..].to_vec();
            expected.resize(data.len(), 7);
            if found != by_mpi || data != expected {
                let message = last_message();
                return Err(format!("{what}, at {offset} of {far}: {found:?} ({message}), but MPI {by_mpi:?}"));
            }
        } else if found.0 != 0 {
            return Err(format!("{what}, at {offset} of {far}: {}", last_message()));
        }
    }
    Ok(())
}

/// Random layouts, both directions, against MPI.
pub fn random(rounds: &str, largest: &str, served: bool) -> Result<(), String> {
    init()?;
    let rounds: u64 = rounds.parse().map_err(|_| "a number of rounds is expected")?;
    let largest: u64 = largest.parse().map_err(|_| "a number of bytes is expected")?;
    let (me, ranks) = (rank(), size() as usize);
    let (ours, theirs) = (File::open("ours", BOTH)?, File::open("theirs", BOTH)?);
    // What must be in the file.
    let mut model = Model::default();
    for round in 0..rounds {
        let mut random = SplitMix64::new(round + 77);
        let layout = layout(&mut random, ranks, round % 4, largest);
        let element = contiguous(layout.element, byte());
        let datatype = contiguous(layout.in_memory, element);
        let (offset, count) = layout.of[me as usize];
        let bytes = count * layout.in_memory * layout.element;
        let data = contents(me, round, bytes);
        let what = format!("round {round}");
        for file in [&ours, &theirs] {
            if round % 3 == 0 {
                file.view(0, byte(), byte())?;
                file.truncate()?;
                model = Model::default();
            }
            file.view(layout.displacement, element, if round % 2 == 0 { element } else { datatype })?;
        }
        expect(&what, write(false, &ours, offset, &data, count as c_int, datatype), count as c_int)?;
        let said = decision();
        if served != said.contains("aggregation at") && layout.of.iter().any(|o| o.1 > 0) {
            return Err(format!("{what}: served by {said}"));
        }
        let by_mpi = write(true, &theirs, offset, &data, count as c_int, datatype);
        if by_mpi != (0, count as c_int) {
            return Err(format!("{what}: MPI itself wrote with {by_mpi:?}"));
        }
        layout.apply(round, &mut model);
        compare_files(&what, &ours, &theirs, &model, served)?;
        // Back, and then what another rank wrote.
        for shift in [0, 1] {
            let (offset, count) = layout.of[(me as usize + shift) % ranks];
            let bytes = count * layout.in_memory * layout.element;
            let (mut mine, mut mpis) = (vec![7u8; bytes], vec![7u8; bytes]);
            let what = format!("{what}, read of rank {}", me as usize + shift);
            expect(&what, read(false, &ours, offset, &mut mine, count as c_int, datatype), count as c_int)?;
            // Not all together, for which OMPIO takes seconds where elements of the view are many.
            read_alone(&theirs, offset, &mut mpis, count as c_int, datatype);
            if mine != mpis || (shift == 0 && mine != data) {
                return Err(format!("{what}: other bytes than were written"));
            }
        }
        read_beyond_the_end(&what, &ours, &theirs, &layout, &model, element, served)?;
        for file in [&ours, &theirs] {
            file.view(0, byte(), byte())?;
        }
        free(datatype);
        free(element);
    }
    // SAFETY: an open file.
    let peak = unsafe { peak_buffer_bytes(ours.handle) }.map_err(|e| e.to_string())?;
    println!("rank {me}: peak buffer {peak} bytes");
    drop((ours, theirs));
    succeeds("optiq_finalize", optiq_finalize())
}

/// `MPI_File_write_at_all` of OPTIQ, which must be refused on all ranks with this sentence at `guilty` and on all others with
/// one that names it.
fn refused(what: &str, found: Outcome, guilty: bool, sentence: &str) -> Result<(), String> {
    let sentence = if guilty { sentence } else { "passed an invalid argument" };
    support::expect(what, found.0, Status::Argument, sentence)
}

/// Bad arguments: an error everywhere, nothing hangs, and the next call works.
pub fn errors() -> Result<(), String> {
    let me = rank();
    let closed = File { handle: null_file(), path: PathBuf::new() };
    let early = write(false, &closed, 0, &[], 0, byte());
    support::expect("before init", early.0, Status::NotInitialized, "before optiq_init")?;
    init()?;
    let data = contents(me, 0, 3000);
    let null = write(false, &closed, 0, &data, 8, byte());
    support::expect("no file", null.0, Status::Argument, "the file handle is MPI_FILE_NULL")?;
    std::mem::forget(closed);
    let file = File::open("errors", BOTH)?;
    let own = i64::from(me) * 3000;
    let good = |what: &str| -> Result<(), String> {
        expect(what, write(false, &file, own, &data, 3000, byte()), 3000)?;
        let mut back = vec![0; 3000];
        expect(what, read(false, &file, own, &mut back, 3000, byte()), 3000)?;
        if back == data { Ok(()) } else { Err(format!("{what}: other bytes than were written")) }
    };
    good("at first")?;
    for guilty in [0, size() - 1] {
        let mine = guilty == me;
        let bad = |x: i64| if mine { x } else { own };
        refused("offset", write(false, &file, bad(-1), &data, 5, byte()), mine, "the offset is -1")?;
        refused("far", write(false, &file, bad(i64::MAX - 3), &data, 5, byte()), mine, "are beyond 2^63 - 1")?;
        refused("count", write(false, &file, own, &data, if mine { -5 } else { 5 }, byte()), mine, "the count is -5")?;
        // SAFETY: a constant.
        let null = if mine { unsafe { ffi::RSMPI_DATATYPE_NULL } } else { byte() };
        // SAFETY: arguments that must be refused. NULL is MPI_STATUS_IGNORE to OPTIQ.
        let found = unsafe { optiq_file_write_at_all(file.handle, own, data.as_ptr().cast(), 5, null, null_mut()) };
        refused("datatype", (found, 0), mine, "MPI_DATATYPE_NULL")?;
        let address = if mine { std::ptr::null() } else { data.as_ptr() };
        // SAFETY: as above.
        let found = unsafe { optiq_file_write_at_all(file.handle, own, address.cast(), 5, byte(), null_mut()) };
        refused("buffer", (found, 0), mine, "the buffer is NULL, but 5 bytes")?;
        // SAFETY: as above.
        let found =
            unsafe { optiq_file_read_at_all(file.handle, own, address.cast_mut().cast(), 5, byte(), null_mut()) };
        refused("buffer of a read", (found, 0), mine, "the buffer is NULL, but 5 bytes")?;
        good("after errors")?;
    }
    // Nothing at all, from nowhere.
    // SAFETY: NULL and zero elements are allowed.
    let found = unsafe { optiq_file_write_at_all(file.handle, 0, std::ptr::null(), 0, byte(), null_mut()) };
    succeeds("nothing", found)?;
    file.bytes()?;
    let mode = |mode: u32, name: &str| File::open(name, mode);
    let reader = mode(ffi::MPI_MODE_RDONLY, "errors")?;
    let found = write(false, &reader, own, &data, 5, byte());
    support::expect("read-only", found.0, Status::Argument, "opened with MPI_MODE_RDONLY")?;
    let mut back = vec![0; 3000];
    expect("read-only", read(false, &reader, own, &mut back, 3000, byte()), 3000)?;
    let writer = mode(ffi::MPI_MODE_WRONLY, "errors")?;
    let found = read(false, &writer, own, &mut back, 5, byte());
    support::expect("write-only", found.0, Status::Argument, "opened with MPI_MODE_WRONLY")?;
    expect("write-only", write(false, &writer, own, &data, 3000, byte()), 3000)?;
    drop((reader, writer, file));
    succeeds("optiq_finalize", optiq_finalize())?;
    let late = write(false, &File { handle: null_file(), path: PathBuf::new() }, 0, &[], 0, byte());
    support::expect("after finalize", late.0, Status::NotInitialized, "after optiq_finalize")
}

fn null_file() -> ffi::MPI_File {
    // SAFETY: a constant.
    unsafe { ffi::RSMPI_FILE_NULL }
}

/// What only MPI can serve: with the reason, and the right bytes.
pub fn handed_over() -> Result<(), String> {
    init()?;
    let (me, ranks) = (i64::from(rank()), i64::from(size()));
    let file = File::open("handed", BOTH)?;
    let data = contents(rank(), 1, 4000);
    // Views: every other 1000 bytes, ranks in turn.
    let block = contiguous(1000, byte());
    let strided = resized(block, 1000 * ranks);
    let written = |what: &str, offset: i64, count: c_int, datatype, reason: &str| -> Result<(), String> {
        succeeds(what, write(false, &file, offset, &data, count, datatype).0)?;
        let said = decision();
        if !said.contains(reason) || !said.starts_with("MPI_File_write_at_all") {
            return Err(format!("{what}: served by {said}"));
        }
        Ok(())
    };
    file.view(1000 * me, byte(), strided)?;
    written("strided", 0, 4000, byte(), "a view of the file is not contiguous")?;
    let all = file.bytes()?;
    let strip = |i: usize| all.iter().skip(1000 * (me as usize + i * ranks as usize)).take(1000);
    if !(0..4).all(|i| strip(i).eq(&data[1000 * i..1000 * (i + 1)])) {
        return Err("strided: other bytes than were written".into());
    }
    file.view(4000 * me, byte(), byte())?;
    written("shifted", 0, 4000, byte(), "different displacements")?;
    file.view(0, byte(), byte())?;
    let holes = resized(byte(), 2);
    written("holes in memory", 2000 * me, 2000, holes, "a datatype in memory is not a plain run of bytes")?;
    written("the same bytes", 7 * me, 100, byte(), "write to the same bytes")?;
    let wide = contiguous(3000, byte());
    file.view(0, wide, wide)?;
    succeeds("wide", write(false, &file, me, &data, 1, wide).0)?;
    let said = decision();
    if !said.contains("half of OPTIQ_IO_BUDGET does not hold one element of 3000 bytes") {
        return Err(format!("wide: served by {said}"));
    }
    file.view(0, byte(), byte())?;
    // SAFETY: an open file.
    check(unsafe { ffi::PMPI_File_set_atomicity(file.handle, 1) }, "MPI_File_set_atomicity")
        .map_err(|e| e.to_string())?;
    written("atomic", 4000 * me, 4000, byte(), "atomic mode")?;
    // SAFETY: as above.
    check(unsafe { ffi::PMPI_File_set_atomicity(file.handle, 0) }, "MPI_File_set_atomicity")
        .map_err(|e| e.to_string())?;
    expect("served", write(false, &file, 4000 * me, &data, 4000, byte()), 4000)?;
    if !decision().contains("aggregation at") {
        return Err(format!("served by {}", decision()));
    }
    drop(file);
    [block, strided, holes, wide].into_iter().for_each(free);
    succeeds("optiq_finalize", optiq_finalize())
}

/// A committed datatype with another extent.
fn resized(of: ffi::MPI_Datatype, extent: i64) -> ffi::MPI_Datatype {
    // SAFETY: a valid datatype.
    unsafe {
        let mut made = ffi::RSMPI_DATATYPE_NULL;
        ffi::PMPI_Type_create_resized(of, 0, extent as ffi::MPI_Aint, &mut made);
        ffi::PMPI_Type_commit(&mut made);
        made
    }
}

/// Files come and go, of all ranks and of some, and handles' values are used again.
pub fn lifetimes() -> Result<(), String> {
    init()?;
    let me = rank();
    // SAFETY: a valid communicator.
    let half = unsafe {
        let mut half = world();
        ffi::PMPI_Comm_split(world(), (me % 2) as c_int, -(me as c_int), &mut half);
        half
    };
    let mut in_half = 0;
    // SAFETY: a valid communicator.
    unsafe { ffi::PMPI_Comm_rank(half, &mut in_half) };
    for round in 0..12 {
        let data = contents(me, round, 5000);
        let mut back = vec![0; 5000];
        let (file, place) = match round % 3 {
            0 => (File::open_on(half, &format!("half{}-{round}", me % 2), BOTH)?, i64::from(in_half)),
            _ => (File::open(&format!("all-{round}"), BOTH)?, i64::from(me)),
        };
        expect("write", write(false, &file, 5000 * place, &data, 5000, byte()), 5000)?;
        expect("read", read(false, &file, 5000 * place, &mut back, 5000, byte()), 5000)?;
        if back != data || !decision().contains("aggregation at") {
            return Err(format!("round {round}: other bytes than were written, or served by {}", decision()));
        }
        barrier();
        // SAFETY: an open file, which `File` will not close again.
        unsafe { ffi::PMPI_File_close(&mut { file.handle }) };
        barrier();
        std::fs::remove_file(&file.path).ok();
        std::mem::forget(file);
    }
    // SAFETY: ours.
    unsafe { ffi::PMPI_Comm_free(&mut { half }) };
    succeeds("optiq_finalize", optiq_finalize())
}

/// A file system without room: every rank gets the error, nothing hangs, and what was acknowledged is there. With `limit`
/// the process's own limit stands for it.
pub fn full(limit: bool) -> Result<(), String> {
    const ROOM: usize = 1 << 20;
    init()?;
    let me = rank();
    if limit {
        // SAFETY: plain calls; a write beyond the limit is then an error instead of a signal.
        unsafe {
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
            let most = libc::rlimit { rlim_cur: ROOM as u64, rlim_max: ROOM as u64 };
            libc::setrlimit(libc::RLIMIT_FSIZE, &most);
        }
    }
    let file = File::open("full", BOTH)?;
    let share = ROOM / 4 / size() as usize;
    let data = contents(me, 0, share);
    let place = |round: usize| ((round * size() as usize + me as usize) * share) as i64;
    for round in 0..2 {
        expect("with room", write(false, &file, place(round), &data, share as c_int, byte()), share as c_int)?;
    }
    // Eight times of what there is room for.
    let large = vec![1; 8 * ROOM / size() as usize];
    let offset = (ROOM / 2 + me as usize * large.len()) as i64;
    for _ in 0..2 {
        let found = write(false, &file, offset, &large, large.len() as c_int, byte());
        support::expect("without room", found.0, Status::Mpi, "which serves I/O host")?;
        support::expect("without room", found.0, Status::Mpi, "could not write")?;
    }
    let message = last_message();
    barrier();
    for round in 0..2 {
        let found = std::fs::read(&file.path).map_err(|e| e.to_string())?;
        let start = place(round) as usize;
        if found.get(start..start + share) != Some(&data[..]) {
            return Err("what was acknowledged is not in the file".into());
        }
    }
    barrier();
    // And afterwards it goes on.
    expect("with room", write(false, &file, place(1), &data, share as c_int, byte()), share as c_int)?;
    println!("rank {me} was told: {message}");
    drop(file);
    succeeds("optiq_finalize", optiq_finalize())
}

/// Writes and reads back `mebibytes` MiB of each rank within the budget, and prints what memory that took.
pub fn budget(mebibytes: &str) -> Result<(), String> {
    init()?;
    let bytes = mebibytes.parse::<usize>().map_err(|_| "a number of MiB is expected")? << 20;
    let me = rank();
    let file = File::open("budget", BOTH)?;
    let pattern = contents(me, 0, 1 << 16);
    let data: Vec<u8> = pattern.iter().copied().cycle().take(bytes).collect();
    let mut back = vec![0; bytes];
    let before = load::resident()?.now;
    let place = i64::from(me) * bytes as i64;
    expect("write", write(false, &file, place, &data, bytes as c_int, byte()), bytes as c_int)?;
    expect("read", read(false, &file, place, &mut back, bytes as c_int, byte()), bytes as c_int)?;
    if back != data || !decision().contains("aggregation at") {
        return Err(format!("other bytes than were written, or served by {}", decision()));
    }
    // SAFETY: an open file.
    let peak = unsafe { peak_buffer_bytes(file.handle) }.map_err(|e| e.to_string())?;
    let grown = load::resident()?.peak.saturating_sub(before);
    println!("rank {me}: peak buffer {peak} bytes, {grown} bytes more resident");
    drop(file);
    succeeds("optiq_finalize", optiq_finalize())
}

/// Writes and reads the same again and again, in rounds in which some ranks have nothing: each round is planned once.
pub fn again() -> Result<(), String> {
    let config = optiq::Config::read().usable().map_err(|e| e.to_string())?;
    // SAFETY: MPI is initialised; the session is dropped before it is finalised.
    let session = unsafe { FileSession::new(world(), config) }.map_err(|e| e.to_string())?;
    let file = File::open("again", BOTH)?;
    let (me, bytes) = (rank(), 1usize << 20);
    let data = contents(me, 0, bytes);
    let mut back = vec![0u8; bytes];
    let (at, count) = (i64::from(me) * bytes as i64, bytes as c_int);
    let mut plans = Vec::new();
    for _ in 0..3 {
        back.fill(0);
        // SAFETY: an open file, and buffers of that size.
        let [wrote, read] = unsafe {
            let (handle, status) = (FileHandle(file.handle), null_mut());
            let wrote = session.write_at_all(handle, at, data.as_ptr().cast(), count, byte(), status);
            let read = session.read_at_all(handle, at, back.as_mut_ptr().cast(), count, byte(), status);
            [wrote.map_err(|e| e.to_string())?, read.map_err(|e| e.to_string())?]
        };
        for decision in [wrote.decision, read.decision] {
            if !matches!(*decision, optiq::Decision::Aggregation { rounds: 4, .. }) {
                return Err(format!("served by {decision}"));
            }
        }
        if back != data {
            return Err("other bytes than were written".into());
        }
        plans.push(session.session().plans_made());
    }
    // Four rounds there and four back.
    if plans != [8; 3] { Err(format!("plans after each time: {plans:?}")) } else { Ok(()) }
}

/// A server that stops for a while: all others get an error in time, and so does it when it goes on.
pub fn stops() -> Result<(), String> {
    init()?;
    let me = rank();
    let file = File::open("stops", BOTH)?;
    let data = contents(me, 0, 50_000);
    let place = i64::from(me) * 50_000;
    expect("at first", write(false, &file, place, &data, 50_000, byte()), 50_000)?;
    // Rank 0 serves host 0; rank 1 wakes it up.
    let mut process = std::process::id() as c_int;
    // SAFETY: one int.
    unsafe { ffi::PMPI_Bcast((&raw mut process).cast(), 1, ffi::RSMPI_INT32_T, 0, world()) };
    if me == 0 {
        // SAFETY: stops this process until somebody sends SIGCONT.
        unsafe { libc::raise(libc::SIGSTOP) };
    }
    let found = write(false, &file, place, &data, 50_000, byte());
    support::expect("stopped", found.0, Status::Transport, "OPTIQ_IO_TIMEOUT")?;
    let again = write(false, &file, place, &data, 50_000, byte());
    support::expect("afterwards", again.0, Status::Transport, "an earlier access by these ranks was given up")?;
    println!("rank {me}: all is well");
    std::io::Write::flush(&mut std::io::stdout()).ok();
    if me == 1 {
        // SAFETY: the process that stopped.
        unsafe { libc::kill(process, libc::SIGCONT) };
    }
    // Nothing collective is possible any more, not even the end; a program would end its job here.
    std::thread::sleep(std::time::Duration::from_secs(6));
    // SAFETY: ends the job with success as its exit status.
    unsafe { ffi::PMPI_Abort(world(), 0) };
    Ok(())
}
