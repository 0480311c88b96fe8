//! Grids: meshes and tori of any dimension, and the arithmetic of coordinates on them.
//!
//! Vertices are numbered row-major, the last dimension fastest: on Blue Gene/Q the dimensions are A B C D E and E
//! is the fastest. In a dimension of length `L` that wraps, the offset between two positions is taken modulo `L`
//! and its shorter representative is travelled; at exactly `L / 2` both ways round are equally short (a *tie*).

use crate::error::NetError;
use crate::ids::NodeId;
use crate::limits::MAX_HOSTS;

/// How the vertices of a network lie in space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Geometry {
    /// All vertices are hosts and form a mesh or a torus.
    Grid(Grid),
    /// Any graph.
    General,
}

impl Geometry {
    /// The grid, if there is one.
    pub fn grid(&self) -> Option<&Grid> {
        match self {
            Geometry::Grid(grid) => Some(grid),
            Geometry::General => None,
        }
    }
}

/// The shape of a mesh or torus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    dims: Vec<u32>,
    wrap: Vec<bool>,
    /// `strides[d]`: how far apart in number two vertices are that differ by one in dimension `d`.
    strides: Vec<u32>,
}

impl Grid {
    /// The most dimensions a grid may have: a hypercube of [`MAX_HOSTS`] has no more.
    pub const MAX_DIMENSIONS: usize = 22;

    /// A grid with the lengths `dims`, of which those flagged in `wrap` close to rings.
    ///
    /// # Errors
    /// [`NetError::Spec`] for no dimension, more than [`Grid::MAX_DIMENSIONS`], a length of 0, lists of different
    /// lengths, or more than [`MAX_HOSTS`] vertices.
    pub fn new(dims: Vec<u32>, wrap: Vec<bool>) -> Result<Self, NetError> {
        let bad = |what: String| Err(NetError::Spec(what));
        if dims.is_empty() || dims.len() > Self::MAX_DIMENSIONS {
            return bad(format!("a grid of {} dimensions; 1 to {} are expected", dims.len(), Self::MAX_DIMENSIONS));
        }
        if wrap.len() != dims.len() {
            return bad(format!("{} wrap flags for {} dimensions; one for each is expected", wrap.len(), dims.len()));
        }
        let mut strides = vec![1; dims.len()];
        let mut nodes = 1usize;
        for (d, &length) in dims.iter().enumerate().rev() {
            if length == 0 {
                return bad(format!("dimension {d} of the grid has length 0; at least 1 is expected"));
            }
            strides[d] = nodes as u32;
            nodes = nodes.saturating_mul(length as usize);
            if nodes > MAX_HOSTS {
                return bad(format!("the grid has more than {MAX_HOSTS} hosts, the most that is supported"));
            }
        }
        Ok(Grid { dims, wrap, strides })
    }

    /// The lengths of the dimensions.
    pub fn dims(&self) -> &[u32] {
        &self.dims
    }

    /// Which dimensions close to rings.
    pub fn wrap(&self) -> &[bool] {
        &self.wrap
    }

    /// Number of vertices.
    pub fn nodes(&self) -> usize {
        self.dims.iter().map(|&d| d as usize).product()
    }

    /// Position of `node` in dimension `d`.
    pub fn coordinate(&self, node: NodeId, d: usize) -> u32 {
        node.0 / self.strides[d] % self.dims[d]
    }

    /// The coordinates of `node`, one for each dimension.
    pub fn coordinates(&self, node: NodeId) -> Vec<u32> {
        let mut coordinates = vec![0; self.dims.len()];
        self.coordinates_into(node, &mut coordinates);
        coordinates
    }

    /// Writes the coordinates of `node` to `out`, which has one place for each dimension.
    pub fn coordinates_into(&self, node: NodeId, out: &mut [u32]) {
        for (d, place) in out.iter_mut().enumerate().take(self.dims.len()) {
            *place = self.coordinate(node, d);
        }
    }

    /// The vertex at `coordinates`, if they are as many as the dimensions and each is within its length.
    pub fn node_at(&self, coordinates: &[u32]) -> Option<NodeId> {
        if coordinates.len() != self.dims.len() || coordinates.iter().zip(&self.dims).any(|(c, d)| c >= d) {
            return None;
        }
        Some(NodeId(coordinates.iter().zip(&self.strides).map(|(c, s)| c * s).sum()))
    }

