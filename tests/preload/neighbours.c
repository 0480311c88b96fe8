/* Exchanges among the neighbours of communicators with a topology: every byte is compared with PMPI_Neighbor_alltoallv. Which ones, the
   first argument says. */
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#define NEIGHBOR_ALLTOALLV_INIT MPIX_Neighbor_alltoallv_init
#else
#define NEIGHBOR_ALLTOALLV_INIT MPI_Neighbor_alltoallv_init
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"

/* The address that MPI_UNWEIGHTED is, where compilers do not see that nothing is there. */
static int *volatile unweighted;

/* Elements of a block, by round: counts change from call to call. */
static const int SCALES[] = {3, 1, 0, 1000, 20000, 7};
enum { ROUNDS = 6 };

static int elements(int from, int to, int round) {
    return from < 0 || to < 0 ? 2 : (from * 3 + to * 5 + round) % 4 * SCALES[round % ROUNDS];
}

/* Destinations and sources, in the order of blocks. */
struct lists {
    int to[64], from[64], tos, froms;
};

static struct lists lists_of(MPI_Comm comm) {
    struct lists l = {.tos = 0, .froms = 0};
    int kind, me, weights[64], weighted;
    MPI_Topo_test(comm, &kind);
    MPI_Comm_rank(comm, &me);
    if (kind == MPI_CART) {
        int dims;
        MPI_Cartdim_get(comm, &dims);
        for (int d = 0; d < dims; d++)
            MPI_Cart_shift(comm, d, 1, &l.to[2 * d], &l.to[2 * d + 1]);
        l.tos = l.froms = 2 * dims;
        memcpy(l.from, l.to, sizeof l.to);
    } else if (kind == MPI_GRAPH) {
        MPI_Graph_neighbors_count(comm, me, &l.tos);
        MPI_Graph_neighbors(comm, me, l.tos, l.to);
        l.froms = l.tos;
        memcpy(l.from, l.to, sizeof l.to);
    } else {
        MPI_Dist_graph_neighbors_count(comm, &l.froms, &l.tos, &weighted);
        MPI_Dist_graph_neighbors(comm, l.froms, l.from, weights, l.tos, l.to, weights);
    }
    return l;
}

/* An exchange with all that belongs to it: counts and displacements, and buffers of ints. */
struct op {
    MPI_Comm comm;
    MPI_Datatype type;
    int ints, sc[64], sd[64], rc[64], rd[64], sends, receives, *send, *receive, *expected;
};

/* Elements take `ints` ints. */
static void make(struct op *op, MPI_Comm comm, MPI_Datatype type, int ints, int round) {
    struct lists l = lists_of(comm);
    int me, s = 0, r = 0;
    MPI_Comm_rank(comm, &me);
    op->comm = comm;
    op->type = type;
    op->ints = ints;
    /* Blocks are in the buffer in reverse order, with gaps of one and two elements. */
    for (int i = l.tos - 1; i >= 0; i--) {
        op->sc[i] = elements(me, l.to[i], round);
        op->sd[i] = s;
        s += op->sc[i] + 1;
    }
    for (int i = l.froms - 1; i >= 0; i--) {
        op->rc[i] = elements(l.from[i], me, round);
        op->rd[i] = r;
        r += op->rc[i] + 2;
    }
    op->sends = s * ints;
    op->receives = r * ints;
    /* Without neighbours there are no buffers. */
    op->send = l.tos ? malloc(op->sends * sizeof(int)) : NULL;
    op->receive = l.froms ? malloc(op->receives * sizeof(int)) : NULL;
    op->expected = l.froms ? malloc(op->receives * sizeof(int)) : NULL;
    for (int i = 0; i < op->sends; i++)
        op->send[i] = 10000000 * me + 100000 * (round % 100) + i % 100000;
    for (int i = 0; i < op->receives; i++)
        op->receive[i] = op->expected[i] = -7;
}

/* How many ints are wrong: other than what MPI's own function brings, the one that blocks or the other one. Open MPI 4.1's differ in which
   of two blocks of a pair comes first. */
