//! Providers in environments that are made by hand.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;
use optiq_lower::placement::PlacementRule;
use optiq_net::Network;
use std::fs;

/// A rank on `processor` with these variables.
fn rank(processor: &str, variables: &[(&str, &str)]) -> RankStatement {
    let value = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
    let statement = RankStatement::new(processor, &value, None);
    assert_eq!(RankStatement::parse(&statement.text()), statement);
    statement
}

/// Ranks that Slurm tells these addresses; each is on the processor that the address ends in.
fn slurm(addresses: &[&str]) -> Vec<RankStatement> {
    let tell = |address: &&str| {
        let pattern = "switch.".repeat(address.matches('.').count()) + "node";
        let node = address.rsplit('.').next().unwrap_or_default();
        rank(node, &[("SLURM_TOPOLOGY_ADDR", address), ("SLURM_TOPOLOGY_ADDR_PATTERN", &pattern)])
    };
    addresses.iter().map(tell).collect()
}

fn surroundings(ranks: &[RankStatement]) -> Surroundings<'_> {
    let placement = &PlacementRule::Auto;
    Surroundings { topology: Some("auto"), files: None, placement, max_hosts: 1000, ranks, in_job: true }
}

/// Who found something, and what.
fn found(surroundings: &Surroundings<'_>) -> (&'static str, Found) {
    match discover(surroundings).pop().unwrap() {
        (name, Ok(Answer::Found(found))) => (name, found),
        other => panic!("{other:?}"),
    }
}

