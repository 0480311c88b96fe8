//! Background load: what is left of a network, and files that are refused.
#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use optiq_net::{Background, BusyLink, NetError, Network};
use proptest::prelude::*;

fn left(spec: &str, text: &str) -> Result<Network, NetError> {
    Network::from_spec(spec).unwrap().with_background(&Background::parse(text, "load.txt")?)
}

fn capacity(net: &Network, from: &str, to: &str) -> f64 {
    let [from, to] = [from, to].map(|n| net.resolve(n).unwrap());
    net.link(net.link_between(from, to).unwrap()).capacity
}

#[test]
fn lines_take_from_the_links_they_name() {
    let text = "# FROM TO USED\n\nh0 h1 25%\r\n1 0 100 MB/s # with a space\n(0,0) (1,0) 800Mbit/s\n";
    let net = left("torus:4x4", text).unwrap();
    assert_eq!(capacity(&net, "h0", "h1"), 0.75e9);
    assert_eq!(capacity(&net, "h1", "h0"), 0.9e9);
    assert_eq!(capacity(&net, "h0", "h4"), 0.9e9);
    assert_eq!(net.links().iter().filter(|l| l.capacity == 1e9).count(), 61);
    assert_eq!((net.unit_capacity(), net.spec()), (1e9, "torus:4x4"));
}

#[test]
fn wildcards_and_sums() {
    // Of a GB/s: 1 % everywhere, another quarter of what leaves h0, and 200 MB/s of what enters h0.
    let net = left("torus:4x4", "* * 1%\nh0 * 25%\n* h0 200MB/s\n* h0 0%").unwrap();
    assert!((capacity(&net, "h0", "h1") - 0.74e9).abs() < 1.0);
    assert!((capacity(&net, "h1", "h0") - 0.79e9).abs() < 1.0);
    assert!((capacity(&net, "h1", "h2") - 0.99e9).abs() < 1.0);
    let near = |c: f64| net.links().iter().filter(|l| (l.capacity - c).abs() < 1.0).count();
    assert_eq!((near(0.74e9), near(0.79e9), near(0.99e9)), (4, 4, 56));
    // Switches have links, too, and a bundle is one link: two lanes of 1.8 GB/s.
    assert_eq!(capacity(&left("star:3", "s0 h1 50%").unwrap(), "s0", "h1"), 0.5e9);
    let bgq = left("bgq:512", "h0 h1 50%").unwrap();
    assert_eq!((capacity(&bgq, "h0", "h1"), bgq.unit_capacity()), (1.8e9, 1.8e9));
}

#[test]
fn another_network_for_plans_but_the_same_unit() {
    let plain = Network::from_spec("torus:4x4").unwrap();
    let net = left("torus:4x4", "h0 h1 50%").unwrap();
    assert_ne!(net.fingerprint(), plain.fingerprint());
    assert_eq!(net.fingerprint(), left("torus:4x4", "0 1 500MB/s").unwrap().fingerprint());
    assert_eq!(left("torus:4x4", "# nothing").unwrap().fingerprint(), plain.fingerprint());
    let twice = net.with_background(&Background::parse("h0 h1 50%", "more.txt").unwrap()).unwrap();
    assert_eq!((capacity(&twice, "h0", "h1"), twice.unit_capacity()), (0.25e9, 1e9));
}

#[test]
fn refusals_name_file_line_and_link() {
    for (text, expected) in [
        ("h0", "load.txt:1: 1 word; FROM TO USED are expected"),
        ("\nh0 h1", "load.txt:2: 2 words; FROM TO USED are expected"),
        ("h0 h1 -5%", "load.txt:1: \"-5%\" is not a share of a link; 0% to 100% is expected"),
        ("h0 h1 nan%", "load.txt:1: \"nan%\" is not a share of a link; 0% to 100% is expected"),
        ("h0 h1 inf%", "load.txt:1: \"inf%\" is not a share of a link; 0% to 100% is expected"),
        ("h0 h1 101%", "load.txt:1: \"101%\" is not a share of a link; 0% to 100% is expected"),
        ("h0 h1 %", "load.txt:1: \"%\" is not a share of a link; 0% to 100% is expected"),
        ("h0 h5 5%", "load.txt:1: there is no link from h0 to h5"),
        ("h0 h0 5%", "load.txt:1: there is no link from h0 to h0"),
        ("* h99 5%", "load.txt:1: \"h99\" is not in the network; a name, an index or coordinates is expected"),
        ("(4,0) * 5%", "load.txt:1: \"(4,0)\" is not in the network; coordinates inside 4x4 is expected"),
    ] {
        assert_eq!(left("torus:4x4", text).unwrap_err().to_string(), expected);
    }
    for text in ["h0 h1 fast", "h0 h1 0", "h0 h1 -3MB/s", "h0 h1 NaN", "h0 h1 5 apples", "h0 h1 5M"] {
        let error = left("torus:4x4", text).unwrap_err().to_string();
        assert!(error.starts_with("load.txt:1: ") && error.contains("is not a rate"), "{error}");
    }
    let nothing = "nothing is left of link h0 -> h1, which has 1GB/s; some of its capacity must be left";
    for (text, line) in
        [("h0 h1 100%", 1), ("* * 1%\n* h1 99%", 2), ("h0 h1 2GB/s", 1), ("h0 h1 99.99995%", 1), ("\n* * 100%", 2)]
    {
        assert_eq!(left("torus:4x4", text).unwrap_err().to_string(), format!("load.txt:{line}: {nothing}"));
    }
    let alone = left("mesh:1", "* * 5%").unwrap_err().to_string();
    assert_eq!(alone, "load.txt:1: no link leads from * to *");
}

