"""One typed Settings: TOML file, environment (FULLWARP_*), defaults. Every field has its unit and help.

`Settings(...)` is a plain value and reads nothing; `data.settings_file` reads the file and the environment.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _empty_is_none(cls, values: object) -> object:
        if not isinstance(values, dict):
            return values
        return {name: None if _means_none(cls, name, value) else value for name, value in values.items()}

    @model_validator(mode="after")
    def _secret_given_once(self) -> Self:
        for name in type(self).model_fields:
            twin = getattr(self, f"{name}_file", None)
            value = getattr(self, name)
            if twin is not None and isinstance(value, SecretStr) and value.get_secret_value():
                raise ValueError(f"give either {name} or {name}_file, not both")
        return self


def _means_none(section: type[Section], name: str, value: object) -> bool:
    field = section.model_fields.get(name)
    return value == "" and field is not None and field.default is None


class SlurmKind(StrEnum):
    REST = "rest"
    COMMANDS = "commands"
    SIMULATED = "simulated"


class MetricsKind(StrEnum):
    PROMETHEUS = "prometheus"
    SIMULATED = "simulated"
    NONE = "none"


def _known_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as err:
        raise ValueError("must be a time zone such as Europe/Berlin or UTC") from err
    return name


def _web_address(*schemes: str) -> Callable[[str], str]:
    def checked(url: str) -> str:
        parts = urlsplit(url)
        if "@" in parts.netloc:
            raise ValueError("must not hold a user name or password; they have fields of their own")
        if url and (parts.scheme not in schemes or not (parts.netloc or parts.path.strip("/"))):
            raise ValueError(f"must begin with {' or '.join(f'{scheme}://' for scheme in schemes)} and name a server")
        return url.rstrip("/")

    return checked


def _listening_place(bind: str) -> str:
    host, _, port = bind.rpartition(":")
    is_port = bool(host) and port.isascii() and port.isdigit() and 0 < int(port) < 65536
    if not (bind.startswith("unix:/") and len(bind) > 6) and not (is_port and "/" not in host):
        raise ValueError("must be host:port (a port from 1 to 65535) or unix:/path/to.sock")
    return bind


def _known_network(text: str) -> str:
    ip_network(text, strict=False)
    return text


Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Ratio = Annotated[float, Field(ge=0, le=1)]
HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]+$")]


class SlurmSettings(Section):
    kind: SlurmKind = Field(SlurmKind.COMMANDS, description="How Slurm is read: rest, commands or simulated.")
    url: Annotated[str, AfterValidator(_web_address("http", "https", "unix"))] = Field(
        "", description="slurmrestd: http://host:6820, https://..., or unix:///run/slurmrestd.sock."
    )
    user: str = Field("", description="User name sent to slurmrestd with the token (X-SLURM-USER-NAME).")
    token: SecretStr = Field(SecretStr(""), description="JWT for slurmrestd; better in token_file.")
    token_file: Path | None = Field(None, description="File that holds the JWT; read again when it changes.")
    ca_file: Path | None = Field(None, description="CA bundle for https.")
    api_version: str = Field("", description="slurmrestd data version such as v0.0.41; empty = negotiated.")
    bin_dir: Path | None = Field(None, description="Folder of squeue, sacct, scontrol; empty = PATH.")
    conf: Path | None = Field(None, description="SLURM_CONF for the commands; empty = Slurm's own default.")
    timeout_seconds: Seconds = Field(20.0, description="Time limit of one request or command, in seconds.")


class MetricsSettings(Section):
    kind: MetricsKind = Field(
        MetricsKind.PROMETHEUS, description="How metrics are read: prometheus, simulated or none."
    )
    url: Annotated[str, AfterValidator(_web_address("http", "https"))] = Field(
        "", description="Any server with the Prometheus HTTP API: http://host:9090."
    )
    token: SecretStr = Field(SecretStr(""), description="Bearer token; better in token_file.")
    token_file: Path | None = Field(None, description="File that holds the bearer token.")
    username: str = Field("", description="User name for basic authentication.")
    password: SecretStr = Field(
        SecretStr(""), description="Password for basic authentication; better in password_file."
    )
    password_file: Path | None = Field(None, description="File that holds the password.")
    headers: dict[str, str] = Field(
        default_factory=dict, description="Further headers, such as X-Scope-OrgID for Mimir.", repr=False
    )
    ca_file: Path | None = Field(None, description="CA bundle for https.")
    client_cert_file: Path | None = Field(None, description="Client certificate for https.")
    client_key_file: Path | None = Field(None, description="Key of the client certificate.")
    method: Literal["POST", "GET"] = Field(
        "POST", description="HTTP method of queries; GET for servers that refuse POST."
    )
    timeout_seconds: Seconds = Field(20.0, description="Time limit of one query, in seconds.")
    retries: int = Field(2, ge=0, le=10, description="Further tries of a failed query.")
    dialects: list[str] = Field(
        default_factory=list, description="Exporter dialects to use; empty = found automatically."
    )
    cluster_label: str = Field("", description="Label that names the cluster in the series; empty = none.")
    cluster_value: str = Field("", description="Value of that label when it differs from Slurm's cluster name.")
    selector: str = Field("", description='Further label matchers put into every query, such as env="prod".')
    job_label: str = Field("", description="Label that carries the job id; empty = the dialect's.")
    host_label: str = Field("", description="Label that carries the host; empty = the dialect's.")
    names: dict[str, str] = Field(
        default_factory=dict, description="Metric name by our metric name, where a site renamed it."
    )
    scrape_interval_seconds: Seconds | None = Field(
        None, description="Scrape interval in seconds; empty = read from the server."
    )
    strip_domain: bool = Field(
        True, description="Whether host names lose their domain before they join Slurm's node names."
    )


class IdentityKind(StrEnum):
    HEADER = "header"
    UNIX = "unix"
    DEMO = "demo"


class IdentitySettings(Section):
    kind: IdentityKind = Field(
        IdentityKind.HEADER, description="Where the viewer's name comes from: header, unix or demo."
    )
    user_header: HeaderName = Field("X-Remote-User", description="Header in which the trusted proxy names the user.")
    group_header: str = Field(
        "",
        pattern=r"^[A-Za-z0-9-]*$",
        description="Header in which the proxy lists the user's groups; empty = not used.",
    )
    secret: SecretStr = Field(SecretStr(""), description="Shared secret that the proxy sends; better in secret_file.")
    secret_file: Path | None = Field(None, description="File that holds the shared secret.")
    secret_header: HeaderName = Field(
        "X-Fullwarp-Secret", description="Header in which the proxy sends the shared secret."
    )
    proxy_addresses: list[Annotated[str, AfterValidator(_known_network)]] = Field(
        default_factory=lambda: ["127.0.0.1", "::1"], description="Addresses or networks of the proxy."
    )
    trust_loopback: bool = Field(
        False, description="Trust every process on this host to name the user. Only without other users."
    )
    staff_users: list[str] = Field(default_factory=list, description="Users with the role staff.")
    staff_groups: list[str] = Field(
        default_factory=list, description="Unix groups (or groups in group_header) with the role staff."
    )
    staff_admin_levels: list[str] = Field(
        default_factory=lambda: ["Administrator", "Operator"],
        description="Slurm AdminLevels with the role staff.",
    )
    visibility: Literal["own", "account", "all"] = Field("own", description="What a user sees of other people's jobs.")
    demo_user: str = Field("", description="Who one is in the demo; empty = a member of staff.")


class ServeSettings(Section):
    bind: Annotated[str, AfterValidator(_listening_place)] = Field(
        "127.0.0.1:8050", description="host:port or unix:/path/to.sock."
    )
    workers: int = Field(2, ge=1, le=64, description="Worker processes.")
    threads: int = Field(32, ge=1, le=512, description="Threads of each worker.")
    socket_mode: str = Field("660", pattern="^[0-7]{3}$", description="Mode of the Unix socket, octal.")
    url_prefix: str = Field("/", pattern="^/(.*/)?$", description="Path under which the app lives, such as /fullwarp/.")


class CacheSettings(Section):
    kind: Literal["files", "redis", "memory"] = Field("files", description="Where processes share the snapshot.")
    directory: Path | None = Field(
        None, description="Folder for kind files; empty = a private folder in the user's cache."
    )
    redis_url: SecretStr = Field(SecretStr(""), description="redis://host:6379/0 for kind redis.")


class JudgementSettings(Section):
    """Limits of the job report: below the first = bad, below the second = low."""

    gpu_bad: Ratio = Field(0.15, description="GPU utilization below this is bad (ratio).")
    gpu_low: Ratio = Field(0.25, description="GPU utilization below this is low (ratio).")
    cpu_bad: Ratio = Field(0.65, description="CPU utilization below this is bad (ratio).")
    cpu_low: Ratio = Field(0.80, description="CPU utilization below this is low (ratio).")
    memory_low: Ratio = Field(0.70, description="Host memory use below this is low (ratio).")
    time_bad: Ratio = Field(0.10, description="Share of the time limit used below this is bad (ratio).")
    time_low: Ratio = Field(0.60, description="Share of the time limit used below this is low (ratio).")
    min_seconds: Seconds = Field(300.0, description="Jobs shorter than this are not judged, in seconds.")
    max_cores_per_gpu: float | None = Field(
        None, gt=0, description="Cores per GPU above this are too many; empty = from the node."
    )
    max_memory_per_gpu_gib: float | None = Field(
        None, gt=0, description="GiB of host memory per GPU above this are too much; empty = from the node."
    )


class FindingLimits(Section):
    """Limits at which a finding about a job fires."""

    min_coverage: Ratio = Field(0.8, description="Devices and hosts measured less than this are not judged (ratio).")
    max_coverage: float = Field(
        1.05, ge=1, description="More samples than this share of the expected ones means that the mapping disagrees."
    )
    max_suspended_share: Ratio = Field(
        0.05, description="GPU use of a job suspended for more than this share of its time is not judged (ratio)."
    )
    mostly_idle: Ratio = Field(0.50, description="Mostly idle: share of idle samples at or above this (ratio).")
    input_utilization: Ratio = Field(0.50, description="Input-bound: UTIL below this (ratio).")
    input_cpu: Ratio = Field(0.90, description="Input-bound: CPU utilization of the job at or above this (ratio).")
    swing_low: Ratio = Field(0.05, description="Input-bound: a sample at or below this UTIL is low (ratio).")
    swing_high: Ratio = Field(0.80, description="Input-bound: a sample at or above this UTIL is high (ratio).")
    swing_share: Ratio = Field(
        0.20, description="Input-bound: share of low and of high samples that is a swing (ratio)."
    )
    busy_utilization: Ratio = Field(0.70, description="UTIL at or above this looks busy (ratio).")
    small_kernels_sm: Ratio = Field(0.40, description="Small kernels: SM below this while UTIL looks busy (ratio).")
    occupancy_sm: Ratio = Field(0.60, description="Low occupancy: SM at or above this (ratio).")
    occupancy_low: Ratio = Field(0.20, description="Low occupancy: OCC below this (ratio).")
    tensor_unused: Ratio = Field(0.02, description="No tensor cores: TENSOR below this while UTIL looks busy (ratio).")
    tensor_fp64: Ratio = Field(0.05, description="No tensor cores: FP64 below this (ratio).")
    double_precision: Ratio = Field(0.10, description="Double precision: FP64 at or above this (ratio).")
    memory_bound_dram: Ratio = Field(0.60, description="Memory-bound: DRAM at or above this (ratio).")
    memory_bound_tensor: Ratio = Field(0.20, description="Memory-bound: TENSOR below this (ratio).")
    communication_sm: Ratio = Field(0.40, description="Communication-bound: SM below this (ratio).")
    communication_link: Ratio = Field(
        0.50, description="Communication-bound: NVLINK or PCIE at or above this share of the model's peak (ratio)."
    )
    active_signal: Ratio = Field(
        0.01, description="GR, SM, TENSOR or memory copy above this contradict a UTIL of 0 (ratio)."
    )
    active_power: float = Field(
        0.25, ge=0, description="Power above idle by more than this share contradicts a UTIL of 0."
    )
    powerful_utilization: Ratio = Field(0.15, description="Too powerful: mean UTIL at or below this (ratio).")
    powerful_gpu_memory_gib: float = Field(
        10.0, gt=0, description="Too powerful: peak GPU memory at most this, in GiB."
    )
    powerful_memory_per_gpu_gib: float = Field(
        32.0, gt=0, description="Too powerful: host memory per GPU at most this, in GiB."
    )
    powerful_seconds: Seconds = Field(3660.0, description="Too powerful: a run of at least this, in seconds.")
    slice_cores: float | None = Field(
        None, gt=0, description="Cores that come with a MIG slice; empty = the slice's share of the node."
    )
    memory_margin: float = Field(0.2, ge=0, description="Margin over the peak in a suggested --mem (share).")
    memory_unused_gib: float = Field(
        4.0, ge=0, description="Memory over-ask: at least this much was asked for and not used, in GiB."
    )
    oom_factor: float = Field(1.5, gt=1, description="After out of memory: --mem suggested as this times the ask.")
    time_margin: float = Field(0.25, ge=0, description="Margin over the run time in a suggested --time (share).")
    time_unused_seconds: Seconds = Field(
        1800.0, description="Time-limit over-ask: at least this much of the limit was not used, in seconds."
    )
    timeout_factor: float = Field(1.5, gt=1, description="After a time-out: --time suggested as this times the limit.")
    serial_low: Ratio = Field(0.85, description="Serial job: at least this many cores busy on average.")
    serial_high: float = Field(1.1, ge=1, description="Serial job: at most this many cores busy on average.")
    node_idle_cpu: Ratio = Field(0.001, description="CPU utilization of a node at or below this means unused (ratio).")
    memory_per_gpu_used: Ratio = Field(
        0.80, description="Too much memory per GPU: less than this of the memory was used (ratio)."
    )
    fragment_cores: Ratio = Field(
        0.80, description="Fragmented CPU job: less than this share of each node's cores was asked for (ratio)."
    )


class DemoSettings(Section):
    seed: int = Field(7, ge=0, description="Seed of the simulated cluster.")


class Settings(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix="FULLWARP_", env_nested_delimiter="__", extra="forbid", frozen=True, hide_input_in_errors=True
    )

    cluster: str = Field("", description="Name of the cluster; empty = Slurm's ClusterName.")
    site_timezone: Annotated[str, AfterValidator(_known_zone)] = Field(
        "UTC", description="Time zone of calendar words (today, week)."
    )
    refresh_seconds: float = Field(
        30.0, ge=5, allow_inf_nan=False, description="Age at which the live picture is read again, in seconds."
    )
    slurm: SlurmSettings = SlurmSettings()
    metrics: MetricsSettings = MetricsSettings()
    identity: IdentitySettings = IdentitySettings()
    serve: ServeSettings = ServeSettings()
    cache: CacheSettings = CacheSettings()
    judgement: JudgementSettings = JudgementSettings()
    findings: FindingLimits = FindingLimits()
    demo: DemoSettings = DemoSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


def secret_text(value: SecretStr, file: Path | None) -> str:
    """The secret itself, from its file when there is one (read again when it changes), else from its field.

    Raises OSError or UnicodeDecodeError for a file that cannot be read.
    """
    if file is None:
        return value.get_secret_value().strip()
    status = file.stat()
    return _file_text(file, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=16)
def _file_text(file: Path, modified_ns: int, size: int) -> str:
    return file.read_text(encoding="utf-8").strip()
