! OPTIQ for Fortran: the calls of optiq.h as subroutines, with communicators and datatypes as integers (of mpif.h, of the
! module mpi, or comm%MPI_VAL). The module optiq_f08, in optiq_f08.f90, takes those of mpi_f08 as well.
!
!   mpifort optiq.f90 optiq_f08.f90 program.f90 -loptiq
!
! What each call does is said in optiq.h; here is what is different:
! - Each subroutine has an optional `ierror` as its last argument: 0 or one of OPTIQ_STATUS_*. Without it, a call that fails
!   says why on the error unit and ends the program on all ranks.
! - Counts, displacements and bytes may be of 32 or 64 bits. An int64 is what comes back.
! - What C may give or ask for as NULL is optional, or an empty string. Blanks at the end of strings do not count.
! - Ranks and numbers of jobs begin with 0, as in MPI and in job files.
! - Places for a topology's numbers are arrays, whose size is what C is told.
! - MPI_IN_PLACE and MPI_BOTTOM may be given as buffers, as in MPI.
!
! Buffers are of any type and rank. Those that are used after the call has returned (of optiq_alltoallv_init,
! optiq_ialltoallv, their forms with a priority class, optiq_jobs_set_buffers and optiq_jobs_set_receive_buffer) must be
! contiguous, must outlive their use, and should be declared asynchronous or target, as for MPI's own calls (MPI 4.0, section
! 19.1.16).
!
! Fortran 2008, except type(*) and optional arguments of C functions: Technical Specification 29113, now Fortran 2018. The
! directives let compilers accept scalars, such as MPI_IN_PLACE, as buffers: GCC$ is gfortran's, DEC$ Intel's, DIR$ that of
! NVIDIA, Cray and Flang. Tested with gfortran.
module optiq
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_double, c_f_pointer, c_int, c_int64_t, c_null_char, &
      c_null_ptr, c_ptr, c_size_t
  use, intrinsic :: iso_fortran_env, only: error_unit, output_unit
  implicit none
  private

  ! Status codes.
  integer(c_int), parameter, public :: OPTIQ_STATUS_SUCCESS = 0
  integer(c_int), parameter, public :: OPTIQ_STATUS_NOT_INITIALIZED = 1
  integer(c_int), parameter, public :: OPTIQ_STATUS_ARGUMENT = 2
  integer(c_int), parameter, public :: OPTIQ_STATUS_COUNTS = 3
  integer(c_int), parameter, public :: OPTIQ_STATUS_CONFIG = 4
  integer(c_int), parameter, public :: OPTIQ_STATUS_PLAN = 5
  integer(c_int), parameter, public :: OPTIQ_STATUS_TRANSPORT = 6
  integer(c_int), parameter, public :: OPTIQ_STATUS_MPI = 7
  integer(c_int), parameter, public :: OPTIQ_STATUS_INTERNAL = 8
  ! How optiq_alg_search_heu chooses paths.
  integer(c_int), parameter, public :: OPTIQ_SEARCH_DIRECT = 0
  integer(c_int), parameter, public :: OPTIQ_SEARCH_HEU1 = 1
  integer(c_int), parameter, public :: OPTIQ_SEARCH_HEU2 = 2
  integer(c_int), parameter, public :: OPTIQ_SEARCH_LP = 3
  integer(c_int), parameter, public :: OPTIQ_SEARCH_OPTIMAL = 4

  ! Handles, as optiq.h describes them. One that is not set, or was freed, is none.
  ! A list of jobs: bytes from one rank to another, with the paths that they take.
  type, bind(C), public :: optiq_jobs
    private
    integer(c_int64_t) :: handle = 0
  end type
  ! A planned exchange that can be started many times.
  type, bind(C), public :: optiq_request
    private
    integer(c_int64_t) :: handle = 0
  end type
  ! A communicator's network: its shape, and which node each rank is on.
  type, bind(C), public :: optiq_topology
    private
    integer(c_int64_t) :: handle = 0
  end type
  ! Which jobs take which paths, and what that means for the links.
  type, bind(C), public :: optiq_schedule
    private
    integer(c_int64_t) :: handle = 0
  end type
  ! What moves the bytes of a communicator.
  type, bind(C), public :: optiq_transport
    private
    integer(c_int64_t) :: handle = 0
  end type
  ! Path searching on a topology.
  type, bind(C), public :: optiq_alg
    private
    integer(c_int64_t) :: handle = 0
  end type

  public :: optiq_init, optiq_finalize, optiq_alltoallv, optiq_strerror, optiq_last_message, optiq_last_decision
  public :: optiq_version, optiq_is_set, optiq_alltoallv_init, optiq_ialltoallv, optiq_alltoallv_start
  public :: optiq_alltoallv_test, optiq_alltoallv_wait, optiq_alltoallv_free, optiq_set_option, optiq_get_option
  public :: optiq_comm_set_option, optiq_comm_set_info, optiq_jobs_create, optiq_job_read_jobs_from_file
  public :: optiq_jobs_write, optiq_jobs_free, optiq_jobs_add, optiq_jobs_get_count, optiq_jobs_get
  public :: optiq_jobs_set_demand, optiq_jobs_set_buffers, optiq_jobs_set_receive_buffer, optiq_jobs_get_received
  public :: optiq_jobs_set_class, optiq_jobs_get_class, optiq_alltoallv_init_class, optiq_ialltoallv_class
  public :: optiq_file_write_at_all, optiq_file_read_at_all, optiq_region_begin, optiq_region_end
  public :: optiq_execute_jobs, optiq_execute_jobs_from_file, optiq_topology_init, optiq_topology_finalize
  public :: optiq_topology_get_size, optiq_topology_get_torus, optiq_topology_get_coordinate
  public :: optiq_topology_get_nodeId, optiq_topology_get_node_of_rank, optiq_topology_get_nodes, optiq_alg_init
  public :: optiq_alg_finalize, optiq_alg_generate_kpaths, optiq_alg_search_heu, optiq_schedule_init
  public :: optiq_schedule_finalize, optiq_schedule_create_schedule, optiq_schedule_get_times, optiq_transport_init
  public :: optiq_transport_execute, optiq_transport_finalize
  ! For the module optiq_f08 alone.
  public :: optiq_finish

  ! Whether a handle stands for something: .true. until it is freed.
  interface optiq_is_set
    module procedure jobs_is_set, request_is_set, topology_is_set, schedule_is_set, &
        transport_is_set, alg_is_set
  end interface
  interface optiq_alltoallv
    module procedure alltoallv_i32, alltoallv_i64
  end interface
  interface optiq_alltoallv_init
    module procedure alltoallv_init_i32, alltoallv_init_i64
  end interface
  interface optiq_ialltoallv
    module procedure ialltoallv_i32, ialltoallv_i64
  end interface
  interface optiq_alltoallv_init_class
    module procedure alltoallv_init_class_i32, alltoallv_init_class_i64
  end interface
  interface optiq_ialltoallv_class
    module procedure ialltoallv_class_i32, ialltoallv_class_i64
  end interface
  interface optiq_jobs_add
    module procedure jobs_add_i32, jobs_add_i64
  end interface
  interface optiq_jobs_get_count
    module procedure jobs_get_count_i32, jobs_get_count_i64
  end interface
  interface optiq_jobs_get
    module procedure jobs_get_i32, jobs_get_i64
  end interface
  interface optiq_jobs_set_demand
    module procedure jobs_set_demand_i32_i32, jobs_set_demand_i32_i64, jobs_set_demand_i64_i32, jobs_set_demand_i64_i64
  end interface
  interface optiq_jobs_set_class
    module procedure jobs_set_class_i32, jobs_set_class_i64
  end interface
  interface optiq_jobs_get_class
    module procedure jobs_get_class_i32, jobs_get_class_i64
  end interface
  interface optiq_jobs_set_buffers
    module procedure jobs_set_buffers_i32, jobs_set_buffers_i64
  end interface
  interface optiq_jobs_set_receive_buffer
    module procedure jobs_set_receive_buffer_i32, jobs_set_receive_buffer_i64
  end interface
  interface optiq_execute_jobs_from_file
    module procedure execute_jobs_from_file_i32, execute_jobs_from_file_i64
  end interface
  ! One form here; optiq_f08 adds those with handles of mpi_f08.
  interface optiq_comm_set_option
    module procedure comm_set_option_integer
  end interface
  interface optiq_comm_set_info
    module procedure comm_set_info_integer
  end interface
  interface optiq_file_write_at_all
    module procedure file_write_at_all_integer
  end interface
  interface optiq_file_read_at_all
    module procedure file_read_at_all_integer
  end interface
  interface optiq_execute_jobs
    module procedure execute_jobs_integer
  end interface
  interface optiq_topology_init
    module procedure topology_init_integer
  end interface
  interface optiq_transport_init
    module procedure transport_init_integer
  end interface
  interface optiq_finish
    module procedure finish
  end interface

  include 'optiq_c.inc'

