/* Every function of the thesis's Table IV, and what else deals with jobs, on a torus of 4x4 with one rank a node. */
#include "check.h"

static optiq_topology topology;
static char *directory;

static void shape(void) {
    int size[4], torus[4], coordinate[4], dimensions = 0, node = -1, nodes = 0;
    OK(optiq_topology_get_size(topology, 4, size, &dimensions));
    REQUIRE(dimensions == 2 && size[0] == 4 && size[1] == 4);
    OK(optiq_topology_get_torus(topology, 4, torus, NULL));
    REQUIRE(torus[0] == 1 && torus[1] == 1);
    OK(optiq_topology_get_nodeId(topology, &node));
    REQUIRE(node == rank_);
    OK(optiq_topology_get_coordinate(topology, 4, coordinate, &dimensions));
    REQUIRE(coordinate[0] == rank_ / 4 && coordinate[1] == rank_ % 4);
    OK(optiq_topology_get_nodes(topology, &nodes));
    REQUIRE(nodes == 16);
    OK(optiq_topology_get_node_of_rank(topology, 7, &node));
    REQUIRE(node == 7);
    OK(optiq_topology_get_size(topology, 0, NULL, &dimensions));
    REQUIRE(dimensions == 2);
    FAILS(optiq_topology_get_size(topology, 1, size, NULL), OPTIQ_STATUS_ARGUMENT, "room for 1 sizes, but the topology has 2");
    FAILS(optiq_topology_get_size(topology, 2, NULL, NULL), OPTIQ_STATUS_ARGUMENT, "the place for sizes is NULL");
    FAILS(optiq_topology_get_torus(topology, -1, torus, NULL), OPTIQ_STATUS_ARGUMENT, "must not be negative");
    FAILS(optiq_topology_get_nodeId(topology, NULL), OPTIQ_STATUS_ARGUMENT, "the place for the node is NULL");
    FAILS(optiq_topology_get_node_of_rank(topology, 16, &node), OPTIQ_STATUS_ARGUMENT, "there is no rank 16");
    FAILS(optiq_topology_get_nodes(0, &nodes), OPTIQ_STATUS_ARGUMENT, "the handle is 0");
    FAILS(optiq_topology_get_nodes(12345, &nodes), OPTIQ_STATUS_ARGUMENT, "which is no topology");
}

/* Rank 0 to 10, 1 to 11, 2 to 2 and 3 to 9, with other bytes each. */
enum { JOBS = 4 };
static const int sources[JOBS] = {0, 1, 2, 3}, destinations[JOBS] = {10, 11, 2, 9};
static const int64_t sizes[JOBS] = {3000000, 1234567, 77, 5000};
static unsigned char *out[JOBS], *in[JOBS];

static unsigned char pattern(int job, int64_t i) { return (unsigned char)(i * 7 + job * 31 + i / 256); }

static optiq_jobs make(void) {
    optiq_jobs jobs;
    OK(optiq_jobs_create(&jobs));
    for (int j = 0; j < JOBS; j++) OK(optiq_jobs_add(jobs, sources[j], destinations[j], sizes[j]));
    return jobs;
}

static void attach(optiq_jobs jobs) {
    for (int j = 0; j < JOBS; j++) {
        out[j] = out[j] ? out[j] : malloc((size_t)sizes[j]);
        in[j] = in[j] ? in[j] : malloc((size_t)sizes[j]);
        for (int64_t i = 0; i < sizes[j]; i++) out[j][i] = pattern(j, i), in[j][i] = 0;
        OK(optiq_jobs_set_buffers(jobs, j, rank_ == sources[j] ? out[j] : NULL, rank_ == destinations[j] ? in[j] : NULL));
    }
}

