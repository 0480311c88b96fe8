//! The hosts of a job as process managers and batch systems tell them in the environment.

use optiq_lower::guessed_network::same_host;
use optiq_net::expand_host_list;
use optiq_net::text_file::{self, shorten};
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// A list of hosts, without the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListStatement {
    pub(super) manager: String,
    pub(super) variable: String,
    pub(super) hosts: usize,
    /// The same for the same list.
    pub(super) print: u64,
    /// Whether this process's processor is on it.
    pub(super) listed: bool,
}

/// The largest file of hosts that is read, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// The most hosts of a list.
const MOST_HOSTS: usize = 4 << 20;

/// How a variable has the hosts.
#[derive(Clone, Copy)]
enum Form {
    /// A list in Slurm's grammar.
    List,
    /// The path of a file, a host in the first word of each line, with `:N` behind it or not.
    File,
    /// Hosts, each with its number of processes behind it.
    Counted,
    /// This process's host alone.
    Own,
}

/// (who sets it, variable, form); the first that is set counts. `SLURM_STEP_NODELIST` is not here: where a batch script starts
/// `mpirun`, it is that of the script on one rank and that of the daemons on others.
const VARIABLES: [(&str, &str, Form); 8] = [
    ("Slurm", "SLURM_JOB_NODELIST", Form::List),
    ("Slurm", "SLURM_NODELIST", Form::List),
    ("PBS", "PBS_NODEFILE", Form::File),
    ("LSF", "LSB_MCPU_HOSTS", Form::Counted),
    ("Grid Engine", "PE_HOSTFILE", Form::File),
    ("Cobalt", "COBALT_NODEFILE", Form::File),
    ("MPICH's Hydra", "HYDRA_HOST_FILE", Form::File),
    ("Open MPI", "PMIX_HOSTNAME", Form::Own),
];

/// The hosts of a job.
pub(super) struct HostList {
    manager: &'static str,
    variable: &'static str,
    names: Vec<String>,
    /// How many hosts there are, where the names of others are not known.
    count: Option<usize>,
}

impl HostList {
    /// The list of the first variable that is set; the error is a sentence that names it. A file that is not here is not looked at
    /// further: PBS has it on the first host only.
    pub fn read(variable: &dyn Fn(&str) -> Option<String>) -> Option<Result<Self, String>> {
        VARIABLES.into_iter().find_map(|(manager, name, form)| {
            let value = variable(name)?;
            if matches!(form, Form::File) && !Path::new(value.trim()).exists() {
                return None;
            }
            let list = |names: Vec<String>| Self { manager, variable: name, names, count: None };
            let told = |why: String| format!("{name} is \"{}\": {why}", shorten(&value));
            let read = match form {
                Form::List => expand_host_list(&value, MOST_HOSTS).map(list).map_err(|e| told(e.to_string())),
                Form::File => in_file(&value).map(list).map_err(told),
                Form::Counted => counted(&value).map(list).map_err(told),
                Form::Own => {
                    let count = variable("OMPI_MCA_orte_num_nodes").and_then(|count| count.trim().parse().ok());
                    Ok(Self { count, ..list(vec![value.trim().to_owned()]) })
                }
            };
            Some(read)
        })
    }

    /// What a process on `processor` says of it.
    pub fn statement(&self, processor: &str) -> ListStatement {
        let own_alone = self.variable == "PMIX_HOSTNAME";
        let hosts = if own_alone { self.count.unwrap_or(0) } else { self.names.len() };
        let print = if own_alone { hosts as u64 } else { xxh3_64(self.names.join(",").as_bytes()) };
        ListStatement {
            manager: self.manager.into(),
            variable: self.variable.into(),
            hosts,
            print,
            listed: self.names.iter().any(|name| same_host(name, processor)),
        }
    }
}

/// The hosts of a file, each once, in its order.
fn in_file(path: &str) -> Result<Vec<String>, String> {
    let text = text_file::read(Path::new(path.trim()), MAX_BYTES)?;
    let first = text.lines().filter_map(|line| line.split('#').next()?.split_whitespace().next());
    let names = once(first.map(|word| word.split_once(':').map_or(word, |(name, _)| name)));
    if names.is_empty() { Err("the file has no host; a line for each is expected".into()) } else { Ok(names) }
}

/// The hosts of `a 16 b 16`.
fn counted(text: &str) -> Result<Vec<String>, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let fits = words.chunks(2).all(|pair| matches!(pair, [_, count] if count.parse::<u32>().is_ok()));
    if !fits || words.is_empty() {
        return Err("names of hosts are expected, each with a number behind it, such as n1 16 n2 16".into());
    }
    Ok(once(words.into_iter().step_by(2)))
}

fn once<'t>(names: impl Iterator<Item = &'t str>) -> Vec<String> {
    let mut seen = std::collections::BTreeSet::new();
    names.filter(|name| seen.insert(*name)).map(str::to_owned).collect()
}
