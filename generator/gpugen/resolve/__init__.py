"""Stage 3: plain data becomes a ClusterSpec, with defaults, and names looked up in the catalogue.

The only translator from spec keys to model names. An unknown name is a finding of this stage;
whatever a schema cannot say about known names is a check's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

from gpugen import assets, components
from gpugen.catalog import Catalog, UnknownRow
from gpugen.components import stacks
from gpugen.components.defaults import fill
from gpugen.gpu.prediction import predict
from gpugen.hosts.places import DEFAULTS, place_of
from gpugen.model.catalog import DriverBranch, GpuModel
from gpugen.model.driver import Driver, DriverMethod
from gpugen.model.finding import MOST_OF_A_KIND, ROOT, Finding, Pointer
from gpugen.model.platform import Distribution
from gpugen.model.spec import ClusterSpec, HostSettings, Kubernetes, NodePool, Taint
from gpugen.model.stated import Stated
from gpugen.resolve import hosts as host_lines
from gpugen.resolve import translation

T = TypeVar("T")


@cache
def root_schema() -> dict[str, Any]:
    """Read the hand-written root of the spec's schema."""
    schema: dict[str, Any] = json.loads((assets.schemas() / "cluster.schema.json").read_bytes())
    return schema


def resolve(
    data: Mapping[str, Any], catalog: Catalog, source: str
) -> tuple[ClusterSpec | None, list[Finding]]:
    """Return the spec, or the findings about unknown names.

    data: a spec that the schema passed. source: its path relative to the repository's root.
    """
    resolver = _Resolver(data, catalog, host_lines.listed(data), [], {})
    spec = resolver.cluster(source)
    found = resolver.findings
    if len(found) >= MOST_OF_A_KIND:
        hint = "correct the first ones; the others may have the same cause"
        found.append(Finding(found[-1].id, "and possibly more unknown names", hint, ROOT))
    return (None if found else spec), found


