//! The table of prototypes: one row per MPI function, from which its entry points are made.
//!
//! A row has the handler of its calls and which of the handler's functions that is ([`Handler`]), what OPTIQ calls the function,
//! its name in C, its arguments with their kinds, how the handler reads them, and the names in Fortran: `mpif.h` and `use mpi`
//! under four manglings, `use mpi_f08` under Open MPI's.

#[cfg(optiq_fortran)]
use crate::fortran::Read;
use crate::handler::{Handler, Profiled, ServeOrPass};
use crate::kinds::{Any, ArgumentKind, Comm, Info, Int, Ints, Received, Request, Sent, Type};
use crate::next::Next;
use optiq::c_api::interpose::{Blocks, Call, Function, ffi};
use std::ffi::{c_int, c_void};

/// The C name as the dynamic linker wants it.
macro_rules! symbol {
    ($name:ident) => {{
        const NAME: &str = concat!(stringify!($name), "\0");
        match std::ffi::CStr::from_bytes_with_nul(NAME.as_bytes()) {
            Ok(name) => name,
            Err(_) => unreachable!(),
        }
    }};
}

/// What a row's handler does with a call. `call` reads the arguments, by the expression that makes a [`Call`], or requests, of
/// them; `next` makes the same call in the next library.
macro_rules! act {
    ($handler:ident initialize $function:ident, $next:ident, $call:expr) => {
        <$handler as Handler>::initialize($next)
    };
    ($handler:ident finalize $function:ident, $next:ident, $call:expr) => {
        <$handler as Handler>::finalize($next)
    };
    ($handler:ident $how:ident $function:ident, $next:ident, $call:expr) => {{
        let call = || $call;
        // SAFETY: the program's arguments, by the MPI function's own contract; `next` makes the same call.
        unsafe { <$handler as Handler>::$how(call, Function::$function, $next) }
    }};
}

/// Whether a call is passed on without a look at its arguments.
macro_rules! passed {
    ($handler:ident blocking $function:ident) => {
        <$handler as Handler>::is_passed(Function::$function)
    };
    ($handler:ident begin $function:ident) => {
        <$handler as Handler>::is_passed(Function::$function)
    };
    ($handler:ident message $function:ident) => {
        <$handler as Handler>::passes_messages()
    };
    ($handler:ident file $function:ident) => {
        <$handler as Handler>::passes_files()
    };
    ($handler:ident $other:ident $function:ident) => {
        false
    };
}

/// What a row makes of Fortran's arguments before they are looked at.
#[cfg_attr(not(optiq_fortran), allow(unused_macros, reason = "Fortran's functions come to those in C"))]
macro_rules! converted {
    (initialize, $call:expr, $($argument:ident: $kind:ident),*) => {
        $call
    };
    (finalize, $call:expr, $($argument:ident: $kind:ident),*) => {
        $call
    };
    ($other:ident, $call:expr, $($argument:ident: $kind:ident),*) => {{
        $(
            #[allow(unused_variables, reason = "no handler looks at all arguments")]
            // SAFETY: an argument that Fortran has passed.
            let $argument = unsafe { <$kind as Read>::to_c($argument) };
        )*
        $call
    }};
}

