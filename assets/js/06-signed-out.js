// Says when the sign-in has ended while a page is open. The web server in front then answers what the page asks with 401,
// with the login's page, or with the way to a login elsewhere, which our own policy lets no request go.
(function () {
  "use strict";
  var ask = window.fetch, SAID = { error: { message: "You are not signed in any more.", hint: "Sign in again." } };
  var wentAway = 0;

  // Our own answers to these requests are never HTML, and lead nowhere else; a proxy's 502 is no login.
  function isLogin(answer) {
    var isPage = (answer.headers.get("Content-Type") || "").indexOf("text/html") === 0;
    return answer.status === 401 || answer.redirected || (isPage && (answer.status === 200 || answer.status === 403));
  }

  function told() {
    show();
    return new Response(JSON.stringify(SAID), { status: 401, headers: { "Content-Type": "application/json" } });
  }

  // The browser says that a request was led elsewhere in an event of its own, about when the request fails. It names the
  // address that was asked: what an extension of the browser wanted from another site is none of ours.
  function blocked(begun, error) {
    return new Promise(function (resolve) { setTimeout(resolve, 100); }).then(function () {
      if (wentAway < begun) throw error;
      return told();
    });
  }
  document.addEventListener("securitypolicyviolation", function (event) {
    if (event.effectiveDirective !== "connect-src" || event.blockedURI.indexOf(location.origin + "/")) return;
    wentAway = performance.now();
    show();
  });

  window.fetch = function (what, how) {
    var begun = performance.now();
    return ask.call(window, what, how).then(function (answer) {
      if (isLogin(answer)) return told();
      hide();
      return answer;
    }, function (error) {
      if (error.name === "AbortError") throw error;
      return blocked(begun, error);
    });
  };

  // Without the place on the page, which the skip link leaves: a link to a place on its own page loads nothing.
  function here() { return location.pathname + location.search; }
  function notice() { return document.getElementById("signed-out"); }

  function show() {
    if (notice()) return;
    var box = window.fwMake.html("div", "fw-banner fw-banner-bad fw-signed-out"), line = window.fwMake.html("p", "", null, box);
    box.id = "signed-out";
    box.setAttribute("role", "alert");
    window.fwMake.html("b", "", "You are not signed in any more.", line);
    line.append(" What you see is from before.");
    var link = window.fwMake.html("a", "fw-button", "Sign in again", box);
    link.href = here();
    if (window.top !== window) link.target = "_blank";  // a login does not let itself be shown in a frame
    document.body.prepend(box);
  }

  function hide() { if (notice()) notice().remove(); }

  // Who signed in in another tab comes back to a page that goes on.
  document.addEventListener("visibilitychange", function () {
    if (!document.hidden && notice()) window.fwTick({ n_intervals: Date.now() });
  });
  // The address changes while one goes about in the app.
  document.addEventListener("click", function (event) {
    var link = event.target.closest("#signed-out a");
    if (link) link.href = here();
  });
})();
