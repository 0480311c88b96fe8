#![allow(clippy::unwrap_used, reason = "tests")]
use super::*;
use optiq_net::structure::Arrangement;
use optiq_net::{End, Geometry, Network, NetworkBuilder, NodeId, Routing};
use proptest::prelude::*;

fn layout(spec: &str) -> (Network, FabricLayout) {
    let net = Network::from_spec(spec).unwrap();
    let layout = FabricLayout::of(&net);
    (net, layout)
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

/// No two vertices lie on each other.
fn apart(layout: &FabricLayout, least: f64) {
    let mut order: Vec<(f64, f64)> = layout.places.clone();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (i, a) in order.iter().enumerate() {
        for b in order[i + 1..].iter().take_while(|b| b.0 - a.0 < least) {
            assert!((a.0 - b.0).hypot(a.1 - b.1) >= least, "{a:?} and {b:?}");
        }
    }
}

#[test]
fn a_tree_of_two_levels_by_hand() {
    // Hosts 0 and 1 on one leaf, 2 and 3 on another; between the leaves a gap of 0.8.
    let (net, layout) = layout("fattree:2x2:1x1");
    let x: Vec<f64> = layout.places.iter().map(|p| p.0).collect();
    assert!(x[..4].iter().zip([0.5, 1.5, 3.3, 4.3]).all(|(a, b)| near(*a, b)), "{x:?}");
    // Leaves above the middle of their hosts, the spine above the middle of all.
    let mut switches: Vec<(Option<u32>, f64)> =
        (net.hosts()..net.vertices()).map(|v| (layout.structure.levels[v], x[v])).collect();
    switches.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    assert!(switches.iter().zip([1.0, 3.8, 2.4]).all(|(a, b)| near(a.1, b)), "{switches:?}");
    for v in 0..net.vertices() {
        for w in 0..net.vertices() {
            let higher = layout.structure.levels[v] > layout.structure.levels[w];
            assert_eq!(higher, layout.places[v].1 < layout.places[w].1);
        }
    }
}

#[test]
fn pods_are_stretches_and_their_switches_stand_above_them() {
    let (net, layout) = layout("fattree:k=4");
    apart(&layout, 0.5);
    // Pod p has the hosts 4p to 4p + 3.
    let stretch = |pod: usize| (layout.places[4 * pod].0, layout.places[4 * pod + 3].0);
    for v in (net.hosts()..net.vertices()).filter(|&v| layout.structure.levels[v] == Some(2)) {
        let x = layout.places[v].0;
        let below = (0..4).filter(|&pod| stretch(pod).0 - 1.0 <= x && x <= stretch(pod).1 + 1.0).count();
        assert_eq!(below, 1);
    }
    assert_eq!(layout.words, "a tree with 3 levels of switches");
}

#[test]
fn a_second_rail_is_the_mirror_of_the_first() {
    let (net, layout) = layout("fattree:4x3:1x2,rails=2");
    assert_eq!(layout.words, "a tree with 2 levels of switches and 2 rails, hosts between them");
    let of = |rail: u32| {
        let mut places: Vec<(i64, i64)> = (net.hosts()..net.vertices())
            .filter(|&v| layout.structure.rail[v] == Some(rail))
            .map(|v| ((1e6 * layout.places[v].0).round() as i64, (1e6 * layout.places[v].1).round() as i64))
            .collect();
        places.sort_unstable();
        places
    };
    let mut mirrored: Vec<(i64, i64)> = of(1).into_iter().map(|(x, y)| (x, -y)).collect();
    mirrored.sort_unstable();
    assert_eq!(of(0), mirrored);
    assert!(of(0).iter().all(|p| p.1 < 0) && (0..net.hosts()).all(|h| layout.places[h].1 == 0.0));
}

#[test]
fn groups_lie_in_parts_of_a_circle() {
    for (spec, groups) in [("dragonfly+:p=2,l=2,s=2,h=2", 5.0), ("dragonfly:p=2,a=4,h=2", 9.0)] {
        let (net, layout) = layout(spec);
        assert_eq!(layout.structure.arrangement, Arrangement::Groups, "{spec}");
        apart(&layout, 0.3);
        let part = |v: usize| {
            let (x, y) = layout.places[v];
            (x.atan2(-y).rem_euclid(std::f64::consts::TAU) / std::f64::consts::TAU * groups) as usize
        };
        let (hosts, switches) = (net.hosts() / groups as usize, (net.vertices() - net.hosts()) / groups as usize);
        assert!((0..net.hosts()).all(|h| part(h) == h / hosts), "{spec}");
        assert!((net.hosts()..net.vertices()).all(|v| part(v) == (v - net.hosts()) / switches), "{spec}");
    }
}

#[test]
fn everything_has_a_place_of_its_own() {
    for spec in
        ["star:324", "torus:8x8x8", "torus:2x2x2x2x2", "bgq:512", "mesh:1", "fattree:brown1296", "dragonfly+:3456"]
    {
        let (net, layout) = layout(spec);
        assert_eq!(layout.places.len(), net.vertices());
        assert!(layout.places.iter().all(|p| p.0.is_finite() && p.1.is_finite()), "{spec}");
        apart(&layout, 0.1);
    }
}

/// A fabric that no shape fits: four switches in a ring with a cable across, and hosts.
fn ring(order: &[usize]) -> Network {
    let cables = [("s0", "s1"), ("s1", "s2"), ("s2", "s3"), ("s3", "s0"), ("s0", "s2")].into_iter().chain([
        ("h0", "s0"),
        ("h1", "s0"),
        ("h2", "s1"),
        ("h10", "s3"),
    ]);
    build(&cables.map(|(a, b)| (a.to_owned(), b.to_owned())).collect::<Vec<_>>(), order)
}

/// A network of cables, whose hosts begin with `h`: vertices and cables are added in the order of `order`.
fn build(cables: &[(String, String)], order: &[usize]) -> Network {
    let mut builder = NetworkBuilder::new();
    let mut ends = std::collections::BTreeMap::<String, End>::new();
    for &i in order {
        let (a, b) = &cables[i % cables.len()];
        for name in [b, a] {
            if !ends.contains_key(name) {
                let end = if name.starts_with('h') { builder.host(name.clone()) } else { builder.switch(name.clone()) };
                ends.insert(name.clone(), end);
            }
        }
        builder.duplex(ends[a], ends[b], 1, 1e9);
    }
    builder.build("test", Geometry::General, Routing::Shortest).unwrap()
}

/// Places by name, in millionths.
fn by_name(net: &Network) -> Vec<(String, i64, i64)> {
    let layout = FabricLayout::of(net);
    let place = |v: u32| {
        let (x, y) = layout.places[v as usize];
        (net.name(NodeId(v)).to_owned(), (1e6 * x).round() as i64, (1e6 * y).round() as i64)
    };
    let mut all: Vec<_> = (0..net.vertices() as u32).map(place).collect();
    all.sort();
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// The order of lines in a file decides nothing.
    #[test]
    fn lines_in_any_order_give_the_same_picture(
        spec in prop::sample::select(vec!["fattree:2x3:1x2", "fattree:k=4", "fattree:2x2:1x2,rails=2", "dragonfly+:p=1,l=2,s=2,h=1", "dragonfly:p=1,a=4,h=1"]),
        seed in any::<u64>(),
    ) {
        let net = Network::from_spec(spec).unwrap();
        let cables: Vec<(String, String)> = net.links().iter().filter(|l| l.from < l.to)
            .map(|l| (net.name(l.from).to_owned(), net.name(l.to).to_owned())).collect();
        let straight: Vec<usize> = (0..cables.len()).collect();
        let mut mixed = straight.clone();
        let mut random = optiq_net::random::SplitMix64::new(seed);
        for i in (1..mixed.len()).rev() {
            mixed.swap(i, (random.next_u64() % (i as u64 + 1)) as usize);
        }
        prop_assert_eq!(by_name(&build(&cables, &straight)), by_name(&build(&cables, &mixed)));
    }

    #[test]
    fn so_do_fabrics_of_no_shape(order in Just((0..9).collect::<Vec<usize>>()).prop_shuffle()) {
        let straight: Vec<usize> = (0..9).collect();
        prop_assert_eq!(by_name(&ring(&order)), by_name(&ring(&straight)));
    }
}

fn picture<'a>(net: &'a Network, layout: &'a FabricLayout, series: &'a [LinkSeries]) -> FabricPicture<'a> {
    FabricPicture { net, layout, title: "a <b>", subtitle: "s".into(), series, notes: &[] }
}