fn tree(addresses: &[&str]) -> Network {
    let ranks = slurm(addresses);
    match found(&surroundings(&ranks)) {
        ("process-manager", Found::Hosts(hosts)) => hosts.network(1000, 1.0, 1000).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// What the process manager's variables are refused for; the processors are taken then.
fn refused(ranks: &[RankStatement]) -> String {
    let answers = discover(&surroundings(ranks));
    assert!(matches!(answers.last().unwrap(), ("processors", Ok(Answer::Found(_)))), "{answers:?}");
    let error = answers[2].1.as_ref().unwrap_err().to_string();
    assert!(summary(&answers).contains(&error) && !error.contains('\n'), "{error}");
    error
}

#[test]
fn slurms_addresses_give_a_tree() {
    let net = tree(&["s1.s2.n1", "s1.s2.n2", "s1.s3.n3", "s1.s3.n4"]);
    let distance = |a: &str, b: &str| net.distance(net.resolve(a).unwrap(), net.resolve(b).unwrap());
    assert_eq!((net.hosts(), net.vertices()), (4, 7));
    assert_eq!((distance("n1", "n2"), distance("n1", "n3"), distance("n3", "n4")), (2, 4, 2));
    // All hosts on one leaf are joined by it alone; depths may differ.
    assert_eq!(tree(&["s1.s2.n1", "s1.s2.n2"]).vertices(), 3);
    assert_eq!(tree(&["s1.s2.n1", "s1.s2.n2", "s1.n3"]).vertices(), 5);
    // Several ranks of a host.
    assert_eq!(tree(&["s1.s2.n1", "s1.s2.n1", "s1.s3.n2"]).hosts(), 2);
}

#[test]
fn contradictory_addresses_are_named_and_the_next_provider_is_asked() {
    let mut ranks = slurm(&["s1.s2.n1", "s1.s3.n2"]);
    ranks.push(rank("n3", &[]));
    assert!(refused(&ranks).contains("names switches at rank 0 and none at rank 2"));
    let error = refused(&slurm(&["s1.s2.n1", "s4.s2.n2"]));
    assert!(
        error.contains("\"s2\" is below \"s1\" in the address of \"n1\", and below \"s4\" in that of \"n2\""),
        "{error}"
    );
    let other = [("SLURM_TOPOLOGY_ADDR", "s1.s2.n1"), ("SLURM_TOPOLOGY_ADDR_PATTERN", "switch.switch.node")];
    // A launcher that hands the first host's environment to all.
    let error = refused(&[rank("n1", &other), rank("n2", &other)]);
    assert!(error.contains("the address of rank 1 is that of \"n1\""), "{error}");
    let short = [("SLURM_TOPOLOGY_ADDR", "n1"), ("SLURM_TOPOLOGY_ADDR_PATTERN", "switch.node")];
    let error = refused(&[rank("n1", &short), rank("n2", &short)]);
    assert_eq!(
        error,
        "SLURM_TOPOLOGY_ADDR of rank 0: address \"n1\": it has 1 parts; 2 are expected by its pattern \"switch.node\""
    );
    let without = [("SLURM_TOPOLOGY_ADDR", "s1.n1")];
    assert!(refused(&[rank("n1", &without)]).contains("its pattern is \"\""));
}

#[test]
fn lists_of_hosts_confirm_processors() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (nodes, counted) = (write("pbs", "n1\nn1\nn2.site\n"), write("hydra", "# hosts\nn1:2\nn2:2\n"));
    for (name, value, manager) in [
        ("SLURM_JOB_NODELIST", "n[1-3]", "Slurm"),
        ("PBS_NODEFILE", &nodes, "PBS"),
        ("HYDRA_HOST_FILE", &counted, "MPICH's Hydra"),
        ("PE_HOSTFILE", &nodes, "Grid Engine"),
        ("LSB_MCPU_HOSTS", "n1 4 n2 4", "LSF"),
    ] {
        // Slurm without a topology plugin tells addresses without switches.
        let variables = [(name, value), ("SLURM_TOPOLOGY_ADDR", "n1"), ("SLURM_TOPOLOGY_ADDR_PATTERN", "node")];
        let (who, hosts) = found(&surroundings(&[rank("n1", &variables), rank("n2", &variables)]));
        let expected =
            format!("one switch with 2 hosts, guessed from processor names, which {manager} confirms ({name})");
        assert_eq!((who, hosts.describe()), ("process-manager", expected));
        let error = refused(&[rank("n1", &variables), rank("x", &variables)]);
        assert!(
            error.contains(&format!("rank 1 runs on \"x\", which is not a host of the job as {manager} says ({name})"))
        );
    }
    // PBS has its file on the first host only.
    let first = [("PBS_NODEFILE", nodes.as_str())];
    let others = [("PBS_NODEFILE", "no/such/file"), ("PMIX_HOSTNAME", "n2"), ("OMPI_MCA_orte_num_nodes", "2")];
    assert_eq!(found(&surroundings(&[rank("n1", &first), rank("n2", &others)])).0, "process-manager");
    for (one, other, expected) in [
        ("n[1-2]", "n[1-3]", "SLURM_JOB_NODELIST does not have the same hosts at ranks 0 and 1"),
        ("n[1-", "n[1-", "rank 0: SLURM_JOB_NODELIST is \"n[1-\": list of names \"n[1-\":"),
    ] {
        let error =
            refused(&[rank("n1", &[("SLURM_JOB_NODELIST", one)]), rank("n2", &[("SLURM_JOB_NODELIST", other)])]);
        assert!(error.contains(expected), "{error}");
    }
    assert!(refused(&[rank("n1", &[("LSB_MCPU_HOSTS", "n1 n2")])]).contains("each with a number behind it"));
    assert!(refused(&[rank("n1", &[("PBS_NODEFILE", &write("empty", "\n"))])]).contains("the file has no host"));
}

#[test]
fn files_come_before_the_process_manager_unless_they_are_another_machines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("topology.conf");
    fs::write(&path, "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\nSwitchName=t Switches=a,b\n").unwrap();
    let files = FileNetwork::read(path.to_str().unwrap(), 1000);
    let none = |_: &str| None;
    let on =
        |names: &[&str]| names.iter().map(|name| RankStatement::new(name, &none, Some(&files))).collect::<Vec<_>>();
    let with = |ranks: &[RankStatement]| discover(&Surroundings { files: Some(&files), ..surroundings(ranks) });
    let answers = with(&on(&["n1", "n4"]));
    let text = summary(&answers);
    assert!(
        text.starts_with("files found topology.conf (4 hosts, 3 switches), as OPTIQ_TOPOLOGY_FILES says, "),
        "{text}"
    );
    assert!(text.ends_with("not by specification (OPTIQ_TOPOLOGY is auto)"), "{text}");
    let answers = with(&on(&["n1", "x2"]));
    assert_eq!(answers.last().unwrap().0, "processors");
    assert!(summary(&answers).contains("rank 1 runs on \"x2\", which is not a host of the topology"), "{answers:?}");
    // Whoever cannot read them takes all others along.
    let missing = FileNetwork::read("no/such/file", 1000);
    let mut ranks = on(&["n1", "n2"]);
    ranks.push(RankStatement::new("n3", &none, Some(&missing)));
    assert!(refused_by_files(&with(&ranks)).starts_with("OPTIQ_TOPOLOGY_FILES: topology file no/such/file: "));
    ranks[2] = rank("n3", &[]);
    assert_eq!(refused_by_files(&with(&ranks)), "OPTIQ_TOPOLOGY_FILES is not set at rank 2");
    fs::write(&path, "SwitchName=a Nodes=n[1-4]\n").unwrap();
    let changed = FileNetwork::read(path.to_str().unwrap(), 1000);
    ranks[2] = RankStatement::new("n3", &none, Some(&changed));
    assert!(refused_by_files(&with(&ranks)).ends_with("are not the same network at ranks 0 and 2"));
}

