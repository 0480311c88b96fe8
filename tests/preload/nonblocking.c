/* Exchanges that go on while the program does something else: many at a time, on several communicators, started in an order
   of its own at each rank, beside other collectives; persistent ones, too. Every element is compared with PMPI_Alltoallv. */
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#define ALLTOALLV_INIT MPIX_Alltoallv_init
#else
#define ALLTOALLV_INIT MPI_Alltoallv_init
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"

/* Persistent exchanges that are left to MPI: MPICH 4.0's own cannot be started a second time after MPI_Testsome. */
#ifdef OPEN_MPI
enum { LEFT = 1 };
#else
enum { LEFT = 0 };
#endif

/* An exchange with all that belongs to it. */
struct op {
    MPI_Comm comm;
    MPI_Datatype type;
    int n, me, ints, in_place, *lists, *send, *receive, *expected;
    int sends, receives;
};

enum { PLAIN, IN_PLACE, GAPS };

static void fill(struct op *op, int seed) {
    for (int i = 0; i < op->sends; i++)
        op->send[i] = 1000000 * op->me + seed * 1000 + i % 1000;
    for (int i = 0; i < op->receives; i++)
        op->receive[i] = op->expected[i] = op->in_place ? 100000 * op->me + seed + i : -7;
    int *l = op->lists, n = op->n;
    if (op->in_place)
        PMPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, op->expected, l + 2 * n, l + 3 * n, op->type, op->comm);
    else
        PMPI_Alltoallv(op->send, l, l + n, op->type, op->expected, l + 2 * n, l + 3 * n, op->type, op->comm);
}

static void make(struct op *op, MPI_Comm comm, int scale, int kind) {
    MPI_Comm_rank(comm, &op->me);
    MPI_Comm_size(comm, &op->n);
    op->comm = comm;
    op->in_place = kind == IN_PLACE;
    op->type = MPI_INT;
    op->ints = 1;
    if (kind == GAPS) {
        MPI_Type_vector(2, 1, 2, MPI_INT, &op->type);
        MPI_Type_commit(&op->type);
        op->ints = 3;
    }
    int n = op->n, s = 0, r = 0;
    int *sc = calloc(4 * n, sizeof(int)), *sd = sc + n, *rc = sd + n, *rd = rc + n;
    for (int i = 0; i < n; i++) {
        sc[i] = op->in_place ? scale : (op->me * 3 + i * 5) % 4 * scale;
        rc[i] = op->in_place ? scale : (i * 3 + op->me * 5) % 4 * scale;
        sd[i] = s;
        rd[i] = r;
        s += sc[i] + 1;
        r += rc[i] + 2;
    }
    op->lists = sc;
    op->sends = (s + 1) * op->ints;
    op->receives = (r + 1) * op->ints;
    op->send = malloc(op->sends * sizeof(int));
    op->receive = malloc(op->receives * sizeof(int));
    op->expected = malloc(op->receives * sizeof(int));
    fill(op, scale % 997);
}

static void start(struct op *op, MPI_Request *request) {
    int *l = op->lists, n = op->n, code;
    MPI_Datatype type = op->type;
    if (op->in_place)
        code = MPI_Ialltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, op->receive, l + 2 * n, l + 3 * n, type,
                              op->comm, request);
    else
        code = MPI_Ialltoallv(op->send, l, l + n, type, op->receive, l + 2 * n, l + 3 * n, type, op->comm, request);
    REQUIRE(code == MPI_SUCCESS, "MPI_Ialltoallv gives %d", code);
    /* The type may be freed while it is in use. */
    if (type != MPI_INT)
        MPI_Type_free(&op->type);
}

static int is_right(struct op *op) { return memcmp(op->receive, op->expected, op->receives * sizeof(int)) == 0; }

static void clear(struct op *op) {
    REQUIRE(is_right(op), "wrong data");
    free(op->lists);
    free(op->send);
    free(op->receive);
    free(op->expected);
}

/* Whether requests are OPTIQ's. */
static int served;

