/* How long each rank spends in MPI_Alltoall and MPI_Alltoallv, and what it receives in them: preloaded in front of OPTIQ, if that is
 * there, and of the MPI library. Each process adds a line to the file that CALL_TIMES names: the number of its calls, the seconds in
 * them, its rank in MPI_COMM_WORLD, and the bytes from each rank of MPI_COMM_WORLD in all calls together. Written for OPTIQ.
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
/* By the sender's rank in MPI_COMM_WORLD. */
static unsigned long long *received_bytes;
static int world_rank, world_size;

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

/* Counts what a call receives: counts[i] items from rank i of comm, or as many as counts[0] from each. What is sent would not do: with
 * MPI_IN_PLACE a call does not say it. */
static void count(MPI_Comm comm, MPI_Datatype type, const int *counts, int each) {
    MPI_Group group, world;
    int between, item, ranks;
    if (!received_bytes) {
        MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
        MPI_Comm_size(MPI_COMM_WORLD, &world_size);
        received_bytes = calloc((size_t)world_size, sizeof *received_bytes);
        if (!received_bytes)
            abort();
    }
    MPI_Comm_test_inter(comm, &between);
    if (between)
        MPI_Comm_remote_group(comm, &group);
    else
        MPI_Comm_group(comm, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_size(group, &ranks);
    MPI_Type_size(type, &item);
    int from[ranks], in_world[ranks];
    for (int i = 0; i < ranks; i++)
        from[i] = i;
    MPI_Group_translate_ranks(group, ranks, from, world, in_world);
    for (int i = 0; i < ranks; i++)
        if (in_world[i] != MPI_UNDEFINED)
            received_bytes[in_world[i]] += (unsigned long long)counts[each ? 0 : i] * (unsigned long long)item;
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

/* A call of the next library's function of this name, timed unless it is within one that is; `counting` counts its bytes. */
#define TIMED(call, counting)                                                                                                        \
    double start = now();                                                                                                            \
    depth++;                                                                                                                         \
    call;                                                                                                                            \
    if (--depth == 0) {                                                                                                              \
        calls++, seconds += now() - start;                                                                                           \
        counting;                                                                                                                    \
    }

int MPI_Alltoall(const void *from, int sent, MPI_Datatype sends, void *into, int received, MPI_Datatype receives, MPI_Comm comm) {
    int (*call)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm) = next("MPI_Alltoall");
    int code;
    TIMED(code = call(from, sent, sends, into, received, receives, comm), count(comm, receives, &received, 1))
    return code;
}

int MPI_Alltoallv(const void *from, const int *sent, const int *places, MPI_Datatype sends, void *into, const int *received,
                  const int *offsets, MPI_Datatype receives, MPI_Comm comm) {
    int (*call)(const void *, const int *, const int *, MPI_Datatype, void *, const int *, const int *, MPI_Datatype, MPI_Comm) =
        next("MPI_Alltoallv");
    int code;
    TIMED(code = call(from, sent, places, sends, into, received, offsets, receives, comm), count(comm, receives, received, 0))
    return code;
}

void mpi_alltoall_(void *from, int *sent, int *sends, void *into, int *received, int *receives, int *comm, int *code) {
    void (*call)(void *, int *, int *, void *, int *, int *, int *, int *) = next("mpi_alltoall_");
    TIMED(call(from, sent, sends, into, received, receives, comm, code),
          count(MPI_Comm_f2c(*comm), MPI_Type_f2c(*receives), received, 1))
}

void mpi_alltoallv_(void *from, int *sent, int *places, int *sends, void *into, int *received, int *offsets, int *receives,
                    int *comm, int *code) {
    void (*call)(void *, int *, int *, int *, void *, int *, int *, int *, int *, int *) = next("mpi_alltoallv_");
    TIMED(call(from, sent, places, sends, into, received, offsets, receives, comm, code),
          count(MPI_Comm_f2c(*comm), MPI_Type_f2c(*receives), received, 0))
}

__attribute__((destructor)) static void report(void) {
    const char *path = getenv("CALL_TIMES");
    int initialized = 0;
    if (!path || MPI_Initialized(&initialized) != MPI_SUCCESS || !initialized)
        return;
    char *line = NULL;
    size_t length = 0;
    FILE *text = open_memstream(&line, &length);
    if (!text)
        return;
    fprintf(text, "%lu %.6f %d", calls, seconds, world_rank);
    for (int i = 0; received_bytes && i < world_size; i++)
        fprintf(text, " %llu", received_bytes[i]);
    fprintf(text, "\n");
    fclose(text);
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (file >= 0) {
        if (write(file, line, length) != (ssize_t)length)
            fprintf(stderr, "times: %s cannot be written\n", path);
        close(file);
    }
    free(line);
}
