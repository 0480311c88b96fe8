/* The report of a program that calls the library: two blocking exchanges, and one that is started, once more while it is active;
   with "learn", exchanges of which something is learned. */
#include "check.h"

enum { BYTES = 4096, LARGE = 8 << 20, CALLS = 40 };

/* Equal exchanges of 8 MB, of which all but the last are measured: enough of them for a trial of MPI after those of flow control. */
static int learn(void) {
    int counts[2] = {LARGE, LARGE}, offsets[2] = {0, LARGE};
    char *sent = malloc(2 * LARGE), *received = malloc(2 * LARGE);
    REQUIRE(sent && received);
    memset(sent, rank_ + 1, 2 * LARGE);
    for (int call = 0; call < CALLS; call++) {
        memset(received, 0, 2 * LARGE);
        OK(optiq_alltoallv(sent, counts, offsets, MPI_CHAR, received, counts, offsets, MPI_CHAR, MPI_COMM_WORLD));
        REQUIRE(received[0] == 1 && received[2 * LARGE - 1] == 2);
    }
    free(sent);
    free(received);
    OK(optiq_finalize());
    return end();
}

int main(int argc, char **argv) {
    int counts[2] = {BYTES, BYTES}, offsets[2] = {0, BYTES};
    char sent[2 * BYTES], received[2 * BYTES];
    optiq_request request = 0;
    begin(&argc, &argv);
    REQUIRE(ranks_ == 2);
    OK(optiq_init(&argc, &argv));
    if (argc > 1 && !strcmp(argv[1], "learn"))
        return learn();
    memset(sent, rank_ + 1, sizeof sent);
    for (int call = 0; call < 2; call++)
        OK(optiq_alltoallv(sent, counts, offsets, MPI_CHAR, received, counts, offsets, MPI_CHAR, MPI_COMM_WORLD));
    OK(optiq_alltoallv_init(sent, counts, offsets, MPI_CHAR, received, counts, offsets, MPI_CHAR, MPI_COMM_WORLD, &request));
    OK(optiq_alltoallv_start(&request));
    FAILS(optiq_alltoallv_start(&request), OPTIQ_STATUS_ARGUMENT, "was started before");
    OK(optiq_alltoallv_wait(&request));
    REQUIRE(received[0] == 1 && received[BYTES] == 2);
    OK(optiq_alltoallv_free(&request));
    OK(optiq_finalize());
    return end();
}
