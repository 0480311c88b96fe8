//! What is swept: a name, its values, and what kind of amount they are.

use optiq_net::units::{parse_bytes, parse_picoseconds, parse_rate};

/// The values of one thing that is swept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// What it is: `seed`, `job.solver.placement`, `job.solver.program.think`.
    pub name: String,
    /// Its values as the file has them, without quotation marks.
    pub values: Vec<String>,
}

/// What values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Plain numbers.
    Number,
    /// Seconds.
    Time,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    Rate,
    /// Parts of a whole, in per cent.
    Percent,
    /// Words, which have places and no values.
    Word,
}

/// Reads a value as a number of one kind; `None` if it is of another.
type ReadAmount = fn(&str) -> Option<f64>;

impl Axis {
    /// Whether it draws other random numbers and changes nothing else, so that its runs are repetitions.
    pub fn is_repetition(&self) -> bool {
        matches!(&*self.name, "seed" | "placement_seed")
    }

    /// What all of its values are, and each as a number: seconds, bytes, bytes per second, per cent; words by their place.
    pub fn amounts(&self) -> (Amount, Vec<f64>) {
        let kinds: [(Amount, ReadAmount); 5] = [
            (Amount::Number, |text| text.parse().ok().filter(|n: &f64| n.is_finite())),
            (Amount::Time, |text| parse_picoseconds(text).ok().map(|t| t as f64 / 1e12)),
            (Amount::Bytes, |text| parse_bytes(text).ok().map(|bytes| bytes as f64)),
            (Amount::Rate, |text| parse_rate(text).ok()),
            (Amount::Percent, |text| text.strip_suffix('%')?.trim().parse().ok().filter(|n: &f64| n.is_finite())),
        ];
        for (amount, read) in kinds {
            if let Some(values) = self.values.iter().map(|text| read(text)).collect() {
                return (amount, values);
            }
        }
        (Amount::Word, (0..self.values.len()).map(|place| place as f64).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_what_all_values_are() {
        let of =
            |values: &[&str]| Axis { name: "x".into(), values: values.iter().map(|&v| v.into()).collect() }.amounts();
        assert_eq!(of(&["0", "500us", "1ms"]), (Amount::Time, vec![0.0, 500e-6, 1e-3]));
        assert_eq!(of(&["1", "2.5"]), (Amount::Number, vec![1.0, 2.5]));
        assert_eq!(of(&["4KB", "1MiB"]), (Amount::Bytes, vec![4000.0, 1048576.0]));
        assert_eq!(of(&["5%", "50 %"]), (Amount::Percent, vec![5.0, 50.0]));
        assert_eq!(of(&["1GB/s"]), (Amount::Rate, vec![1e9]));
        assert_eq!(of(&["random-node", "1"]), (Amount::Word, vec![0.0, 1.0]));
    }
}
