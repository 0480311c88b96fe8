//! What a user may choose about how exchanges are carried out: the words that options take, as enums.

use std::fmt;
use std::str::FromStr;

/// Whether to use planned paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Where it is predicted to pay.
    Auto,
    /// Always.
    Multipath,
    /// Never.
    Mpi,
}

impl FromStr for Algorithm {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "auto" => Ok(Algorithm::Auto),
            "multipath" => Ok(Algorithm::Multipath),
            "mpi" => Ok(Algorithm::Mpi),
            _ => Err(()),
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Algorithm::Auto => "auto",
            Algorithm::Multipath => "multipath",
            Algorithm::Mpi => "mpi",
        })
    }
}

/// At which hosts chunks are stored and forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LegsChoice {
    /// As the cost model says ([`crate::relays::RelayPolicy`]).
    Auto,
    /// At the forwarders of the plan: in between they take the fabric's own route.
    Planned,
    /// At every host on the path that has ranks.
    Hops,
}

impl FromStr for LegsChoice {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "auto" => Ok(LegsChoice::Auto),
            "planned" => Ok(LegsChoice::Planned),
            "hops" => Ok(LegsChoice::Hops),
            _ => Err(()),
        }
    }
}

impl fmt::Display for LegsChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LegsChoice::Auto => "auto",
            LegsChoice::Planned => "planned",
            LegsChoice::Hops => "hops",
        })
    }
}

/// Which MPI calls carry chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportChoice {
    /// The one that is faster as far as known.
    Auto,
    /// `MPI_Issend` and `MPI_Irecv`.
    TwoSided,
    /// `MPI_Put`.
    OneSided,
}

impl FromStr for TransportChoice {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "auto" => Ok(TransportChoice::Auto),
            "two-sided" => Ok(TransportChoice::TwoSided),
            "one-sided" => Ok(TransportChoice::OneSided),
            _ => Err(()),
        }
    }
}

impl fmt::Display for TransportChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TransportChoice::Auto => "auto",
            TransportChoice::TwoSided => "two-sided",
            TransportChoice::OneSided => "one-sided",
        })
    }
}
