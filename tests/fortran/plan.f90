! Writes the job file of source example 2: every rank of a torus of 4x4 to the nearer of the bridge nodes 0 and 10, over
! planned paths. Arguments: the file.
program plan
  use mpi
  use optiq
  implicit none
  type(optiq_topology) :: topology
  type(optiq_alg) :: algorithms
  type(optiq_jobs) :: jobs
  integer :: rank, ierr
  character(4096) :: file
  call get_command_argument(1, file)
  call optiq_init()
  call optiq_topology_init(MPI_COMM_WORLD, topology)
  call optiq_alg_init(topology, algorithms)
  call optiq_jobs_create(jobs)
  do rank = 0, 15
    call optiq_jobs_add(jobs, rank, merge(0, 10, rank < 8), 750000)
  end do
  call optiq_alg_search_heu(algorithms, jobs, OPTIQ_SEARCH_OPTIMAL)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  if (rank == 0) call optiq_jobs_write(jobs, file)
  if (rank == 0) print '(a)', 'all is well'
  call optiq_finalize()
end program
