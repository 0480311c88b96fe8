/* OPTIQ: moves data on supercomputers over many paths.
 *
 * Generated from optiq/src/c_api by cbindgen; do not edit. Every function returns 0 or a status code; strings that are
 * returned belong to the library. */

#ifndef OPTIQ_H
#define OPTIQ_H

#include <mpi.h>
#include <stdint.h>

/*
 Status codes of the C interface. 0 is success; a code is never given another meaning.
 */
enum optiq_status {
  /*
   Everything went well.
   */
  OPTIQ_STATUS_SUCCESS = 0,
  /*
   `optiq_init` has not been called, or `optiq_finalize` has.
   */
  OPTIQ_STATUS_NOT_INITIALIZED = 1,
  /*
   An argument is NULL, negative, or otherwise impossible.
   */
  OPTIQ_STATUS_ARGUMENT = 2,
  /*
   What one rank sends is not what another expects; no data was moved.
   */
  OPTIQ_STATUS_COUNTS = 3,
  /*
   An option does not parse, or the topology does not fit (only with `OPTIQ_STRICT=1`).
   */
  OPTIQ_STATUS_CONFIG = 4,
  /*
   No plan could be made (only with `OPTIQ_STRICT=1`).
   */
  OPTIQ_STATUS_PLAN = 5,
  /*
   The exchange failed on the way; the receive buffer is unspecified.
   */
  OPTIQ_STATUS_TRANSPORT = 6,
  /*
   The MPI library reported an error.
   */
  OPTIQ_STATUS_MPI = 7,
  /*
   A defect in OPTIQ, caught before it could take the program down.
   */
  OPTIQ_STATUS_INTERNAL = 8,
};

/*
 How `optiq_alg_search_heu` chooses paths.
 */
enum optiq_search {
  /*
   The fabric's own routes.
   */
  OPTIQ_SEARCH_DIRECT = 0,
  /*
   Heuristic 1 of the thesis (5.3.1).
   */
  OPTIQ_SEARCH_HEU1 = 1,
  /*
   Heuristic 2 of the thesis (5.3.2).
   */
  OPTIQ_SEARCH_HEU2 = 2,
  /*
   The linear program of the thesis (5.4.1); not in every build.
   */
  OPTIQ_SEARCH_LP = 3,
  /*
   OPTIQ's own planner, the default elsewhere; adds paths of its own to those that are given.
   */
  OPTIQ_SEARCH_OPTIMAL = 4,
};

/*
 A list of jobs: bytes from one rank to another, with the paths that they take. 0 is none.
 */
typedef uint64_t optiq_jobs;

/*
 A planned exchange that can be started many times. 0 is none.
 */
typedef uint64_t optiq_request;

/*
 A communicator's network: its shape, and which node each rank is on. 0 is none.
 */
typedef uint64_t optiq_topology;

/*
 Which jobs take which paths, and what that means for the links. 0 is none.
 */
typedef uint64_t optiq_schedule;

/*
 What moves the bytes of a communicator. 0 is none.
 */
typedef uint64_t optiq_transport;

/*
 Path searching on a topology. 0 is none.
 */
typedef uint64_t optiq_alg;

/*
 Functions that carry messages between the ranks of a communicator, in place of MPI. Each returns 0, or another number if it
 fails, which ends the exchange with an error. Messages from one rank to another with the same tag arrive in the order in which
 they were sent; tags have 32 bits. Nothing may wait for other ranks but `connect`.
 */
