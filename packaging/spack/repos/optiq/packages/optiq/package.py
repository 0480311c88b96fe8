# Copyright: the OPTIQ maintainers. SPDX-License-Identifier: MIT
"""Spack's recipe for OPTIQ; see packaging/README.md."""

import os

from spack.package import *


class Optiq(Package):
    """Moves MPI_Alltoallv data over many paths of a supercomputer's network: plans which bytes take
    which links, and forwards them through intermediate ranks where a path needs it."""

    license("MIT")

    # The checkout that this recipe is in, as there is no public archive.
    git = "file://" + os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 6))

    version("develop", branch="main")

    variant("highs", default=True, description="With HiGHS, which planner lp needs")
    variant("fortran", default=True, description="With a Fortran compiler for the module, which is source")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+highs")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("rust@1.88:", type="build")
    depends_on("mpi")
    # bindgen reads mpi.h with libclang.
    depends_on("llvm+clang", type="build")
    # HiGHS is compiled from the source that its crate brings along.
    depends_on("cmake@3.15:", type="build", when="+highs")
    depends_on("gmake", type="build", when="+highs")
    # cargo-c, where it is not in the path, is built first.
    depends_on("pkgconfig", type="build")
    depends_on("openssl", type="build")

    # The root of the workspace is a package of tests; all that is installed goes through xtask.
    build_directory = "."

    def setup_build_environment(self, env):
        env.set("MPICC", self.spec["mpi"].mpicc)
        env.set("LIBCLANG_PATH", self.spec["llvm"].prefix.lib)
        # What cargo fetches stays in the stage.
        env.set("CARGO_HOME", join_path(self.stage.path, "cargo-home"))
        env.set("CARGO_TARGET_DIR", join_path(self.stage.path, "target"))
        env.set("CARGO_BUILD_JOBS", str(make_jobs))

    def install(self, spec, prefix):
        cargo = which("cargo", required=True)
        with working_dir(join_path(self.stage.source_path, self.build_directory)):
            arguments = ["xtask", "install", "--no-install", "--prefix", prefix]
            if "~highs" in spec:
                arguments.append("--no-highs")
            cargo(*arguments)

    def setup_run_environment(self, env):
        env.prepend_path("PATH", self.prefix.bin)
        env.prepend_path("LD_LIBRARY_PATH", self.prefix.lib)
        env.prepend_path("MANPATH", self.prefix.share.man)

    def setup_dependent_build_environment(self, env, dependent_spec):
        env.prepend_path("PKG_CONFIG_PATH", self.prefix.lib.pkgconfig)
        env.prepend_path("CMAKE_PREFIX_PATH", self.prefix)

    @property
    def libs(self):
        return find_libraries("liboptiq", root=self.prefix.lib, shared=True, recursive=False)

    @property
    def headers(self):
        return find_headers("optiq", root=self.prefix.include, recursive=False)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(self.prefix.bin.optiq)("info", "--json")
