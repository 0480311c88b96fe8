//! Ranks that send nothing of their own accord: of idle jobs, and the root of an incast, which only confirms.

use super::member::Member;
use super::message_loop::confirm;
use super::samples::Recorder;
use crate::nic::program::{Delivery, Host, Program};
use std::panic::Location;

/// A rank that measures nothing.
pub(super) struct Silent {
    pub(super) member: Member,
    pub(super) recorder: Recorder,
    pub(super) control: u64,
}

impl Program for Silent {
    fn start(&mut self, host: &mut Host<'_>) {
        self.recorder.start(host);
    }

    fn received(&mut self, host: &mut Host<'_>, delivery: Delivery) {
        confirm(&self.member, host, &delivery, self.control);
    }

    fn receives_in(&self) -> Option<&'static Location<'static>> {
        Some(Location::caller())
    }

    fn save(&self) -> Option<Vec<u8>> {
        Some(optiq_trace::codec::encode(&self.recorder.save()))
    }

    fn restore(&mut self, _: u32, state: &[u8]) -> Result<(), String> {
        self.recorder.restore(optiq_trace::codec::decode(state)?)
    }
}
