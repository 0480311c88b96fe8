//! Where processes run, and of which jobs they are.
//!
//! A *process* is what a [`crate::Program`] runs on: it has a core of its own, and with it the processor's time, a stream of
//! random numbers and numbers for its messages. Processes on one host share the host's queues in memory and its channels, the
//! network interface, and nothing else. A *job* is a set of processes, and has statistics of its own.

use crate::error::SimError;
use optiq_net::fingerprint::Hasher;

/// The most jobs of a simulation: each has two histograms of 330 kB, and a counter on every channel, for each thread.
pub const MAX_JOBS: u16 = 256;

/// Where a process runs, and of which job it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Process {
    /// The host's number.
    pub host: u32,
    /// The job's number, below [`MAX_JOBS`].
    pub job: u16,
}

/// All processes of a simulation by number, and what each of their jobs is to the end of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    processes: Vec<Process>,
    /// Per job: it is measured.
    measured: Vec<bool>,
    /// Per job: its priority class. Empty while all are of class 0.
    classes: Vec<u8>,
}

impl Layout {
    /// Of processes, by number. Jobs are numbered from 0 on; one without processes has statistics of nothing. No job is
    /// measured yet: the run goes on until no event is left.
    pub fn new(processes: Vec<Process>) -> Self {
        let jobs = processes.iter().map(|process| usize::from(process.job) + 1).max().unwrap_or(1);
        Self { processes, measured: vec![false; jobs], classes: Vec::new() }
    }

    /// One job, with process `i` on host `i`.
    pub fn one_job(hosts: u32) -> Self {
        Self::new((0..hosts).map(|host| Process { host, job: 0 }).collect())
    }

    /// A job is measured: the run ends ([`crate::End::Measured`]) when all processes of all measured jobs have said
    /// [`crate::Host::done`], while the processes of other jobs, and those that are done, keep going until then. A process that
    /// never has anything to wait for, such as a server, says it when it starts.
    #[must_use]
    pub fn measure(mut self, job: u16) -> Self {
        let job = usize::from(job);
        if self.measured.len() <= job {
            self.measured.resize(job + 1, false);
        }
        self.measured[job] = true;
        self
    }

    /// The messages of a job are of this priority class: a network interface sends packets of higher classes before those of lower ones
    /// that wait in the same host (thesis 7.2.3). In the network packets of all classes are alike.
    #[must_use]
    pub fn with_class(mut self, job: u16, class: u8) -> Self {
        let job = usize::from(job);
        if class > 0 && self.classes.len() <= job {
            self.classes.resize(job + 1, 0);
        }
        if let Some(place) = self.classes.get_mut(job) {
            *place = class;
        }
        self
    }

    /// The priority class of a job's messages; 0 unless it was given.
    #[inline]
    pub fn class(&self, job: u16) -> u8 {
        self.classes.get(usize::from(job)).copied().unwrap_or(0)
    }

    /// The priority class of what a process sends.
    #[inline]
    pub(crate) fn class_of(&self, process: u32) -> u8 {
        if self.classes.is_empty() { 0 } else { self.class(self.processes[process as usize].job) }
    }

    /// Whether any job has a priority class.
    #[inline]
    pub(crate) fn has_classes(&self) -> bool {
        !self.classes.is_empty()
    }

    /// The processes, by number.
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// How many jobs there are.
    pub fn jobs(&self) -> usize {
        self.measured.len()
    }

    /// Whether the run ends when this job's processes, and those of all other measured jobs, are done.
    pub fn is_measured(&self, job: u16) -> bool {
        self.measured.get(usize::from(job)).copied().unwrap_or(false)
    }

    /// Whether any job is measured.
    pub(crate) fn has_measured(&self) -> bool {
        self.measured.contains(&true)
    }

    /// Whether process `i` is on host `i` and all are of one job, so that a process is as good as its host.
    pub(crate) fn is_by_host(&self) -> bool {
        self.jobs() == 1 && self.processes.iter().zip(0..).all(|(process, number)| process.host == number)
    }

