/* KaMPIng's grid and sparse exchanges in the terms of MPI_Alltoallv, of bytes. */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "kamping/communicator.hpp"
#include "kamping/plugin/alltoall_grid.hpp"
#include "kamping/plugin/alltoall_sparse.hpp"

#define EXCHANGE from, sent, places, into, received, offsets, comm

typedef kamping::Communicator<std::vector, kamping::plugin::GridCommunicator, kamping::plugin::SparseAlltoall> Kamping;

/* One communicator, as in the measurement; of another one the old record, of some bytes, is left. */
struct Known {
    Kamping comm;
    decltype(comm.make_grid_communicator()) grid;
    explicit Known(MPI_Comm raw) : comm(raw), grid(comm.make_grid_communicator()) {}
};

static Known &known_comm(MPI_Comm comm) {
    static Known *known;
    static MPI_Comm of = MPI_COMM_NULL;
    if (of != comm) {
        known = new Known(comm);
        of = comm;
    }
    return *known;
}

/* Every element travels with its source and destination: the larger the elements, the less that costs. */
typedef uint64_t Word;

static int grid(const void *from, const int *sent, const int *places, void *into, const int *received, const int *offsets,
                MPI_Comm comm) {
    Known &known = known_comm(comm);
    int ranks = known.comm.size_signed(), word = sizeof(Word);
    std::vector<int> counts(ranks), starts(ranks), gets(ranks), at(ranks);
    int all = 0, room = 0;
    for (int r = 0; r < ranks; r++) {
        if (sent[r] % word || places[r] % word || received[r] % word || offsets[r] % word) {
            fprintf(stderr, "KaMPIng: blocks that are multiples of %d bytes are expected\n", word);
            MPI_Abort(comm, 1);
        }
        counts[r] = sent[r] / word;
        starts[r] = places[r] / word;
        gets[r] = received[r] / word;
        at[r] = offsets[r] / word;
        all = std::max(all, counts[r] > 0 ? starts[r] + counts[r] : 0);
        room = std::max(room, gets[r] > 0 ? at[r] + gets[r] : 0);
    }
    kamping::Span<const Word> send((const Word *)from, all);
    kamping::Span<Word> receive((Word *)into, room);
    known.grid.alltoallv(kamping::send_buf(send), kamping::send_counts(counts), kamping::send_displs(starts),
                         kamping::recv_counts(gets), kamping::recv_displs(at), kamping::recv_buf(receive));
    return MPI_SUCCESS;
}

static int sparse(const void *from, const int *sent, const int *places, void *into, const int *received, const int *offsets,
                  MPI_Comm comm) {
    Kamping &known = known_comm(comm).comm;
    typedef kamping::Span<const unsigned char> Message;
    std::vector<std::pair<int, Message>> messages;
    for (int r = 0; r < known.size_signed(); r++)
        if (sent[r] > 0)
            messages.emplace_back(r, Message((const unsigned char *)from + places[r], sent[r]));
    using namespace kamping::plugin::sparse_alltoall;
    known.alltoallv_sparse(sparse_send_buf(messages), on_message([&](auto &probed) {
                               int r = probed.source_signed();
                               kamping::Span<unsigned char> block((unsigned char *)into + offsets[r], received[r]);
                               probed.recv(kamping::recv_buf(block));
                           }));
    return MPI_SUCCESS;
}
