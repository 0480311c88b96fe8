//! Any other network: rows by distance from one end, ordered so that few links cross.
//!
//! A connected part is laid out by the four steps of K. Sugiyama, S. Tagawa and M. Toda (Methods for visual understanding of hierarchical
//! system structures, 1981), without the third: rows, then orders within rows, then places. The *rows* are the distances from a
//! vertex at one end, which is found by going from the first vertex to one that is farthest from it, and once more from there (N. Gibbs, W. Poole,
//! P. Stockmeyer: An algorithm for reducing the bandwidth and profile of a sparse matrix, 1976). So every link joins a row to
//! the next or lies within one. *Orders*: a fixed number of sweeps down and up, each of which sorts a row by the mean place of what its
//! vertices are joined to in the row before; equal means keep their order, which is that of names at first.
//!
//! Where there are switches, these are laid out, and hosts hang below theirs. A sweep looks at each link twice, so that all takes
//! `O(SWEEPS * (links + vertices log vertices))`.

use crate::svg::Point;
use optiq_net::structure::{Structure, parts};
use std::collections::VecDeque;

/// Down and up again. The order hardly changes after the first few.
const SWEEPS: usize = 12;

pub(super) fn places(structure: &Structure, rank: &[u32]) -> Vec<Point> {
    let has_switches = structure.rail.iter().any(Option::is_some);
    let is_placed: Vec<bool> = structure.rail.iter().map(|rail| rail.is_some() || !has_switches).collect();
    // Whom each is joined to, in the order of names, so that numbers do not matter.
    let by_name = |v: usize| {
        let mut all: Vec<u32> =
            structure.neighbours[v].iter().copied().filter(|&w| is_placed[v] && is_placed[w as usize]).collect();
        all.sort_unstable_by_key(|&w| rank[w as usize]);
        all
    };
    let neighbours: Vec<Vec<u32>> = (0..rank.len()).map(by_name).collect();
    let part = parts(&neighbours, |v| is_placed[v], |_, _| true);
    let mut order: Vec<usize> = (0..rank.len()).filter(|&v| is_placed[v]).collect();
    order.sort_by_key(|&v| rank[v]);
    let mut hosts: Vec<Vec<usize>> = vec![Vec::new(); rank.len()];
    if has_switches {
        hang(structure, rank, &mut hosts);
    }
    let most = hosts.iter().map(Vec::len).max().unwrap_or(0) as f64;
    let slot = (0.8 * most).max(1.0) + 0.8;
    let mut places = vec![(0.0, 0.0); rank.len()];
    let mut done = vec![false; rank.len()];
    let mut left = 0.0;
    for &first in &order {
        if std::mem::replace(&mut done[part[first] as usize], true) {
            continue;
        }
        let rows = sorted(rows(&neighbours, first, rank), &neighbours);
        let wide = rows.iter().map(Vec::len).max().unwrap_or(1) as f64;
        let step = (0.55 * wide * slot / rows.len() as f64).max(0.9 * slot).max(1.0);
        for (r, row) in rows.iter().enumerate() {
            let start = left + slot * (wide - row.len() as f64) / 2.0;
            for (i, &v) in row.iter().enumerate() {
                // A link within a row would hide behind the vertices between its ends if all were at one height.
                let raise = 0.12 * step * if i % 2 == 0 { -1.0 } else { 1.0 };
                places[v as usize] = (start + slot * (i as f64 + 0.5), step * r as f64 + raise);
            }
        }
        left += slot * wide + 2.0 * slot;
    }
    for (switch, below) in hosts.iter().enumerate() {
        let (x, y) = places[switch];
        for (i, &host) in below.iter().enumerate() {
            places[host] = (x + 0.8 * (i as f64 - (below.len() - 1) as f64 / 2.0), y + (0.3 * slot).max(0.6));
        }
    }
    places
}

/// Hosts at the first of their switches, in the order of names.
fn hang(structure: &Structure, rank: &[u32], hosts: &mut [Vec<usize>]) {
    for host in (0..rank.len()).filter(|&v| structure.rail[v].is_none()) {
        let switches = structure.neighbours[host].iter().filter(|&&w| structure.rail[w as usize].is_some());
        if let Some(&home) = switches.min_by_key(|&&w| rank[w as usize]) {
            hosts[home as usize].push(host);
        }
    }
    hosts.iter_mut().for_each(|all| all.sort_by_key(|&host| rank[host]));
}

