//! What OPTIQ needs from the system, how each thing is recognised, and the packages that have it.

use crate::mpi::Library;
use crate::process;
use std::env;
use std::path::PathBuf;
use std::process::Command;

/// A package manager that installation commands are known for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manager {
    Apt,
    Dnf,
    Zypper,
    Apk,
    Pacman,
}

impl Manager {
    /// In the order in which they are looked for.
    pub const ALL: [Manager; 5] = [Manager::Apt, Manager::Dnf, Manager::Zypper, Manager::Apk, Manager::Pacman];

    /// The first one that is on this machine.
    pub fn present() -> Option<Self> {
        Self::ALL.into_iter().find(|m| process::find(m.program()).is_some())
    }

    fn program(self) -> &'static str {
        match self {
            Manager::Apt => "apt-get",
            Manager::Dnf => "dnf",
            Manager::Zypper => "zypper",
            Manager::Apk => "apk",
            Manager::Pacman => "pacman",
        }
    }

    /// The command that a person types to install `packages`.
    pub fn command_line(self, packages: &[&str]) -> String {
        let verb = match self {
            Manager::Apt | Manager::Dnf | Manager::Zypper => "install",
            Manager::Apk => "add",
            Manager::Pacman => "-S --needed",
        };
        format!("sudo {} {verb} {}", self.program(), packages.join(" "))
    }

    /// What a person must do besides, if anything.
    pub fn afterwards(self) -> Option<&'static str> {
        match self {
            Manager::Dnf => {
                Some("then put the MPI library into PATH: module load mpi/openmpi-x86_64, or mpi/mpich-x86_64")
            }
            Manager::Zypper => Some("then put the MPI library's bin directory, below /usr/lib64/mpi, into PATH"),
            Manager::Apt | Manager::Apk | Manager::Pacman => None,
        }
    }
}

/// Something that must be on the machine.
#[derive(Debug)]
pub struct Requirement {
    /// As it is called in messages.
    pub what: &'static str,
    probe: Probe,
    /// One per [`Manager`], in the order of [`Manager::ALL`].
    packages: [&'static str; 5],
}

/// How a requirement is recognised.
#[derive(Debug)]
enum Probe {
    /// All of these programs are there.
    Programs(&'static [&'static str]),
    /// One of these programs is there.
    AnyProgram(&'static [&'static str]),
    /// The function says so.
    Check(fn() -> bool),
}

/// What every build with MPI needs besides an MPI library, and what HiGHS needs.
pub const BUILD: &[Requirement] = &[
    LIBCLANG,
    Requirement {
        what: "a C++ compiler (HiGHS is C++)",
        probe: Probe::AnyProgram(&["c++", "g++", "clang++"]),
        packages: ["g++", "gcc-c++", "gcc-c++", "g++", "gcc"],
    },
    CMAKE,
    MAKE,
];

/// What builds with MPI and without HiGHS need besides an MPI library.
pub const BUILD_BARE: &[Requirement] = &[LIBCLANG];

const LIBCLANG: Requirement = Requirement {
    what: "libclang with its headers (bindgen reads mpi.h with it)",
    probe: Probe::Check(libclang_is_complete),
    packages: ["libclang-dev", "clang-devel", "clang-devel", "clang-dev", "clang"],
};

/// The MPI library that OPTIQ is used with by default.
pub const OPEN_MPI: &[Requirement] = &[
    Requirement {
        what: "Open MPI's compiler wrapper with its headers (mpicc, mpi.h)",
        probe: Probe::Check(|| Library::OpenMpi.compiler().is_some()),
        packages: ["libopenmpi-dev", "openmpi-devel", "openmpi4-devel", "openmpi-dev", "openmpi"],
    },
    Requirement {
        what: "Open MPI's mpirun",
        probe: Probe::Check(|| Library::OpenMpi.has_launcher()),
        packages: ["openmpi-bin", "openmpi", "openmpi4", "openmpi", "openmpi"],
    },
];

