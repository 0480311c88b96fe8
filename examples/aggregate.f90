! The thesis's source example 2 in Fortran: data of all ranks goes to the bridge nodes, over paths that were found
! beforehand, and is written from there.
!
!   optiq transfers plan --topology torus:4x4 --to 0,10 --bytes 750000 --output paths_to_bridge_nodes
!   OPTIQ_TOPOLOGY=torus:4x4 OPTIQ_PLACEMENT=rank mpirun -n 16 ./aggregate paths_to_bridge_nodes out.dat
!
! Every rank writes `length` bytes, its number repeated, at an offset of its own; the file is the one that
! MPI_File_write_at on every rank would have made.
program aggregate
  use, intrinsic :: iso_fortran_env, only: error_unit, int64
  use mpi_f08
  use optiq_f08
  implicit none
  integer :: rank, ranks, job, jobs_, source, destination, i
  integer(int64) :: length, incoming, next
  integer(int64), allocatable :: lengths(:), offsets(:)
  character(1), allocatable, asynchronous :: buf(:), recvbuf(:)
  character(4096) :: jobfile, output
  type(optiq_jobs) :: jobs
  type(MPI_File) :: file

  if (command_argument_count() /= 2) then
    write (error_unit, '(a)') 'usage: aggregate JOBFILE OUTPUT'
    stop 2
  end if
  call get_command_argument(1, jobfile)
  call get_command_argument(2, output)

  ! Initialize OPTIQ and read paths to bridge nodes, once at the beginning.
  call optiq_init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call optiq_job_read_jobs_from_file(jobs, jobfile)

  ! The application's data. All nodes that write data exchange lengths to get offsets.
  length = 700000 + mod(rank * 7919, 100000)
  allocate (buf(length), source=char(rank))
  allocate (lengths(0:ranks - 1), offsets(0:ranks - 1))
  call MPI_Allgather(length, 1, MPI_INTEGER8, lengths, 1, MPI_INTEGER8, MPI_COMM_WORLD)
  offsets = [(sum(lengths(:i - 1)), i = 0, ranks - 1)]

  ! Assign data buffer and length.
  incoming = 0
  call optiq_jobs_get_count(jobs, jobs_)
  do job = 0, jobs_ - 1
    call optiq_jobs_get(jobs, job, source, destination)
    if (source == rank) then
      call optiq_jobs_set_demand(jobs, job, length)
      call optiq_jobs_set_buffers(jobs, job, buf)
    end if
    if (destination == rank) incoming = incoming + lengths(source)
  end do
  allocate (recvbuf(incoming))
  call optiq_jobs_set_receive_buffer(jobs, recvbuf, incoming)

  ! Aggregate data.
  call optiq_execute_jobs(jobs, MPI_COMM_WORLD)
  if (rank == 0) print '(2a)', 'aggregated over ', optiq_last_decision()

  ! If bridge node, write what has arrived.
  call MPI_File_open(MPI_COMM_WORLD, trim(output), MPI_MODE_CREATE + MPI_MODE_WRONLY, MPI_INFO_NULL, file, i)
  if (i /= MPI_SUCCESS) then
    write (error_unit, '(2a)') trim(output), ' cannot be opened'
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end if
  next = 1
  do job = 0, jobs_ - 1
    call optiq_jobs_get(jobs, job, source, destination)
    if (destination /= rank) cycle
    call MPI_File_write_at(file, offsets(source), recvbuf(next:next + lengths(source) - 1), int(lengths(source)), &
        MPI_BYTE, MPI_STATUS_IGNORE)
    next = next + lengths(source)
  end do
  call MPI_File_close(file)

  call optiq_jobs_free(jobs)
  ! Finalize OPTIQ once at the end; it finalises MPI, which it has initialised.
  call optiq_finalize()
end program
