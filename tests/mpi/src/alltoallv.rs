//! `optiq_alltoallv` against `PMPI_Alltoallv`: the same arguments must give the same receive buffer, gaps included.

use crate::support::{rank, size, succeeds, text};
use optiq::c_api::{optiq_alltoallv, optiq_finalize, optiq_init, optiq_last_decision};
use optiq_net::random::SplitMix64;
use optiq_transport::mpi::{check, ffi, in_place};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

/// What a call is made of, on one rank. Displacements are in elements.
struct Call {
    send: Vec<u8>,
    send_counts: Vec<c_int>,
    send_displacements: Vec<c_int>,
    send_type: ffi::MPI_Datatype,
    receive: Vec<u8>,
    receive_counts: Vec<c_int>,
    receive_displacements: Vec<c_int>,
    receive_type: ffi::MPI_Datatype,
    in_place: bool,
}

/// How many bytes an element spans in memory, and how many elements of the other side's type it stands for.
struct Element {
    handle: ffi::MPI_Datatype,
    extent: usize,
    /// Basic elements in one.
    basic: c_int,
}

/// Shapes of the counts matrix.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Random { largest: u64 },
    Sparse { largest: u64 },
    AllZero,
    OneSender { bytes: u64 },
    Uniform { bytes: u64 },
}

/// Basic elements that `from` sends to `to`; every rank computes the whole matrix.
fn count(shape: Shape, from: u32, to: u32, seed: u64) -> u64 {
    let mut random = SplitMix64::new(seed ^ u64::from(from) << 20 ^ u64::from(to) << 40);
    let any = random.next_u64();
    match shape {
        Shape::Random { largest } => any % (largest + 1),
        Shape::Sparse { largest } if any.is_multiple_of(4) => (any >> 8) % (largest + 1),
        Shape::Sparse { .. } | Shape::AllZero => 0,
        Shape::OneSender { bytes } => {
            if from == 0 {
                bytes
            } else {
                0
            }
        }
        Shape::Uniform { bytes } => bytes,
    }
}

fn make(shape: Shape, seed: u64, send: &Element, receive: &Element, in_place: bool) -> Call {
    let (me, ranks) = (rank(), size());
    let mut random = SplitMix64::new(seed + u64::from(me));
    // Counts in elements of each side that stand for the same number of basic elements.
    let whole = (send.basic * receive.basic) as u64;
    let basic =
        |from, to| if in_place && from > to { count(shape, to, from, seed) } else { count(shape, from, to, seed) };
    let lay_out = |random: &mut SplitMix64, basic_counts: Vec<u64>, element: &Element| {
        let counts: Vec<c_int> =
            basic_counts.iter().map(|b| (b / whole * whole / element.basic as u64) as c_int).collect();
        // Blocks in a random order, with gaps of up to two elements before each.
        let mut order: Vec<usize> = (0..counts.len()).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, random.below(i as u64 + 1) as usize);
        }
        let mut next = 0;
        let mut displacements = vec![0; counts.len()];
        for i in order {
            next += random.below(3) as c_int;
            displacements[i] = next;
            next += counts[i];
        }
        (counts, displacements, next as usize * element.extent)
    };
    let to: Vec<u64> = (0..ranks).map(|r| basic(me, r)).collect();
    let from: Vec<u64> = (0..ranks).map(|r| basic(r, me)).collect();
    let (send_counts, send_displacements, send_bytes) = lay_out(&mut random, to, send);
    let (receive_counts, receive_displacements, receive_bytes) = lay_out(&mut random, from, receive);
    let fill = |length: usize, salt: u64| {
        let mut random = SplitMix64::new(seed * 31 + u64::from(me) + salt);
        (0..length + 8).map(|_| random.next_u64() as u8).collect::<Vec<u8>>()
    };
    Call {
        send: fill(send_bytes, 0),
        send_counts,
        send_displacements,
        send_type: send.handle,
        receive: fill(receive_bytes, 5000),
        receive_counts,
        receive_displacements,
        receive_type: receive.handle,
        in_place,
    }
}

impl Call {
    /// Runs `function` on a copy of the receive buffer and returns that.
    fn run(&self, what: &str, function: Alltoallv) -> Result<Vec<u8>, String> {
        let mut receive = self.receive.clone();
        let send: *const c_void = if self.in_place { in_place() } else { self.send.as_ptr().cast() };
        // SAFETY: buffers of the size that counts and displacements need.
        let status = unsafe {
            function(
                send,
                self.send_counts.as_ptr(),
                self.send_displacements.as_ptr(),
                self.send_type,
                receive.as_mut_ptr().cast(),
                self.receive_counts.as_ptr(),
                self.receive_displacements.as_ptr(),
                self.receive_type,
                ffi::RSMPI_COMM_WORLD,
            )
        };
        succeeds(what, status)?;
        Ok(receive)
    }
}

