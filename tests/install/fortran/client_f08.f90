! That the module for mpi_f08 is compiled and found; prints "client: all bytes are right" on rank 0.
program client_f08
  use mpi_f08
  use optiq_f08
  implicit none
  integer :: rank, ranks, ierror
  integer, allocatable :: counts(:), displs(:), sendbuf(:), recvbuf(:)

  call optiq_init(ierror)
  if (ierror /= 0) error stop 1
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  allocate(counts(ranks), displs(ranks), sendbuf(ranks), recvbuf(ranks))
  counts = 1
  displs = [(ierror, ierror = 0, ranks - 1)]
  sendbuf = rank
  recvbuf = -1
  call optiq_alltoallv(sendbuf, counts, displs, MPI_INTEGER, recvbuf, counts, displs, MPI_INTEGER, MPI_COMM_WORLD, ierror)
  if (ierror /= 0) error stop 1
  if (any(recvbuf /= displs)) error stop 1
  if (rank == 0) print '(a)', 'client: all bytes are right'
  call optiq_finalize(ierror)
end program
