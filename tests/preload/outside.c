/* Calls MPI_Alltoallv before MPI_Init or after MPI_Finalize, which MPI refuses by ending the program. */
#include <mpi.h>
#include <string.h>

int main(int argc, char **argv) {
    int zero[1] = {0}, from[1] = {1}, into[1] = {0};
    if (strcmp(argv[1], "after") == 0) {
        MPI_Init(&argc, &argv);
        MPI_Finalize();
    }
    MPI_Alltoallv(from, zero, zero, MPI_INT, into, zero, zero, MPI_INT, MPI_COMM_SELF);
    return 0;
}