/// The other MPI library.
pub const MPICH: &[Requirement] = &[
    Requirement {
        what: "MPICH's compiler wrapper with its headers (mpicc.mpich, mpi.h)",
        probe: Probe::Check(|| Library::Mpich.compiler().is_some()),
        packages: ["libmpich-dev", "mpich-devel", "mpich-devel", "mpich-dev", "mpich"],
    },
    Requirement {
        what: "MPICH's launcher (mpiexec.hydra)",
        probe: Probe::Check(|| Library::Mpich.has_launcher()),
        packages: ["mpich", "mpich", "mpich", "mpich", "mpich"],
    },
];

/// What the lab needs besides.
pub const LAB: &[Requirement] = &[Requirement {
    what: "ip and tc of iproute2",
    probe: Probe::Programs(&["ip", "tc"]),
    packages: ["iproute2", "iproute-tc", "iproute2", "iproute2", "iproute2"],
}];

/// What the test of the pictures needs besides.
pub const BROWSER: &[Requirement] = &[Requirement {
    what: "Chromium",
    probe: Probe::AnyProgram(&["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]),
    packages: ["chromium", "chromium", "chromium", "chromium", "chromium"],
}];

/// What the tests of imported fabrics need besides: a subnet manager, a simulator of switches, and the fabric's tools. Other managers than
/// Debian's may have no package of the simulator; the names are then those of the projects.
pub const SUBNET: &[Requirement] = &[
    Requirement {
        what: "OpenSM",
        probe: Probe::Programs(&["opensm"]),
        packages: ["opensm", "opensm", "opensm", "opensm", "opensm"],
    },
    Requirement {
        what: "ibsim",
        probe: Probe::Programs(&["ibsim"]),
        packages: ["ibsim-utils", "ibsim", "ibsim", "ibsim", "ibsim"],
    },
    Requirement {
        what: "ibnetdiscover, ibtracert and dump_fts",
        probe: Probe::Programs(&["ibnetdiscover", "ibtracert", "dump_fts"]),
        packages: ["infiniband-diags", "infiniband-diags", "infiniband-diags", "infiniband-diags", "rdma-core"],
    },
];

/// With what cargo-c is built sooner, where `cargo xtask install` must build it: otherwise it brings an OpenSSL.
pub const CARGO_C: &[Requirement] = &[
    PKG_CONFIG,
    Requirement {
        what: "OpenSSL's headers",
        probe: Probe::Check(|| process::succeeds(Command::new("pkg-config").args(["--exists", "openssl"]))),
        packages: ["libssl-dev", "openssl-devel", "libopenssl-devel", "openssl-dev", "openssl"],
    },
];

/// What the tests need besides: programs in C and Fortran, some of them built against an installed tree.
pub const CLIENTS: &[Requirement] = &[
    PKG_CONFIG,
    Requirement {
        what: "a Fortran compiler",
        probe: Probe::Programs(&["gfortran"]),
        packages: ["gfortran", "gcc-gfortran", "gcc-fortran", "gfortran", "gcc-fortran"],
    },
    CMAKE,
    MAKE,
];

const PKG_CONFIG: Requirement = Requirement {
    what: "pkg-config",
    probe: Probe::Programs(&["pkg-config"]),
    packages: ["pkg-config", "pkgconf-pkg-config", "pkgconf-pkg-config", "pkgconf", "pkgconf"],
};

const CMAKE: Requirement = Requirement {
    what: "cmake",
    probe: Probe::Programs(&["cmake"]),
    packages: ["cmake", "cmake", "cmake", "cmake", "cmake"],
};

const MAKE: Requirement =
    Requirement { what: "make", probe: Probe::Programs(&["make"]), packages: ["make", "make", "make", "make", "make"] };

impl Requirement {
    /// Whether it is there.
    pub fn is_met(&self) -> bool {
        match self.probe {
            Probe::Programs(programs) => programs.iter().all(|p| process::find(p).is_some()),
            Probe::AnyProgram(programs) => programs.iter().any(|p| process::find(p).is_some()),
            Probe::Check(check) => check(),
        }
    }
}

/// The packages that have these requirements, each once, in the order of the requirements.
pub fn packages(requirements: &[&Requirement], manager: Manager) -> Vec<&'static str> {
    let mut names = Vec::new();
    for requirement in requirements {
        let name = requirement.packages[manager as usize];
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Whether there is a libclang that bindgen would load, and the compiler's own headers (`stddef.h`), which the
/// library alone does not bring along. `LIBCLANG_PATH` is taken at its word.
fn libclang_is_complete() -> bool {
    if env::var_os("LIBCLANG_PATH").is_some() {
        return true;
    }
    let libraries = [
        "/usr/lib*/libclang*",
        "/usr/lib/*-linux-gnu*/libclang*",
        "/usr/lib/llvm*/lib*/libclang*",
        "/usr/local/lib*/libclang*",
    ];
    let headers = [
        "/usr/lib/llvm*/lib*/clang/*/include/stddef.h",
        "/usr/lib*/clang/*/include/stddef.h",
        "/usr/local/lib*/clang/*/include/stddef.h",
    ];
    let is_library = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.contains(".so") && !name.starts_with("libclang-cpp")
    };
    libraries.iter().any(|pattern| process::files(pattern).iter().any(is_library))
        && headers.iter().any(|pattern| !process::files(pattern).is_empty())
}

/// Whether a network namespace can be made, as root or as the root of a user namespace.
pub fn namespaces_are_permitted() -> bool {
    let try_with = |arguments: &[&str]| process::succeeds(Command::new("unshare").args(arguments).arg("true"));
    try_with(&["--net"]) || try_with(&["--user", "--map-root-user", "--net"])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn everything() -> Vec<&'static Requirement> {
        OPEN_MPI.iter().chain(BUILD).chain(CLIENTS).chain(LAB).chain(BROWSER).chain(SUBNET).collect()
    }

    #[test]
    fn debian_packages_are_those_of_the_readme() {
        let names = packages(&everything(), Manager::Apt);
        let expected = [
            "libopenmpi-dev",
            "openmpi-bin",
            "libclang-dev",
            "g++",
            "cmake",
            "make",
            "pkg-config",
            "gfortran",
            "iproute2",
            "chromium",
            "opensm",
            "ibsim-utils",
            "infiniband-diags",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn a_package_that_serves_two_requirements_is_named_once() {
        let names = packages(&everything(), Manager::Pacman);
        assert_eq!(
            names,
            [
                "openmpi",
                "clang",
                "gcc",
                "cmake",
                "make",
                "pkgconf",
                "gcc-fortran",
                "iproute2",
                "chromium",
                "opensm",
                "ibsim",
                "rdma-core"
            ]
        );
    }

    #[test]
    fn debian_has_mpich_beside_open_mpi() {
        let names = packages(&MPICH.iter().chain(BUILD_BARE).collect::<Vec<_>>(), Manager::Apt);
        assert_eq!(names, ["libmpich-dev", "mpich", "libclang-dev"]);
    }

    #[test]
    fn debian_has_what_installing_needs() {
        let names = packages(&CARGO_C.iter().chain(CLIENTS).collect::<Vec<_>>(), Manager::Apt);
        assert_eq!(names, ["pkg-config", "libssl-dev", "gfortran", "cmake", "make"]);
    }

    #[test]
    fn every_manager_has_a_package_for_everything() {
        for (index, manager) in Manager::ALL.into_iter().enumerate() {
            assert_eq!(manager as usize, index, "{manager:?} is not at its place in the tables of packages");
            for requirement in everything().into_iter().chain(MPICH).chain(CARGO_C).chain(CLIENTS) {
                let name = requirement.packages[index];
                assert!(!name.is_empty() && !name.contains(' '), "{manager:?}, {}: \"{name}\"", requirement.what);
            }
        }
    }

    #[test]
    fn command_lines_can_be_pasted() {
        let lines = Manager::ALL.map(|m| m.command_line(&["cmake", "make"]));
        let expected = [
            "sudo apt-get install cmake make",
            "sudo dnf install cmake make",
            "sudo zypper install cmake make",
            "sudo apk add cmake make",
            "sudo pacman -S --needed cmake make",
        ];
        assert_eq!(lines, expected);
    }
}
