//! Labs brought up for real: streams, MPI, Ctrl-C, links cut, and nothing left behind.
//!
//! Has a main of its own because the library starts the running binary again. Skips, and says why, where the system
//! permits no namespaces or lacks the programs.

use optiq_lab::{
    End, Lab, LabError, LabJob, Outcome, Profile, RunOptions, Status, UpOptions, internal_main, list, network_at,
};
use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio, exit};
use std::time::{Duration, Instant};

/// No single step takes longer, however busy the machine.
const LIMIT: Duration = Duration::from_secs(60);

type Case = (&'static str, fn(&Path));

const CASES: [Case; 19] = [
    ("torus", torus),
    ("switches", switches),
    ("routes_by_source", routes_by_source),
    ("link_rates", link_rates),
    ("profiles_carry_streams", profiles_carry_streams),
    ("kernel_has_the_settings_of_the_machine", kernel_has_the_settings_of_the_machine),
    ("lossy_links_lose_a_thousandth", lossy_links_lose_a_thousandth),
    ("slow_host_runs_half_of_the_time", slow_host_runs_half_of_the_time),
    ("profiles_need_the_kernel", profiles_need_the_kernel),
    ("star_links_change", star_links_change),
    ("taps_follow_bytes", taps_follow_bytes),
    ("jobs_at_once", jobs_at_once),
    ("interrupted_run_leaves_nothing", interrupted_run_leaves_nothing),
    ("interrupted_up_leaves_nothing", interrupted_up_leaves_nothing),
    ("down_ends_runs", down_ends_runs),
    ("dead_holder_is_noticed", dead_holder_is_noticed),
    ("lifetime", lifetime),
    ("attached", attached),
    ("preloaded_libraries_are_for_the_ranks", preloaded_libraries_are_for_the_ranks),
];

fn main() {
    if let Some(status) = internal_main(env::args_os()) {
        exit(status);
    }
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("packets") => exit(packets(&arguments[1..])),
        Some("compute") => exit(compute()),
        _ => {}
    }
    if let [word, root, rest @ ..] = arguments.as_slice()
        && word == "child"
    {
        exit(child(Path::new(root), rest));
    }
    if arguments.iter().any(|a| a == "--list") {
        CASES.iter().for_each(|(name, _)| println!("{name}: test"));
        return;
    }
    let filters: Vec<&String> = arguments.iter().filter(|a| !a.starts_with('-')).collect();
    let selected = |name: &str| filters.is_empty() || filters.iter().any(|f| name.contains(f.as_str()));
    let root = Root(env::temp_dir().join(format!("optiq-lab-test-{}", std::process::id())));
    if let Some(why) = unavailable(&root.0) {
        println!("skipped: {why}\n0 passed, 0 failed, {} skipped", CASES.len());
        return;
    }
    let before = outside();
    let mut passed = 0;
    for (name, case) in CASES.iter().filter(|(name, _)| selected(name)) {
        let began = Instant::now();
        case(&root.0);
        assert!(list(Some(&root.0)).expect("list").is_empty(), "{name} leaves a lab behind");
        println!("test {name} ... ok ({:.1} s)", began.elapsed().as_secs_f64());
        passed += 1;
    }
    assert_eq!(outside(), before, "the machine's own namespace has changed");
    assert!(!root.0.exists(), "files are left in {}", root.0.display());
    println!("{passed} passed, 0 failed, {} skipped", CASES.len() - passed);
}

/// Where this test keeps its labs, apart from anybody's own.
struct Root(PathBuf);

