/* What MPICH's ranks need over UCX where there are more of them than processors: for tests, and for races in the lab.
 *
 * Waiting. MPICH has no switch as Open MPI's mpi_yield_when_idle: a rank that waits in MPI_Barrier spins until its turn on the
 * processor is over, 4 ms at 250 ticks a second, while the rank that it waits for has none. MPICH calls ucp_worker_progress in
 * every round of waiting; what it does is the same here, and the processor is given up where it had nothing to do.
 *
 * The end. In MPI_Finalize of MPICH 4.0 every rank flushes its TCP connections, which the peer must acknowledge, and then waits
 * for all ranks without acknowledging any more: who comes late waits for ever. Here every rank acknowledges for half a second,
 * and then no connection waits for its peer. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>
#include <time.h>

/* Half a second, in nanoseconds. */
#define LAST_PROGRESS 500000000LL

static void *last_worker;

unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*next)(void *);
    unsigned done;
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "ucp_worker_progress");
    last_worker = worker;
    done = next(worker);
    if (!done)
        sched_yield();
    return done;
}

static long long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Gives the request that MPICH waits for: none. MPICH calls it only in MPI_Finalize and MPI_Comm_disconnect. */
void *ucp_disconnect_nb(void *endpoint)
{
    static int progressed;
    (void)endpoint;
    if (!progressed && last_worker) {
        long long end = now() + LAST_PROGRESS;
        progressed = 1;
        while (now() < end)
            ucp_worker_progress(last_worker);
    }
    return NULL;
}
