//! The tables of `docs/results/booksim.md`: load-latency curves beside those of BookSim2, over longer times than the tests'.
//! `cargo bench -p optiq-sim --bench booksim`, some minutes; `cargo xtask results --only booksim` makes the page.
#![allow(clippy::unwrap_used, reason = "a benchmark")]

#[path = "../tests/booksim/curves.rs"]
mod curves;

use curves::{CYCLE, Curve, Point, compare, file};
use optiq_sim::Model;
use optiq_sim::model::Pipeline;
use optiq_sim::time::Time;

/// Routers without a pipeline, that take as long for a packet without contention.
fn without_pipeline(curve: &Curve) -> Model {
    let mut model = curve.model.clone();
    let Pipeline { cycle_picoseconds, speedup, routing_steps, .. } = model.router.pipeline.take().unwrap();
    // Routing, allocation of a virtual channel and of the switch, the switch.
    let steps = u64::from(routing_steps) + 3;
    let delay = (Time::picoseconds(cycle_picoseconds) * steps).div_ceil(u64::from(speedup)).next_multiple_of(CYCLE);
    model.router.delay_picoseconds = delay.as_picoseconds();
    model
}

fn main() {
    let file = file();
    println!("BookSim2 at commit {}.", file.commit);
    for mut curve in file.curve {
        curve.cycles *= 4;
        println!(
            "\n## {}\n\nOurs: `{}`, routing {}. BookSim: `{}`.\n",
            curve.name, curve.topology, curve.routing, curve.booksim
        );
        println!("| load | | BookSim | its runs | anchors.md | ours | off, % | at most, % | without the pipeline |");
        println!("| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        let mut notes = String::new();
        for (c, plain) in compare(&curve, &curve.model).iter().zip(compare(&curve, &without_pipeline(&curve))) {
            let Point { load, booksim: [least, mean, most], published, except } = c.point;
            let (what, digits) = if c.is_latency { ("latency", 2) } else { ("accepted", 4) };
            let published = published.map_or(String::new(), |p| p.to_string());
            let most_off = if except.is_some() { "-".into() } else { format!("{:.0}", c.within() * 100.0) };
            println!(
                "| {load} | {what} | {mean:.digits$} | {least:.digits$} to {most:.digits$} | {published} | {:.digits$} | {:+.1} | {most_off} | {:.digits$} |",
                c.ours,
                c.off() * 100.0,
                plain.ours,
            );
            if let Some(why) = except {
                notes.push_str(&format!("\nLoad {load}: {why}\n"));
            }
        }
        print!("{notes}");
    }
}
