// The page in Open OnDemand: theme, charts, and asking again once in a while, but only while somebody looks.
(function () {
  "use strict";
  var root = document.documentElement, IDLE_MS = 15 * 60 * 1000, LOOK_MS = 5000;
  var every = Math.max(60, Number(document.body.dataset.refresh) || 60) * 1000;
  var touched = Date.now(), asked = Date.now(), asking = false;

  function charts() {
    var box = document.getElementById("job-charts");
    if (box && box.dataset.series) window.dash_clientside.fw.drawCharts(JSON.parse(box.dataset.series));
  }

  function say(text) {
    var line = document.getElementById("resting");
    if (line.textContent !== text) line.textContent = text;
    line.hidden = !text;
  }

  // What was unfolded stays so, and what had the focus has it again, as far as it is still there.
  function place(of) {
    return Array.from(document.querySelectorAll(of));
  }
  function show(found) {
    var open = place("#parts details").map(function (one) { return one.open; });
    var focus = place("#parts :is(a, button, [tabindex])").indexOf(document.activeElement);
    document.getElementById("parts").innerHTML = found.parts;   // made by the server, every text in it escaped
    var time = document.getElementById("as-of");
    if (time) time.innerHTML = found.as_of;
    place("#parts details").forEach(function (one, at) { if (open[at]) one.open = true; });
    charts();
    if (focus >= 0) { var again = place("#parts :is(a, button, [tabindex])")[focus]; if (again) again.focus({ preventScroll: true }); }
  }

  function ask() {
    if (asking) return;
    asking = true;
    asked = Date.now();
    var address = new URL(location.href);
    address.searchParams.set("part", "1");
    address.hash = "";
    fetch(address, { headers: { Accept: "application/json" }, cache: "no-store" }).then(function (answer) {
      if (!(answer.headers.get("Content-Type") || "").startsWith("application/json")) throw new Error("not ours");
      return answer.json();
    }).then(function (found) { show(found); say(""); }, function () {
      say("Not refreshed: Open OnDemand does not answer, or you are signed out. Load the page again.");
    }).then(function () { asking = false; });
  }

  function look() {
    var now = Date.now(), rests = now - touched >= IDLE_MS;
    if (document.hidden || !document.getElementById("parts")) return;   // the assistant's page fills itself
    if (rests) { say("Not refreshed while the page is not used. Move the pointer to go on."); return; }
    if (now - asked >= every) ask();
  }

  function touch() {
    var rested = Date.now() - touched >= IDLE_MS;
    touched = Date.now();
    if (rested && document.getElementById("parts")) { say(""); look(); }
  }
  ["pointerdown", "keydown", "wheel", "touchstart"].forEach(function (kind) {
    document.addEventListener(kind, touch, { passive: true, capture: true });
  });
  // A page that changes under a resting pointer makes events, too: only a pointer elsewhere has been moved.
  var last = "";
  document.addEventListener("pointermove", function (event) {
    var here = event.screenX + " " + event.screenY, moved = last && last !== here;
    last = here;
    if (moved) touch();
  }, { passive: true, capture: true });
  document.addEventListener("visibilitychange", function () { if (!document.hidden) { touch(); look(); } });

  document.addEventListener("click", function (event) {
    var button = event.target.closest("#theme");
    if (!button) return;
    var theme = root.getAttribute("data-bs-theme") === "dark" ? "light" : "dark";
    root.setAttribute("data-bs-theme", theme);
    try { localStorage.setItem("fw-theme", theme); } catch (e) { /* not kept */ }
  });

  charts();
  window.fwTime.refresh();
  setInterval(look, LOOK_MS);
})();
