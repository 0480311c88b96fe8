//! The schemas of the JSON documents that commands print: a name and a version in every document, and a JSON Schema for each
//! in `optiq-cli/schemas/`, which is installed and which tests hold real documents against (`optiq-cli/tests/schemas.rs`).
//!
//! A key that is added leaves the version as it is; one that is renamed, removed or changes its meaning raises it.

/// Declares the schemas from lines `Name: "name"`, of version 1, or `Name: "name" / version`.
macro_rules! schemas {
    ($($(#[$attribute:meta])* $variant:ident: $name:literal $(/ $version:literal)?,)*) => {
        /// What a document is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "some commands need MPI"))]
        pub enum Schema {
            $($(#[$attribute])* $variant,)*
        }

        impl Schema {
            /// As documents have it: `optiq-plan/1`.
            pub fn id(self) -> &'static str {
                match self {
                    $(Schema::$variant => schemas!(@id $name $($version)?),)*
                }
            }
        }

        /// The JSON Schemas: the names of their files, and what is in them.
        pub const FILES: &[(&str, &str)] =
            &[$((concat!($name, ".json"), include_str!(concat!("../schemas/", $name, ".json"))),)*];
    };
    (@id $name:literal) => {
        concat!("optiq-", $name, "/1")
    };
    (@id $name:literal $version:literal) => {
        concat!("optiq-", $name, "/", $version)
    };
}

schemas! {
    /// `optiq topology`.
    Topology: "topology",
    /// `optiq fabric import`.
    FabricImport: "fabric-import",
    /// `optiq fabric show`.
    FabricShow: "fabric-show",
    /// `optiq paths`.
    Paths: "paths",
    /// `optiq plan`.
    Plan: "plan",
    /// `optiq plan --links FILE.json`.
    PlanLinks: "plan-links",
    /// `optiq explain`.
    Explain: "explain",
    /// `optiq transfers plan`.
    TransfersPlan: "transfers-plan",
    /// `optiq transfers run`.
    TransfersRun: "transfers-run",
    /// `optiq transfers show`.
    TransfersShow: "transfers-show",
    /// `optiq simulate`.
    Simulate: "simulate",
    /// `optiq simulate --goal`.
    SimulateGoal: "simulate-goal",
    /// `optiq simulate --jobs`.
    SimulateJobs: "simulate-jobs",
    /// `optiq interfere`.
    Interfere: "interfere",
    /// `optiq congestion`.
    Congestion: "congestion",
    /// `optiq sweep`, and its `sweep.json`.
    Sweep: "sweep",
    /// A run of `optiq sweep`.
    SweepRun: "sweep-run",
    /// `optiq sweep --plan-only`.
    SweepPlan: "sweep-plan",
    /// `optiq postcards join`.
    PostcardsJoin: "postcards-join",
    /// `optiq postcards record`.
    PostcardsRecord: "postcards-record",
    /// `optiq throttle`.
    Throttle: "throttle",
    /// `optiq cures`.
    Cures: "cures",
    /// `optiq reproduce`.
    Reproduce: "reproduce",
    /// `optiq lab up`, and `optiq lab status` of one lab.
    Lab: "lab",
    /// `optiq lab rate` and its like, of the links that they change.
    LabLinks: "lab-links",
    /// `optiq lab load`.
    LabLoad: "lab-load",
    /// `optiq lab counters`.
    LabCounters: "lab-counters",
    /// `optiq lab status` of all labs.
    LabList: "lab-list",
    /// `optiq lab down`.
    LabDown: "lab-down",
    /// `optiq lab run` and `exec`.
    LabOutcome: "lab-outcome",
    /// `optiq lab run` of several jobs.
    LabOutcomes: "lab-outcomes",
    /// `optiq lab jobs`.
    LabJobs: "lab-jobs",
    /// `optiq bench alltoallv` of one case.
    BenchAlltoallv: "bench-alltoallv",
    /// `optiq bench alltoallv` of many cases.
    BenchAlltoallvCases: "bench-alltoallv-cases",
    /// `optiq bench calls`.
    BenchCalls: "bench-calls",
    /// `optiq bench classes`.
    BenchClasses: "bench-classes",
    /// `optiq bench io`.
    BenchIo: "bench-io",
    /// `optiq bench job`.
    BenchJob: "bench-job",
    /// `optiq probe impact`, `compression`, `link` and `proxy`.
    ProbeRun: "probe-run",
    /// `optiq probe predict`.
    ProbePredict: "probe-predict",
    /// `optiq calibrate`.
    Calibrate: "calibrate",
    /// `optiq demo`.
    Demo: "demo",
    /// `optiq trace`.
    Trace: "trace",
    /// `optiq profile show`.
    Profile: "profile",
    /// `optiq profile`, of what it would run.
    ProfileRun: "profile-run",
    /// The file of a rank, which the preload library writes.
    #[allow(dead_code, reason = "not written by the command")]
    ProfileRank: "profile-rank" / 2,
    /// `optiq traffic`.
    Traffic: "traffic",
    /// `optiq wrap`.
    Wrap: "wrap",
    /// `optiq info`.
    Info: "info",
    /// `optiq info -c`.
    InfoOptions: "info-options",
    /// `optiq info --constants`.
    InfoConstants: "info-constants",
    /// `optiq info --discovery`.
    InfoDiscovery: "info-discovery",
    /// `optiq info --scores`.
    InfoScores: "info-scores",
    /// `optiq generate`.
    Generate: "generate",
}
