//! The page of a fabric in a real browser: it is zoomed, moved, searched and filtered as people do it, and what it shows
//! is compared with numbers derived by hand. Skipped, with the reason, where there is no Chromium.
#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

#[path = "support/devtools.rs"]
mod devtools;
#[path = "support/profiled.rs"]
mod profiled;
mod support;

use devtools::{Browser, chromium};
use profiled::{file, profiled, two_jobs};
use serde_json::json;
use support::Folder;

/// Two leaves of two hosts each, and a spine.
const TREE: &str = "fattree:2x2:1x1";

fn open(folder: &Folder, page: &str) -> Option<Browser> {
    let chromium = chromium()?;
    let html = String::from_utf8(folder.read(page)).unwrap();
    assert!(!html.contains("http"), "the page refers to the network");
    Some(Browser::open(&chromium, &folder.path("browser"), &folder.path(page), (1200, 1000)))
}

/// The tooltip, a string for each row, cells joined by bars.
fn tip(browser: &mut Browser) -> Vec<String> {
    let text = "[...document.querySelectorAll('#tip:not([hidden]) strong, #tip:not([hidden]) tr')].map((e) => \
                e.tagName === 'TR' ? [...e.children].map((c) => c.textContent).join('|') : e.textContent)";
    serde_json::from_value(browser.value(text)).unwrap()
}

/// The names of the leaf of a host and of the spine, as the network has them.
fn leaf_and_spine(folder: &Folder) -> [String; 3] {
    let csv = folder.succeed(&format!("traffic --topology {TREE} --profile . --csv"));
    let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|l| l.split(',').collect()).collect();
    let up = |name: &str| rows.iter().find(|r| r[0] == name && r[3] != "0").unwrap()[1].to_owned();
    [up("h0"), up("h2"), up(&up("h0"))]
}

/// By hand (see `tests/profile.rs`): h0 sends 130 bytes and gets 1003, h2 sends 1000 and gets 120; the leaf of h0 sends 137 up.
#[test]
fn ends_are_read_by_pointing_at_them() {
    let folder = profiled("fabric-page");
    folder.succeed(&format!("traffic --topology {TREE} --profile . --report page.html --svg page.svg --json"));
    let [left, right, spine] = leaf_and_spine(&folder);
    let Some(mut browser) = open(&folder, "page.html") else { return };
    let place = browser.numbers(&format!("optiqFabric.placeOfEnd('h0', '{left}', 0.6)"));
    browser.mouse("mouseMoved", &place);
    let rows = tip(&mut browser);
    assert_eq!(rows[0], format!("h0 \u{2013} {left}"), "{rows:?}");
    assert_eq!(rows[1], format!("|from h0|from {left}"));
    assert_eq!(rows[2], "bytes|130 B|1.00 kB");
    // 1003 bytes are the most.
    assert_eq!(rows[4], "share of the busiest end|13.0 %|100.0 %");
    assert!(rows.contains(&"made by|h0 \u{2192} h2 120 B|h2 \u{2192} h0 1.00 kB".to_owned()), "{rows:?}");
    assert!(rows.contains(&"pairs of hosts|2|2".to_owned()), "{rows:?}");
    // The other end of a link first, if that is pointed at.
    let place = browser.numbers(&format!("optiqFabric.placeOfEnd('{spine}', '{left}', 0.6)"));
    browser.mouse("mouseMoved", &place);
    assert_eq!(tip(&mut browser)[2], "bytes|1.00 kB|137 B");
    // A host: in and out.
    let place = browser.numbers("optiqFabric.placeOf('h2')");
    browser.mouse("mouseMoved", &place);
    assert_eq!(tip(&mut browser)[1..], ["host|", "sends, measured|1.00 kB", "receives, measured|120 B"]);
    // The two ends of a link have colours of their own: 1000 of 1003 is the darkest shade, 120 is the third of twenty.
    let pixel = |browser: &mut Browser, from: &str, to: &str| {
        browser.numbers(&format!(
            "(() => {{ const [x, y] = optiqFabric.placeOfEnd('{from}', '{to}', 0.6); const c = document.querySelector('canvas'); \
             const b = c.getBoundingClientRect(); \
             return [...c.getContext('2d').getImageData(Math.floor(x - b.left), Math.floor(y - b.top), 1, 1).data].slice(0, 3); }})()"
        ))
    };
    browser.mouse("mouseMoved", &[5.0, 5.0]);
    let near = |a: &[f64], b: [f64; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 70.0);
    let [dark, pale] = [pixel(&mut browser, "h2", &right), pixel(&mut browser, &right, "h2")];
    assert!(near(&dark, [68.0, 1.0, 84.0]) && !near(&pale, [68.0, 1.0, 84.0]), "{dark:?} {pale:?}");
    // The file for papers has as many halves as the network has links.
    let svg = String::from_utf8(folder.read("page.svg")).unwrap();
    let halves: usize = svg.lines().filter(|l| l.starts_with("<path")).map(|l| l.matches('M').count()).sum();
    assert_eq!(halves, 12, "{svg}");
}

