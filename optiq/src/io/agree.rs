//! What the ranks of a file tell each other before data moves, and after every round.

use super::file_session::FileSession;
use super::view::Reason;
use crate::error::{Error, Status};
use optiq_lower::aggregation::Extent;
use optiq_transport::{Backoff, Rank};
use std::time::Instant;

/// What a rank brings to a collective access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    pub(super) state: State,
    /// In bytes of the view.
    pub(super) extent: Extent,
    /// Of the view: bytes of an element, and displacement.
    pub(super) element: u64,
    pub(super) displacement: i64,
    /// Bytes that the file holds behind the displacement; of rank 0, for reading.
    pub(super) size: u64,
    /// A number for what else must be the same on all ranks.
    pub(super) settings: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Can be served.
    Fine,
    /// Arguments are wrong.
    Wrong,
    /// Only MPI can serve this.
    OnlyMpi(Reason),
}

const WORDS: usize = 7;
const FINE: u64 = 0;
const WRONG: u64 = u64::MAX;

impl Offer {
    fn words(&self) -> [u64; WORDS] {
        let state = match self.state {
            State::Fine => FINE,
            State::Wrong => WRONG,
            State::OnlyMpi(reason) => reason as u64,
        };
        let Extent { start, bytes } = self.extent;
        [state, start, bytes, self.element, self.displacement as u64, self.size, self.settings]
    }

    fn of(words: &[u64]) -> Option<Self> {
        let &[state, start, bytes, element, displacement, size, settings] = words else { return None };
        let state = match state {
            FINE => State::Fine,
            number => Reason::of(number).map_or(State::Wrong, State::OnlyMpi),
        };
        let extent = Extent { start, bytes };
        Some(Self { state, extent, element, displacement: displacement as i64, size, settings })
    }
}

/// What all ranks conclude from all offers, each the same.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Conclusion {
    /// OPTIQ serves it, with views of this element and displacement.
    Serve,
    /// Only MPI can; with the reason.
    OnlyMpi(String),
    /// The arguments of this rank are wrong.
    Wrong(Rank),
}

/// Said where ranks did not come.
fn late(seconds: f64) -> String {
    format!("not all ranks of the file came within {seconds} s (OPTIQ_IO_TIMEOUT)")
}

/// The same on all ranks, as it is made from the same.
pub(super) fn conclude(offers: &[Offer]) -> Conclusion {
    if let Some(rank) = offers.iter().position(|o| o.state == State::Wrong) {
        return Conclusion::Wrong(Rank(rank as u32));
    }
    let reason = offers.iter().find_map(|o| match o.state {
        State::OnlyMpi(reason) => Some(reason),
        _ => None,
    });
    if let Some(reason) = reason {
        return Conclusion::OnlyMpi(reason.words().into());
    }
    let differs = |what: fn(&Offer) -> u64| offers.windows(2).any(|pair| what(&pair[0]) != what(&pair[1]));
    if differs(|o| o.settings) {
        return Conclusion::OnlyMpi("ranks call different functions, or disagree about the I/O hosts".into());
    }
    if differs(|o| o.element) || differs(|o| o.displacement as u64) {
        // A server writes through its own view, which must reach where the others' data belongs.
        return Conclusion::OnlyMpi("the views of the ranks have different displacements or element sizes".into());
    }
    Conclusion::Serve
}

impl FileSession {
    /// Everybody's offers, in rank order; collective. With `OPTIQ_IO_TIMEOUT` it waits only so long.
    pub(super) fn gather(&self, mine: &Offer) -> Result<Vec<Offer>, Error> {
        // Blocking calls are cheaper: MPI libraries have better algorithms for them.
        if self.limit().is_none() {
            let words = self.comm().all_gather_equal(&mine.words())?;
            return Ok(words.chunks(WORDS).filter_map(Offer::of).collect());
        }
        let mut pending = self.comm().start_all_gather(&mine.words())?;
        let mut words = Vec::new();
        self.until(late, || {
            let done = pending.test()?;
            words.extend_from_slice(done.unwrap_or_default());
            Ok(done.is_some())
        })?;
        Ok(words.chunks(WORDS).filter_map(Offer::of).collect())
    }

    /// Polls until it is done; with `OPTIQ_IO_TIMEOUT` only so long, and then this session is over.
    pub(super) fn until(
        &self,
        late: impl FnOnce(f64) -> String,
        mut done: impl FnMut() -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let start = Instant::now();
        let mut backoff = Backoff::default();
        while !done()? {
            if let Some(limit) = self.limit().filter(|&limit| start.elapsed() > limit) {
                let error = Error::File { status: Status::Transport, text: late(limit.as_secs_f64()) };
                self.give_up(&error);
                return Err(error);
            }
            backoff.idle();
        }
        Ok(())
    }

    /// The same result on all ranks: an error if any has one, in the words of the first that has; collective.
    pub(super) fn settle(&self, mine: Result<(), Error>) -> Result<(), Error> {
        if self.is_broken() {
            // The ranks cannot agree any more; this rank's own error says so.
            return mine;
        }
        let comm = self.comm();
        let mut word = [if mine.is_err() { -i64::from(comm.rank().0) - 1 } else { 0 }];
        if self.limit().is_none() {
            comm.all_min(&mut word)?;
        } else {
            let mut pending = comm.start_all_min(word.to_vec())?;
            self.until(late, || {
                let done = pending.test()?;
                word[0] = done.and_then(|words| words.first().copied()).unwrap_or(0);
                Ok(done.is_some())
            })?;
        }
        let [failed] = word;
        if failed == 0 {
            return Ok(());
        }
        let root = Rank((-failed - 1) as u32);
        let mut told = match &mine {
            Err(error) if root == comm.rank() => [&[error.status() as u8], error.to_string().as_bytes()].concat(),
            _ => Vec::new(),
        };
        comm.broadcast(root, &mut told)?;
        let (code, text) = told.split_first().map_or((0, &[][..]), |(&code, text)| (code, text));
        let status = Status::ALL.into_iter().find(|&s| s as u8 == code).unwrap_or(Status::Internal);
        Err(Error::File { status, text: String::from_utf8_lossy(text).into_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer() -> Offer {
        let extent = Extent { start: 8, bytes: 16 };
        Offer { state: State::Fine, extent, element: 8, displacement: -1, size: 7, settings: 3 }
    }

    #[test]
    fn words_there_and_back() {
        for state in [State::Fine, State::Wrong, State::OnlyMpi(Reason::Atomic), State::OnlyMpi(Reason::Memory)] {
            let offer = Offer { state, ..offer() };
            assert_eq!(Offer::of(&offer.words()), Some(offer));
        }
    }

    #[test]
    fn all_conclude_the_same() {
        assert_eq!(conclude(&[offer(); 3]), Conclusion::Serve);
        let wrong = Offer { state: State::Wrong, ..offer() };
        let atomic = Offer { state: State::OnlyMpi(Reason::Atomic), ..offer() };
        assert_eq!(conclude(&[atomic, offer(), wrong]), Conclusion::Wrong(Rank(2)));
        assert!(matches!(conclude(&[offer(), atomic]), Conclusion::OnlyMpi(r) if r.contains("atomic")));
        let shifted = Offer { displacement: 5, ..offer() };
        assert!(matches!(conclude(&[offer(), shifted]), Conclusion::OnlyMpi(r) if r.contains("displacements")));
        let other = Offer { settings: 4, ..offer() };
        assert!(matches!(conclude(&[other, shifted]), Conclusion::OnlyMpi(r) if r.contains("different functions")));
    }
}
