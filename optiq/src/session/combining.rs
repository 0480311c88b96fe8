//! Combined messages of the ranks of a node, for calls that ranks do not agree on, and such that they agree to leave to MPI.

use super::agree::Agreement;
use super::arguments::{Arguments, ByMpi};
use super::calibration::messages_in_a_row;
use super::outcome::Outcome;
use super::plans::Row;
use super::setup::Fabric;
use super::sides::sides_of_each;
use super::small_calls::{Form, Served, Way};
use super::state::Session;
use crate::constants::COMBINED_MESSAGE_BYTES;
use crate::error::Error;
use optiq_lower::choices::CombineChoice;
use optiq_lower::combining::{CombiningCosts, NodeTraffic, schedule};
use optiq_lower::decide::Decision;
use optiq_lower::model::CostModel;
use optiq_transport::mpi::{Combined, CombinedOptions, Sides, check, ffi};
use optiq_transport::{Execution, Rank};
use std::ffi::c_int;
use std::sync::Arc;
use std::time::Instant;

/// The ranks of each host, by host, and how many carry messages.
fn nodes(fabric: &Fabric, ranks: u32) -> Vec<Vec<Rank>> {
    let mut hosts: Vec<_> = (0..ranks).map(|r| fabric.placement.host(Rank(r))).collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts.into_iter().map(|host| fabric.placement.ranks(host).to_vec()).collect()
}

impl Session {
    /// Below so many bytes of a host, a call is left to MPI or to combined messages. Where messages are small enough to be combined, even a plan
    /// without any time on links would have to win back an agreement as it is as a rule, not the shortest.
    pub(super) fn least_planned_bytes(&self, fabric: &Fabric, agreement: &Agreement) -> u64 {
        let least = fabric.least_bytes();
        let combine = &self.config.combine;
        let fits = agreement.message_bytes <= combine.message_bytes.unwrap_or(COMBINED_MESSAGE_BYTES);
        let combining = self.combining.borrow();
        let may_combine =
            combine.choice != CombineChoice::No && !(combining.is_settled && combining.combined.is_none());
        if !(fits && may_combine && fabric.shared.is_some()) {
            return least;
        }
        let usual = CostModel { agreement_seconds: fabric.usual_agreement_seconds, ..fabric.model };
        usual.least_bytes(fabric.network.unit_capacity())
    }

    /// Before `calls` calls that are left to MPI: makes what combined messages need, if they are predicted to pay, and chooses the radix;
    /// collective.
    pub(super) fn prepare_combining(&self, fabric: &Fabric, agreement: &Agreement, calls: u64) -> Result<(), Error> {
        let choice = self.config.combine.choice;
        let mut combining = self.combining.borrow_mut();
        let combining = &mut *combining;
        let is_due = calls > 0 && choice != CombineChoice::No && self.config.may_fall_back();
        if !is_due || (combining.is_settled && combining.combined.is_none()) {
            return Ok(());
        }
        let ranks = nodes(fabric, self.size());
        let most = ranks.iter().map(Vec::len).max().unwrap_or(0);
        if ranks.len() < 2 || most < 2 {
            combining.is_settled = true;
            return Ok(());
        }
        let count = ranks.len() as u32;
        let carriers = self.config.combine.carriers.unwrap_or(if fabric.shared_processors { 1 } else { most as u32 });
        let mut costs = CombiningCosts::new(&fabric.model, fabric.network.unit_capacity());
        // Every round waits for ranks to get a processor, as an agreement does.
        let usual = fabric.usual_agreement_seconds / messages_in_a_row(self.size());
        costs.latency_seconds = costs.latency_seconds.max(usual);
        let traffic = NodeTraffic { bytes: agreement.host_bytes, partners: agreement.partners };
        let (radix, seconds) = costs.best_radix(count, carriers, traffic).map_err(Error::BadPlan)?;
        let radix = self.config.combine.radix.unwrap_or(radix).min(count);
        let plain = costs.plain_seconds(self.size() - most as u32, agreement.host_bytes);
        if choice == CombineChoice::Auto && !combining.is_settled && seconds >= plain {
            return Ok(());
        }
        if combining.combined.is_some() && combining.radix == radix {
            return Ok(());
        }
        let schedule = schedule(count, radix, carriers).map_err(Error::BadPlan)?;
        let messages = schedule.messages.len();
        let rounds = schedule.rounds();
        match &mut combining.combined {
            Some(combined) => combined.follow(schedule),
            None => {
                combining.is_settled = true;
                let message_bytes = self.config.combine.message_bytes.unwrap_or(COMBINED_MESSAGE_BYTES);
                let options = CombinedOptions { budget: self.config.budget / 2, message_bytes };
                match Combined::new(&self.comm, ranks, schedule, options)? {
                    Ok(combined) => {
                        let (bytes, memory) = (combined.message_bytes(), combined.memory_bytes());
                        log::debug!(
                            "messages of up to {bytes} bytes are combined, in {memory} bytes of this host's memory"
                        );
                        combining.combined = Some(combined);
                    }
                    Err(reason) => {
                        if self.rank() == Rank(0) {
                            log::info!("messages of a host's ranks are not combined: {reason}");
                        }
                        return Ok(());
                    }
                }
                let always = choice == CombineChoice::Always;
                combining.calls.serve(if always { Served::Combined } else { Served::ByTheFaster });
            }
        }
        if self.rank() == Rank(0) {
            log::debug!(
                "combined messages: radix {radix}, {messages} messages of each host in {rounds} rounds, at most {} other hosts with bytes; \
                 predicted {seconds:.3e} s, {plain:.3e} s by MPI",
                traffic.partners
            );
        }
        combining.radix = radix;
        combining.calls.follow(if rounds == 1 { Form::Straight } else { Form::Rounds });
        combining.decision = Arc::new(Decision::Combined { hosts: count, radix, messages, rounds });
        Ok(())
    }