static int done(struct op *o, int blocks) {
    int wrong = 0;
    if (blocks) {
        PMPI_Neighbor_alltoallv(o->send, o->sc, o->sd, o->type, o->expected, o->rc, o->rd, o->type, o->comm);
    } else {
        MPI_Request request;
        PMPI_Ineighbor_alltoallv(o->send, o->sc, o->sd, o->type, o->expected, o->rc, o->rd, o->type, o->comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < o->receives; i++)
        wrong += o->receive[i] != o->expected[i];
    free(o->send);
    free(o->receive);
    free(o->expected);
    return wrong;
}

static void exchange(MPI_Comm comm, MPI_Datatype type, int ints, int round, const char *what) {
    struct op op;
    make(&op, comm, type, ints, round);
    int code = MPI_Neighbor_alltoallv(op.send, op.sc, op.sd, type, op.receive, op.rc, op.rd, type, comm);
    int wrong = done(&op, 1);
    REQUIRE(code == MPI_SUCCESS && wrong == 0, "%s, round %d: code %d, %d wrong", what, round, code, wrong);
}

static void equal(MPI_Comm comm, int count, const char *what) {
    struct lists l = lists_of(comm);
    int wrong = 0, n = (l.tos > l.froms ? l.tos : l.froms) * count + 1;
    int *send = malloc(n * sizeof(int)), *receive = malloc(n * sizeof(int)), *expected = malloc(n * sizeof(int));
    for (int i = 0; i < n; i++) {
        send[i] = 10000000 * rank + i;
        receive[i] = expected[i] = -7;
    }
    int code = MPI_Neighbor_alltoall(send, count, MPI_INT, receive, count, MPI_INT, comm);
    PMPI_Neighbor_alltoall(send, count, MPI_INT, expected, count, MPI_INT, comm);
    for (int i = 0; i < n; i++)
        wrong += receive[i] != expected[i];
    REQUIRE(code == MPI_SUCCESS && wrong == 0, "%s, MPI_Neighbor_alltoall of %d: code %d, %d wrong", what, count, code, wrong);
    free(send);
    free(receive);
    free(expected);
}

/* Six rounds of each, and the same on a duplicate; then all is freed. */
static void rounds(MPI_Comm *comm, const char *what) {
    MPI_Comm again;
    MPI_Comm_dup(*comm, &again);
    for (int round = 0; round < ROUNDS; round++) {
        exchange(*comm, MPI_INT, 1, round, what);
        exchange(again, MPI_DOUBLE, 2, round, what);
        equal(*comm, SCALES[round], what);
    }
    MPI_Comm_free(&again);
    MPI_Comm_free(comm);
}

static MPI_Comm cartesian(int first, int second, int first_period, int second_period) {
    MPI_Comm comm;
    int dims[] = {first, second}, periods[] = {first_period, second_period};
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm);
    return comm;
}

/* A graph in which rank 0 sends to all others, each to the next but one and the last but one to itself; the last one has only a source,
   and no buffer to send from. */
static MPI_Comm uneven(void) {
    MPI_Comm comm;
    int to[64], from[64], tos = 0, froms = 0, last = size - 1;
    for (int a = 0; a < size; a++)
        for (int b = 0; b < size; b++) {
            int edge = (a == 0 && b != 0) || (a != 0 && a < last - 1 && b == a + 2 && b != last) || (a == b && a == last - 1);
            if (edge && a == rank)
                to[tos++] = b;
            if (edge && b == rank)
                from[froms++] = a;
        }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, froms, from, unweighted, tos, to, unweighted, MPI_INFO_NULL, 0, &comm);
    return comm;
}

/* A ring with weights, in which the last rank has no neighbours at all. */
static MPI_Comm lonely(void) {
    MPI_Comm comm;
    int n = size - 1, degree = rank < n, to[] = {(rank + 1) % n}, from[] = {(rank + n - 1) % n}, weight[] = {3};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, from, weight, degree, to, weight, MPI_INFO_NULL, 0, &comm);
    return comm;
}

/* A graph that all ranks have: a ring, both ways. */
static MPI_Comm ring(void) {
    MPI_Comm comm;
    int index[64], edges[128];
    for (int i = 0; i < size; i++) {
        index[i] = 2 * i + 2;
        edges[2 * i] = (i + 1) % size;
        edges[2 * i + 1] = (i + size - 1) % size;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &comm);
    return comm;
}

/* A ring in which one rank sends another two blocks: the others have nothing to do with it. */
static MPI_Comm doubled(void) {
    MPI_Comm comm;
    int next = (rank + 1) % size, last = (rank + size - 1) % size, to[] = {next, next}, from[] = {last, last};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1 + (rank == 1), from, unweighted, 1 + (rank == 0), to, unweighted,
                                   MPI_INFO_NULL, 0, &comm);
    return comm;
}

