//! What a user may choose about how exchanges are carried out: the words that options take, as enums.

use optiq_net::units::parse_bytes;
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
    /// `MPI_Rget`, by the receiver.
    Pull,
}

/// Who sends to whom when, where messages go directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectOrder {
    /// By the network's rate and the demands' sizes and balance ([`crate::timetable::order`]).
    Auto,
    /// In step with a timetable in which no port serves two others at one time ([`crate::timetable`]).
    Timetable,
    /// By a timetable of shifts: every host sends to the next one, then to the one after it.
    Shifts,
    /// By a timetable in which host `s` sends to `s XOR 1`, then to `s XOR 2`: pairs of hosts exchange with each other.
    Xor,
    /// By a timetable that ends at its bound: the matrix of demands as a sum of permutations ([`crate::timetable::Timetable::by_stages`]).
    Stages,
    /// When receivers grant it ([`optiq_transport::ScheduleOptions::grants`]).
    Credits,
    /// All at once, with bytes in flight in proportion to what is to be sent.
    Proportion,
}

/// Whether messages of the ranks of a host are combined, in calls that ranks do not agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CombineChoice {
    /// Where that is predicted to pay, and measured to be faster.
    Auto,
    /// Never.
    No,
    /// Wherever it can be had.
    Always,
}

/// How messages of the ranks of a host are combined ([`crate::combining`]); what is not given is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Combine {
    /// Whether.
    pub choice: CombineChoice,
    /// The radix, from 2 on.
    pub radix: Option<u32>,
    /// Ranks of a host that carry messages, from 1 on.
    pub carriers: Option<u32>,
    /// The largest message that is combined with others, in bytes.
    pub message_bytes: Option<u64>,
}

impl Default for Combine {
    fn default() -> Self {
        Self { choice: CombineChoice::Auto, radix: None, carriers: None, message_bytes: None }
    }
}

/// As `always,radix=4,carriers=2,message=1KiB`.
impl FromStr for Combine {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split(',');
        let choice = parts.next().unwrap_or_default().trim().parse()?;
        let mut found = Self { choice, ..Self::default() };
        for part in parts {
            let (name, value) = part.split_once('=').ok_or(())?;
            let number = |least: u32| value.trim().parse().ok().filter(|&n| n >= least).ok_or(());
            match name.trim() {
                "radix" => found.radix = Some(number(2)?),
                "carriers" => found.carriers = Some(number(1)?),
                "message" => found.message_bytes = Some(parse_bytes(value).ok().filter(|&n| n > 0).ok_or(())?),
                _ => return Err(()),
            }
        }
        Ok(found)
    }
}

words!(CombineChoice { Auto = "auto", No = "no", Always = "always" });
words!(Algorithm { Auto = "auto", Multipath = "multipath", Mpi = "mpi" });
words!(LegsChoice { Auto = "auto", Planned = "planned", Hops = "hops" });
words!(TransportChoice { Auto = "auto", TwoSided = "two-sided", OneSided = "one-sided", Pull = "pull" });
words!(DirectOrder {
    Auto = "auto",
    Timetable = "timetable",
    Shifts = "shifts",
    Xor = "xor",
    Stages = "stages",
    Credits = "credits",
    Proportion = "proportion",
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_messages_are_combined() {
        let read = |text: &str| text.parse::<Combine>();
        assert_eq!(read("auto"), Ok(Combine::default()));
        let all =
            Combine { choice: CombineChoice::Always, radix: Some(4), carriers: Some(2), message_bytes: Some(1024) };
        assert_eq!(read("always,radix=4, carriers=2,message=1KiB"), Ok(all));
        for bad in ["", "yes", "auto,", "no,radix", "auto,radix=1", "auto,carriers=0", "auto,message=0", "auto,rank=2"]
        {
            assert_eq!(read(bad), Err(()), "{bad}");
        }
    }
}