fn refused_by_files(answers: &Answers) -> String {
    let (name, answer) = &answers[1];
    assert_eq!(*name, "files");
    answer.as_ref().unwrap_err().to_string()
}

#[test]
fn what_is_named_is_taken_or_refused() {
    let ranks = [rank("n1", &[("SLURM_JOB_NODELIST", "n1")])];
    let with = |topology| discover(&Surroundings { topology: Some(topology), ..surroundings(&ranks) });
    let answers = with("star:2,names=n[1-2]");
    assert!(matches!(answers.last().unwrap(), ("specification", Ok(Answer::Found(Found::Network(..))))), "{answers:?}");
    for (topology, who, expected) in [
        ("torus:4x", "specification", "OPTIQ_TOPOLOGY: topology \"torus:4x\""),
        ("file:no/such/file.toml", "files", "OPTIQ_TOPOLOGY: topology file no/such/file.toml"),
        ("torus:40x40", "specification", "OPTIQ_MAX_HOSTS raises the limit"),
    ] {
        let (name, answer) = with(topology).pop().unwrap();
        let error = answer.unwrap_err().to_string();
        assert!(name == who && error.contains(expected), "{name}: {error}");
    }
    // A placement file has the hosts of a network that is known.
    let placement = &PlacementRule::File("ranks".into());
    let (name, answer) = discover(&Surroundings { placement, ..surroundings(&ranks) }).pop().unwrap();
    assert!(name == "processors" && answer.unwrap_err().to_string().contains("has no hosts that it could name"));
}

#[test]
fn outside_a_job_each_says_what_ranks_would_find() {
    for (ranks, expected) in [
        (slurm(&["s1.s2.n1"]), "process-manager: SLURM_TOPOLOGY_ADDR is s1.s2.n1"),
        (vec![rank("login", &[("SLURM_JOB_NODELIST", "n[1-3]")])], "process-manager: 3 hosts of Slurm's job"),
        (vec![rank("login", &[("SLURM_JOB_NODELIST", "n1")])], "process-manager: 1 host of Slurm's job"),
        (vec![rank("login", &[])], "processors: one switch that joins the processors of the ranks"),
    ] {
        let text = summary(&discover(&Surroundings { in_job: false, ..surroundings(&ranks) }));
        assert!(text.starts_with(expected), "{text}");
    }
}