/// Vertices by their distance from one end of the part that `first` is in; each row in the order of names.
fn rows(neighbours: &[Vec<u32>], first: usize, rank: &[u32]) -> Vec<Vec<u32>> {
    let mut rows = distances(neighbours, first, rank);
    for _ in 0..2 {
        let Some(&end) = rows.last().and_then(|row| row.first()) else { break };
        rows = distances(neighbours, end as usize, rank);
    }
    rows
}

fn distances(neighbours: &[Vec<u32>], from: usize, rank: &[u32]) -> Vec<Vec<u32>> {
    let mut seen = std::collections::BTreeSet::from([from as u32]);
    let mut next = VecDeque::from([(from as u32, 0)]);
    let mut rows: Vec<Vec<u32>> = Vec::new();
    while let Some((v, distance)) = next.pop_front() {
        if rows.len() == distance {
            rows.push(Vec::new());
        }
        rows[distance].push(v);
        next.extend(neighbours[v as usize].iter().filter(|&&w| seen.insert(w)).map(|&w| (w, distance + 1)));
    }
    rows.iter_mut().for_each(|row| row.sort_by_key(|&v| rank[v as usize]));
    rows
}

/// The rows in an order with fewer crossings.
fn sorted(mut rows: Vec<Vec<u32>>, neighbours: &[Vec<u32>]) -> Vec<Vec<u32>> {
    // Where each vertex is in its row, from 0 to 1, and which row that is.
    let mut at = vec![(usize::MAX, 0.0); neighbours.len()];
    let note = |row: &[u32], r: usize, at: &mut Vec<(usize, f64)>| {
        for (i, &v) in row.iter().enumerate() {
            at[v as usize] = (r, (i as f64 + 0.5) / row.len() as f64);
        }
    };
    rows.iter().enumerate().for_each(|(r, row)| note(row, r, &mut at));
    for sweep in 0..SWEEPS {
        let down = sweep % 2 == 0;
        for i in 1..rows.len() {
            let (r, before) = if down { (i, i - 1) } else { (rows.len() - 1 - i, rows.len() - i) };
            let mean = |v: u32| {
                let joined = neighbours[v as usize].iter().filter(|&&w| at[w as usize].0 == before);
                let (sum, count) = joined.fold((0.0, 0), |(sum, n), &w| (sum + at[w as usize].1, n + 1));
                let mean = if count > 0 { sum / f64::from(count) } else { at[v as usize].1 };
                // In millionths, so that means that differ by rounding only are equal.
                (1e6 * mean).round() as i64
            };
            let mut row = std::mem::take(&mut rows[r]);
            row.sort_by_cached_key(|&v| mean(v));
            note(&row, r, &mut at);
            rows[r] = row;
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Links of rows that follow each other that cross.
    fn crossings(rows: &[Vec<u32>], neighbours: &[Vec<u32>]) -> usize {
        let mut crossings = 0;
        for pair in rows.windows(2) {
            let place = |v: u32| pair[1].iter().position(|&w| w == v);
            let ends: Vec<Vec<usize>> =
                pair[0].iter().map(|&v| neighbours[v as usize].iter().filter_map(|&w| place(w)).collect()).collect();
            for (i, left) in ends.iter().enumerate() {
                for right in &ends[i + 1..] {
                    crossings += left.iter().map(|a| right.iter().filter(|b| *b < a).count()).sum::<usize>();
                }
            }
        }
        crossings
    }

    #[test]
    fn sweeps_undo_what_names_have_crossed() {
        // A root 0; 1, 2, 3 below it; below these 6, 5 and 4, in this order: three crossings by number, none if sorted.
        let neighbours: Vec<Vec<u32>> =
            vec![vec![1, 2, 3], vec![0, 6], vec![0, 5], vec![0, 4], vec![3], vec![2], vec![1]];
        let rows = vec![vec![0], vec![1, 2, 3], vec![4, 5, 6]];
        assert_eq!(crossings(&rows, &neighbours), 3);
        let sorted = sorted(rows, &neighbours);
        assert_eq!(crossings(&sorted, &neighbours), 0, "{sorted:?}");
    }

    #[test]
    fn rows_are_distances_from_an_end() {
        // A path 2 - 0 - 1 - 3, named by number: from 0 to the farthest, 3, and from there to 2 and back again.
        let neighbours: Vec<Vec<u32>> = vec![vec![1, 2], vec![0, 3], vec![0], vec![1]];
        let rank: Vec<u32> = (0..4).collect();
        let rows = rows(&neighbours, 0, &rank);
        assert_eq!(rows.len(), 4);
        assert!(rows == [[3], [1], [0], [2]] || rows == [[2], [0], [1], [3]], "{rows:?}");
    }
}
