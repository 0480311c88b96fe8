//! What else exchanges data of all ranks with all: algorithms of MPI libraries, chosen by their tuning variables, and those of others,
//! compiled here from checkouts of their repositories into libraries that take MPI's place (`rivals/rival.c`).

use super::direct::SENDS;
use crate::failure::Failure;
use crate::workspace::{self, Workspace};
use optiq_net::text_file;
use serde::{Deserialize, Serialize};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The MPI library below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RaceLibrary {
    /// Open MPI 4.
    OpenMpi,
    /// MPICH 4.
    Mpich,
}

impl RaceLibrary {
    /// On the page.
    pub fn name(self) -> &'static str {
        match self {
            RaceLibrary::OpenMpi => "Open MPI",
            RaceLibrary::Mpich => "MPICH",
        }
    }

    /// As `optiq lab run --mpi` takes it.
    pub fn option(self) -> &'static str {
        match self {
            RaceLibrary::OpenMpi => "openmpi",
            RaceLibrary::Mpich => "mpich",
        }
    }
}

/// One setting of a rival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rival {
    /// Who.
    pub name: &'static str,
    /// Which algorithm, how set.
    pub setting: String,
    /// Below it.
    pub library: RaceLibrary,
    /// Words of `mpirun`.
    pub mpirun: Vec<String>,
    /// Variables of the ranks, `NAME=VALUE`.
    pub environment: Vec<String>,
}

/// Open MPI's alltoallv algorithms. The linear one is the one that it takes by itself.
const OPEN_MPI: [(&str, &str); 2] = [("linear", "1"), ("pairwise", "2")];

/// Behind a setting's name.
pub(super) const SENDS_ALONE: &str = ", sends alone";

/// MPICH's, by its control variables; the number is `MPIR_CVAR_ALLTOALL_THROTTLE`, of messages at a time.
const MPICH: [(&str, Option<u32>); 4] =
    [("nb", None), ("scattered", Some(1)), ("scattered", Some(4)), ("scattered", Some(32))];

/// Somebody's sources.
struct Repository {
    name: &'static str,
    /// The variable that names the checkout.
    variable: &'static str,
    github: &'static str,
    /// The variable that names the compiler, and how it is called by default.
    compiler: (&'static str, &'static str),
    includes: &'static [&'static str],
    sources: &'static [&'static str],
    /// The text in them that sets how many messages are in flight at a time, up to the number, and what is behind it; for settings with such numbers.
    at_a_time: (&'static str, &'static str),
    /// The macro of `rival.c`.
    selects: &'static str,
    /// What it selects, how it is called on the page, and how many messages are in flight at a time.
    settings: &'static [(&'static str, &'static str, &'static [u32])],
}

