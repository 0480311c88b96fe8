/* What a drop-in must not change: results, error classes, error handlers, attributes, communicators, threads. Every check
   compares with PMPI_Alltoallv, which is never interposed, or with what the MPI standard says. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"

static int value(int from, int to, int i) { return 1000000 * from + 1000 * to + i % 1000; }
/* Elements from one rank to another: none from some, and none from a rank to itself. */
static int elements(int from, int to, int scale) { return (from * 3 + to * 5) % 4 * scale; }

/* An exchange on a communicator, compared element by element, gaps included. */
static int exchange(MPI_Comm comm, int scale, int in_place) {
    int me, n, wrong = 0;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    int *sc = calloc(4 * n, sizeof(int)), *sd = sc + n, *rc = sd + n, *rd = rc + n, s = 0, r = 0;
    for (int i = 0; i < n; i++) {
        /* In place, what is sent to a rank is as much as comes from it. */
        sc[i] = in_place ? elements(0, 1, scale) + scale : elements(me, i, scale);
        rc[i] = in_place ? sc[i] : elements(i, me, scale);
        sd[i] = s;
        rd[i] = r;
        s += sc[i] + 1;
        r += rc[i] + 2;
    }
    int *send = malloc((s + 1) * sizeof(int)), *receive = malloc((r + 1) * sizeof(int));
    for (int i = 0; i <= r; i++)
        receive[i] = -7;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < sc[i]; j++) {
            send[sd[i] + j] = value(me, i, j);
            if (in_place)
                receive[rd[i] + j] = value(me, i, j);
        }
    int code = in_place ? MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, receive, rc, rd, MPI_INT, comm)
                        : MPI_Alltoallv(send, sc, sd, MPI_INT, receive, rc, rd, MPI_INT, comm);
    wrong += code != MPI_SUCCESS;
    for (int i = 0, at = 0; i < n; i++) {
        for (int j = 0; j < rc[i]; j++, at++)
            wrong += receive[at] != value(i, me, j);
        for (int j = 0; j < 2; j++, at++)
            wrong += receive[at] != -7;
    }
    free(send);
    free(receive);
    free(sc);
    return wrong;
}

static void sizes(void) {
    int scales[] = {0, 1, 7, 1000, 20000, 3};
    for (int i = 0; i < 6; i++) {
        REQUIRE(exchange(MPI_COMM_WORLD, scales[i], 0) == 0, "wrong data at scale %d", scales[i]);
        REQUIRE(exchange(MPI_COMM_WORLD, scales[i], 1) == 0, "wrong data in place at scale %d", scales[i]);
    }
}

/* Options as info keys: of all ranks, of one rank alone, and one that there is not. MPI libraries may forget them. */
static void info_keys(void) {
    const char *keys[] = {"optiq_algorithm", "optiq_k", "optiq_nonsense"}, *values[] = {"mpi", "3", "1"};
    for (int i = 0; i < 3; i++) {
        MPI_Info info;
        MPI_Comm comm;
        MPI_Info_create(&info);
        if (i != 1 || rank == 0)
            MPI_Info_set(info, keys[i], values[i]);
        MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
        MPI_Info_free(&info);
        for (int round = 0; round < 4; round++)
            REQUIRE(exchange(comm, 100, 0) == 0, "wrong data with %s, round %d", keys[i], round);
        MPI_Comm_free(&comm);
    }
}

static void regular(void) {
    int *send = malloc(size * 100 * sizeof(int)), *receive = malloc(size * 100 * sizeof(int));
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < size * 100; i++)
            send[i] = receive[i] = value(rank, i / 100, i % 100 + round);
        if (round % 2)
            MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, receive, 100, MPI_INT, MPI_COMM_WORLD);
        else
            MPI_Alltoall(send, 100, MPI_INT, receive, 100, MPI_INT, MPI_COMM_WORLD);
        int wrong = 0;
        for (int i = 0; i < size * 100; i++)
            wrong += receive[i] != value(i / 100, rank, i % 100 + round);
        REQUIRE(wrong == 0, "MPI_Alltoall, round %d: %d wrong", round, wrong);
    }
    free(send);
    free(receive);
}

