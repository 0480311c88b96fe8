program usempi
    use mpi
    implicit none
    integer :: rank, ranks, ierr, i, j, n, round, all, wrong = 0
    integer :: absolute
    integer :: ring
    integer(kind=MPI_ADDRESS_KIND) :: address
    integer, allocatable :: sc(:), sd(:), rc(:), rd(:), zero(:)
    integer, allocatable, asynchronous :: from(:), into(:)
    include 'body.inc'
    call MPI_Finalize(ierr)
end program