struct optiq_transport_functions {
  /*
   A name for logs and results; copied.
   */
  const char *name;
  /*
   The first argument of `connect`.
   */
  void *context;
  /*
   The largest message in bytes; 0 if there is no limit.
   */
  uint64_t largest_bytes;
  /*
   Connects the ranks of `comm`, which is OPTIQ's own and stays valid until `disconnect`; collective. Gives what the other
   functions are called with.
   */
  int (*connect)(void *context, MPI_Comm comm, void **connection);
  /*
   Starts to send `bytes` bytes at `data` to rank `to`, and gives a number for the operation.
   */
  int (*send)(void *connection,
              int to,
              uint32_t tag,
              const void *data,
              uint64_t bytes,
              uint64_t *operation);
  /*
   Starts to receive the next message with this tag from rank `from`, of `bytes` bytes, to `data`, and gives a number for the
   operation.
   */
  int (*receive)(void *connection,
                 int from,
                 uint32_t tag,
                 void *data,
                 uint64_t bytes,
                 uint64_t *operation);
  /*
   Sets `complete` to 1 or 0, and `bytes`, of a receive that is complete, to the size of the message. A send is complete when
   its data may be used again. Operations that are complete are not asked for again.
   */
  int (*test)(void *connection, uint64_t operation, int *complete, uint64_t *bytes);
  /*
   Gives an operation up after an error: afterwards it touches no memory.
   */
  int (*cancel)(void *connection, uint64_t operation);
  /*
   Ends a connection, at different times on different ranks.
   */
  int (*disconnect)(void *connection);
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Initialises OPTIQ; MPI as well, with the arguments of `main`, if that has not been done. Call it once, from all
 ranks, before any other function. `argc` and `argv` may be NULL. Options are read from `OPTIQ_*` environment
 variables. Since 0.1.

 Returns 0 or a status code. Not thread-safe.

