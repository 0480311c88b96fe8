//! The picture in a real browser: headless Chromium draws the page, a script points at links, and what the page shows
//! is compared with numbers derived by hand. Skipped, with the reason, where there is no Chromium.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

#[path = "support/devtools.rs"]
mod devtools;
mod support;

use devtools::chromium;
use serde_json::Value;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::Folder;

/// Runs `probe`, the body of a function that returns a value, in the page, and returns that value. `__errors` of it is
/// what went wrong in the page.
fn probe(folder: &Folder, chromium: &PathBuf, page: &str, probe: &str, options: &[&str]) -> Value {
    let html = String::from_utf8(folder.read(page)).unwrap();
    assert!(!html.contains("http"), "the page refers to the network");
    let script = format!(
        "<script>(() => {{ const found = (() => {{ {probe} }})(); found.__errors = document.documentElement.dataset.errors \
         ?? null; const out = document.createElement('pre'); out.id = 'probe'; \
         out.textContent = '<<' + btoa(JSON.stringify(found).replace(/[^ -~]/g, (c) => '\\\\u' + \
         c.charCodeAt(0).toString(16).padStart(4, '0'))) + '>>'; document.body.append(out); }})();</script></body>"
    );
    folder.write("probed.html", html.replace("</body>", &script));
    let mut child = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--dump-dom"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--disable-dev-shm-usage", "--window-size=1200,1600"])
        .args(options)
        .arg(format!("--user-data-dir={}", folder.path("profile").display()))
        .arg(format!("file://{}", folder.path("probed.html").display()))
        .stdin(Stdio::null())
        .stdout(File::create(folder.path("dom.html")).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(120);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("Chromium did not end within two minutes");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let dom = String::from_utf8(folder.read("dom.html")).unwrap();
    let found = dom
        .split_once("&lt;&lt;")
        .and_then(|(_, rest)| rest.split_once("&gt;&gt;"))
        .unwrap_or_else(|| panic!("the probe left nothing: {}", &dom[dom.len().saturating_sub(2000)..]))
        .0;
    let found: Value = serde_json::from_slice(&base64(found)).unwrap();
    assert_eq!(found["__errors"], Value::Null);
    assert_eq!(found["drawn"], "true", "the page was not drawn to its end");
    found
}

