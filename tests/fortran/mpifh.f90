! The self-checks with mpif.h: communicators and datatypes are integers.
program mpifh
  use, intrinsic :: iso_fortran_env, only: error_unit, int8, int64
  use optiq
  implicit none
  include 'mpif.h'
  integer :: comm = MPI_COMM_WORLD, info, datatype, file, status(MPI_STATUS_SIZE)
  type(optiq_jobs) :: nothing
  include 'body.inc'
end program
