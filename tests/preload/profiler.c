/* A small profiler, to be preloaded beside OPTIQ: counts calls of MPI_Alltoallv and says so at the end. Built with
   -DCHAIN it asks the next library of that name, as tools do that know of others, and MPI itself otherwise. With
   -DREDUCTIONS it counts the calls of PMPI_Allreduce instead, which are those of other preloaded libraries. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static int calls = 0;

#ifdef REDUCTIONS
int PMPI_Allreduce(const void *s, void *r, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    calls++;
    int (*next)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm) = dlsym(RTLD_NEXT, "PMPI_Allreduce");
    return next(s, r, n, type, op, comm);
}
#else
int MPI_Alltoallv(const void *s, const int *sc, const int *sd, MPI_Datatype st, void *r, const int *rc, const int *rd,
                  MPI_Datatype rt, MPI_Comm comm) {
    calls++;
#ifdef CHAIN
    int (*next)(const void *, const int *, const int *, MPI_Datatype, void *, const int *, const int *, MPI_Datatype,
                MPI_Comm) = dlsym(RTLD_NEXT, "MPI_Alltoallv");
    return next(s, sc, sd, st, r, rc, rd, rt, comm);
#else
    return PMPI_Alltoallv(s, sc, sd, st, r, rc, rd, rt, comm);
#endif
}
#endif

int MPI_Finalize(void) {
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        fprintf(stderr, "profiler: %d calls\n", calls);
#ifdef CHAIN
    int (*next)(void) = dlsym(RTLD_NEXT, "MPI_Finalize");
    return next();
#else
    return PMPI_Finalize();
#endif
}
