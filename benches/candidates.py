#!/usr/bin/env python3
"""The k shortest loopless paths with networkx and igraph, for benches/candidates.rs.

    candidates.py setup DIR       make a virtual environment in DIR with both, pinned; print its Python's path
    candidates.py LIBRARY < CASE  measure "networkx" or "igraph" on a case

A case is JSON: {"vertices": n, "links": [[from, to], ...], "pairs": [[source, destination], ...], "k": k}.
The answer is JSON: {"version": ..., "seconds_per_pair": ..., "lengths": [[hops, ...] for each pair]}.
Building the graph is not timed, as it is not for the others. Needs Python 3.11 or newer.
"""

import itertools
import json
import os
import subprocess
import sys
import time
import venv

PINNED = {"networkx": "3.6.1", "igraph": "1.0.0"}


def setup(directory):
    """Makes the environment, unless it is there with the pinned versions, and prints its Python."""
    python = os.path.join(directory, "Scripts" if os.name == "nt" else "bin", "python")
    check = "import importlib.metadata as m; assert all(m.version(n) == v for n, v in %r.items())" % PINNED
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    if not os.path.exists(python) or subprocess.run([python, "-c", check], **quiet).returncode != 0:
        venv.create(directory, clear=True, with_pip=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run(pip + ["%s==%s" % pin for pin in PINNED.items()], check=True, stdout=sys.stderr)
    print(python)


def networkx(case):
    """Yen's algorithm as `shortest_simple_paths` has it, without weights: breadth-first from both ends."""
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(range(case["vertices"]))
    graph.add_edges_from(case["links"])

    def find(source, target):
        return list(itertools.islice(nx.shortest_simple_paths(graph, source, target), case["k"]))

    return nx.__version__, find


def igraph(case):
    """Yen's algorithm in C, without weights."""
    import igraph as ig

    graph = ig.Graph(n=case["vertices"], edges=case["links"], directed=True)

    def find(source, target):
        return graph.get_k_shortest_paths(source, to=target, k=case["k"], mode="out", output="vpath")

    return ig.__version__, find


def main(words):
    if len(words) == 2 and words[0] == "setup":
        return setup(words[1])
    if len(words) != 1 or words[0] not in PINNED:
        sys.exit("candidates.py: %r is found where \"setup DIR\", networkx or igraph is expected" % " ".join(words))
    case = json.load(sys.stdin)
    version, find = (networkx if words[0] == "networkx" else igraph)(case)
    start = time.perf_counter()
    found = [find(source, target) for source, target in case["pairs"]]
    seconds = time.perf_counter() - start
    for (source, target), paths in zip(case["pairs"], found):
        ends = all(p[0] == source and p[-1] == target and len(set(p)) == len(p) for p in paths)
        if not ends or len(set(map(tuple, paths))) != len(paths):
            sys.exit("candidates.py: %s gave a wrong path from %d to %d" % (words[0], source, target))
    lengths = [[len(path) - 1 for path in paths] for paths in found]
    answer = {"version": version, "seconds_per_pair": seconds / len(case["pairs"]), "lengths": lengths}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