type Alltoallv = unsafe extern "C" fn(
    *const c_void,
    *const c_int,
    *const c_int,
    ffi::MPI_Datatype,
    *mut c_void,
    *const c_int,
    *const c_int,
    ffi::MPI_Datatype,
    ffi::MPI_Comm,
) -> c_int;

/// Both must give the same bytes; twice, so that the second call finds its plan in the cache.
fn compare(what: &str, call: &Call) -> Result<(), String> {
    for time in ["first", "second"] {
        let ours = call.run(what, optiq_alltoallv)?;
        let theirs = call.run(what, ffi::PMPI_Alltoallv)?;
        if let Some(at) = ours.iter().zip(&theirs).position(|(a, b)| a != b) {
            return Err(format!("{what}, {time} time: byte {at} is {} and should be {}", ours[at], theirs[at]));
        }
    }
    if rank() == 0 {
        let decision = text(optiq_last_decision());
        let by = match &decision {
            mpi if mpi.starts_with("MPI_Alltoallv") => "plain MPI",
            combined if combined.starts_with("combined") => "combined messages",
            _ => "planned paths",
        };
        println!("{what}: served by {by}: {decision}");
    }
    Ok(())
}

/// A committed datatype that is freed at the end.
fn committed(make: impl FnOnce(*mut ffi::MPI_Datatype) -> c_int) -> Result<ffi::MPI_Datatype, String> {
    // SAFETY: a constant, to be overwritten.
    let mut handle = unsafe { ffi::RSMPI_DATATYPE_NULL };
    check(make(&mut handle), "a datatype constructor").map_err(|e| e.to_string())?;
    // SAFETY: a new datatype.
    check(unsafe { ffi::PMPI_Type_commit(&mut handle) }, "MPI_Type_commit").map_err(|e| e.to_string())?;
    Ok(handle)
}

/// The whole comparison.
pub fn all() -> Result<(), String> {
    // SAFETY: NULL is allowed.
    succeeds("optiq_init", unsafe { optiq_init(null_mut(), null_mut()) })?;
    // SAFETY: constants of the MPI library.
    let (byte, double) = unsafe { (ffi::RSMPI_UINT8_T, ffi::RSMPI_DOUBLE) };
    let byte = Element { handle: byte, extent: 1, basic: 1 };
    let double = Element { handle: double, extent: 8, basic: 1 };
    // SAFETY: basic types and small constants.
    let (triple, gapless, gaps, reversed) = unsafe {
        (
            committed(|t| ffi::PMPI_Type_contiguous(3, double.handle, t))?,
            committed(|t| ffi::PMPI_Type_vector(2, 2, 2, double.handle, t))?,
            committed(|t| ffi::PMPI_Type_vector(2, 1, 2, double.handle, t))?,
            // Two halves in the other order: as large as its extent, but not a plain run of bytes.
            committed(|t| ffi::PMPI_Type_create_indexed_block(2, 1, [1, 0].as_ptr(), double.handle, t))?,
        )
    };
    let triple = Element { handle: triple, extent: 24, basic: 3 };
    let gapless = Element { handle: gapless, extent: 32, basic: 4 };
    let gaps = Element { handle: gaps, extent: 24, basic: 2 };
    let reversed = Element { handle: reversed, extent: 16, basic: 2 };

    for seed in 0..6 {
        let shapes = [Shape::Random { largest: 3000 }, Shape::Sparse { largest: 20_000 }, Shape::Random { largest: 2 }];
        for shape in shapes {
            compare(&format!("bytes, {shape:?}"), &make(shape, seed, &byte, &byte, false))?;
        }
        let random = Shape::Random { largest: 2000 };
        compare("doubles", &make(random, seed, &double, &double, false))?;
        compare("contiguous triples", &make(random, seed, &triple, &triple, false))?;
        compare("triples into doubles", &make(random, seed, &triple, &double, false))?;
        compare("doubles into vectors without gaps", &make(random, seed, &double, &gapless, false))?;
        compare("vectors with gaps", &make(random, seed, &gaps, &gaps, false))?;
        compare("doubles into reversed pairs", &make(random, seed, &double, &reversed, false))?;
        compare("in place", &make(random, seed, &double, &double, true))?;
    }
    for shape in [Shape::AllZero, Shape::OneSender { bytes: 300_000 }, Shape::Uniform { bytes: 1 << 18 }] {
        compare(&format!("bytes, {shape:?}"), &make(shape, 77, &byte, &byte, false))?;
        compare(&format!("in place, {shape:?}"), &make(Shape::Uniform { bytes: 4096 }, 77, &byte, &byte, true))?;
    }
    for mut handle in [triple.handle, gapless.handle, gaps.handle, reversed.handle] {
        // SAFETY: made above, not used any more.
        check(unsafe { ffi::PMPI_Type_free(&mut handle) }, "MPI_Type_free").map_err(|e| e.to_string())?;
    }
    succeeds("optiq_finalize", optiq_finalize())
}