 Requirements:
 `argc` and `argv` must be NULL or point to those of `main`.
 */
int optiq_init(int *argc,
               char ***argv);

/*
 Ends OPTIQ and frees everything that it keeps for communicators; finalises MPI if `optiq_init` initialised
 it. Collective over all communicators that were used. Called by itself at `MPI_Finalize` if it was forgotten.
 Since 0.1.

 Returns 0 or a status code. Not thread-safe.
 */
int optiq_finalize(void);

/*
 As `MPI_Alltoallv` (MPI 4.0, section 6.8), over many paths where that is faster. Everything that `MPI_Alltoallv`
 accepts is accepted; what OPTIQ does not move itself is handed to the MPI library. Collective over `comm`.
 Since 0.1.

 Returns 0 or a status code. If a rank's arguments are wrong, or counts disagree, in a call that ranks agree on, all
 ranks get an error and no data is moved. In calls that go to plain MPI without an agreement, because earlier ones
 were small, an error is the rank's own, as in MPI; OPTIQ_CHECK=1 makes ranks agree on every call. Without a topology,
 in calls without an agreement, and for errors of the MPI library, the communicator's error handler is called first,
 as MPI does; by default it ends the job. Thread-safe for different communicators as far as the program's MPI thread
 level allows.

 Requirements:
 As for `MPI_Alltoallv`: arrays of as many elements as `comm` has ranks, buffers that hold what the counts and
 displacements say, valid handles.
 */
int optiq_alltoallv(const void *sendbuf,
                    const int *sendcounts,
                    const int *sdispls,
                    MPI_Datatype sendtype,
                    void *recvbuf,
                    const int *recvcounts,
                    const int *rdispls,
                    MPI_Datatype recvtype,
                    MPI_Comm comm);

/*
 As `optiq_alltoallv` with 64-bit counts and displacements, in the manner of `MPI_Alltoallv_c` (MPI 4.0, section 6.8).
 Beyond 2^31 - 1 elements OPTIQ moves the bytes itself, for which it needs a network; then datatypes must be plain runs of
 bytes, and `MPI_IN_PLACE` is an error. Collective over `comm`. Since 0.1.

 Returns 0 or a status code, as `optiq_alltoallv`; counts beyond 2^31 - 1 in a call that ranks do not agree on, because
 earlier ones were small, end the job (OPTIQ_CHECK=1 makes them agree).

 Requirements:
 As for `optiq_alltoallv`.
 */
int optiq_alltoallv_c(const void *sendbuf,
                      const int64_t *sendcounts,
                      const int64_t *sdispls,
                      MPI_Datatype sendtype,
                      void *recvbuf,
                      const int64_t *recvcounts,
                      const int64_t *rdispls,
                      MPI_Datatype recvtype,
                      MPI_Comm comm);

/*
 One line of English for a status code; never NULL, valid for ever. Since 0.1. Thread-safe.
 */
const char *optiq_strerror(int status);

/*
 The sentence that explains the last status of a function that was called from this thread; empty after a
 success. Valid until the next call from this thread. Never NULL. Since 0.1. Thread-safe.
 */
const char *optiq_last_message(void);

/*
 What served the last `optiq_alltoallv` from this thread, and why; empty before the first. Valid until the next
 call from this thread. Never NULL. Since 0.1. Thread-safe.
 */
const char *optiq_last_decision(void);

/*
 The library's version: major * 10000 + minor * 100 + patch. Since 0.1. Thread-safe.
 */
int optiq_version(void);

/*
 As `MPI_File_write_at_all` (MPI 4.0, section 14.4.2): `offset` counts elements of the file's view. The data is moved
 over many paths to the I/O hosts that the topology marks (or `OPTIQ_IO_HOSTS`), and written there in large pieces,
 within `OPTIQ_IO_BUDGET` bytes of memory. What OPTIQ does not serve itself is handed to the MPI library: views and
 datatypes that are not contiguous, views that differ between ranks, atomic mode, ranks that write to the same bytes;
 `optiq_last_decision` says which of both it was. Collective over the processes that opened the file; the file stays the
 program's. Since 0.1.

 Returns 0 or a status code. If a rank's arguments are wrong, or an I/O host's rank cannot write, all ranks get an error,
 and `optiq_last_message` says which rank could not write what, and why; what earlier calls wrote is in the file then, and
 any part of this one may be. With `OPTIQ_IO_TIMEOUT` ranks that do not come in time are an error at all that wait for
 them; afterwards these processes cannot access files through OPTIQ any more, and memory of the call may still be in use.
 A handle that is not open, and errors of accesses that the MPI library serves, are the rank's own, as in MPI. `status` is
 filled after a success, and may be `MPI_STATUS_IGNORE` or NULL. Files of the same processes must not be used from two
 threads at a time.

 Requirements:
 As for `MPI_File_write_at_all`: an open file, a buffer that holds what `count` and `datatype` say, valid handles.
 */
int optiq_file_write_at_all(MPI_File fh,
                            MPI_Offset offset,
                            const void *buf,
                            int count,
                            MPI_Datatype datatype,
                            MPI_Status *status);

/*
 As `MPI_File_read_at_all` (MPI 4.0, section 14.4.2), the way back of `optiq_file_write_at_all`: I/O hosts read large
 pieces and the data is moved over many paths to the ranks. Several ranks may read the same bytes. Where the file ends,
 `status` tells fewer elements, or none, and the buffer keeps what it held. Collective over the processes that opened the
 file. Since 0.1.

 Returns 0 or a status code, as `optiq_file_write_at_all`; after an error the buffer's contents are unspecified.

 Requirements:
 As for `MPI_File_read_at_all`: an open file, a buffer with room for what `count` and `datatype` say, valid handles.
 */
int optiq_file_read_at_all(MPI_File fh,
                           MPI_Offset offset,
                           void *buf,
                           int count,
                           MPI_Datatype datatype,
                           MPI_Status *status);

/*
 An empty list of jobs. Local. Since 0.1.

 Returns 0 or a status code, and in `jobs` a handle that `optiq_jobs_free` frees (0 after an error).

 Requirements:
 `jobs` must be NULL or valid for writing.
 */
int optiq_jobs_create(optiq_jobs *jobs);

/*
 Reads a job file: pairs of ranks, their bytes, and the paths that were found for them beforehand. Local; every rank of a
 communicator reads the same file. Since 0.1.

 Returns 0 or a status code, and in `jobs` a handle that `optiq_jobs_free` frees (0 after an error).

 Requirements:
 `jobs` must be NULL or valid for writing, `pathfile` NULL or a string that ends with a zero byte.
 */
int optiq_job_read_jobs_from_file(optiq_jobs *jobs,
                                  const char *pathfile);

/*
 Writes a job file, as JSON if its name ends with `.json`. Local: one rank is enough. Since 0.1.

 Returns 0 or a status code; a file that exists is replaced when the new one is complete.

 Requirements:
 `pathfile` must be NULL or a string that ends with a zero byte.
 */
int optiq_jobs_write(optiq_jobs jobs, const char *pathfile);

/*
 Frees a list of jobs and sets the handle to 0; buffers are the program's. Local. Since 0.1.

 Returns 0 or a status code.

 Requirements:
 `jobs` must be NULL or valid for reading and writing.
 */
int optiq_jobs_free(optiq_jobs *jobs);

/*
 Adds a job behind the others; a pair of ranks has at most one. All ranks add the same jobs. Local. Since 0.1.

 Returns 0 or a status code.
 */
int optiq_jobs_add(optiq_jobs jobs,
                   int source,
                   int destination,
                   int64_t bytes);

/*
 The number of jobs. Since 0.1.

 Returns 0 or a status code. Thread-safe.

 Requirements:
 `count` must be NULL or valid for writing.
 */
int optiq_jobs_get_count(optiq_jobs jobs, int64_t *count);

/*
 A job: the rank that sends, the rank that receives, its bytes, and the number of its paths. Places may be NULL. Since 0.1.

 Returns 0 or a status code. Thread-safe.

 Requirements:
 Places must be NULL or valid for writing.
 */
int optiq_jobs_get(optiq_jobs jobs,
                   int64_t job,
                   int *source,
                   int *destination,
                   int64_t *bytes,
                   int *paths);

/*
 Sets the bytes of a job. Only what its source says counts when it is executed; paths keep their proportions. Local.
 Since 0.1.

 Returns 0 or a status code.
 */
int optiq_jobs_set_demand(optiq_jobs jobs,
                          int64_t job,
                          int64_t bytes);

/*
 Sets the priority class of a job, from 0 (as it comes) to 255 (most urgent). Chunks of more urgent jobs go first at every rank;
 paths are planned for all jobs together. All ranks set the same. Local. Since 0.1.

 Returns 0 or a status code.
 */
int optiq_jobs_set_class(optiq_jobs jobs,
                         int64_t job,
                         int priority_class);

/*
 The priority class of a job. Since 0.1.

 Returns 0 or a status code. Thread-safe.

 Requirements:
 `priority_class` must be NULL or valid for writing.
 */
int optiq_jobs_get_class(optiq_jobs jobs, int64_t job, int *priority_class);

/*
 Sets where a job's bytes are, which matters at its source, and where they go, which matters at its destination; either may
 be NULL elsewhere. Without a place of their own, bytes go where `optiq_jobs_set_receive_buffer` says. Both stay the
 program's, and must stay valid until the jobs were executed. Local. Since 0.1.

 Returns 0 or a status code.
 */
int optiq_jobs_set_buffers(optiq_jobs jobs,
                           int64_t job,
                           const void *sendbuf,
                           void *recvbuf);

/*
 Sets one buffer of `bytes` bytes for everything that arrives here, one job after the other in the order of the list. It
 stays the program's. Local. Since 0.1.

 Returns 0 or a status code.
 */
int optiq_jobs_set_receive_buffer(optiq_jobs jobs,
                                  void *recvbuf,
                                  int64_t bytes);

/*
 The bytes that arrived here when the jobs were executed last. Since 0.1.

 Returns 0 or a status code. Thread-safe.

 Requirements:
 `bytes` must be NULL or valid for writing.
 */
int optiq_jobs_get_received(optiq_jobs jobs, int64_t *bytes);

/*
 Executes jobs: moves the bytes of every job from its source to its destination, along the paths that the jobs have, or
 along planned ones. Collective over `comm`; every rank has the same jobs. Since 0.1.

 Returns 0 or a status code, the same kind on every rank if something is found to be wrong before data moves.

 Requirements:
 A valid communicator; the buffers of the jobs must be valid for their bytes.
 */
int optiq_execute_jobs(optiq_jobs jobs,
                       MPI_Comm comm);

/*
 Reads a job file and executes it. Every job has `datasize` bytes, or those of the file if that is 0. Those that start
 here take their bytes from `sendbuf`, one job after the other in the order of the file; those that end here go to
 `recvbuf`, of `recvbytes` bytes, in the same way. Collective over `comm`. Since 0.1.

 Returns 0 or a status code, the same kind on every rank if something is found to be wrong before data moves.

 Requirements:
 A valid communicator; `jobfile` must be NULL or a string that ends with a zero byte, `sendbuf` valid for the bytes that
 start here, `recvbuf` for `recvbytes` bytes.
 */
int optiq_execute_jobs_from_file(const char *jobfile,
                                 int64_t datasize,
                                 const void *sendbuf,
                                 void *recvbuf,
                                 int64_t recvbytes,
                                 MPI_Comm comm);

/*
 Begins a region of the code: what this process sends until its end is counted apart by `optiq profile`. Regions may lie within
 each other. `name` has 1 to 128 bytes of printable UTF-8 text, which are copied. Without a profiler it does nothing. Local. Since 0.1.

 Returns 0 or a status code. Thread-safe; the regions are the process's, not the thread's.

 Requirements:
 `name` must be NULL or a string that ends with a zero byte.
 */
int optiq_region_begin(const char *name);

/*
 Ends the region of this name, and those that were begun within it and not ended. Local. Since 0.1.

 Returns 0 or a status code. Thread-safe; the regions are the process's, not the thread's.

 Requirements:
 `name` must be NULL or a string that ends with a zero byte.
 */
int optiq_region_end(const char *name);

/*
 Plans an exchange that will be started many times, as `MPI_Alltoallv_init` (MPI 4.0, section 6.13.8): all arguments
 are those of `optiq_alltoallv`; the arrays may be changed afterwards, the buffers must stay. Collective over `comm`.
 Since 0.1.

 Returns 0 or a status code, and in `request` a handle that `optiq_alltoallv_free` frees (0 after an error).

 Requirements:
 As for `optiq_alltoallv`; the buffers must be valid until the request is freed; `request` must be valid for writing.
 */
int optiq_alltoallv_init(const void *sendbuf,
                         const int *sendcounts,
                         const int *sdispls,
                         MPI_Datatype sendtype,
                         void *recvbuf,
                         const int *recvcounts,
                         const int *rdispls,
                         MPI_Datatype recvtype,
                         MPI_Comm comm,
                         optiq_request *request);

/*
 Plans an exchange as `optiq_alltoallv_init`, in a priority class from 0 (as it comes, as all other exchanges) to 255 (most urgent),
 the same on all ranks. Exchanges of different classes that were started move at one time: at every rank, of those that send and
 of those that forward, chunks of a more urgent one leave before new chunks of the others. Exchanges of one class move one at a
 time, in the order of the starts. Up to four classes, 0 among them, move at one time; further ones share the turn of the nearest.
 An exchange waits for those that were started before it if their buffer memory together does not fit `OPTIQ_BUDGET`. With
 `OPTIQ_TRACE` or `OPTIQ_POSTCARDS`, and with transports other than `two-sided`, exchanges move one at a time. What plain MPI serves
 has no class. For a class of each message, make a list of jobs (`optiq_jobs_set_class`). Since 0.1.

 Returns 0 or a status code, and in `request` a handle that `optiq_alltoallv_free` frees (0 after an error).

 Requirements:
 As for `optiq_alltoallv_init`.
 */
int optiq_alltoallv_init_class(const void *sendbuf,
                               const int *sendcounts,
                               const int *sdispls,
                               MPI_Datatype sendtype,
                               void *recvbuf,
                               const int *recvcounts,
                               const int *rdispls,
                               MPI_Datatype recvtype,
                               int priority_class,
                               MPI_Comm comm,
                               optiq_request *request);

/*
 Starts an exchange with the arguments of `optiq_alltoallv` and returns before its data has moved:
 `optiq_alltoallv_init` and `optiq_alltoallv_start` in one. Collective, and no further non-blocking than that: the ranks
 agree, and plan if the demands are new, before it returns; what follows is the same as after `optiq_alltoallv_start`. Since
 0.1.

 Returns 0 or a status code, and in `request` a handle that `optiq_alltoallv_free` frees (0 after an error).

 Requirements:
 As for `optiq_alltoallv_init`.
 */
int optiq_ialltoallv(const void *sendbuf,
                     const int *sendcounts,
                     const int *sdispls,
                     MPI_Datatype sendtype,
                     void *recvbuf,
                     const int *recvcounts,
                     const int *rdispls,
                     MPI_Datatype recvtype,
                     MPI_Comm comm,
                     optiq_request *request);

/*
 Starts an exchange as `optiq_ialltoallv`, in a priority class: `optiq_alltoallv_init_class` and `optiq_alltoallv_start` in one.
 Since 0.1.

 Returns 0 or a status code, and in `request` a handle that `optiq_alltoallv_free` frees (0 after an error).

 Requirements:
 As for `optiq_alltoallv_init`.
 */
int optiq_ialltoallv_class(const void *sendbuf,
                           const int *sendcounts,
                           const int *sdispls,
                           MPI_Datatype sendtype,
                           void *recvbuf,
                           const int *recvcounts,
                           const int *rdispls,
                           MPI_Datatype recvtype,
                           int priority_class,
                           MPI_Comm comm,
                           optiq_request *request);

/*
 Starts a planned exchange and returns at once. The send buffer must not be changed, and the receive buffer not be
 touched, until `optiq_alltoallv_test` or `optiq_alltoallv_wait` says that it is complete. All ranks must start the
 exchanges of a communicator in the same order. Progress is made inside OPTIQ's calls, or by a thread if
 `OPTIQ_PROGRESS=1` is set and MPI was initialised with `MPI_THREAD_MULTIPLE`. Since 0.1.

 Returns 0 or a status code; starting what is under way is an error.

 Requirements:
 `request` must be NULL or valid for reading, and the buffers of its `optiq_alltoallv_init` valid.
 */
int optiq_alltoallv_start(optiq_request *request);

/*
 Makes progress with a started exchange and says in `flag` whether it is complete (1 also if it was never started).
 Since 0.1.

 Returns 0 or a status code.

 Requirements:
 `request` must be NULL or valid for reading, `flag` NULL or valid for writing.
 */
int optiq_alltoallv_test(optiq_request *request,
                         int *flag);

/*
 Waits until a started exchange is complete; returns at once if it was never started. Since 0.1.

 Returns 0 or a status code.

 Requirements:
 `request` must be NULL or valid for reading.
 */
int optiq_alltoallv_wait(optiq_request *request);

/*
 Frees a planned exchange and sets `request` to 0. It must not be under way. Local. Since 0.1.

 Returns 0 or a status code.

 Requirements:
 `request` must be NULL or valid for reading and writing.
 */
int optiq_alltoallv_free(optiq_request *request);

/*
 An empty schedule for the ranks of a topology, which may be freed afterwards. Local. Since 0.1.

 Returns 0 or a status code, and in `schedule` a handle that `optiq_schedule_finalize` frees (0 after an error).

 Requirements:
 `schedule` must be NULL or valid for writing.
 */
int optiq_schedule_init(optiq_topology topology,
                        optiq_schedule *schedule);

/*
 Frees a schedule and sets the handle to 0; its jobs stay. Local. Since 0.1.

 Returns 0 or a status code.

 Requirements:
 `schedule` must be NULL or valid for reading and writing.
 */
int optiq_schedule_finalize(optiq_schedule *schedule);

/*
 Schedules jobs: jobs without paths get planned ones, those with paths keep them. The schedule refers to the jobs, which
 must not be freed before it was executed; their sizes must be known here. Local; the same on every rank that has the same
 jobs. Since 0.1.

 Returns 0 or a status code.
 */
int optiq_schedule_create_schedule(optiq_schedule schedule,
                                   optiq_jobs jobs);

/*
 What the links say of a schedule, in seconds: no execution of it is faster than `congestion_seconds`, and none of any
 schedule for these jobs is faster than `bound_seconds`. Places may be NULL. Since 0.1.

 Returns 0 or a status code. Thread-safe.

 Requirements:
 Places must be NULL or valid for writing.
 */
int optiq_schedule_get_times(optiq_schedule schedule,
                             double *congestion_seconds,
                             double *bound_seconds);

/*
 What moves the bytes of a communicator, which must not be freed before it. Collective over `comm`. Since 0.1.

 Returns 0 or a status code, and in `transport` a handle that `optiq_transport_finalize` frees (0 after an error).

 Requirements:
 A valid communicator; `transport` must be NULL or valid for writing.
 */
int optiq_transport_init(MPI_Comm comm,
                         optiq_transport *transport);

/*
 Executes a schedule: moves the bytes of its jobs. Collective over the transport's communicator. Since 0.1.

 Returns 0 or a status code, as `optiq_execute_jobs`.

 Requirements:
 The transport's communicator must be valid, and the buffers of the jobs for their bytes.
 */
int optiq_transport_execute(optiq_transport transport,
                            optiq_schedule schedule);

/*
 Frees a transport and sets the handle to 0. Local. Since 0.1.

 Returns 0 or a status code.

 Requirements:
 `transport` must be NULL or valid for reading and writing.
 */
int optiq_transport_finalize(optiq_transport *transport);

/*
 Sets an option, over environment and `optiq.conf`. `name` is as in either, such as `topology` or `OPTIQ_TOPOLOGY`;
 `value` is copied; NULL or an empty string take the option back to its default. Before `optiq_init`, or after it for
 communicators whose first use is still to come; options of the process as a whole (log, trace, progress) only before.
 To be called alike on all ranks. `optiq info -cf` lists options. Since 0.1.

 Returns 0 or a status code; nothing is changed by a call that fails. Not thread-safe.

 Requirements:
 Both must be NULL or strings that end with a zero byte.
 */
int optiq_set_option(const char *name,
                     const char *value);

/*
 The value of an option for communicators whose first use is still to come, as it was written, or its default; cut off
 at `size` - 1 bytes. `length`, unless it is NULL, receives the length of the whole value. `value` may be NULL if `size`
 is 0. Since 0.1.

 Returns 0 or a status code. Thread-safe.

 Requirements:
 `name` must be NULL or a string that ends with a zero byte, `value` valid for writing `size` bytes, `length` NULL or
 valid for writing.
 */
int optiq_get_option(const char *name,
                     char *value,
                     uintptr_t size,
                     uintptr_t *length);

/*
 Sets an option for one communicator, over everything else; before its first use. To be called alike on all its ranks.
 Duplicates of the communicator do not inherit it. Since 0.1.

 Returns 0 or a status code. Not thread-safe.

 Requirements:
 A valid communicator; both others must be NULL or strings that end with a zero byte.
 */
int optiq_comm_set_option(MPI_Comm comm,
                          const char *name,
                          const char *value);

/*
 Sets options for one communicator from the keys of `info` that begin with `optiq_`, such as `optiq_topology`; before
 its first use. To be called alike on all its ranks. Keys that the MPI library itself keeps with a communicator are read
 as well, without this call; few libraries keep keys that they do not know (Open MPI does those of
 `MPI_Comm_dup_with_info`). Since 0.1.

 Returns 0 or a status code; nothing is changed by a call that fails. Not thread-safe. `info` is read and not kept.

 Requirements:
 A valid communicator and a valid info object, or `MPI_INFO_NULL`.
 */
int optiq_comm_set_info(MPI_Comm comm,
                        MPI_Info info);

/*
 The topology of a communicator: the network of the option `topology`, and the nodes that its ranks are on. Collective
 over `comm`. Since 0.1.

 Returns 0 or a status code, and in `topology` a handle that `optiq_topology_finalize` frees (0 after an error). Without a
 network that is an error.

 Requirements:
 A valid communicator; `topology` must be NULL or valid for writing.
 */
int optiq_topology_init(MPI_Comm comm,
                        optiq_topology *topology);

/*
 Frees a topology and sets the handle to 0. Local. Since 0.1.

 Returns 0 or a status code.

 Requirements:
 `topology` must be NULL or valid for reading and writing.
 */
int optiq_topology_finalize(optiq_topology *topology);

/*
 The size of a torus or mesh in each dimension, such as 2, 4, 4, 4, 2. `size` has room for `capacity` numbers; NULL and 0
 ask for their number alone. `dimensions` may be NULL. Since 0.1.

 Returns 0 or a status code: it is an error if the topology has no dimensions, or more than there is room for. Thread-safe.

 Requirements:
 `size` must be NULL or valid for writing `capacity` ints, `dimensions` NULL or valid for writing.
 */
int optiq_topology_get_size(optiq_topology topology,
                            int capacity,
                            int *size,
                            int *dimensions);

/*
 Which dimensions are rings (1) and which are not (0); as `optiq_topology_get_size`. Since 0.1.

 Returns 0 or a status code. Thread-safe.

 Requirements:
 As for `optiq_topology_get_size`.
 */
int optiq_topology_get_torus(optiq_topology topology, int capacity, int *torus, int *dimensions);

/*
 The coordinates of this rank's node; as `optiq_topology_get_size`. Since 0.1.

 Returns 0 or a status code. Thread-safe.

 Requirements:
 As for `optiq_topology_get_size`.
 */
int optiq_topology_get_coordinate(optiq_topology topology,
                                  int capacity,
                                  int *coordinate,
                                  int *dimensions);

/*
 The node that this rank is on: its number in the topology, from 0. Since 0.1.

 Returns 0 or a status code. Thread-safe.

 Requirements:
 `node` must be NULL or valid for writing.
 */
int optiq_topology_get_nodeId(optiq_topology topology, int *node);

/*
 The node that a rank of the communicator is on. Since 0.1.

 Returns 0 or a status code. Thread-safe.

 Requirements:
 `node` must be NULL or valid for writing.
 */
int optiq_topology_get_node_of_rank(optiq_topology topology, int rank, int *node);

/*
 The number of nodes of the topology. Since 0.1.

 Returns 0 or a status code. Thread-safe.

 Requirements:
 `nodes` must be NULL or valid for writing.
 */
int optiq_topology_get_nodes(optiq_topology topology, int *nodes);

/*
 Path searching on a topology, which may be freed afterwards. Local. Since 0.1.

 Returns 0 or a status code, and in `algorithms` a handle that `optiq_alg_finalize` frees (0 after an error).

 Requirements:
 `algorithms` must be NULL or valid for writing.
 */
int optiq_alg_init(optiq_topology topology,
                   optiq_alg *algorithms);

/*
 Frees it and sets the handle to 0. Local. Since 0.1.

 Returns 0 or a status code.

 Requirements:
 `algorithms` must be NULL or valid for reading and writing.
 */
int optiq_alg_finalize(optiq_alg *algorithms);

/*
 Finds the `num_paths` shortest paths for every job (thesis 4.2.1 and 5.2) and keeps them with the jobs, without shares of
 the bytes. `graphfile` is a topology file whose network must be that of the topology, or NULL. Local; the same on every
 rank. Since 0.1.

 Returns 0 or a status code; the jobs are not changed by a call that fails.

 Requirements:
 `graphfile` must be NULL or a string that ends with a zero byte.
 */
int optiq_alg_generate_kpaths(optiq_alg algorithms,
                              const char *graphfile,
                              optiq_jobs jobs,
                              int num_paths);

/*
 Chooses paths for the jobs' bytes, and how many bytes take each (thesis 4.2.2): from the paths that
 `optiq_alg_generate_kpaths` or a file gave them, or from the planner's own. `search` is one of `optiq_search`. The sizes
 of all jobs count, so they must be known here. Local; the same on every rank that has the same jobs. Since 0.1.

 Returns 0 or a status code; the jobs are not changed by a call that fails.
 */
int optiq_alg_search_heu(optiq_alg algorithms,
                         optiq_jobs jobs,
                         int search);

/*
 Has chunks carried by functions of the program's, for communicators whose first use is still to come, and credits and everything
 else that an exchange needs; OPTIQ still plans, agrees and falls back with MPI. `functions` is copied; NULL takes MPI again. To
 be called alike on all ranks, after `optiq_init`. Where ranks cannot connect, chunks travel by MPI, or, with the option
 `strict`, calls fail. Since 0.1.

 Returns 0 or a status code. Not thread-safe.

 Requirements:
 `functions` must be NULL or valid for reading, with a name that ends with a zero byte and functions that do what is said of
 them until the last communicator is freed that they are used for, or OPTIQ ended.
 */
int optiq_set_transport(const struct optiq_transport_functions *functions);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* OPTIQ_H */