    /// The signed number of steps from position `from` to position `to` of dimension `d` the shorter way; a tie
    /// counts as positive.
    pub fn offset_along(&self, d: usize, from: u32, to: u32) -> i64 {
        let (length, offset) = (i64::from(self.dims[d]), i64::from(to) - i64::from(from));
        if !self.wrap[d] {
            offset
        } else if 2 * offset > length {
            offset - length
        } else if 2 * offset <= -length {
            offset + length
        } else {
            offset
        }
    }

    /// The signed minimal offset from `a` to `b` in dimension `d`; a tie counts as positive.
    pub fn offset(&self, a: NodeId, b: NodeId, d: usize) -> i64 {
        self.offset_along(d, self.coordinate(a, d), self.coordinate(b, d))
    }

    /// The signed minimal offsets from `a` to `b`, one for each dimension; a tie counts as positive.
    pub fn offsets(&self, a: NodeId, b: NodeId) -> impl Iterator<Item = i64> + '_ {
        (0..self.dims.len()).map(move |d| self.offset(a, b, d))
    }

    /// Whether an offset of `offset` in dimension `d` is exactly half the ring, so that both ways are equally short.
    pub fn is_tie(&self, d: usize, offset: i64) -> bool {
        self.wrap[d] && offset != 0 && 2 * offset.unsigned_abs() == u64::from(self.dims[d])
    }

    /// The vertex one step from `node` in dimension `d`, towards higher coordinates if `positive`; none beyond the
    /// edge of a mesh, or if the step would end where it began.
    pub fn step(&self, node: NodeId, d: usize, positive: bool) -> Option<NodeId> {
        let (at, length, stride) = (self.coordinate(node, d), self.dims[d], self.strides[d]);
        let to = match (positive, at) {
            _ if length == 1 => return None,
            (true, c) if c + 1 < length => c + 1,
            (false, c) if c > 0 => c - 1,
            _ if !self.wrap[d] => return None,
            (true, _) => 0,
            (false, _) => length - 1,
        };
        Some(NodeId(node.0 - at * stride + to * stride))
    }

    /// Number of hops between `a` and `b`.
    pub fn distance(&self, a: NodeId, b: NodeId) -> u32 {
        self.offsets(a, b).map(|o| o.unsigned_abs() as u32).sum()
    }

    /// The distance of every vertex to `dst`: sums of the distances along each dimension, built up dimension by
    /// dimension, so that a vertex costs about one addition and no division.
    pub(crate) fn distances_to(&self, dst: NodeId) -> Vec<u32> {
        let mut distances = Vec::with_capacity(self.nodes());
        distances.push(0);
        // From the last dimension to the first, as the last one counts fastest: the block of all vertices that agree
        // in the dimensions before `d` is repeated for each position in `d`. Position 0 comes last, in place.
        for (d, &length) in self.dims.iter().enumerate().rev() {
            let along = |at| self.offset_along(d, at, self.coordinate(dst, d)).unsigned_abs() as u32;
            let block = distances.len();
            for at in 1..length {
                let further = along(at);
                distances.extend_from_within(..block);
                let copy = distances.len() - block;
                distances[copy..].iter_mut().for_each(|hops| *hops += further);
            }
            let further = along(0);
            distances[..block].iter_mut().for_each(|hops| *hops += further);
        }
        distances
    }

    /// The largest distance between two vertices.
    pub fn diameter(&self) -> u32 {
        self.dims.iter().zip(&self.wrap).map(|(&length, &wrap)| if wrap { length / 2 } else { length - 1 }).sum()
    }

    /// How many physical links join neighbours in dimension `d`, in each direction: two in a ring of two, where the
    /// step up and the step down lead to the same vertex.
    pub fn lanes(&self, d: usize) -> u32 {
        if self.wrap[d] && self.dims[d] == 2 { 2 } else { 1 }
    }

    /// Number of directed bundles ([`crate::ids::Link`]s) that the grid has.
    pub fn bundles(&self) -> usize {
        let nodes = self.nodes();
        let along = |(&length, &wrap): (&u32, &bool)| match (length as usize, wrap) {
            (1, _) => 0,
            (2, _) => nodes,
            (_, true) => 2 * nodes,
            (n, false) => 2 * (nodes / n * (n - 1)),
        };
        self.dims.iter().zip(&self.wrap).map(along).sum()
    }
}
