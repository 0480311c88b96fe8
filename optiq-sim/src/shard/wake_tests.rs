//! A channel is awake whenever it could send: results would otherwise depend on what else wakes it up.

use super::state::{Shard, SwitchDesign};
use crate::engine::observer::Observation;
use crate::model::{Model, Queues};
use crate::nic::program::Program;
use crate::options::RunOptions;
use crate::router::policy::Policy;
use crate::simulation::simulate;
use crate::time::Time;
use crate::workload::synthetic::{Gaps, Open, Pattern, Sizes};
use optiq_net::Network;

impl<O: Observation> Shard<'_, O> {
    /// Looks at all channels after everything that happens at a time; in tests of this crate only.
    pub(super) fn check_wakes(&mut self) {
        if self.design == SwitchDesign::OutputQueues {
            return self.check_outputs_wake();
        }
        for channel in 0..self.fabric.channels.len() as u32 {
            let info = self.fabric.channels[channel as usize];
            let (waiting, busy_until, wake_at) = self.channel_state(channel);
            if info.injects || waiting == 0 || busy_until > self.now {
                continue;
            }
            let first = self.fabric.first_input[info.from as usize];
            for bit in 0..self.fabric.first_input[info.from as usize + 1] - first {
                let vc = self.fabric.inputs[(first + bit) as usize];
                if self.has_requested(vc, channel) {
                    let (ready, _) = self.ready(channel, vc);
                    let slept = ready <= self.now || (ready < Time::NEVER && wake_at > ready);
                    assert!(!slept, "channel {channel} at {:?}: ready at {ready:?}, wakes up at {wake_at:?}", self.now);
                }
            }
        }
    }
}

/// As the programs below are run.
fn run_short_of_space(spec: &str, model: &Model, routing: Policy, seed: u64) {
    let network = Network::from_spec(spec).unwrap();
    let hosts = network.hosts() as u32;
    let sizes = Sizes::Either(3000, 20_000);
    let gaps = Gaps::Poisson(Time::picoseconds(8_000_000));
    let open = Open { pattern: Pattern::Uniform, gaps, sizes, messages: 6, hosts };
    let programs = (0..hosts).map(|_| Box::new(open.clone()) as Box<dyn Program>).collect();
    simulate(&network, model, programs, &RunOptions { seed, routing, ..RunOptions::default() }).unwrap();
}

#[test]
fn channels_wake_up_when_they_can_send() {
    for (spec, preset, routing) in [
        ("torus:4x2x2x4x2,capacity=2GB/s", "bgq", Policy::Fabric),
        ("torus:4x2x2x4x2,capacity=2GB/s", "bgq", Policy::MinimalAdaptive),
        ("torus:6,capacity=2GB/s", "bgq", Policy::Fabric),
        ("fattree:3x3x2:1x3x2,capacity=12.5GB/s", "fattree-12.5", Policy::Fabric),
        ("fattree:3x3x2:1x3x2,capacity=12.5GB/s", "fattree-12.5", Policy::AdaptiveUp),
        ("dragonfly:p=2,a=4,h=2", "edison", Policy::Fabric),
        ("dragonfly:p=2,a=4,h=2", "edison", Policy::Par),
        ("dragonfly+:p=2,l=2,s=2,h=2", "dragonfly+3456", Policy::Fpar { threshold: 0.5 }),
    ] {
        for eager in [2048, u64::MAX] {
            for queues in [Queues::Inputs, Queues::Outputs] {
                let mut model = Model::read(preset).unwrap();
                model.host.eager_bytes = eager;
                model.router.buffer_bytes = 4096;
                model.router.queues = queues;
                run_short_of_space(spec, &model, routing, eager);
            }
        }
    }
}