    /// A call without an agreement that asks who serves it. MPI's code, if MPI serves it, and whether the call was one of a row.
    ///
    /// # Safety
    /// As for `MPI_Alltoallv`.
    pub(crate) unsafe fn unagreed_call(
        &self,
        sides: impl FnOnce() -> Result<Sides, Error>,
        by_mpi: impl FnOnce() -> c_int,
    ) -> Result<(c_int, bool), Error> {
        // SAFETY: passed on.
        let (code, decision) = unsafe { self.small_call(sides, by_mpi)? };
        if log::max_level() >= log::LevelFilter::Info {
            self.log(&decision);
        }
        let is_of_row = Arc::ptr_eq(&decision, &self.row_decision);
        self.remember(Outcome { decision, planned: None, execution: Execution::default() });
        Ok((code, is_of_row))
    }

    /// A call that MPI serves or combined messages, as all ranks know; with what served it.
    ///
    /// # Safety
    /// As for `MPI_Alltoallv`.
    unsafe fn small_call(
        &self,
        sides: impl FnOnce() -> Result<Sides, Error>,
        by_mpi: impl FnOnce() -> c_int,
    ) -> Result<(c_int, Arc<Decision>), Error> {
        if let Some(row) = self.row.get().filter(|row| row.left > 0) {
            let start = Instant::now();
            let code = by_mpi();
            self.row.set(Some(Row { left: row.left - 1, seconds: row.seconds + start.elapsed().as_secs_f64(), ..row }));
            return Ok((code, Arc::clone(&self.row_decision)));
        }
        let way = self.combining.borrow_mut().calls.next();
        let start = Instant::now();
        let code = match way {
            Way::Mpi => by_mpi(),
            Way::Combined => {
                let sides = sides()?;
                self.combining.borrow_mut().with_combined(|combined| {
                    // SAFETY: passed on.
                    unsafe { combined.exchange(sides) }
                })?;
                ffi::MPI_SUCCESS as c_int
            }
        };
        let seconds = start.elapsed().as_secs_f64();
        let mut combining = self.combining.borrow_mut();
        combining.calls.record(way, seconds);
        let decision = if way == Way::Combined { &combining.decision } else { &combining.measured_decision };
        Ok((code, Arc::clone(decision)))
    }

    /// A call that ranks have agreed to leave to MPI, as there is too little to move or no plan pays; combined messages may serve it all the
    /// same. `decision` says why there is no plan.
    ///
    /// # Safety
    /// As for `MPI_Alltoallv`.
    pub(super) unsafe fn agreed_small_call(
        &self,
        arguments: Option<ByMpi<'_>>,
        decision: Arc<Decision>,
    ) -> Result<Outcome, Error> {
        match arguments {
            Some(by_mpi @ (ByMpi::Arguments(a) | ByMpi::Caller(_, Some(a))))
                if self.combining.borrow().combined.is_some() =>
            {
                let comm = self.plain.raw();
                // SAFETY: passed on.
                let sides = || unsafe { sides_of_each(&a, self.size()) };
                let plain = || match by_mpi {
                    ByMpi::Caller(call, _) => call(),
                    // SAFETY: passed on; on our duplicate of the caller's communicator.
                    ByMpi::Arguments(a) => unsafe { a.call(comm) },
                };
                // SAFETY: passed on.
                let (code, decision) = unsafe { self.small_call(sides, plain)? };
                check(code, "MPI_Alltoallv")?;
                Ok(Outcome { decision, planned: None, execution: Execution::default() })
            }
            arguments => {
                let start = Instant::now();
                // SAFETY: passed on.
                let outcome = unsafe { self.hand_over(arguments, decision)? };
                self.combining.borrow_mut().calls.agreed(start.elapsed().as_secs_f64());
                Ok(outcome)
            }
        }
    }

    /// The same with the arguments of `MPI_Alltoallv`, which `comm` carries if MPI serves it.
    ///
    /// # Safety
    /// As for `MPI_Alltoallv`.
    pub(crate) unsafe fn unagreed_alltoallv(&self, arguments: &Arguments, comm: ffi::MPI_Comm) -> Result<(), Error> {
        // SAFETY: passed on.
        let (code, _) =
            unsafe { self.unagreed_call(|| sides_of_each(arguments, self.size()), || arguments.call(comm))? };
        Ok(check(code, "MPI_Alltoallv")?)
    }
}