#[test]
fn the_wheel_zooms_where_the_pointer_is_and_dragging_moves() {
    let folder = profiled("fabric-page-zoom");
    folder.succeed(&format!("traffic --topology {TREE} --profile . --report page.html --json"));
    let Some(mut browser) = open(&folder, "page.html") else { return };
    let before = browser.numbers("[optiqFabric.view.scale, ...optiqFabric.placeOf('h3')]");
    browser.wheel(&before[1..], -200.0);
    browser.wait(&format!("optiqFabric.view.scale > {}", before[0] * 1.2));
    let after = browser.numbers("[optiqFabric.view.scale, ...optiqFabric.placeOf('h3')]");
    // Half a step of e, and the host is where it was.
    assert!((after[0] / before[0] - 0.5f64.exp()).abs() < 0.01, "{before:?} {after:?}");
    assert!((after[1] - before[1]).abs() < 1.5 && (after[2] - before[2]).abs() < 1.5, "{before:?} {after:?}");
    // What is dragged goes with the pointer.
    let (x, y) = (500.0, 600.0);
    browser.mouse("mouseMoved", &[x, y]);
    browser.mouse("mousePressed", &[x, y]);
    browser.drag(&[x - 30.0, y - 10.0]);
    browser.mouse("mouseReleased", &[x - 30.0, y - 10.0]);
    let moved = browser.numbers("optiqFabric.placeOf('h3')");
    assert!(
        (moved[0] - after[1] + 30.0).abs() < 1.0 && (moved[1] - after[2] + 10.0).abs() < 1.0,
        "{after:?} {moved:?}"
    );
    // Keys, and everything again.
    browser.value("document.querySelector('canvas').focus()");
    browser.key("-");
    browser.wait(&format!("optiqFabric.view.scale < {}", after[0]));
    browser.key("0");
    let fitted = browser.numbers("[optiqFabric.view.scale, ...optiqFabric.placeOf('h3')]");
    assert!(fitted.iter().zip(&before).all(|(a, b)| (a - b).abs() < 1e-6), "{before:?} {fitted:?}");
}

#[test]
fn hosts_are_found_and_parts_are_chosen() {
    let folder = profiled("fabric-page-search");
    folder.succeed(&format!(
        "traffic --topology {TREE} --profile . --what-if placement=rank:4 --report page.html --json"
    ));
    let [left, ..] = leaf_and_spine(&folder);
    let Some(mut browser) = open(&folder, "page.html") else { return };
    assert_eq!(browser.value("document.querySelectorAll('canvas').length"), 2);
    browser.value("document.getElementById('search').focus()");
    browser.type_text("H3");
    browser.wait("document.getElementById('found').textContent === 'h3'");
    // In the middle of its picture.
    let middle = "(() => { const b = document.querySelector('canvas').getBoundingClientRect(); \
                  return [b.left + b.width / 2, b.top + b.height / 2]; })()";
    let (middle, host) = (browser.numbers(middle), browser.numbers("optiqFabric.placeOf('h3')"));
    assert!((middle[0] - host[0]).abs() < 1.0 && (middle[1] - host[1]).abs() < 1.0, "{middle:?} {host:?}");
    browser.type_text("nothing");
    browser.wait("document.getElementById('found').textContent.startsWith('no host or switch')");
    // Only the region solve and what is inside it: h0 sends 100 + 10.
    browser.value(&choose("Region", "solve"));
    let place = browser.numbers(&format!("optiqFabric.placeOfEnd('h0', '{left}', 0.6)"));
    browser.mouse("mouseMoved", &place);
    let rows = tip(&mut browser);
    assert_eq!(rows[2], "bytes, measured|110 B|1.00 kB", "{rows:?}");
    // With four ranks on a host only what goes to rank 4 takes links.
    assert_eq!(rows[5], "bytes, placement=rank:4|10 B|0 B", "{rows:?}");
    // Links of hosts are hidden, and nothing is there to be pointed at.
    browser.value(&choose("Links", "level 1 to level 2"));
    browser.mouse("mouseMoved", &[5.0, 5.0]);
    browser.mouse("mouseMoved", &place);
    assert_eq!(tip(&mut browser), Vec::<String>::new());
}

/// Chooses in one of the lists, and shows everything.
fn choose(label: &str, words: &str) -> String {
    format!(
        "(() => {{ const s = document.querySelector('select[aria-label=\"{label}\"]'); \
         s.value = [...s.options].find((o) => o.textContent === '{words}').value; \
         s.dispatchEvent(new Event('change')); optiqFabric.fit(); }})()"
    )
}

