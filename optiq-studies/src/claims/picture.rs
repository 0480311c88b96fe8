//! Claim B6: K. Brown's picture of traffic on links (document 000, section 4.3), in a real browser that points, turns the wheel, drags and chooses as
//! people do. What it shows is compared with bytes that are known by hand, and frames are counted while large fabrics are moved.

use super::facts::{COLUMNS, context, left_out, row};
use super::setting::Setting;
use crate::browser::{Browser, chromium};
use crate::failure::Failure;
use crate::findings::{Findings, Row, Verdict};
use optiq_files::output;
use optiq_lower::link_traffic::HostTraffics;
use optiq_measure::statistics::quantile;
use optiq_net::{Network, NodeId};
use optiq_view::colours;
use optiq_view::fabric::{FabricLayout, FabricPicture, LinkMakers, LinkPart, LinkSeries};
use serde_json::json;
use std::io::Write;

/// Two mirrored trees of two leaves with two hosts each, and a spine.
const SMALL: &str = "fattree:2x2:1x1,rails=2";

/// The fabrics whose frames are counted, with their hosts.
const LARGE: [(&str, u32); 2] = [("fattree:brown1296", 1296), ("dragonfly+:3456", 3456)];

const WINDOW: (u32, u32) = (1200, 1000);

/// Shades of the page's scale.
const SHADES: f64 = 20.0;

/// Traffic in the small fabric: job, region, source, destination, bytes. Jobs are 0 and 1, regions `solve` and `write`.
const SENT: [(usize, &str, u32, u32, u64); 4] =
    [(0, "solve", 0, 2, 1000), (0, "write", 2, 0, 130), (1, "solve", 1, 3, 400), (1, "solve", 3, 1, 70)];

/// B6.
pub(super) fn of_traffic(setting: &Setting) -> Result<Findings, Failure> {
    let chromium = match chromium() {
        Ok(chromium) => chromium,
        Err(why) => return Ok(left_out(why)),
    };
    let folder = tempfile::tempdir().map_err(|e| Failure::Work(format!("no temporary directory: {e}")))?;
    let open = |name: &str, page: &str| -> Result<Browser, Failure> {
        let path = folder.path().join(format!("{name}.html"));
        output::write(&path, output::PUBLIC, |out| out.write_all(page.as_bytes()))
            .map_err(|e| Failure::Work(format!("{} cannot be written: {e}", path.display())))?;
        Browser::open(&chromium, &folder.path().join(format!("{name}-browser")), &path, WINDOW)
    };
    setting.progress.now("the small fabric");
    let net = Network::from_spec(SMALL)?;
    let sent: Vec<_> = SENT.iter().map(|&(job, region, src, dst, bytes)| ((job, region), src, dst, bytes)).collect();
    let page = page(&net, &sent, &["one", "two"])?;
    let mut small = Small { browser: open("small", &page)?, net: &net, rows: Vec::new() };
    small.colours()?;
    small.moves()?;
    small.parts()?;
    let mut rows = small.rows;
    for (spec, hosts) in LARGE {
        setting.progress.now(format!("{spec}: frames"));
        let net = Network::from_spec(spec)?;
        let sent = neighbours(hosts);
        let page = self::page(&net, &sent, &["one"])?;
        let name = format!("{hosts}");
        rows.extend(frames(&mut open(&name, &page)?, spec, setting.published.traffic.frames_per_second)?);
    }
    let note = "Chromium without a graphics processor (`--headless=new --disable-gpu`), in a window of 1,200 by 1,000 pixels, driven through its DevTools protocol. \
                Frames are those that the browser shows while the picture moves by 9 pixels in each, at three times the scale at which all of it is seen; the browser \
                shows 60 a second at most. What a frame draws does not depend on the network: a part of a sheet that is larger than the window. Judged is \
                the mean rate, within 5 %, for the timers of a machine that does other things as well."
        .to_owned();
    Ok(Findings::new(COLUMNS, rows, vec![note]))
}