/* Datatypes: one with gaps at one rank only, runs of bytes elsewhere. */
static void datatypes(void) {
    MPI_Datatype gaps, pairs;
    MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
    MPI_Type_contiguous(2, MPI_INT, &pairs);
    MPI_Type_commit(&gaps);
    MPI_Type_commit(&pairs);
    int *c = calloc(2 * size, sizeof(int)), *d = c + size;
    int *send = malloc(3 * size * sizeof(int)), *receive = malloc(2 * size * sizeof(int));
    for (int round = 0; round < 4; round++) {
        MPI_Datatype mine = rank == 1 ? gaps : pairs;
        for (int i = 0; i < size; i++) {
            c[i] = 1;
            d[i] = i;
        }
        for (int i = 0; i < 3 * size; i++)
            send[i] = -1;
        for (int i = 0; i < size; i++) {
            /* The vector's extent is three ints. */
            send[rank == 1 ? 3 * i : 2 * i] = value(rank, i, 0);
            send[rank == 1 ? 3 * i + 2 : 2 * i + 1] = value(rank, i, 1);
        }
        MPI_Alltoallv(send, c, d, mine, receive, c, d, pairs, MPI_COMM_WORLD);
        for (int i = 0; i < size; i++)
            REQUIRE(receive[2 * i] == value(i, rank, 0) && receive[2 * i + 1] == value(i, rank, 1), "from %d", i);
    }
    MPI_Type_free(&gaps);
    MPI_Type_free(&pairs);
    free(c);
    free(send);
    free(receive);
}

static int called = 0;
static void on_error(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    (void)code;
    called++;
}

static int class_of(int code) {
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

/* Wrong arguments give MPI's own classes, once, through the program's own handler; whoever makes the call. */
static void refused(MPI_Comm comm, int everybody) {
    MPI_Errhandler handler, before, after;
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Datatype raw;
    MPI_Type_contiguous(3, MPI_INT, &raw);
    int n;
    MPI_Comm_size(comm, &n);
    int *c = calloc(3 * n, sizeof(int)), *d = c + n, *bad = d + n, s[1], r[1];
    bad[n - 1] = -1;
    for (int which = 0; which < 7; which++) {
#ifdef MPICH
        /* MPICH 4.0 crashes on a missing array, and accepts MPI_IN_PLACE to receive nothing into. */
        if (which == 1 || which == 6)
            continue;
#endif
        int codes[2], calls[2];
        for (int direct = 0; direct < 2 && (everybody || rank == 0); direct++) {
            const int *sc = which == 0 ? bad : which == 1 ? NULL : c, *rc = which == 2 ? bad : c;
            MPI_Datatype st = which == 3 ? MPI_DATATYPE_NULL : which == 4 ? raw : MPI_INT;
            MPI_Datatype rt = which == 5 ? MPI_DATATYPE_NULL : MPI_INT;
            void *into = which == 6 ? MPI_IN_PLACE : r;
            called = 0;
            codes[direct] = direct ? PMPI_Alltoallv(s, sc, d, st, into, rc, d, rt, comm)
                                   : MPI_Alltoallv(s, sc, d, st, into, rc, d, rt, comm);
            calls[direct] = called;
        }
        if (everybody || rank == 0) {
            REQUIRE(codes[0] != MPI_SUCCESS, "case %d was accepted", which);
            REQUIRE(class_of(codes[0]) == class_of(codes[1]), "case %d: class %d, MPI's is %d", which,
                    class_of(codes[0]), class_of(codes[1]));
            REQUIRE(calls[0] == calls[1], "case %d: %d calls of the handler, MPI makes %d", which, calls[0], calls[1]);
        }
    }
    MPI_Type_free(&raw);
    REQUIRE(exchange(comm, 100, 0) == 0, "wrong data after errors");
    MPI_Comm_get_errhandler(comm, &before);
    REQUIRE(exchange(comm, 100, 0) == 0, "wrong data after errors");
    MPI_Comm_get_errhandler(comm, &after);
    REQUIRE(before == after && after == handler, "the error handler has changed");
    MPI_Errhandler_free(&before);
    MPI_Errhandler_free(&after);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    free(c);
}

/* On the null communicator errors are those of MPI_COMM_WORLD. */
static void nowhere(void) {
    int zero[1] = {0};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int a = MPI_Alltoallv(zero, zero, zero, MPI_INT, zero, zero, zero, MPI_INT, MPI_COMM_NULL);
    int b = PMPI_Alltoallv(zero, zero, zero, MPI_INT, zero, zero, zero, MPI_INT, MPI_COMM_NULL);
    REQUIRE(class_of(a) == class_of(b) && class_of(a) == MPI_ERR_COMM, "classes %d and %d", class_of(a), class_of(b));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* A rank that expects more than it is sent: MPI does what it does. */
static void disagreeing(void) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    int *c = calloc(3 * size, sizeof(int)), *d = c + size, *more = d + size;
    int *send = calloc(size, sizeof(int)), *receive = calloc(2 * size, sizeof(int));
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < size; i++) {
            c[i] = 1;
            d[i] = i;
            send[i] = value(rank, i, round);
            more[i] = i == (rank + 1) % size ? 2 : 1;
        }
        /* The block of two would overlap the next one: leave room. */
        int *rd = malloc(size * sizeof(int));
        for (int i = 0; i < size; i++)
            rd[i] = 2 * i;
        MPI_Alltoallv(send, c, d, MPI_INT, receive, more, rd, MPI_INT, comm);
        for (int i = 0; i < size; i++)
            REQUIRE(receive[2 * i] == value(i, rank, round), "from %d", i);
        free(rd);
        REQUIRE(exchange(comm, 50, 0) == 0, "wrong data after a disagreement");
    }
    free(c);
    free(send);
    free(receive);
    MPI_Comm_free(&comm);
}

