//! Functions whose calls are looked at for profiles: those that send, and those that read files and write them. Nothing is taken over;
//! without a profile that wants it a call goes straight on ([`crate::handler::Observed`]).
//!
//! Names and arguments are those of MPI 3.1, chapters 3, 5, 6, 7, 11 and 13, which all MPI libraries of today have.

#[cfg(optiq_fortran)]
use crate::fortran::Read;
use crate::handler::{Handler, Profiled};
use crate::kinds::{
    Aint, Any, ArgumentKind, Comm, File, Group, Info, Int, Ints, Offset, Op, Received, Request, Sent, Type, Win,
};
use crate::next::Next;
#[cfg(optiq_fortran)]
use crate::table::converted;
use crate::table::{act, entry_points, passed, symbol};
use optiq::c_api::interpose::profile::{Elements, Moves};
use optiq::c_api::interpose::{Function, ffi};
use std::ffi::c_int;

entry_points! {
    // Messages of the program.
    Profiled message Alltoallv: MPI_Send(buf: Sent, count: Int, datatype: Type, dest: Int, tag: Int, comm: Comm) =>
        Moves::Message(Elements { count, datatype }, dest, comm);
        mpi_send, mpi_send_, mpi_send__, MPI_SEND, mpi_send_f08_;

    Profiled message Alltoallv: MPI_Bsend(
        buf: Sent, count: Int, datatype: Type, dest: Int, tag: Int, comm: Comm
    ) => Moves::Message(Elements { count, datatype }, dest, comm);
        mpi_bsend, mpi_bsend_, mpi_bsend__, MPI_BSEND, mpi_bsend_f08_;

    Profiled message Alltoallv: MPI_Ssend(
        buf: Sent, count: Int, datatype: Type, dest: Int, tag: Int, comm: Comm
    ) => Moves::Message(Elements { count, datatype }, dest, comm);
        mpi_ssend, mpi_ssend_, mpi_ssend__, MPI_SSEND, mpi_ssend_f08_;

    Profiled message Alltoallv: MPI_Rsend(
        ibuf: Sent, count: Int, datatype: Type, dest: Int, tag: Int, comm: Comm
    ) => Moves::Message(Elements { count, datatype }, dest, comm);
        mpi_rsend, mpi_rsend_, mpi_rsend__, MPI_RSEND, mpi_rsend_f08_;

    Profiled message Alltoallv: MPI_Isend(
        buf: Sent, count: Int, datatype: Type, dest: Int, tag: Int, comm: Comm, request: Request
    ) => Moves::Message(Elements { count, datatype }, dest, comm);
        mpi_isend, mpi_isend_, mpi_isend__, MPI_ISEND, mpi_isend_f08_;

    Profiled message Alltoallv: MPI_Ibsend(
        buf: Sent, count: Int, datatype: Type, dest: Int, tag: Int, comm: Comm, request: Request
    ) => Moves::Message(Elements { count, datatype }, dest, comm);
        mpi_ibsend, mpi_ibsend_, mpi_ibsend__, MPI_IBSEND, mpi_ibsend_f08_;

    Profiled message Alltoallv: MPI_Issend(
        buf: Sent, count: Int, datatype: Type, dest: Int, tag: Int, comm: Comm, request: Request
    ) => Moves::Message(Elements { count, datatype }, dest, comm);
        mpi_issend, mpi_issend_, mpi_issend__, MPI_ISSEND, mpi_issend_f08_;

    Profiled message Alltoallv: MPI_Irsend(
        buf: Sent, count: Int, datatype: Type, dest: Int, tag: Int, comm: Comm, request: Request
    ) => Moves::Message(Elements { count, datatype }, dest, comm);
        mpi_irsend, mpi_irsend_, mpi_irsend__, MPI_IRSEND, mpi_irsend_f08_;

    Profiled message Alltoallv: MPI_Sendrecv(
        sendbuf: Sent, sendcount: Int, sendtype: Type, dest: Int, sendtag: Int, recvbuf: Received, recvcount: Int,
        recvtype: Type, source: Int, recvtag: Int, comm: Comm, status: Any
    ) => Moves::Message(Elements { count: sendcount, datatype: sendtype }, dest, comm);
        mpi_sendrecv, mpi_sendrecv_, mpi_sendrecv__, MPI_SENDRECV, mpi_sendrecv_f08_;

    Profiled message Alltoallv: MPI_Sendrecv_replace(
        buf: Received, count: Int, datatype: Type, dest: Int, sendtag: Int, source: Int, recvtag: Int, comm: Comm,
        status: Any
    ) => Moves::Message(Elements { count, datatype }, dest, comm);
        mpi_sendrecv_replace, mpi_sendrecv_replace_, mpi_sendrecv_replace__, MPI_SENDRECV_REPLACE,
        mpi_sendrecv_replace_f08_;

    // Collectives.
    Profiled message Alltoallv: MPI_Barrier(comm: Comm) => Moves::Other;
        mpi_barrier, mpi_barrier_, mpi_barrier__, MPI_BARRIER, mpi_barrier_f08_;

    Profiled message Alltoallv: MPI_Bcast(buffer: Received, count: Int, datatype: Type, root: Int, comm: Comm) =>
        Moves::Other;
        mpi_bcast, mpi_bcast_, mpi_bcast__, MPI_BCAST, mpi_bcast_f08_;

    Profiled message Alltoallv: MPI_Gather(
        sendbuf: Sent, sendcount: Int, sendtype: Type, recvbuf: Received, recvcount: Int, recvtype: Type, root: Int,
        comm: Comm
    ) => Moves::Other;
        mpi_gather, mpi_gather_, mpi_gather__, MPI_GATHER, mpi_gather_f08_;

    Profiled message Alltoallv: MPI_Gatherv(
        sendbuf: Sent, sendcount: Int, sendtype: Type, recvbuf: Received, recvcounts: Ints, displs: Ints, recvtype:
        Type, root: Int, comm: Comm
    ) => Moves::Other;
        mpi_gatherv, mpi_gatherv_, mpi_gatherv__, MPI_GATHERV, mpi_gatherv_f08_;

    Profiled message Alltoallv: MPI_Scatter(
        sendbuf: Sent, sendcount: Int, sendtype: Type, recvbuf: Received, recvcount: Int, recvtype: Type, root: Int,
        comm: Comm
    ) => Moves::Other;
        mpi_scatter, mpi_scatter_, mpi_scatter__, MPI_SCATTER, mpi_scatter_f08_;

    Profiled message Alltoallv: MPI_Scatterv(
        sendbuf: Sent, sendcounts: Ints, displs: Ints, sendtype: Type, recvbuf: Received, recvcount: Int, recvtype:
        Type, root: Int, comm: Comm
    ) => Moves::Other;
        mpi_scatterv, mpi_scatterv_, mpi_scatterv__, MPI_SCATTERV, mpi_scatterv_f08_;

    Profiled message Alltoallv: MPI_Allgather(
        sendbuf: Sent, sendcount: Int, sendtype: Type, recvbuf: Received, recvcount: Int, recvtype: Type, comm: Comm
    ) => Moves::Other;
        mpi_allgather, mpi_allgather_, mpi_allgather__, MPI_ALLGATHER, mpi_allgather_f08_;

    Profiled message Alltoallv: MPI_Allgatherv(
        sendbuf: Sent, sendcount: Int, sendtype: Type, recvbuf: Received, recvcounts: Ints, displs: Ints, recvtype:
        Type, comm: Comm
    ) => Moves::Other;
        mpi_allgatherv, mpi_allgatherv_, mpi_allgatherv__, MPI_ALLGATHERV, mpi_allgatherv_f08_;

    Profiled message Alltoallv: MPI_Alltoallw(
        sendbuf: Sent, sendcounts: Ints, sdispls: Ints, sendtypes: Any, recvbuf: Received, recvcounts: Ints, rdispls:
        Ints, recvtypes: Any, comm: Comm
    ) => Moves::Other;
        mpi_alltoallw, mpi_alltoallw_, mpi_alltoallw__, MPI_ALLTOALLW, mpi_alltoallw_f08_;

    Profiled message Alltoallv: MPI_Reduce(
        sendbuf: Sent, recvbuf: Received, count: Int, datatype: Type, op: Op, root: Int, comm: Comm
    ) => Moves::Other;
        mpi_reduce, mpi_reduce_, mpi_reduce__, MPI_REDUCE, mpi_reduce_f08_;

    Profiled message Alltoallv: MPI_Allreduce(
        sendbuf: Sent, recvbuf: Received, count: Int, datatype: Type, op: Op, comm: Comm
    ) => Moves::Other;
        mpi_allreduce, mpi_allreduce_, mpi_allreduce__, MPI_ALLREDUCE, mpi_allreduce_f08_;

    Profiled message Alltoallv: MPI_Reduce_scatter(
        sendbuf: Sent, recvbuf: Received, recvcounts: Ints, datatype: Type, op: Op, comm: Comm
    ) => Moves::Other;
        mpi_reduce_scatter, mpi_reduce_scatter_, mpi_reduce_scatter__, MPI_REDUCE_SCATTER, mpi_reduce_scatter_f08_;

    Profiled message Alltoallv: MPI_Reduce_scatter_block(
        sendbuf: Sent, recvbuf: Received, recvcount: Int, datatype: Type, op: Op, comm: Comm
    ) => Moves::Other;
        mpi_reduce_scatter_block, mpi_reduce_scatter_block_, mpi_reduce_scatter_block__, MPI_REDUCE_SCATTER_BLOCK,
        mpi_reduce_scatter_block_f08_;

    Profiled message Alltoallv: MPI_Scan(
        sendbuf: Sent, recvbuf: Received, count: Int, datatype: Type, op: Op, comm: Comm
    ) => Moves::Other;
        mpi_scan, mpi_scan_, mpi_scan__, MPI_SCAN, mpi_scan_f08_;

    Profiled message Alltoallv: MPI_Exscan(
        sendbuf: Sent, recvbuf: Received, count: Int, datatype: Type, op: Op, comm: Comm
    ) => Moves::Other;
        mpi_exscan, mpi_exscan_, mpi_exscan__, MPI_EXSCAN, mpi_exscan_f08_;

    Profiled message Alltoallv: MPI_Ibarrier(comm: Comm, request: Request) => Moves::Other;
        mpi_ibarrier, mpi_ibarrier_, mpi_ibarrier__, MPI_IBARRIER, mpi_ibarrier_f08_;

    Profiled message Alltoallv: MPI_Ibcast(
        buffer: Received, count: Int, datatype: Type, root: Int, comm: Comm, request: Request
    ) => Moves::Other;
        mpi_ibcast, mpi_ibcast_, mpi_ibcast__, MPI_IBCAST, mpi_ibcast_f08_;

    Profiled message Alltoallv: MPI_Igather(
        sendbuf: Sent, sendcount: Int, sendtype: Type, recvbuf: Received, recvcount: Int, recvtype: Type, root: Int,
        comm: Comm, request: Request
    ) => Moves::Other;
        mpi_igather, mpi_igather_, mpi_igather__, MPI_IGATHER, mpi_igather_f08_;

    Profiled message Alltoallv: MPI_Igatherv(
        sendbuf: Sent, sendcount: Int, sendtype: Type, recvbuf: Received, recvcounts: Ints, displs: Ints, recvtype:
        Type, root: Int, comm: Comm, request: Request
    ) => Moves::Other;
        mpi_igatherv, mpi_igatherv_, mpi_igatherv__, MPI_IGATHERV, mpi_igatherv_f08_;

    Profiled message Alltoallv: MPI_Iscatter(
        sendbuf: Sent, sendcount: Int, sendtype: Type, recvbuf: Received, recvcount: Int, recvtype: Type, root: Int,
        comm: Comm, request: Request
    ) => Moves::Other;
        mpi_iscatter, mpi_iscatter_, mpi_iscatter__, MPI_ISCATTER, mpi_iscatter_f08_;

    Profiled message Alltoallv: MPI_Iscatterv(
        sendbuf: Sent, sendcounts: Ints, displs: Ints, sendtype: Type, recvbuf: Received, recvcount: Int, recvtype:
        Type, root: Int, comm: Comm, request: Request
    ) => Moves::Other;
        mpi_iscatterv, mpi_iscatterv_, mpi_iscatterv__, MPI_ISCATTERV, mpi_iscatterv_f08_;

    Profiled message Alltoallv: MPI_Iallgather(
        sendbuf: Sent, sendcount: Int, sendtype: Type, recvbuf: Received, recvcount: Int, recvtype: Type, comm: Comm,
        request: Request
    ) => Moves::Other;
        mpi_iallgather, mpi_iallgather_, mpi_iallgather__, MPI_IALLGATHER, mpi_iallgather_f08_;

    Profiled message Alltoallv: MPI_Iallgatherv(
        sendbuf: Sent, sendcount: Int, sendtype: Type, recvbuf: Received, recvcounts: Ints, displs: Ints, recvtype:
        Type, comm: Comm, request: Request
    ) => Moves::Other;
        mpi_iallgatherv, mpi_iallgatherv_, mpi_iallgatherv__, MPI_IALLGATHERV, mpi_iallgatherv_f08_;

    Profiled message Alltoallv: MPI_Ialltoall(
        sendbuf: Sent, sendcount: Int, sendtype: Type, recvbuf: Received, recvcount: Int, recvtype: Type, comm: Comm,
        request: Request
    ) => Moves::Other;
        mpi_ialltoall, mpi_ialltoall_, mpi_ialltoall__, MPI_IALLTOALL, mpi_ialltoall_f08_;

    Profiled message Alltoallv: MPI_Ialltoallw(
        sendbuf: Sent, sendcounts: Ints, sdispls: Ints, sendtypes: Any, recvbuf: Received, recvcounts: Ints, rdispls:
        Ints, recvtypes: Any, comm: Comm, request: Request
    ) => Moves::Other;
        mpi_ialltoallw, mpi_ialltoallw_, mpi_ialltoallw__, MPI_IALLTOALLW, mpi_ialltoallw_f08_;

    Profiled message Alltoallv: MPI_Ireduce(
        sendbuf: Sent, recvbuf: Received, count: Int, datatype: Type, op: Op, root: Int, comm: Comm, request: Request
    ) => Moves::Other;
        mpi_ireduce, mpi_ireduce_, mpi_ireduce__, MPI_IREDUCE, mpi_ireduce_f08_;

    Profiled message Alltoallv: MPI_Iallreduce(
        sendbuf: Sent, recvbuf: Received, count: Int, datatype: Type, op: Op, comm: Comm, request: Request
    ) => Moves::Other;
        mpi_iallreduce, mpi_iallreduce_, mpi_iallreduce__, MPI_IALLREDUCE, mpi_iallreduce_f08_;

    Profiled message Alltoallv: MPI_Ireduce_scatter(
        sendbuf: Sent, recvbuf: Received, recvcounts: Ints, datatype: Type, op: Op, comm: Comm, request: Request
    ) => Moves::Other;
        mpi_ireduce_scatter, mpi_ireduce_scatter_, mpi_ireduce_scatter__, MPI_IREDUCE_SCATTER, mpi_ireduce_scatter_f08_;

    Profiled message Alltoallv: MPI_Ireduce_scatter_block(
        sendbuf: Sent, recvbuf: Received, recvcount: Int, datatype: Type, op: Op, comm: Comm, request: Request
    ) => Moves::Other;
        mpi_ireduce_scatter_block, mpi_ireduce_scatter_block_, mpi_ireduce_scatter_block__, MPI_IREDUCE_SCATTER_BLOCK,
        mpi_ireduce_scatter_block_f08_;

    Profiled message Alltoallv: MPI_Iscan(
        sendbuf: Sent, recvbuf: Received, count: Int, datatype: Type, op: Op, comm: Comm, request: Request
    ) => Moves::Other;
        mpi_iscan, mpi_iscan_, mpi_iscan__, MPI_ISCAN, mpi_iscan_f08_;

    Profiled message Alltoallv: MPI_Iexscan(
        sendbuf: Sent, recvbuf: Received, count: Int, datatype: Type, op: Op, comm: Comm, request: Request
    ) => Moves::Other;
        mpi_iexscan, mpi_iexscan_, mpi_iexscan__, MPI_IEXSCAN, mpi_iexscan_f08_;

    Profiled message Alltoallv: MPI_Neighbor_allgather(
        sendbuf: Sent, sendcount: Int, sendtype: Type, recvbuf: Received, recvcount: Int, recvtype: Type, comm: Comm
    ) => Moves::Other;
        mpi_neighbor_allgather, mpi_neighbor_allgather_, mpi_neighbor_allgather__, MPI_NEIGHBOR_ALLGATHER,
        mpi_neighbor_allgather_f08_;

    Profiled message Alltoallv: MPI_Neighbor_allgatherv(
        sendbuf: Sent, sendcount: Int, sendtype: Type, recvbuf: Received, recvcounts: Ints, displs: Ints, recvtype:
        Type, comm: Comm
    ) => Moves::Other;
        mpi_neighbor_allgatherv, mpi_neighbor_allgatherv_, mpi_neighbor_allgatherv__, MPI_NEIGHBOR_ALLGATHERV,
        mpi_neighbor_allgatherv_f08_;

    Profiled message Alltoallv: MPI_Neighbor_alltoallw(
        sendbuf: Sent, sendcounts: Ints, sdispls: Any, sendtypes: Any, recvbuf: Received, recvcounts: Ints, rdispls:
        Any, recvtypes: Any, comm: Comm
    ) => Moves::Other;
        mpi_neighbor_alltoallw, mpi_neighbor_alltoallw_, mpi_neighbor_alltoallw__, MPI_NEIGHBOR_ALLTOALLW,
        mpi_neighbor_alltoallw_f08_;

    Profiled message Alltoallv: MPI_Ineighbor_allgather(
        sendbuf: Sent, sendcount: Int, sendtype: Type, recvbuf: Received, recvcount: Int, recvtype: Type, comm: Comm,
        request: Request
    ) => Moves::Other;
        mpi_ineighbor_allgather, mpi_ineighbor_allgather_, mpi_ineighbor_allgather__, MPI_INEIGHBOR_ALLGATHER,
        mpi_ineighbor_allgather_f08_;

    Profiled message Alltoallv: MPI_Ineighbor_allgatherv(
        sendbuf: Sent, sendcount: Int, sendtype: Type, recvbuf: Received, recvcounts: Ints, displs: Ints, recvtype:
        Type, comm: Comm, request: Request
    ) => Moves::Other;
        mpi_ineighbor_allgatherv, mpi_ineighbor_allgatherv_, mpi_ineighbor_allgatherv__, MPI_INEIGHBOR_ALLGATHERV,
        mpi_ineighbor_allgatherv_f08_;

    Profiled message Alltoallv: MPI_Ineighbor_alltoall(
        sendbuf: Sent, sendcount: Int, sendtype: Type, recvbuf: Received, recvcount: Int, recvtype: Type, comm: Comm,
        request: Request
    ) => Moves::Other;
        mpi_ineighbor_alltoall, mpi_ineighbor_alltoall_, mpi_ineighbor_alltoall__, MPI_INEIGHBOR_ALLTOALL,
        mpi_ineighbor_alltoall_f08_;

    Profiled message Alltoallv: MPI_Ineighbor_alltoallw(
        sendbuf: Sent, sendcounts: Ints, sdispls: Any, sendtypes: Any, recvbuf: Received, recvcounts: Ints, rdispls:
        Any, recvtypes: Any, comm: Comm, request: Request
    ) => Moves::Other;
        mpi_ineighbor_alltoallw, mpi_ineighbor_alltoallw_, mpi_ineighbor_alltoallw__, MPI_INEIGHBOR_ALLTOALLW,
        mpi_ineighbor_alltoallw_f08_;

    // Communicators and windows, which are made and ended with messages.
    Profiled message Alltoallv: MPI_Comm_dup(comm: Comm, newcomm: Any) => Moves::Other;
        mpi_comm_dup, mpi_comm_dup_, mpi_comm_dup__, MPI_COMM_DUP, mpi_comm_dup_f08_;

    Profiled message Alltoallv: MPI_Comm_split(comm: Comm, color: Int, key: Int, newcomm: Any) => Moves::Other;
        mpi_comm_split, mpi_comm_split_, mpi_comm_split__, MPI_COMM_SPLIT, mpi_comm_split_f08_;

    Profiled message Alltoallv: MPI_Comm_split_type(
        comm: Comm, split_type: Int, key: Int, info: Info, newcomm: Any
    ) => Moves::Other;
        mpi_comm_split_type, mpi_comm_split_type_, mpi_comm_split_type__, MPI_COMM_SPLIT_TYPE, mpi_comm_split_type_f08_;

    Profiled message Alltoallv: MPI_Comm_create(comm: Comm, group: Group, newcomm: Any) => Moves::Other;
        mpi_comm_create, mpi_comm_create_, mpi_comm_create__, MPI_COMM_CREATE, mpi_comm_create_f08_;

    Profiled message Alltoallv: MPI_Comm_create_group(comm: Comm, group: Group, tag: Int, newcomm: Any) => Moves::Other;
        mpi_comm_create_group, mpi_comm_create_group_, mpi_comm_create_group__, MPI_COMM_CREATE_GROUP,
        mpi_comm_create_group_f08_;

    Profiled message Alltoallv: MPI_Cart_create(
        old_comm: Comm, ndims: Int, dims: Ints, periods: Ints, reorder: Int, comm_cart: Any
    ) => Moves::Other;
        mpi_cart_create, mpi_cart_create_, mpi_cart_create__, MPI_CART_CREATE, mpi_cart_create_f08_;

    Profiled message Alltoallv: MPI_Dist_graph_create_adjacent(
        comm_old: Comm, indegree: Int, sources: Ints, sourceweights: Ints, outdegree: Int, destinations: Ints,
        destweights: Ints, info: Info, reorder: Int, comm_dist_graph: Any
    ) => Moves::Other;
        mpi_dist_graph_create_adjacent, mpi_dist_graph_create_adjacent_, mpi_dist_graph_create_adjacent__,
        MPI_DIST_GRAPH_CREATE_ADJACENT, mpi_dist_graph_create_adjacent_f08_;

    Profiled message Alltoallv: MPI_Intercomm_create(
        local_comm: Comm, local_leader: Int, bridge_comm: Comm, remote_leader: Int, tag: Int, newintercomm: Any
    ) => Moves::Other;
        mpi_intercomm_create, mpi_intercomm_create_, mpi_intercomm_create__, MPI_INTERCOMM_CREATE,
        mpi_intercomm_create_f08_;

    Profiled message Alltoallv: MPI_Win_create(
        base: Received, size: Aint, disp_unit: Int, info: Info, comm: Comm, win: Any
    ) => Moves::Other;
        mpi_win_create, mpi_win_create_, mpi_win_create__, MPI_WIN_CREATE, mpi_win_create_f08_;

    Profiled message Alltoallv: MPI_Win_allocate(
        size: Aint, disp_unit: Int, info: Info, comm: Comm, baseptr: Received, win: Any
    ) => Moves::Other;
        mpi_win_allocate, mpi_win_allocate_, mpi_win_allocate__, MPI_WIN_ALLOCATE, mpi_win_allocate_f08_;

    Profiled message Alltoallv: MPI_Win_fence(assert: Int, win: Win) => Moves::Other;
        mpi_win_fence, mpi_win_fence_, mpi_win_fence__, MPI_WIN_FENCE, mpi_win_fence_f08_;

    Profiled message Alltoallv: MPI_Win_free(win: Any) => Moves::Other;
        mpi_win_free, mpi_win_free_, mpi_win_free__, MPI_WIN_FREE, mpi_win_free_f08_;

    // One-sided calls.
    Profiled message Alltoallv: MPI_Put(
        origin_addr: Sent, origin_count: Int, origin_datatype: Type, target_rank: Int, target_disp: Aint, target_count:
        Int, target_datatype: Type, win: Win
    ) => Moves::Put(Elements { count: origin_count, datatype: origin_datatype }, target_rank, win);
        mpi_put, mpi_put_, mpi_put__, MPI_PUT, mpi_put_f08_;

    Profiled message Alltoallv: MPI_Rput(
        origin_addr: Sent, origin_count: Int, origin_datatype: Type, target_rank: Int, target_disp: Aint, target_cout:
        Int, target_datatype: Type, win: Win, request: Request
    ) => Moves::Put(Elements { count: origin_count, datatype: origin_datatype }, target_rank, win);
        mpi_rput, mpi_rput_, mpi_rput__, MPI_RPUT, mpi_rput_f08_;

    Profiled message Alltoallv: MPI_Get(
        origin_addr: Received, origin_count: Int, origin_datatype: Type, target_rank: Int, target_disp: Aint,
        target_count: Int, target_datatype: Type, win: Win
    ) => Moves::Get(Elements { count: origin_count, datatype: origin_datatype }, target_rank, win);
        mpi_get, mpi_get_, mpi_get__, MPI_GET, mpi_get_f08_;

    Profiled message Alltoallv: MPI_Rget(
        origin_addr: Received, origin_count: Int, origin_datatype: Type, target_rank: Int, target_disp: Aint,
        target_count: Int, target_datatype: Type, win: Win, request: Request
    ) => Moves::Get(Elements { count: origin_count, datatype: origin_datatype }, target_rank, win);
        mpi_rget, mpi_rget_, mpi_rget__, MPI_RGET, mpi_rget_f08_;

    Profiled message Alltoallv: MPI_Accumulate(
        origin_addr: Sent, origin_count: Int, origin_datatype: Type, target_rank: Int, target_disp: Aint, target_count:
        Int, target_datatype: Type, op: Op, win: Win
    ) => Moves::Put(Elements { count: origin_count, datatype: origin_datatype }, target_rank, win);
        mpi_accumulate, mpi_accumulate_, mpi_accumulate__, MPI_ACCUMULATE, mpi_accumulate_f08_;

    Profiled message Alltoallv: MPI_Raccumulate(
        origin_addr: Sent, origin_count: Int, origin_datatype: Type, target_rank: Int, target_disp: Aint, target_count:
        Int, target_datatype: Type, op: Op, win: Win, request: Request
    ) => Moves::Put(Elements { count: origin_count, datatype: origin_datatype }, target_rank, win);
        mpi_raccumulate, mpi_raccumulate_, mpi_raccumulate__, MPI_RACCUMULATE, mpi_raccumulate_f08_;

    Profiled message Alltoallv: MPI_Get_accumulate(
        origin_addr: Sent, origin_count: Int, origin_datatype: Type, result_addr: Received, result_count: Int,
        result_datatype: Type, target_rank: Int, target_disp: Aint, target_count: Int, target_datatype: Type, op: Op,
        win: Win
    ) => Moves::Other;
        mpi_get_accumulate, mpi_get_accumulate_, mpi_get_accumulate__, MPI_GET_ACCUMULATE, mpi_get_accumulate_f08_;

    Profiled message Alltoallv: MPI_Rget_accumulate(
        origin_addr: Sent, origin_count: Int, origin_datatype: Type, result_addr: Received, result_count: Int,
        result_datatype: Type, target_rank: Int, target_disp: Aint, target_count: Int, target_datatype: Type, op: Op,
        win: Win, request: Request
    ) => Moves::Other;
        mpi_rget_accumulate, mpi_rget_accumulate_, mpi_rget_accumulate__, MPI_RGET_ACCUMULATE, mpi_rget_accumulate_f08_;

    Profiled message Alltoallv: MPI_Fetch_and_op(
        origin_addr: Sent, result_addr: Received, datatype: Type, target_rank: Int, target_disp: Aint, op: Op, win: Win
    ) => Moves::Other;
        mpi_fetch_and_op, mpi_fetch_and_op_, mpi_fetch_and_op__, MPI_FETCH_AND_OP, mpi_fetch_and_op_f08_;

    Profiled message Alltoallv: MPI_Compare_and_swap(
        origin_addr: Sent, compare_addr: Sent, result_addr: Received, datatype: Type, target_rank: Int, target_disp:
        Aint, win: Win
    ) => Moves::Other;
        mpi_compare_and_swap, mpi_compare_and_swap_, mpi_compare_and_swap__, MPI_COMPARE_AND_SWAP,
        mpi_compare_and_swap_f08_;

    // Files. What is sent to open one belongs to that call; Fortran's has the length of the name behind its arguments, and is left to MPI.
    Profiled message Alltoallv: MPI_File_open(comm: Comm, filename: Any, amode: Int, info: Info, fh: Any) => Moves::Other; ;

    Profiled message Alltoallv: MPI_File_close(fh: Any) => Moves::Other;
        mpi_file_close, mpi_file_close_, mpi_file_close__, MPI_FILE_CLOSE, mpi_file_close_f08_;

    Profiled file Alltoallv: MPI_File_read(fh: File, buf: Received, count: Int, datatype: Type, status: Any) =>
        Moves::Read(Elements { count, datatype });
        mpi_file_read, mpi_file_read_, mpi_file_read__, MPI_FILE_READ, mpi_file_read_f08_;

    Profiled file Alltoallv: MPI_File_write(fh: File, buf: Sent, count: Int, datatype: Type, status: Any) =>
        Moves::Write(Elements { count, datatype });
        mpi_file_write, mpi_file_write_, mpi_file_write__, MPI_FILE_WRITE, mpi_file_write_f08_;

    Profiled file Alltoallv: MPI_File_read_at(
        fh: File, offset: Offset, buf: Received, count: Int, datatype: Type, status: Any
    ) => Moves::Read(Elements { count, datatype });
        mpi_file_read_at, mpi_file_read_at_, mpi_file_read_at__, MPI_FILE_READ_AT, mpi_file_read_at_f08_;

    Profiled file Alltoallv: MPI_File_write_at(
        fh: File, offset: Offset, buf: Sent, count: Int, datatype: Type, status: Any
    ) => Moves::Write(Elements { count, datatype });
        mpi_file_write_at, mpi_file_write_at_, mpi_file_write_at__, MPI_FILE_WRITE_AT, mpi_file_write_at_f08_;

    Profiled file Alltoallv: MPI_File_read_all(fh: File, buf: Received, count: Int, datatype: Type, status: Any) =>
        Moves::Read(Elements { count, datatype });
        mpi_file_read_all, mpi_file_read_all_, mpi_file_read_all__, MPI_FILE_READ_ALL, mpi_file_read_all_f08_;

    Profiled file Alltoallv: MPI_File_write_all(fh: File, buf: Sent, count: Int, datatype: Type, status: Any) =>
        Moves::Write(Elements { count, datatype });
        mpi_file_write_all, mpi_file_write_all_, mpi_file_write_all__, MPI_FILE_WRITE_ALL, mpi_file_write_all_f08_;

    Profiled file Alltoallv: MPI_File_read_at_all(
        fh: File, offset: Offset, buf: Received, count: Int, datatype: Type, status: Any
    ) => Moves::Read(Elements { count, datatype });
        mpi_file_read_at_all, mpi_file_read_at_all_, mpi_file_read_at_all__, MPI_FILE_READ_AT_ALL,
        mpi_file_read_at_all_f08_;

    Profiled file Alltoallv: MPI_File_write_at_all(
        fh: File, offset: Offset, buf: Sent, count: Int, datatype: Type, status: Any
    ) => Moves::Write(Elements { count, datatype });
        mpi_file_write_at_all, mpi_file_write_at_all_, mpi_file_write_at_all__, MPI_FILE_WRITE_AT_ALL,
        mpi_file_write_at_all_f08_;

    Profiled file Alltoallv: MPI_File_read_shared(
        fh: File, buf: Received, count: Int, datatype: Type, status: Any
    ) => Moves::Read(Elements { count, datatype });
        mpi_file_read_shared, mpi_file_read_shared_, mpi_file_read_shared__, MPI_FILE_READ_SHARED,
        mpi_file_read_shared_f08_;

    Profiled file Alltoallv: MPI_File_write_shared(fh: File, buf: Sent, count: Int, datatype: Type, status: Any) =>
        Moves::Write(Elements { count, datatype });
        mpi_file_write_shared, mpi_file_write_shared_, mpi_file_write_shared__, MPI_FILE_WRITE_SHARED,
        mpi_file_write_shared_f08_;

    Profiled file Alltoallv: MPI_File_read_ordered(
        fh: File, buf: Received, count: Int, datatype: Type, status: Any
    ) => Moves::Read(Elements { count, datatype });
        mpi_file_read_ordered, mpi_file_read_ordered_, mpi_file_read_ordered__, MPI_FILE_READ_ORDERED,
        mpi_file_read_ordered_f08_;

    Profiled file Alltoallv: MPI_File_write_ordered(
        fh: File, buf: Sent, count: Int, datatype: Type, status: Any
    ) => Moves::Write(Elements { count, datatype });
        mpi_file_write_ordered, mpi_file_write_ordered_, mpi_file_write_ordered__, MPI_FILE_WRITE_ORDERED,
        mpi_file_write_ordered_f08_;

    Profiled file Alltoallv: MPI_File_iread(
        fh: File, buf: Received, count: Int, datatype: Type, request: Request
    ) => Moves::Read(Elements { count, datatype });
        mpi_file_iread, mpi_file_iread_, mpi_file_iread__, MPI_FILE_IREAD, mpi_file_iread_f08_;

    Profiled file Alltoallv: MPI_File_iwrite(fh: File, buf: Sent, count: Int, datatype: Type, request: Request) =>
        Moves::Write(Elements { count, datatype });
        mpi_file_iwrite, mpi_file_iwrite_, mpi_file_iwrite__, MPI_FILE_IWRITE, mpi_file_iwrite_f08_;

    Profiled file Alltoallv: MPI_File_iread_at(
        fh: File, offset: Offset, buf: Received, count: Int, datatype: Type, request: Request
    ) => Moves::Read(Elements { count, datatype });
        mpi_file_iread_at, mpi_file_iread_at_, mpi_file_iread_at__, MPI_FILE_IREAD_AT, mpi_file_iread_at_f08_;

    Profiled file Alltoallv: MPI_File_iwrite_at(
        fh: File, offset: Offset, buf: Sent, count: Int, datatype: Type, request: Request
    ) => Moves::Write(Elements { count, datatype });
        mpi_file_iwrite_at, mpi_file_iwrite_at_, mpi_file_iwrite_at__, MPI_FILE_IWRITE_AT, mpi_file_iwrite_at_f08_;

    Profiled file Alltoallv: MPI_File_iread_all(
        fh: File, buf: Received, count: Int, datatype: Type, request: Request
    ) => Moves::Read(Elements { count, datatype });
        mpi_file_iread_all, mpi_file_iread_all_, mpi_file_iread_all__, MPI_FILE_IREAD_ALL, mpi_file_iread_all_f08_;

    Profiled file Alltoallv: MPI_File_iwrite_all(
        fh: File, buf: Sent, count: Int, datatype: Type, request: Request
    ) => Moves::Write(Elements { count, datatype });
        mpi_file_iwrite_all, mpi_file_iwrite_all_, mpi_file_iwrite_all__, MPI_FILE_IWRITE_ALL, mpi_file_iwrite_all_f08_;

    Profiled file Alltoallv: MPI_File_iread_at_all(
        fh: File, offset: Offset, buf: Received, count: Int, datatype: Type, request: Request
    ) => Moves::Read(Elements { count, datatype });
        mpi_file_iread_at_all, mpi_file_iread_at_all_, mpi_file_iread_at_all__, MPI_FILE_IREAD_AT_ALL,
        mpi_file_iread_at_all_f08_;

    Profiled file Alltoallv: MPI_File_iwrite_at_all(
        fh: File, offset: Offset, buf: Sent, count: Int, datatype: Type, request: Request
    ) => Moves::Write(Elements { count, datatype });
        mpi_file_iwrite_at_all, mpi_file_iwrite_at_all_, mpi_file_iwrite_at_all__, MPI_FILE_IWRITE_AT_ALL,
        mpi_file_iwrite_at_all_f08_;

    Profiled file Alltoallv: MPI_File_iread_shared(
        fh: File, buf: Received, count: Int, datatype: Type, request: Request
    ) => Moves::Read(Elements { count, datatype });
        mpi_file_iread_shared, mpi_file_iread_shared_, mpi_file_iread_shared__, MPI_FILE_IREAD_SHARED,
        mpi_file_iread_shared_f08_;

    Profiled file Alltoallv: MPI_File_iwrite_shared(
        fh: File, buf: Sent, count: Int, datatype: Type, request: Request
    ) => Moves::Write(Elements { count, datatype });
        mpi_file_iwrite_shared, mpi_file_iwrite_shared_, mpi_file_iwrite_shared__, MPI_FILE_IWRITE_SHARED,
        mpi_file_iwrite_shared_f08_;

    Profiled file Alltoallv: MPI_File_read_all_begin(fh: File, buf: Received, count: Int, datatype: Type) =>
        Moves::Read(Elements { count, datatype });
        mpi_file_read_all_begin, mpi_file_read_all_begin_, mpi_file_read_all_begin__, MPI_FILE_READ_ALL_BEGIN,
        mpi_file_read_all_begin_f08_;

    Profiled file Alltoallv: MPI_File_write_all_begin(fh: File, buf: Sent, count: Int, datatype: Type) =>
        Moves::Write(Elements { count, datatype });
        mpi_file_write_all_begin, mpi_file_write_all_begin_, mpi_file_write_all_begin__, MPI_FILE_WRITE_ALL_BEGIN,
        mpi_file_write_all_begin_f08_;

    Profiled file Alltoallv: MPI_File_read_at_all_begin(
        fh: File, offset: Offset, buf: Received, count: Int, datatype: Type
    ) => Moves::Read(Elements { count, datatype });
        mpi_file_read_at_all_begin, mpi_file_read_at_all_begin_, mpi_file_read_at_all_begin__,
        MPI_FILE_READ_AT_ALL_BEGIN, mpi_file_read_at_all_begin_f08_;

    Profiled file Alltoallv: MPI_File_write_at_all_begin(
        fh: File, offset: Offset, buf: Sent, count: Int, datatype: Type
    ) => Moves::Write(Elements { count, datatype });
        mpi_file_write_at_all_begin, mpi_file_write_at_all_begin_, mpi_file_write_at_all_begin__,
        MPI_FILE_WRITE_AT_ALL_BEGIN, mpi_file_write_at_all_begin_f08_;

    Profiled file Alltoallv: MPI_File_read_ordered_begin(fh: File, buf: Received, count: Int, datatype: Type) =>
        Moves::Read(Elements { count, datatype });
        mpi_file_read_ordered_begin, mpi_file_read_ordered_begin_, mpi_file_read_ordered_begin__,
        MPI_FILE_READ_ORDERED_BEGIN, mpi_file_read_ordered_begin_f08_;

    Profiled file Alltoallv: MPI_File_write_ordered_begin(fh: File, buf: Sent, count: Int, datatype: Type) =>
        Moves::Write(Elements { count, datatype });
        mpi_file_write_ordered_begin, mpi_file_write_ordered_begin_, mpi_file_write_ordered_begin__,
        MPI_FILE_WRITE_ORDERED_BEGIN, mpi_file_write_ordered_begin_f08_;
}
