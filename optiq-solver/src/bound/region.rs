//! Boxes on grids, and coordinates as tables.

use optiq_net::{Grid, Link, Network};

/// An interval of coordinates: where it begins, and its length; on rings it may go on at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub start: u32,
    pub length: u32,
}

/// A box: an interval in each dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Region(pub Vec<Interval>);

impl Region {
    /// The whole grid.
    pub fn full(grid: &Grid) -> Self {
        Region(grid.dims().iter().map(|&length| Interval { start: 0, length }).collect())
    }

    /// Per vertex, whether it is inside in all dimensions but `except`.
    pub fn inside(&self, grid: &Grid, coordinates: &[Vec<u32>], except: Option<usize>) -> Vec<bool> {
        let mut inside = vec![true; grid.nodes()];
        for (d, interval) in self.0.iter().enumerate() {
            let length = grid.dims()[d];
            if Some(d) == except || interval.length == length {
                continue;
            }
            let holds: Vec<bool> =
                (0..length).map(|c| (c + length - interval.start) % length < interval.length).collect();
            inside.iter_mut().zip(&coordinates[d]).for_each(|(inside, &c)| *inside &= holds[c as usize]);
        }
        inside
    }

    /// Per vertex, whether it is inside.
    pub fn members(&self, grid: &Grid) -> Vec<bool> {
        self.inside(grid, &coordinates(grid), None)
    }
}

/// `coordinates[d][v]`; empty for dimensions of length 1.
pub(super) fn coordinates(grid: &Grid) -> Vec<Vec<u32>> {
    let nodes = grid.nodes();
    let mut stride = nodes;
    let of = |&length: &u32| {
        stride /= length as usize;
        if length == 1 {
            return Vec::new();
        }
        let mut of = Vec::with_capacity(nodes);
        while of.len() < nodes {
            (0..length).for_each(|c| of.extend(std::iter::repeat_n(c, stride)));
        }
        of
    };
    grid.dims().iter().map(of).collect()
}

/// Of each link, twice its dimension, plus 1 if it leads upwards. In a ring of two the links of a bundle lead both
/// ways; they are taken for links within `0..2` of a line, which have the same ends.
pub(super) fn directions(net: &Network, grid: &Grid) -> Vec<u8> {
    // A step in dimension d changes a number by less than the stride of the dimension before it.
    let mut strides = vec![1u32; grid.dims().len()];
    for d in (1..strides.len()).rev() {
        strides[d - 1] = strides[d] * grid.dims()[d];
    }
    let of = |link: &Link| {
        let far = link.from.0.abs_diff(link.to.0);
        let d = (0..strides.len()).find(|&d| strides[d] <= far && grid.dims()[d] > 1).unwrap_or(0);
        let higher = link.to > link.from;
        // From one end of a ring to the other the number changes the other way.
        let up = if far == strides[d] { higher } else { !higher };
        2 * d as u8 + u8::from(up)
    };
    net.links().iter().map(of).collect()
}