static int copied = 0, deleted = 0;
static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
    (void)comm, (void)key, (void)extra;
    copied++;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}
static int delete(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm, (void)key, (void)value, (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

static void attributes(void) {
    int key;
    MPI_Comm comm, twin;
    MPI_Comm_create_keyval(copy, delete, &key, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_attr(comm, key, &key);
    for (int i = 0; i < 5; i++)
        REQUIRE(exchange(comm, 100, i % 2) == 0, "wrong data");
    REQUIRE(copied == 0 && deleted == 0, "%d copied, %d deleted", copied, deleted);
    MPI_Comm_dup(comm, &twin);
    REQUIRE(exchange(twin, 100, 0) == 0, "wrong data on a duplicate");
    REQUIRE(copied == 1 && deleted == 0, "%d copied, %d deleted", copied, deleted);
    MPI_Comm_free(&comm);
    REQUIRE(deleted == 1, "%d deleted", deleted);
    REQUIRE(exchange(twin, 100, 0) == 0, "wrong data on a duplicate");
    MPI_Comm_free(&twin);
    REQUIRE(copied == 1 && deleted == 2, "%d copied, %d deleted", copied, deleted);
    MPI_Comm_free_keyval(&key);
}

/* MPICH's ranks spin while they wait, and a communicator takes it a turn of each. */
#ifdef MPICH
enum { HELD = 100, PASSING = 150 };
#else
enum { HELD = 600, PASSING = 1500 };
#endif
static void communicators(void) {
    static MPI_Comm held[HELD];
    for (int i = 0; i < PASSING; i++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int j = 0; j <= i % 3; j++)
            if (i % 50 < 3)
                REQUIRE(exchange(comm, 10, j % 2) == 0, "wrong data on communicator %d", i);
        MPI_Comm_free(&comm);
    }
    for (int i = 0; i < HELD; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &held[i]);
        if (i % 4 == 0)
            for (int j = 0; j < 4; j++)
                REQUIRE(exchange(held[i], 10, j % 2) == 0, "wrong data on communicator %d", i);
    }
    for (int i = 0; i < HELD; i++)
        MPI_Comm_free(&held[i]);
}

/* Halves, one rank alone, both halves as an inter-communicator, and a communicator that is freed with a message in flight. */
static void shapes(void) {
    MPI_Comm half, inter, merged, odd;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    for (int i = 0; i < 4; i++) {
        REQUIRE(exchange(half, 500, i % 2) == 0, "wrong data in a half");
        REQUIRE(exchange(MPI_COMM_SELF, 500, i % 2) == 0, "wrong data alone");
    }
    if (size % 2 == 0) {
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? size - 2 : size - 1, 5, &inter);
        int n = size / 2, *c = calloc(2 * n, sizeof(int)), *d = c + n, me;
        int *send = malloc(n * sizeof(int)), *receive = malloc(n * sizeof(int));
        MPI_Comm_rank(half, &me);
        for (int round = 0; round < 4; round++) {
            for (int i = 0; i < n; i++) {
                c[i] = 1;
                d[i] = i;
                send[i] = value(me + 100 * (rank % 2), i, round);
            }
            MPI_Alltoallv(send, c, d, MPI_INT, receive, c, d, MPI_INT, inter);
            for (int i = 0; i < n; i++)
                REQUIRE(receive[i] == value(i + 100 * (1 - rank % 2), me, round), "across, from %d", i);
        }
        MPI_Intercomm_merge(inter, rank % 2, &merged);
        for (int i = 0; i < 4; i++)
            REQUIRE(exchange(merged, 500, i % 2) == 0, "wrong data on a merged communicator");
        MPI_Comm_free(&merged);
        MPI_Comm_free(&inter);
        free(c);
        free(send);
        free(receive);
    }
    MPI_Comm_free(&half);
    MPI_Comm_dup(MPI_COMM_WORLD, &odd);
    for (int i = 0; i < 4; i++)
        REQUIRE(exchange(odd, 500, i % 2) == 0, "wrong data");
    MPI_Request request = MPI_REQUEST_NULL;
    int sent = rank, got = -1;
    if (rank == 0)
        MPI_Irecv(&got, 1, MPI_INT, 1, 3, odd, &request);
    if (rank == 1)
        MPI_Isend(&sent, 1, MPI_INT, 0, 3, odd, &request);
    MPI_Comm_free(&odd);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    REQUIRE(rank != 0 || got == 1, "got %d", got);
}

