"""How GPU and host metrics are read."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr

from configuration.checks import Seconds, http_headers, web_address
from configuration.section import Section


class MetricsKind(StrEnum):
    PROMETHEUS = "prometheus"
    SIMULATED = "simulated"
    NONE = "none"


class MetricsSettings(Section):
    kind: MetricsKind = Field(
        MetricsKind.PROMETHEUS, description="How metrics are read: prometheus, simulated or none."
    )
    url: Annotated[str, AfterValidator(web_address("http", "https"))] = Field(
        "", description="Any server with the Prometheus HTTP API: http://host:9090."
    )
    token: SecretStr = Field(SecretStr(""), description="Bearer token; better in token_file.")
    token_file: Path | None = Field(None, description="File that holds the bearer token.")
    username: str = Field("", description="User name for basic authentication.")
    password: SecretStr = Field(
        SecretStr(""), description="Password for basic authentication; better in password_file."
    )
    password_file: Path | None = Field(None, description="File that holds the password.")
    headers: Annotated[dict[str, str], AfterValidator(http_headers)] = Field(
        default_factory=dict, description="Further headers, such as X-Scope-OrgID for Mimir.", repr=False
    )
    headers_file: Path | None = Field(
        None,
        description="File of further headers that are secret, each a line such as X-Api-Key: abc; read again when it "
        "changes.",
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
