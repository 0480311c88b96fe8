! The module optiq with communicators, datatypes and info objects of mpi_f08: the same names, and everything else of optiq.
module optiq_f08
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t
  use mpi_f08, only: MPI_Comm, MPI_Datatype, MPI_File, MPI_Info, MPI_Status
  use optiq
  implicit none
  public

  interface optiq_alltoallv
    module procedure alltoallv_f08_i32, alltoallv_f08_i64
  end interface
  interface optiq_alltoallv_init
    module procedure alltoallv_init_f08_i32, alltoallv_init_f08_i64
  end interface
  interface optiq_ialltoallv
    module procedure ialltoallv_f08_i32, ialltoallv_f08_i64
  end interface
  interface optiq_alltoallv_init_class
    module procedure alltoallv_init_class_f08_i32, alltoallv_init_class_f08_i64
  end interface
  interface optiq_ialltoallv_class
    module procedure ialltoallv_class_f08_i32, ialltoallv_class_f08_i64
  end interface
  interface optiq_comm_set_option
    module procedure comm_set_option_f08
  end interface
  interface optiq_comm_set_info
    module procedure comm_set_info_f08
  end interface
  interface optiq_file_write_at_all
    module procedure file_write_at_all_f08
  end interface
  interface optiq_file_read_at_all
    module procedure file_read_at_all_f08
  end interface
  interface optiq_execute_jobs
    module procedure execute_jobs_f08
  end interface
  interface optiq_execute_jobs_from_file
    module procedure execute_jobs_from_file_f08_i32, execute_jobs_from_file_f08_i64
  end interface
  interface optiq_topology_init
    module procedure topology_init_f08
  end interface
  interface optiq_transport_init
    module procedure transport_init_f08
  end interface

  private :: alltoallv_f08_i32, alltoallv_f08_i64, alltoallv_init_f08_i32, alltoallv_init_f08_i64
  private :: alltoallv_init_class_f08_i32, alltoallv_init_class_f08_i64, ialltoallv_class_f08_i32, ialltoallv_class_f08_i64
  private :: ialltoallv_f08_i32, ialltoallv_f08_i64, comm_set_option_f08, comm_set_info_f08, execute_jobs_f08
  private :: execute_jobs_from_file_f08_i32, execute_jobs_from_file_f08_i64, topology_init_f08
  private :: transport_init_f08, file_write_at_all_f08, file_read_at_all_f08

  private :: c_file_write_at_all, c_file_read_at_all

  ! In memory, a status of mpi_f08 is the integers that it is elsewhere.
  interface
    function c_file_write_at_all(fh, offset, buf, count, datatype, status) &
        bind(C, name="optiq_fortran_file_write_at_all") result(code)
      import :: c_int, c_int64_t, MPI_Status
      !GCC$ attributes no_arg_check :: buf
      !DEC$ attributes no_arg_check :: buf
      !DIR$ ignore_tkr buf
      integer(c_int), value :: fh, count, datatype
      integer(c_int64_t), value :: offset
      type(*), dimension(*), intent(in) :: buf
      type(MPI_Status) :: status
      integer(c_int) :: code
    end function
    function c_file_read_at_all(fh, offset, buf, count, datatype, status) &
        bind(C, name="optiq_fortran_file_read_at_all") result(code)
      import :: c_int, c_int64_t, MPI_Status
      !GCC$ attributes no_arg_check :: buf
      !DEC$ attributes no_arg_check :: buf
      !DIR$ ignore_tkr buf
      integer(c_int), value :: fh, count, datatype
      integer(c_int64_t), value :: offset
      type(*), dimension(*) :: buf
      type(MPI_Status) :: status
      integer(c_int) :: code
    end function
  end interface

