//! The steps of routers with a clock; `router/pipeline.rs` says what happens when.

use super::state::Shard;
use crate::engine::observer::Observation;
use crate::engine::store::NONE;
use crate::model::Allocator;
use crate::router::channels::Request;
use crate::router::pipeline::{Pipelines, Stage, round_robin_order};
use crate::time::Time;

impl<O: Observation> Shard<'_, O> {
    /// The router at the beginning of a channel makes a step, unless it has made one at this time already, or it is not the
    /// time for one; and it makes another one as long as something waits there.
    pub(super) fn step(&mut self, channel: u32) {
        let Some(mut p) = self.pipelines.take() else { return };
        let Some(model) = &self.model.router.pipeline else { return };
        let router = self.fabric.channels[channel as usize].from;
        let now = self.now;
        if now.is_multiple_of(p.step) && p.stepped[router as usize] != now {
            p.stepped[router as usize] = now;
            self.step_router(&mut p, router, model.allocator, u64::from(model.routing_steps));
        }
        let outputs = &p.outputs[router as usize];
        if outputs.iter().any(|&o| self.outputs[o as usize].waiting > 0) {
            // One wake-up for all of them.
            self.wake(outputs[0], p.step * (now / p.step + 1));
        }
        self.pipelines = Some(p);
    }

    fn step_router(&mut self, p: &mut Pipelines, router: u32, allocator: Allocator, routing: u64) {
        let now = self.now;
        let first_input = self.fabric.first_input[router as usize];
        let words = self.fabric.words_of(router);
        p.requests.clear();
        p.crossings.clear();
        for i in 0..p.outputs[router as usize].len() {
            let output = p.outputs[router as usize][i];
            if self.outputs[output as usize].waiting == 0 {
                continue;
            }
            let info = self.fabric.channels[output as usize];
            for word in 0..words {
                let mut set = self.outputs[output as usize].requests.words()[word as usize];
                while set != 0 {
                    let vc = self.fabric.inputs[(first_input + word * 64 + set.trailing_zeros()) as usize];
                    set &= set - 1;
                    let stage = &mut p.stages[vc as usize];
                    if stage.requests_at == Time::NEVER {
                        stage.requests_at = stage.free_at.max(now) + p.step * routing;
                    }
                    let Request { bytes, class, .. } = self.buffers[vc as usize].request;
                    if stage.lane == NONE {
                        if stage.requests_at > now {
                            continue;
                        }
                        let lanes = if info.ejects && self.fabric.direct {
                            info.first_vc..info.first_vc + info.vcs
                        } else {
                            let first = info.class(class, self.fabric.lanes);
                            first..first + self.fabric.lanes
                        };
                        p.requests.extend(lanes.filter(|&l| p.held_until[l as usize] <= now).map(|lane| (vc, lane)));
                    } else if stage.since < now {
                        let (lane, input) = (stage.lane, Pipelines::input_of(self.fabric, vc));
                        let free = p.read_until[input as usize] <= now && p.switch_until[output as usize] <= now;
                        if free && (info.ejects || self.credits.free(lane, self.now) >= bytes) {
                            p.crossings.push((input, output, vc));
                        }
                    }
                }
            }
        }
        p.channels.allocate(allocator, &mut p.requests);
        for &(vc, lane) in &p.requests {
            let stage = &mut p.stages[vc as usize];
            (stage.lane, stage.since) = (lane, now);
            p.held_until[lane as usize] = Time::NEVER;
        }
        // Of the buffers of an input that request one output, one takes part.
        p.crossings.sort_unstable_by_key(|&(i, o, vc)| (i, o, round_robin_order(p.buffer_pointer[i as usize], vc)));
        p.crossings.dedup_by_key(|c| (c.0, c.1));
        p.requests.clear();
        p.requests.extend(p.crossings.iter().map(|c| (c.0, c.1)));
        p.switch.allocate(allocator, &mut p.requests);
        for i in 0..p.requests.len() {
            let (input, output) = p.requests[i];
            let Ok(at) = p.crossings.binary_search_by_key(&(input, output), |c| (c.0, c.1)) else { continue };
            let vc = p.crossings[at].2;
            p.buffer_pointer[input as usize] = vc + 1;
            self.cross(p, input, output, vc);
        }
    }

    /// The packet at the head of a buffer crosses the switch.
    fn cross(&mut self, p: &mut Pipelines, input: u32, output: u32, vc: u32) {
        let now = self.now;
        let head = self.buffers[vc as usize].head;
        let lane = p.stages[vc as usize].lane;
        self.withdraw(output, self.buffers[vc as usize].bit);
        let packet = self.packets.get(head);
        let (next, bytes, tail) = (packet.next, packet.bytes, packet.tail);
        let buffer = &mut self.buffers[vc as usize];
        buffer.head = next;
        if next == NONE {
            buffer.tail = NONE;
        }
        let from = self.fabric.channels[self.fabric.channel_of_vc[vc as usize] as usize];
        let to = self.fabric.channels[output as usize];
        let takes = to.rate.time(u64::from(bytes)) * p.step.as_picoseconds() / p.cycle.as_picoseconds();
        // The step in which the tail is read: not before it has arrived, a cycle before it could leave.
        let last = (now + takes.saturating_sub(p.step)).max(tail.saturating_sub(p.cycle));
        p.read_until[input as usize] = now + takes.max(p.step);
        p.switch_until[output as usize] = now + takes.max(p.step);
        p.held_until[lane as usize] = last + p.step;
        p.stages[vc as usize] =
            Stage { free_at: last + p.step, requests_at: Time::NEVER, lane: NONE, since: Time::ZERO };
        let through = (now + p.step * 2).next_multiple_of(p.cycle).max(p.cycle);
        let start = (through - p.cycle).max(now).max(self.outputs[output as usize].busy_until);
        self.transmit_from(start, output, head, lane);
        let delay = self.model.router.pipeline.as_ref().map_or(0, |m| m.credit_delay_picoseconds);
        let read = p.cycle * (last / p.cycle) + p.cycle;
        self.give_back(vc, read + from.latency + Time::picoseconds(delay), bytes);
        if next != NONE {
            self.freed.push(vc);
        }
    }
}
