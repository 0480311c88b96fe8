/* Loads a stand-in for a GPU driver in the middle of its run, declares a buffer of one rank to be the GPU's, and checks
   every exchange. Arguments: the driver's file. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size, wrong = 0;

static void exchange(int *send, int *receive, int n) {
    int *c = malloc(2 * size * sizeof(int)), *d = c + size;
    for (int i = 0; i < size; i++) {
        c[i] = n;
        d[i] = i * n;
        for (int j = 0; j < n; j++)
            send[i * n + j] = 10000 * rank + 100 * i + j % 100;
    }
    MPI_Alltoallv(send, c, d, MPI_INT, receive, c, d, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        for (int j = 0; j < n; j++)
            wrong += receive[i * n + j] != 10000 * i + 100 * rank + j % 100;
    free(c);
}

int main(int argc, char **argv) {
    enum { N = 1000 };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int *send = malloc(size * N * sizeof(int)), *receive = malloc(size * N * sizeof(int));
    for (int i = 0; i < 3; i++)
        exchange(send, receive, N);
    void *driver = dlopen(argv[1], RTLD_NOW);
    if (driver == NULL) {
        printf("%s\n", dlerror());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    void (*mark)(void *, void *, int) = (void (*)(void *, void *, int))dlsym(driver, "stand_in_mark");
    int (*asked)(void) = (int (*)(void))dlsym(driver, "stand_in_asked");
    /* Only one rank has its send buffer, then another its receive buffer there; and once in memory that moves. */
    if (rank == 1)
        mark(send, send + size * N, 0);
    exchange(send, receive, N);
    mark(0, 0, 0);
    exchange(send, receive, N);
    if (rank == 2)
        mark(receive, receive + size * N, 1);
    exchange(send, receive, N);
    if (asked() == 0)
        printf("the driver was not asked\n"), wrong++;
    int all;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (all == 0)
        printf("all is well\n");
    MPI_Finalize();
    return all != 0;
}