contains

  subroutine optiq_init(ierror)
    integer(c_int), intent(out), optional :: ierror
    call finish(c_init(c_null_ptr, c_null_ptr), 'optiq_init', ierror)
  end subroutine

  subroutine optiq_finalize(ierror)
    integer(c_int), intent(out), optional :: ierror
    call finish(c_finalize(), 'optiq_finalize', ierror)
  end subroutine

  ! One line of English for a status code.
  function optiq_strerror(status) result(text)
    integer(c_int), intent(in) :: status
    character(:), allocatable :: text
    text = fortran_text(c_strerror(status))
  end function

  ! Why the last call of this thread failed; empty if it did not.
  function optiq_last_message() result(text)
    character(:), allocatable :: text
    text = fortran_text(c_last_message())
  end function

  ! What served the last exchange of this thread, and why.
  function optiq_last_decision() result(text)
    character(:), allocatable :: text
    text = fortran_text(c_last_decision())
  end function

  subroutine alltoallv_i32(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm, ierror)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DEC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    type(*), dimension(*), intent(in) :: sendbuf
    integer(c_int), dimension(*), intent(in) :: sendcounts, sdispls, recvcounts, rdispls
    integer(c_int), intent(in) :: sendtype, recvtype, comm
    type(*), dimension(*) :: recvbuf
    integer(c_int), intent(out), optional :: ierror
    integer(c_int) :: status
    status = c_alltoallv(sendbuf, sendcounts, sdispls, sendtype, &
        recvbuf, recvcounts, rdispls, recvtype, comm)
    call finish(status, 'optiq_alltoallv', ierror)
  end subroutine

  subroutine alltoallv_i64(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm, ierror)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DEC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    type(*), dimension(*), intent(in) :: sendbuf
    integer(c_int64_t), dimension(*), intent(in) :: sendcounts, sdispls, recvcounts, rdispls
    integer(c_int), intent(in) :: sendtype, recvtype, comm
    type(*), dimension(*) :: recvbuf
    integer(c_int), intent(out), optional :: ierror
    integer(c_int) :: status
    status = c_alltoallv_c(sendbuf, sendcounts, sdispls, sendtype, &
        recvbuf, recvcounts, rdispls, recvtype, comm)
    call finish(status, 'optiq_alltoallv', ierror)
  end subroutine

  subroutine alltoallv_init_i32(sendbuf, sendcounts, sdispls, sendtype, &
      recvbuf, recvcounts, rdispls, recvtype, comm, request, ierror)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DEC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    type(*), dimension(*), intent(in), asynchronous :: sendbuf
    integer(c_int), dimension(*), intent(in) :: sendcounts, sdispls, recvcounts, rdispls
    integer(c_int), intent(in) :: sendtype, recvtype, comm
    type(*), dimension(*), asynchronous :: recvbuf
    type(optiq_request), intent(out) :: request
    integer(c_int), intent(out), optional :: ierror
    integer(c_int) :: status
    status = c_alltoallv_init(sendbuf, sendcounts, sdispls, sendtype, &
        recvbuf, recvcounts, rdispls, recvtype, comm, request)
    call finish(status, 'optiq_alltoallv_init', ierror)
  end subroutine

  subroutine alltoallv_init_i64(sendbuf, sendcounts, sdispls, sendtype, &
      recvbuf, recvcounts, rdispls, recvtype, comm, request, ierror)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DEC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    type(*), dimension(*), intent(in), asynchronous :: sendbuf
    integer(c_int64_t), dimension(*), intent(in) :: sendcounts, sdispls, recvcounts, rdispls
    integer(c_int), intent(in) :: sendtype, recvtype, comm
    type(*), dimension(*), asynchronous :: recvbuf
    type(optiq_request), intent(out) :: request
    integer(c_int), intent(out), optional :: ierror
    integer(c_int) :: status
    status = c_alltoallv_init_c(sendbuf, sendcounts, sdispls, sendtype, &
        recvbuf, recvcounts, rdispls, recvtype, comm, request)
    call finish(status, 'optiq_alltoallv_init', ierror)
  end subroutine

  subroutine ialltoallv_i32(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm, request, ierror)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DEC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    type(*), dimension(*), intent(in), asynchronous :: sendbuf
    integer(c_int), dimension(*), intent(in) :: sendcounts, sdispls, recvcounts, rdispls
    integer(c_int), intent(in) :: sendtype, recvtype, comm
    type(*), dimension(*), asynchronous :: recvbuf
    type(optiq_request), intent(out) :: request
    integer(c_int), intent(out), optional :: ierror
    integer(c_int) :: status
    status = c_ialltoallv(sendbuf, sendcounts, sdispls, sendtype, &
        recvbuf, recvcounts, rdispls, recvtype, comm, request)
    call finish(status, 'optiq_ialltoallv', ierror)
  end subroutine

  subroutine ialltoallv_i64(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm, request, ierror)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DEC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    type(*), dimension(*), intent(in), asynchronous :: sendbuf
    integer(c_int64_t), dimension(*), intent(in) :: sendcounts, sdispls, recvcounts, rdispls
    integer(c_int), intent(in) :: sendtype, recvtype, comm
    type(*), dimension(*), asynchronous :: recvbuf
    type(optiq_request), intent(out) :: request
    integer(c_int), intent(out), optional :: ierror
    integer(c_int) :: status
    status = c_ialltoallv_c(sendbuf, sendcounts, sdispls, sendtype, &
        recvbuf, recvcounts, rdispls, recvtype, comm, request)
    call finish(status, 'optiq_ialltoallv', ierror)
  end subroutine

  subroutine alltoallv_init_class_i32(sendbuf, sendcounts, sdispls, sendtype, &
      recvbuf, recvcounts, rdispls, recvtype, priority_class, comm, request, ierror)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DEC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    type(*), dimension(*), intent(in), asynchronous :: sendbuf
    integer(c_int), dimension(*), intent(in) :: sendcounts, sdispls, recvcounts, rdispls
    integer(c_int), intent(in) :: sendtype, recvtype, priority_class, comm
    type(*), dimension(*), asynchronous :: recvbuf
    type(optiq_request), intent(out) :: request
    integer(c_int), intent(out), optional :: ierror
    integer(c_int) :: status
    status = c_alltoallv_init_class(sendbuf, sendcounts, sdispls, sendtype, &
        recvbuf, recvcounts, rdispls, recvtype, priority_class, comm, request)
    call finish(status, 'optiq_alltoallv_init_class', ierror)
  end subroutine

  subroutine alltoallv_init_class_i64(sendbuf, sendcounts, sdispls, sendtype, &
      recvbuf, recvcounts, rdispls, recvtype, priority_class, comm, request, ierror)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DEC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    type(*), dimension(*), intent(in), asynchronous :: sendbuf
    integer(c_int64_t), dimension(*), intent(in) :: sendcounts, sdispls, recvcounts, rdispls
    integer(c_int), intent(in) :: sendtype, recvtype, priority_class, comm
    type(*), dimension(*), asynchronous :: recvbuf
    type(optiq_request), intent(out) :: request
    integer(c_int), intent(out), optional :: ierror
    integer(c_int) :: status
    status = c_alltoallv_init_class_c(sendbuf, sendcounts, sdispls, sendtype, &
        recvbuf, recvcounts, rdispls, recvtype, priority_class, comm, request)
    call finish(status, 'optiq_alltoallv_init_class', ierror)
  end subroutine

  subroutine ialltoallv_class_i32(sendbuf, sendcounts, sdispls, sendtype, &
      recvbuf, recvcounts, rdispls, recvtype, priority_class, comm, request, ierror)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DEC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    type(*), dimension(*), intent(in), asynchronous :: sendbuf
    integer(c_int), dimension(*), intent(in) :: sendcounts, sdispls, recvcounts, rdispls
    integer(c_int), intent(in) :: sendtype, recvtype, priority_class, comm
    type(*), dimension(*), asynchronous :: recvbuf
    type(optiq_request), intent(out) :: request
    integer(c_int), intent(out), optional :: ierror
    integer(c_int) :: status
    status = c_ialltoallv_class(sendbuf, sendcounts, sdispls, sendtype, &
        recvbuf, recvcounts, rdispls, recvtype, priority_class, comm, request)
    call finish(status, 'optiq_ialltoallv_class', ierror)
  end subroutine

  subroutine ialltoallv_class_i64(sendbuf, sendcounts, sdispls, sendtype, &
      recvbuf, recvcounts, rdispls, recvtype, priority_class, comm, request, ierror)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DEC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    type(*), dimension(*), intent(in), asynchronous :: sendbuf
    integer(c_int64_t), dimension(*), intent(in) :: sendcounts, sdispls, recvcounts, rdispls
    integer(c_int), intent(in) :: sendtype, recvtype, priority_class, comm
    type(*), dimension(*), asynchronous :: recvbuf
    type(optiq_request), intent(out) :: request
    integer(c_int), intent(out), optional :: ierror
    integer(c_int) :: status
    status = c_ialltoallv_class_c(sendbuf, sendcounts, sdispls, sendtype, &
        recvbuf, recvcounts, rdispls, recvtype, priority_class, comm, request)
    call finish(status, 'optiq_ialltoallv_class', ierror)
  end subroutine

  subroutine optiq_alltoallv_start(request, ierror)
    type(optiq_request), intent(inout) :: request
    integer(c_int), intent(out), optional :: ierror
    call finish(c_alltoallv_start(request), 'optiq_alltoallv_start', ierror)
  end subroutine

  subroutine optiq_alltoallv_test(request, flag, ierror)
    type(optiq_request), intent(inout) :: request
    logical, intent(out) :: flag
    integer(c_int), intent(out), optional :: ierror
    integer(c_int) :: status, done
    done = 0
    status = c_alltoallv_test(request, done)
    flag = done /= 0
    call finish(status, 'optiq_alltoallv_test', ierror)
  end subroutine

  subroutine optiq_alltoallv_wait(request, ierror)
    type(optiq_request), intent(inout) :: request
    integer(c_int), intent(out), optional :: ierror
    call finish(c_alltoallv_wait(request), 'optiq_alltoallv_wait', ierror)
  end subroutine

  subroutine optiq_alltoallv_free(request, ierror)
    type(optiq_request), intent(inout) :: request
    integer(c_int), intent(out), optional :: ierror
    call finish(c_alltoallv_free(request), 'optiq_alltoallv_free', ierror)
  end subroutine

  ! An empty value takes the option back to its default.
  subroutine optiq_set_option(name, value, ierror)
    character(*), intent(in) :: name, value
    integer(c_int), intent(out), optional :: ierror
    call finish(c_set_option(c_text(name), c_text(value)), 'optiq_set_option', ierror)
  end subroutine

  subroutine optiq_get_option(name, value, ierror)
    character(*), intent(in) :: name
    character(:), allocatable, intent(out) :: value
    integer(c_int), intent(out), optional :: ierror
    character(kind=c_char), allocatable :: place(:)
    integer(c_size_t) :: length
    integer(c_int) :: status
    length = 0
    status = c_get_option(c_text(name), size=0_c_size_t, length=length)
    allocate (place(length + 1), source=' ')
    if (status == OPTIQ_STATUS_SUCCESS) then
      status = c_get_option(c_text(name), place, length + 1, length)
    end if
    value = joined(place(:size(place) - 1))
    call finish(status, 'optiq_get_option', ierror)
  end subroutine

  ! A region of the code, which optiq profile counts apart.
  subroutine optiq_region_begin(name, ierror)
    character(*), intent(in) :: name
    integer(c_int), intent(out), optional :: ierror
    call finish(c_region_begin(c_text(name)), 'optiq_region_begin', ierror)
  end subroutine

  subroutine optiq_region_end(name, ierror)
    character(*), intent(in) :: name
    integer(c_int), intent(out), optional :: ierror
    call finish(c_region_end(c_text(name)), 'optiq_region_end', ierror)
  end subroutine

  subroutine comm_set_option_integer(comm, name, value, ierror)
    integer(c_int), intent(in) :: comm
    character(*), intent(in) :: name, value
    integer(c_int), intent(out), optional :: ierror
    call finish(c_comm_set_option(comm, c_text(name), c_text(value)), 'optiq_comm_set_option', ierror)
  end subroutine

  subroutine comm_set_info_integer(comm, info, ierror)
    integer(c_int), intent(in) :: comm, info
    integer(c_int), intent(out), optional :: ierror
    call finish(c_comm_set_info(comm, info), 'optiq_comm_set_info', ierror)
  end subroutine

  subroutine optiq_jobs_create(jobs, ierror)
    type(optiq_jobs), intent(out) :: jobs
    integer(c_int), intent(out), optional :: ierror
    call finish(c_jobs_create(jobs), 'optiq_jobs_create', ierror)
  end subroutine

  subroutine optiq_job_read_jobs_from_file(jobs, pathfile, ierror)
    type(optiq_jobs), intent(out) :: jobs
    character(*), intent(in) :: pathfile
    integer(c_int), intent(out), optional :: ierror
    call finish(c_job_read_jobs_from_file(jobs, c_text(pathfile)), 'optiq_job_read_jobs_from_file', ierror)
  end subroutine

  subroutine optiq_jobs_write(jobs, pathfile, ierror)
    type(optiq_jobs), intent(in) :: jobs
    character(*), intent(in) :: pathfile
    integer(c_int), intent(out), optional :: ierror
    call finish(c_jobs_write(jobs, c_text(pathfile)), 'optiq_jobs_write', ierror)
  end subroutine

  subroutine optiq_jobs_free(jobs, ierror)
    type(optiq_jobs), intent(inout) :: jobs
    integer(c_int), intent(out), optional :: ierror
    call finish(c_jobs_free(jobs), 'optiq_jobs_free', ierror)
  end subroutine

  subroutine jobs_add_i32(jobs, source, destination, bytes, ierror)
    type(optiq_jobs), intent(in) :: jobs
    integer(c_int), intent(in) :: source, destination
    integer(c_int), intent(in) :: bytes
    integer(c_int), intent(out), optional :: ierror
    call finish(c_jobs_add(jobs, source, destination, int(bytes, c_int64_t)), 'optiq_jobs_add', ierror)
  end subroutine

  subroutine jobs_add_i64(jobs, source, destination, bytes, ierror)
    type(optiq_jobs), intent(in) :: jobs
    integer(c_int), intent(in) :: source, destination
    integer(c_int64_t), intent(in) :: bytes
    integer(c_int), intent(out), optional :: ierror
    call finish(c_jobs_add(jobs, source, destination, bytes), 'optiq_jobs_add', ierror)
  end subroutine

  ! A number that is too large for `count` gives the status OPTIQ_STATUS_ARGUMENT and the largest `count`.
  subroutine jobs_get_count_i32(jobs, count, ierror)
    type(optiq_jobs), intent(in) :: jobs
    integer(c_int), intent(out) :: count
    integer(c_int), intent(out), optional :: ierror
    integer(c_int64_t) :: all
    integer(c_int) :: status
    all = 0
    status = c_jobs_get_count(jobs, all)
    if (all > huge(count)) status = OPTIQ_STATUS_ARGUMENT
    count = int(min(all, int(huge(count), c_int64_t)), c_int)
    call finish(status, 'optiq_jobs_get_count', ierror)
  end subroutine

  subroutine jobs_get_count_i64(jobs, count, ierror)
    type(optiq_jobs), intent(in) :: jobs
    integer(c_int64_t), intent(out) :: count
    integer(c_int), intent(out), optional :: ierror
    call finish(c_jobs_get_count(jobs, count), 'optiq_jobs_get_count', ierror)
  end subroutine

  subroutine jobs_get_i32(jobs, job, source, destination, bytes, paths, ierror)
    type(optiq_jobs), intent(in) :: jobs
    integer(c_int), intent(in) :: job
    integer(c_int), intent(out), optional :: source, destination, paths
    integer(c_int64_t), intent(out), optional :: bytes
    integer(c_int), intent(out), optional :: ierror
    call finish(c_jobs_get(jobs, int(job, c_int64_t), source, destination, bytes, paths), 'optiq_jobs_get', ierror)
  end subroutine

  subroutine jobs_get_i64(jobs, job, source, destination, bytes, paths, ierror)
    type(optiq_jobs), intent(in) :: jobs
    integer(c_int64_t), intent(in) :: job
    integer(c_int), intent(out), optional :: source, destination, paths
    integer(c_int64_t), intent(out), optional :: bytes
    integer(c_int), intent(out), optional :: ierror
    call finish(c_jobs_get(jobs, job, source, destination, bytes, paths), 'optiq_jobs_get', ierror)
  end subroutine

  subroutine jobs_set_class_i32(jobs, job, priority_class, ierror)
    type(optiq_jobs), intent(in) :: jobs
    integer(c_int), intent(in) :: job
    integer(c_int), intent(in) :: priority_class
    integer(c_int), intent(out), optional :: ierror
    call finish(c_jobs_set_class(jobs, int(job, c_int64_t), priority_class), 'optiq_jobs_set_class', ierror)
  end subroutine

  subroutine jobs_set_class_i64(jobs, job, priority_class, ierror)
    type(optiq_jobs), intent(in) :: jobs
    integer(c_int64_t), intent(in) :: job
    integer(c_int), intent(in) :: priority_class
    integer(c_int), intent(out), optional :: ierror
    call finish(c_jobs_set_class(jobs, job, priority_class), 'optiq_jobs_set_class', ierror)
  end subroutine

  subroutine jobs_get_class_i32(jobs, job, priority_class, ierror)
    type(optiq_jobs), intent(in) :: jobs
    integer(c_int), intent(in) :: job
    integer(c_int), intent(out) :: priority_class
    integer(c_int), intent(out), optional :: ierror
    call finish(c_jobs_get_class(jobs, int(job, c_int64_t), priority_class), 'optiq_jobs_get_class', ierror)
  end subroutine

  subroutine jobs_get_class_i64(jobs, job, priority_class, ierror)
    type(optiq_jobs), intent(in) :: jobs
    integer(c_int64_t), intent(in) :: job
    integer(c_int), intent(out) :: priority_class
    integer(c_int), intent(out), optional :: ierror
    call finish(c_jobs_get_class(jobs, job, priority_class), 'optiq_jobs_get_class', ierror)
  end subroutine

  subroutine jobs_set_demand_i32_i32(jobs, job, bytes, ierror)
    type(optiq_jobs), intent(in) :: jobs
    integer(c_int), intent(in) :: job, bytes
    integer(c_int), intent(out), optional :: ierror
    call finish(c_jobs_set_demand(jobs, int(job, c_int64_t), int(bytes, c_int64_t)), 'optiq_jobs_set_demand', ierror)
  end subroutine

  subroutine jobs_set_demand_i32_i64(jobs, job, bytes, ierror)
    type(optiq_jobs), intent(in) :: jobs
    integer(c_int), intent(in) :: job
    integer(c_int64_t), intent(in) :: bytes
    integer(c_int), intent(out), optional :: ierror
    call finish(c_jobs_set_demand(jobs, int(job, c_int64_t), bytes), 'optiq_jobs_set_demand', ierror)
  end subroutine

  subroutine jobs_set_demand_i64_i32(jobs, job, bytes, ierror)
    type(optiq_jobs), intent(in) :: jobs
    integer(c_int64_t), intent(in) :: job
    integer(c_int), intent(in) :: bytes
    integer(c_int), intent(out), optional :: ierror
    call finish(c_jobs_set_demand(jobs, job, int(bytes, c_int64_t)), 'optiq_jobs_set_demand', ierror)
  end subroutine

  subroutine jobs_set_demand_i64_i64(jobs, job, bytes, ierror)
    type(optiq_jobs), intent(in) :: jobs
    integer(c_int64_t), intent(in) :: job, bytes
    integer(c_int), intent(out), optional :: ierror
    call finish(c_jobs_set_demand(jobs, job, bytes), 'optiq_jobs_set_demand', ierror)
  end subroutine

  ! A buffer that is absent is none.
  subroutine jobs_set_buffers_i32(jobs, job, sendbuf, recvbuf, ierror)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DEC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    type(optiq_jobs), intent(in) :: jobs
    integer(c_int), intent(in) :: job
    type(*), dimension(*), intent(in), optional, asynchronous :: sendbuf
    type(*), dimension(*), optional, asynchronous :: recvbuf
    integer(c_int), intent(out), optional :: ierror
    call finish(c_jobs_set_buffers(jobs, int(job, c_int64_t), sendbuf, recvbuf), 'optiq_jobs_set_buffers', ierror)
  end subroutine

  subroutine jobs_set_buffers_i64(jobs, job, sendbuf, recvbuf, ierror)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DEC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    type(optiq_jobs), intent(in) :: jobs
    integer(c_int64_t), intent(in) :: job
    type(*), dimension(*), intent(in), optional, asynchronous :: sendbuf
    type(*), dimension(*), optional, asynchronous :: recvbuf
    integer(c_int), intent(out), optional :: ierror
    call finish(c_jobs_set_buffers(jobs, job, sendbuf, recvbuf), 'optiq_jobs_set_buffers', ierror)
  end subroutine

  subroutine jobs_set_receive_buffer_i32(jobs, recvbuf, bytes, ierror)
    !GCC$ attributes no_arg_check :: recvbuf
    !DEC$ attributes no_arg_check :: recvbuf
    !DIR$ ignore_tkr recvbuf
    type(optiq_jobs), intent(in) :: jobs
    type(*), dimension(*), asynchronous :: recvbuf
    integer(c_int), intent(in) :: bytes
    integer(c_int), intent(out), optional :: ierror
    call finish(c_jobs_set_receive_buffer(jobs, recvbuf, int(bytes, c_int64_t)), 'optiq_jobs_set_receive_buffer', ierror)
  end subroutine

  subroutine jobs_set_receive_buffer_i64(jobs, recvbuf, bytes, ierror)
    !GCC$ attributes no_arg_check :: recvbuf
    !DEC$ attributes no_arg_check :: recvbuf
    !DIR$ ignore_tkr recvbuf
    type(optiq_jobs), intent(in) :: jobs
    type(*), dimension(*), asynchronous :: recvbuf
    integer(c_int64_t), intent(in) :: bytes
    integer(c_int), intent(out), optional :: ierror
    call finish(c_jobs_set_receive_buffer(jobs, recvbuf, bytes), 'optiq_jobs_set_receive_buffer', ierror)
  end subroutine

  subroutine optiq_jobs_get_received(jobs, bytes, ierror)
    type(optiq_jobs), intent(in) :: jobs
    integer(c_int64_t), intent(out) :: bytes
    integer(c_int), intent(out), optional :: ierror
    call finish(c_jobs_get_received(jobs, bytes), 'optiq_jobs_get_received', ierror)
  end subroutine

  ! `offset` is of kind MPI_OFFSET_KIND, `status` has MPI_STATUS_SIZE integers or is MPI_STATUS_IGNORE.
  subroutine file_write_at_all_integer(fh, offset, buf, count, datatype, status, ierror)
    !GCC$ attributes no_arg_check :: buf
    !DEC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer(c_int), intent(in) :: fh, count, datatype
    integer(c_int64_t), intent(in) :: offset
    type(*), dimension(*), intent(in) :: buf
    integer(c_int), dimension(*) :: status
    integer(c_int), intent(out), optional :: ierror
    call finish(c_file_write_at_all(fh, offset, buf, count, datatype, status), 'optiq_file_write_at_all', ierror)
  end subroutine

  ! `offset` is of kind MPI_OFFSET_KIND, `status` has MPI_STATUS_SIZE integers or is MPI_STATUS_IGNORE.
  subroutine file_read_at_all_integer(fh, offset, buf, count, datatype, status, ierror)
    !GCC$ attributes no_arg_check :: buf
    !DEC$ attributes no_arg_check :: buf
    !DIR$ ignore_tkr buf
    integer(c_int), intent(in) :: fh, count, datatype
    integer(c_int64_t), intent(in) :: offset
    type(*), dimension(*) :: buf
    integer(c_int), dimension(*) :: status
    integer(c_int), intent(out), optional :: ierror
    call finish(c_file_read_at_all(fh, offset, buf, count, datatype, status), 'optiq_file_read_at_all', ierror)
  end subroutine

  subroutine execute_jobs_integer(jobs, comm, ierror)
    type(optiq_jobs), intent(in) :: jobs
    integer(c_int), intent(in) :: comm
    integer(c_int), intent(out), optional :: ierror
    call finish(c_execute_jobs(jobs, comm), 'optiq_execute_jobs', ierror)
  end subroutine

  subroutine execute_jobs_from_file_i32(jobfile, datasize, sendbuf, recvbuf, recvbytes, comm, ierror)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DEC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    character(*), intent(in) :: jobfile
    integer(c_int), intent(in) :: datasize, recvbytes
    type(*), dimension(*), intent(in) :: sendbuf
    type(*), dimension(*) :: recvbuf
    integer(c_int), intent(in) :: comm
    integer(c_int), intent(out), optional :: ierror
    call finish(c_execute_jobs_from_file(c_text(jobfile), int(datasize, c_int64_t), sendbuf, &
        recvbuf, int(recvbytes, c_int64_t), comm), 'optiq_execute_jobs_from_file', ierror)
  end subroutine

  subroutine execute_jobs_from_file_i64(jobfile, datasize, sendbuf, recvbuf, recvbytes, comm, ierror)
    !GCC$ attributes no_arg_check :: sendbuf, recvbuf
    !DEC$ attributes no_arg_check :: sendbuf, recvbuf
    !DIR$ ignore_tkr sendbuf, recvbuf
    character(*), intent(in) :: jobfile
    integer(c_int64_t), intent(in) :: datasize, recvbytes
    type(*), dimension(*), intent(in) :: sendbuf
    type(*), dimension(*) :: recvbuf
    integer(c_int), intent(in) :: comm
    integer(c_int), intent(out), optional :: ierror
    call finish(c_execute_jobs_from_file(c_text(jobfile), datasize, sendbuf, recvbuf, recvbytes, &
        comm), 'optiq_execute_jobs_from_file', ierror)
  end subroutine

  subroutine topology_init_integer(comm, topology, ierror)
    integer(c_int), intent(in) :: comm
    type(optiq_topology), intent(out) :: topology
    integer(c_int), intent(out), optional :: ierror
    call finish(c_topology_init(comm, topology), 'optiq_topology_init', ierror)
  end subroutine

  subroutine optiq_topology_finalize(topology, ierror)
    type(optiq_topology), intent(inout) :: topology
    integer(c_int), intent(out), optional :: ierror
    call finish(c_topology_finalize(topology), 'optiq_topology_finalize', ierror)
  end subroutine

  ! Without `sizes`, `dimensions` receives their number alone; so for the two after it.
  subroutine optiq_topology_get_size(topology, sizes, dimensions, ierror)
    type(optiq_topology), intent(in) :: topology
    integer(c_int), intent(inout), optional, contiguous :: sizes(:)
    integer(c_int), intent(out), optional :: dimensions, ierror
    integer(c_int) :: status
    if (present(sizes)) then
      status = c_topology_get_size(topology, size(sizes), sizes, dimensions)
    else
      status = c_topology_get_size(topology, 0, dimensions=dimensions)
    end if
    call finish(status, 'optiq_topology_get_size', ierror)
  end subroutine

  subroutine optiq_topology_get_torus(topology, torus, dimensions, ierror)
    type(optiq_topology), intent(in) :: topology
    integer(c_int), intent(inout), optional, contiguous :: torus(:)
    integer(c_int), intent(out), optional :: dimensions, ierror
    integer(c_int) :: status
    if (present(torus)) then
      status = c_topology_get_torus(topology, size(torus), torus, dimensions)
    else
      status = c_topology_get_torus(topology, 0, dimensions=dimensions)
    end if
    call finish(status, 'optiq_topology_get_torus', ierror)
  end subroutine

  subroutine optiq_topology_get_coordinate(topology, coordinate, dimensions, ierror)
    type(optiq_topology), intent(in) :: topology
    integer(c_int), intent(inout), optional, contiguous :: coordinate(:)
    integer(c_int), intent(out), optional :: dimensions, ierror
    integer(c_int) :: status
    if (present(coordinate)) then
      status = c_topology_get_coordinate(topology, size(coordinate), coordinate, dimensions)
    else
      status = c_topology_get_coordinate(topology, 0, dimensions=dimensions)
    end if
    call finish(status, 'optiq_topology_get_coordinate', ierror)
  end subroutine

  subroutine optiq_topology_get_nodeId(topology, node, ierror)
    type(optiq_topology), intent(in) :: topology
    integer(c_int), intent(out) :: node
    integer(c_int), intent(out), optional :: ierror
    call finish(c_topology_get_nodeId(topology, node), 'optiq_topology_get_nodeId', ierror)
  end subroutine

  subroutine optiq_topology_get_node_of_rank(topology, rank, node, ierror)
    type(optiq_topology), intent(in) :: topology
    integer(c_int), intent(in) :: rank
    integer(c_int), intent(out) :: node
    integer(c_int), intent(out), optional :: ierror
    call finish(c_topology_get_node_of_rank(topology, rank, node), 'optiq_topology_get_node_of_rank', ierror)
  end subroutine

  subroutine optiq_topology_get_nodes(topology, nodes, ierror)
    type(optiq_topology), intent(in) :: topology
    integer(c_int), intent(out) :: nodes
    integer(c_int), intent(out), optional :: ierror
    call finish(c_topology_get_nodes(topology, nodes), 'optiq_topology_get_nodes', ierror)
  end subroutine

  subroutine optiq_alg_init(topology, algorithms, ierror)
    type(optiq_topology), intent(in) :: topology
    type(optiq_alg), intent(out) :: algorithms
    integer(c_int), intent(out), optional :: ierror
    call finish(c_alg_init(topology, algorithms), 'optiq_alg_init', ierror)
  end subroutine

  subroutine optiq_alg_finalize(algorithms, ierror)
    type(optiq_alg), intent(inout) :: algorithms
    integer(c_int), intent(out), optional :: ierror
    call finish(c_alg_finalize(algorithms), 'optiq_alg_finalize', ierror)
  end subroutine

  ! An empty `graphfile` is none.
  subroutine optiq_alg_generate_kpaths(algorithms, graphfile, jobs, num_paths, ierror)
    type(optiq_alg), intent(in) :: algorithms
    character(*), intent(in) :: graphfile
    type(optiq_jobs), intent(in) :: jobs
    integer(c_int), intent(in) :: num_paths
    integer(c_int), intent(out), optional :: ierror
    integer(c_int) :: status
    if (len_trim(graphfile) == 0) then
      status = c_alg_generate_kpaths(algorithms, jobs=jobs, num_paths=num_paths)
    else
      status = c_alg_generate_kpaths(algorithms, c_text(graphfile), jobs, num_paths)
    end if
    call finish(status, 'optiq_alg_generate_kpaths', ierror)
  end subroutine

  subroutine optiq_alg_search_heu(algorithms, jobs, search, ierror)
    type(optiq_alg), intent(in) :: algorithms
    type(optiq_jobs), intent(in) :: jobs
    integer(c_int), intent(in) :: search
    integer(c_int), intent(out), optional :: ierror
    call finish(c_alg_search_heu(algorithms, jobs, search), 'optiq_alg_search_heu', ierror)
  end subroutine

  subroutine optiq_schedule_init(topology, schedule, ierror)
    type(optiq_topology), intent(in) :: topology
    type(optiq_schedule), intent(out) :: schedule
    integer(c_int), intent(out), optional :: ierror
    call finish(c_schedule_init(topology, schedule), 'optiq_schedule_init', ierror)
  end subroutine

  subroutine optiq_schedule_finalize(schedule, ierror)
    type(optiq_schedule), intent(inout) :: schedule
    integer(c_int), intent(out), optional :: ierror
    call finish(c_schedule_finalize(schedule), 'optiq_schedule_finalize', ierror)
  end subroutine

  subroutine optiq_schedule_create_schedule(schedule, jobs, ierror)
    type(optiq_schedule), intent(in) :: schedule
    type(optiq_jobs), intent(in) :: jobs
    integer(c_int), intent(out), optional :: ierror
    call finish(c_schedule_create_schedule(schedule, jobs), 'optiq_schedule_create_schedule', ierror)
  end subroutine

  subroutine optiq_schedule_get_times(schedule, congestion_seconds, bound_seconds, ierror)
    type(optiq_schedule), intent(in) :: schedule
    real(c_double), intent(out), optional :: congestion_seconds, bound_seconds
    integer(c_int), intent(out), optional :: ierror
    call finish(c_schedule_get_times(schedule, congestion_seconds, bound_seconds), 'optiq_schedule_get_times', ierror)
  end subroutine

  subroutine transport_init_integer(comm, transport, ierror)
    integer(c_int), intent(in) :: comm
    type(optiq_transport), intent(out) :: transport
    integer(c_int), intent(out), optional :: ierror
    call finish(c_transport_init(comm, transport), 'optiq_transport_init', ierror)
  end subroutine

  subroutine optiq_transport_execute(transport, schedule, ierror)
    type(optiq_transport), intent(in) :: transport
    type(optiq_schedule), intent(in) :: schedule
    integer(c_int), intent(out), optional :: ierror
    call finish(c_transport_execute(transport, schedule), 'optiq_transport_execute', ierror)
  end subroutine

  subroutine optiq_transport_finalize(transport, ierror)
    type(optiq_transport), intent(inout) :: transport
    integer(c_int), intent(out), optional :: ierror
    call finish(c_transport_finalize(transport), 'optiq_transport_finalize', ierror)
  end subroutine

  pure logical function jobs_is_set(handle)
    type(optiq_jobs), intent(in) :: handle
    jobs_is_set = handle%handle /= 0
  end function

  pure logical function request_is_set(handle)
    type(optiq_request), intent(in) :: handle
    request_is_set = handle%handle /= 0
  end function

  pure logical function topology_is_set(handle)
    type(optiq_topology), intent(in) :: handle
    topology_is_set = handle%handle /= 0
  end function

  pure logical function schedule_is_set(handle)
    type(optiq_schedule), intent(in) :: handle
    schedule_is_set = handle%handle /= 0
  end function

  pure logical function transport_is_set(handle)
    type(optiq_transport), intent(in) :: handle
    transport_is_set = handle%handle /= 0
  end function

  pure logical function alg_is_set(handle)
    type(optiq_alg), intent(in) :: handle
    alg_is_set = handle%handle /= 0
  end function

  ! Hands a status on, or ends the program if the caller passes none.
  subroutine finish(status, function, ierror)
    integer(c_int), intent(in) :: status
    character(*), intent(in) :: function
    integer(c_int), intent(out), optional :: ierror
    character(:), allocatable :: why
    if (present(ierror)) then
      ierror = status
    else if (status /= OPTIQ_STATUS_SUCCESS) then
      why = optiq_last_message()
      if (len(why) == 0) why = optiq_strerror(status)
      flush (output_unit)
      write (error_unit, '(a)') 'optiq: error: ' // function // ': ' // why
      flush (error_unit)
      call c_abort(status)
    end if
  end subroutine

  ! A string for C: without blanks at its end, and with a zero byte.
  pure function c_text(text)
    character(*), intent(in) :: text
    character(len_trim(text) + 1, kind=c_char) :: c_text
    c_text = trim(text) // c_null_char
  end function

  ! A string of C's.
  function fortran_text(address) result(text)
    type(c_ptr), intent(in) :: address
    character(:), allocatable :: text
    character(kind=c_char), pointer :: bytes(:)
    if (c_associated(address)) then
      call c_f_pointer(address, bytes, [c_strlen(address)])
      text = joined(bytes)
    else
      text = ''
    end if
  end function

  pure function joined(bytes) result(text)
    character(kind=c_char), intent(in) :: bytes(:)
    character(size(bytes)) :: text
    integer :: i
    do i = 1, size(bytes)
      text(i:i) = bytes(i)
    end do
  end function
end module