/* Waits for all, in one of five manners. */
static void complete(int count, MPI_Request *requests, int how) {
    int left = count, done, index, *indices = malloc(count * sizeof(int));
    MPI_Status status, *statuses = malloc(count * sizeof(MPI_Status));
    switch (how % 5) {
    case 0:
        REQUIRE(MPI_Waitall(count, requests, statuses) == MPI_SUCCESS, "MPI_Waitall fails");
        break;
    case 1:
        while (left > 0) {
            MPI_Testsome(count, requests, &done, indices, statuses);
            left -= done == MPI_UNDEFINED ? left : done;
        }
        break;
    case 2:
        for (; left > 0; left--) {
            MPI_Waitany(count, requests, &index, &status);
            REQUIRE(index != MPI_UNDEFINED, "MPI_Waitany finds nothing");
        }
        break;
    case 3:
        for (int i = count - 1; i >= 0; i--) {
            int elements = -1, cancelled = -1;
            MPI_Wait(&requests[i], &status);
            MPI_Get_count(&status, MPI_BYTE, &elements);
            MPI_Test_cancelled(&status, &cancelled);
            /* MPI's own statuses have what stood there before, or what was received. */
            REQUIRE(!served || (elements == 0 && cancelled == 0), "a status of %d bytes, cancelled %d", elements, cancelled);
        }
        break;
    default:
        for (int i = 0; i < count; i++) {
            for (done = 0; !done;)
                MPI_Request_get_status(requests[i], &done, MPI_STATUS_IGNORE);
            MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
            REQUIRE(done, "what was complete is not");
        }
    }
    free(indices);
    free(statuses);
}

static void blocking(MPI_Comm comm, int scale) {
    struct op op;
    make(&op, comm, scale, PLAIN);
    int *l = op.lists, n = op.n;
    MPI_Alltoallv(op.send, l, l + n, MPI_INT, op.receive, l + 2 * n, l + 3 * n, MPI_INT, comm);
    clear(&op);
}

enum { COMMS = 3, DEPTH = 2 };

