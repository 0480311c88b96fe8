/* MPICH 4.0.2 (Debian 12) loses messages to oneself on communicators of one rank that two threads use at once; decision 018.
     mpicc.mpich -O2 -o reproduce docs/decisions/018-reproduce.c -lpthread
     timeout 20 mpirun.mpich -n 2 ./reproduce self    # never ends
     timeout 60 mpirun.mpich -n 2 ./reproduce world   # "3000 rounds" */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 3000 };
static MPI_Comm comm;
static int me;
static volatile int round_of[THREADS];

static void *sends(void *number) {
    long tag = (long)number;
    for (int done = 0; done < ROUNDS;) {
        while (round_of[tag] == done)
            usleep(rand() % 50);
        done = round_of[tag];
        MPI_Send(NULL, 0, MPI_BYTE, me, (int)tag, comm);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int provided, rank;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(argc > 1 && strcmp(argv[1], "self") == 0 ? MPI_COMM_SELF : MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &me);
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, sends, (void *)i);
    for (int round = 1; round <= ROUNDS; round++) {
        MPI_Request requests[THREADS];
        MPI_Status statuses[THREADS];
        for (int i = 0; i < THREADS; i++) {
            MPI_Irecv(NULL, 0, MPI_BYTE, me, i, comm, &requests[i]);
            __sync_synchronize();
            round_of[i] = round;
        }
        MPI_Waitall(THREADS, requests, statuses);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (rank == 0)
        printf("%d rounds\n", ROUNDS);
    MPI_Finalize();
    return 0;
}