static void arrived(optiq_jobs jobs) {
    int64_t bytes = 0, expected = 0;
    for (int j = 0; j < JOBS; j++) {
        int64_t length;
        if (rank_ != destinations[j]) continue;
        OK(optiq_jobs_get(jobs, j, NULL, NULL, &length, NULL));
        for (int64_t i = 0; i < sizes[j]; i++) REQUIRE(in[j][i] == pattern(j, i));
        expected += sizes[j];
    }
    OK(optiq_jobs_get_received(jobs, &bytes));
    REQUIRE(bytes == expected);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    directory = argv[1];
    char file[4096], json[4096];
    snprintf(file, sizeof file, "%s/jobs.txt", directory);
    snprintf(json, sizeof json, "%s/jobs.json", directory);
    optiq_jobs jobs, again;
    FAILS(optiq_jobs_create(&jobs), OPTIQ_STATUS_NOT_INITIALIZED, "optiq_jobs_create was called before optiq_init");
    FAILS(optiq_topology_init(MPI_COMM_WORLD, &topology), OPTIQ_STATUS_NOT_INITIALIZED, "optiq_topology_init");
    OK(optiq_init(&argc, &argv));
    FAILS(optiq_topology_init(MPI_COMM_WORLD, NULL), OPTIQ_STATUS_ARGUMENT, "the place for the topology is NULL");
    OK(optiq_topology_init(MPI_COMM_WORLD, &topology));
    shape();

    /* Paths: the k shortest ones, then shares of the bytes. */
    optiq_alg algorithms;
    int64_t count = 0, bytes = 0;
    int source, destination, paths;
    OK(optiq_alg_init(topology, &algorithms));
    jobs = make();
    OK(optiq_alg_generate_kpaths(algorithms, NULL, jobs, 6));
    OK(optiq_jobs_get_count(jobs, &count));
    OK(optiq_jobs_get(jobs, 1, &source, &destination, &bytes, &paths));
    REQUIRE(count == JOBS && source == 1 && destination == 11 && bytes == sizes[1] && paths == 6);
    OK(optiq_jobs_get(jobs, 2, NULL, NULL, NULL, &paths));
    REQUIRE(paths == 0);
    OK(optiq_alg_search_heu(algorithms, jobs, OPTIQ_SEARCH_HEU2));
    OK(optiq_jobs_get(jobs, 0, NULL, NULL, NULL, &paths));
    REQUIRE(paths >= 2 && paths <= 6);
    FAILS(optiq_alg_search_heu(algorithms, jobs, 77), OPTIQ_STATUS_ARGUMENT, "77 is no search");
    FAILS(optiq_alg_generate_kpaths(algorithms, NULL, jobs, 0), OPTIQ_STATUS_ARGUMENT, "0 paths are asked for");
    FAILS(optiq_alg_generate_kpaths(algorithms, "none.toml", jobs, 1), OPTIQ_STATUS_CONFIG, "none.toml");
    FAILS(optiq_alg_search_heu(topology, jobs, 0), OPTIQ_STATUS_ARGUMENT, "was given a topology where a handle of algorithms");

    /* To files and back, then a schedule and its execution. */
    if (rank_ == 0) {
        OK(optiq_jobs_write(jobs, file));
        OK(optiq_jobs_write(jobs, json));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    OK(optiq_jobs_free(&jobs));
    REQUIRE(jobs == 0);
    OK(optiq_job_read_jobs_from_file(&jobs, file));
    OK(optiq_job_read_jobs_from_file(&again, json));
    optiq_schedule schedule;
    optiq_transport transport;
    double congestion = 0, bound = 0;
    OK(optiq_schedule_init(topology, &schedule));
    FAILS(optiq_schedule_get_times(schedule, &congestion, &bound), OPTIQ_STATUS_ARGUMENT, "the schedule is empty");
    OK(optiq_schedule_create_schedule(schedule, jobs));
    OK(optiq_schedule_get_times(schedule, &congestion, &bound));
    REQUIRE(bound > 0 && congestion >= bound);
    OK(optiq_transport_init(MPI_COMM_WORLD, &transport));
    attach(jobs);
    OK(optiq_transport_execute(transport, schedule));
    REQUIRE(strstr(optiq_last_decision(), "paths by planner jobs"));
    arrived(jobs);
    attach(again);
    OK(optiq_execute_jobs(again, MPI_COMM_WORLD));
    arrived(again);
    /* A second time, from the cache. */
    attach(again);
    OK(optiq_execute_jobs(again, MPI_COMM_WORLD));
    arrived(again);

    /* Only the source's word about sizes counts, and shares keep their proportions. */
    for (int j = 0; j < JOBS; j++) OK(optiq_jobs_set_demand(again, j, rank_ == sources[j] ? sizes[j] / 3 : 1));
    attach(again);
    OK(optiq_execute_jobs(again, MPI_COMM_WORLD));
    for (int j = 0; j < JOBS; j++) {
        if (rank_ != destinations[j]) continue;
        for (int64_t i = 0; i < sizes[j]; i++) REQUIRE(in[j][i] == (i < sizes[j] / 3 ? pattern(j, i) : 0));
    }

    /* Into one buffer, straight from a file, and without paths. */
    int64_t room = rank_ == 10 || rank_ == 11 ? 1000 : rank_ == 2 || rank_ == 9 ? 1000 : 0;
    unsigned char sent[1000], received[1001];
    for (int i = 0; i < 1000; i++) sent[i] = (unsigned char)(i * 3 + rank_), received[i] = 0;
    received[1000] = 99;
    OK(optiq_execute_jobs_from_file(file, 1000, sent, received, room, MPI_COMM_WORLD));
    for (int j = 0; j < JOBS; j++)
        for (int i = 0; i < 1000 && rank_ == destinations[j]; i++)
            REQUIRE(received[i] == (unsigned char)(i * 3 + sources[j]));
    REQUIRE(received[1000] == 99);
    optiq_jobs plain = make();
    attach(plain);
    OK(optiq_execute_jobs(plain, MPI_COMM_WORLD));
    arrived(plain);

    /* Urgent jobs beside the others. */
    OK(optiq_jobs_set_class(plain, 0, 255));
    OK(optiq_jobs_set_class(plain, JOBS - 1, 1));
    int urgent = -1;
    OK(optiq_jobs_get_class(plain, 0, &urgent));
    REQUIRE(urgent == 255);
    OK(optiq_jobs_get_class(plain, 1, &urgent));
    REQUIRE(urgent == 0);
    attach(plain);
    OK(optiq_execute_jobs(plain, MPI_COMM_WORLD));
    arrived(plain);
    OK(optiq_jobs_set_class(plain, 1, rank_ == 5 ? 2 : 1));
    FAILS(optiq_execute_jobs(plain, MPI_COMM_WORLD), OPTIQ_STATUS_ARGUMENT, "the ranks have different lists of jobs");

    /* What goes wrong goes wrong everywhere, and nothing hangs. */
    int status = optiq_execute_jobs_from_file(rank_ == 3 ? "missing.txt" : file, 0, NULL, NULL, 0, MPI_COMM_WORLD);
    REQUIRE(status == OPTIQ_STATUS_ARGUMENT);
    REQUIRE(strstr(optiq_last_message(), rank_ == 3 ? "missing.txt: No such file" : "rank 3 passed an invalid argument"));
    status = optiq_execute_jobs_from_file(file, 1000, sent, received, rank_ == 10 ? 999 : room, MPI_COMM_WORLD);
    REQUIRE(status == OPTIQ_STATUS_ARGUMENT);
    REQUIRE(strstr(optiq_last_message(), rank_ == 10 ? "1000 bytes arrive from the jobs, but the receive buffer has 999"
                                                     : "rank 10 passed"));
    status = optiq_execute_jobs(rank_ == 1 ? 0 : jobs, MPI_COMM_WORLD);
    REQUIRE(status == OPTIQ_STATUS_ARGUMENT);
    optiq_jobs other;
    OK(optiq_jobs_create(&other));
    OK(optiq_jobs_add(other, 0, rank_ == 5 ? 2 : 1, 10));
    FAILS(optiq_execute_jobs(other, MPI_COMM_WORLD), OPTIQ_STATUS_ARGUMENT, "the ranks have different lists of jobs");
    FAILS(optiq_jobs_add(other, 0, rank_ == 5 ? 2 : 1, 10), OPTIQ_STATUS_ARGUMENT, "is given twice");
    FAILS(optiq_jobs_add(other, -1, 1, 10), OPTIQ_STATUS_ARGUMENT, "the rank -1 is negative");
    FAILS(optiq_jobs_add(other, 1, 3, -10), OPTIQ_STATUS_ARGUMENT, "-10 bytes");
    FAILS(optiq_jobs_set_class(other, 0, 256), OPTIQ_STATUS_ARGUMENT, "the class 256 is given; 0 to 255 are expected");
    FAILS(optiq_jobs_set_class(other, 0, -1), OPTIQ_STATUS_ARGUMENT, "the class -1 is given; 0 to 255 are expected");
    FAILS(optiq_jobs_set_class(other, 1, 1), OPTIQ_STATUS_ARGUMENT, "there is no job 1; there are 1");
    FAILS(optiq_jobs_get_class(other, 0, NULL), OPTIQ_STATUS_ARGUMENT, "the class of the job");
    FAILS(optiq_jobs_set_demand(other, 1, 1), OPTIQ_STATUS_ARGUMENT, "there is no job 1; there are 1");
    OK(optiq_jobs_add(other, 0, 16, 10));
    FAILS(optiq_alg_generate_kpaths(algorithms, NULL, other, 3), OPTIQ_STATUS_ARGUMENT, "there is no rank 16; there are 16 ranks");
    /* No buffer. */
    optiq_jobs bare;
    OK(optiq_jobs_create(&bare));
    OK(optiq_jobs_add(bare, 0, 1, 10));
    status = optiq_execute_jobs(bare, MPI_COMM_WORLD);
    REQUIRE(status == OPTIQ_STATUS_ARGUMENT && (rank_ > 0 || strstr(optiq_last_message(), "the buffer of job 0 is NULL")));

    OK(optiq_transport_finalize(&transport));
    OK(optiq_schedule_finalize(&schedule));
    OK(optiq_alg_finalize(&algorithms));
    optiq_topology copy = topology;
    OK(optiq_topology_finalize(&topology));
    REQUIRE(topology == 0);
    FAILS(optiq_topology_finalize(&copy), OPTIQ_STATUS_ARGUMENT, "freed or never made");
    OK(optiq_finalize());
    FAILS(optiq_jobs_get_count(again, &count), OPTIQ_STATUS_ARGUMENT, "freed or never made");
    FAILS(optiq_execute_jobs(again, MPI_COMM_WORLD), OPTIQ_STATUS_NOT_INITIALIZED, "optiq_execute_jobs");
    return end();
}
