//! What `optiq interfere` prints for people.

use super::found::Found;
use optiq_net::text_file::shorten;
use optiq_sim::jobs::adviser::Advice;
use optiq_sim::jobs::certificate::JobPair;
use optiq_sim::jobs::sharing::Basis;
use optiq_view::table;
use std::fmt::Write;

pub fn text(found: &Found<'_>) -> String {
    let &Found { file, network, certificate, .. } = found;
    let basis = match certificate.basis {
        Basis::Routes => "routes are known, what follows holds".to_owned(),
        Basis::AdaptiveEstimate => {
            format!("routers choose (routing {}): an estimate over shortest paths, no certificate", file.routing)
        }
        Basis::TiesEstimate => {
            "directions around rings are drawn: an estimate over shortest paths, no certificate".to_owned()
        }
    };
    let jobs = table::count(file.jobs.len(), "job");
    let mut out = format!("{}: {jobs} on {}; {basis}\n\n{}", file.title, network.spec(), job_table(found));
    for pair in &certificate.pairs {
        out += "\n";
        out += &pair_text(found, pair);
    }
    if let Some(advice) = found.advice {
        out += "\n";
        out += &advice_text(advice, found.most);
    }
    out
}

fn job_table(found: &Found<'_>) -> String {
    let head = ["job", "placement", "hosts", "ranks", "servers", "links", "bytes an operation"];
    let mut rows = vec![head.map(String::from).to_vec()];
    for ((entry, hosts), traffic) in found.file.jobs.iter().zip(&found.allocation.jobs).zip(&found.certificate.jobs) {
        rows.push(vec![
            entry.name.clone(),
            shorten(&entry.placement.to_string()),
            hosts.hosts.len().to_string(),
            hosts.ranks().to_string(),
            entry.servers.as_ref().map_or_else(|| "-".to_owned(), |rule| shorten(&rule.to_string())),
            traffic.links().to_string(),
            table::bytes(traffic.bytes()),
        ]);
    }
    table::list(&rows)
}

fn pair_text(found: &Found<'_>, JobPair { jobs, sharing }: &JobPair) -> String {
    let [a, b] = jobs.map(|job| &*found.file.jobs[job].name);
    if sharing.is_certified() {
        return format!("{a} and {b} share no host and no link: they cannot slow each other\n");
    }
    let verdict = match (sharing.basis.is_exact(), sharing.links.is_empty() && sharing.hosts.is_empty()) {
        (true, _) => "they can slow each other",
        (false, true) => "they meet on no shortest path, but routers may take others",
        (false, false) => "they are expected to meet",
    };
    let shared = [(sharing.hosts.len(), "host"), (sharing.links.len(), "link")];
    let shared = shared.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| table::count(n, what)).collect::<Vec<_>>();
    let shared = if shared.is_empty() { "no link".to_owned() } else { shared.join(" and ") };
    let mut out = format!("{a} and {b} share {shared}: {verdict}\n");
    let ([part_a, part_b], [much_a, much_b]) = (sharing.parts(), sharing.parts_much());
    for (this, part, much, that) in [(a, part_a, much_a, b), (b, part_b, much_b, a)] {
        let [part, much] = [part, much].map(table::percent);
        let _ = writeln!(out, "  of {this}'s bytes {part} pass a shared link, {much} one with much of {that}'s");
    }
    if !sharing.links.is_empty() && found.most > 0 {
        let mut rows = vec![vec!["  link".to_owned(), "lane".into(), a.to_owned(), b.to_owned()]];
        for shared in sharing.links.iter().take(found.most) {
            let link = found.network.link(shared.link);
            let ends = format!("  {} -> {}", found.network.name(link.from), found.network.name(link.to));
            let [of_a, of_b] = shared.bytes.map(table::bytes);
            rows.push(vec![ends, shared.lane.to_string(), of_a, of_b]);
        }
        out += &table::list(&rows);
        if let Some(more) = sharing.links.len().checked_sub(found.most).filter(|&more| more > 0) {
            let _ = writeln!(out, "  and {more} more");
        }
    }
    out
}

fn advice_text(advice: &Advice, most: usize) -> String {
    let tried = table::count(advice.candidates.len(), "placement");
    let mut out = format!("{tried} tried; those with which the jobs meet least:\n");
    let head = ["  placement", "servers", "placement_seed", "much shared", "shared", "links", "certified"];
    let mut rows = vec![head.map(String::from).to_vec()];
    let own = || "as in the file".to_owned();
    for candidate in advice.candidates.iter().take(most) {
        let score = &candidate.score;
        rows.push(vec![
            format!("  {}", candidate.placement.as_ref().map_or_else(own, ToString::to_string)),
            candidate.servers.as_ref().map_or_else(own, ToString::to_string),
            candidate.seed.to_string(),
            table::percent(score.parts_much),
            table::percent(score.parts),
            score.links.to_string(),
            if score.is_certified { "yes" } else { "no" }.to_owned(),
        ]);
    }
    out += &table::list(&rows);
    for (placement, servers, why) in &advice.refused {
        let [placement, servers] = [
            placement.as_ref().map_or_else(own, ToString::to_string),
            servers.as_ref().map_or_else(own, ToString::to_string),
        ];
        let _ = writeln!(out, "  does not fit: {placement}, servers {servers}: {why}");
    }
    out
}