const REPOSITORIES: [Repository; 5] = [
    Repository {
        name: "MPI Advance",
        variable: "MPI_ADVANCE",
        github: "mpi-advance/locality_aware",
        compiler: C,
        includes: &["include", "library/include"],
        sources: &[
            "library/bindings/Collective/MPIL_Alltoallv.c",
            "library/bindings/MPIL_Comm/MPIL_Comm_init.c",
            "library/bindings/global_defaults.c",
            "library/source/collective/alltoallv/alltoallv_batch.c",
            "library/source/collective/alltoallv/alltoallv_batch_async.c",
            "library/source/collective/alltoallv/alltoallv_nonblocking.c",
            "library/source/collective/alltoallv/alltoallv_pairwise.c",
            "library/source/collective/alltoallv/alltoallv_pmpi.c",
            "library/source/communicator/get_tag.c",
        ],
        at_a_time: ("int nb_stride = ", "5;"),
        selects: "ADVANCE",
        settings: &[
            ("ALLTOALLV_PAIRWISE", "pairwise", &[]),
            ("ALLTOALLV_NONBLOCKING", "nonblocking", &[]),
            ("ALLTOALLV_BATCH", "batch", &[2, 5]),
            ("ALLTOALLV_BATCH_ASYNC", "batch async", &[2, 5]),
        ],
    },
    Repository {
        name: "MPI_Alltoallv_3stage",
        variable: "ALLTOALLV_3STAGE",
        github: "YuriOku/MPI_Alltoallv_3stage",
        compiler: C,
        includes: &["."],
        sources: &["MPI_Alltoallv_custom.c"],
        at_a_time: ("#define COLLECTIVE_ISEND_IRECV_THROTTLE ", "16\n"),
        selects: "THROTTLED",
        settings: &[
            ("MPI_Alltoallv_custom", "testsome", &[2, 4, 16]),
            ("MPI_Alltoallv_custom2", "blocks", &[4]),
            ("MPI_Alltoallv_custom3", "all receives first", &[2, 4]),
        ],
    },
    Repository {
        name: "TuNA",
        variable: "TUNA",
        github: "KokoFan16/rbruck_alltoallv",
        compiler: CXX,
        includes: &["src"],
        sources: &[
            "src/tuna.cpp",
            "src/twophase_tunable_rbruckv.cpp",
            "src/twophase_twolayer_rbruck.cpp",
            "src/utils.cpp",
        ],
        at_a_time: ("", ""),
        selects: "TUNA",
        settings: &[
            ("tuna_algorithm(2, 0, EXCHANGE)", "radix 2", &[]),
            ("tuna_algorithm(4, 0, EXCHANGE)", "radix 4", &[]),
            ("tuna_algorithm(8, 0, EXCHANGE)", "radix 8", &[]),
            ("tuna_algorithm(32, 0, EXCHANGE)", "radix 32", &[]),
            ("twophase_rbruck_alltoallv(8, EXCHANGE)", "two phases, radix 8", &[]),
            ("TTPL_BT_alltoallv(RANKS, 2, 0, EXCHANGE)", "two layers, radix 2", &[]),
            ("TTPL_BT_alltoallv(RANKS, 8, 0, EXCHANGE)", "two layers, radix 8", &[]),
        ],
    },
    Repository {
        name: "bruck-alltoallv",
        variable: "BRUCK_ALLTOALLV",
        github: "harp-lab/bruck-alltoallv",
        compiler: CXX,
        includes: &["src"],
        sources: &[
            "src/padded_alltoall.cpp",
            "src/padded_bruck.cpp",
            "src/padded_zerocopy_bruck.cpp",
            "src/speadout_alltoallv.cpp",
            "src/twophase_bruck.cpp",
        ],
        at_a_time: ("", ""),
        selects: "BRUCK",
        settings: &[
            ("padded_alltoall(EXCHANGE)", "padded, by MPI_Alltoall", &[]),
            ("padded_bruck_alltoallv(EXCHANGE)", "padded", &[]),
            ("padded_zeroCopy_bruck(EXCHANGE)", "padded, without copies", &[]),
            ("speadout_alltoallv(EXCHANGE)", "spread out", &[]),
            // `twophase_bruck_alltoallv_new` ends by SIGABRT.
            ("twophase_bruck_alltoallv(EXCHANGE)", "two phases", &[]),
        ],
    },
    Repository {
        name: "KaMPIng",
        variable: "KAMPING",
        github: "kamping-site/kamping",
        compiler: CXX,
        includes: &["include", "kamping-types/include"],
        sources: &[],
        at_a_time: ("", ""),
        selects: "KAMPING",
        settings: &[("grid(EXCHANGE)", "grid, of words of 8 bytes", &[]), ("sparse(EXCHANGE)", "sparse (NBX)", &[])],
    },
];

const C: (&str, &str) = ("MPICC", "mpicc");
const CXX: (&str, &str) = ("MPICXX", "mpicxx");

/// The largest source, in bytes.
const MAX_SOURCE: u64 = 1 << 20;

/// The rivals that can run here.
pub struct Rivals {
    /// In the order of the page.
    pub all: Vec<Rival>,
    /// What they are built from.
    pub built_from: Vec<String>,
    /// Who cannot, and why.
    pub missing: Vec<String>,
    /// Of the libraries, which must stay as long as they are used.
    _folder: TempDir,
}

impl Rivals {
    /// Algorithms of the MPI libraries, and what can be compiled of the checkouts that the variables name; `with_sends`: over Open MPI
    /// each also with `btl_tcp_flags send`, which makes no difference to small messages.
    ///
    /// # Errors
    /// [`Failure::Work`] if no temporary folder can be made. A rival that cannot be compiled is one of those missing.
    pub fn build(workspace: &Workspace, mpich: bool, with_sends: bool) -> Result<Self, Failure> {
        let folder = tempfile::tempdir().map_err(|e| Failure::Work(format!("no temporary folder can be made: {e}")))?;
        let mut all: Vec<Rival> = OPEN_MPI.into_iter().map(open_mpi).collect();
        let (mut built_from, mut missing) = (Vec::new(), Vec::new());
        for repository in &REPOSITORIES {
            let Some(checkout) = env::var_os(repository.variable).map(PathBuf::from) else {
                missing.push(format!(
                    "{}: {} names no checkout of github {}",
                    repository.name, repository.variable, repository.github
                ));
                continue;
            };
            match repository.build(workspace, &checkout, folder.path()) {
                Ok(built) => {
                    all.extend(built);
                    built_from.push(format!(
                        "{}: github {}, {}",
                        repository.name,
                        repository.github,
                        commit(workspace, &checkout)
                    ));
                }
                Err(why) => missing.push(format!("{}: {why}", repository.name)),
            }
        }
        if with_sends {
            all = all.into_iter().flat_map(with_sends_alone).collect();
        }
        if mpich {
            all.extend(MPICH.into_iter().map(mpich_algorithm));
        }
        Ok(Rivals { all, built_from, missing, _folder: folder })
    }
}

