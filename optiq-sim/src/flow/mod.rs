//! A second, faster model: messages as flows that share links fairly, without packets, buffers or virtual channels.
//!
//! # The mathematics
//!
//! Each flow `f` takes a fixed set of links and has a rate `x(f)`, perhaps with a cap. Rates are *max-min fair*: they fit,
//! `sum of x(f) over the flows on l <= capacity(l)`, and no rate can grow unless one that is not larger shrinks. There is
//! exactly one such allocation, and it is the one in which every flow is at its cap or has a *bottleneck*: a link that is
//! full and on which no other flow is faster. Progressive filling finds it (D. Bertsekas and R. Gallager, "Data Networks",
//! 2nd edition, Prentice Hall 1992, section 6.5.2): all rates grow alike; where a link is full its flows stop, where a cap
//! is reached that flow does; the others go on. The next link that fills up is the one with the smallest
//! `(capacity left) / (flows that still grow)`, which never becomes smaller, so that a heap with late corrections does.
//!
//! Between two events (a flow begins or ends) rates are constant. Only what an event can change is computed again. Filling
//! goes the same way with and without a flow up to the level at which that flow stops, so **flows slower than it keep their
//! rates**; of the others only those change that are connected to it through links that they share. A flow that ends had
//! its level; one that begins will be at least as fast as `capacity / flows` on the worst of its links, or its cap.
//!
//! This is what SimGrid's LV08 model does without its correction factors (P. Velho and A. Legrand, "Accuracy Study and
//! Improvement of Network Simulation in the SimGrid Framework", SIMUTools 2009): a latency, then bytes at a fair rate.
//! Parallel links of one pair are one link with the summed capacity, as everywhere in optiq-net.
//!
//! An event costs as many steps as the flows concerned have links, and a logarithm: where all flows are connected the whole
//! run is quadratic in their number. 30,000 flows on a torus of 512 hosts take about a second, 100,000 some minutes.
//!
//! Rates and times are floating-point numbers; everything happens in an order of times and numbers of flows, so the same
//! input gives the same bits.

pub mod exchange;
pub mod flows;
pub mod run;
mod sharing;
