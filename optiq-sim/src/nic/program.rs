//! What runs on a simulated host: a state machine that takes events and returns what to do next.

use super::layout::Process;
use crate::time::Time;
use bincode::{Decode, Encode};
use optiq_net::random::SplitMix64;
use std::panic::Location;

/// How a sender learns that a message is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notice {
    /// Not at all.
    #[default]
    None,
    /// When its last byte has left the host's memory, as with `MPI_Send` of small messages.
    Left,
    /// When the receiver has confirmed it, as with `MPI_Ssend`.
    Received,
    /// When it is in the receiver's memory, as with `MPI_Put` and `MPI_Win_flush`. No request comes before, and neither
    /// the receiver's processor nor its program notices.
    Put,
}

/// A message that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Delivery {
    /// The process that sent it.
    pub from: u32,
    /// Its size.
    pub bytes: u64,
    /// What its sender called it.
    pub token: u64,
    /// When it was sent.
    pub sent: Time,
}

/// Order of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Command {
    Send { to: u32, bytes: u64, token: u64, notice: Notice, line: &'static Location<'static> },
    Wake { at: Time, token: u64 },
    Work { time: Time, token: Option<u64> },
    WarmUp(bool),
    Done,
}

/// The process that a program runs on, and its host. Without a [`crate::Layout`], process `i` is on host `i`.
pub struct Host<'a> {
    pub(crate) number: u32,
    pub(crate) place: Process,
    pub(crate) now: Time,
    pub(crate) random: &'a mut SplitMix64,
    pub(crate) commands: &'a mut Vec<Command>,
}

impl Host<'_> {
    /// The process's number, by which others send to it.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The number of the host that it is on.
    pub fn host(&self) -> u32 {
        self.place.host
    }

    /// The number of the job that it is of.
    pub fn job(&self) -> u16 {
        self.place.job
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The process's own stream of random numbers.
    pub fn random(&mut self) -> &mut SplitMix64 {
        self.random
    }

    /// Sends `bytes` to another process, or to itself. `token` is what the receiver sees, and the argument of
    /// [`Program::sent`]. Between processes of one host it is a copy in memory, which the sender's core makes.
    /// Postcards name the line of the caller.
    #[track_caller]
    pub fn send(&mut self, to: u32, bytes: u64, token: u64, notice: Notice) {
        self.commands.push(Command::Send { to, bytes, token, notice, line: Location::caller() });
    }

    /// Passes on an order of another program.
    pub(crate) fn order(&mut self, command: Command) {
        self.commands.push(command);
    }

    /// Calls [`Program::woken`] at a time.
    pub fn wake_at(&mut self, at: Time, token: u64) {
        self.commands.push(Command::Wake { at, token });
    }

    /// Keeps the processor busy before anything that is ordered after this.
    pub fn work(&mut self, time: Time) {
        self.commands.push(Command::Work { time, token: None });
    }

    /// As [`Host::work`]; [`Program::woken`] is called when the processor has done it.
    pub fn work_then(&mut self, time: Time, token: u64) {
        self.commands.push(Command::Work { time, token: Some(token) });
    }

    /// Whether what the process sends from now on is part of a warm-up: latencies of its messages and packets are then in no
    /// histogram and no mean. Everything else counts from the beginning. It is not when the program starts.
    pub fn warm_up(&mut self, warms_up: bool) {
        self.commands.push(Command::WarmUp(warms_up));
    }

    /// The process has all its samples. If its job is measured ([`crate::Layout::measure`]), the run ends soon after all such
    /// processes have said so; until then the program goes on as it likes, so that others meet the same load.
    pub fn done(&mut self) {
        self.commands.push(Command::Done);
    }
}

/// See the top of the file. What a program does may depend only on what it was told: then the simulation is repeatable.
pub trait Program: Send {
    /// The simulation begins.
    fn start(&mut self, host: &mut Host<'_>);

    /// A message has arrived, and the processor has dealt with it.
    fn received(&mut self, host: &mut Host<'_>, delivery: Delivery);

    /// A message of this process is over, in the sense of its [`Notice`].
    fn sent(&mut self, _host: &mut Host<'_>, _token: u64) {}

    /// The time of [`Host::wake_at`] has come, or the work of [`Host::work_then`] is done.
    fn woken(&mut self, _host: &mut Host<'_>, _token: u64) {}

    /// The line of the program that waits for messages, for postcards; `None` if it does not say.
    fn receives_in(&self) -> Option<&'static Location<'static>> {
        None
    }

    /// Its state, for a checkpoint ([`crate::Checkpoints`]); `None` if it cannot be saved.
    fn save(&self) -> Option<Vec<u8>> {
        None
    }

    /// Goes on from what [`Program::save`] has written, on a process with this number.
    ///
    /// # Errors
    /// A sentence, if it is not the state of such a program.
    fn restore(&mut self, _process: u32, _state: &[u8]) -> Result<(), String> {
        Err("this program cannot go on from a checkpoint".into())
    }

    /// What it waits for, in words, or `None`; for the message where a simulation comes to a halt.
    fn waits_for(&self) -> Option<String> {
        None
    }
}

/// A process on which nothing runs.
#[derive(Debug)]
pub struct Idle;

impl Program for Idle {
    fn start(&mut self, _: &mut Host<'_>) {}
    fn received(&mut self, _: &mut Host<'_>, _: Delivery) {}

    fn save(&self) -> Option<Vec<u8>> {
        Some(Vec::new())
    }

    fn restore(&mut self, _: u32, _: &[u8]) -> Result<(), String> {
        Ok(())
    }
}
