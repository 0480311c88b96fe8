//! Which preset of the simulator stands behind a page, and why it is that one (`data/sim/*.toml`, [`optiq_sim::Model`]).

/// A preset, and why pages that are about its machine use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// As `--model` takes it.
    pub name: &'static str,
    /// A part of a sentence.
    pub why: &'static str,
}

/// Those that pages use.
pub const PRESETS: [Preset; 11] = [
    Preset {
        name: "bgq",
        why: "the machine of the OPTIQ thesis with the values that the thesis and its sources give; `mira`, which is fitted, came when claims had been \
              run, and changing their machine then would have chosen it by their verdicts (decision 070)",
    },
    Preset {
        name: "mira",
        why: "the same machine with four parameters fitted on the thesis's Table VII, which is what published throughputs are compared with",
    },
    Preset {
        name: "bgq-pipeline",
        why: "the same machine with the router's pipeline, as BookSim2 has it, to see what of a gain rests on routers that lose no cycle",
    },
    Preset {
        name: "fattree-12.5",
        why: "the fat tree of document 000 with the defaults of CODES, for exchanges on fat trees that no document publishes times of",
    },
    Preset {
        name: "brown1296",
        why: "the same fat tree with the two parameters that document 000's baselines of one job alone fix (decision 042)",
    },
    Preset {
        name: "dragonfly+3456",
        why: "the Dragonfly+ of document 003 with the defaults of CODES, for what does not depend on its baselines",
    },
    Preset {
        name: "kang3456",
        why: "the same Dragonfly+ with switches fitted on one of document 003's baselines (decision 081)",
    },
    Preset {
        name: "edison",
        why: "the dragonfly of document 001, whose figures are of the machine that it is named after",
    },
    Preset {
        name: "cab18",
        why: "the switch of document 004 with one parameter fitted on its idle latency (decision 053)",
    },
    Preset { name: "lab", why: "`optiq lab`, fitted on one pattern of one torus (decision 080)" },
    Preset { name: "lab-jobs", why: "`optiq lab` with the queues of its blueprint, checked on jobs alone" },
];

/// What simulates what a page is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulatedMachine {
    /// Nothing is simulated packet by packet, or the page says itself what by.
    None,
    /// These presets.
    Presets(&'static [&'static str]),
    /// The preset that fits each network, as `--model auto` takes it.
    ByNetwork,
}

impl SimulatedMachine {
    /// Of a claim, by its name.
    pub fn of_claim(id: &str) -> Self {
        let number = |letter: char| id.strip_prefix(letter).and_then(|number| number.parse::<u32>().ok());
        if let Some(o) = number('O') {
            return match o {
                5..=14 | 16 | 18 | 19 | 21 => SimulatedMachine::Presets(&["bgq"]),
                _ => SimulatedMachine::None,
            };
        }
        match (number('B'), number('K'), number('C'), number('Y')) {
            (Some(9..), ..) => SimulatedMachine::Presets(&["brown1296"]),
            (_, Some(8), ..) => SimulatedMachine::Presets(&["kang3456", "dragonfly+3456"]),
            (_, Some(2..), ..) => SimulatedMachine::Presets(&["kang3456"]),
            (_, _, Some(_), _) => SimulatedMachine::Presets(&["cab18"]),
            (_, _, _, Some(_)) => SimulatedMachine::Presets(&["edison"]),
            _ => SimulatedMachine::None,
        }
    }

    /// For the page; nothing where nothing is simulated.
    pub fn sentence(self) -> String {
        let said = |name: &&str| {
            let why = PRESETS.iter().find(|preset| preset.name == *name).map_or("", |preset| preset.why);
            format!("`{name}` (`data/sim/{name}.toml`): {why}")
        };
        match self {
            SimulatedMachine::None => String::new(),
            SimulatedMachine::ByNetwork => "Simulated machine: the preset that fits each network and its links, as `--model auto` takes it, or the \
                                   default model where none does, as no machine in particular is meant."
                .into(),
            SimulatedMachine::Presets(names) => {
                let said: Vec<_> = names.iter().map(said).collect();
                format!("Simulated machine: preset {}. What other presets change: [presets.md](presets.md).", said.join("; and "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::claims::list::CLAIMS;
    use optiq_sim::Model;
    use std::collections::BTreeSet;

    #[test]
    fn every_preset_of_the_simulator_has_a_reason() {
        let named: BTreeSet<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        assert_eq!(named, Model::presets().collect());
    }

    #[test]
    fn claims_name_presets_that_there_are() {
        for claim in CLAIMS {
            if let SimulatedMachine::Presets(names) = SimulatedMachine::of_claim(claim.id) {
                assert!(names.iter().all(|name| PRESETS.iter().any(|preset| preset.name == *name)), "{}", claim.id);
            }
        }
        assert_eq!(SimulatedMachine::of_claim("O15"), SimulatedMachine::None);
        assert_eq!(SimulatedMachine::of_claim("B8"), SimulatedMachine::None);
        assert_eq!(SimulatedMachine::of_claim("91"), SimulatedMachine::None);
        assert!(
            SimulatedMachine::of_claim("O5")
                .sentence()
                .starts_with("Simulated machine: preset `bgq` (`data/sim/bgq.toml`): ")
        );
    }
}
