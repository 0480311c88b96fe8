/* Regions of the code, as a program marks them that knows OPTIQ; with a profiler and without one. */
#include <mpi.h>
#include <optiq.h>
#include <stdio.h>
#include <string.h>

#define REQUIRE(what)                                                                                                  \
    if (!(what)) {                                                                                                     \
        fprintf(stderr, "line %d: %s; last message: %s\n", __LINE__, #what, optiq_last_message());                     \
        MPI_Abort(MPI_COMM_WORLD, 1);                                                                                  \
    }

int main(int argc, char **argv) {
    char name[200], data[100] = {0};
    int rank, size;
    REQUIRE(optiq_region_begin("early") == OPTIQ_STATUS_ARGUMENT && strstr(optiq_last_message(), "before MPI_Init"));
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    REQUIRE(optiq_region_begin(NULL) == OPTIQ_STATUS_ARGUMENT && strstr(optiq_last_message(), "the name of the region is NULL"));
    memset(name, 'x', 129);
    name[129] = 0;
    REQUIRE(optiq_region_begin(name) == OPTIQ_STATUS_ARGUMENT && strstr(optiq_last_message(), "1 to 128 of printable text"));
    REQUIRE(optiq_region_begin("a\nb") == OPTIQ_STATUS_ARGUMENT);
    REQUIRE(optiq_region_begin("solve") == 0);
    REQUIRE(optiq_region_begin("halo") == 0);
    if (rank == 0) MPI_Send(data, 100, MPI_CHAR, 1, 3, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(data, 100, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    /* Ends the inner one as well. */
    REQUIRE(optiq_region_end("solve") == 0);
    REQUIRE(optiq_region_end("solve") == 0);
    MPI_Finalize();
    REQUIRE(optiq_region_end("late") == OPTIQ_STATUS_ARGUMENT);
    printf("all is well\n");
    return 0;
}
