! The self-checks with the module mpi_f08: communicators and datatypes have types of their own.
program usempif08
  use, intrinsic :: iso_fortran_env, only: error_unit, int8, int64
  use mpi_f08
  use optiq_f08
  implicit none
  type(MPI_Comm) :: comm = MPI_COMM_WORLD
  type(MPI_Info) :: info
  type(MPI_Datatype) :: datatype
  type(MPI_File) :: file
  type(MPI_Status) :: status
  type(optiq_jobs) :: nothing
  include 'body.inc'
end program
