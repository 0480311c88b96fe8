/* OPTIQ: moves data on supercomputers over many paths.
 *
 * Generated from optiq/src/c_api by cbindgen; do not edit. Every function returns 0 or a status code; strings that are
 * returned belong to the library. */

#ifndef OPTIQ_H
#define OPTIQ_H

#include <mpi.h>

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

 Returns 0 or a status code. If a rank's arguments are wrong, or counts disagree, all ranks get an error and no
 data is moved. Without a topology, and for errors of the MPI library, the communicator's error handler is called
 first, as MPI does; by default it ends the job. Thread-safe for different communicators as far as the program's MPI thread level allows.

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

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* OPTIQ_H */
