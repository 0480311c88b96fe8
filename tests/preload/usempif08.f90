program usempif08
    use mpi_f08
    implicit none
    integer :: rank, ranks, ierr, i, j, n, round, all, wrong = 0
    type(MPI_Datatype) :: absolute
    type(MPI_Comm) :: ring
    integer(kind=MPI_ADDRESS_KIND) :: address
    integer, allocatable :: sc(:), sd(:), rc(:), rd(:), zero(:)
    integer, allocatable, asynchronous :: from(:), into(:)
    include 'body.inc'
    ! The error argument is optional here.
    allocate(from(ranks), into(ranks))
    from = rank
    do i = 0, ranks - 1
        sc(i) = 1
        sd(i) = i
    end do
    call MPI_Alltoallv(from, sc, sd, MPI_INTEGER, into, sc, sd, MPI_INTEGER, MPI_COMM_WORLD)
    do i = 1, ranks
        if (into(i) /= i - 1) error stop 'wrong without ierror'
    end do
    call MPI_Finalize()
end program
