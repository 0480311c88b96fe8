//! What `optiq postcards join` prints for people.

use super::summary::Summary;
use optiq_view::table;

fn seconds(ns: f64) -> String {
    table::seconds(ns / 1e9)
}

pub fn text(summary: &Summary<'_>) -> String {
    let (collection, joined) = (summary.collection, summary.joined);
    let mut out = format!(
        "{} of {}, {} written over\n{}: {} intact, {} with gaps, {} ambiguous; {} of no path\n",
        table::count(collection.postcards(), "postcard"),
        table::count(collection.components.len(), "component"),
        collection.overwritten(),
        table::count(joined.paths.len(), "path"),
        summary.intact(),
        summary.with_gaps(),
        summary.ambiguous(),
        table::count(joined.unused, "postcard"),
    );
    out += &format!(
        "clocks: up to {} apart, {}; what they say of {} of the packets is within {}\n",
        seconds(summary.skew_ns()),
        table::count(summary.parts(), "part"),
        table::percent(0.95),
        seconds(summary.clocks.residual_ns),
    );
    let legs = || summary.legs.iter().flatten();
    if legs().next().is_some() {
        let (count, unsure) = (legs().count(), legs().filter(|leg| leg.is_ambiguous).count());
        out += &format!("between ranks: taps tell what {} passed, {unsure} ambiguous\n", table::count(count, "leg"));
    }
    summary.notes.iter().for_each(|note| out += &format!("note: {note}\n"));
    let words = |list: &[&str]| list.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
    let mut rows = vec![words(&["component", "packets", "mean", "longest", "in all", "waited there"])];
    for (component, stay) in &summary.components {
        rows.push(vec![
            collection.name(*component).into(),
            stay.packets.to_string(),
            seconds(stay.mean_ns()),
            seconds(stay.most_ns),
            seconds(stay.total_ns),
            if matches!(summary.kind(*component), "switch" | "rank" | "tap") {
                table::bytes(stay.most_waiting_bytes.into())
            } else {
                "-".into()
            },
        ]);
    }
    out += &format!("\n{}", table::table(&rows));
    let mut rows = vec![words(&["sent by", "paths", "mean", "longest"])];
    for (context, stay) in &summary.lines {
        rows.push(vec![
            summary.line(*context),
            stay.packets.to_string(),
            seconds(stay.mean_ns()),
            seconds(stay.most_ns),
        ]);
    }
    if rows.len() > 1 {
        out += &format!("\n{}", table::table(&rows));
    }
    let mut rows = vec![words(&["slowest paths", "to", "took", "longest at", "for"])];
    for path in summary.slowest.iter().map(|&i| &joined.paths[i]) {
        let stay = |hop: &&optiq_trace::postcards::Hop| hop.left_ns - hop.arrived_ns;
        let Some(longest) = path.hops.iter().max_by(|a, b| stay(a).total_cmp(&stay(b))) else { continue };
        rows.push(vec![
            collection.name(path.packet.source).into(),
            collection.name(path.packet.destination).into(),
            seconds(path.duration_ns()),
            collection.name(longest.component).into(),
            seconds(stay(&longest)),
        ]);
    }
    if rows.len() > 1 {
        out += &format!("\n{}", table::table(&rows));
    }
    out
}
