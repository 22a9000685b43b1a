"""What stands for oauth2-proxy: it answers nginx as that program's documentation says (`auth_request` with
`--set-xauthrequest` and `--cookie-refresh`), and asks for a name by a form in the place of a login elsewhere."""

from __future__ import annotations

import threading
from html import escape

from werkzeug.serving import make_server
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from tests.services.sign_in import PEOPLE

COOKIE = "_oauth2_proxy"
FORM = """<title>Sign in</title><form method="post" action="/oauth2/sign_in">
<input name="sub"><input type="hidden" name="rd" value="{}"><button>Authorize</button></form>"""


class OAuth2Proxy:
    """Its `url`, and `sessions`: who has signed in, by the value of the cookie."""

    def __init__(self) -> None:
        self.sessions: dict[str, str] = {}
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.port}"

    def __enter__(self) -> OAuth2Proxy:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join(10)

    @Request.application
    def _answer(self, request: Request) -> Response:
        answers = {"auth": self._auth, "sign_in": self._sign_in, "sign_out": self._sign_out}
        return answers[request.path.removeprefix("/oauth2/")](request)

    def _auth(self, request: Request) -> Response:
        name = self.sessions.get(request.cookies.get(COOKIE, ""))
        if name is None:
            return Response("unauthorized request", 401)
        email, groups = PEOPLE[name]
        told = {"User": f"id-{name}", "Email": email, "Preferred-Username": name, "Groups": ",".join(groups)}
        answer = Response(status=202, headers={f"X-Auth-Request-{key}": text for key, text in told.items()})
        answer.set_cookie(COOKIE, request.cookies[COOKIE], httponly=True)
        return answer

    def _sign_in(self, request: Request) -> Response:
        back = request.values.get("rd") or request.headers.get("X-Auth-Request-Redirect") or "/"
        if request.method == "GET":
            return Response(FORM.format(escape(back)), mimetype="text/html")
        key = f"session-{len(self.sessions)}"
        self.sessions[key] = request.form["sub"].removeprefix("id-")
        answer = redirect(back)
        answer.set_cookie(COOKIE, key, httponly=True)
        return answer

    def _sign_out(self, request: Request) -> Response:
        self.sessions.pop(request.cookies.get(COOKIE, ""), None)
        answer = redirect(request.args["rd"])
        answer.delete_cookie(COOKIE)
        return answer
