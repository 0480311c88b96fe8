//! Jobs with real messages: what a job has measured, and how several of them begin and end together.
//!
//! `optiq bench job` runs one program of a job file under `mpirun` (`bench::job`); what starts several of them beside each other,
//! such as `optiq lab jobs`, tells them when to go and when to end.

pub mod control;
pub mod probe_report;
pub mod samples;

use optiq_sim::jobs::program_spec::{AllToAllVAlgorithm, ProgramKind, ProgramSpec};

/// Whether a program can be run with real messages.
///
/// # Errors
/// One sentence, if not.
pub fn check_program(program: &ProgramSpec) -> Result<(), String> {
    match &program.kind {
        ProgramKind::Goal { .. } => {
            Err("goal: schedules hold the times of another machine; optiq simulate --goal simulates them".into())
        }
        ProgramKind::AllToAllV { algorithm: AllToAllVAlgorithm::Optiq, .. } => Err(
            "alltoallv with algorithm=optiq is a planned exchange, which optiq bench alltoallv measures; algorithm=linear or \
             pairwise is expected"
                .into(),
        ),
        ProgramKind::Idle => Err("idle sends nothing".into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn what_real_messages_cannot_do_is_refused() {
        for (program, expected) in [
            ("idle", Some("sends nothing")),
            ("alltoallv,demands=pattern:disjoint,message=1KB", Some("planned exchange")),
            ("alltoallv,demands=pattern:disjoint,message=1KB,algorithm=linear", None),
            ("pairs,message=1KB", None),
            ("io-read,request=1KB", None),
        ] {
            let found = check_program(&program.parse().unwrap());
            match expected {
                None => assert_eq!(found, Ok(()), "{program}"),
                Some(text) => assert!(found.clone().unwrap_err().contains(text), "{program}: {found:?}"),
            }
        }
    }
}
