/* Options: file, environment, program, communicator, each over the one before. */
#include "check.h"

static char value[64];

static const char *option(const char *name) {
    OK(optiq_get_option(name, value, sizeof value, NULL));
    return value;
}

/* A byte to everybody, served as the communicator's options say. */
static const char *served(MPI_Comm comm) {
    enum { EACH = 1000 };
    static int counts[64], displacements[64];
    static char out[64 * EACH], in[64 * EACH];
    for (int i = 0; i < ranks_; i++) counts[i] = EACH, displacements[i] = i * EACH;
    memset(out, rank_ + 1, sizeof out);
    memset(in, 0, sizeof in);
    OK(optiq_alltoallv(out, counts, displacements, MPI_CHAR, in, counts, displacements, MPI_CHAR, comm));
    for (int i = 0; i < ranks_ * EACH; i++) REQUIRE(in[i] == i / EACH + 1);
    return optiq_last_decision();
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "strict") == 0) {
        FAILS(optiq_init(NULL, NULL), OPTIQ_STATUS_CONFIG, "k is \"many\"");
        return end();
    }
    if (strcmp(mode, "fallback") == 0) {
        OK(optiq_init(NULL, NULL));
        REQUIRE(strstr(served(MPI_COMM_WORLD), "MPI_Alltoallv"));
        /* Files go where messages go. */
        MPI_File file;
        REQUIRE(MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS);
        OK(optiq_file_write_at_all(file, 4 * rank_, &rank_, 4, MPI_BYTE, MPI_STATUS_IGNORE));
        /* The reason: the file that cannot be used, or else what is not set. */
        REQUIRE(strstr(optiq_last_decision(), ".conf") || strstr(optiq_last_decision(), "OPTIQ_TOPOLOGY is not set"));
        MPI_File_close(&file);
        OK(optiq_finalize());
        return end();
    }

    /* Before optiq_init. */
    OK(optiq_set_option("plans", "5"));
    OK(optiq_set_option("OPTIQ_LOG", "warn"));
    FAILS(optiq_set_option("plans", "none"), OPTIQ_STATUS_CONFIG, "OPTIQ_PLANS is \"none\"");
    FAILS(optiq_set_option("plan", "1"), OPTIQ_STATUS_CONFIG, "there is no option \"plan\"");
    FAILS(optiq_set_option(NULL, "1"), OPTIQ_STATUS_ARGUMENT, "the name of the option is NULL");
    FAILS(optiq_set_option("conf", "x"), OPTIQ_STATUS_CONFIG, "cannot be set by the program");
    REQUIRE(strcmp(option("plans"), "5") == 0);
    OK(optiq_init(NULL, NULL));
    REQUIRE(strcmp(option("topology"), "torus:4") == 0);
    REQUIRE(strcmp(option("K"), "7") == 0);
    REQUIRE(strcmp(option("OPTIQ_WINDOW"), "11") == 0);
    REQUIRE(strcmp(option("plans"), "5") == 0);
    REQUIRE(strcmp(option("budget"), "64MiB") == 0);
    size_t length = 0;
    OK(optiq_get_option("topology", value, 4, &length));
    REQUIRE(strcmp(value, "tor") == 0 && length == 7);
    OK(optiq_get_option("topology", NULL, 0, &length));
    FAILS(optiq_get_option("topology", NULL, 4, NULL), OPTIQ_STATUS_ARGUMENT, "the place for the value is NULL");
    FAILS(optiq_set_option("log", "info"), OPTIQ_STATUS_ARGUMENT, "only be set before optiq_init");

    /* For one communicator: by name, by info object, and after its first use. */
    MPI_Comm forced, plain, other;
    MPI_Comm_dup(MPI_COMM_WORLD, &forced);
    MPI_Comm_dup(MPI_COMM_WORLD, &plain);
    OK(optiq_comm_set_option(forced, "algorithm", "multipath"));
    FAILS(optiq_comm_set_option(forced, "algorithm", "magic"), OPTIQ_STATUS_CONFIG, "the info key optiq_algorithm is \"magic\"");
    FAILS(optiq_comm_set_option(forced, "log", "info"), OPTIQ_STATUS_CONFIG, "cannot be set for one communicator");
    FAILS(optiq_comm_set_option(MPI_COMM_NULL, "k", "1"), OPTIQ_STATUS_ARGUMENT, "MPI_COMM_NULL");
    REQUIRE(strstr(served(forced), "paths by planner"));
    FAILS(optiq_comm_set_option(forced, "k", "1"), OPTIQ_STATUS_ARGUMENT, "after the communicator's first use");

    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "optiq_algorithm", "mpi");
    MPI_Info_set(info, "someone_elses", "value");
    OK(optiq_comm_set_info(plain, info));
    OK(optiq_comm_set_info(plain, MPI_INFO_NULL));
    REQUIRE(strstr(served(plain), "OPTIQ_ALGORITHM=mpi"));
    MPI_Info_set(info, "optiq_algorithm", "multipath");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &other);
#ifdef OPEN_MPI
    /* Open MPI keeps keys that it does not know. */
    REQUIRE(strstr(served(other), "paths by planner"));
#endif
    MPI_Info_free(&info);
    MPI_Comm freed = forced;
    MPI_Comm_free(&other);
    MPI_Comm_free(&plain);
    MPI_Comm_free(&forced);
    int zeros[64] = {0};
#ifndef OPEN_MPI
    /* A copy of the handle that was freed. In Open MPI it is a pointer to nowhere, which not even MPI can tell. */
    FAILS(optiq_alltoallv(NULL, zeros, zeros, MPI_CHAR, NULL, zeros, zeros, MPI_CHAR, freed), OPTIQ_STATUS_ARGUMENT,
          "the communicator is none");
    FAILS(optiq_comm_set_option(freed, "k", "1"), OPTIQ_STATUS_ARGUMENT, "the communicator is none");
#endif
    (void)freed;
    FAILS(optiq_alltoallv(NULL, zeros, zeros, MPI_CHAR, NULL, zeros, zeros, MPI_CHAR, forced),
          OPTIQ_STATUS_ARGUMENT, "MPI_COMM_NULL");

    /* For communicators that come later. */
    OK(optiq_set_option("algorithm", "multipath"));
    REQUIRE(strstr(served(MPI_COMM_WORLD), "paths by planner"));
    OK(optiq_set_option("algorithm", NULL));
    REQUIRE(strcmp(option("algorithm"), "auto") == 0);
    OK(optiq_finalize());
    FAILS(optiq_comm_set_option(MPI_COMM_WORLD, "k", "1"), OPTIQ_STATUS_NOT_INITIALIZED, "optiq_comm_set_option");
    return end();
}
