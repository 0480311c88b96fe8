/* Transforms of a cube of complex numbers, forth and back, by the MPI interface of FFTW: each moves the whole cube from all ranks to
 * all. Written for OPTIQ.
 *
 * transform EDGE TIMES
 *
 * prints the seconds of the transforms and the largest error, which is to be near 1e-15. */
#include <fftw3-mpi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The value at a place of the whole cube: the same whoever has the place. */
static double value(ptrdiff_t place) { return (double)(place * 7919 % 1009) / 1009.0; }

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    fftw_mpi_init();
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    ptrdiff_t edge = argc > 1 ? atol(argv[1]) : 0;
    int times = argc > 2 ? atoi(argv[2]) : 0;
    if (edge < 1 || edge > 1024 || times < 1) {
        if (rank == 0)
            fprintf(stderr, "transform EDGE TIMES: an edge of 1 to 1024 and a number from 1 on are expected\n");
        MPI_Finalize();
        return 2;
    }
    ptrdiff_t planes, first, room = fftw_mpi_local_size_3d(edge, edge, edge, MPI_COMM_WORLD, &planes, &first);
    fftw_complex *cube = fftw_alloc_complex(room);
    if (!cube)
        MPI_Abort(MPI_COMM_WORLD, 1);
    fftw_plan forth = fftw_mpi_plan_dft_3d(edge, edge, edge, cube, cube, MPI_COMM_WORLD, FFTW_FORWARD, FFTW_ESTIMATE);
    fftw_plan back = fftw_mpi_plan_dft_3d(edge, edge, edge, cube, cube, MPI_COMM_WORLD, FFTW_BACKWARD, FFTW_ESTIMATE);
    ptrdiff_t mine = planes * edge * edge, offset = first * edge * edge;
    for (ptrdiff_t i = 0; i < mine; i++)
        cube[i][0] = value(offset + i), cube[i][1] = 0.0;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime(), scale = 1.0 / ((double)edge * edge * edge);
    for (int t = 0; t < times; t++) {
        fftw_execute(forth);
        fftw_execute(back);
        for (ptrdiff_t i = 0; i < mine; i++)
            cube[i][0] *= scale, cube[i][1] *= scale;
    }
    double taken = MPI_Wtime() - start, error = 0.0, worst;
    for (ptrdiff_t i = 0; i < mine; i++)
        error = fmax(error, fmax(fabs(cube[i][0] - value(offset + i)), fabs(cube[i][1])));
    MPI_Reduce(&error, &worst, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("seconds %.6f\nerror %.3g\n%s\n", taken, worst, worst < 1e-12 ? "verified" : "WRONG");
    MPI_Finalize();
    return 0;
}
