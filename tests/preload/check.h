/* What is required of a rank, and how many times it was not so. */
#include <stdio.h>

static int errors = 0, rank, size;

#define REQUIRE(what, ...)                                                                                             \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            errors++;                                                                                                  \
            printf("rank %d, line %d: ", rank, __LINE__);                                                              \
            printf(__VA_ARGS__);                                                                                       \
            printf("\n");                                                                                              \
        }                                                                                                              \
    } while (0)