    /// What messages call a process.
    pub(crate) fn name(&self, process: u32) -> String {
        match self.processes.get(process as usize) {
            Some(Process { host, job }) if !self.is_by_host() => {
                format!("process {process} (job {job}, host {host})")
            }
            _ => format!("host {process}"),
        }
    }

    /// Whether it fits a network of this number of hosts, and this number of programs.
    ///
    /// # Errors
    /// [`SimError::Workload`], a sentence that says what does not fit.
    pub(crate) fn check(&self, hosts: u32, programs: usize) -> Result<(), SimError> {
        let wrong = |text: String| Err(SimError::Workload(text));
        if self.jobs() > usize::from(MAX_JOBS) {
            return wrong(format!("{} jobs; at most {MAX_JOBS} are expected", self.jobs()));
        }
        if programs != self.processes.len() {
            return wrong(format!("{programs} programs for {} processes", self.processes.len()));
        }
        let has_processes = |job: usize| self.processes.iter().any(|process| usize::from(process.job) == job);
        if let Some(job) = (0..self.jobs()).find(|&job| self.measured[job] && !has_processes(job)) {
            return wrong(format!("job {job} is measured and has no processes"));
        }
        match self.processes.iter().zip(0u32..).find(|(process, _)| process.host >= hosts) {
            Some((Process { host, job }, number)) => {
                wrong(format!("process {number} of job {job} is on host {host}, but there are {hosts} hosts"))
            }
            None => Ok(()),
        }
    }

    /// Takes part in the fingerprint of a simulation.
    pub(crate) fn hash(&self, hasher: &mut Hasher) {
        for &Process { host, job } in &self.processes {
            hasher.u64(u64::from(host) << 16 | u64::from(job));
        }
        self.measured.iter().for_each(|&measured| hasher.u64(measured.into()));
        self.classes.iter().for_each(|&class| hasher.u64(class.into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_that_do_not_fit_are_refused() {
        let layout = Layout::new(vec![Process { host: 0, job: 0 }, Process { host: 4, job: 2 }]);
        assert_eq!((layout.jobs(), layout.is_by_host()), (3, false));
        assert!(layout.check(5, 2).is_ok());
        let refused = |hosts, programs| layout.check(hosts, programs).err().map(|e| e.to_string());
        assert_eq!(refused(4, 2).as_deref(), Some("process 1 of job 2 is on host 4, but there are 4 hosts"));
        assert_eq!(refused(5, 3).as_deref(), Some("3 programs for 2 processes"));
        let empty = layout.clone().measure(2).measure(1).check(5, 2);
        assert!(empty.is_err_and(|e| e.to_string() == "job 1 is measured and has no processes"));
        let many = Layout::new(vec![Process { host: 0, job: MAX_JOBS }]);
        assert!(many.check(1, 1).is_err_and(|e| e.to_string().contains("257 jobs")));
    }

    #[test]
    fn classes_are_given_job_by_job() {
        let plain = Layout::new(vec![Process { host: 0, job: 0 }, Process { host: 0, job: 2 }]);
        assert_eq!((plain.clone().with_class(1, 0), plain.has_classes()), (plain.clone(), false));
        let layout = plain.with_class(1, 3).with_class(0, 2).with_class(0, 1);
        assert_eq!((0..4).map(|job| layout.class(job)).collect::<Vec<_>>(), [1, 3, 0, 0]);
    }

    #[test]
    fn what_is_measured_is_said_job_by_job() {
        let layout = Layout::one_job(3);
        assert!(layout.is_by_host() && !layout.has_measured());
        assert_eq!(layout.name(2), "host 2");
        let layout = Layout::new(vec![Process { host: 1, job: 1 }]).measure(1);
        assert_eq!((layout.is_measured(0), layout.is_measured(1), layout.has_measured()), (false, true, true));
        assert_eq!(layout.name(0), "process 0 (job 1, host 1)");
    }
}
