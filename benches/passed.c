/* What a call that is passed on costs: many small exchanges, timed; rank 0 says the seconds per call of each batch, of which
   every other one goes through PMPI_Alltoallv. Arguments: calls in a batch, batches. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int rank, size, calls = atoi(argv[1]), batches = atoi(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int *c = malloc(2 * size * sizeof(int)), *d = c + size;
    char *send = calloc(size, 8), *receive = calloc(size, 8);
    for (int i = 0; i < size; i++) {
        c[i] = 1;
        d[i] = i;
    }
    for (int b = 0; b < 2 * batches; b++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        for (int i = 0; i < calls; i++) {
            if (b % 2 == 0)
                MPI_Alltoallv(send, c, d, MPI_CHAR, receive, c, d, MPI_CHAR, MPI_COMM_WORLD);
            else
                PMPI_Alltoallv(send, c, d, MPI_CHAR, receive, c, d, MPI_CHAR, MPI_COMM_WORLD);
        }
        double seconds = (MPI_Wtime() - start) / calls;
        if (rank == 0)
            printf("%s %.9f\n", b % 2 ? "mpi" : "preload", seconds);
    }
    MPI_Finalize();
    return 0;
}