static void *one_thread(void *comm) {
    long wrong = 0;
    for (int i = 0; i < 30; i++)
        wrong += exchange(*(MPI_Comm *)comm, i % 3 * 200 + 1, i % 2);
    return (void *)wrong;
}

static void threads(void) {
    enum { N = 4 };
    MPI_Comm comms[N];
    pthread_t ids[N];
    for (int i = 0; i < N; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < N; i++)
        pthread_create(&ids[i], NULL, one_thread, &comms[i]);
    for (int i = 0; i < N; i++) {
        void *wrong;
        pthread_join(ids[i], &wrong);
        REQUIRE(wrong == NULL, "thread %d: %ld wrong", i, (long)wrong);
    }
    /* One is left for MPI_Finalize to clear away. */
    for (int i = 1; i < N; i++)
        MPI_Comm_free(&comms[i]);
}

int main(int argc, char **argv) {
    int provided, with_threads = argc > 1 && strcmp(argv[1], "threads") == 0;
    MPI_Init_thread(&argc, &argv, with_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (with_threads) {
        if (provided == MPI_THREAD_MULTIPLE)
            threads();
    } else {
        MPI_Comm comm;
        sizes();
        info_keys();
        regular();
        datatypes();
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        refused(comm, 1);
        refused(comm, 0);
        MPI_Comm_free(&comm);
        nowhere();
        disagreeing();
        attributes();
        communicators();
        shapes();
        sizes();
    }
    int all;
    MPI_Allreduce(&errors, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (all == 0)
        printf("all is well\n");
    MPI_Finalize();
    return all != 0;
}