#[test]
fn each_end_has_the_shade_of_what_is_sent_there() {
    let (net, layout) = layout("star:2");
    let from = |a: u32, b: u32| net.link_between(NodeId(a), NodeId(b)).unwrap().index();
    let mut bytes = vec![0; net.links().len()];
    // h0 sends 100 to its switch, which sends 50 to h1.
    bytes[from(0, 2)] = 100;
    bytes[from(2, 1)] = 50;
    let series = [LinkSeries { name: "measured".into(), bytes, ..LinkSeries::default() }];
    let svg = picture(&net, &layout, &series).svg();
    // One half at the full shade, one at half of it, and two with nothing.
    let halves = |class: &str| {
        let path = svg.lines().find(|l| l.contains(&format!("<path class=\"{class}\""))).unwrap_or_default();
        path.matches('M').count()
    };
    assert_eq!((halves("h20"), halves("h10"), halves("h0")), (1, 1, 2), "{svg}");
    assert!(svg.contains("a &lt;b&gt;") && svg.contains(">h0</text>") && !svg.contains("NaN"), "{svg}");
    // The network alone.
    let plain = picture(&net, &layout, &[]).svg();
    assert!(plain.contains("class=\"plain\"") && !plain.contains("time at capacity"), "{plain}");
}

#[test]
fn the_page_has_arrays_for_both_ends() {
    let (net, layout) = layout("star:2");
    let bytes: Vec<u64> = (1..=net.links().len() as u64).collect();
    let makers = vec![LinkMakers { pairs: 1, most: vec![(NodeId(0), NodeId(1), 5)] }; bytes.len()];
    let solve = bytes.iter().map(|b| b % 2).collect();
    let series = [LinkSeries {
        name: "m".into(),
        bytes,
        parts: vec![LinkPart { region: "solve".into(), bytes: solve, ..LinkPart::default() }],
        makers,
        ..LinkSeries::default()
    }];
    let page = picture(&net, &layout, &series).page().unwrap();
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    let data: serde_json::Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
    // Links by (from, to): h0-s0 is 1, h1-s0 is 2, s0-h0 is 3, s0-h1 is 4.
    assert_eq!(data["cables"]["a"], serde_json::json!([0, 1]));
    assert_eq!(data["series"][0]["bytes"], serde_json::json!([1, 3, 2, 4]));
    // Ends 0 and 1 have an odd number.
    assert_eq!(
        data["series"][0]["regions"][0],
        serde_json::json!({"name": "solve", "job": 0, "ends": [0, 1], "bytes": [1, 1]})
    );
    assert_eq!(data["series"][0]["makers"]["first"], serde_json::json!([0, 1, 2, 3, 4]));
    assert_eq!((&data["series"][0]["makers"]["most"], &data["hosts"]), (&1.into(), &2.into()));
}