fn open_mpi((setting, number): (&str, &str)) -> Rival {
    let words = ["--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", "coll_tuned_alltoallv_algorithm", number];
    Rival {
        name: "Open MPI",
        setting: setting.into(),
        library: RaceLibrary::OpenMpi,
        mpirun: words.map(String::from).into(),
        environment: Vec::new(),
    }
}

/// A setting over Open MPI, and the same where its TCP component only sends.
fn with_sends_alone(rival: Rival) -> [Rival; 2] {
    let mut sends = rival.clone();
    sends.setting.push_str(SENDS_ALONE);
    sends.mpirun.extend(SENDS.split(' ').map(String::from));
    [rival, sends]
}

fn mpich_algorithm((algorithm, throttle): (&str, Option<u32>)) -> Rival {
    // The device's own choice comes before the algorithm's.
    let mut environment = vec![
        "MPIR_CVAR_DEVICE_COLLECTIVES=none".to_owned(),
        format!("MPIR_CVAR_ALLTOALLV_INTRA_ALGORITHM={algorithm}"),
    ];
    environment.extend(throttle.map(|number| format!("MPIR_CVAR_ALLTOALL_THROTTLE={number}")));
    Rival {
        name: "MPICH",
        setting: throttle.map_or_else(|| algorithm.to_owned(), |number| format!("{algorithm}, {number} at a time")),
        library: RaceLibrary::Mpich,
        mpirun: Vec::new(),
        environment,
    }
}

/// What git says of a checkout.
fn commit(workspace: &Workspace, checkout: &Path) -> String {
    let said =
        workspace::capture(workspace.command("git").arg("-C").arg(checkout).args(["rev-parse", "--short", "HEAD"]));
    said.map_or_else(|_| "commit not known".into(), |text| text.trim().to_owned())
}

impl Repository {
    /// Compiles all settings.
    fn build(&self, workspace: &Workspace, checkout: &Path, folder: &Path) -> Result<Vec<Rival>, String> {
        let mut rivals = Vec::new();
        for (selected, title, sizes) in self.settings {
            // With none, the sources are as they are.
            let sizes: Vec<Option<u32>> =
                if sizes.is_empty() { vec![None] } else { sizes.iter().copied().map(Some).collect() };
            for size in sizes {
                let name = format!("{}-{}", self.selects, rivals.len());
                let library = self.compile(workspace, checkout, &folder.join(&name), (selected, size))?;
                rivals.push(Rival {
                    name: self.name,
                    setting: size.map_or_else(|| (*title).into(), |size| format!("{title}, {size} at a time")),
                    library: RaceLibrary::OpenMpi,
                    mpirun: Vec::new(),
                    environment: vec![format!("LD_PRELOAD={}", library.display())],
                });
            }
        }
        Ok(rivals)
    }

    /// One library: in a folder of its own, as the number of messages at a time is written in the sources.
    fn compile(
        &self,
        workspace: &Workspace,
        checkout: &Path,
        folder: &Path,
        (selected, size): (&str, Option<u32>),
    ) -> Result<PathBuf, String> {
        fs::create_dir(folder).map_err(|e| format!("a folder cannot be made: {e}"))?;
        let (before, behind) = self.at_a_time;
        let written = format!("{before}{behind}");
        let mut replaced = size.is_none();
        let library = folder.join("librival.so");
        let (variable, compiler) = self.compiler;
        let compiler = env::var_os(variable).unwrap_or_else(|| compiler.into());
        let mut compile = workspace.command(compiler);
        compile.args(["-O2", "-w", "-shared", "-fPIC", "-o"]).arg(&library);
        compile.arg(format!("-D{}={selected}", self.selects)).arg("optiq-studies/rivals/rival.c");
        compile.args(["-I", "optiq-studies/rivals/include"]);
        for include in self.includes {
            compile.arg("-I").arg(checkout.join(include));
        }
        for (number, source) in self.sources.iter().enumerate() {
            let mut text = text_file::read(&checkout.join(source), MAX_SOURCE).map_err(|e| e.to_string())?;
            if let Some(size) = size {
                replaced |= text.contains(&written);
                let end = behind.trim_start_matches(|c: char| c.is_ascii_digit());
                text = text.replace(&written, &format!("{before}{size}{end}"));
            }
            let copy = folder.join(format!("{number}.c"));
            fs::write(&copy, text).map_err(|e| format!("{} cannot be written: {e}", copy.display()))?;
            compile.arg(copy);
        }
        if !replaced {
            return Err(format!("its sources do not have \"{}\"", written.trim_end()));
        }
        workspace::run(&mut compile).map_err(|e| e.to_string())?;
        Ok(library)
    }
}