/// Each host sends to four others.
fn neighbours(hosts: u32) -> Vec<((usize, &'static str), u32, u32, u64)> {
    let to = |host: u32, i: u32| (host + 1 + i * i * 37) % hosts;
    let each =
        |host: u32| (1..5).map(move |i| ((0, "solve"), host, to(host, i), 1000 * u64::from(1 + (host + i) % 50)));
    (0..hosts).flat_map(each).collect()
}

/// The page of a network with traffic of jobs and regions.
fn page(net: &Network, sent: &[((usize, &str), u32, u32, u64)], jobs: &[&str]) -> Result<String, Failure> {
    let mut parts: Vec<(usize, &str)> = sent.iter().map(|(part, ..)| *part).collect();
    parts.sort_unstable();
    parts.dedup();
    let number = |part: &(usize, &str)| parts.binary_search(part).unwrap_or(0) as u32;
    let traffics = HostTraffics::new(
        sent.iter().map(|(part, src, dst, bytes)| (number(part), NodeId(*src), NodeId(*dst), *bytes)),
    );
    let found = traffics.on_links(net, parts.len(), 3)?;
    let part = |((job, region), bytes): ((usize, &str), Vec<u64>)| LinkPart { job, region: region.to_owned(), bytes };
    let series = [LinkSeries {
        name: "measured".into(),
        bytes: found.load.bytes,
        jobs: jobs.iter().map(|job| (*job).to_owned()).collect(),
        parts: parts.into_iter().zip(found.regions).map(part).collect(),
        makers: found.makers.into_iter().map(|p| LinkMakers { pairs: p.pairs, most: p.most }).collect(),
    }];
    let layout = FabricLayout::of(net);
    let picture =
        FabricPicture { net, layout: &layout, title: "Claim B6", subtitle: String::new(), series: &series, notes: &[] };
    picture.page().map_err(|e| Failure::Work(format!("the page cannot be made: {e}")))
}

/// The page of the small fabric, and what was found in it.
struct Small<'a> {
    browser: Browser,
    net: &'a Network,
    rows: Vec<Row>,
}