#[test]
fn a_rail_that_is_not_used_is_seen_at_a_glance() {
    let (net, layout) = layout("fattree:4x3:1x2,rails=2");
    let is_first = |v: NodeId| layout.structure.rail[v.index()] != Some(1);
    let bytes = net.links().iter().map(|l| u64::from(is_first(l.from) && is_first(l.to))).collect();
    let series = [LinkSeries { name: "broadcast".into(), bytes, ..LinkSeries::default() }];
    let svg = picture(&net, &layout, &series).svg();
    let y = |text: &str| text.split(' ').nth(1).unwrap().parse::<f64>().unwrap();
    let of = |class: &str| {
        let line = svg.lines().find(|l| l.starts_with(&format!("<path class=\"{class}\""))).unwrap();
        let path = line.split("d=\"").nth(1).unwrap().split('"').next().unwrap();
        let points: Vec<f64> = path[1..].split(['M', 'L']).map(y).collect();
        let low = points.iter().copied().fold(f64::INFINITY, f64::min);
        (low, points.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    };
    // Everything that is used stands above everything that is not; they meet at the row of the hosts.
    let (used, idle) = (of("h20"), of("h0"));
    assert!(used.0 < used.1 && idle.0 < idle.1 && (used.1 - idle.0).abs() < 0.11, "{used:?} {idle:?}");
}
