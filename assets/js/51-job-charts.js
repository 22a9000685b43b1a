// One small chart per GPU, all on one scale and one span: dragging over one zooms all. Text goes in as text.
(function () {
  "use strict";
  var WIDTH = 400, HEIGHT = 100, GAP = 1.6, svg = window.fwMake.svg, html = window.fwMake.html;
  var shown = null, span = null, drag = null;

  function box() { return document.getElementById("job-charts"); }
  function x(seconds) { return (seconds - span[0]) / (span[1] - span[0]) * WIDTH; }
  function y(value) { return HEIGHT - Math.min(1, Math.max(0, value / shown.most)) * (HEIGHT - 2) - 1; }

  // A gap in the samples is a gap in the line; a lone sample is a dot.
  function path(row) {
    var text = "", last = null, alone = false, margin = shown.step;
    for (var i = 0; i < row.t.length; i++) {
      if (row.t[i] < span[0] - margin || row.t[i] > span[1] + margin) continue;
      var begins = last === null || row.t[i] - last > GAP * shown.step;
      if (begins && alone) text += "h.01";
      text += (begins ? "M" : "L") + x(row.t[i]).toFixed(1) + " " + y(row.v[i]).toFixed(1);
      alone = begins;
      last = row.t[i];
    }
    return text + (alone ? "h.01" : "");
  }

  function plot(row) {
    var picture = svg("svg", { viewBox: "0 0 " + WIDTH + " " + HEIGHT, preserveAspectRatio: "none", "aria-hidden": "true" });
    row.idle.forEach(function (stretch) {
      var from = Math.max(0, x(stretch[0])), to = Math.min(WIDTH, x(stretch[1]));
      if (to <= from) return;
      svg("rect", { x: from, y: 0, width: to - from, height: HEIGHT, class: "fw-idle-area" }, picture);
      svg("rect", { x: from, y: HEIGHT - 4, width: to - from, height: 4, class: "fw-idle-foot" }, picture);
    });
    [0, 0.5, 1].forEach(function (part) {
      svg("path", { d: "M0 " + (1 + part * (HEIGHT - 2)) + "H" + WIDTH, class: "fw-grid-line" }, picture);
    });
    svg("path", { d: path(row), class: "fw-series" }, picture);
    svg("rect", { x: 0, y: 0, width: 0, height: HEIGHT, class: "fw-zoom-area" }, picture);
    return picture;
  }

  function amount(value) {
    var number = value / shown.divisor;
    return (shown.divisor > 1 && number < 10 && number % 1 ? number.toFixed(1) : String(Math.round(number))) + "\u00a0" + shown.unit;
  }
  function sentence(row) {
    if (!row.t.length) return row.name + ", no samples";
    return row.name + ", mean " + row.mean + (row.foot ? ", " + row.foot : "") + ", highest " + amount(Math.max.apply(null, row.v));
  }

  function small(row) {
    var figure = html("div", "fw-small");
    figure.setAttribute("role", "img");
    figure.setAttribute("aria-label", sentence(row));
    var head = html("div", "fw-small-head", undefined, figure);
    html("b", "", row.name, head).title = row.name;
    if (row.as !== shown.label) html("span", "fw-unit", row.as, head);
    html("span", "fw-mean", row.mean, head);
    var area = html("div", "fw-smallplot" + (row.t.length ? "" : " fw-no-samples"), undefined, figure);
    if (row.t.length) area.appendChild(plot(row)); else html("span", "fw-unit", "no samples", area);
    var foot = html("div", "fw-small-foot", undefined, figure);
    if (row.warn) html("span", "fw-icon fw-icon-waste fw-waste", undefined, foot).setAttribute("aria-hidden", "true");
    html("span", "", row.foot, foot);
    figure.fwRow = row;
    return figure;
  }

  function draw() {
    var target = box();
    if (!target) return;
    target.replaceChildren();
    if (!shown) target.removeAttribute("style");   // the room that was kept for them
    target.dataset.few = shown && shown.rows.length < 4 ? String(shown.rows.length) : "";
    target.tabIndex = shown ? 0 : -1;
    target.setAttribute("role", "group");
    target.setAttribute("aria-label", "Charts. Plus and minus zoom, arrows move, Escape shows the whole run.");
    if (shown) shown.rows.forEach(function (row) { target.appendChild(small(row)); });
    var out = document.querySelector("[data-zoom-out]");
    if (out) out.hidden = !shown || (span[0] <= 0 && span[1] >= shown.seconds);
  }

  // A refresh makes the run longer: who looks at all of it goes on doing so, who has zoomed stays where they are.
  function drawCharts(data) {
    var whole = !shown || !span || !data || shown.start !== data.start || (span[0] <= 0 && span[1] >= shown.seconds);
    shown = data || null;
    if (shown && whole) span = [0, shown.seconds];
    draw();
    return dash_clientside.no_update;
  }

  function zoom(from, to) {
    if (!shown) return;
    var least = Math.min(shown.seconds, Math.max(2 * shown.step, 1)), length = Math.min(shown.seconds, Math.max(least, to - from));
    var begin = Math.min(Math.max(0, from), shown.seconds - length);
    span = [begin, begin + length];
    draw();
  }
  function whole() { if (shown) zoom(0, shown.seconds); }

  function place(event, area) {
    var frame = area.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - frame.left) / frame.width));
  }
  function brush() {
    var low = Math.min(drag.from, drag.to) * WIDTH, wide = Math.abs(drag.to - drag.from) * WIDTH;
    document.querySelectorAll("#job-charts .fw-zoom-area").forEach(function (one) { one.setAttribute("x", low); one.setAttribute("width", wide); });
  }

  // Under the pointer the head shows the sample's time and value; elsewhere the mean.
  function read(event, area) {
    var figure = area.closest(".fw-small"), row = figure.fwRow, at = span[0] + place(event, area) * (span[1] - span[0]);
    var best = -1;
    for (var i = 0; i < row.t.length; i++) if (best < 0 || Math.abs(row.t[i] - at) < Math.abs(row.t[best] - at)) best = i;
    var near = best >= 0 && Math.abs(row.t[best] - at) <= GAP * shown.step;
    var time = window.fwTime.clock(new Date((shown.start + at) * 1000), false, new Date());
    figure.querySelector(".fw-mean").textContent = time + "  " + (near ? amount(row.v[best]) : "–");
  }
  function unread(figure) { figure.querySelector(".fw-mean").textContent = figure.fwRow.mean; }

  document.addEventListener("pointerdown", function (event) {
    var area = event.target.closest && event.target.closest("#job-charts .fw-smallplot");
    if (!area || !shown || event.button !== 0 || event.pointerType !== "mouse") return;
    var at = place(event, area);
    drag = { area: area, from: at, to: at };
    event.preventDefault();
    box().focus({ preventScroll: true });
  });
  document.addEventListener("pointermove", function (event) {
    if (drag) { drag.to = place(event, drag.area); brush(); return; }
    var area = shown && event.target.closest && event.target.closest("#job-charts .fw-smallplot");
    if (area) read(event, area);
  });
  document.addEventListener("pointerout", function (event) {
    var figure = event.target.closest && event.target.closest("#job-charts .fw-small");
    if (figure && !figure.contains(event.relatedTarget)) unread(figure);
  });
  document.addEventListener("pointerup", function () {
    if (!drag) return;
    var low = Math.min(drag.from, drag.to), high = Math.max(drag.from, drag.to), length = span[1] - span[0];
    drag = null;
    if (high - low > 0.02) zoom(span[0] + low * length, span[0] + high * length); else draw();
    setTimeout(function () { if (box()) box().focus({ preventScroll: true }); }, 0);
  });
  document.addEventListener("click", function (event) { if (event.target.closest("[data-zoom-out]")) whole(); });
  document.addEventListener("keydown", function (event) {
    if (!shown || event.target !== box()) return;
    var length = span[1] - span[0], middle = (span[0] + span[1]) / 2;
    var keys = { "+": [middle - length / 4, middle + length / 4], "-": [middle - length, middle + length],
      ArrowLeft: [span[0] - length / 4, span[1] - length / 4], ArrowRight: [span[0] + length / 4, span[1] + length / 4], Escape: [0, shown.seconds] };
    var wanted = keys[event.key];
    if (!wanted || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    drag = null;
    zoom(wanted[0], wanted[1]);
  });

  window.dash_clientside = Object.assign({}, window.dash_clientside);
  window.dash_clientside.fw = Object.assign({}, window.dash_clientside.fw, { drawCharts: drawCharts });
})();