/* A ring in which rank 0 has a destination that does not know of it. */
static MPI_Comm disagreeing(void) {
    MPI_Comm comm;
    int next = (rank + 1) % size, last = (rank + size - 1) % size, to[] = {next, (rank + 2) % size};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &last, unweighted, 1 + (rank == 0), to, unweighted, MPI_INFO_NULL, 0,
                                   &comm);
    return comm;
}

/* Datatypes: runs of several elements, and one with gaps at one rank only. */
static void types(void) {
    MPI_Datatype pairs, gaps;
    MPI_Comm comm = cartesian(2, size / 2, 0, 1);
    MPI_Type_contiguous(2, MPI_INT, &pairs);
    MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&pairs);
    MPI_Type_commit(&gaps);
    MPI_Datatype plain[] = {MPI_INT, MPI_FLOAT, MPI_DOUBLE, pairs, MPI_LONG_LONG};
    int ints[] = {1, 1, 2, 2, 2};
    for (int round = 0; round < 10; round++)
        exchange(comm, plain[round % 5], ints[round % 5], round, "datatypes");
    for (int round = 0; round < 2; round++)
        exchange(comm, rank == 1 ? gaps : pairs, rank == 1 ? 3 : 2, round, "gaps");
    MPI_Type_free(&pairs);
    MPI_Type_free(&gaps);
    MPI_Comm_free(&comm);
}

#ifdef OPEN_MPI
static int class_of(int code) {
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}
#endif

/* What MPI refuses: no topology, a negative count, and MPI_IN_PLACE, at all ranks. MPICH 4.0 reads what is not there without a topology, and
   its errors are of one class or another. */
static void refused(void) {
    MPI_Comm comm = cartesian(2, size / 2, 0, 0);
    for (int round = 0; round < 3; round++) {
#ifdef OPEN_MPI
        int c[64] = {0}, d[64] = {0}, b[64] = {0}, ours, mpis;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        ours = MPI_Neighbor_alltoallv(b, c, d, MPI_INT, b + 32, c, d, MPI_INT, MPI_COMM_WORLD);
        mpis = PMPI_Neighbor_alltoallv(b, c, d, MPI_INT, b + 32, c, d, MPI_INT, MPI_COMM_WORLD);
        REQUIRE(class_of(ours) == class_of(mpis) && ours != MPI_SUCCESS, "no topology: %d, not %d", ours, mpis);
        c[1] = -1;
        ours = MPI_Neighbor_alltoallv(b, c, d, MPI_INT, b + 32, c, d, MPI_INT, comm);
        mpis = PMPI_Neighbor_alltoallv(b, c, d, MPI_INT, b + 32, c, d, MPI_INT, comm);
        REQUIRE(class_of(ours) == class_of(mpis) && ours != MPI_SUCCESS, "a count of -1: %d, not %d", ours, mpis);
        ours = MPI_Neighbor_alltoallv(MPI_IN_PLACE, c, d, MPI_INT, b, c, d, MPI_INT, comm);
        mpis = PMPI_Neighbor_alltoallv(MPI_IN_PLACE, c, d, MPI_INT, b, c, d, MPI_INT, comm);
        REQUIRE(class_of(ours) == class_of(mpis) && ours != MPI_SUCCESS, "in place: %d, not %d", ours, mpis);
#endif
        exchange(comm, MPI_INT, 1, round, "after errors");
    }
    MPI_Comm_free(&comm);
}

/* Four exchanges at a time on one communicator. */
static void started(MPI_Comm comm, const char *what) {
    for (int round = 0; round < ROUNDS; round += 3) {
        struct op ops[4];
        MPI_Request requests[4];
        for (int i = 0; i < 4; i++) {
            make(&ops[i], comm, MPI_INT, 1, round + i);
            struct op *o = &ops[i];
            MPI_Ineighbor_alltoallv(o->send, o->sc, o->sd, o->type, o->receive, o->rc, o->rd, o->type, comm, &requests[i]);
        }
        MPI_Status statuses[4];
        MPI_Waitall(4, requests, statuses);
        for (int i = 0; i < 4; i++) {
            int wrong = done(&ops[i], 0);
            REQUIRE(wrong == 0, "%s, started in round %d: %d wrong", what, round + i, wrong);
        }
    }
}

