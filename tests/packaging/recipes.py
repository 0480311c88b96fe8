"""Runs the recipes in packaging/ with stand-ins for Spack and EasyBuild, and prints what they would do.

usage: recipes.py CHECKOUT. Prints one JSON document: the command line of the Spack recipe's installation for every setting of
its variant highs, its dependencies, and the easyconfig's fields.
"""
import glob
import json
import os
import sys
import types

checkout = sys.argv[1]
directives = {"variant": [], "depends_on": [], "version": []}
ran = []


def directive(name):
    return lambda *arguments, **options: directives.setdefault(name, []).append(arguments[0] if arguments else None)


class Thing:
    """Anything: attributes are paths below it, and items are things."""

    def __init__(self, path):
        self.path = path

    def __getattr__(self, name):
        return Thing(self.path + "/" + name)

    def __getitem__(self, name):
        return Thing(self.path + ":" + name)

    def __str__(self):
        return self.path

    __fspath__ = __str__


class Spec(Thing):
    def __contains__(self, constraint):
        return constraint == self.highs_constraint


class Folder:
    def __init__(self, path):
        self.path = path

    def __enter__(self):
        assert os.path.exists(os.path.join(str(self.path), "Cargo.toml")), self.path

    def __exit__(self, *_):
        return None


class Environment:
    def __init__(self):
        self.seen = {}

    def set(self, name, value):
        self.seen[name] = str(value)

    prepend_path = set


package = types.ModuleType("spack.package")
package.__dict__.update({name: directive(name) for name in ["license", "version", "variant", "depends_on"]})
package.Package = object
package.join_path = os.path.join
package.make_jobs = 2
package.working_dir = Folder
package.which = lambda program, required: lambda *words: ran.append([program] + [str(w) for w in words])
package.Executable = lambda path: lambda *words: ran.append([str(path)] + list(words))
package.run_after = lambda *_: lambda function: function
package.on_package_attributes = lambda **_: lambda function: function
package.find_libraries = package.find_headers = lambda *arguments, **options: arguments
sys.modules["spack"] = types.ModuleType("spack")
sys.modules["spack.package"] = package

recipe = os.path.join(checkout, "packaging/spack/repos/optiq/packages/optiq/package.py")
namespace = {"__file__": recipe, "__name__": "package"}
exec(compile(open(recipe).read(), recipe, "exec"), namespace)
optiq = namespace["Optiq"]()
optiq.stage = types.SimpleNamespace(path="/stage", source_path=checkout)
spec = Spec("/spec")
optiq.spec, optiq.prefix = spec, Thing("/prefix")
for constraint in ["+highs", "~highs"]:
    spec.__dict__["highs_constraint"] = constraint
    optiq.install(spec, optiq.prefix)
build, run, dependent = Environment(), Environment(), Environment()
optiq.setup_build_environment(build)
optiq.setup_run_environment(run)
optiq.setup_dependent_build_environment(dependent, spec)
optiq.check_install()

(easyconfig,) = glob.glob(os.path.join(checkout, "packaging/easybuild/*.eb"))
fields = {}
exec(compile(open(easyconfig).read(), easyconfig, "exec"), fields)
del fields["__builtins__"]

json.dump(
    {
        "git": optiq.git,
        "ran": ran,
        "directives": directives,
        "environment": [build.seen, run.seen, dependent.seen],
        "easyconfig": fields,
    },
    sys.stdout,
)
