/* How long each rank spends in MPI_Alltoall and MPI_Alltoallv: preloaded in front of OPTIQ, if that is there, and of the MPI library.
 * Each process adds a line to the file that CALL_TIMES names: the number of its calls, and the seconds in them. Written for OPTIQ.
 *
 * Programs in Fortran call names of their own (mpi_alltoall_), which are timed as well; a call is timed once where one leads to the
 * other. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static unsigned long calls;
static double seconds;
static int depth;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *next(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) {
        fprintf(stderr, "times: no %s behind this library\n", name);
        abort();
    }
    return found;
}

/* A call of the next library's function of this name, timed unless it is within one that is. */
#define TIMED(call)                                                                                                                  \
    double start = now();                                                                                                            \
    depth++;                                                                                                                         \
    call;                                                                                                                            \
    if (--depth == 0)                                                                                                                \
        calls++, seconds += now() - start;

int MPI_Alltoall(const void *from, int sent, MPI_Datatype sends, void *into, int received, MPI_Datatype receives, MPI_Comm comm) {
    int (*call)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm) = next("MPI_Alltoall");
    int code;
    TIMED(code = call(from, sent, sends, into, received, receives, comm))
    return code;
}

int MPI_Alltoallv(const void *from, const int *sent, const int *places, MPI_Datatype sends, void *into, const int *received,
                  const int *offsets, MPI_Datatype receives, MPI_Comm comm) {
    int (*call)(const void *, const int *, const int *, MPI_Datatype, void *, const int *, const int *, MPI_Datatype, MPI_Comm) =
        next("MPI_Alltoallv");
    int code;
    TIMED(code = call(from, sent, places, sends, into, received, offsets, receives, comm))
    return code;
}

void mpi_alltoall_(void *from, int *sent, int *sends, void *into, int *received, int *receives, int *comm, int *code) {
    void (*call)(void *, int *, int *, void *, int *, int *, int *, int *) = next("mpi_alltoall_");
    TIMED(call(from, sent, sends, into, received, receives, comm, code))
}

void mpi_alltoallv_(void *from, int *sent, int *places, int *sends, void *into, int *received, int *offsets, int *receives,
                    int *comm, int *code) {
    void (*call)(void *, int *, int *, int *, void *, int *, int *, int *, int *, int *) = next("mpi_alltoallv_");
    TIMED(call(from, sent, places, sends, into, received, offsets, receives, comm, code))
}

__attribute__((destructor)) static void report(void) {
    const char *path = getenv("CALL_TIMES");
    int initialized = 0;
    if (!path || MPI_Initialized(&initialized) != MPI_SUCCESS || !initialized)
        return;
    char line[64];
    int length = snprintf(line, sizeof line, "%lu %.6f\n", calls, seconds);
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (file >= 0) {
        if (write(file, line, (size_t)length) != length)
            fprintf(stderr, "times: %s cannot be written\n", path);
        close(file);
    }
}
