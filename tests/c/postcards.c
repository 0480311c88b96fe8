/* Moves blocks by one line of its own: by optiq_alltoallv, or with the argument "mpi" by MPI_Alltoallv. With "killed" behind it, rank 2 is killed
 * before the last call. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include <signal.h>

enum { CALLS = 3, NEAR = 900000, FAR = 300000 };
static int sends[4], receives[4], zeros[4];
static unsigned char *out, *in;

enum { OPTIQ_LINE = __LINE__ + 2, MPI_LINE = __LINE__ + 6 };
static void move_blocks(void) {
    OK(optiq_alltoallv(out, sends, zeros, MPI_BYTE, in, receives, zeros, MPI_BYTE, MPI_COMM_WORLD));
}

static void move_blocks_by_mpi(void) {
    OK(MPI_Alltoallv(out, sends, zeros, MPI_BYTE, in, receives, zeros, MPI_BYTE, MPI_COMM_WORLD));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int by_mpi = argc > 1 && strcmp(argv[1], "mpi") == 0;
    REQUIRE(ranks_ == 4);
    if (!by_mpi) OK(optiq_init(&argc, &argv));
    out = calloc(NEAR, 1);
    in = calloc(NEAR, 1);
    /* Rank 0 to rank 1, and rank 3 to rank 0; each has one other at most. */
    if (rank_ == 0) sends[1] = NEAR, receives[3] = FAR;
    if (rank_ == 1) receives[0] = NEAR;
    if (rank_ == 3) sends[0] = FAR;
    for (int i = 0; i < NEAR; i++) out[i] = (unsigned char)(i + rank_);
    for (int call = 0; call < CALLS; call++) {
        if (argc > 2 && call == CALLS - 1 && rank_ == 2) raise(SIGKILL);
        if (by_mpi) move_blocks_by_mpi();
        else move_blocks();
    }
    if (rank_ == 1) for (int i = 0; i < NEAR; i++) REQUIRE(in[i] == (unsigned char)i);
    if (rank_ == 0) printf("line %d\n", by_mpi ? MPI_LINE : OPTIQ_LINE);
    if (!by_mpi) OK(optiq_finalize());
    return end();
}
