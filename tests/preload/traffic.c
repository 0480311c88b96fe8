/*
 * Messages of known sizes, each kind in a region of its own: for tests of the profiler. Arguments are the kinds, in order:
 * ring bcast alltoall alltoallv reduce scatter put files nested outside wait gone bulk killed. Those behind "many" are repeated 100
 * times, and those behind "large" have ten times as many bytes in a message (but for alltoallv and bulk).
 */
#define _GNU_SOURCE
#include "check.h"
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST 70000

static char from[16 * MOST], into[16 * MOST];
/* How large messages are. */
static int blocks = 1;

/* Rank r sends three messages of 1000 (r + 1) bytes to the next one. */
static void ring(void) {
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int i = 0; i < 3; i++)
        MPI_Sendrecv(from, 1000 * blocks * (rank + 1), MPI_CHAR, next, 5, into, 1000 * blocks * (before + 1), MPI_CHAR, before, 5,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void alltoallv(void) {
    int sc[16], rc[16], sd[16], rd[16];
    for (int i = 0; i < size; i++) {
        sc[i] = 100 * rank + 10 * i + (i == rank ? 0 : 20000);
        rc[i] = 100 * i + 10 * rank + (i == rank ? 0 : 20000);
        sd[i] = rd[i] = i * MOST;
    }
    memset(from, rank, sizeof from);
    MPI_Alltoallv(from, sc, sd, MPI_CHAR, into, rc, rd, MPI_CHAR, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) REQUIRE(into[rd[i]] == i, "a byte from rank %d is wrong", i);
}

/* Rank 0 puts 4000 bytes at rank 1 and gets 500 from it. */
static void put(void) {
    MPI_Win win;
    char *memory;
    MPI_Win_allocate(MOST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_fence(0, win);
    if (rank == 0) {
        MPI_Put(from, 4000, MPI_CHAR, 1, 0, 4000, MPI_CHAR, win);
        MPI_Get(into, 500, MPI_CHAR, 1, 5000, 500, MPI_CHAR, win);
    }
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

/* Each rank writes 3000 bytes of a file together with the others, and reads 1000 of them. */
static void files(void) {
    MPI_File file;
    char name[4096];
    snprintf(name, sizeof name, "%s/file", getenv("OPTIQ_PROFILE") ? getenv("OPTIQ_PROFILE") : "/tmp");
    memset(from, 'a' + rank % 16, 3000);
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, 3000 * rank, from, 750, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read_at(file, 3000 * rank, into, 1000, MPI_CHAR, MPI_STATUS_IGNORE);
    REQUIRE(into[999] == 'a' + rank % 16, "byte 999 of the file is %d", into[999]);
    MPI_File_close(&file);
}

/* Rank 1 is killed after the exchange, and the others wait for it. */
static void killed(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) kill(getpid(), SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The file of rank 0 is written when it gets a signal; it waits for that. */
static void wait_for_file(void) {
    const char *folder = getenv("OPTIQ_PROFILE");
    char name[4096];
    snprintf(name, sizeof name, "%s/optiq-profile-00000.json", folder ? folder : "");
    if (rank == 0) {
        raise(SIGUSR1);
        int there = 0;
        for (int i = 0; i < 6000 && !(there = access(name, R_OK) == 0); i++) usleep(10000);
        REQUIRE(there, "%s was not written", name);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Megabytes, in large messages and small ones. */
static void bulk(void) {
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int i = 0; i < 5; i++)
        MPI_Sendrecv(from, 300000 * (1 + rank % 3), MPI_CHAR, next, 7, into, 300000 * (1 + before % 3), MPI_CHAR, before, 7,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 10; i++) MPI_Alltoall(from, MOST, MPI_CHAR, into, MOST, MPI_CHAR, MPI_COMM_WORLD);
}

static void one(const char *kind) {
    if (!strcmp(kind, "bulk")) bulk();
    if (!strcmp(kind, "ring")) ring();
    if (!strcmp(kind, "bcast")) MPI_Bcast(from, 50000 * blocks, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (!strcmp(kind, "alltoall")) MPI_Alltoall(from, 3000 * blocks, MPI_CHAR, into, 3000 * blocks, MPI_CHAR, MPI_COMM_WORLD);
    if (!strcmp(kind, "alltoallv")) alltoallv();
    if (!strcmp(kind, "reduce")) MPI_Reduce(from, into, 5000 * blocks, MPI_INT, MPI_BOR, 0, MPI_COMM_WORLD);
    if (!strcmp(kind, "scatter")) MPI_Scatter(from, 7000 * blocks, MPI_CHAR, into, 7000 * blocks, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (!strcmp(kind, "put")) put();
    if (!strcmp(kind, "files")) files();
    if (!strcmp(kind, "killed")) killed();
    if (!strcmp(kind, "wait")) wait_for_file();
    /* A region within a region, and levels that mean nothing. */
    if (!strcmp(kind, "nested")) {
        MPI_Pcontrol(1, "inner");
        ring();
        MPI_Pcontrol(0);
        MPI_Pcontrol(2, "nothing");
        MPI_Pcontrol(1, (char *)0);
        MPI_Pcontrol(1, (char *)16);
        MPI_Pcontrol(-1, "inner");
        ring();
    }
    /* The directory is taken away before the end, when all have made it. */
    if (!strcmp(kind, "gone")) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0 && getenv("OPTIQ_PROFILE")) rmdir(getenv("OPTIQ_PROFILE"));
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 1, times = 1; i < argc; i++) {
        if (!strcmp(argv[i], "many")) times = 100;
        else if (!strcmp(argv[i], "large")) blocks = 10;
        else
            for (int j = 0; j < times; j++) {
                int inside = strcmp(argv[i], "outside") != 0;
                if (inside) MPI_Pcontrol(1, argv[i]);
                one(inside ? argv[i] : "ring");
                if (inside) MPI_Pcontrol(-1, argv[i]);
            }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (!errors) printf("all is well\n");
    return errors != 0;
}
