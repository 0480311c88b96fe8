//! A planned exchange of two borrowed buffers, for Rust.

use super::arguments::{Arguments, Local};
use super::fallback_args::FallbackArgs;
use super::operation::Operation;
use super::state::Session;
use crate::error::Error;
use optiq_lower::decide::Decision;
use std::ffi::c_int;

/// An exchange that was planned once and can be started many times; made by [`Session::alltoallv_init`].
///
/// Dropping it while it is active waits for its end. Who waits for an exchange of one session forwards nothing in those of others: where ranks may
/// come to wait for two of them in different orders, [`Persistent::test`] both in turn until they are complete.
pub struct Persistent<'a, T> {
    session: &'a Session,
    operation: Operation,
    send: &'a mut [T],
    receive: &'a mut [T],
}

/// Counts and displacements of what is sent, and of what is received.
type Lists<'a> = (&'a [usize], &'a [usize], &'a [usize], &'a [usize]);

/// The exchanges of one priority class; made by [`Session::priority_class`].
#[derive(Clone, Copy)]
pub struct PriorityClass<'a> {
    session: &'a Session,
    class: u8,
}

impl Session {
    /// Started exchanges of a priority class, from 0 (as they come, as with [`Session::alltoallv_init`]) to 255 (most urgent).
    ///
    /// Exchanges of different classes move at one time. At every rank, of those that send and of those that forward, chunks of a more
    /// urgent exchange leave before new chunks of the others, which go on with what it leaves them. Exchanges of one class move one
    /// at a time, in the order of the starts. Up to four classes, 0 among them, move at one time; further ones share the turn of the
    /// nearest. An exchange whose buffer memory does not fit `OPTIQ_BUDGET` beside those that were started before waits for them.
    /// Only messages of class 0 are packed in memory that the ranks of a host share. With `OPTIQ_TRACE` or `OPTIQ_POSTCARDS`, and with
    /// transports other than `two-sided`, exchanges of all classes move one at a time. What plain MPI serves has no class.
    pub fn priority_class(&self, class: u8) -> PriorityClass<'_> {
        PriorityClass { session: self, class }
    }

    /// Plans an exchange as [`Session::alltoallv`] would carry it out, for being started many times. Collective.
    ///
    /// # Errors
    /// As [`Session::alltoallv`].
    pub fn alltoallv_init<'a, T: mpi::traits::Equivalence>(
        &'a self,
        send: &'a mut [T],
        send_counts: &[usize],
        send_displacements: &[usize],
        receive: &'a mut [T],
        receive_counts: &[usize],
        receive_displacements: &[usize],
    ) -> Result<Persistent<'a, T>, Error> {
        let sides = (send_counts, send_displacements, receive_counts, receive_displacements);
        self.init_in_class(0, send, receive, sides)
    }

    /// [`Session::alltoallv_init`] in a priority class.
    fn init_in_class<'a, T: mpi::traits::Equivalence>(
        &'a self,
        class: u8,
        send: &'a mut [T],
        receive: &'a mut [T],
        (send_counts, send_displacements, receive_counts, receive_displacements): Lists<'_>,
    ) -> Result<Persistent<'a, T>, Error> {
        let from = self.side("send", send.as_mut_ptr(), send.len(), send_counts, send_displacements);
        let into = self.side("receive", receive.as_mut_ptr(), receive.len(), receive_counts, receive_displacements);
        let local = from.and_then(|f| Ok(Local::Bytes(f, into?)));
        let to_c_ints = |list: &[usize]| list.iter().map(|&x| c_int::try_from(x).ok()).collect::<Option<Vec<_>>>();
        let [a, b, c, d] = [send_counts, send_displacements, receive_counts, receive_displacements].map(to_c_ints);
        let equivalent = T::equivalent_datatype();
        let datatype = mpi::raw::AsRaw::as_raw(&equivalent);
        let kept = match (&local, &a, &b, &c, &d) {
            (Ok(_), Some(a), Some(b), Some(c), Some(d)) => {
                let arguments = Arguments {
                    send: if send.is_empty() { std::ptr::null() } else { send.as_ptr().cast() },
                    send_counts: a.as_ptr(),
                    send_displacements: b.as_ptr(),
                    send_type: datatype,
                    receive: if receive.is_empty() { std::ptr::null_mut() } else { receive.as_mut_ptr().cast() },
                    receive_counts: c.as_ptr(),
                    receive_displacements: d.as_ptr(),
                    receive_type: datatype,
                };
                // SAFETY: arrays that were checked to have as many elements as there are ranks; a valid datatype.
                Some(unsafe { FallbackArgs::new(&arguments, self.size() as usize)? })
            }
            _ => None,
        };
        let operation = self.init(local, kept, class)?;
        Ok(Persistent { session: self, operation, send, receive })
    }
}

impl<'a> PriorityClass<'a> {
    /// Plans an exchange of this class, which is started as any other. Collective, with the same class on all ranks.
    ///
    /// # Errors
    /// As [`Session::alltoallv`]; [`Error::Argument`] on all ranks if they have different classes.
    pub fn alltoallv_init<T: mpi::traits::Equivalence>(
        &self,
        send: &'a mut [T],
        send_counts: &[usize],
        send_displacements: &[usize],
        receive: &'a mut [T],
        receive_counts: &[usize],
        receive_displacements: &[usize],
    ) -> Result<Persistent<'a, T>, Error> {
        let sides = (send_counts, send_displacements, receive_counts, receive_displacements);
        self.session.init_in_class(self.class, send, receive, sides)
    }
}

impl<T> Persistent<'_, T> {
    /// Starts it; returns at once. Collective in the sense of MPI: all ranks start their exchanges in the same order.
    ///
    /// # Errors
    /// [`Error::Argument`] if it is active; what MPI reports.
    pub fn start(&mut self) -> Result<(), Error> {
        // SAFETY: both buffers are borrowed by `self`, which lends them out only while it is not active.
        unsafe { self.session.start(&mut self.operation) }
    }

    /// Makes progress without waiting; whether it is complete.
    ///
    /// # Errors
    /// Why it failed; the receive buffer is unspecified then.
    pub fn test(&mut self) -> Result<bool, Error> {
        self.session.test(&mut self.operation)
    }

    /// Waits until it is complete.
    ///
    /// # Errors
    /// Why it failed; the receive buffer is unspecified then.
    pub fn wait(&mut self) -> Result<(), Error> {
        self.session.wait(&mut self.operation)
    }

    /// What serves it, and why.
    pub fn decision(&self) -> &Decision {
        self.operation.decision()
    }

    /// Both buffers, the one that is sent and the one that is received into.
    ///
    /// # Errors
    /// [`Error::Argument`] if it is active.
    pub fn buffers(&mut self) -> Result<(&mut [T], &mut [T]), Error> {
        if self.operation.is_active() {
            return Err(Error::Argument("the exchange is active; its buffers must not be touched".into()));
        }
        Ok((self.send, self.receive))
    }
}

impl<T> Drop for Persistent<'_, T> {
    fn drop(&mut self) {
        if self.operation.is_active()
            && let Err(error) = self.session.wait(&mut self.operation)
        {
            log::error!("an exchange that was dropped while it was active: {error}");
        }
    }
}