static void persistent(MPI_Comm comm, const char *what) {
    struct op op;
    MPI_Request request;
    make(&op, comm, MPI_INT, 1, 3);
    NEIGHBOR_ALLTOALLV_INIT(op.send, op.sc, op.sd, op.type, op.receive, op.rc, op.rd, op.type, comm, MPI_INFO_NULL, &request);
    for (int start = 0; start < 3; start++) {
        for (int i = 0; i < op.sends; i++)
            op.send[i] += 1;
        for (int i = 0; i < op.receives; i++)
            op.receive[i] = -7;
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
    int wrong = done(&op, 0);
    REQUIRE(wrong == 0, "%s, persistent: %d wrong", what, wrong);
}

int main(int argc, char **argv) {
    int provided, all;
    const char *what = argc > 1 ? argv[1] : "";
    unweighted = MPI_UNWEIGHTED;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm comms[5];
    if (strcmp(what, "cartesian") == 0) {
        MPI_Comm served[] = {cartesian(2, size / 2, 0, 0), cartesian(2, size / 2, 0, 1), cartesian(size, 1, 1, 0)};
        for (int i = 0; i < 3; i++)
            rounds(&served[i], "Cartesian");
    } else if (strcmp(what, "graphs") == 0) {
        MPI_Comm served[] = {uneven(), lonely(), ring()};
        for (int i = 0; i < 3; i++)
            rounds(&served[i], "graphs");
    } else if (strcmp(what, "left") == 0) {
        MPI_Comm left[] = {cartesian(2, size / 2, 1, 1), cartesian(size, 1, 1, 1), doubled()};
        for (int i = 0; i < 3; i++)
            rounds(&left[i], "a neighbour twice");
    } else if (strcmp(what, "disagreeing") == 0) {
        MPI_Comm comm = disagreeing();
        for (int round = 0; round < 4; round++) {
            struct op op;
            make(&op, comm, MPI_INT, 1, 3);
            /* What is not expected is a message of nothing that MPI receives nowhere. */
            if (rank == 0)
                op.sc[1] = 0;
            MPI_Neighbor_alltoallv(op.send, op.sc, op.sd, MPI_INT, op.receive, op.rc, op.rd, MPI_INT, comm);
            int wrong = done(&op, 1);
            REQUIRE(wrong == 0, "lists that disagree, round %d: %d wrong", round, wrong);
        }
        MPI_Comm_free(&comm);
    } else if (strcmp(what, "many") == 0) {
        /* Calls that are too small for an agreement on each. */
        comms[0] = cartesian(2, size / 2, 0, 1);
        comms[1] = uneven();
        for (int call = 0; call < 600; call++) {
            exchange(comms[call % 2], MPI_INT, 1, call % 3, "many");
            equal(comms[call % 2], 1 + call % 3, "many");
        }
        MPI_Comm_free(&comms[0]);
        MPI_Comm_free(&comms[1]);
    } else if (strcmp(what, "types") == 0) {
        types();
    } else if (strcmp(what, "refused") == 0) {
        refused();
    } else if (strcmp(what, "started") == 0) {
        comms[0] = cartesian(2, size / 2, 0, 1);
        comms[1] = ring();
        comms[2] = cartesian(2, size / 2, 1, 1);
        comms[3] = uneven();
        for (int i = 0; i < 4; i++)
            started(comms[i], "first");
        /* A call that may wait compares lists. */
        exchange(comms[3], MPI_INT, 1, 0, "between");
        started(comms[3], "then");
        for (int i = 0; i < 4; i++)
            MPI_Comm_free(&comms[i]);
    } else if (strcmp(what, "persistent") == 0) {
        comms[0] = cartesian(2, size / 2, 0, 1);
        comms[1] = uneven();
        comms[2] = doubled();
        for (int i = 0; i < 3; i++)
            persistent(comms[i], i == 2 ? "a neighbour twice" : "neighbours");
        for (int i = 0; i < 3; i++)
            MPI_Comm_free(&comms[i]);
    } else {
        REQUIRE(0, "there is no \"%s\"", what);
    }
    MPI_Allreduce(&errors, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (all == 0)
        printf("all is well\n");
    MPI_Finalize();
    return all != 0;
}
