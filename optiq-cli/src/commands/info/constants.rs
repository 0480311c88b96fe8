//! `optiq info --constants`: the tuned constants of all crates, with what they rest on.

use crate::failure::Failure;
use crate::output::{self, Schema};
use optiq_measure::constant::{Constant, Provenance};
use optiq_view::table;
use serde::Serialize;
use std::process::ExitCode;

/// The constants of each crate.
const CRATES: &[(&str, &[Constant])] = &[
    ("optiq-solver", optiq_solver::constants::CONSTANTS),
    ("optiq-transport", optiq_transport::constants::CONSTANTS),
    ("optiq-lower", optiq_lower::constants::CONSTANTS),
    ("optiq-probe", optiq_probe::constants::CONSTANTS),
    ("optiq-sim", optiq_sim::constants::CONSTANTS),
    ("optiq", optiq::constants::CONSTANTS),
    ("optiq-lab", optiq_lab::constants::CONSTANTS),
    ("optiq-studies", optiq_studies::constants::CONSTANTS),
];

#[derive(Serialize)]
struct ConstantsDocument {
    constants: Vec<ConstantRow>,
}

#[derive(Serialize)]
struct ConstantRow {
    name: &'static str,
    #[serde(rename = "crate")]
    crate_name: &'static str,
    /// In `unit`.
    value: f64,
    unit: &'static str,
    provenance: ProvenanceRow,
    meaning: &'static str,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum ProvenanceRow {
    Measured { command: &'static str, date: &'static str, cases: &'static str },
    Derived { from: &'static str },
    Published { source: &'static str },
    Chosen { reason: &'static str },
}

impl From<Provenance> for ProvenanceRow {
    fn from(provenance: Provenance) -> Self {
        match provenance {
            Provenance::Measured { command, date, cases } => ProvenanceRow::Measured { command, date, cases },
            Provenance::Derived { from } => ProvenanceRow::Derived { from },
            Provenance::Published { source } => ProvenanceRow::Published { source },
            Provenance::Chosen { reason } => ProvenanceRow::Chosen { reason },
        }
    }
}

/// All constants, with their crates.
fn all() -> impl Iterator<Item = (&'static str, &'static Constant)> {
    CRATES.iter().flat_map(|(name, list)| list.iter().map(move |constant| (*name, constant)))
}

pub fn run(json: bool) -> Result<ExitCode, Failure> {
    if json {
        let row = |(crate_name, c): (&'static str, &Constant)| ConstantRow {
            name: c.name,
            crate_name,
            value: c.value,
            unit: c.unit,
            provenance: c.provenance.into(),
            meaning: c.meaning,
        };
        output::print_json(Schema::InfoConstants, &ConstantsDocument { constants: all().map(row).collect() })?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = vec![["constant", "value", "unit", "meaning", "provenance"].map(String::from).to_vec()];
    rows.extend(all().map(|(_, c)| {
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (meaning, provenance) = (one_line(c.meaning), one_line(&c.provenance.to_string()));
        vec![c.name.to_owned(), number(c.value), c.unit.to_owned(), meaning, provenance]
    }));
    output::print(&table::aligned(&rows, |column| column == 1))?;
    Ok(ExitCode::SUCCESS)
}

/// As short as it can be read back.
fn number(value: f64) -> String {
    if value != 0.0 && !(1e-3..1e15).contains(&value.abs()) { format!("{value:e}") } else { value.to_string() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Constants that were measured before cases were divided, on what is no group of data/cases.toml. A constant leaves this
    /// list when it is measured again; none may be added.
    const BEFORE_GROUPS: &[&str] = &[
        "transport.puts_in_flight_part",
        "sim.queue_fewest_in_bucket",
        "sim.queue_most_in_bucket",
        "sim.queue_late_to_widen",
        "sim.queue_late_to_narrow",
        "sim.queue_fewest_to_spread",
        "sim.queue_most_to_insert",
        "sim.prefetch_stage_1",
        "sim.prefetch_stage_2",
        "sim.prefetch_stage_3",
        "sim.barrier_spins",
        "sim.ugal_bias_packets",
        "sim.flow_model_messages",
    ];

    /// The training groups of data/cases.toml, in this checkout.
    fn training_groups() -> BTreeSet<String> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/cases.toml");
        let Ok(text) = std::fs::read_to_string(path) else { return BTreeSet::new() };
        let file: toml::Table = text.parse().unwrap();
        let groups = file["group"].as_array().unwrap().iter();
        let training = groups.filter(|g| g["role"].as_str() == Some("training"));
        training.map(|g| g["name"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn every_constant_has_a_unit_a_meaning_and_a_provenance() {
        let names: Vec<&str> = all().map(|(_, c)| c.name).collect();
        let unique: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(unique.len(), names.len());
        for (_, c) in all() {
            assert!(c.value.is_finite(), "{}", c.name);
            assert!(!c.unit.trim().is_empty() && c.meaning.ends_with('.'), "{}: {} {}", c.name, c.unit, c.meaning);
            let said = match c.provenance {
                Provenance::Measured { command, date, .. } => {
                    let day = format!("{date}T00:00:00Z");
                    assert!(optiq_measure::moment::is_utc(&day), "{}: {date} is no date", c.name);
                    command
                }
                Provenance::Derived { from } => from,
                Provenance::Published { source } => source,
                Provenance::Chosen { reason } => reason,
            };
            assert!(!said.trim().is_empty(), "{}", c.name);
        }
    }

    /// `cases` begins with names of groups, separated by commas; details follow in parentheses.
    #[test]
    fn what_was_measured_was_measured_on_training_cases() {
        let groups = training_groups();
        if groups.is_empty() {
            return;
        }
        for (_, c) in all() {
            let Provenance::Measured { cases, .. } = c.provenance else { continue };
            if BEFORE_GROUPS.contains(&c.name) && cases.contains("before cases were divided") {
                continue;
            }
            let named = cases.split('(').next().unwrap_or_default();
            for group in named.split(',').map(str::trim) {
                assert!(groups.contains(group), "{}: \"{group}\" is none of the training groups {groups:?}", c.name);
            }
        }
    }
}
