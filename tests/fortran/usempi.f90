! The self-checks with the module mpi: communicators and datatypes are integers.
program usempi
  use, intrinsic :: iso_fortran_env, only: error_unit, int8, int64
  use mpi
  use optiq
  implicit none
  integer :: comm = MPI_COMM_WORLD, info, datatype, file, status(MPI_STATUS_SIZE)
  type(optiq_jobs) :: nothing
  include 'body.inc'
end program
