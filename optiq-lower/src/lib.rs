//! From a plan between hosts to paths between ranks, without MPI: placement, lowering, packing, relays, the cost model, the
//! decision between planned paths and plain MPI, and transfer lists.