fn base64(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut out = Vec::new();
    let (mut bits, mut held) = (0u32, 0);
    for c in text.bytes().filter(|&c| c != b'=') {
        bits = bits << 6 | u32::from(value(c));
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    out
}

/// Everything that the probes ask for alike.
const COMMON: &str = "const data = JSON.parse(document.getElementById('data').textContent); \
    const tip = () => [...document.querySelectorAll('#tip strong, #tip tr')].map((e) => \
        e.tagName === 'TR' ? [...e.children].map((c) => c.textContent).join('|') : e.textContent); \
    const text = (q) => [...document.querySelectorAll(q)].map((e) => e.textContent); \
    const found = { drawn: document.documentElement.dataset.drawn, links: data.links.from.length, \
        wide: document.documentElement.scrollWidth, cards: text('.card b'), \
        bars: document.querySelectorAll('#histogram rect.direct, #histogram rect.plan').length, \
        legend: text('.histogram-legend span') };";

#[test]
fn a_small_network_is_drawn_and_answers() {
    let Some(chromium) = chromium() else { return };
    let folder = Folder::new("browser-small");
    folder.write("one.txt", "h0 h1 8MiB\n");
    folder.succeed("plan --topology torus:4x4 --demands file:one.txt --k 1 --planner heu2 --html page.html");
    let script = format!(
        "{COMMON} const at = data.links.from.findIndex((f, i) => f === 0 && data.links.to[i] === 1); \
         found.lines = [0, 1].map((p) => document.querySelectorAll(`[data-panel='${{p}}'] path.link`).length); \
         found.vertices = document.querySelectorAll(\"[data-panel='1'] [data-vertex]\").length; \
         found.before = document.getElementById('tip').hidden; \
         document.querySelector(`[data-panel='1'] path.hit[data-link='${{at}}']`).dispatchEvent( \
             new MouseEvent('mouseover', {{ bubbles: true, clientX: 100, clientY: 100 }})); \
         found.tip = tip(); found.hidden = document.getElementById('tip').hidden; \
         found.chosen = document.querySelectorAll('path.chosen').length; \
         const box = document.querySelector(\"[data-panel='0']\"); \
         box.dispatchEvent(new KeyboardEvent('keydown', {{ key: 'Escape', bubbles: true }})); \
         found.closed = document.getElementById('tip').hidden; \
         box.dispatchEvent(new KeyboardEvent('keydown', {{ key: 'ArrowDown', bubbles: true }})); \
         found.byKey = tip()[0]; \
         const picture = document.querySelector(\"[data-panel='1'] .zoomable > svg\"); \
         const part = () => picture.getAttribute('viewBox').split(' ')[2]; \
         const whole = part(); document.querySelector(\"[data-panel='1'] .zoom button\").click(); \
         found.zoomed = whole / part(); document.querySelector(\"[data-panel='1'] .zoom button:last-child\").click(); \
         found.fits = part() === whole; return found;"
    );
    let found = probe(&folder, &chromium, "page.html", &script, &[]);
    assert_eq!(found["links"], 64);
    assert_eq!(found["lines"], serde_json::json!([64, 64]));
    assert_eq!(found["vertices"], 16);
    // 8 MiB over 1 GB/s is 8.388608 ms; there is no other route with k = 1.
    assert_eq!(
        found["tip"],
        serde_json::json!([
            "h0 (0,0) \u{2192} h1 (0,1)",
            "|direct|heu2",
            "bytes|8.39 MB|8.39 MB",
            "share of its worst link|100.0 %|100.0 %",
            "time at capacity|8.39 ms|8.39 ms",
            "paths|1|1"
        ])
    );
    assert_eq!((&found["before"], &found["hidden"], &found["closed"]), (&true.into(), &false.into(), &true.into()));
    // The link is marked in both pictures.
    assert_eq!(found["chosen"], 2);
    assert_eq!(found["byKey"], "h0 (0,0) \u{2192} h1 (0,1)");
    assert!((found["zoomed"].as_f64().unwrap() - 1.6).abs() < 1e-6 && found["fits"] == true, "{found}");
    // The bound: all that h0 sends over its four links.
    assert_eq!(found["cards"], serde_json::json!(["8.39 MB", "8.39 MB", "2.10 MB", "1"]));
    assert_eq!(found["bars"], 2);
    assert_eq!(found["legend"][0], "direct: 1 link loaded, 63 idle (not in the bars)");
}

#[test]
fn a_large_network_is_mapped_and_answers() {
    let Some(chromium) = chromium() else { return };
    let folder = Folder::new("browser-large");
    folder.write("one.txt", "0 1 8MiB\n0 2 1MiB\n");
    folder.succeed("plan --topology bgq:512 --demands file:one.txt --planner heu2 --k 1 --html page.html");
    let script = format!(
        "{COMMON} found.pixels = [0, 1].map((p) => [...document.querySelectorAll(`[data-panel='${{p}}'] canvas`)] \
             .map((c) => c.getContext('2d').getImageData(0, 0, c.width, c.height).data) \
             .reduce((sum, d) => sum + d.filter((v, i) => i % 4 === 3 && v === 255).length, 0)); \
         const maps = document.querySelectorAll(\"[data-panel='1'] canvas\"); \
         found.labels = text(\"[data-panel='1'] figcaption\"); \
         const last = maps[maps.length - 1], r = last.getBoundingClientRect(); \
         last.dispatchEvent(new MouseEvent('mousemove', {{ bubbles: true, clientX: r.left + 1, clientY: r.top + 1 }})); \
         found.tip = tip(); return found;"
    );
    let found = probe(&folder, &chromium, "page.html", &script, &[]);
    // Nine directions of 512 vertices; the two links of the last one are one place.
    assert_eq!(found["links"], 4608);
    assert_eq!(found["pixels"], serde_json::json!([4608, 4608]));
    assert_eq!(found["labels"].as_array().unwrap().len(), 9);
    // h0 -> h1 is two links of 1.8 GB/s: 8 MiB take 8388608 / 3.6e9 s.
    assert_eq!(
        found["tip"],
        serde_json::json!([
            "h0 (0,0,0,0,0) \u{2192} h1 (0,0,0,0,1)",
            "|direct|heu2",
            "bytes|8.39 MB|8.39 MB",
            "share of its worst link|100.0 %|100.0 %",
            "time at capacity|2.33 ms|2.33 ms",
            "paths|1|1",
            "parallel links|2|2"
        ])
    );
    assert_eq!(found["cards"][0], "4.19 MB");
    // Two links carry 4 MiB, one carries 1 MiB.
    assert_eq!(found["legend"][0], "direct: 3 links loaded, 5,117 idle (not in the bars)");
}

#[test]
fn any_graph_fits_a_narrow_window_and_hostile_names_stay_text() {
    let Some(chromium) = chromium() else { return };
    let folder = Folder::new("browser-names");
    folder.write(
        "net.toml",
        "[hosts]\nnames = [\"</script><b>a\", \"{{script}}\", \"c&d\"]\n[switches]\ncount = 1\n\
         [[links]]\nfrom = \"s0\"\nto = [\"</script><b>a\", \"{{script}}\", \"c&d\"]\n",
    );
    folder.succeed("plan --topology file:net.toml --demands pattern:alltoall --message 1MiB --html page.html");
    let script = format!(
        "{COMMON} found.lines = document.querySelectorAll(\"[data-panel='0'] path.link\").length; \
         found.labels = text(\"[data-panel='0'] .label\"); found.bold = document.querySelectorAll('svg b').length; return found;"
    );
    let found = probe(&folder, &chromium, "page.html", &script, &["--window-size=700,1200"]);
    assert_eq!(found["lines"], 6);
    assert_eq!(found["labels"], serde_json::json!(["</script><b>a", "{{script}}", "c&d", "s0"]));
    assert_eq!(found["bold"], 0);
    assert!(found["wide"].as_u64().unwrap() <= 700, "the page is {} pixels wide", found["wide"]);
}

#[test]
fn a_timeline_is_drawn_without_a_script_and_hostile_words_stay_text() {
    use optiq::trace::{Clock, Rank, TraceOptions, Tracer};
    let Some(chromium) = chromium() else { return };
    let folder = Folder::new("browser-timeline");
    let clock = Clock::start();
    for rank in [0, 1].map(Rank) {
        let trace =
            TraceOptions { directory: folder.path("traces"), events: 16, session: 0xabc, rank, ranks: 2, clock };
        let tracer = Tracer::create(&trace, "none").unwrap();
        for _ in 0..3 {
            let serve = || std::thread::sleep(Duration::from_millis(5));
            tracer.plain("MPI_Alltoallv: </style><b>bold</b> & {{calls}}", serve);
        }
    }
    folder.succeed("trace traces --html page.html");
    let script = "const text = (q) => [...document.querySelectorAll(q)].map((e) => e.textContent); \
        const box = (e) => e.getBoundingClientRect(); \
        const lanes = [...document.querySelectorAll('.timeline g.rank')]; \
        return { drawn: document.documentElement.dataset.drawn, heading: text('h1')[0], cards: text('.card b'), \
            tips: lanes.map((l) => l.querySelector('title').textContent), \
            plain: lanes.map((l) => box(l.querySelector('path.plain')).width), \
            wide: lanes.map((l) => box(l.querySelector('rect.lane')).width), \
            calls: document.querySelectorAll('path.call').length, bold: document.querySelectorAll('main td b').length, \
            served: text('#calls-heading ~ .scroll td.words'), page: document.documentElement.scrollWidth };";
    let found = probe(&folder, &chromium, "page.html", script, &["--window-size=900,1200"]);
    assert_eq!(found["heading"], "2 ranks, 3 calls");
    let tip = |rank: u32| format!("rank {rank}: waiting 0.0 %, copying 0.0 %, forwarding 0.0 %, own 0.0 %");
    assert_eq!(found["tips"], serde_json::json!([tip(0), tip(1)]));
    assert_eq!((&found["calls"], &found["bold"]), (&3.into(), &0.into()));
    let served = "MPI_Alltoallv: </style><b>bold</b> & {{calls}}";
    assert_eq!(found["served"], serde_json::json!([served, served, served]));
    // Rank 1 began when rank 0 was through: each has less than its half of the picture, and something to show.
    for rank in 0..2 {
        let (plain, wide) = (found["plain"][rank].as_f64().unwrap(), found["wide"][rank].as_f64().unwrap());
        assert!(plain > 0.0 && plain < 0.9 * wide, "{found}");
    }
    assert!(found["page"].as_u64().unwrap() <= 900, "the page is {} pixels wide", found["page"]);
}

#[test]
fn a_simulation_is_drawn_without_a_script_and_hostile_names_stay_text() {
    let Some(chromium) = chromium() else { return };
    let folder = Folder::new("browser-report");
    folder.write(
        "net.toml",
        "[hosts]\nnames = [\"</style><b>a\", \"{{maps}}\", \"c&d\"]\n[switches]\ncount = 1\n\
         [[links]]\nfrom = \"s0\"\nto = [\"</style><b>a\", \"{{maps}}\", \"c&d\"]\n",
    );
    folder.write("two.txt", "0 1 1MB\n2 1 3MB\n");
    folder.succeed("simulate --topology file:net.toml --demands file:two.txt --mpi linear --report page.html");
    let script = "const text = (q) => [...document.querySelectorAll(q)].map((e) => e.textContent); \
        const box = (q) => [...document.querySelectorAll(q)].map((e) => e.getBoundingClientRect()); \
        const sheet = box('.heat .sheet')[0]; \
        const inside = (r) => r.left > sheet.left - 2 && r.right < sheet.right + 2 && r.top > sheet.top - 2 && r.bottom < sheet.bottom + 2; \
        const first = document.querySelector('.heat'); \
        return { drawn: document.documentElement.dataset.drawn, heading: text('h1')[0], names: text('.heat .name'), \
            tips: [...first.querySelectorAll('.row title')].map((e) => e.textContent), \
            bars: box('.bars .bar').map((r) => r.width), headings: text('h2'), least: box('.least').map((r) => r.left), \
            curves: box('.curve').map((r) => r.width), bold: document.querySelectorAll('svg b').length, \
            cells: [...first.querySelectorAll('.cells path')].every((e) => inside(e.getBoundingClientRect())), \
            shades: [...first.querySelectorAll('.cells path')].map((e) => getComputedStyle(e).stroke), \
            page: document.documentElement.scrollWidth };";
    let found = probe(&folder, &chromium, "page.html", script, &["--window-size=900,1200"]);
    assert_eq!(found["heading"], "file:two.txt on file:net.toml");
    // 4 MB to one host, 3 MB from one and 1 MB from the other, at 1 GB/s: the busiest link is on top.
    let tips: Vec<&str> = found["tips"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
    assert_eq!(tips.len(), 3);
    for (tip, link) in tips.iter().zip(["s0 \u{2192} {{maps}}", "c&d \u{2192} s0", "</style><b>a \u{2192} s0"]) {
        assert!(tip.starts_with(&format!("{link}: busy for ")), "{tip}");
    }
    assert_eq!(found["names"][0], "s0 \u{2192} {{maps}}");
    assert_eq!(
        (&found["headings"][0], &found["headings"][1]),
        (&"Time against the bound".into(), &"Useful and forwarded bytes".into())
    );
    // A bar of time, and one of useful bytes: nothing is forwarded.
    assert_eq!((found["bars"].as_array().unwrap().len(), found["least"].as_array().unwrap().len()), (2, 1));
    assert_eq!((&found["bold"], &found["cells"]), (&0.into(), &true.into()));
    assert!(found["curves"].as_array().unwrap().len() == 4, "{found}");
    // A busy link is the darkest of all, where paper is light.
    assert!(found["shades"].as_array().unwrap().contains(&"rgb(68, 1, 84)".into()), "{}", found["shades"]);
    assert!(found["page"].as_u64().unwrap() <= 900, "the page is {} pixels wide", found["page"]);
}

/// What keeps to the bound stands to the left of its line, and only what exceeds it to the right.
#[test]
fn bars_at_the_bound_stand_left_of_it() {
    let Some(chromium) = chromium() else { return };
    let folder = Folder::new("browser-histogram");
    // The optimum is the bound: every bar of the plan ends at its line or before; direct routes exceed it.
    folder.succeed("plan --topology torus:4x4 --demands pattern:disjoint --html page.html");
    let script = format!(
        "{COMMON} const box = (q) => [...document.querySelectorAll(q)].map((e) => e.getBoundingClientRect()); \
         found.bound = box('#histogram .bound')[0].left; \
         found.plan = Math.max(...box('#histogram rect.plan').map((r) => r.right)); \
         found.direct = Math.max(...box('#histogram rect.direct').map((r) => r.right)); \
         found.gap = document.querySelectorAll('svg.gap').length; found.gaps = data.gap; return found;"
    );
    let found = probe(&folder, &chromium, "page.html", &script, &[]);
    let at = |what: &str| found[what].as_f64().unwrap();
    assert!(at("gaps") < 1e-6, "{found}");
    assert!(at("plan") <= at("bound") + 1.0 && at("direct") > at("bound"), "{found}");
    // Nothing closes here, so there is no chart of it.
    assert_eq!(found["gap"], 0);
}

#[test]
fn a_fat_tree_is_shown_as_matrices_and_its_worst_links_are_ringed() {
    let Some(chromium) = chromium() else { return };
    let folder = Folder::new("browser-matrix");
    folder.write("two.txt", "0 100 8MiB\n20 60 1MiB\n40 90 1MiB\n");
    folder.succeed("plan --topology fattree:k=8 --demands file:two.txt --planner heu2 --k 1 --html page.html");
    let script = format!(
        "{COMMON} found.means = text(\"[data-panel='1'] .means\"); \
         found.rings = document.querySelectorAll(\"[data-panel='0'] .ring\").length; \
         found.words = text(\"[data-panel='0'] .rings\"); \
         const map = document.querySelector(\"[data-panel='1'] canvas\"); const before = map.clientWidth; \
         map.click(); found.larger = map.clientWidth / before; return found;"
    );
    let found = probe(&folder, &chromium, "page.html", &script, &[]);
    assert_eq!(found["means"][0], "across: switches; down: their hosts");
    assert_eq!(found["means"].as_array().unwrap().len(), 6);
    // The 8 MiB take six links from pod to pod.
    assert_eq!(found["rings"], 6);
    assert_eq!(found["words"][0], "6 links within 0.1 % of the worst, marked by rings or borders");
    assert!(found["larger"].as_f64().unwrap() >= 1.0, "{found}");
}

#[test]
fn a_network_and_an_explanation_are_pages_without_a_script() {
    let Some(chromium) = chromium() else { return };
    let folder = Folder::new("browser-explain");
    folder.succeed("topology torus:4x4 --route h0 h5 --html network.html");
    let script = "const box = (q) => [...document.querySelectorAll(q)].map((e) => e.getBoundingClientRect()); \
        return { drawn: document.documentElement.dataset.drawn, marked: document.querySelectorAll('.sketch .marked').length, \
            lines: document.querySelectorAll('.sketch .plain').length, bars: box('.bar').map((r) => Math.round(r.width)), \
            route: document.getElementById('route').textContent, page: document.documentElement.scrollWidth };";
    let found = probe(&folder, &chromium, "network.html", script, &["--window-size=900,1200"]);
    assert_eq!((&found["marked"], &found["lines"]), (&2.into(), &64.into()));
    assert!(found["route"].as_str().unwrap().starts_with("route from h0 to h5, 2 hops (distance 2): h0 "), "{found}");
    // 4, 6, 4 and 1 hosts at 1 to 4 hops.
    assert_eq!(found["bars"].as_array().unwrap().len(), 4, "{found}");
    assert!(found["page"].as_u64().unwrap() <= 900, "{found}");

    folder.succeed("explain --topology torus:4x4 --demands pattern:disjoint --html why.html");
    let script = "return { drawn: document.documentElement.dataset.drawn, cards: document.querySelectorAll('.card').length, \
            shades: document.querySelectorAll('.sketch .h20').length, demands: document.querySelectorAll('.demand').length, \
            bound: document.querySelectorAll('.bars .bound').length, page: document.documentElement.scrollWidth };";
    let found = probe(&folder, &chromium, "why.html", script, &["--window-size=900,1200"]);
    assert_eq!((&found["cards"], &found["demands"], &found["bound"]), (&3.into(), &8.into(), &1.into()));
    assert!(found["shades"].as_u64().unwrap() >= 1 && found["page"].as_u64().unwrap() <= 900, "{found}");
}

/// Four boxes (two jobs, alone and together), and two curves in each of four pictures; no words are cut off.
#[test]
fn jobs_are_boxes_and_curves_that_fit_their_page() {
    let Some(chromium) = chromium() else { return };
    let folder = Folder::new("browser-jobs");
    let job = |name: &str, hosts: u32| {
        format!("[[job]]\nname = \"{name}\"\nhosts = {hosts}\nprogram = \"pairs,message=64KB,samples=9\"\n")
    };
    folder.write("j.toml", format!("network = \"fattree:4x4:1x2\"\n{}{}", job("<left>", 8), job("right", 8)));
    folder.succeed("simulate --jobs j.toml --report page.html");
    let script = "const all = (q) => [...document.querySelectorAll(q)]; \
        const inside = (q) => all(q).every((e) => { const a = e.getBBox(), v = e.ownerSVGElement.viewBox.baseVal; \
            return a.x >= -1 && a.x + a.width <= v.width + 1 && a.y >= -1 && a.y + a.height <= v.height + 1; }); \
        return { drawn: document.documentElement.dataset.drawn, boxes: all('.boxes rect.box').length, \
            wide: all('.boxes rect.box').map((r) => r.getBoundingClientRect().width > 0), words: inside('svg text'), \
            curves: all('.curve').length, links: all('.bars rect.bar').length, heads: all('h2').map((h) => h.textContent), \
            page: document.documentElement.scrollWidth };";
    let found = probe(&folder, &chromium, "page.html", script, &["--window-size=1400,1200"]);
    assert_eq!((&found["boxes"], &found["curves"], &found["words"]), (&4.into(), &8.into(), &true.into()), "{found}");
    assert_eq!(found["heads"], serde_json::json!(["Figures", "<left>", "right", "Links"]));
    assert!(found["links"].as_u64().unwrap() >= 2 && found["page"].as_u64().unwrap() <= 1400, "{found}");
}