/// Two mirrored trees: a link of a host is in one of two rails, and the bytes of two jobs are told apart.
#[test]
fn jobs_and_rails_are_chosen() {
    let folder = two_jobs("fabric-page-jobs");
    let tree = format!("{TREE},rails=2");
    folder.succeed(&format!("traffic --topology {tree} --profile one --profile two --report page.html --json"));
    let csv = folder.succeed(&format!("traffic --topology {tree} --profile one --csv"));
    let leaf = csv.lines().map(|l| l.split(',').collect::<Vec<_>>()).find(|l| l[0] == "h0" && l[6] == "1000").unwrap()
        [1]
    .to_owned();
    let other = csv.lines().map(|l| l.split(',').collect::<Vec<_>>()).find(|l| l[0] == "h0" && l[1] != leaf).unwrap()
        [1]
    .to_owned();
    let Some(mut browser) = open(&folder, "page.html") else { return };
    let bytes = |browser: &mut Browser, host: &str, leaf: &str| {
        let place = browser.numbers(&format!("optiqFabric.placeOfEnd('{host}', '{leaf}', 0.6)"));
        browser.mouse("mouseMoved", &[5.0, 5.0]);
        browser.mouse("mouseMoved", &place);
        tip(browser).get(2).cloned().unwrap_or_default()
    };
    assert_eq!(bytes(&mut browser, "h0", &leaf), "bytes|1.00 kB|100 B");
    browser.value(&choose("Job", "two (two)"));
    assert_eq!(bytes(&mut browser, "h0", &leaf), "bytes|0 B|0 B");
    browser.value(&choose("Region", "solve"));
    assert_eq!(bytes(&mut browser, "h0", &leaf), "bytes|0 B|0 B");
    browser.value(&choose("Job", "one (one)"));
    assert_eq!(bytes(&mut browser, "h0", &leaf), "bytes|1.00 kB|100 B");
    browser.value(&choose("Job", "all"));
    // Each rail has one of the two links of h0, and hides the other.
    let shown: Vec<[bool; 2]> = ["1", "2"]
        .map(|rail| {
            browser.value(&choose("Rail", rail));
            [&leaf, &other].map(|leaf| !bytes(&mut browser, "h0", leaf).is_empty())
        })
        .to_vec();
    assert!(shown == [[true, false], [false, true]] || shown == [[false, true], [true, false]], "{shown:?}");
}

/// Frames while everything moves: how many a second are printed; what must hold is that no frame draws more than its share, however
/// large the network is.
#[test]
fn the_work_of_a_frame_does_not_grow_with_the_network() {
    for (spec, hosts) in [("fattree:brown1296", 1296u32), ("dragonfly+:3456", 3456)] {
        let folder = Folder::new("fabric-page-frames");
        for rank in 0..hosts {
            // Peers ascend.
            let mut sent: Vec<[u32; 3]> =
                (1..5).map(|i| [(rank + 1 + i * i * 37) % hosts, 1, 1000 * (1 + (rank + i) % 50)]).collect();
            sent.sort_unstable();
            let name = format!("optiq-profile-{rank:05}.json");
            folder.write(&name, file(rank, hosts, &format!("h{rank}"), &[("solve", json!(sent))]));
        }
        folder.succeed(&format!("traffic --topology {spec} --profile . --report page.html --busiest 1"));
        let bytes = folder.read("page.html").len();
        let Some(mut browser) = open(&folder, "page.html") else { return };
        // Closer, so that there is something to move to; then to and fro.
        let script = "new Promise((done) => { \
            optiqFabric.zoom(3); \
            let frames = 0; let first = 0; let longest = 0; let last = 0; \
            const step = (now) => { \
                if (frames === 0) first = now; else longest = Math.max(longest, now - last); \
                last = now; frames += 1; \
                optiqFabric.move(frames % 120 < 60 ? 9 : -9, frames % 200 < 100 ? 2 : -2); \
                if (frames < 240) requestAnimationFrame(step); \
                else done([1000 * (frames - 1) / (now - first), longest, optiqFabric.counts.itemsMost, optiqFabric.counts.callsMost, \
                    optiqFabric.counts.sheets]); \
            }; requestAnimationFrame(step); })";
        let found = browser.numbers(script);
        println!(
            "{spec}: {:.1} frames a second while moving, the longest {:.0} ms; at most {} items and {} calls in a frame, \
             {} sheets; {bytes} bytes",
            found[0], found[1], found[2], found[3], found[4]
        );
        assert!(found[2] <= 3000.0 && found[3] <= 900.0 && found[4] >= 2.0, "{found:?}");
    }
}
