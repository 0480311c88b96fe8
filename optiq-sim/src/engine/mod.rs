//! A parallel discrete-event simulation: events, threads, time windows, packets. It knows neither routers nor hosts.

pub(crate) mod barrier;
pub(crate) mod limits;
pub(crate) mod observer;
pub(crate) mod packet;
pub(crate) mod persistence;
pub(crate) mod prefetch;
pub(crate) mod queue;
pub(crate) mod statistics;
pub(crate) mod store;
pub(crate) mod watch;
pub(crate) mod windows;
