/* MPI_Alltoallv by somebody else's algorithm: preloaded, so that `optiq bench` measures it as MPI. `cargo xtask results --only race`
 * compiles it with the sources of a checkout.
 *
 * ADVANCE=METHOD: github mpi-advance/locality_aware, a value of its enum AlltoallvMethod.
 * THROTTLED=FUNCTION: github YuriOku/MPI_Alltoallv_3stage, one of its functions.
 * TUNA=CALL: github KokoFan16/rbruck_alltoallv, a call of one of its functions, whose last arguments are EXCHANGE; RANKS is how many ranks a
 * node has. As C++.
 * BRUCK=CALL: github harp-lab/bruck-alltoallv, likewise.
 * KAMPING=CALL: github kamping-site/kamping, likewise, of `kamping_rival.hpp`. */
#include <mpi.h>

#if defined(ADVANCE)
#include "locality_aware.h"

static int serve(const void *from, const int *sent, const int *places, MPI_Datatype sends, void *into, const int *received,
                 const int *offsets, MPI_Datatype receives, MPI_Comm comm) {
    /* One communicator, as in the measurement; of another one the old record, of some bytes, is left. */
    static MPIL_Comm *known;
    static MPI_Comm of = MPI_COMM_NULL;
    if (of != comm) {
        int code = MPIL_Comm_init(&known, comm);
        if (code != MPI_SUCCESS)
            return code;
        of = comm;
        MPIL_Set_alltoallv_algorithm(ADVANCE);
    }
    return MPIL_Alltoallv(from, sent, places, sends, into, received, offsets, receives, known);
}
#elif defined(THROTTLED)
#include "MPI_Alltoallv_custom.h"

static int serve(const void *from, const int *sent, const int *places, MPI_Datatype sends, void *into, const int *received,
                 const int *offsets, MPI_Datatype receives, MPI_Comm comm) {
    return THROTTLED(from, sent, places, sends, into, received, offsets, receives, comm);
}
#elif defined(BRUCK)
#include "non_uniform_bruck.h"

#define EXCHANGE (char *)from, (int *)sent, (int *)places, sends, (char *)into, (int *)received, (int *)offsets, receives, comm

static int serve(const void *from, const int *sent, const int *places, MPI_Datatype sends, void *into, const int *received,
                 const int *offsets, MPI_Datatype receives, MPI_Comm comm) {
    BRUCK;
    return MPI_SUCCESS;
}
#elif defined(KAMPING)
#include "kamping_rival.hpp"

static int serve(const void *from, const int *sent, const int *places, MPI_Datatype, void *into, const int *received,
                 const int *offsets, MPI_Datatype, MPI_Comm comm) {
    return KAMPING;
}
#elif defined(TUNA)
#include "rbruckv.h"

#define EXCHANGE (char *)from, (int *)sent, (int *)places, sends, (char *)into, (int *)received, (int *)offsets, receives, comm
#define RANKS ranks

static int serve(const void *from, const int *sent, const int *places, MPI_Datatype sends, void *into, const int *received,
                 const int *offsets, MPI_Datatype receives, MPI_Comm comm) {
    static int ranks;
    if (ranks == 0) {
        MPI_Comm node;
        int code = MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
        if (code != MPI_SUCCESS)
            return code;
        MPI_Comm_size(node, &ranks);
        MPI_Comm_free(&node);
    }
    return TUNA;
}
#else
#error "ADVANCE, THROTTLED, BRUCK, KAMPING or TUNA is expected"
#endif

int MPI_Alltoallv(const void *from, const int *sent, const int *places, MPI_Datatype sends, void *into, const int *received,
                  const int *offsets, MPI_Datatype receives, MPI_Comm comm) {
    /* A rival may leave a call to MPI_Alltoallv. */
    static int serving;
    if (serving || from == MPI_IN_PLACE)
        return PMPI_Alltoallv(from, sent, places, sends, into, received, offsets, receives, comm);
    serving = 1;
    int code = serve(from, sent, places, sends, into, received, offsets, receives, comm);
    serving = 0;
    return code;
}
