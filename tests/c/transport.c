/* A transport of the program's own: MPI's messages on a communicator of its own, counted. The first argument says what it does
 * wrong, the second what OPTIQ must then say on the rank where it happens, which
 * makes the file of the third. */
#include "check.h"

enum { BYTES = 300000, MOST = 1 << 16 };

typedef struct {
    MPI_Comm comm;
    MPI_Request requests[MOST];
    int used;
} Connection;

static const char *wrong = "good";
static long carried, awaited;
static int connections;

static int is(const char *what) { return rank_ == 1 && strcmp(wrong, what) == 0; }

static int fails_to_connect(void) { return is("connect") || is("strict"); }

static int connect_(void *context, MPI_Comm comm, void **connection) {
    REQUIRE(context == &carried);
    if (fails_to_connect()) return 7;
    Connection *made = malloc(sizeof *made);
    made->comm = comm, made->used = 0;
    *connection = made;
    connections++;
    return 0;
}

/* MPI's tags may be short of 32 bits: those of credits are folded into the upper half of 20. */
static int short_tag(uint32_t tag) { return (int)(tag & 0x7ffff) | (tag >> 31 ? 0x80000 : 0); }

static int start(Connection *c, MPI_Request request, uint64_t *operation) {
    REQUIRE(c->used < MOST);
    c->requests[c->used] = request;
    *operation = (uint64_t)c->used++;
    return 0;
}

static int send_(void *connection, int to, uint32_t tag, const void *data, uint64_t bytes, uint64_t *operation) {
    Connection *c = connection;
    MPI_Request request;
    if (is("send") && carried > 3) return 7;
    carried++;
    MPI_Isend(data, (int)bytes, MPI_BYTE, to, short_tag(tag), c->comm, &request);
    return start(c, request, operation);
}

static int receive_(void *connection, int from, uint32_t tag, void *data, uint64_t bytes, uint64_t *operation) {
    Connection *c = connection;
    MPI_Request request;
    if (is("receive") && awaited > 3) return 7;
    awaited++;
    MPI_Irecv(data, (int)bytes, MPI_BYTE, from, short_tag(tag), c->comm, &request);
    return start(c, request, operation);
}

static int test_(void *connection, uint64_t operation, int *complete, uint64_t *bytes) {
    Connection *c = connection;
    MPI_Status status;
    int count = 0;
    REQUIRE(operation < (uint64_t)c->used && c->requests[operation] != MPI_REQUEST_NULL);
    MPI_Test(&c->requests[operation], complete, &status);
    if (*complete) MPI_Get_count(&status, MPI_BYTE, &count);
    *bytes = is("bytes") && *complete ? 1 : (uint64_t)count;
    if (is("complete") && *complete) *complete = 2;
    return is("test") && carried > 3 ? 7 : 0;
}

static int cancel_(void *connection, uint64_t operation) {
    Connection *c = connection;
    if (c->requests[operation] == MPI_REQUEST_NULL) return 0;
    MPI_Cancel(&c->requests[operation]);
    return MPI_Request_free(&c->requests[operation]);
}

static int disconnect_(void *connection) {
    free(connection);
    connections--;
    return 0;
}

static unsigned char pattern(int from, int to, int i) { return (unsigned char)(from * 31 + to * 7 + i + i / 251); }

/* Every rank to every other one; the status. */
static int exchange(MPI_Comm comm, unsigned char *out, unsigned char *in) {
    int counts[64], displacements[64];
    for (int r = 0; r < ranks_; r++) counts[r] = BYTES - 1000 * r, displacements[r] = r * BYTES;
    int received[64];
    for (int r = 0; r < ranks_; r++) received[r] = BYTES - 1000 * rank_;
    for (int r = 0; r < ranks_; r++)
        for (int i = 0; i < BYTES; i++) out[r * BYTES + i] = pattern(rank_, r, i), in[r * BYTES + i] = 0;
    return optiq_alltoallv(out, counts, displacements, MPI_BYTE, in, received, displacements, MPI_BYTE, comm);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    REQUIRE(argc >= 2);
    wrong = argv[1];
    /* Errors are looked at, not fatal. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    struct optiq_transport_functions functions = {"counting", &carried, 65536, connect_, send_, receive_, test_, cancel_, disconnect_};
    FAILS(optiq_set_transport(&functions), OPTIQ_STATUS_NOT_INITIALIZED, "optiq_set_transport");
    OK(optiq_init(&argc, &argv));
    struct optiq_transport_functions lacking = functions;
    lacking.test = NULL;
    FAILS(optiq_set_transport(&lacking), OPTIQ_STATUS_ARGUMENT, "the transport counting has no function test");
    lacking.name = "";
    FAILS(optiq_set_transport(&lacking), OPTIQ_STATUS_ARGUMENT, "the name of the transport is empty");
    OK(optiq_set_transport(&functions));

    unsigned char *out = malloc((size_t)ranks_ * BYTES), *in = malloc((size_t)ranks_ * BYTES);
    int status = exchange(MPI_COMM_WORLD, out, in);
    if (strcmp(wrong, "strict") == 0) {
        REQUIRE(status != OPTIQ_STATUS_SUCCESS && strstr(optiq_last_message(), "the transport counting: connect"));
        OK(optiq_finalize());
        return end();
    }
    if (argc > 3) {
        /* Only the rank whose transport is wrong knows why; the others would wait for it without end. */
        REQUIRE(rank_ == 1 && status == OPTIQ_STATUS_TRANSPORT && strstr(optiq_last_message(), argv[2]));
        /* Launchers may lose what is printed before an end like this one. */
        FILE *found = fopen(argv[3], "w");
        REQUIRE(found && fclose(found) == 0);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    REQUIRE(status == OPTIQ_STATUS_SUCCESS);
    for (int round = 0; round < 3; round++) {
        for (int r = 0; r < ranks_; r++)
            for (int i = 0; i < BYTES; i++)
                REQUIRE(in[r * BYTES + i] == (i < BYTES - 1000 * rank_ ? pattern(r, rank_, i) : 0));
        OK(exchange(MPI_COMM_WORLD, out, in));
    }
    REQUIRE(strstr(optiq_last_decision(), "paths by planner"));
    if (strcmp(wrong, "good") == 0) {
        REQUIRE(connections == 1 && carried > 20);
        /* Other communicators take MPI again. */
        long before = carried;
        MPI_Comm other;
        MPI_Comm_dup(MPI_COMM_WORLD, &other);
        OK(optiq_set_transport(NULL));
        OK(exchange(other, out, in));
        REQUIRE(carried == before);
        MPI_Comm_free(&other);
        if (rank_ == 0) printf("messages carried by the program's transport: %ld\n", carried);
    } else {
        REQUIRE(carried == 0);
    }
    OK(optiq_finalize());
    REQUIRE(connections == 0);
    return end();
}
