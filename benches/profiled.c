/* What collectives take, to be run with and without a profiler: the smallest of 100 trials after 100 warm-ups, the way in which document
   000, chapter 3, measured ibprof. A trial's time is that of its slowest rank. Rank 0 prints one JSON document.
   Arguments: the largest size in bytes of a block; "shared" for one processor for all ranks. `cargo xtask results --only profiler` runs
   it. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BCAST, ALLTOALL, REDUCE, SCATTER, FUNCTIONS };
static const char *const names[FUNCTIONS] = {"Bcast", "Alltoall", "Reduce", "Scatter"};
enum { WARM_UPS = 100, TRIALS = 100, SMALLEST = 2, STEP = 4 };

static void call(int function, char *from, char *into, int bytes) {
    switch (function) {
    case BCAST: MPI_Bcast(from, bytes, MPI_CHAR, 0, MPI_COMM_WORLD); break;
    case ALLTOALL: MPI_Alltoall(from, bytes, MPI_CHAR, into, bytes, MPI_CHAR, MPI_COMM_WORLD); break;
    case REDUCE: MPI_Reduce(from, into, bytes, MPI_CHAR, MPI_MAX, 0, MPI_COMM_WORLD); break;
    default: MPI_Scatter(from, bytes, MPI_CHAR, into, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    }
}

/* Stays on the last processor that this process may use, as all ranks do then. In a lab, whose hosts are one machine, ranks that take turns on
   one processor take the same time again and again; on several, what a call takes depends on whether a neighbour polls at that moment. */
static void share_processor(void) {
    cpu_set_t usable, one;
    if (sched_getaffinity(0, sizeof usable, &usable) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
    int last = CPU_SETSIZE - 1;
    while (last > 0 && !CPU_ISSET(last, &usable)) last--;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
    int rank, size, first = 1;
    int shared = argc == 3 && strcmp(argv[2], "shared") == 0;
    if (argc != 2 && !shared) {
        fprintf(stderr, "usage: %s LARGEST [shared]\n", argv[0]);
        return 2;
    }
    long largest = atol(argv[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (shared) share_processor();
    char *from = calloc(size, largest), *into = calloc(size, largest);
    if (!from || !into) MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0) printf("{\"ranks\": %d, \"cases\": [", size);
    for (int function = 0; function < FUNCTIONS; function++)
        for (long bytes = SMALLEST; bytes <= largest; bytes *= STEP) {
            double smallest = 1e9;
            for (int i = -WARM_UPS; i < TRIALS; i++) {
                double mine, slowest;
                MPI_Barrier(MPI_COMM_WORLD);
                mine = MPI_Wtime();
                call(function, from, into, (int)bytes);
                mine = MPI_Wtime() - mine;
                MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
                if (i >= 0 && slowest < smallest) smallest = slowest;
            }
            if (rank == 0)
                printf("%s{\"function\": \"%s\", \"block_bytes\": %ld, \"seconds\": %.9f}", first ? "" : ", ", names[function], bytes, smallest);
            first = 0;
        }
    if (rank == 0) printf("]}\n");
    MPI_Finalize();
    return 0;
}