impl Drop for Root {
    fn drop(&mut self) {
        for status in list(Some(&self.0)).unwrap_or_default() {
            let _ = Lab::find(&status.name, Some(&self.0)).map(Lab::down);
        }
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The commands that this test gives to another process of itself, in order to interrupt it.
fn child(root: &Path, words: &[String]) -> i32 {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["lossy"] => Lab::up(&network("star:2"), &profile(root, "child", Profile::Lossy)).map(|_| 0),
        ["up", spec] => Lab::up(&network(spec), &options(root, "child")).map(|_| 0),
        ["run", name, program @ ..] => Lab::open(name, Some(root))
            .and_then(|lab| lab.run(&arguments(program), &RunOptions::default()))
            .map(|outcome| outcome.status),
        ["jobs", name, program @ ..] => Lab::open(name, Some(root))
            .and_then(|lab| jobs(&lab, &[("a", "h0", program), ("b", "h1", program)], false, false))
            .map(|outcomes| outcomes.iter().map(|outcome| outcome.status).max().unwrap_or(0)),
        ["tapped", name, program @ ..] => Lab::open(name, Some(root)).and_then(|lab| {
            let taps = lab.tap(4096)?;
            let outcome = lab.run(&arguments(program), &RunOptions::default());
            taps.finish().and(outcome).map(|outcome| outcome.status)
        }),
        ["exec", name, program @ ..] => Lab::open(name, Some(root))
            .and_then(|lab| lab.exec("h1", &arguments(program), None, false))
            .map(|outcome| outcome.status),
        _ => Ok(2),
    };
    outcome.unwrap_or_else(|e| {
        eprintln!("{e}");
        1
    })
}

fn network(spec: &str) -> optiq_net::Network {
    network_at(spec, "100Mbit/s".parse().expect("a rate")).expect("a network")
}

fn options(root: &Path, name: &str) -> UpOptions {
    UpOptions {
        name: name.into(),
        root: Some(root.to_path_buf()),
        lifetime: Some(Duration::from_secs(300)),
        ..Default::default()
    }
}

fn up(root: &Path, name: &str, spec: &str) -> (Lab, Status) {
    let lab = Lab::up(&network(spec), &options(root, name)).expect("up");
    let status = lab.status().expect("status");
    (lab, status)
}

fn arguments(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

/// Runs `program` on the first hosts, and collects what it prints.
fn run(lab: &Lab, program: &[&str], ranks: usize, ranks_per_host: usize) -> Outcome {
    let options =
        RunOptions { timeout: Some(LIMIT), capture: true, ranks: Some(ranks), ranks_per_host, ..Default::default() };
    lab.run(&arguments(program), &options).expect("run")
}

/// Runs jobs at once: name, hosts and program of each.
fn jobs(lab: &Lab, jobs: &[(&str, &str, &[&str])], capture: bool, may_share: bool) -> Result<Vec<Outcome>, LabError> {
    let job = |&(name, hosts, program): &(&str, &str, &[&str])| LabJob {
        name: name.into(),
        hosts: hosts.split_whitespace().map(String::from).collect(),
        one_rank_each: true,
        program: arguments(program),
    };
    let jobs: Vec<LabJob> = jobs.iter().map(job).collect();
    let options = RunOptions { timeout: Some(LIMIT), capture, ..Default::default() };
    lab.run_jobs(&jobs, &options, may_share, |_| Ok(()))
}

fn lines(outcome: &Outcome) -> Vec<String> {
    let mut lines: Vec<String> = String::from_utf8_lossy(&outcome.stdout).lines().map(String::from).collect();
    lines.sort();
    lines
}

/// Why labs cannot be had here.
fn unavailable(root: &Path) -> Option<String> {
    match Lab::up(&network("star:2"), &options(root, "probe")) {
        Ok(lab) => {
            lab.down().expect("down");
            let mpirun = Command::new("mpirun").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
            mpirun.err().map(|e| format!("mpirun: {e}"))
        }
        Err(LabError::Missing(why)) => Some(why),
        Err(e) => panic!("{e}"),
    }
}

/// What the machine's own namespaces look like: devices, named namespaces, mounts.
fn outside() -> Vec<String> {
    let devices = fs::read_to_string("/proc/net/dev").expect("/proc/net/dev");
    let mut seen: Vec<String> = devices.lines().filter_map(|l| Some(l.split_once(':')?.0.trim().into())).collect();
    let named = Command::new("ip").args(["netns", "list"]).output().expect("ip netns list");
    seen.push(String::from_utf8_lossy(&named.stdout).into_owned());
    seen.push(fs::read_to_string("/proc/self/mountinfo").expect("mountinfo"));
    // TCP's settings, and the control group of whoever starts labs.
    for file in ["/proc/sys/net/ipv4/tcp_congestion_control", "/proc/sys/net/ipv4/tcp_rmem", "/proc/self/cgroup"] {
        seen.push(fs::read_to_string(file).unwrap_or_default());
    }
    seen
}

/// The processes on whose command line `word` stands.
fn processes_with(word: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = entries.filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
    let has =
        |pid: &i32| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|c| String::from_utf8_lossy(&c).contains(word));
    pids.filter(has).filter(|&pid| pid != std::process::id() as i32).collect()
}

fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < LIMIT, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn torus(root: &Path) {
    let (lab, status) = up(root, "torus", "torus:4x4");
    assert_eq!((status.hosts.len(), status.namespaces, status.links.len()), (16, 33, 64));
    match Lab::up(&network("star:2"), &options(root, "torus")) {
        Err(LabError::State(sentence)) => assert!(sentence.contains("is up already"), "{sentence}"),
        other => panic!("a second lab of the same name: {other:?}"),
    }

    for stream in lab.calibrate(Duration::from_millis(800)).expect("calibrate") {
        let share = stream.share;
        println!("{} -> {} over {} links: {:.1} % of the link", stream.from, stream.to, stream.links, share * 100.0);
        // More than all would mean that nothing shapes the link. Less than 0.85 would be a machine in distress.
        assert!((0.85..1.02).contains(&share), "{stream:?}");
    }

    let hosts: Vec<String> = status.hosts.iter().map(|h| h.name.clone()).collect();
    let outcome = run(&lab, &["hostname"], 16, 1);
    assert_eq!((outcome.end, outcome.status), (End::Exited, 0));
    let mut sorted = hosts.clone();
    sorted.sort();
    assert_eq!(lines(&outcome), sorted);

    // Every rank is told the topology, sees a directory of its own, and can reach nothing but the lab.
    let script = "echo $OPTIQ_TOPOLOGY; test -d $TMPDIR; test $(ls /proc/self/fd | wc -l) -gt 0; \
                  test $(grep -c : /proc/net/dev) = 3";
    let outcome = run(&lab, &["sh", "-ec", script], 5, 2);
    assert_eq!((outcome.end, outcome.status), (End::Exited, 0));
    assert_eq!(lines(&outcome), vec![status.topology.clone(); 5]);

    // The kernel's routes are those of the network: dimension order from h0 to h10 crosses h1, h2, h6.
    let router_path = trace(&lab, &status, "h0", "h10");
    let network = network("torus:4x4");
    let mut route = Vec::new();
    network.route(optiq_net::NodeId(0), optiq_net::NodeId(10), &mut route).expect("route");
    assert_eq!(router_path, route.iter().map(|l| l.index()).collect::<Vec<_>>());

    // Programs start with no signal blocked.
    let mask = lab.exec("h3", &arguments(&["grep", "SigBlk", "/proc/self/status"]), Some(LIMIT), true).expect("exec");
    assert_eq!(lines(&mask), ["SigBlk:\t0000000000000000"]);
    let failed = lab.exec("h3", &arguments(&["sh", "-c", "exit 7"]), Some(LIMIT), true).expect("exec");
    assert_eq!((failed.end, failed.status), (End::Exited, 7));
    let missing = lab.exec("h3", &arguments(&["/no/such/program"]), Some(LIMIT), true).expect("exec");
    assert_eq!((missing.end, missing.status), (End::Exited, 127));
    assert!(matches!(lab.exec("h16", &arguments(&["true"]), None, true), Err(LabError::Argument(_))));
    assert!(matches!(lab.run(&[], &RunOptions::default()), Err(LabError::Argument(_))));
    let many = RunOptions { ranks: Some(17), ..Default::default() };
    assert!(matches!(lab.run(&arguments(&["true"]), &many), Err(LabError::Argument(_))));

    let timeout = Some(Duration::from_millis(300));
    let slow = lab.exec("h3", &arguments(&["sleep", "1000.25"]), timeout, true).expect("exec");
    assert_eq!((slow.end, slow.status), (End::TimedOut, 124));
    let stubborn = ["sh", "-c", "trap '' TERM; sleep 1000.25 & sleep 1000.25"];
    let slow = lab.exec("h3", &arguments(&stubborn), timeout, true).expect("exec");
    assert_eq!(slow.end, End::TimedOut);
    assert_eq!(processes_with("1000.25"), [0; 0]);
    assert!(lab.down().expect("down"));
}

/// The links that packets from one host to another really take: those whose devices count them.
fn trace(lab: &Lab, status: &Status, from: &str, to: &str) -> Vec<usize> {
    let address = |name: &str| status.hosts.iter().find(|h| h.name == name).expect("a host").fabric;
    // No process listens there, so at worst every other attempt only receives that error.
    let before = lab.counters().expect("counters");
    let payload =
        format!("exec 3<>/dev/udp/{}/9; for i in $(seq 100); do printf x >&3; done 2>/dev/null; true", address(to));
    let sent = lab.exec(from, &arguments(&["bash", "-c", &payload]), Some(LIMIT), true).expect("exec");
    assert_eq!(sent.status, 0, "{from} to {to}: {sent:?}");
    // A link counts what has left its queue, where the packets may wait behind those of an earlier stream.
    let began = Instant::now();
    loop {
        let after = lab.counters().expect("counters");
        let mut links: Vec<usize> = (0..before.len()).filter(|&l| after[l].packets >= before[l].packets + 50).collect();
        // In the order of the path: each link begins where the last one ended.
        let mut at = from.to_string();
        let mut way = Vec::new();
        while let Some(i) = links.iter().position(|&l| status.links[l].from == at) {
            let link = links.remove(i);
            at = status.links[link].to.clone();
            way.push(link);
        }
        if at == to || began.elapsed() > Duration::from_secs(5) {
            return way;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The kernel's routes from and to these hosts are those of the network.
fn routes_agree(lab: &Lab, status: &Status, network: &optiq_net::Network, pairs: &[(u32, u32)]) {
    for &(from, to) in pairs {
        let mut route = Vec::new();
        network.route(optiq_net::NodeId(from), optiq_net::NodeId(to), &mut route).expect("route");
        let route: Vec<usize> = route.iter().map(|l| l.index()).collect();
        assert_eq!(trace(lab, status, &format!("h{from}"), &format!("h{to}")), route, "h{from} to h{to}");
    }
}

/// Fat-tree, dragonfly and dragonfly+ with the routing of their own: streams, programs, routes.
fn switches(root: &Path) {
    for (spec, hosts, namespaces, last) in [
        ("fattree:k=4", 16, 37, 13),
        ("fattree:2x2:1x2,rails=2", 4, 17, 3),
        ("dragonfly:p=1,a=2,h=1", 6, 13, 5),
        ("dragonfly+:p=1,l=2,s=2,h=1,g=3", 6, 19, 5),
    ] {
        let (lab, status) = up(root, "switches", spec);
        assert_eq!((status.hosts.len(), status.namespaces), (hosts, namespaces), "{spec}");
        for stream in lab.calibrate(Duration::from_millis(400)).expect("calibrate") {
            assert!((0.85..1.02).contains(&stream.share), "{spec}: {stream:?}");
        }
        routes_agree(&lab, &status, &network(spec), &[(0, last), (last, 1)]);
        let outcome = run(&lab, &["hostname"], 2 * hosts, 2);
        assert_eq!((outcome.status, lines(&outcome).len()), (0, 2 * hosts), "{spec}");
        assert!(lab.down().expect("down"));
    }
}

/// Where the route to a host depends on who sends.
fn routes_by_source(root: &Path) {
    for (spec, pairs) in [
        ("fattree:k=4,routing=smodk", [(0, 13), (1, 13), (2, 13), (3, 0)]),
        ("torus:3x3,routing=zone1", [(0, 8), (1, 8), (4, 8), (8, 0)]),
    ] {
        let (lab, status) = up(root, "sources", spec);
        routes_agree(&lab, &status, &network(spec), &pairs);
        assert!((0.85..1.02).contains(&lab.calibrate(Duration::from_millis(400)).expect("calibrate")[1].share));
        assert!(lab.down().expect("down"));
    }
}

/// Links with a speed of their own from the start, which programs learn from `OPTIQ_BACKGROUND`.
fn link_rates(root: &Path) {
    let link_rates = vec!["h0:*=20Mbit/s".parse().expect("a rate")];
    let options = UpOptions { link_rates, ..options(root, "rates") };
    let lab = Lab::up(&network("star:3"), &options).expect("up");
    let slow = &lab.calibrate(Duration::from_millis(400)).expect("calibrate")[0];
    assert!(slow.from == "h0" && slow.capacity == 2.5e6 && (0.80..1.05).contains(&slow.share), "{slow:?}");
    let told = run(&lab, &["sh", "-c", "cat $OPTIQ_BACKGROUND"], 2, 1);
    assert_eq!(lines(&told), ["h0 s0 80000000bit/s"; 2]);
    assert!(lab.down().expect("down"));

    // A file says the rates of single links itself.
    let path = env::temp_dir().join(format!("optiq-lab-rates-{}.toml", std::process::id()));
    let text = "[network]\ncapacity = \"100Mbit/s\"\n[hosts]\ncount = 2\n[switches]\ncount = 1\n\
                [[links]]\nfrom = \"s0\"\nto = \"h0\"\ncapacity = \"30Mbit/s\"\n[[links]]\nfrom = \"s0\"\nto = \"h1\"\n";
    fs::write(&path, text).expect("write");
    let network = optiq_net::Network::from_spec(&format!("file:{}", path.display())).expect("a network");
    let lab = Lab::up(&network, &self::options(root, "rates")).expect("up");
    let stream = &lab.calibrate(Duration::from_millis(400)).expect("calibrate")[0];
    assert!(stream.capacity == 3.75e6 && (0.80..1.05).contains(&stream.share), "{stream:?}");
    assert!(lab.down().expect("down"));
    fs::remove_file(&path).expect("remove");
}

fn profile(root: &Path, name: &str, profile: Profile) -> UpOptions {
    UpOptions { profile, ..options(root, name) }
}

/// A lab with this profile.
fn up_with(root: &Path, spec: &str, of: Profile) -> Lab {
    let lab = Lab::up(&network(spec), &profile(root, "profile", of)).expect("up");
    assert_eq!(lab.status().expect("status").profile, of);
    lab
}

/// This test again, as a program in the lab.
fn this(word: &str, rest: &str) -> Vec<OsString> {
    let binary = env::current_exe().expect("this test");
    [binary.as_os_str(), word.as_ref(), rest.as_ref()].map(OsString::from).to_vec()
}

/// Every profile carries streams and programs, names itself to them, and has the queues that it says.
fn profiles_carry_streams(root: &Path) {
    for (of, queue) in [
        (Profile::Tuned, "limit 4000000"),
        (Profile::Kernel, "limit 225000"),
        (Profile::Shallow, "limit 32000"),
        (Profile::Deep, "limit 1250000"),
        (Profile::Lossy, "limit 4000000"),
        (Profile::SlowHost, "limit 4000000"),
    ] {
        let lab = up_with(root, "star:3", of);
        let hub = lab.status().expect("status").links[0].to.clone();
        let share = lab.calibrate(Duration::from_millis(400)).expect("calibrate")[0].share;
        println!("{of}: {:.1} % of the link", share * 100.0);
        // What loses packets may leave links idle for a while; what loses none has no excuse.
        let least = if matches!(of, Profile::Tuned | Profile::SlowHost) { 0.85 } else { 0.2 };
        assert!((least..1.05).contains(&share), "{of}: {share}");
        let told = run(&lab, &["sh", "-c", "echo $OPTIQ_LAB_PROFILE"], 3, 1);
        assert_eq!((told.status, lines(&told)), (0, vec![of.to_string(); 3]), "{of}");
        // tbf says its limit in time; the kernel's own queue inside it does in bytes.
        let shown = || lab.exec("h0", &arguments(&["tc", "qdisc", "show", "dev", "fab0"]), Some(LIMIT), true);
        lab.set_rate("h0", &hub, "50Mbit/s".parse().expect("a rate")).expect("set rate");
        lab.cut("h0", &hub).expect("cut");
        lab.restore("h0", &hub).expect("restore");
        lab.set_rate("h0", &hub, "100Mbit/s".parse().expect("a rate")).expect("set rate");
        let queues = String::from_utf8(shown().expect("exec").stdout).expect("text");
        assert!(queues.contains("rate 100Mbit"), "{of}: {queues}");
        assert_eq!(queues.contains("blackhole"), of == Profile::Lossy, "{of}: {queues}");
        // Latency times rate plus burst is the limit.
        let limit: u32 = queue.split(' ').nth(1).and_then(|n| n.parse().ok()).expect("a number");
        let latency = queues.split(" lat ").nth(1).and_then(|l| l.split_whitespace().next()).unwrap_or_default();
        let expected = f64::from(limit) - 50_000.0;
        let shown_ms = latency.strip_suffix("ms").and_then(|l| l.parse::<f64>().ok());
        if expected > 0.0 {
            let bytes = shown_ms.unwrap_or_default() * 12_500.0;
            assert!((bytes - expected).abs() <= 12_500.0, "{of}: {queues}");
        }
        assert!(lab.down().expect("down"));
    }
}

/// TCP inside is TCP outside, and packets are Ethernet's.
fn kernel_has_the_settings_of_the_machine(root: &Path) {
    let lab = up_with(root, "star:2", Profile::Kernel);
    for name in ["tcp_congestion_control", "tcp_rmem", "tcp_wmem", "tcp_slow_start_after_idle", "tcp_no_metrics_save"] {
        let path = format!("/proc/sys/net/ipv4/{name}");
        let inside = lab.exec("h1", &arguments(&["cat", &path]), Some(LIMIT), true).expect("exec");
        let outside = fs::read_to_string(&path).expect("a setting");
        assert_eq!(lines(&inside), [outside.trim_end()], "{name}");
    }
    let mtu = lab.exec("h1", &arguments(&["ip", "-o", "link", "show", "fab0"]), Some(LIMIT), true).expect("exec");
    assert!(lines(&mtu)[0].contains("mtu 1500"), "{mtu:?}");
    assert!(lab.down().expect("down"));
}

/// Sends small packets, no faster than any queue takes them. The test as a program in the lab.
fn packets(words: &[String]) -> i32 {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").expect("a socket");
    let words: Vec<&str> = words.iter().flat_map(|w| w.split(' ')).collect();
    let (to, count): (&str, u32) = (words[0], words[1].parse().expect("a number"));
    for i in 0..count {
        // No process listens there: an error that comes back from that is none.
        let _ = socket.send_to(b"x", (to, 9));
        if i % 500 == 499 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    0
}

/// Of 100,000 packets 100 are lost, within six standard deviations (10) to each side; the queue drops none.
fn lossy_links_lose_a_thousandth(root: &Path) {
    let lab = up_with(root, "star:2", Profile::Lossy);
    let status = lab.status().expect("status");
    let sent = lab.exec("h0", &this("packets", &format!("{} 100000", status.hosts[1].fabric)), Some(LIMIT), true);
    assert_eq!(sent.expect("exec").status, 0);
    let shown = lab.exec("h0", &arguments(&["tc", "-s", "qdisc", "show", "dev", "fab0"]), Some(LIMIT), true);
    let shown = String::from_utf8(shown.expect("exec").stdout).expect("text");
    let counts = |queue: &str| -> (u32, u32) {
        let of = shown.split("qdisc ").find(|q| q.starts_with(queue)).unwrap_or_else(|| panic!("{queue}: {shown}"));
        let number = |after: &str, before: &str| {
            of.split(after).nth(1).and_then(|rest| rest.split(before).next()).and_then(|n| n.trim().parse().ok())
        };
        let sent = number(" bytes ", " pkt").unwrap_or_else(|| panic!("{shown}"));
        (sent, number("(dropped ", ",").unwrap_or_else(|| panic!("{shown}")))
    };
    let ((passed, full), (_, lost)) = (counts("bfifo"), counts("blackhole"));
    println!("{lost} of {} packets were lost", passed + lost);
    assert_eq!(full, 0, "{shown}");
    assert!((100_000..100_100).contains(&(passed + lost)), "{shown}");
    assert!((40..=160).contains(&lost), "{shown}");
    assert!(lab.down().expect("down"));
}

/// The test as a program in the lab: computes for 0.3 s. Prints the part, in percent, of the time without waits for a processor in which it did not run.
fn compute() -> i32 {
    // On a processor, and waiting for one, in seconds.
    let scheduled = || {
        let text = fs::read_to_string("/proc/self/schedstat").expect("times of this process");
        let mut nanoseconds = text.split_whitespace().map(|n| n.parse::<f64>().expect("nanoseconds"));
        [(); 2].map(|()| nanoseconds.next().expect("two numbers") / 1e9)
    };
    let (began, before) = (Instant::now(), scheduled());
    let mut x = 1u64;
    while began.elapsed() < Duration::from_millis(300) {
        for _ in 0..1000 {
            x = std::hint::black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
    }
    let (elapsed, after) = (began.elapsed().as_secs_f64(), scheduled());
    println!("{:.0}", 100.0 * (1.0 - (after[0] - before[0]) / (elapsed - (after[1] - before[1]))));
    0
}

/// A computing loop is stopped for half of the time on the last host and never on another: alone, and as a rank that `mpirun` started. What it waits for
/// processors that others have does not count, because the machine is never quiet.
fn slow_host_runs_half_of_the_time(root: &Path) {
    let lab = up_with(root, "star:3", Profile::SlowHost);
    assert_eq!(lab.status().expect("status").slow_host.as_deref(), Some("h2"));
    let mut stopped: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for _ in 0..5 {
        for host in ["h1", "h2"] {
            let outcome = lab.exec(host, &this("compute", ""), Some(LIMIT), true).expect("exec");
            stopped.entry(host.into()).or_default().push(lines(&outcome)[0].parse().expect("a number"));
        }
    }
    let script = format!("echo $(hostname) $({} compute)", env::current_exe().expect("this test").display());
    for _ in 0..5 {
        let outcome = run(&lab, &["sh", "-c", &script], 3, 1);
        assert_eq!(outcome.status, 0);
        for line in lines(&outcome) {
            let (host, percent) = line.split_once(' ').expect("two words");
            let rank = format!("{host} under mpirun");
            stopped.entry(rank).or_default().push(percent.parse().expect("a number"));
        }
    }
    assert_eq!(stopped.len(), 5, "{stopped:?}");
    for (who, percents) in &stopped {
        let mean = percents.iter().sum::<f64>() / percents.len() as f64;
        println!("{who}: stopped for {mean:.0} % of the time");
        let expected = if who.starts_with("h2") { 35.0..65.0 } else { -5.0..15.0 };
        assert!(expected.contains(&mean), "{stopped:?}");
    }

    // The exit status is the program's, and nothing is left of what it starts, stopped or not.
    let outcome = run(&lab, &["sh", "-c", "setsid sleep 1005.25 & exit 5"], 3, 1);
    assert_eq!(outcome.status, 5);
    assert_eq!(processes_with("1005.25"), [0; 0]);
    let timeout = Some(Duration::from_millis(300));
    let slow = lab.exec("h2", &arguments(&["sleep", "1006.25"]), timeout, true).expect("exec");
    assert_eq!((slow.end, slow.status), (End::TimedOut, 124));
    let mut child =
        start(root, "run", "profile", &["sh", "-c", "setsid sleep 1007.25 & echo ready; exec sleep 1007.25"]);
    send("INT", child.id());
    assert_eq!(child.wait().expect("the child's end").code(), Some(130));
    for seconds in ["1006.25", "1007.25", "stopper"] {
        assert_eq!(processes_with(seconds), [0; 0], "{seconds}");
    }
    assert!(lab.down().expect("down"));
}

/// Where `tc` cannot make what loses packets, a lossy lab is refused in one sentence, and nothing is left of it.
fn profiles_need_the_kernel(root: &Path) {
    let tools = env::temp_dir().join(format!("optiq-lab-tools-{}", std::process::id()));
    fs::create_dir_all(&tools).expect("a directory");
    let tc = tools.join("tc");
    let text = "#!/bin/sh\nif grep -q bpf; then echo 'Error: TC classifier not found.' >&2; exit 1; fi\n";
    fs::write(&tc, text).expect("write");
    fs::set_permissions(&tc, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("permissions");
    let path = format!("{}:{}", tools.display(), env::var("PATH").unwrap_or_default());
    let mut command = Command::new(env::current_exe().expect("this test"));
    let output = command.arg("child").arg(root).arg("lossy").env("PATH", path).output().expect("a child");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("the profile lossy needs a kernel that can drop packets at random"), "{said}");
    assert!(said.contains("TC classifier not found"), "{said}");
    assert!(Lab::open("child", Some(root)).is_err() && !root.join("child").exists());
    fs::remove_dir_all(&tools).expect("remove");

    // A profile has its settings.
    let tuning = Some(optiq_lab::Tuning::new(Profile::Tuned, "100Mbit/s".parse().expect("a rate")));
    let both = UpOptions { tuning, ..profile(root, "profile", Profile::Deep) };
    match Lab::up(&network("star:2"), &both) {
        Err(LabError::Argument(sentence)) => assert!(sentence.contains("profile deep"), "{sentence}"),
        other => panic!("a profile and settings: {other:?}"),
    }
}

fn star_links_change(root: &Path) {
    let (lab, status) = up(root, "star", "star:3");
    assert_eq!((status.hosts.len(), status.namespaces), (3, 5));
    let hub = status.links.iter().find(|l| l.from == "h0").expect("a link of h0").to.clone();
    let share = |lab: &Lab| lab.calibrate(Duration::from_millis(400)).expect("calibrate")[0].share;
    assert!((0.85..1.02).contains(&share(&lab)));
    lab.set_rate("h0", &hub, "20Mbit/s".parse().expect("a rate")).expect("set rate");
    let slow = &lab.calibrate(Duration::from_millis(400)).expect("calibrate")[0];
    assert!(slow.capacity == 2.5e6 && (0.80..1.05).contains(&slow.share), "{slow:?}");

    lab.cut("h0", &hub).expect("cut");
    assert!(lab.status().expect("status").links.iter().any(|l| l.cut && l.from == "h0"));
    assert!(lab.calibrate(Duration::from_millis(200)).is_err());
    lab.restore("h0", &hub).expect("restore");
    lab.set_rate("h0", &hub, "100Mbit/s".parse().expect("a rate")).expect("set rate");
    assert!((0.85..1.02).contains(&share(&lab)));
    assert!(matches!(lab.cut("h0", "h1"), Err(LabError::Argument(_))));
    assert!(lab.down().expect("down"));
}

/// Every followed byte that has arrived has left its host before, came to the switch and left it, by the same kernel's clock.
fn taps_follow_bytes(root: &Path) {
    let (lab, status) = up(root, "taps", "star:3");
    assert!(matches!(lab.tap(3000), Err(LabError::Argument(_))));
    let taps = lab.tap(1 << 16).expect("taps");
    lab.calibrate(Duration::from_millis(400)).expect("calibrate");
    let tapped = taps.finish().expect("what taps saw");
    assert_eq!(tapped.dropped.iter().sum::<u64>(), 0);
    let place = |name: &str| tapped.names.iter().position(|n| n == name).expect("a namespace");
    let hub = place(&status.links.iter().find(|l| l.from == "h0").expect("a link of h0").to);
    let host = |address| tapped.hosts.iter().find(|h| h.0 == address).expect("a host").1;
    let mut followed = 0;
    for end in tapped.records.iter().filter(|r| !r.outgoing && r.namespace == host(r.destination)) {
        let same = |r: &&optiq_lab::TapRecord| {
            (r.source, r.destination, r.ports, r.mark) == (end.source, end.destination, end.ports, end.mark)
        };
        let first = |namespace, outgoing| {
            let there = |r: &&optiq_lab::TapRecord| same(r) && r.namespace == namespace && r.outgoing == outgoing;
            tapped.records.iter().filter(there).map(|r| r.time).min().expect("a tap saw it")
        };
        let times = [first(host(end.source), true), first(hub, false), first(hub, true), end.time];
        assert!(times.is_sorted() && times[0] > 0, "{times:?}");
        assert_eq!(end.far, hub);
        followed += 1;
    }
    // 0.4 s of 100 Mbit/s are 76 times 64 KiB.
    assert!(followed > 40, "{followed} bytes were followed");
    // Taps whose reader is gone are closed.
    drop(lab.tap(1).expect("taps"));
    assert!(lab.down().expect("down"));
}

/// The dynamic loader complains of a library that is missing in every process that was to load it: here, in the process that is asked to
/// run the program, and in the program on each of two hosts, but not in what starts it there.
fn preloaded_libraries_are_for_the_ranks(root: &Path) {
    let (lab, _) = up(root, "preload", "mesh:2");
    for (verb, programs) in [("run", 2), ("exec", 1)] {
        let mut command = Command::new(env::current_exe().expect("this test"));
        let child = command.arg("child").arg(root).args([verb, "preload", "sh", "-c", "echo $LD_PRELOAD"]);
        let output = child.env("LD_PRELOAD", "/missing/library.so").output().expect("a child");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(out.lines().collect::<Vec<_>>(), vec!["/missing/library.so"; programs], "{verb}: {err}");
        // `exec` hands its environment to the processes that watch the program as well.
        if verb == "run" {
            let complaints = err.matches("'/missing/library.so' from LD_PRELOAD cannot be preloaded").count();
            assert_eq!(complaints, programs + 1, "{err}");
        }
    }
    assert!(lab.down().expect("down"));
}

/// Starts this test again to run (`verb`) a program in a lab, waits for its first line, and returns it.
fn start(root: &Path, verb: &str, name: &str, program: &[&str]) -> std::process::Child {
    let mut command = Command::new(env::current_exe().expect("this test"));
    let mut child = command
        .arg("child")
        .arg(root)
        .args([verb, name])
        .args(program)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child");
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().expect("its output")).read_line(&mut line).expect("a line");
    // Jobs say who they are.
    let said = line.trim();
    assert_eq!(said.rsplit_once(": ").map_or(said, |(_, said)| said), "ready");
    child
}

fn send(signal: &str, pid: u32) {
    let status = Command::new("kill").args([format!("-{signal}"), pid.to_string()]).status().expect("kill");
    assert!(status.success());
}

/// On hosts of their own and on shared ones, each job has what is its: hosts, output, status, a directory.
fn jobs_at_once(root: &Path) {
    let (lab, _) = up(root, "jobs", "star:3");
    let where_and = "hostname; echo $TMPDIR";
    let found = jobs(&lab, &[("a", "h2 h0", &["hostname"]), ("b", "h1", &["hostname"])], true, false).expect("jobs");
    assert_eq!(found.iter().map(lines).collect::<Vec<_>>(), [vec!["h0", "h2"], vec!["h1"]]);
    let program: &[&str] = &["sh", "-c", where_and];
    let both = jobs(&lab, &[("a", "h1 h1", program), ("b", "h1", program)], true, true).expect("jobs");
    let [a, b] = [lines(&both[0]), lines(&both[1])];
    assert_eq!((a.len(), b.len()), (4, 2), "{a:?} {b:?}");
    assert_ne!(a[0], b[0], "a directory of their own");
    // One that fails ends the others, and says how it failed.
    let began = Instant::now();
    let ended = jobs(&lab, &[("a", "h0", &["sleep", "1004.25"]), ("b", "h1", &["sh", "-c", "exit 3"])], true, false);
    let ended = ended.expect("jobs");
    assert_eq!((ended[0].end, ended[1].end, ended[1].status), (End::Interrupted(15), End::Exited, 3));
    assert!(began.elapsed() < LIMIT && processes_with("1004.25").is_empty());
    assert_eq!(runs(root, "jobs"), 0);
    assert!(lab.down().expect("down"));
}

fn interrupted_run_leaves_nothing(root: &Path) {
    let (lab, _) = up(root, "stop", "mesh:2");
    let cases = [
        ("INT", "run", "1001.25"),
        ("INT", "jobs", "1005.25"),
        ("KILL", "jobs", "1006.25"),
        ("INT", "tapped", "1007.25"),
        ("KILL", "tapped", "1008.25"),
        ("TERM", "exec", "1002.25"),
        ("KILL", "exec", "1003.25"),
    ];
    for (signal, verb, seconds) in cases {
        // Each rank also leaves a process behind that has left its session.
        let script = format!("setsid sleep {seconds} & echo ready; exec sleep {seconds}");
        let mut child = start(root, verb, "stop", &["sh", "-c", &script]);
        assert!(!processes_with(seconds).is_empty());
        send(signal, child.id());
        let status = child.wait().expect("the child's end");
        let expected = match signal {
            "INT" => Some(130),
            "TERM" => Some(143),
            _ => None,
        };
        assert_eq!(status.code(), expected, "after SIG{signal}");
        if signal == "KILL" {
            wait_until("the run has ended", || processes_with(seconds).is_empty() && runs(root, "stop") == 0);
        }
        assert_eq!(processes_with(seconds), [0; 0], "after SIG{signal}");
        assert_eq!(runs(root, "stop"), 0, "after SIG{signal}");
    }
    // The lab is none the worse.
    let outcome = lab.exec("h1", &arguments(&["hostname"]), Some(LIMIT), true).expect("exec");
    assert_eq!(lines(&outcome), ["h1"]);
    assert!(lab.down().expect("down"));
}

/// Directories of runs in a lab's directory.
fn runs(root: &Path, name: &str) -> usize {
    let entries = fs::read_dir(root.join(name)).expect("the lab's directory").flatten();
    entries.filter(|e| e.file_name().to_string_lossy().starts_with("run-")).count()
}

fn interrupted_up_leaves_nothing(root: &Path) {
    for delay in [0, 5, 20, 40, 80, 120] {
        let mut command = Command::new(env::current_exe().expect("this test"));
        let mut child = command.arg("child").arg(root).args(["up", "torus:4x4"]).spawn().expect("a child");
        std::thread::sleep(Duration::from_millis(delay));
        send("INT", child.id());
        let finished = child.wait().expect("the child's end").success();
        if !finished {
            let state = root.join("child/state.json");
            wait_until("the holder has gone", || processes_with(&state.display().to_string()).is_empty());
            assert!(list(Some(root)).expect("list").is_empty());
        }
        match Lab::find("child", Some(root)).expect("find").down() {
            Ok(was_up) => assert_eq!(was_up, finished),
            Err(LabError::State(_)) if !finished => {}
            Err(e) => panic!("{e}"),
        }
    }
}

fn down_ends_runs(root: &Path) {
    let (lab, status) = up(root, "busy", "star:2");
    let mut child = start(root, "exec", "busy", &["sh", "-c", "echo ready; sleep 1004.25"]);
    assert!(lab.clone().down().expect("down"));
    assert!(!child.wait().expect("the child's end").success());
    assert_eq!(processes_with("1004.25"), [0; 0]);
    assert!(!Path::new(&format!("/proc/{}", status.holder.pid)).exists());
    assert!(matches!(lab.down(), Err(LabError::State(_))));
}

fn dead_holder_is_noticed(root: &Path) {
    let (lab, status) = up(root, "dead", "star:2");
    send("KILL", status.holder.pid as u32);
    wait_until("the holder is dead", || lab.status().is_err());
    assert!(matches!(lab.exec("h0", &arguments(&["true"]), None, true), Err(LabError::State(_))));
    // The name is free again.
    let (again, _) = up(root, "dead", "star:2");
    assert!(again.down().expect("down"));
    assert!(matches!(Lab::open("dead", Some(root)), Err(LabError::State(_))));
}

fn attached(root: &Path) {
    let options = UpOptions { attached: true, ..options(root, "attached") };
    let lab = Lab::up(&network("star:2"), &options).expect("up");
    let other_handle = Lab::open("attached", Some(root)).expect("open");
    assert_eq!(lab.exec("h1", &arguments(&["true"]), None, true).expect("exec").status, 0);
    drop(lab);
    wait_until("the lab has gone with its handle", || other_handle.status().is_err());
    // And so has its directory: its process may be dead and cannot remove it.
    wait_until("nothing is left of the lab", || !root.join("attached").exists());
    assert!(other_handle.down().is_err());
    // Taken down as any other.
    let lab = Lab::up(&network("star:2"), &options).expect("up again");
    assert!(lab.down().expect("down"));
}

fn lifetime(root: &Path) {
    let options = UpOptions { lifetime: Some(Duration::from_millis(700)), ..options(root, "short") };
    let lab = Lab::up(&network("star:2"), &options).expect("up");
    assert!(lab.status().is_ok());
    wait_until("the lab has gone by itself", || lab.status().is_err());
    assert!(!lab.down().expect("down"));
}