macro_rules! entry_points {
    ($(
        $(#[$attribute:meta])*
        $handler:ident $how:ident $function:ident: $c:ident($($argument:ident: $kind:ident),*) => $call:expr;
            $($fortran:ident),*;
    )*) => {$(
        $(#[$attribute])*
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $c($($argument: <$kind as ArgumentKind>::C),*) -> c_int {
            type Behind = unsafe extern "C" fn($(<$kind as ArgumentKind>::C),*) -> c_int;
            static NEXT: Next = Next::new(symbol!($c));
            /// All other calls. A function of its own, so that those above leave their arguments where they are.
            #[inline(never)]
            unsafe extern "C" fn looked_at($($argument: <$kind as ArgumentKind>::C),*) -> c_int {
                let next = || match NEXT.address() {
                    0 => ffi::MPI_ERR_OTHER as c_int,
                    // SAFETY: the function of this name in the library behind has this prototype.
                    address => unsafe { std::mem::transmute::<usize, Behind>(address)($($argument),*) },
                };
                act!($handler $how $function, next, $call)
            }
            if let Some(address) = NEXT.known() && passed!($handler $how $function) {
                // SAFETY: as above, with the program's arguments.
                return unsafe { std::mem::transmute::<std::num::NonZeroUsize, Behind>(address)($($argument),*) };
            }
            // SAFETY: passed on.
            unsafe { looked_at($($argument),*) }
        }

        entry_points! {
            @fortran [$(#[$attribute])*] $handler $how $function, $call, ($($argument: $kind),*), $($fortran),*
        }
    )*};
    (@fortran $attributes:tt $handler:ident $how:ident $function:ident, $call:expr, $arguments:tt, $($fortran:ident),*) => {$(
        entry_points! { @name $attributes $handler $how $function, $call, $arguments, $fortran }
    )*};
    (@name [$(#[$attribute:meta])*] $handler:ident $how:ident $function:ident, $call:expr, $arguments:tt, $fortran:ident) => {
        entry_points! {
            @entry [$(#[$attribute])* #[cfg(optiq_fortran)]] $handler $how $function, $call, $arguments, $fortran
        }
    };
    (@entry [$(#[$attribute:meta])*] $handler:ident $how:ident $function:ident, $call:expr,
        ($($argument:ident: $kind:ident),*), $fortran:ident) => {
        $(#[$attribute])*
        #[allow(non_snake_case, reason = "names of the MPI library")]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $fortran($($argument: <$kind as ArgumentKind>::Fortran,)* ierror: *mut c_int) {
            type Behind = unsafe extern "C" fn($(<$kind as ArgumentKind>::Fortran,)* *mut c_int);
            static NEXT: Next = Next::new(symbol!($fortran));
            #[inline(never)]
            unsafe extern "C" fn looked_at($($argument: <$kind as ArgumentKind>::Fortran,)* ierror: *mut c_int) {
                let next = || {
                    let mut code = ffi::MPI_ERR_OTHER as c_int;
                    match NEXT.address() {
                        0 => {}
                        // SAFETY: as in C.
                        address => unsafe { std::mem::transmute::<usize, Behind>(address)($($argument,)* &mut code) },
                    }
                    code
                };
                let code = act!($handler $how $function, next, converted!($how, $call, $($argument: $kind),*));
                // In mpi_f08 it is optional.
                if !ierror.is_null() {
                    // SAFETY: Fortran's variable.
                    unsafe { *ierror = code };
                }
            }
            if let Some(address) = NEXT.known() && passed!($handler $how $function) {
                // SAFETY: as in C.
                return unsafe {
                    std::mem::transmute::<std::num::NonZeroUsize, Behind>(address)($($argument,)* ierror)
                };
            }
            // SAFETY: passed on.
            unsafe { looked_at($($argument,)* ierror) }
        }
    };
}

#[cfg(optiq_fortran)]
pub(crate) use converted;
pub(crate) use {act, entry_points, passed, symbol};

/// One side of a call: the buffer, elements for each peer, where they start, and their datatype.
type Side<Buffer> = (Buffer, *const c_int, *const c_int, ffi::MPI_Datatype);

/// A call with an element for each rank in its arrays.
fn all_to_all(function: Function, send: Side<*const c_void>, receive: Side<*mut c_void>, comm: ffi::MPI_Comm) -> Call {
    let blocks = Blocks::Each { send: (send.1, send.2), receive: (receive.1, receive.2) };
    Call { function, send: send.0, send_type: send.3, receive: receive.0, receive_type: receive.3, blocks, comm }
}

/// A call with an element for each neighbour in its arrays.
fn among_neighbours(
    function: Function,
    send: Side<*const c_void>,
    receive: Side<*mut c_void>,
    comm: ffi::MPI_Comm,
) -> Call {
    let blocks = Blocks::EachNeighbour { send: (send.1, send.2), receive: (receive.1, receive.2) };
    Call { blocks, ..all_to_all(function, send, receive, comm) }
}

entry_points! {
    Profiled blocking Alltoallv: MPI_Alltoallv(
        send: Sent, send_counts: Ints, send_displacements: Ints, send_type: Type,
        receive: Received, receive_counts: Ints, receive_displacements: Ints, receive_type: Type, comm: Comm
    ) => all_to_all(
        Function::Alltoallv,
        (send, send_counts, send_displacements, send_type),
        (receive, receive_counts, receive_displacements, receive_type),
        comm,
    );
        mpi_alltoallv, mpi_alltoallv_, mpi_alltoallv__, MPI_ALLTOALLV, mpi_alltoallv_f08_;

    Profiled blocking Alltoall: MPI_Alltoall(
        send: Sent, send_count: Int, send_type: Type, receive: Received, receive_count: Int, receive_type: Type, comm: Comm
    ) => Call {
        function: Function::Alltoall,
        send,
        send_type,
        receive,
        receive_type,
        blocks: Blocks::Same { send: send_count, receive: receive_count },
        comm,
    };
        mpi_alltoall, mpi_alltoall_, mpi_alltoall__, MPI_ALLTOALL, mpi_alltoall_f08_;

    Profiled begin Ialltoallv: MPI_Ialltoallv(
        send: Sent, send_counts: Ints, send_displacements: Ints, send_type: Type,
        receive: Received, receive_counts: Ints, receive_displacements: Ints, receive_type: Type, comm: Comm,
        request: Request
    ) => (all_to_all(
        Function::Ialltoallv,
        (send, send_counts, send_displacements, send_type),
        (receive, receive_counts, receive_displacements, receive_type),
        comm,
    ), request);
        mpi_ialltoallv, mpi_ialltoallv_, mpi_ialltoallv__, MPI_IALLTOALLV, mpi_ialltoallv_f08_;

    #[cfg(optiq_init = "mpi")]
    Profiled begin AlltoallvInit: MPI_Alltoallv_init(
        send: Sent, send_counts: Ints, send_displacements: Ints, send_type: Type,
        receive: Received, receive_counts: Ints, receive_displacements: Ints, receive_type: Type, comm: Comm,
        info: Info, request: Request
    ) => {
        let _ = info;
        (all_to_all(
            Function::AlltoallvInit,
            (send, send_counts, send_displacements, send_type),
            (receive, receive_counts, receive_displacements, receive_type),
            comm,
        ), request)
    };
        mpi_alltoallv_init, mpi_alltoallv_init_, mpi_alltoallv_init__, MPI_ALLTOALLV_INIT, mpi_alltoallv_init_f08_;

    #[cfg(optiq_init = "mpix")]
    Profiled begin AlltoallvInit: MPIX_Alltoallv_init(
        send: Sent, send_counts: Ints, send_displacements: Ints, send_type: Type,
        receive: Received, receive_counts: Ints, receive_displacements: Ints, receive_type: Type, comm: Comm,
        info: Info, request: Request
    ) => {
        let _ = info;
        (all_to_all(
            Function::AlltoallvInit,
            (send, send_counts, send_displacements, send_type),
            (receive, receive_counts, receive_displacements, receive_type),
            comm,
        ), request)
    };
        mpix_alltoallv_init, mpix_alltoallv_init_, mpix_alltoallv_init__, MPIX_ALLTOALLV_INIT, mpix_alltoallv_init_f08_;

    Profiled blocking NeighborAlltoallv: MPI_Neighbor_alltoallv(
        send: Sent, send_counts: Ints, send_displacements: Ints, send_type: Type,
        receive: Received, receive_counts: Ints, receive_displacements: Ints, receive_type: Type, comm: Comm
    ) => among_neighbours(
        Function::NeighborAlltoallv,
        (send, send_counts, send_displacements, send_type),
        (receive, receive_counts, receive_displacements, receive_type),
        comm,
    );
        mpi_neighbor_alltoallv, mpi_neighbor_alltoallv_, mpi_neighbor_alltoallv__, MPI_NEIGHBOR_ALLTOALLV,
        mpi_neighbor_alltoallv_f08_;

    Profiled blocking NeighborAlltoall: MPI_Neighbor_alltoall(
        send: Sent, send_count: Int, send_type: Type, receive: Received, receive_count: Int, receive_type: Type, comm: Comm
    ) => Call {
        function: Function::NeighborAlltoall,
        send,
        send_type,
        receive,
        receive_type,
        blocks: Blocks::SameForNeighbours { send: send_count, receive: receive_count },
        comm,
    };
        mpi_neighbor_alltoall, mpi_neighbor_alltoall_, mpi_neighbor_alltoall__, MPI_NEIGHBOR_ALLTOALL,
        mpi_neighbor_alltoall_f08_;

    Profiled begin IneighborAlltoallv: MPI_Ineighbor_alltoallv(
        send: Sent, send_counts: Ints, send_displacements: Ints, send_type: Type,
        receive: Received, receive_counts: Ints, receive_displacements: Ints, receive_type: Type, comm: Comm,
        request: Request
    ) => (among_neighbours(
        Function::IneighborAlltoallv,
        (send, send_counts, send_displacements, send_type),
        (receive, receive_counts, receive_displacements, receive_type),
        comm,
    ), request);
        mpi_ineighbor_alltoallv, mpi_ineighbor_alltoallv_, mpi_ineighbor_alltoallv__, MPI_INEIGHBOR_ALLTOALLV,
        mpi_ineighbor_alltoallv_f08_;

    #[cfg(optiq_init = "mpi")]
    Profiled begin NeighborAlltoallvInit: MPI_Neighbor_alltoallv_init(
        send: Sent, send_counts: Ints, send_displacements: Ints, send_type: Type,
        receive: Received, receive_counts: Ints, receive_displacements: Ints, receive_type: Type, comm: Comm,
        info: Info, request: Request
    ) => {
        let _ = info;
        (among_neighbours(
            Function::NeighborAlltoallvInit,
            (send, send_counts, send_displacements, send_type),
            (receive, receive_counts, receive_displacements, receive_type),
            comm,
        ), request)
    };
        mpi_neighbor_alltoallv_init, mpi_neighbor_alltoallv_init_, mpi_neighbor_alltoallv_init__,
        MPI_NEIGHBOR_ALLTOALLV_INIT, mpi_neighbor_alltoallv_init_f08_;

    #[cfg(optiq_init = "mpix")]
    Profiled begin NeighborAlltoallvInit: MPIX_Neighbor_alltoallv_init(
        send: Sent, send_counts: Ints, send_displacements: Ints, send_type: Type,
        receive: Received, receive_counts: Ints, receive_displacements: Ints, receive_type: Type, comm: Comm,
        info: Info, request: Request
    ) => {
        let _ = info;
        (among_neighbours(
            Function::NeighborAlltoallvInit,
            (send, send_counts, send_displacements, send_type),
            (receive, receive_counts, receive_displacements, receive_type),
            comm,
        ), request)
    };
        mpix_neighbor_alltoallv_init, mpix_neighbor_alltoallv_init_, mpix_neighbor_alltoallv_init__,
        MPIX_NEIGHBOR_ALLTOALLV_INIT, mpix_neighbor_alltoallv_init_f08_;

    Profiled start AlltoallvInit: MPI_Start(request: Request) => (1, request);
        mpi_start, mpi_start_, mpi_start__, MPI_START, mpi_start_f08_;

    Profiled start AlltoallvInit: MPI_Startall(count: Int, requests: Request) => (count, requests);
        mpi_startall, mpi_startall_, mpi_startall__, MPI_STARTALL, mpi_startall_f08_;

    ServeOrPass free AlltoallvInit: MPI_Request_free(request: Request) => (1, request);
        mpi_request_free, mpi_request_free_, mpi_request_free__, MPI_REQUEST_FREE, mpi_request_free_f08_;

    Profiled initialize Ialltoallv: MPI_Init(argc: Any, argv: Any) => (); ;

    Profiled initialize Ialltoallv: MPI_Init_thread(argc: Any, argv: Any, required: Int, provided: Any) => (); ;

    // Any further arguments are on the stack or in registers, where a function that takes two finds them under the calling conventions of
    // Linux (x86-64, AArch64, POWER, RISC-V). Fortran's function has only the level, and is left to MPI.
    Profiled control Alltoallv: MPI_Pcontrol(level: Int, name: Any) => (level, name); ;

    Profiled finalize Alltoallv: MPI_Finalize() => ();
        mpi_finalize, mpi_finalize_, mpi_finalize__, MPI_FINALIZE, mpi_finalize_f08_;
}

// MPICH's Fortran functions come to those in C, except for this one.
entry_points! { @entry [#[cfg(not(optiq_fortran))]] Profiled finalize Alltoallv, (), (), mpi_finalize_f08_ }

// Fortran's have other arguments.
entry_points! { @fortran [] Profiled initialize Ialltoallv, (), (), mpi_init, mpi_init_, mpi_init__, MPI_INIT, mpi_init_f08_ }
entry_points! { @fortran [] Profiled initialize Ialltoallv, (), (required: Int, provided: Any),
mpi_init_thread, mpi_init_thread_, mpi_init_thread__, MPI_INIT_THREAD, mpi_init_thread_f08_ }
