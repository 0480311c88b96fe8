/* Lets another rank run while one waits, for tests with more ranks than processors.
 *
 * MPICH over UCX has no such switch (Open MPI's is mpi_yield_when_idle): a rank that waits in MPI_Barrier spins until its turn on
 * the processor is over, 4 ms at 250 ticks a second, while the rank that it waits for has none. MPICH calls ucp_worker_progress
 * in every round of waiting; what it does is the same here, and the processor is given up where it had nothing to do. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*next)(void *);
    unsigned done;
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "ucp_worker_progress");
    done = next(worker);
    if (!done)
        sched_yield();
    return done;
}
