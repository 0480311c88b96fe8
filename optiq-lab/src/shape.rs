//! Links that change while the lab is up: a link is the queue of one device, so changing it is one command of `tc`,
//! and neither routes nor connections notice anything but the speed.

use crate::batch;
use crate::error::LabError;
use crate::lab::Lab;
use crate::link::LabLink;
use crate::member::Member;
use crate::rate::Rate;
use crate::tools;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The shaper's word on the command line.
pub(crate) const VERB: &str = "shape";

/// The command line of the shaper.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    /// Index of the link.
    pub link: usize,
    /// What it is to be; its rate and whether it is cut count.
    pub to: LabLink,
}

impl Lab {
    /// Changes the speed of the link from one vertex to its neighbour, in this direction. What waits in its queue stays
    /// there.
    ///
    /// # Errors
    /// [`LabError::Argument`] if there is no such link; [`LabError::State`] if the lab is gone.
    pub fn set_rate(&self, from: &str, to: &str, rate: Rate) -> Result<(), LabError> {
        self.change(from, to, |link| link.rate = rate)
    }

    /// Cuts the link from one vertex to its neighbour, in this direction: what waits in its queue and all that is sent
    /// over it is lost, as when a cable is pulled, without a message.
    ///
    /// # Errors
    /// As [`Lab::set_rate`].
    pub fn cut(&self, from: &str, to: &str) -> Result<(), LabError> {
        self.change(from, to, |link| link.cut = true)
    }

    /// Restores a link that was cut, with the rate that it had.
    ///
    /// # Errors
    /// As [`Lab::set_rate`].
    pub fn restore(&self, from: &str, to: &str) -> Result<(), LabError> {
        self.change(from, to, |link| link.cut = false)
    }

    fn change(&self, from: &str, to: &str, change: impl FnOnce(&mut LabLink)) -> Result<(), LabError> {
        let _lock = self.dir.lock()?;
        let mut state = self.state()?;
        let link = state.blueprint.link(from, to)?;
        change(&mut state.blueprint.links[link]);
        self.helper(VERB, &Task { link, to: state.blueprint.links[link].clone() })?;
        self.dir.write(&state)
    }
}

/// The shaper's work.
pub(crate) fn main(state_path: &Path, task: &Task) -> Result<(), LabError> {
    let member = Member::join(state_path)?;
    let blueprint = &member.state.blueprint;
    let Some(link) = blueprint.links.get(task.link) else {
        return Err(LabError::Argument(format!("the lab has no link {}", task.link)));
    };
    member.enter(link.namespace)?;
    let (device, tuning) = (&link.device, &blueprint.tuning);
    let commands = match (task.to.cut, link.cut) {
        (true, _) => format!("qdisc replace dev {device} root {}\n", batch::CUT),
        (false, true) => batch::link_queue(device, task.to.rate, tuning),
        (false, false) => batch::link_rate(device, task.to.rate, tuning),
    };
    tools::batch("tc", &commands)
}
