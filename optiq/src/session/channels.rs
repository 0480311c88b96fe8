//! The transports of a session: one for each exchange that can move at one time.
//!
//! An exchange that moves has a transport to itself, with a communicator and slot memory of its own; so no message can be taken for one
//! of another exchange, whatever their tags. The first channel serves class 0 and calls that block. Others are opened when an exchange of
//! a class is planned for the first time, which is collective, so that ranks have the same channels in the same order.

use crate::constants::EXCHANGES_AT_ONCE;
use crate::error::Error;
use optiq_transport::mpi::{Communicator, TwoSided};
use optiq_transport::{Capabilities, Transport, TransportError};
use std::rc::Rc;

/// Makes another transport of the same sort, on a communicator of its own.
pub(super) type OpenTransport = fn(Rc<Communicator>) -> Result<Box<dyn Transport>, TransportError>;

/// What [`OpenTransport`] is for two-sided messages.
pub(super) fn open_two_sided(comm: Rc<Communicator>) -> Result<Box<dyn Transport>, TransportError> {
    Ok(Box::new(TwoSided::new(comm)?))
}

struct Channel {
    /// The class that it was opened for.
    class: u8,
    transport: Box<dyn Transport>,
    /// Slot memory that the transport keeps, in bytes.
    held: u64,
}

/// See the top of the file.
pub(super) struct Channels {
    list: Vec<Channel>,
    /// `None` if exchanges of all classes move one at a time.
    open: Option<OpenTransport>,
}

/// How urgent an exchange is, and where it moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Priority {
    /// Higher is more urgent.
    pub(super) class: u8,
    /// Index of the channel.
    pub(super) channel: usize,
}

impl Channels {
    /// With a first channel.
    pub(super) fn new(transport: Box<dyn Transport>, open: Option<OpenTransport>) -> Self {
        Self { list: vec![Channel { class: 0, transport, held: 0 }], open }
    }

    /// What all transports can do.
    pub(super) fn capabilities(&self) -> Capabilities {
        self.list[0].transport.capabilities()
    }

    /// Where exchanges of a class move; collective, with the same class on all ranks. A class for which there is no channel left
    /// shares that of the nearest class other than 0.
    ///
    /// # Errors
    /// What MPI reports.
    pub(super) fn of_class(&mut self, class: u8, comm: &Communicator) -> Result<Priority, Error> {
        let known = self.list.iter().position(|channel| channel.class == class);
        let Some(open) = self.open.filter(|_| known.is_none()) else {
            return Ok(Priority { class, channel: known.unwrap_or(0) });
        };
        if self.list.len() < EXCHANGES_AT_ONCE {
            // SAFETY: a valid communicator of ours.
            let own = Rc::new(unsafe { Communicator::duplicate(comm.raw())? });
            self.list.push(Channel { class, transport: open(own)?, held: 0 });
            log::debug!("rank {}: channel {} is for exchanges of class {class}", comm.rank(), self.list.len() - 1);
            return Ok(Priority { class, channel: self.list.len() - 1 });
        }
        let classes: Vec<u8> = self.list.iter().map(|channel| channel.class).collect();
        Ok(Priority { class, channel: nearest(&classes, class) })
    }

    /// The transport of a channel.
    pub(super) fn transport(&mut self, channel: usize) -> &mut dyn Transport {
        &mut *self.list[channel].transport
    }

    /// Before an exchange begins that takes `needed` bytes of slots: channels that move nothing give their slots back if all do not fit
    /// in `budget` together.
    pub(super) fn make_room(&mut self, channel: usize, needed: u64, is_moving: impl Fn(usize) -> bool, budget: u64) {
        self.list[channel].held = self.list[channel].held.max(needed);
        if self.list.iter().map(|channel| channel.held).sum::<u64>() <= budget {
            return;
        }
        for (i, other) in self.list.iter_mut().enumerate().filter(|(i, _)| !is_moving(*i)) {
            other.transport.release();
            other.held = if i == channel { needed } else { 0 };
        }
    }

    /// Gives up whatever moves.
    pub(super) fn abandon(&mut self) {
        self.list.iter_mut().for_each(|channel| channel.transport.abandon());
    }
}

/// The index of the class other than the first that is nearest to `class`; of two, the earlier one.
fn nearest(classes: &[u8], class: u8) -> usize {
    let distance = |&(_, &other): &(usize, &u8)| other.abs_diff(class);
    classes.iter().enumerate().skip(1).min_by_key(distance).map_or(0, |(channel, _)| channel)
}

#[cfg(test)]
mod tests {
    use super::*;
    use optiq_transport::mesh;

    #[test]
    fn the_nearest_class_lends_its_channel() {
        let classes = [0, 10, 200, 30];
        assert_eq!([1, 20, 25, 199, 255].map(|class| nearest(&classes, class)), [1, 1, 3, 2, 2]);
        assert_eq!(nearest(&[0], 9), 0);
    }

    #[test]
    fn idle_channels_give_back_what_does_not_fit() {
        let mut ends = mesh(3).into_iter();
        let mut channels = Channels::new(Box::new(ends.next().unwrap()), None);
        let more = ends.map(|end| Channel { class: 1, transport: Box::new(end), held: 0 });
        channels.list.extend(more);
        let held = |channels: &Channels| channels.list.iter().map(|channel| channel.held).collect::<Vec<_>>();
        channels.make_room(0, 60, |_| false, 100);
        channels.make_room(1, 40, |i| i == 0, 100);
        assert_eq!(held(&channels), [60, 40, 0]);
        // Smaller than before, in the memory that is there; then the second is idle, and the first is not.
        channels.make_room(0, 10, |i| i == 1, 100);
        channels.make_room(2, 30, |i| i == 0, 100);
        assert_eq!(held(&channels), [60, 0, 30]);
        channels.make_room(1, 100, |_| false, 100);
        assert_eq!(held(&channels), [0, 100, 0]);
        channels.make_room(1, 20, |_| false, 10);
        assert_eq!(held(&channels), [0, 20, 0]);
    }
}
