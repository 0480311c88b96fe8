//! A simulated exchange in one call: what planners and MPI make of the same demands.
#![allow(clippy::unwrap_used, reason = "tests")]

use optiq_lower::choices::LegsChoice;
use optiq_net::{Network, NodeId};
use optiq_sim::model::{Carry, Pipeline};
use optiq_sim::simulated_exchange::method::{Executor, MpiAlgorithm, TransferMethod};
use optiq_sim::simulated_exchange::run::{ExchangeSetting, SimulatedRun, simulate_exchange};
use optiq_sim::{Model, Recording, RunOptions, SimError};
use optiq_solver::demands::Demand;
use optiq_solver::pipeline::{self, PlanOptions};
use optiq_transport::ScheduleOptions;

/// Half around a ring of four, where there are two paths.
fn run(method: TransferMethod, carry: Carry) -> SimulatedRun {
    let network = Network::from_spec("torus:4").unwrap();
    let model = Model::default();
    let demands = [Demand::new(NodeId(0), NodeId(2), 8_000_000)];
    let executor = Executor { legs: LegsChoice::Planned, carry, ..Executor::of(&model) };
    let setting = ExchangeSetting { network: &network, model: &model, demands: &demands, executor };
    let options = RunOptions { series: Recording::Links, ..RunOptions::default() };
    simulate_exchange(setting, method, &options).unwrap()
}

#[test]
fn plans_beat_mpi_where_there_are_two_paths_and_keep_the_link_bound() {
    let linear = run(TransferMethod::Mpi(MpiAlgorithm::Linear), Carry::TwoSided);
    assert_eq!((&*linear.name, linear.paths), ("mpi-linear", 1));
    assert!(linear.executor.is_none() && linear.flow_seconds.is_some());
    for carry in [Carry::TwoSided, Carry::OneSided] {
        let options = PlanOptions { planner: optiq_solver::planner::PlannerName::Heuristic2, ..PlanOptions::default() };
        let planned = run(TransferMethod::PlanWith(Box::new(options), ScheduleOptions::default()), carry);
        assert_eq!((&*planned.name, planned.paths), ("heu2", 2));
        assert!(planned.link_bound < 0.51 * linear.link_bound);
        for found in [&linear, &planned] {
            assert!(found.finished() && found.seconds() >= found.link_bound);
            assert!(found.exchanged.outcome.payload_bytes >= 8_000_000);
            assert!(found.exchanged.outcome.series.is_some());
        }
        assert!(planned.seconds() < 0.6 * linear.seconds(), "{} {}", planned.seconds(), linear.seconds());
    }
}

/// A plan that is made beforehand gives the same run as one that is made in the call.
#[test]
fn a_plan_is_made_before_or_in_the_call() {
    let network = Network::from_spec("torus:4").unwrap();
    let demands = [Demand::new(NodeId(0), NodeId(2), 8_000_000)];
    let options = PlanOptions { planner: optiq_solver::planner::PlannerName::Heuristic2, ..PlanOptions::default() };
    let planned = pipeline::run(&network, &demands, &options).unwrap();
    let schedule = ScheduleOptions::default;
    let before = run(TransferMethod::Planned(Box::new(planned), schedule()), Carry::TwoSided);
    let within = run(TransferMethod::PlanWith(Box::new(options), schedule()), Carry::TwoSided);
    assert_eq!(before.exchanged.outcome.fingerprint(), within.exchanged.outcome.fingerprint());
}

#[test]
fn a_plan_of_other_demands_is_refused() {
    let network = Network::from_spec("torus:4").unwrap();
    let (model, options) = (
        Model::default(),
        PlanOptions { planner: optiq_solver::planner::PlannerName::Heuristic2, ..PlanOptions::default() },
    );
    let planned = pipeline::run(&network, &[Demand::new(NodeId(0), NodeId(2), 100)], &options).unwrap();
    let demands = [Demand::new(NodeId(1), NodeId(3), 100)];
    let executor = Executor::of(&model);
    let setting = ExchangeSetting { network: &network, model: &model, demands: &demands, executor };
    let found = setting.prepare(TransferMethod::Planned(Box::new(planned), ScheduleOptions::default()));
    assert!(matches!(found.err(), Some(SimError::Lowering(_))));
}

/// A host with 400 packets for each of its four neighbours, each as long as 64 cycles of a link of a byte a nanosecond. Through one input of
/// its router they cross one after the other, 1,600 times 64 ns; through an input for each link all four links send at one time.
#[test]
fn routers_with_a_pipeline_have_one_memory_input_or_one_for_each_link() {
    let network = Network::from_spec("torus:4x4,capacity=1GB/s").unwrap();
    let demands = [1, 3, 4, 12].map(|to| Demand::new(NodeId(0), NodeId(to), 400 * 64));
    let nanoseconds = |memory_input_per_link| {
        let mut model = Model::default();
        model.link.packet_bytes = 64;
        model.router.pipeline = Some(Pipeline { memory_input_per_link, ..Pipeline::default() });
        let setting =
            ExchangeSetting { network: &network, model: &model, demands: &demands, executor: Executor::of(&model) };
        let method = TransferMethod::Mpi(MpiAlgorithm::Linear);
        simulate_exchange(setting, method, &RunOptions::default()).unwrap().seconds() * 1e9
    };
    let (links, crossing) = (400.0 * 64.0, 1600.0 * 64.0);
    let (one, each) = (nanoseconds(false), nanoseconds(true));
    // Latencies, and a few steps for each packet.
    assert!((crossing..crossing * 1.1).contains(&one), "{one}");
    assert!((links..links * 1.1).contains(&each), "{each}");
}