impl Small<'_> {
    fn note(&mut self, what: &str, found: (f64, &str), asked: &str, holds: bool) {
        let why = || format!("{what}: {} {}, not {asked}", found.0, found.1);
        self.rows.push(row("4 hosts, 2 rails, 2 jobs", what, found, asked, Verdict::of(holds, why)));
    }

    /// The next vertex on the way from a host to another one, and that one's last.
    fn leaves(&self, src: u32, dst: u32) -> Result<[String; 2], Failure> {
        let mut route = Vec::new();
        self.net.route(NodeId(src), NodeId(dst), &mut route)?;
        let ends = [route.first(), route.last()].map(|link| link.map(|link| self.net.link(*link)));
        let [Some(first), Some(last)] = ends else { return Err(Failure::Work("a route without links".into())) };
        Ok([first.to, last.from].map(|v| self.net.name(v).to_owned()))
    }

    /// The shade of an end, as the nearest one on the scale: 1 to 20.
    fn shade(&mut self, from: &str, to: &str) -> Result<f64, Failure> {
        let pixel = self.browser.numbers(&format!(
            "(() => {{ const [x, y] = optiqFabric.placeOfEnd({}, {}, 0.6); const c = document.querySelector('canvas'); \
             const b = c.getBoundingClientRect(); \
             return [...c.getContext('2d').getImageData(Math.floor(x - b.left), Math.floor(y - b.top), 1, 1).data].slice(0, 3); }})()",
            json!(from),
            json!(to)
        ))?;
        let distance = |shade: f64| -> f64 {
            let text = colours::amount(shade / SHADES);
            let numbers = text.trim_start_matches("rgb(").trim_end_matches(')').split(' ');
            let numbers = numbers.filter_map(|number| number.parse::<f64>().ok());
            numbers.zip(&pixel).map(|(a, b)| (a - b) * (a - b)).sum()
        };
        let shades = (1..=SHADES as u32).map(f64::from);
        Ok(shades.min_by(|a, b| distance(*a).total_cmp(&distance(*b))).unwrap_or(0.0))
    }

    /// Both ends of the links of hosts have the colour of what is sent there; pointing tells the bytes.
    fn colours(&mut self) -> Result<(), Failure> {
        self.browser.mouse("mouseMoved", &[5.0, 5.0])?;
        for (_, _, src, dst, bytes) in SENT {
            let [first, last] = self.leaves(src, dst)?;
            let (from, to) = (format!("h{src}"), format!("h{dst}"));
            let expected = (bytes as f64 / 1000.0 * SHADES).ceil();
            for (a, b) in [(&from, &first), (&last, &to)] {
                let shade = self.shade(a, b)?;
                let asked = format!("shade {expected:.0} within 1");
                self.note(
                    &format!("colour of the end at {a} towards {b}, {bytes} B"),
                    (shade, "shade of 20"),
                    &asked,
                    (shade - expected).abs() <= 1.0,
                );
            }
        }
        let [leaf, _] = self.leaves(0, 2)?;
        let shown = self.pointed("h0", &leaf)?;
        let is_shown = shown.contains("bytes|1.00 kB|130 B");
        self.note("bytes at both ends when pointed at", (f64::from(is_shown), "of 1"), "1.00 kB and 130 B", is_shown);
        Ok(())
    }

    /// What is shown of the link at an end, when that is pointed at; rows in lines, cells between bars.
    fn pointed(&mut self, from: &str, to: &str) -> Result<String, Failure> {
        let place = self.browser.numbers(&format!("optiqFabric.placeOfEnd({}, {}, 0.6)", json!(from), json!(to)))?;
        self.browser.mouse("mouseMoved", &[5.0, 5.0])?;
        self.browser.mouse("mouseMoved", &place)?;
        let text = "[...document.querySelectorAll('#tip:not([hidden]) tr')].map((e) => [...e.children].map((c) => c.textContent).join('|')).join('\\n')";
        Ok(self.browser.value(text)?.as_str().unwrap_or_default().to_owned())
    }

    /// The wheel, a drag, and a search.
    fn moves(&mut self) -> Result<(), Failure> {
        let state = "[optiqFabric.view.scale, ...optiqFabric.placeOf('h3')]";
        let before = self.browser.numbers(state)?;
        self.browser.wheel(&before[1..], -200.0)?;
        self.browser.wait(&format!("optiqFabric.view.scale > {}", before[0] * 1.2))?;
        let after = self.browser.numbers(state)?;
        self.note(
            "larger by a turn of the wheel",
            (after[0] / before[0], "times"),
            "more than 1",
            after[0] > before[0],
        );
        let moved = (after[1] - before[1]).hypot(after[2] - before[2]);
        self.note("what is under the pointer moves meanwhile", (moved, "pixels"), "less than 2", moved < 2.0);
        let (x, y) = (500.0, 600.0);
        self.browser.mouse("mouseMoved", &[x, y])?;
        self.browser.mouse("mousePressed", &[x, y])?;
        self.browser.drag(&[x - 40.0, y])?;
        self.browser.mouse("mouseReleased", &[x - 40.0, y])?;
        let dragged = self.browser.numbers(state)?;
        let off = (dragged[1] - after[1] + 40.0).hypot(dragged[2] - after[2]);
        self.note("a drag of 40 pixels misses its place by", (off, "pixels"), "less than 2", off < 2.0);
        self.browser.value("document.getElementById('search').focus()")?;
        self.browser.type_text("h1")?;
        self.browser.wait("document.getElementById('found').textContent === 'h1'")?;
        let off = self.browser.numbers(
            "(() => { const b = document.querySelector('canvas').getBoundingClientRect(); const [x, y] = optiqFabric.placeOf('h1'); \
             return [Math.hypot(x - b.left - b.width / 2, y - b.top - b.height / 2)]; })()",
        )?[0];
        self.note("a host that is searched is beside the middle by", (off, "pixels"), "less than 2", off < 2.0);
        Ok(())
    }

    /// Jobs, regions, levels and rails, each alone.
    fn parts(&mut self) -> Result<(), Failure> {
        let [leaf, _] = self.leaves(0, 2)?;
        let [other, _] = self.leaves(1, 3)?;
        // What is sent at the ends at h0 and h1.
        for (label, choice, expected) in [
            ("Job", "two", ["0 B", "400 B"]),
            ("Job", "one", ["1.00 kB", "0 B"]),
            ("Job", "all", ["1.00 kB", "400 B"]),
            ("Region", "write", ["0 B", "0 B"]),
            ("Region", "solve", ["1.00 kB", "400 B"]),
            ("Region", "all", ["1.00 kB", "400 B"]),
        ] {
            self.choose(label, choice)?;
            let found = [self.pointed("h0", &leaf)?, self.pointed("h1", &other)?];
            let right =
                found.iter().zip(expected).filter(|(found, bytes)| found.contains(&format!("bytes|{bytes}|"))).count();
            self.note(&format!("{label} {choice}: ends with their bytes"), (right as f64, "of 2"), "2", right == 2);
        }
        // A link of a host is between level 0 and 1, and in one rail.
        for (label, choices) in [("Links", ["hosts to level 1", "level 1 to level 2"]), ("Rail", ["1", "2"])] {
            let mut seen = Vec::new();
            for choice in choices {
                self.choose(label, choice)?;
                seen.push(!self.pointed("h0", &leaf)?.is_empty());
            }
            self.choose(label, "all")?;
            let one = seen.iter().filter(|seen| **seen).count();
            self.note(&format!("{label}: choices that show a host's link"), (one as f64, "of 2"), "1", one == 1);
        }
        Ok(())
    }

    fn choose(&mut self, label: &str, words: &str) -> Result<(), Failure> {
        let script = format!(
            "(() => {{ const s = document.querySelector({}); s.value = [...s.options].find((o) => o.textContent === {}).value; \
             s.dispatchEvent(new Event('change')); optiqFabric.fit(); }})()",
            json!(format!("select[aria-label=\"{label}\"]")),
            json!(words)
        );
        self.browser.value(&script).map(drop)
    }
}

