//! What a user may choose about how exchanges are carried out: the words that options take, as enums.

use std::fmt;
use std::str::FromStr;

/// Reads and writes an enum by the words of its variants.
macro_rules! words {
    ($type:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        impl FromStr for $type {
            type Err = ();
            fn from_str(text: &str) -> Result<Self, ()> {
                match text {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(()),
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$variant => $word,)+
                })
            }
        }
    };
}

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

/// Who sends to whom when, where messages go directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectOrder {
    /// By the network's rate and the demands' sizes and balance ([`crate::timetable::order`]).
    Auto,
    /// In step with a timetable in which no port serves two others at one time ([`crate::timetable`]).
    Timetable,
    /// All at once, with bytes in flight in proportion to what is to be sent.
    Proportion,
}

words!(Algorithm { Auto = "auto", Multipath = "multipath", Mpi = "mpi" });
words!(LegsChoice { Auto = "auto", Planned = "planned", Hops = "hops" });
words!(TransportChoice { Auto = "auto", TwoSided = "two-sided", OneSided = "one-sided" });
words!(DirectOrder { Auto = "auto", Timetable = "timetable", Proportion = "proportion" });
