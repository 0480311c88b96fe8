! The thesis's source example 1 in Fortran: an exchange with MPI_Alltoallv, and the same one with optiq_alltoallv.
!
!   mpifort optiq.f90 optiq_f08.f90 alltoallv.f90 -o alltoallv -loptiq        (docs/book/src/fortran.md)
!   OPTIQ_TOPOLOGY=star:2 OPTIQ_PLACEMENT=rank mpirun -n 2 ./alltoallv
!
! Prints, on rank 0, what served the exchange; exits with 1 if a byte is wrong.
program alltoallv
  use mpi_f08
  use optiq_f08
  implicit none
  integer :: bytes, rank, ranks, sources, targets, each, source, target, i, iostat
  integer, allocatable :: sendcounts(:), senddispls(:), recvcounts(:), recvdispls(:)
  character(1), allocatable :: sendbuf(:), recvbuf(:), expected(:)
  character(32) :: argument
  logical :: differs, wrong

  call get_command_argument(1, argument)
  read (argument, *, iostat=iostat) bytes
  if (iostat /= 0) bytes = 2**20

  ! Initialise OPTIQ once at the beginning; it initialises MPI if that is not done yet. Without an error argument, a call
  ! that fails says why and ends the program.
  call optiq_init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)

  ! The first quarter of the ranks sends to the last half.
  sources = max(1, ranks / 4)
  targets = ranks - ranks / 2
  each = targets / sources
  allocate (sendcounts(0:ranks - 1), recvcounts(0:ranks - 1), source=0)
  do source = 0, sources - 1
    do target = ranks / 2 + source * each, ranks / 2 + (source + 1) * each - 1
      if (target == source) cycle
      if (rank == source) sendcounts(target) = bytes
      if (rank == target) recvcounts(source) = bytes
    end do
  end do
  allocate (senddispls(0:ranks - 1), recvdispls(0:ranks - 1))
  senddispls = [(sum(sendcounts(:i - 1)), i = 0, ranks - 1)]
  recvdispls = [(sum(recvcounts(:i - 1)), i = 0, ranks - 1)]
  allocate (sendbuf(sum(sendcounts)), recvbuf(sum(recvcounts)), expected(sum(recvcounts)))
  do i = 1, size(sendbuf)
    sendbuf(i) = char(mod(rank * 31 + mod(i, 1009) * 7, 128))
  end do
  recvbuf = ' '

  ! In MPI:
  call MPI_Alltoallv(sendbuf, sendcounts, senddispls, MPI_CHARACTER, expected, recvcounts, recvdispls, MPI_CHARACTER, &
      MPI_COMM_WORLD)
  ! In OPTIQ:
  call optiq_alltoallv(sendbuf, sendcounts, senddispls, MPI_CHARACTER, recvbuf, recvcounts, recvdispls, MPI_CHARACTER, &
      MPI_COMM_WORLD)

  differs = any(recvbuf /= expected)
  call MPI_Allreduce(differs, wrong, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD)
  if (rank == 0) then
    if (wrong) print '(2a)', 'WRONG BYTES; served by ', optiq_last_decision()
    if (.not. wrong) print '(2a)', 'all bytes are right; served by ', optiq_last_decision()
  end if

  ! Finalise OPTIQ once at the end; it finalises MPI, because it initialised it.
  call optiq_finalize()
  if (wrong) stop 1
end program
