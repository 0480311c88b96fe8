//! Exchanges of several priority classes that move at one time: bytes are right in whatever order they are started and waited for, what
//! is urgent overtakes, and classes that are wrong are errors.

use crate::blocks::{Blocks, free, start, test, wait};
use crate::support::{expect, init, rank, size, succeeds};
use optiq::Status;
use optiq::c_api::{Request, optiq_finalize};
use optiq_net::random::SplitMix64;
use std::ffi::c_int;

/// More classes than channels, and one twice.
const CLASSES: [c_int; 7] = [0, 7, 255, 0, 1, 8, 200];
const ROUNDS: usize = 12;

/// Orders of the starts that all ranks draw alike, and orders of the waiting that each rank draws for itself; some ranks wait for one
/// exchange before they start the next one, as they may.
pub fn any_order() -> Result<(), String> {
    init()?;
    let bytes = [60_000, 100, 9_000, 300, 20_000, 1, 5_000];
    let mut blocks: Vec<Blocks> = bytes.into_iter().map(Blocks::new).collect();
    let mut requests = Vec::new();
    for (blocks, class) in blocks.iter_mut().zip(CLASSES) {
        requests.push(blocks.init_class(class)?);
    }
    let mut blocking = Blocks::new(3000);
    let (mut alike, mut own) = (SplitMix64::new(3), SplitMix64::new(u64::from(rank()) + 100));
    for round in 0..ROUNDS {
        blocks.iter_mut().for_each(|b| b.fill(round));
        let order = shuffled(&mut alike, CLASSES.len());
        let blocks_before_start = alike.below(2 * CLASSES.len() as u64) as usize;
        let mut waits = shuffled(&mut own, CLASSES.len());
        for (at, &next) in order.iter().enumerate() {
            if at == blocks_before_start {
                blocking.fill(round);
                succeeds("a blocking call", blocking.block())?;
                blocking.arrived(round)?;
            }
            start(&mut requests[next])?;
            match own.below(4) {
                0 => wait(&mut requests[next])?,
                1 => drop(test(&mut requests[own.below(CLASSES.len() as u64) as usize])?),
                _ => {}
            }
        }
        while let Some(next) = waits.pop() {
            wait(&mut requests[next])?;
            blocks[next].arrived(round)?;
        }
    }
    one_shot()?;
    requests.iter_mut().try_for_each(free)?;
    succeeds("optiq_finalize", optiq_finalize())
}

/// Exchanges that are planned and started in one call while others move.
fn one_shot() -> Result<(), String> {
    for round in 0..4 {
        let mut blocks: Vec<Blocks> = [80_000, 2_000, 500].into_iter().map(Blocks::new).collect();
        let mut requests = [0; 3];
        for ((blocks, request), class) in blocks.iter_mut().zip(&mut requests).zip([0, 255, 3]) {
            blocks.fill(round);
            succeeds("optiq_ialltoallv_class", blocks.planned(class, true, request))?;
        }
        for (blocks, request) in blocks.iter().zip(&mut requests).rev() {
            wait(request)?;
            blocks.arrived(round)?;
            free(request)?;
        }
    }
    Ok(())
}

fn shuffled(random: &mut SplitMix64, length: usize) -> Vec<usize> {
    let mut list: Vec<usize> = (0..length).collect();
    for i in (1..length).rev() {
        list.swap(i, random.below(i as u64 + 1) as usize);
    }
    list
}

/// A small urgent exchange that is started behind a large one ends before it in most rounds if `overtakes` is `yes`; one of the same class
/// never does. The large one is not held up for good.
pub fn overtake(overtakes: &str) -> Result<(), String> {
    init()?;
    let (mut large, mut urgent, mut alike) = (Blocks::new(3_000_000), Blocks::new(1000), Blocks::new(1000));
    let mut bulk = large.init()?;
    let mut small: [Request; 2] = [urgent.init_class(9)?, alike.init_class(0)?];
    let mut earlier = [0; 2];
    for round in 0..10 {
        let which = round % 2;
        large.fill(round);
        let blocks = if which == 0 { &mut urgent } else { &mut alike };
        blocks.fill(round);
        start(&mut bulk)?;
        start(&mut small[which])?;
        wait(&mut small[which])?;
        earlier[which] += usize::from(!test(&mut bulk)?);
        blocks.arrived(round)?;
        wait(&mut bulk)?;
        large.arrived(round)?;
    }
    let expected = if overtakes == "yes" { earlier[0] >= 3 } else { earlier[0] == 0 };
    if !expected || earlier[1] != 0 {
        return Err(format!("of 5 rounds each, the small one ended first in {earlier:?}"));
    }
    small.iter_mut().chain([&mut bulk]).try_for_each(free)?;
    succeeds("optiq_finalize", optiq_finalize())
}

/// Classes out of range, on all ranks and on one, and classes that differ; afterwards exchanges work.
pub fn wrong() -> Result<(), String> {
    init()?;
    let mut blocks = Blocks::new(10_000);
    let mut request = 0;
    for starts in [false, true] {
        for class in [-1, 256, c_int::MAX] {
            let text = format!("the class {class} is given; 0 to 255 are expected");
            expect("a class out of range", blocks.planned(class, starts, &mut request), Status::Argument, &text)?;
            let mine = if rank() == 1 { class } else { 3 };
            let status = blocks.planned(mine, starts, &mut request);
            let text = if rank() == 1 { text } else { "rank 1".into() };
            expect("a class out of range at rank 1", status, Status::Argument, &text)?;
        }
        let mine = if rank() == 0 { 0 } else { 5 + (rank() % 2) as c_int };
        let greatest = if size() > 1 { 6 } else { 5 };
        let text = format!("the priority class is not the same on all ranks: 0 is the least, {greatest} the greatest");
        expect("different classes", blocks.planned(mine, starts, &mut request), Status::Argument, &text)?;
        if request != 0 {
            return Err("a handle after an error".into());
        }
        for class in [0, 255] {
            blocks.fill(class as usize);
            succeeds("planning after errors", blocks.planned(class, starts, &mut request))?;
            if !starts {
                start(&mut request)?;
            }
            wait(&mut request)?;
            blocks.arrived(class as usize)?;
            free(&mut request)?;
        }
    }
    succeeds("optiq_finalize", optiq_finalize())
}
