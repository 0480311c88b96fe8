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
 A planned exchange that can be started many times. 0 is none.
 */
typedef uint64_t optiq_request;

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

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* OPTIQ_H */
