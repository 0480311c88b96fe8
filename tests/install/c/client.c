/* A program of somebody who has only the installed OPTIQ: every rank sends every other one a piece of a length and with
 * contents of its own, with optiq_alltoallv, and checks what arrives.
 *
 * Prints on rank 0 "client: all bytes are right; served by ...", and exits with 1 if a byte is wrong. */
#include <optiq.h>
#include <stdio.h>
#include <stdlib.h>

static int length(int from, int to) { return from == to ? 0 : 100000 + 1000 * from + 10 * to; }
static char content(int from, int to, int i) { return (char)(from * 31 + to * 17 + i * 7 + i / 251); }

static void check(int status, const char *what) {
    if (status != 0) {
        fprintf(stderr, "%s: %s: %s\n", what, optiq_strerror(status), optiq_last_message());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv) {
    int rank, ranks, wrong = 0, all_wrong = 0, sends = 0, receives = 0;
    check(optiq_init(&argc, &argv), "optiq_init");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    int *sendcounts = calloc(4 * (size_t)ranks, sizeof(int));
    int *sdispls = sendcounts + ranks, *recvcounts = sdispls + ranks, *rdispls = recvcounts + ranks;
    for (int other = 0; other < ranks; other++) {
        sdispls[other] = sends;
        rdispls[other] = receives;
        sends += sendcounts[other] = length(rank, other);
        receives += recvcounts[other] = length(other, rank);
    }
    char *sendbuf = malloc((size_t)sends + 1), *recvbuf = calloc((size_t)receives + 1, 1);
    for (int to = 0; to < ranks; to++)
        for (int i = 0; i < sendcounts[to]; i++) sendbuf[sdispls[to] + i] = content(rank, to, i);

    check(optiq_alltoallv(sendbuf, sendcounts, sdispls, MPI_CHAR, recvbuf, recvcounts, rdispls, MPI_CHAR, MPI_COMM_WORLD),
          "optiq_alltoallv");

    for (int from = 0; from < ranks; from++)
        for (int i = 0; i < recvcounts[from]; i++) wrong |= recvbuf[rdispls[from] + i] != content(from, rank, i);
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf("client: %s; served by %s\n", all_wrong ? "WRONG BYTES" : "all bytes are right", optiq_last_decision());
    free(sendbuf), free(recvbuf), free(sendcounts);
    check(optiq_finalize(), "optiq_finalize");
    return all_wrong;
}
