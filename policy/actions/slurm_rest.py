"""slurmrestd, asked to change something. Reading is `data.slurm.rest_client`'s."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import orjson

from data.slurm.answers import check_errors
from data.slurm.rest_client import RestClient


class ActingRest(RestClient):
    """A slurmrestd that ends and changes jobs. One request a call, never repeated: an act is not done twice."""

    def delete_job(self, job: str) -> dict[str, Any]:
        """Send the job its end. Raises what the answer's errors[] say, as a SourceError or NotFound."""
        return self._sent("DELETE", job, None)

    def change_job(self, job: str, fields: Mapping[str, str]) -> dict[str, Any]:
        """Change fields of a job. Raises as `delete_job`."""
        return self._sent("POST", job, orjson.dumps(fields))

    def _sent(self, method: str, job: str, body: bytes | None) -> dict[str, Any]:
        path = f"/slurm/v0.0.{self.version}/job/{quote(job, safe='')}"
        headers = self._headers() | ({"Content-Type": "application/json"} if body else {})
        answer = self._endpoint.asked(method, path, headers, self._settings.timeout_seconds, body)
        payload = self._opened(answer, path)
        check_errors(payload)
        return payload
