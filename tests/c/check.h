/* What the self-checking programs share. */
#ifndef CHECK_H
#define CHECK_H
#include <optiq.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank_, ranks_;

static void fail_at(const char *file, int line, const char *what) {
    fprintf(stderr, "rank %d: %s:%d: %s; last message: %s\n", rank_, file, line, what, optiq_last_message());
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

/* The condition holds. */
#define REQUIRE(condition) ((condition) ? (void)0 : fail_at(__FILE__, __LINE__, #condition))
/* The call succeeds. */
#define OK(call) ((call) == OPTIQ_STATUS_SUCCESS ? (void)0 : fail_at(__FILE__, __LINE__, #call))
/* The call returns this status, and the message has this text in it. */
#define FAILS(call, status, text) \
    ((call) == (status) && strstr(optiq_last_message(), (text)) ? (void)0 : fail_at(__FILE__, __LINE__, #call))

static void begin(int *argc, char ***argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
}

static int end(void) {
    if (rank_ == 0) printf("all is well\n");
    MPI_Finalize();
    return 0;
}
#endif
