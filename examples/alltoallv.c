/* The thesis's source example 1: an exchange with MPI_Alltoallv, and the same one with optiq_alltoallv.
 *
 *   mpicc alltoallv.c -o alltoallv -loptiq        (the book has the whole command: docs/book/src/c.md)
 *   OPTIQ_TOPOLOGY=star:2 OPTIQ_PLACEMENT=rank mpirun -n 2 ./alltoallv
 *
 * Prints, on rank 0, what served the exchange; exits with 1 if a byte is wrong. */
#include <optiq.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int status, const char *what) {
    if (status != 0) {
        fprintf(stderr, "%s: %s: %s\n", what, optiq_strerror(status), optiq_last_message());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv) {
    int bytes = argc > 1 ? atoi(argv[1]) : 1 << 20, rank, ranks, wrong = 0;

    /* Initialise OPTIQ once at the beginning; it initialises MPI if that is not done yet. */
    check(optiq_init(&argc, &argv), "optiq_init");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    /* The first quarter of the ranks sends to the last half. */
    int sources = ranks >= 4 ? ranks / 4 : 1, targets = ranks - ranks / 2, each = targets / sources;
    int *sendcounts = calloc(4 * (size_t)ranks, sizeof(int));
    int *senddispls = sendcounts + ranks, *recvcounts = senddispls + ranks, *recvdispls = recvcounts + ranks;
    for (int source = 0; source < sources; source++) {
        for (int i = 0; i < each; i++) {
            int target = ranks / 2 + source * each + i;
            if (rank == source && target != source) sendcounts[target] = bytes;
            if (rank == target && target != source) recvcounts[source] = bytes;
        }
    }
    for (int i = 1; i < ranks; i++) {
        senddispls[i] = senddispls[i - 1] + sendcounts[i - 1];
        recvdispls[i] = recvdispls[i - 1] + recvcounts[i - 1];
    }
    size_t sends = (size_t)senddispls[ranks - 1] + sendcounts[ranks - 1];
    size_t receives = (size_t)recvdispls[ranks - 1] + recvcounts[ranks - 1];
    char *sendbuf = malloc(sends + 1), *recvbuf = calloc(receives + 1, 1), *expected = calloc(receives + 1, 1);
    for (size_t i = 0; i < sends; i++) sendbuf[i] = (char)(rank * 31 + i * 7);

    /* In MPI: */
    MPI_Alltoallv(sendbuf, sendcounts, senddispls, MPI_CHAR, expected, recvcounts, recvdispls, MPI_CHAR,
                  MPI_COMM_WORLD);
    /* In OPTIQ: */
    check(optiq_alltoallv(sendbuf, sendcounts, senddispls, MPI_CHAR, recvbuf, recvcounts, recvdispls, MPI_CHAR,
                          MPI_COMM_WORLD),
          "optiq_alltoallv");

    int differs = memcmp(recvbuf, expected, receives) != 0;
    MPI_Allreduce(&differs, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) printf("%s; served by %s\n", wrong ? "WRONG BYTES" : "all bytes are right", optiq_last_decision());
    free(sendbuf), free(recvbuf), free(expected), free(sendcounts);

    /* Finalise OPTIQ once at the end; it finalises MPI, because it initialised it. */
    check(optiq_finalize(), "optiq_finalize");
    return wrong;
}
