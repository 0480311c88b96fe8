//! What can be wrong with a network.

use thiserror::Error;

/// Why a network could not be made or used. Every message is one sentence that names the place, what was found
/// and what was expected.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum NetError {
    /// The network's parts do not fit together.
    #[error("{0}")]
    Invalid(String),
    /// A topology specification or file that cannot be read.
    #[error("{0}")]
    Spec(String),
    /// A network of more vertices than [`crate::network::Network::from_spec_within`] may build.
    #[error("topology \"{spec}\" has {vertices} hosts and switches; at most {most} are permitted here")]
    TooLarge {
        /// The specification, cut to a length that fits into a message.
        spec: String,
        /// Hosts and switches that the network would have.
        vertices: usize,
        /// The most that are permitted.
        most: usize,
    },
    /// A quantity (bytes, bytes per second) that cannot be read.
    #[error("{0}")]
    Unit(String),
    /// A routing that does not fit the network.
    #[error("{0}")]
    Routing(String),
    /// A file of background load that cannot be read.
    #[error("background file {path}: {problem}")]
    BackgroundFile {
        /// The file.
        path: String,
        /// The operating system's words, or what was found.
        problem: String,
    },
    /// A line of a file of background load that is wrong, or leaves nothing of a link.
    #[error("{path}:{line}: {problem}")]
    Background {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What was found and what was expected, with the link's name.
        problem: String,
    },
    /// A name, index or coordinates that no vertex has.
    #[error("\"{text}\" is not in the network; {expected} is expected")]
    Unknown {
        /// What was asked for.
        text: String,
        /// What would be valid.
        expected: String,
    },
    /// No route between two vertices.
    #[error("there is no route from {from} to {to}")]
    Unreachable {
        /// Name of the vertex where the route starts.
        from: String,
        /// Name of the vertex where it should end.
        to: String,
    },
    /// More bytes on a link than 64 bits can count.
    #[error("the bytes on link {from} -> {to} add up to more than 2^64 - 1")]
    Overflow {
        /// Name of the vertex that sends.
        from: String,
        /// Name of the vertex that receives.
        to: String,
    },
}