static void nonblocking(void) {
    MPI_Comm comms[COMMS] = {MPI_COMM_WORLD};
    int scales[] = {0, 1, 1000, 20000, 7, 3000}, sum;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[2]);
    for (int round = 0; round < 15; round++) {
        struct op ops[COMMS * DEPTH];
        MPI_Request requests[COMMS * DEPTH];
        for (int i = 0; i < COMMS * DEPTH; i++)
            make(&ops[i], comms[i / DEPTH], scales[(round + i) % 6], (round + i) % 5 == 3 ? GAPS : (round + i) % 5 == 4);
        for (int i = 0; i < COMMS; i++) {
            int c = (i + rank + round) % COMMS;
            for (int j = 0; j < DEPTH; j++) {
                start(&ops[c * DEPTH + j], &requests[c * DEPTH + j]);
                /* Local as it is, it must not wait for ranks that come later. */
                if (j == 0 && rank == round % size && size > 1)
                    for (int to = 0; to < size; to++)
                        if (to != rank)
                            MPI_Send(&c, 1, MPI_INT, to, 1, MPI_COMM_WORLD);
                if (j == 0 && rank != round % size)
                    MPI_Recv(&sum, 1, MPI_INT, round % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
        }
        for (int c = 0; c < COMMS && round % 2 == 0; c++) {
            MPI_Barrier(comms[c]);
            blocking(comms[c], 100 * round);
            MPI_Allreduce(&round, &sum, 1, MPI_INT, MPI_SUM, comms[c]);
            REQUIRE(sum == size * round, "a wrong sum");
        }
        complete(COMMS * DEPTH, requests, round);
        for (int i = 0; i < COMMS * DEPTH; i++)
            clear(&ops[i]);
    }
    /* A communicator may be freed while an exchange on it is active. */
    for (int c = 1; c < COMMS; c++) {
        struct op op;
        MPI_Request request;
        make(&op, comms[c], 5000, PLAIN);
        start(&op, &request);
        MPI_Comm_free(&comms[c]);
        complete(1, &request, c);
        clear(&op);
    }
    /* Not used before, and freed at once. */
    for (int round = 0; round < 3; round++) {
        struct op op;
        MPI_Comm comm;
        MPI_Request request;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        make(&op, comm, 50, PLAIN);
        start(&op, &request);
        MPI_Comm_free(&comm);
        complete(1, &request, round);
        clear(&op);
    }
}

/* More communicators than have a private one of their own. */
static void many(void) {
    enum { MANY = 70 };
    MPI_Comm comms[MANY];
    struct op ops[2 * MANY];
    MPI_Request requests[2 * MANY];
    for (int i = 0; i < MANY; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < 2 * MANY; i++)
        make(&ops[i], comms[i / 2], 30 + i, i % 3 == 0 ? IN_PLACE : i % 5 == 0 ? GAPS : PLAIN);
    for (int i = 0; i < MANY; i++) {
        int c = rank % 2 ? MANY - 1 - i : i;
        start(&ops[2 * c], &requests[2 * c]);
        start(&ops[2 * c + 1], &requests[2 * c + 1]);
    }
    complete(2 * MANY, requests, 0);
    for (int i = 0; i < 2 * MANY; i++)
        clear(&ops[i]);
    for (int i = 0; i < MANY; i++)
        MPI_Comm_free(&comms[i]);
}

enum { OPS = 4 };

static void init(struct op *op, MPI_Request *request) {
    int *l = op->lists, n = op->n, code;
    if (op->in_place)
        code = ALLTOALLV_INIT(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, op->receive, l + 2 * n, l + 3 * n, op->type,
                              op->comm, MPI_INFO_NULL, request);
    else
        code = ALLTOALLV_INIT(op->send, l, l + n, op->type, op->receive, l + 2 * n, l + 3 * n, op->type, op->comm,
                              MPI_INFO_NULL, request);
    REQUIRE(code == MPI_SUCCESS, "MPI_Alltoallv_init gives %d", code);
}

static void persistent(int late) {
    MPI_Comm comms[2] = {MPI_COMM_WORLD};
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    for (int cycle = 0; cycle < 4; cycle++) {
        struct op ops[OPS];
        /* And one that is none of these. */
        MPI_Request requests[OPS + 1];
        int scales[OPS] = {3000, 10, 700, 200}, token = -1;
        for (int i = 0; i < OPS; i++) {
            make(&ops[i], comms[i % 2], scales[i], i == 3 ? LEFT * cycle % 3 : PLAIN);
            init(&ops[i], &requests[i]);
        }
        MPI_Recv_init(&token, 1, MPI_INT, (rank + size - 1) % size, 5, MPI_COMM_WORLD, &requests[OPS]);
        for (int round = 0; round < 10; round++) {
            for (int i = 0; i < OPS; i++)
                fill(&ops[i], 10 * round + i);
            token = -1;
            if (round % 2) {
                REQUIRE(MPI_Startall(OPS + 1, requests) == MPI_SUCCESS, "MPI_Startall fails");
            } else {
                /* Each rank in an order of its own, as the standard has it for persistent exchanges. */
                for (int i = 0; i <= OPS; i++)
                    MPI_Start(&requests[(i + rank * round) % (OPS + 1)]);
            }
            MPI_Send(&round, 1, MPI_INT, (rank + 1) % size, 5, MPI_COMM_WORLD);
            if (round % 3 == 0)
                blocking(comms[round % 2], 40);
            complete(OPS + 1, requests, round % 3);
            REQUIRE(token == round, "the token is %d", token);
            for (int i = 0; i < OPS; i++)
                REQUIRE(is_right(&ops[i]), "wrong data in cycle %d, round %d, exchange %d", cycle, round, i);
        }
        /* One after the other, in orders that could not be if they waited for each other. */
        for (int i = 0; i < OPS; i++)
            fill(&ops[i], i);
        if (rank == 0) {
            for (int i = 0; i < OPS; i++) {
                MPI_Start(&requests[i]);
                MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            }
        } else {
            for (int i = OPS - 1; i >= 0; i--)
                MPI_Start(&requests[i]);
            complete(OPS, requests, 0);
        }
        for (int i = 0; i <= OPS; i++)
            MPI_Request_free(&requests[(i + rank) % (OPS + 1)]);
        for (int i = 0; i < OPS; i++) {
            if (ops[i].type != MPI_INT)
                MPI_Type_free(&ops[i].type);
            clear(&ops[i]);
        }
    }
    if (!late) {
        MPI_Comm_free(&comms[1]);
        return;
    }
    /* The communicator goes before its last exchange, which Open MPI's own do not survive. */
    struct op op;
    MPI_Request request;
    make(&op, comms[1], 500, PLAIN);
    init(&op, &request);
    MPI_Comm_free(&comms[1]);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    clear(&op);
}

int main(int argc, char **argv) {
    int provided, all, single = argc > 2 && strcmp(argv[2], "single") == 0, late = argc > 2 && strcmp(argv[2], "late") == 0;
    served = getenv("LD_PRELOAD") && getenv("OPTIQ_ALGORITHM") && LEFT && !single;
    MPI_Init_thread(&argc, &argv, single ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 && strcmp(argv[1], "persistent") == 0)
        persistent(late);
    else if (argc > 1 && strcmp(argv[1], "many") == 0)
        many();
    else
        nonblocking();
    MPI_Allreduce(&errors, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (all == 0)
        printf("all is well\n");
    MPI_Finalize();
    return all != 0;
}