#[test]
fn links_that_a_program_took_for_busy() {
    let net = Network::from_spec("torus:4x4").unwrap();
    let link = net.link_between(net.resolve("h0").unwrap(), net.resolve("h1").unwrap()).unwrap();
    let busy = [BusyLink { link, share_used: 0.75, since: "2026-11-25T21:30:00Z".into() }];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("busy.txt");
    Background::write_busy_links(&path, &net, &busy).unwrap();
    let read = Background::from_file(&path).unwrap();
    assert_eq!(read.busy_links(&net).unwrap(), busy);
    assert_eq!(net.clone().with_background(&read).unwrap().link(link).capacity, 0.25e9);
    // None is busy, and what is no link that was found to be busy.
    Background::write_busy_links(&path, &net, &[]).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "");
    let others = Background::parse("h0 h1 5%\nh0 h1 5% # since\nh1 h2 1MB/s # since 2026\n# since 2026", "f").unwrap();
    assert_eq!(others.busy_links(&net).unwrap(), []);
    let wrong = Background::parse("h0 h5 5% # since 2026", "f").unwrap().busy_links(&net).unwrap_err().to_string();
    assert_eq!(wrong, "f:1: there is no link from h0 to h5");
    let nowhere = Background::write_busy_links(&folder.path().join("no/busy.txt"), &net, &[]).unwrap_err().to_string();
    assert!(nowhere.contains("cannot be written"), "{nowhere}");
}

#[test]
fn files_that_cannot_be_read() {
    let read = |path: &std::path::Path| Background::from_file(path).unwrap_err();
    let dir = std::env::temp_dir();
    assert!(read(&dir).to_string().ends_with(": found something else than a regular file"));
    let path = dir.join(format!("optiq-background-{}", std::process::id()));
    let missing = read(&path);
    assert!(matches!(missing, NetError::BackgroundFile { .. }), "{missing}");
    std::fs::write(&path, b"h0 h1 5%\n\xff").unwrap();
    assert!(read(&path).to_string().ends_with(": byte 9 is not UTF-8 text"));
    std::fs::write(&path, "h0 h1 5%\n").unwrap();
    assert!(Background::from_file(&path).is_ok());
    std::fs::remove_file(&path).unwrap();
}

proptest! {
    #[test]
    fn nothing_panics_and_something_is_left(
        text in "((h?[0-9]{1,2}|\\(\\d,\\d\\)|\\*|\\PC) (h?[0-9]{1,2}|\\*|s0) ([0-9.e]{1,5}%|[0-9.]{1,4}[MG]B/s|\\PC{0,8})[\n#]){0,6}",
        spec in prop::sample::select(vec!["torus:4x4", "star:5", "mesh:3", "bgq:512"]),
    ) {
        if let Ok(net) = left(spec, &text) {
            let plain = Network::from_spec(spec).unwrap();
            prop_assert_eq!(net.unit_capacity(), plain.unit_capacity());
            for (l, whole) in net.links().iter().zip(plain.links()) {
                prop_assert!(l.capacity > 0.0 && l.capacity <= whole.capacity);
                prop_assert_eq!((l.from, l.to, l.lanes), (whole.from, whole.to, whole.lanes));
            }
        }
    }

    #[test]
    fn noise_is_refused_or_read(text in "\\PC{0,80}") {
        let _ = Background::parse(&text, "noise");
    }
}