class _Resolver(NamedTuple):
    """Resolves one spec, and collects unknown names."""

    stated: Mapping[str, Any]  # as the user wrote it
    catalog: Catalog
    hosts: host_lines.Hosts
    findings: list[Finding]
    missing: dict[str, list[int]]  # setting that is not stated -> the pools

    def cluster(self, source: str) -> ClusterSpec | None:
        data = fill(self.stated, root_schema(), root_schema())
        release = self._row(self.catalog.release, data["release"], ROOT / "release")
        kubernetes = self._kubernetes(data["kubernetes"])
        strategies = data["deviceListStrategy"]
        strategies = (strategies,) if isinstance(strategies, str) else tuple(strategies)
        distribution = kubernetes.distribution if kubernetes else None
        pools = [self._pool(data, i, distribution, strategies) for i in range(len(data["pools"]))]
        self.findings.extend(host_lines.missing_settings(self.missing, self.stated))
        if release is None or kubernetes is None or self.findings:
            return None
        spec = ClusterSpec(
            name=data["name"],
            description=data["description"],
            source=source,
            release=release,
            kubernetes=kubernetes,
            access=translation.access(data["access"]),
            pools=tuple(pool for pool in pools if pool is not None),
            control_plane=host_lines.control_plane(data["controlPlane"], self.hosts),
            stack=data["stack"],
            options={},
            images=translation.images(data["images"]),
            device_list_strategy=strategies,
            delivery=translation.delivery(data["delivery"], data["name"]),
            stated=Stated(self.stated),
            at=ROOT,
            **translation.plain(data),
        )
        return spec._replace(options=_options(spec, data["components"]))

    def _row(self, find: Callable[[Any], T], key: object, at: Pointer) -> T | None:
        """Look a name up; an unknown one becomes a finding with similar names, up to a hundred."""
        if len(self.findings) >= MOST_OF_A_KIND:
            return None
        try:
            return find(key)
        except UnknownRow as unknown:
            self.findings.append(
                Finding(
                    f"unknown-{unknown.kind}",
                    unknown.fault,
                    f"{unknown.meant} 'gpugen catalog {unknown.section}' lists them".lstrip(),
                    at,
                )
            )
            return None

    def _kubernetes(self, data: Mapping[str, Any]) -> Kubernetes | None:
        at = ROOT / "kubernetes"
        distribution = self._row(
            self.catalog.distribution, data["distribution"], at / "distribution"
        )
        support = self._row(self.catalog.kubernetes, data["version"], at / "version")
        if distribution is None or support is None:
            return None
        return Kubernetes(
            version=data["version"],
            minor=int(data["version"].partition(".")[2]),
            support=support,
            distribution=distribution,
            container_runtime=data["containerRuntime"],
            at=at,
        )

    def _pool(
        self,
        data: Mapping[str, Any],
        index: int,
        distribution: Distribution | None,
        strategies: tuple[str, ...],
    ) -> NodePool | None:
        pool, at = data["pools"][index], ROOT / "pools" / index
        gpu = self._row(self.catalog.gpu, pool["gpu"]["model"], at / "gpu" / "model")
        host = self._host(index, gpu)
        if gpu is None or host is None:
            return None
        count = pool["gpu"]["count"]
        mig = translation.mig(pool.get("mig"), count, at, distribution)
        sharing = translation.sharing(pool.get("sharing"), at / "sharing")
        return NodePool(
            name=pool["name"],
            description=pool["description"],
            gpu=gpu,
            gpu_count=count,
            hosts=tuple(
                host_lines.host_line(line, self.hosts, at / "hosts" / i)
                for i, line in enumerate(pool["hosts"])
            ),
            labels=dict(sorted(pool["labels"].items())),
            taints=tuple(
                Taint(t["key"], t["value"], t["effect"], at / "taints" / i)
                for i, t in enumerate(pool["taints"])
            ),
            mig=mig,
            sharing=sharing,
            host=host,
            prediction=predict(pool["name"], gpu, count, mig, sharing, host.driver, strategies),
            at=at,
            ssh=translation.ssh(pool, at),
        )

    def _host(self, index: int, gpu: GpuModel | None) -> HostSettings | None:
        """Merge a pool's host settings over the defaults; each value keeps its place."""
        defaults = self.stated.get("hostDefaults", {})
        own = self.stated["pools"][index].get("host", {})
        schema = root_schema()
        merged = {
            key: _over(defaults.get(key), own[key]) if key in own else defaults[key]
            for key in sorted({*defaults, *own})
        }
        data = fill({"driver": {}, **merged}, schema["$defs"]["host"], schema)
        where = partial(place_of, Stated(self.stated), ROOT / "pools" / index)
        driver = self._driver(data["driver"], where, index)
        toolkits = data.get("containerToolkit", {})
        toolkit = toolkits.get("version", "")
        system = data.get("os", "")
        if not system:
            self.missing.setdefault("os", []).append(index)
        if not toolkit:
            self.missing.setdefault("container-toolkit-version", []).append(index)
        row = self._row(self.catalog.operating_system, system, where("os")) if system else None
        if row is None or driver is None or not toolkit or gpu is None:
            return None
        return HostSettings(
            os=row,
            architecture=data.get("architecture", "") or gpu.host_architectures[0],
            driver=driver,
            container_toolkit_version=toolkit,
            repositories=translation.repositories(
                data.get("repositories"), lambda *key: where("repositories", *key)
            ),
            at=ROOT / "pools" / index / "host" if own else DEFAULTS,
            default_runtime=toolkits.get("defaultRuntime", False),
            further_runtimes=tuple(toolkits.get("furtherRuntimes", ())),
            smoke_test_image=toolkits.get("smokeTestImage", ""),
            tuning=translation.tuning(data.get("tuning"), where("tuning")),
            cuda_toolkit=translation.cuda_toolkit(data.get("cudaToolkit"), where("cudaToolkit")),
            dcgm=translation.dcgm(data.get("dcgm"), where("dcgm")),
            mig_service=translation.mig_service(data.get("migManager"), where("migManager")),
            allow_kernel_change=data["allowKernelChange"],
        )

    def _driver(
        self, data: Mapping[str, Any], where: Callable[..., Pointer], index: int
    ) -> Driver | None:
        method = DriverMethod(data["method"])
        version = data.get("version", "")
        branch: DriverBranch | None = None
        if version:
            number = int(version.partition(".")[0])
            branch = self._row(self.catalog.driver_branch, number, where("driver", "version"))
            if branch is None:
                return None
        elif method is not DriverMethod.NONE:
            self.missing.setdefault("driver-version", []).append(index)
            return None
        return translation.driver(data, branch, where("driver"))


def _over(default: Any, own: Any) -> Any:
    """Merge a pool's setting over the default; mappings by key, a repository as a whole."""
    if not isinstance(default, dict) or not isinstance(own, dict) or "baseURL" in {*default, *own}:
        return own
    return {**default, **own}


def _options(spec: ClusterSpec, stated: Mapping[str, Any]) -> dict[str, tuple[Any, ...] | None]:
    """Decide which components are on and fill their options; sorted by name."""
    result: dict[str, tuple[Any, ...] | None] = {}
    for name in components.names():
        word = stated.get(name)
        if word is False or (word is None and not stacks.pools(spec, name)):
            continue
        result[name] = components.options_of(name, word if isinstance(word, dict) else {})
    return result