/// Moves a large fabric for 240 frames.
fn frames(browser: &mut Browser, spec: &str, asked: f64) -> Result<Vec<Row>, Failure> {
    // Closer, so that there is something to move to; then to and fro.
    let script = "new Promise((done) => { \
        optiqFabric.zoom(3); \
        const times = []; \
        const step = (now) => { \
            times.push(now); \
            optiqFabric.move(times.length % 120 < 60 ? 9 : -9, times.length % 200 < 100 ? 2 : -2); \
            if (times.length < 240) requestAnimationFrame(step); else done([...times, optiqFabric.counts.itemsMost, optiqFabric.counts.sheets]); \
        }; requestAnimationFrame(step); })";
    let mut found = browser.numbers(script)?;
    let (sheets, items) = (found.pop().unwrap_or(0.0), found.pop().unwrap_or(0.0));
    let between: Vec<f64> = found.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let rate = 1000.0 * between.len() as f64 / between.iter().sum::<f64>();
    let why = || format!("{spec}: {rate:.1} frames a second");
    let verdict = Verdict::of(rate >= 0.95 * asked, why);
    Ok(vec![
        row(spec, "frames a second while moving", (rate, "1/s"), &format!("{asked:.0}"), verdict),
        context(spec, "time between frames, 99 % of them", (quantile(&between, 0.99).unwrap_or(0.0), "ms")),
        context(spec, "items drawn in a frame, the most", (items, "items")),
        context(spec, "sheets drawn", (sheets, "sheets")),
    ])
}
