/* The program of somebody who knows nothing of OPTIQ, for `cargo xtask test`, which follows README and book: ./app,
 * ./my-mpi-program. Every rank sends 64 KiB to every other one, a few times, and rank 0 says whether all arrived. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 64 * 1024, CALLS = 4 };

int main(int argc, char **argv) {
    int rank, ranks, wrong = 0, all_wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int *counts = calloc(2 * (size_t)ranks, sizeof(int)), *offsets = counts + ranks;
    char *sent = malloc((size_t)ranks * BYTES), *received = malloc((size_t)ranks * BYTES);
    for (int peer = 0; peer < ranks; peer++) {
        counts[peer] = BYTES;
        offsets[peer] = peer * BYTES;
    }
    for (int call = 0; call < CALLS; call++) {
        for (int i = 0; i < ranks * BYTES; i++) {
            sent[i] = (char)(rank * 31 + i / BYTES * 7 + i % BYTES + call);
            received[i] = 0;
        }
        MPI_Alltoallv(sent, counts, offsets, MPI_CHAR, received, counts, offsets, MPI_CHAR, MPI_COMM_WORLD);
        for (int i = 0; i < ranks * BYTES; i++) {
            wrong |= received[i] != (char)(i / BYTES * 31 + rank * 7 + i % BYTES + call);
        }
    }
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) printf("app: %s\n", all_wrong ? "WRONG BYTES" : "all bytes are right");
    free(counts), free(sent), free(received);
    MPI_Finalize();
    return all_wrong;
}
