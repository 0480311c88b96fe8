//! Which preset of the simulator stands behind a page, and why it is that one (`data/sim/*.toml`, [`optiq_sim::Model`]).

/// A preset, and why pages that are about its machine use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// As `--model` takes it.
    pub name: &'static str,
    /// A part of a sentence.
    pub why: &'static str,
}

pub(crate) const BGQ: Preset = Preset {
    name: "bgq",
    why: "the machine of the OPTIQ thesis with the values that the thesis and its sources give; `mira`, which is fitted, came when claims had been \
              run, and changing their machine then would have chosen it by their verdicts (decision 070)",
};
pub(crate) const MIRA: Preset = Preset {
    name: "mira",
    why: "the same machine with four parameters fitted on the thesis's Table VII, which is what published throughputs are compared with",
};
pub(crate) const BGQ_PIPELINE: Preset = Preset {
    name: "bgq-pipeline",
    why: "the same machine with the router's pipeline, as BookSim2 has it, to see what of a gain rests on routers that lose no cycle",
};
pub(crate) const FATTREE_12_5: Preset = Preset {
    name: "fattree-12.5",
    why: "the fat tree of document 000 with the defaults of CODES, for exchanges on fat trees that no document publishes times of",
};
pub(crate) const BROWN1296: Preset = Preset {
    name: "brown1296",
    why: "the same fat tree with the two parameters that document 000's baselines of one job alone fix (decision 042)",
};
pub(crate) const DRAGONFLY_PLUS_3456: Preset = Preset {
    name: "dragonfly+3456",
    why: "the Dragonfly+ of document 003 with the defaults of CODES, for what does not depend on its baselines",
};
pub(crate) const KANG3456: Preset = Preset {
    name: "kang3456",
    why: "the same Dragonfly+ with switches fitted on one of document 003's baselines (decision 081)",
};
pub(crate) const EDISON: Preset = Preset {
    name: "edison",
    why: "the dragonfly of document 001, whose figures are of the machine that it is named after",
};
pub(crate) const CAB18: Preset = Preset {
    name: "cab18",
    why: "the switch of document 004 with one parameter fitted on its idle latency (decision 053)",
};
pub(crate) const LAB: Preset =
    Preset { name: "lab", why: "`optiq lab`, fitted on one pattern of one torus (decision 080)" };
pub(crate) const LAB_JOBS: Preset =
    Preset { name: "lab-jobs", why: "`optiq lab` with the queues of its blueprint, checked on jobs alone" };

/// Those that pages use.
pub const PRESETS: [Preset; 11] =
    [BGQ, MIRA, BGQ_PIPELINE, FATTREE_12_5, BROWN1296, DRAGONFLY_PLUS_3456, KANG3456, EDISON, CAB18, LAB, LAB_JOBS];

/// What simulates what a page is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulatedMachine {
    /// Nothing is simulated packet by packet, or the page says itself what by.
    None,
    /// These presets.
    Presets(&'static [Preset]),
    /// The preset that fits each network, as `--model auto` takes it.
    ByNetwork,
}

impl SimulatedMachine {
    /// Of a claim, by its name.
    pub fn of_claim(id: &str) -> Self {
        let number = |letter: char| id.strip_prefix(letter).and_then(|number| number.parse::<u32>().ok());
        if let Some(o) = number('O') {
            return match o {
                5..=14 | 16 | 18 | 19 | 21 => SimulatedMachine::Presets(&[BGQ]),
                _ => SimulatedMachine::None,
            };
        }
        match (number('B'), number('K'), number('C'), number('Y')) {
            (Some(9..), ..) => SimulatedMachine::Presets(&[BROWN1296]),
            (_, Some(8), ..) => SimulatedMachine::Presets(&[KANG3456, DRAGONFLY_PLUS_3456]),
            (_, Some(2..), ..) => SimulatedMachine::Presets(&[KANG3456]),
            (_, _, Some(_), _) => SimulatedMachine::Presets(&[CAB18]),
            (_, _, _, Some(_)) => SimulatedMachine::Presets(&[EDISON]),
            _ => SimulatedMachine::None,
        }
    }

    /// For the page; nothing where nothing is simulated.
    pub fn sentence(self) -> String {
        let said = |Preset { name, why }: &Preset| format!("`{name}` (`data/sim/{name}.toml`): {why}");
        match self {
            SimulatedMachine::None => String::new(),
            SimulatedMachine::ByNetwork => "Simulated machine: the preset that fits each network and its links, as `--model auto` takes it, or the \
                                   default model where none does, as no machine in particular is meant."
                .into(),
            SimulatedMachine::Presets(presets) => {
                let said: Vec<_> = presets.iter().map(said).collect();
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
            if let SimulatedMachine::Presets(presets) = SimulatedMachine::of_claim(claim.id) {
                assert!(presets.iter().all(|preset| PRESETS.contains(preset)), "{}", claim.id);
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
