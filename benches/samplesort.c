/* Samplesort, for claim B7: each rank has random keys, samples of all ranks give the borders of buckets, one exchange of all with all takes
   every key to its bucket's rank, which sorts them (W. D. Frazer and A. C. McKellar, Journal of the ACM 17(3), 1970). The exchange is the
   region "exchange". Prints "all is well" on each rank if the keys are in order and none is lost.
   Argument: keys of a rank, 4 bytes each. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES = 64 };

static int compare(const void *a, const void *b) {
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return x < y ? -1 : x > y;
}

/* splitmix64 (Steele, Lea and Flood, OOPSLA 2014). */
static unsigned next(unsigned long long *state) {
    unsigned long long z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return (unsigned)(z >> 32);
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int n = argc == 2 ? atoi(argv[1]) : 0;
    if (n < SAMPLES) MPI_Abort(MPI_COMM_WORLD, 2);
    unsigned *keys = malloc(n * sizeof *keys), *samples = malloc((size_t)size * SAMPLES * sizeof *samples), mine[SAMPLES];
    int *counts = calloc(4 * size, sizeof *counts), *sc = counts, *sd = counts + size, *rc = sd + size, *rd = rc + size;
    if (!keys || !samples || !counts) MPI_Abort(MPI_COMM_WORLD, 1);
    unsigned long long state = rank + 1;
    for (int i = 0; i < n; i++) keys[i] = next(&state);
    qsort(keys, n, sizeof *keys, compare);

    for (int i = 0; i < SAMPLES; i++) mine[i] = keys[next(&state) % n];
    MPI_Allgather(mine, SAMPLES, MPI_UNSIGNED, samples, SAMPLES, MPI_UNSIGNED, MPI_COMM_WORLD);
    qsort(samples, (size_t)size * SAMPLES, sizeof *samples, compare);
    for (int i = 0, to = 0; i < n; i++) {
        while (to < size - 1 && keys[i] >= samples[(to + 1) * SAMPLES]) to++;
        sc[to]++;
    }
    MPI_Alltoall(sc, 1, MPI_INT, rc, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 1; i < size; i++) sd[i] = sd[i - 1] + sc[i - 1], rd[i] = rd[i - 1] + rc[i - 1];
    int all = rd[size - 1] + rc[size - 1];
    unsigned *sorted = malloc((all + 1) * sizeof *sorted);
    if (!sorted) MPI_Abort(MPI_COMM_WORLD, 1);

    MPI_Pcontrol(1, "exchange");
    MPI_Alltoallv(keys, sc, sd, MPI_UNSIGNED, sorted, rc, rd, MPI_UNSIGNED, MPI_COMM_WORLD);
    MPI_Pcontrol(-1, "exchange");

    qsort(sorted, all, sizeof *sorted, compare);
    unsigned last = all ? sorted[all - 1] : 0, before = 0;
    long long have = all, total = 0;
    MPI_Exscan(&last, &before, 1, MPI_UNSIGNED, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&have, &total, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    int well = total == (long long)n * size && (rank == 0 || all == 0 || before <= sorted[0]);
    printf(well ? "all is well\n" : "rank %d has %d keys, of %lld in all\n", rank, all, total);
    MPI_Finalize();
    return !well;
}
