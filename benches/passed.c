/* What the preload library costs a call that it passes on: MPI_Alltoallv, which it has under its name, against PMPI_Alltoallv,
   which it has not, in pairs of batches in one program. Which of a pair comes first changes from pair to pair. Rank 0 prints one
   JSON document: the median of all pairs, and the middle half of them; all times per call, the time of the slowest rank.
   Arguments: bytes from each rank to each, calls in a batch, pairs. `cargo xtask results --only preload` runs it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    int rank, size;
    if (argc != 4) {
        fprintf(stderr, "usage: %s BYTES CALLS PAIRS\n", argv[0]);
        return 2;
    }
    int bytes = atoi(argv[1]), calls = atoi(argv[2]), pairs = atoi(argv[3]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int *c = malloc(2 * size * sizeof(int)), *d = c + size;
    char *send = calloc(size, bytes + 1), *receive = calloc(size, bytes + 1);
    double *difference = malloc(2 * pairs * sizeof(double)), *plain = difference + pairs;
    for (int i = 0; i < size; i++) {
        c[i] = bytes;
        d[i] = i * bytes;
    }
    /* One pair to get warm. */
    for (int pair = -1; pair < pairs; pair++) {
        double seconds[2];
        for (int turn = 0; turn < 2; turn++) {
            int direct = (turn + pair) & 1;
            MPI_Barrier(MPI_COMM_WORLD);
            double start = MPI_Wtime(), mine;
            for (int i = 0; i < calls; i++) {
                if (direct)
                    PMPI_Alltoallv(send, c, d, MPI_CHAR, receive, c, d, MPI_CHAR, MPI_COMM_WORLD);
                else
                    MPI_Alltoallv(send, c, d, MPI_CHAR, receive, c, d, MPI_CHAR, MPI_COMM_WORLD);
            }
            mine = (MPI_Wtime() - start) / calls;
            MPI_Allreduce(&mine, &seconds[direct], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        }
        if (pair >= 0) {
            difference[pair] = seconds[0] - seconds[1];
            plain[pair] = seconds[1];
        }
    }
    if (rank == 0) {
        qsort(difference, pairs, sizeof(double), ascending);
        qsort(plain, pairs, sizeof(double), ascending);
        double median = difference[pairs / 2], of = plain[pairs / 2];
        printf("{\"ranks\": %d, \"bytes\": %d, \"calls\": %d, \"pairs\": %d, \"pmpi_seconds\": %.3e, \"more_seconds\": %.3e, "
               "\"more_seconds_at_a_quarter\": %.3e, \"more_seconds_at_three_quarters\": %.3e, \"more_percent\": %.3f}\n",
               size, bytes, calls, pairs, of, median, difference[pairs / 4], difference[3 * pairs / 4], 100 * median / of);
    }
    MPI_Finalize();
    return 0;
}
