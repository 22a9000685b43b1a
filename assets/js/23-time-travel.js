// The bar that replays the past on every live page: slider, step, play, compare, back to now. `at` lives in the address.
(function () {
  "use strict";
  var MINUTE = 60000, SPANS = { day: { hours: 24, step: 5, play: 15, word: "24 h" }, week: { hours: 168, step: 60, play: 120, word: "7 d" } };
  var element = window.fwMake.html, span = "day", shown = null, playing = null, patience = null, opened = false, parts = {};

  function holder() { return document.getElementById("time-bar"); }
  function now() { return Math.floor(Date.now() / MINUTE) * MINUTE; }
  function rule() { return SPANS[span]; }
  function inOverview() { return document.getElementById("overview-kpis"); }
  function iso(ms) { return new Date(ms).toISOString().slice(0, 16) + "Z"; }
  function words(ms) {
    var date = new Date(ms), today = new Date();
    var time = date.toLocaleTimeString("en-US", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
    return date.toLocaleDateString("en-US", { weekday: "short" }) + " " + window.fwTime.day(date, today) + ", " + time;
  }
  function isComparing() { return new URLSearchParams(location.search).get("compare") === "1"; }

  // The address first, then the page: in place where it can, else drawn anew for that moment.
  function put(changes, replace) {
    var params = new URLSearchParams(location.search);
    Object.keys(changes).forEach(function (key) { if (changes[key]) params.set(key, changes[key]); else params.delete(key); });
    var text = params.toString();
    if ((text ? "?" + text : "") === location.search) return;
    history[replace ? "replaceState" : "pushState"](history.state || {}, "", location.pathname + (text ? "?" + text : ""));
    if (!inOverview()) { window.dispatchEvent(new CustomEvent("_dashprivate_pushstate")); return; }
    window.dash_clientside.set_props("overview-at", { data: params.get("at") || "" });
    window.dash_clientside.set_props("overview-compare", { data: params.get("compare") || "" });
    window.fwTick({ disabled: Boolean(params.get("at")) });
  }

  function goTo(ms, replace) {
    if (ms >= now()) { backToNow(); return; }
    parts.label.textContent = "Reading " + words(ms) + " …";
    put({ at: iso(ms) }, replace);
  }

  function backToNow() { stop(); put({ at: "", compare: "" }); }

  function move(direction) { stop(); goTo((shown || now()) + direction * rule().play * MINUTE, false); }

  function stop() {
    clearTimeout(playing); clearTimeout(patience);
    playing = patience = null;
    if (parts.play) { parts.play.setAttribute("aria-label", "Play"); parts.play.title = "Play"; parts.play.firstChild.className = "fw-icon fw-icon-play"; }
  }

  function next() {
    clearTimeout(patience);
    patience = setTimeout(stop, 30000);
    goTo((shown || now() - rule().hours * 60 * MINUTE) + rule().play * MINUTE, true);
  }

  function play() {
    if (playing) { stop(); return; }
    playing = setTimeout(next, 0);
    parts.play.setAttribute("aria-label", "Pause"); parts.play.title = "Pause"; parts.play.firstChild.className = "fw-icon fw-icon-pause";
  }

  function button(name, label, act) {
    var made = element("button", "fw-icon-button"), icon = element("span", "fw-icon fw-icon-" + name);
    made.type = "button"; made.title = label;
    made.setAttribute("aria-label", label);
    icon.setAttribute("aria-hidden", "true");
    made.append(icon);
    made.addEventListener("click", act);
    return made;
  }

  function textButton(label, act) {
    var made = element("button", "fw-button", label);
    made.type = "button";
    made.addEventListener("click", act);
    return made;
  }

  function slider() {
    var made = element("input", "fw-range");
    made.type = "range";
    made.setAttribute("aria-label", "Moment");
    made.addEventListener("input", function () { stop(); say(Number(made.value)); });
    made.addEventListener("change", function () { goTo(Number(made.value), Boolean(shown)); });
    return made;
  }

  function say(ms) {
    var isPast = ms < now() - MINUTE;
    parts.label.textContent = isPast ? words(ms) : "Now";
    parts.range.setAttribute("aria-valuetext", isPast ? words(ms) : "now");
  }

  function build() {
    var bar = holder();
    if (!bar || bar.firstChild) return;
    parts.label = element("b", "fw-time-label");
    parts.label.setAttribute("aria-live", "polite");
    parts.range = slider();
    parts.play = button("play", "Play", play);
    parts.span = textButton(rule().word, function () { span = span === "day" ? "week" : "day"; parts.span.textContent = rule().word; scale(); });
    parts.span.title = "How far back the slider goes";
    parts.compare = textButton("Compare with now", function () { put({ compare: isComparing() ? "" : "1" }); draw(); });
    parts.back = textButton("Back to now", backToNow);
    var mark = element("span", "fw-icon fw-icon-clock");
    mark.setAttribute("aria-hidden", "true");
    bar.append(mark, parts.label, button("back", "Step back", function () { move(-1); }), parts.play, button("forward", "Step forward", function () { move(1); }),
      parts.range, parts.span, parts.compare, parts.back, button("close", "Close", function () { opened = false; if (shown) backToNow(); else draw(); }));
  }

  function scale() {
    var end = now(), start = end - rule().hours * 60 * MINUTE;
    if (shown && shown < start && span === "day") { span = "week"; parts.span.textContent = rule().word; start = end - rule().hours * 60 * MINUTE; }
    parts.range.step = rule().step * MINUTE;
    parts.range.min = start; parts.range.max = end;
    parts.range.value = shown || end;
  }

  function draw() {
    var bar = holder();
    if (!bar) return;
    build();
    bar.hidden = !(opened || shown);
    document.documentElement.toggleAttribute("data-past", Boolean(shown));
    var toggle = document.getElementById("time");
    if (toggle) toggle.setAttribute("aria-expanded", bar.hidden ? "false" : "true");
    if (bar.hidden) return;
    scale();
    say(shown || now());
    if (shown) parts.label.textContent = "Past: " + words(shown);
    parts.compare.hidden = !(shown && inOverview());
    parts.compare.setAttribute("aria-pressed", isComparing() ? "true" : "false");
    parts.back.hidden = !shown;
  }

  // What the page says it shows: the moment that the server understood, not what the address asked for.
  window.fwTimeTravel = {
    show: function (frame) {
      shown = frame && frame.at ? Date.parse(frame.at) : null;
      draw();
      window.fwTime.refresh();
      if (!playing) return;
      if (!shown) stop(); else { clearTimeout(playing); playing = setTimeout(next, 1200); }
    },
    moment: function () { return window.fwMoment() ? shown : null; },
    toggle: function () { opened = !opened || Boolean(shown); draw(); if (!holder().hidden) parts.range.focus(); },
    step: move
  };

  // Links keep the moment, in this tab and in others.
  function stay(event) {
    var link = event.target.closest("a[href]"), href = link ? link.getAttribute("href") : "#";
    if (href[0] === "#" || window.fwStay(href) === href) return;
    event.preventDefault(); event.stopPropagation();
    if (event.button || event.ctrlKey || event.metaKey || event.shiftKey) window.open(window.fwStay(href), "_blank");
    else window.fwGo(window.fwStay(href));
  }

  document.addEventListener("auxclick", function (event) { if (event.button === 1) stay(event); }, true);
  document.addEventListener("click", function (event) {
    if (event.target.closest("#time")) window.fwTimeTravel.toggle();
    stay(event);
  }, true);
})();
