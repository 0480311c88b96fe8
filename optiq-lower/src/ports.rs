//! What demands ask of the ports of hosts, and which demands are alike.

use crate::constants::EVEN_PART;
use optiq_net::NodeId;
use optiq_solver::Demand;
use std::collections::BTreeMap;

/// The bytes that each host sends and receives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortLoads {
    /// By sending host.
    pub sending: BTreeMap<NodeId, u64>,
    /// By receiving host.
    pub receiving: BTreeMap<NodeId, u64>,
    /// Demands.
    pub demands: usize,
}

impl PortLoads {
    /// Those of these demands.
    pub fn new(demands: &[Demand]) -> Self {
        let mut loads = Self { demands: demands.len(), ..Self::default() };
        for d in demands {
            for load in [loads.sending.entry(d.src).or_default(), loads.receiving.entry(d.dst).or_default()] {
                *load = load.saturating_add(d.bytes);
            }
        }
        loads
    }

    /// All bytes.
    pub fn bytes(&self) -> u64 {
        self.sending.values().fold(0, |sum, &load| sum.saturating_add(load))
    }

    /// The bytes of the busiest port: no order of sending takes less than their time.
    pub fn busiest(&self) -> u64 {
        self.sending.values().chain(self.receiving.values()).copied().max().unwrap_or(0)
    }

    /// The ports' mean load as a part of the busiest one's; 1 where all have the same, or none has any.
    pub fn balance(&self) -> f64 {
        let ports = self.sending.len() + self.receiving.len();
        let busiest = self.busiest() as f64 * ports as f64;
        if busiest > 0.0 { 2.0 * self.bytes() as f64 / busiest } else { 1.0 }
    }

    /// The kind of these demands.
    pub fn kind(&self) -> DemandKind {
        let per = |ports: usize| (self.demands as u64).div_ceil((ports as u64).max(1));
        let mean = self.bytes() / (self.demands as u64).max(1);
        DemandKind {
            size: mean.max(1).ilog2() / 2,
            fan_out: per(self.sending.len()).max(1).ilog2(),
            fan_in: per(self.receiving.len()).max(1).ilog2(),
            imbalance: (1.0 / self.balance()).log2() as u32,
            is_even: self.balance() >= EVEN_PART,
        }
    }
}

/// Demands that an MPI library serves about equally well, or badly: what is measured for one is taken for all of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DemandKind {
    /// Mean bytes of a demand, as a logarithm to base 4.
    pub size: u32,
    /// Demands for each sending host, as a logarithm to base 2.
    pub fan_out: u32,
    /// Demands for each receiving host, likewise.
    pub fan_in: u32,
    /// Load of the busiest port over the mean, likewise.
    pub imbalance: u32,
    /// Whether all ports have about the same load.
    pub is_even: bool,
}

impl DemandKind {
    /// The lower ends of the ranges that make up the kind: bytes, fan-out, fan-in, imbalance.
    pub fn lower_ends(&self) -> [u64; 4] {
        let Self { size, fan_out, fan_in, imbalance, .. } = *self;
        [2 * size, fan_out, fan_in, imbalance].map(|exponent| 1 << exponent.min(63))
    }

    /// The kind with these [`DemandKind::lower_ends`] and this [`DemandKind::is_even`], if there is one.
    pub fn of_lower_ends(ends: [u64; 4], is_even: bool) -> Option<Self> {
        let [size, fan_out, fan_in, imbalance] = ends.map(|end| end.checked_ilog2().unwrap_or(0));
        let kind = Self { size: size / 2, fan_out, fan_in, imbalance, is_even };
        let exists = kind.lower_ends() == ends && !(is_even && imbalance > 0);
        exists.then_some(kind)
    }
}

impl std::fmt::Display for DemandKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [bytes, fan_out, fan_in, imbalance] = self.lower_ends();
        write!(
            f,
            "{bytes} to {} bytes for each pair of hosts, fan-out from {fan_out}, fan-in from {fan_in}, busiest port from \
             {imbalance} times the mean{}",
            bytes.saturating_mul(4),
            if self.is_even { ", ports even" } else { "" }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(src: u32, dst: u32, bytes: u64) -> Demand {
        Demand::new(NodeId(src), NodeId(dst), bytes)
    }

    #[test]
    fn three_senders_and_one_receiver_by_hand() {
        let loads = PortLoads::new(&[demand(0, 3, 100), demand(1, 3, 100), demand(2, 3, 100)]);
        // Four ports with 100, 100, 100 and 300 bytes: the mean is 150, half of the busiest.
        assert_eq!((loads.bytes(), loads.busiest(), loads.balance()), (300, 300, 0.5));
        assert_eq!(loads.kind(), DemandKind { size: 3, fan_out: 0, fan_in: 1, imbalance: 1, is_even: false });
        assert!(loads.kind().to_string().starts_with("64 to 256 bytes for each pair"), "{}", loads.kind());
        let none = PortLoads::new(&[]);
        assert_eq!((none.balance(), none.kind().size), (1.0, 0));
    }

    #[test]
    fn sizes_of_about_one_magnitude_are_of_one_kind() {
        let kind = |bytes| PortLoads::new(&[demand(0, 1, bytes), demand(1, 0, bytes)]).kind();
        assert_eq!(kind(70_000), kind(200_000));
        assert_ne!(kind(70_000), kind(300_000));
    }

    /// By hand: where one of two ranks sends 1 % more, the four ports have 0.995 of the busiest one's bytes on average; where 4 %, 0.98.
    #[test]
    fn even_and_uneven_demands_are_of_two_kinds() {
        let kind = |bytes| PortLoads::new(&[demand(0, 1, 100_000), demand(1, 0, bytes)]).kind();
        assert_eq!(kind(100_000), kind(101_000));
        assert_eq!([101_000, 104_000].map(|bytes| kind(bytes).is_even), [true, false]);
        assert_eq!(DemandKind { is_even: true, ..kind(104_000) }, kind(100_000), "nothing else differs");
        let of_lower_ends = |imbalance, is_even| DemandKind::of_lower_ends([64, 1, 1, imbalance], is_even).is_some();
        assert_eq!([of_lower_ends(1, true), of_lower_ends(2, false), of_lower_ends(2, true)], [true, true, false]);
    }
}
