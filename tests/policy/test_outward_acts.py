"""The chat, the acts as the enforcer gets them, and what slurmrestd of other versions is asked and says."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from data.model import Job
from policy.actions.cancel import Canceller
from policy.actions.comment import Commenter
from policy.actions.outcome import Refused, Unsettled
from policy.actions.outward import Acts
from policy.actions.webhook import Webhook
from policy.decide import Act
from policy.model import Status, Verdict
from settings import RuleKind, RuleMode, Settings, SlurmSettings, StepAction, WebhookSettings
from tests.live.builders import make_job
from tests.services.mail import Inbox

NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)


@dataclass
class Server:
    """Answers every request alike, and keeps what was asked."""

    status: int = 200
    answer: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, str, bytes]] = field(default_factory=list)
    url: str = ""


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            made.asked.append((self.command, self.path, body))
            content = json.dumps(made.answer).encode()
            self.send_response(made.status)
            for name, value in ({"Content-Type": "application/json"} | made.headers).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_DELETE = do_POST

        def log_message(self, format: str, *args: Any) -> None: ...

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=listener.serve_forever, args=(0.05,), daemon=True).start()
    made.url = f"http://127.0.0.1:{listener.server_address[1]}"
    yield made
    listener.shutdown()
    listener.server_close()


class Scheduler:
    """Says of every job the states that it is told to, the last one for ever."""

    def __init__(self, job: Job, *states: str) -> None:
        self._job, self._states = job, list(states)

    def job(self, job_id: str) -> tuple[Job, ...]:
        state = self._states.pop(0) if len(self._states) > 1 else self._states[0]
        return tuple(replace(self._job, state=one) for one in state.split("+"))


def rest_canceller(server: Server, version: str, job: Job, *states: str) -> Canceller:
    settings = SlurmSettings.model_validate({"kind": "rest", "url": server.url, "api_version": version})
    return Canceller(settings, Scheduler(job, *(states or ("CANCELLED",))), wait=lambda seconds: None)  # type: ignore[arg-type]


TASK = make_job(130, array_job_id=123, array_task_id=7, display_id="123_7")


@pytest.mark.parametrize("version", ["v0.0.39", "v0.0.40"])
def test_a_slurmrestd_that_would_end_the_whole_array_is_not_asked(server: Server, version: str) -> None:
    with pytest.raises(Refused, match="whole array"):
        rest_canceller(server, version, TASK).cancel(TASK, "123_7")
    assert server.asked == []
    plain = make_job(99)
    rest_canceller(server, version, plain).cancel(plain, "99")
    assert [path for _, path, _ in server.asked] == [f"/slurm/{version}/job/99"]


def test_a_newer_slurmrestd_is_asked_for_the_task_and_its_answer_for_each_job_counts(server: Server) -> None:
    rest_canceller(server, "v0.0.42", TASK).cancel(TASK, "123_7")
    assert server.asked == [("DELETE", "/slurm/v0.0.42/job/123_7", b"")]
    server.answer = {"errors": [], "status": [{"job_id": "123_7", "error": {"code": 2002, "string": "Access denied"}}]}
    with pytest.raises(Refused, match="Access denied"):
        rest_canceller(server, "v0.0.42", TASK, "RUNNING").cancel(TASK, "123_7")


@pytest.mark.parametrize(
    ("states", "ends"),
    [
        (("RUNNING", "RUNNING", "CANCELLED"), None),
        (("COMPLETING",), None),
        (("PENDING+CANCELLED",), None),
        (("RUNNING",), Unsettled),
        (("PENDING+RUNNING",), Unsettled),
        (("COMPLETED",), Refused),
        (("TIMEOUT",), Refused),
    ],
)
def test_what_became_of_the_job_decides_whether_it_was_cancelled(
    server: Server, states: tuple[str, ...], ends: type[Exception] | None
) -> None:
    job = make_job(99)
    asked = rest_canceller(server, "v0.0.38", job, *states)
    if ends is None:
        return asked.cancel(job, "99")
    with pytest.raises(ends):
        asked.cancel(job, "99")
    return None


def test_jobs_of_the_simulated_cluster_are_refused() -> None:
    job, settings = make_job(1), SlurmSettings.model_validate({"kind": "simulated"})
    with pytest.raises(Refused, match="simulated"):
        Canceller(settings, Scheduler(job, "RUNNING")).cancel(job, "1")  # type: ignore[arg-type]
    with pytest.raises(Refused, match="simulated"):
        Commenter(settings, Scheduler(job, "RUNNING")).comment(job, "warn")  # type: ignore[arg-type]


def test_a_chat_gets_plain_text_in_slacks_json(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text(f"{server.url}/hook\n")
    Webhook(WebhookSettings(url_file=file)).tell("job <!channel> & <http://x|y> " + "z" * 9000)
    ((method, path, body),) = server.asked
    text = json.loads(body)["text"]
    assert (method, path) == ("POST", "/hook")
    assert text.startswith("job &lt;!channel&gt; &amp; &lt;http://x|y&gt; z") and len(text) == 3000


@pytest.mark.parametrize(("status", "headers"), [(500, {}), (404, {}), (302, {"Location": "/elsewhere"})])
def test_a_chat_that_refuses_is_named_without_its_secret_address(
    server: Server, status: int, headers: dict[str, str]
) -> None:
    server.status, server.headers = status, headers
    for url in (f"{server.url}/canary", "http://127.0.0.1:1/canary", "nonsense/canary"):
        with pytest.raises(Refused) as caught:
            Webhook(WebhookSettings.model_validate({"url": url})).tell("x")
        assert "canary" not in str(caught.value)
    assert len(server.asked) == 1


def acts_of(inbox: Inbox, server: Server | None = None, **mail: object) -> Acts:
    settings = {
        "mail": {"host": "localhost", "port": inbox.port, "security": "none", "sender": "hpc@example.org"} | mail,
        "webhook": {"url": "" if server is None else f"{server.url}/hook"},
        "slurm": {"kind": "simulated"},
    }
    return Acts(Settings.model_validate(settings), Scheduler(TASK, "RUNNING"))  # type: ignore[arg-type]


def act(user: str | None = "alice", action: StepAction = StepAction.WARN, job_id: int = 4711) -> Act:
    verdict = Verdict("idle", RuleKind.IDLE, RuleMode.ACT, Status.LOW)
    return Act(make_job(job_id, user=user), verdict, "idle", 1, 2, action, NOW)


def test_a_notice_reaches_the_user_and_an_unknown_address_is_named(mail_inbox: Inbox, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("alice,a.lice@example.org\n")
    acts = acts_of(mail_inbox, address_file=tmp_path / "a.csv")
    acts.check_mail()
    acts.send(acts.notice([act()], "r1", NOW, {}))
    assert mail_inbox.recipients == [["a.lice@example.org"]]
    for user in ("bob", None):
        with pytest.raises(Refused, match="no mail address is known of"):
            acts.notice([act(user)], "r2", NOW, {})


def test_staff_are_told_by_mail_and_chat_or_by_the_one_that_works(mail_inbox: Inbox, server: Server) -> None:
    lines = ["bob has no address"]
    acts_of(mail_inbox, server, staff=["sam@example.org"]).tell_staff(lines, "s1", NOW)
    assert (len(mail_inbox.mails), len(server.asked)) == (1, 1)
    acts_of(mail_inbox, server).tell_staff(lines, "s2", NOW)
    assert (len(mail_inbox.mails), len(server.asked)) == (1, 2)
    mail_inbox.at_data, server.status = "550 no", 500
    with pytest.raises(Refused, match="550 no; the webhook answered 500"):
        acts_of(mail_inbox, server, staff=["sam@example.org"]).tell_staff(lines, "s3", NOW)
    with pytest.raises(Refused, match=r"mail.staff is empty; no webhook is set"):
        acts_of(mail_inbox).tell_staff(lines, "s4", NOW)


def test_staff_whose_mail_may_not_have_arrived_are_told_by_the_chat_too(mail_inbox: Inbox, server: Server) -> None:
    mail_inbox.at_data = "cut"
    acts_of(mail_inbox, server, staff=["sam@example.org"]).tell_staff(["x"], "s1", NOW)
    assert len(server.asked) == 1
    with pytest.raises(Refused, match="before the mail server's answer"):
        acts_of(mail_inbox, staff=["sam@example.org"]).tell_staff(["x"], "s2", NOW)


def test_the_chat_hears_what_was_done_by_user_and_rule(mail_inbox: Inbox, server: Server) -> None:
    done = [act(), act(job_id=4712), act("bob", StepAction.CANCEL, 99)]
    acts_of(mail_inbox, server).announce(done, NOW)
    acts_of(mail_inbox).announce(done, NOW)
    acts_of(mail_inbox, server).announce([], NOW)
    assert [json.loads(body)["text"].splitlines() for _, _, body in server.asked] == [
        ["2 jobs of alice warned (step 2) by the rule idle: 4711, 4712", "1 job of bob cancelled by the rule idle: 99"]
    ]
