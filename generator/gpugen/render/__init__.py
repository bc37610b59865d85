"""Stage 6: the assembly becomes a tree of files."""

from __future__ import annotations

from gpugen.model.assembly import Assembly
from gpugen.model.half import SHARED, HostHalf
from gpugen.model.spec import ClusterSpec
from gpugen.model.tree import Tree


def render(spec: ClusterSpec, assembly: Assembly, half: HostHalf = SHARED) -> Tree:
    """Return everything below out/<cluster>. half: where the cluster has the collection."""
    from gpugen.render.hosts import render_hosts
    from gpugen.render.manifests import render_manifests
    from gpugen.render.sync import render_sync

    tree = Tree()
    render_hosts(spec, assembly, tree, half)
    render_manifests(spec, assembly, tree)
    render_sync(spec, tree)
    pools = {pool.name for pool in spec.pools}
    for path, content in assembly.files.items():
        stem = path.rpartition("/")[2].partition(".")[0]
        tree.add(path, content, stem if stem in pools else "")  # a file of its name is a pool's own
    return tree
