//! The 3-D grid of a stencil's ranks.

/// Three factors of `ranks` that differ least: of all `a >= b >= c` with `a b c = ranks`, those with the least sum.
pub fn dims(ranks: u32) -> [u32; 3] {
    let mut best = [ranks, 1, 1];
    let sum = |d: [u32; 3]| d.iter().map(|&l| u64::from(l)).sum::<u64>();
    let up_to = |c: &u32| u64::from(*c).pow(3) <= u64::from(ranks);
    for c in (1..).take_while(up_to).filter(|&c| ranks.is_multiple_of(c)) {
        let rest = ranks / c;
        for b in (c..).take_while(|&b| u64::from(b).pow(2) <= u64::from(rest)).filter(|&b| rest.is_multiple_of(b)) {
            let found = [rest / b, b, c];
            if sum(found) < sum(best) {
                best = found;
            }
        }
    }
    best
}

/// The neighbours of a rank in a grid that closes to rings, each once: two in a dimension of length 3 or more, one where
/// the length is 2, none where it is 1. The last coordinate changes fastest.
pub fn neighbours(rank: u32, dims: [u32; 3]) -> Vec<u32> {
    let mut found = Vec::with_capacity(6);
    let mut stride = 1;
    for length in dims.into_iter().rev() {
        let at = rank / stride % length;
        let ends = [(at + length - 1) % length, (at + 1) % length];
        for (i, &to) in ends.iter().enumerate() {
            if to != at && (i == 0 || to != ends[0]) {
                found.push(rank - at * stride + to * stride);
            }
        }
        stride *= length;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_differ_least() {
        for (ranks, expected) in
            [(1, [1, 1, 1]), (8, [2, 2, 2]), (12, [3, 2, 2]), (13, [13, 1, 1]), (2304, [16, 12, 12])]
        {
            assert_eq!(dims(ranks), expected);
        }
        let mut last = dims(u32::MAX);
        last.sort_unstable();
        assert_eq!(last.iter().map(|&l| u64::from(l)).product::<u64>(), u64::from(u32::MAX));
    }

    #[test]
    fn neighbours_are_mutual() {
        assert_eq!(neighbours(0, [2, 2, 2]), [1, 2, 4]);
        assert_eq!(neighbours(5, [1, 3, 2]), [4, 3, 1]);
        assert_eq!(neighbours(0, [1, 1, 1]), [0; 0]);
        assert_eq!(neighbours(13, [3, 3, 3]), [12, 14, 10, 16, 4, 22]);
        for d in [[4, 3, 2], [2, 2, 2], [5, 1, 3]] {
            for rank in 0..d.iter().product() {
                for to in neighbours(rank, d) {
                    assert!(to != rank && neighbours(to, d).iter().filter(|&&n| n == rank).count() == 1, "{rank} {to}");
                }
            }
        }
    }
}
