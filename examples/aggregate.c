/* The thesis's source example 2: data of all ranks goes to the bridge nodes, over paths that were found beforehand, and is
 * written from there.
 *
 *   optiq transfers plan --topology torus:4x4 --to 0,10 --bytes 750000 --output paths_to_bridge_nodes
 *   OPTIQ_TOPOLOGY=torus:4x4 OPTIQ_PLACEMENT=rank mpirun -n 16 ./aggregate paths_to_bridge_nodes out.dat
 *
 * Every rank writes `count` bytes, its number repeated, at an offset of its own; the file is the one that
 * MPI_File_write_at on every rank would have made. */
#include <optiq.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int status, const char *what) {
    if (status != 0) {
        fprintf(stderr, "%s: %s: %s\n", what, optiq_strerror(status), optiq_last_message());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv) {
    int rank, ranks;
    if (argc != 3) {
        fprintf(stderr, "usage: aggregate JOBFILE OUTPUT\n");
        return 2;
    }
    /* Initialize OPTIQ and read paths to bridge nodes, once at the beginning. */
    check(optiq_init(&argc, &argv), "optiq_init");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    optiq_jobs jobs;
    check(optiq_job_read_jobs_from_file(&jobs, argv[1]), "optiq_job_read_jobs_from_file");

    /* The application's data. All nodes that write data exchange lengths to get offsets. */
    int64_t count = 700000 + (rank * 7919) % 100000;
    char *buf = malloc((size_t)count);
    memset(buf, rank, (size_t)count);
    int64_t *lengths = malloc(sizeof(int64_t) * (size_t)ranks), *offsets = malloc(sizeof(int64_t) * (size_t)ranks);
    MPI_Allgather(&count, 1, MPI_INT64_T, lengths, 1, MPI_INT64_T, MPI_COMM_WORLD);
    for (int i = 0, sum = 0; i < ranks; i++) offsets[i] = sum, sum += (int)lengths[i];

    /* Assign data buffer and length. */
    int64_t total = 0, incoming = 0;
    check(optiq_jobs_get_count(jobs, &total), "optiq_jobs_get_count");
    for (int64_t i = 0; i < total; i++) {
        int source, destination;
        check(optiq_jobs_get(jobs, i, &source, &destination, NULL, NULL), "optiq_jobs_get");
        if (source == rank) {
            check(optiq_jobs_set_demand(jobs, i, count), "optiq_jobs_set_demand");
            check(optiq_jobs_set_buffers(jobs, i, buf, NULL), "optiq_jobs_set_buffers");
        }
        if (destination == rank) incoming += lengths[source];
    }
    char *recvbuf = malloc((size_t)incoming + 1);
    check(optiq_jobs_set_receive_buffer(jobs, recvbuf, incoming), "optiq_jobs_set_receive_buffer");

    /* Aggregate data. */
    check(optiq_execute_jobs(jobs, MPI_COMM_WORLD), "optiq_execute_jobs");
    if (rank == 0) printf("aggregated over %s\n", optiq_last_decision());

    /* If bridge node, write what has arrived. */
    MPI_File file;
    MPI_Status status;
    if (MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file) != MPI_SUCCESS) {
        fprintf(stderr, "%s cannot be opened\n", argv[2]);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    char *next = recvbuf;
    for (int64_t i = 0; i < total; i++) {
        int source, destination;
        check(optiq_jobs_get(jobs, i, &source, &destination, NULL, NULL), "optiq_jobs_get");
        if (destination != rank) continue;
        MPI_File_write_at(file, offsets[source], next, (int)lengths[source], MPI_BYTE, &status);
        next += lengths[source];
    }
    MPI_File_close(&file);

    check(optiq_jobs_free(&jobs), "optiq_jobs_free");
    /* Finalize OPTIQ once at the end; it finalises MPI, which it has initialised. */
    check(optiq_finalize(), "optiq_finalize");
    free(buf), free(recvbuf), free(lengths), free(offsets);
    return 0;
}
