"""One typed Settings: TOML file, environment (FULLWARP_*), defaults. Every field has its unit and help.

`Settings(...)` is a plain value and reads nothing; `data.settings_file` reads the file and the environment.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from configuration.api import ApiSettings
from configuration.applications import ApplicationSettings
from configuration.chat import ChatSettings, Delivery, EmptyContent, ModelKind
from configuration.checks import known_zone
from configuration.enforcement import EnforcementSettings
from configuration.exposure import ExposureSettings
from configuration.history import HistorySettings
from configuration.identity import IdentityKind, IdentitySettings
from configuration.judgement import FindingLimits, JudgementSettings
from configuration.logs import LogSettings
from configuration.mail import MailSecurity, MailSettings, WebhookSettings
from configuration.metrics import MetricsKind, MetricsSettings
from configuration.notify import NotifyKindSettings, NotifySettings
from configuration.policy import JobKind, PolicySettings, RuleKind, RuleMode, RuleSettings, StepAction, StepSettings
from configuration.racks import RackSettings
from configuration.section import Section, secret_text
from configuration.serving import CacheSettings, ServeSettings
from configuration.slurm import SlurmKind, SlurmSettings
from configuration.state import StateSettings
from configuration.submission import SubmissionLimits, SubmissionSettings

__all__ = [
    "ApiSettings",
    "ApplicationSettings",
    "CacheSettings",
    "ChatSettings",
    "Delivery",
    "DemoSettings",
    "EmptyContent",
    "EnforcementSettings",
    "ExposureSettings",
    "FindingLimits",
    "HistorySettings",
    "IdentityKind",
    "IdentitySettings",
    "JobKind",
    "JudgementSettings",
    "LogSettings",
    "MailSecurity",
    "MailSettings",
    "MetricsKind",
    "MetricsSettings",
    "ModelKind",
    "NotifyKindSettings",
    "NotifySettings",
    "PolicySettings",
    "RackSettings",
    "RuleKind",
    "RuleMode",
    "RuleSettings",
    "Section",
    "ServeSettings",
    "Settings",
    "SlurmKind",
    "SlurmSettings",
    "StateSettings",
    "StepAction",
    "StepSettings",
    "SubmissionLimits",
    "SubmissionSettings",
    "WebhookSettings",
    "secret_text",
]


class DemoSettings(Section):
    seed: int = Field(7, ge=0, description="Seed of the simulated cluster.")
    history_days: int = Field(90, ge=0, le=400, description="Days of history of the simulated cluster; 0 = none.")


class Settings(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix="FULLWARP_", env_nested_delimiter="__", extra="forbid", frozen=True, hide_input_in_errors=True
    )

    cluster: str = Field("", description="Name of the cluster; empty = Slurm's ClusterName.")
    site_timezone: Annotated[str, AfterValidator(known_zone)] = Field(
        "UTC", description="Time zone of calendar words (today, week)."
    )
    refresh_seconds: float = Field(
        30.0, ge=5, allow_inf_nan=False, description="Age at which the live picture is read again, in seconds."
    )
    slurm: SlurmSettings = SlurmSettings()
    metrics: MetricsSettings = MetricsSettings()
    identity: IdentitySettings = IdentitySettings()
    serve: ServeSettings = ServeSettings()
    exposure: ExposureSettings = ExposureSettings()
    logs: LogSettings = LogSettings()
    cache: CacheSettings = CacheSettings()
    judgement: JudgementSettings = JudgementSettings()
    findings: FindingLimits = FindingLimits()
    racks: RackSettings = RackSettings()
    applications: ApplicationSettings = ApplicationSettings()
    history: HistorySettings = HistorySettings()
    policy: PolicySettings = PolicySettings()
    mail: MailSettings = MailSettings()
    notify: NotifySettings = NotifySettings()
    webhook: WebhookSettings = WebhookSettings()
    submission: SubmissionSettings = SubmissionSettings()
    state: StateSettings = StateSettings()
    enforcement: EnforcementSettings = EnforcementSettings()
    api: ApiSettings = ApiSettings()
    chat: ChatSettings = ChatSettings()
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
