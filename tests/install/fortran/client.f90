! The C client in Fortran: every rank sends every other one a piece of a length and with contents of its own, and checks
! what arrives. Prints on rank 0 "client: all bytes are right", and stops with 1 if a word is wrong.
program client
  use mpi
  use optiq
  implicit none
  integer :: rank, ranks, ierror, other, i, sends, receives, wrong, all_wrong
  integer, allocatable :: sendcounts(:), sdispls(:), recvcounts(:), rdispls(:), sendbuf(:), recvbuf(:)

  call optiq_init(ierror)
  call check(ierror, 'optiq_init')
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  allocate(sendcounts(ranks), sdispls(ranks), recvcounts(ranks), rdispls(ranks))
  sends = 0
  receives = 0
  do other = 0, ranks - 1
    sdispls(other + 1) = sends
    rdispls(other + 1) = receives
    sendcounts(other + 1) = length(rank, other)
    recvcounts(other + 1) = length(other, rank)
    sends = sends + sendcounts(other + 1)
    receives = receives + recvcounts(other + 1)
  end do
  allocate(sendbuf(sends), recvbuf(receives))
  recvbuf = -1
  do other = 0, ranks - 1
    do i = 1, sendcounts(other + 1)
      sendbuf(sdispls(other + 1) + i) = content(rank, other, i)
    end do
  end do

  call optiq_alltoallv(sendbuf, sendcounts, sdispls, MPI_INTEGER, recvbuf, recvcounts, rdispls, MPI_INTEGER, &
                       MPI_COMM_WORLD, ierror)
  call check(ierror, 'optiq_alltoallv')

  wrong = 0
  do other = 0, ranks - 1
    do i = 1, recvcounts(other + 1)
      if (recvbuf(rdispls(other + 1) + i) /= content(other, rank, i)) wrong = 1
    end do
  end do
  call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierror)
  if (rank == 0 .and. all_wrong == 0) print '(a)', 'client: all bytes are right'
  call optiq_finalize(ierror)
  call check(ierror, 'optiq_finalize')
  if (all_wrong /= 0) error stop 1

contains

  integer function length(from, to)
    integer, intent(in) :: from, to
    length = merge(0, 25000 + 1000 * from + 10 * to, from == to)
  end function length

  integer function content(from, to, i)
    integer, intent(in) :: from, to, i
    content = from * 1000003 + to * 10007 + i
  end function content

  subroutine check(status, what)
    integer, intent(in) :: status
    character(*), intent(in) :: what
    integer :: code
    if (status /= 0) then
      print *, what, ' failed with status ', status
      call MPI_Abort(MPI_COMM_WORLD, 1, code)
    end if
  end subroutine check

end program client