contains

  subroutine alltoallv_f08_i32(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, &
      comm, ierror)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DEC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    type(*), dimension(*), intent(in) :: sendbuf
    integer(c_int), dimension(*), intent(in) :: sendcounts, sdispls, recvcounts, rdispls
    type(MPI_Datatype), intent(in) :: sendtype, recvtype
    type(*), dimension(*) :: recvbuf
    type(MPI_Comm), intent(in) :: comm
    integer(c_int), intent(out), optional :: ierror
    call optiq_alltoallv(sendbuf, sendcounts, sdispls, sendtype%MPI_VAL, recvbuf, recvcounts, rdispls, &
        recvtype%MPI_VAL, comm%MPI_VAL, ierror)
  end subroutine

  subroutine alltoallv_f08_i64(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, &
      comm, ierror)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DEC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    type(*), dimension(*), intent(in) :: sendbuf
    integer(c_int64_t), dimension(*), intent(in) :: sendcounts, sdispls, recvcounts, rdispls
    type(MPI_Datatype), intent(in) :: sendtype, recvtype
    type(*), dimension(*) :: recvbuf
    type(MPI_Comm), intent(in) :: comm
    integer(c_int), intent(out), optional :: ierror
    call optiq_alltoallv(sendbuf, sendcounts, sdispls, sendtype%MPI_VAL, recvbuf, recvcounts, rdispls, &
        recvtype%MPI_VAL, comm%MPI_VAL, ierror)
  end subroutine

  subroutine alltoallv_init_f08_i32(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, &
      comm, request, ierror)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DEC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    type(*), dimension(*), intent(in), asynchronous :: sendbuf
    integer(c_int), dimension(*), intent(in) :: sendcounts, sdispls, recvcounts, rdispls
    type(MPI_Datatype), intent(in) :: sendtype, recvtype
    type(*), dimension(*), asynchronous :: recvbuf
    type(MPI_Comm), intent(in) :: comm
    type(optiq_request), intent(out) :: request
    integer(c_int), intent(out), optional :: ierror
    call optiq_alltoallv_init(sendbuf, sendcounts, sdispls, sendtype%MPI_VAL, recvbuf, recvcounts, rdispls, &
        recvtype%MPI_VAL, comm%MPI_VAL, request, ierror)
  end subroutine

  subroutine alltoallv_init_f08_i64(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, &
      comm, request, ierror)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DEC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    type(*), dimension(*), intent(in), asynchronous :: sendbuf
    integer(c_int64_t), dimension(*), intent(in) :: sendcounts, sdispls, recvcounts, rdispls
    type(MPI_Datatype), intent(in) :: sendtype, recvtype
    type(*), dimension(*), asynchronous :: recvbuf
    type(MPI_Comm), intent(in) :: comm
    type(optiq_request), intent(out) :: request
    integer(c_int), intent(out), optional :: ierror
    call optiq_alltoallv_init(sendbuf, sendcounts, sdispls, sendtype%MPI_VAL, recvbuf, recvcounts, rdispls, &
        recvtype%MPI_VAL, comm%MPI_VAL, request, ierror)
  end subroutine

  subroutine ialltoallv_f08_i32(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, &
      comm, request, ierror)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DEC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    type(*), dimension(*), intent(in), asynchronous :: sendbuf
    integer(c_int), dimension(*), intent(in) :: sendcounts, sdispls, recvcounts, rdispls
    type(MPI_Datatype), intent(in) :: sendtype, recvtype
    type(*), dimension(*), asynchronous :: recvbuf
    type(MPI_Comm), intent(in) :: comm
    type(optiq_request), intent(out) :: request
    integer(c_int), intent(out), optional :: ierror
    call optiq_ialltoallv(sendbuf, sendcounts, sdispls, sendtype%MPI_VAL, recvbuf, recvcounts, rdispls, &
        recvtype%MPI_VAL, comm%MPI_VAL, request, ierror)
  end subroutine

  subroutine ialltoallv_f08_i64(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, &
      comm, request, ierror)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DEC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    type(*), dimension(*), intent(in), asynchronous :: sendbuf
    integer(c_int64_t), dimension(*), intent(in) :: sendcounts, sdispls, recvcounts, rdispls
    type(MPI_Datatype), intent(in) :: sendtype, recvtype
    type(*), dimension(*), asynchronous :: recvbuf
    type(MPI_Comm), intent(in) :: comm
    type(optiq_request), intent(out) :: request
    integer(c_int), intent(out), optional :: ierror
    call optiq_ialltoallv(sendbuf, sendcounts, sdispls, sendtype%MPI_VAL, recvbuf, recvcounts, rdispls, &
        recvtype%MPI_VAL, comm%MPI_VAL, request, ierror)
  end subroutine

  subroutine alltoallv_init_class_f08_i32(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, &
      priority_class, comm, request, ierror)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DEC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    type(*), dimension(*), intent(in), asynchronous :: sendbuf
    integer(c_int), dimension(*), intent(in) :: sendcounts, sdispls, recvcounts, rdispls
    type(MPI_Datatype), intent(in) :: sendtype, recvtype
    integer(c_int), intent(in) :: priority_class
    type(*), dimension(*), asynchronous :: recvbuf
    type(MPI_Comm), intent(in) :: comm
    type(optiq_request), intent(out) :: request
    integer(c_int), intent(out), optional :: ierror
    call optiq_alltoallv_init_class(sendbuf, sendcounts, sdispls, sendtype%MPI_VAL, recvbuf, recvcounts, rdispls, &
        recvtype%MPI_VAL, priority_class, comm%MPI_VAL, request, ierror)
  end subroutine

  subroutine alltoallv_init_class_f08_i64(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, &
      priority_class, comm, request, ierror)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DEC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    type(*), dimension(*), intent(in), asynchronous :: sendbuf
    integer(c_int64_t), dimension(*), intent(in) :: sendcounts, sdispls, recvcounts, rdispls
    type(MPI_Datatype), intent(in) :: sendtype, recvtype
    integer(c_int), intent(in) :: priority_class
    type(*), dimension(*), asynchronous :: recvbuf
    type(MPI_Comm), intent(in) :: comm
    type(optiq_request), intent(out) :: request
    integer(c_int), intent(out), optional :: ierror
    call optiq_alltoallv_init_class(sendbuf, sendcounts, sdispls, sendtype%MPI_VAL, recvbuf, recvcounts, rdispls, &
        recvtype%MPI_VAL, priority_class, comm%MPI_VAL, request, ierror)
  end subroutine

  subroutine ialltoallv_class_f08_i32(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, &
      priority_class, comm, request, ierror)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DEC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    type(*), dimension(*), intent(in), asynchronous :: sendbuf
    integer(c_int), dimension(*), intent(in) :: sendcounts, sdispls, recvcounts, rdispls
    type(MPI_Datatype), intent(in) :: sendtype, recvtype
    integer(c_int), intent(in) :: priority_class
    type(*), dimension(*), asynchronous :: recvbuf
    type(MPI_Comm), intent(in) :: comm
    type(optiq_request), intent(out) :: request
    integer(c_int), intent(out), optional :: ierror
    call optiq_ialltoallv_class(sendbuf, sendcounts, sdispls, sendtype%MPI_VAL, recvbuf, recvcounts, rdispls, &
        recvtype%MPI_VAL, priority_class, comm%MPI_VAL, request, ierror)
  end subroutine

  subroutine ialltoallv_class_f08_i64(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, &
      priority_class, comm, request, ierror)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DEC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    type(*), dimension(*), intent(in), asynchronous :: sendbuf
    integer(c_int64_t), dimension(*), intent(in) :: sendcounts, sdispls, recvcounts, rdispls
    type(MPI_Datatype), intent(in) :: sendtype, recvtype
    integer(c_int), intent(in) :: priority_class
    type(*), dimension(*), asynchronous :: recvbuf
    type(MPI_Comm), intent(in) :: comm
    type(optiq_request), intent(out) :: request
    integer(c_int), intent(out), optional :: ierror
    call optiq_ialltoallv_class(sendbuf, sendcounts, sdispls, sendtype%MPI_VAL, recvbuf, recvcounts, rdispls, &
        recvtype%MPI_VAL, priority_class, comm%MPI_VAL, request, ierror)
  end subroutine

  subroutine comm_set_option_f08(comm, name, value, ierror)
    type(MPI_Comm), intent(in) :: comm
    character(*), intent(in) :: name, value
    integer(c_int), intent(out), optional :: ierror
    call optiq_comm_set_option(comm%MPI_VAL, name, value, ierror)
  end subroutine

  subroutine comm_set_info_f08(comm, info, ierror)
    type(MPI_Comm), intent(in) :: comm
    type(MPI_Info), intent(in) :: info
    integer(c_int), intent(out), optional :: ierror
    call optiq_comm_set_info(comm%MPI_VAL, info%MPI_VAL, ierror)
  end subroutine

  subroutine file_write_at_all_f08(fh, offset, buf, count, datatype, status, ierror)
    !GCC$ attributes no_arg_check :: buf
    !DEC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    type(MPI_File), intent(in) :: fh
    integer(c_int64_t), intent(in) :: offset
    type(*), dimension(*), intent(in) :: buf
    integer(c_int), intent(in) :: count
    type(MPI_Datatype), intent(in) :: datatype
    type(MPI_Status) :: status
    integer(c_int), intent(out), optional :: ierror
    integer(c_int) :: code
    code = c_file_write_at_all(fh%MPI_VAL, offset, buf, count, datatype%MPI_VAL, status)
    call optiq_finish(code, 'optiq_file_write_at_all', ierror)
  end subroutine

  subroutine file_read_at_all_f08(fh, offset, buf, count, datatype, status, ierror)
    !GCC$ attributes no_arg_check :: buf
    !DEC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    type(MPI_File), intent(in) :: fh
    integer(c_int64_t), intent(in) :: offset
    type(*), dimension(*) :: buf
    integer(c_int), intent(in) :: count
    type(MPI_Datatype), intent(in) :: datatype
    type(MPI_Status) :: status
    integer(c_int), intent(out), optional :: ierror
    integer(c_int) :: code
    code = c_file_read_at_all(fh%MPI_VAL, offset, buf, count, datatype%MPI_VAL, status)
    call optiq_finish(code, 'optiq_file_read_at_all', ierror)
  end subroutine

  subroutine execute_jobs_f08(jobs, comm, ierror)
    type(optiq_jobs), intent(in) :: jobs
    type(MPI_Comm), intent(in) :: comm
    integer(c_int), intent(out), optional :: ierror
    call optiq_execute_jobs(jobs, comm%MPI_VAL, ierror)
  end subroutine

  subroutine execute_jobs_from_file_f08_i32(jobfile, datasize, sendbuf, recvbuf, recvbytes, comm, ierror)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DEC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    character(*), intent(in) :: jobfile
    integer(c_int), intent(in) :: datasize, recvbytes
    type(*), dimension(*), intent(in) :: sendbuf
    type(*), dimension(*) :: recvbuf
    type(MPI_Comm), intent(in) :: comm
    integer(c_int), intent(out), optional :: ierror
    call optiq_execute_jobs_from_file(jobfile, datasize, sendbuf, recvbuf, recvbytes, comm%MPI_VAL, ierror)
  end subroutine

  subroutine execute_jobs_from_file_f08_i64(jobfile, datasize, sendbuf, recvbuf, recvbytes, comm, ierror)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DEC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    character(*), intent(in) :: jobfile
    integer(c_int64_t), intent(in) :: datasize, recvbytes
    type(*), dimension(*), intent(in) :: sendbuf
    type(*), dimension(*) :: recvbuf
    type(MPI_Comm), intent(in) :: comm
    integer(c_int), intent(out), optional :: ierror
    call optiq_execute_jobs_from_file(jobfile, datasize, sendbuf, recvbuf, recvbytes, comm%MPI_VAL, ierror)
  end subroutine

  subroutine topology_init_f08(comm, topology, ierror)
    type(MPI_Comm), intent(in) :: comm
    type(optiq_topology), intent(out) :: topology
    integer(c_int), intent(out), optional :: ierror
    call optiq_topology_init(comm%MPI_VAL, topology, ierror)
  end subroutine

  subroutine transport_init_f08(comm, transport, ierror)
    type(MPI_Comm), intent(in) :: comm
    type(optiq_transport), intent(out) :: transport
    integer(c_int), intent(out), optional :: ierror
    call optiq_transport_init(comm%MPI_VAL, transport, ierror)
  end subroutine
end module
