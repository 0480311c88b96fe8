//! Routers: the fabric that they form, the routes through it, and the state of their channels, credits and pipelines.

pub(crate) mod adaptive;
pub(crate) mod channels;
pub(crate) mod credits;
pub(crate) mod fabric;
pub(crate) mod output_queues;
pub(crate) mod pipeline;
pub(crate) mod policy;
pub(crate) mod route_cache;
pub(crate) mod routes;
