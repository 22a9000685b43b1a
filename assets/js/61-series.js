// Small multiples: one box per device, the same axes for all, a gap is a gap; hover reads all at one time, a drag zooms.
(function () {
  "use strict";
  var W = 240, H = 72, svg = window.fwMake.svg, part = window.fwMake.html, drawn = null;

  function x(data, seconds) { return seconds / (data.end - data.start) * W; }
  function y(data, value) { return H - 2 - Math.max(0, Math.min(1, value / data.high)) * (H - 4); }

  // One path; a null begins a new stroke, and a point that stands alone is a short dash.
  function path(data, line) {
    var text = "", open = false;
    line.v.forEach(function (value, i) {
      if (value === null) { open = false; return; }
      var at = x(data, line.t[i]).toFixed(1) + " " + y(data, value).toFixed(1);
      text += (open ? "L" : "M") + at;
      if (!open && (i + 1 >= line.v.length || line.v[i + 1] === null)) text += "h1";
      open = true;
    });
    return text;
  }

  function chart(data, line) {
    var plot = svg("svg", { viewBox: "0 0 " + W + " " + H, preserveAspectRatio: "none", "class": "fw-plot" + (line.t.length ? "" : " fw-no-data"), role: "img", "aria-label": data.name + " of " + line.name + ": " + line.mean + ", " + line.foot });
    [0, 0.5, 1].forEach(function (share) { plot.append(svg("line", { x1: 0, x2: W, y1: 2 + (H - 4) * share, y2: 2 + (H - 4) * share, "class": "fw-gridline", "vector-effect": "non-scaling-stroke" })); });
    if (line.t.length) plot.append(svg("path", { d: path(data, line), "class": "fw-line", "vector-effect": "non-scaling-stroke" }));
    plot.append(svg("line", { x1: -9, x2: -9, y1: 0, y2: H, "class": "fw-cross", "vector-effect": "non-scaling-stroke" }));
    plot.append(svg("rect", { x: 0, y: 0, width: 0, height: H, "class": "fw-brush" }));
    return plot;
  }

  function clock(seconds) { return window.fwTime.clock(new Date(seconds * 1000), false, new Date()); }

  function box(data, line, at) {
    var made = part("figure", "fw-multiple" + (at >= 16 ? " fw-beyond" : "")), head = part("figcaption", "fw-multiple-head");
    head.append(part("b", "", line.name), part("span", "fw-reading", line.mean));
    var frame = part("div", "fw-plot-frame");
    frame.append(chart(data, line));
    var foot = part("div", "fw-multiple-foot");
    foot.append(part("span", "", line.foot));
    made.append(head, frame, foot);
    made.fwLine = line;
    return made;
  }

  function axis(data) {
    var made = part("div", "fw-x-axis");
    made.append(part("span", "", clock(data.start)), part("span", "", clock(data.end)));
    return made;
  }

  function drawSeries(data) {
    var boxes = document.getElementById("series-boxes");
    if (!boxes || !data) return window.dash_clientside.no_update;
    drawn = data;
    var parts = data.lines.map(function (line, i) { return box(data, line, i); });
    if (data.more) {
      var all = part("button", "fw-button fw-small-button", "Show all " + data.lines.length);
      all.type = "button";
      all.addEventListener("click", function () { boxes.classList.add("fw-all"); all.remove(); });
      if (!boxes.classList.contains("fw-all")) parts.push(all);
    }
    if (parts.length) parts.push(axis(data));
    boxes.replaceChildren.apply(boxes, parts);
    return data.lines.length;
  }

  // Reading of every box at the pointer's time: the nearest point that is not a gap.
  function reading(data, line, seconds) {
    var best = -1, distance = (data.end - data.start) / 60;
    line.t.forEach(function (time, i) {
      var away = Math.abs(time - seconds);
      if (line.v[i] !== null && away < distance) { best = i; distance = away; }
    });
    return best < 0 ? "–" : (Math.round(line.v[best] * 100) / 100) + (data.unit === "code" ? "" : "\u00a0" + data.unit);
  }

  function secondsAt(event, plot) {
    var box = plot.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width)) * (drawn.end - drawn.start);
  }

  function eachBox(call) { document.querySelectorAll("#series-boxes .fw-multiple").forEach(call); }

  function read(seconds) {
    eachBox(function (figure) {
      var cross = figure.querySelector(".fw-cross"), at = seconds === null ? -9 : x(drawn, seconds);
      cross.setAttribute("x1", at); cross.setAttribute("x2", at);
      figure.querySelector(".fw-reading").textContent = seconds === null ? figure.fwLine.mean : clock(drawn.start + seconds) + "  " + reading(drawn, figure.fwLine, seconds);
    });
  }

  function brush(from, to) {
    eachBox(function (figure) {
      var rect = figure.querySelector(".fw-brush");
      rect.setAttribute("x", x(drawn, Math.min(from, to)));
      rect.setAttribute("width", x(drawn, Math.abs(to - from)));
    });
  }

  function show(from, to) {
    if (!(to > from)) return;
    var span = { from: new Date(from * 1000).toISOString(), to: new Date(to * 1000).toISOString() };
    dash_clientside.set_props("series-range", { value: "" });
    dash_clientside.set_props("series-span", { data: span });
  }

  var started = null;
  document.addEventListener("pointermove", function (event) {
    var plot = event.target.closest && event.target.closest(".fw-plot");
    if (!plot || !drawn) { if (started === null && document.querySelector("#series-boxes[data-reading]")) { document.getElementById("series-boxes").removeAttribute("data-reading"); read(null); } return; }
    document.getElementById("series-boxes").setAttribute("data-reading", "1");
    var seconds = secondsAt(event, plot);
    read(seconds);
    if (started !== null) brush(started, seconds);
  }, { passive: true });
  document.addEventListener("pointerdown", function (event) {
    var plot = event.target.closest && event.target.closest(".fw-plot");
    if (plot && drawn && event.pointerType === "mouse") { started = secondsAt(event, plot); event.preventDefault(); }
  });
  document.addEventListener("pointerup", function (event) {
    var plot = event.target.closest && event.target.closest(".fw-plot"), from = started;
    started = null;
    if (from === null || !drawn) return;
    brush(0, 0);
    var to = plot ? secondsAt(event, plot) : from;
    if (Math.abs(to - from) < Math.max(60, (drawn.end - drawn.start) / 60)) return;
    show(drawn.start + Math.min(from, to), drawn.start + Math.max(from, to));
  });

  function chosen(id) { var field = document.getElementById(id); return field && field.value ? new Date(field.value) / 1000 : null; }

  document.addEventListener("click", function (event) {
    var button = event.target.closest("button");
    if (!button) return;
    if (button.hasAttribute("data-span")) show(chosen("series-from") || drawn.start, chosen("series-to") || Date.now() / 1000);
    if (button.hasAttribute("data-all-columns")) {
      var on = button.closest(".fw-panel").classList.toggle("fw-all-columns");
      button.setAttribute("aria-pressed", on ? "true" : "false");
    }
  });
  document.addEventListener("keydown", function (event) {
    if (event.key === "Escape" && started !== null) { started = null; brush(0, 0); }
  });

  // Metric and span live in the address.
  function writeSeries(metric, range, span) {
    var params = new URLSearchParams(location.search);
    var values = { metric: metric === "gpu_utilization" ? "" : metric, range: range === "6h" ? "" : range, from: range ? "" : (span || {}).from, to: range ? "" : (span || {}).to };
    Object.keys(values).forEach(function (key) { if (values[key]) params.set(key, values[key]); else params.delete(key); });
    var text = params.toString(), search = text ? "?" + text : "";
    if (search !== location.search) history.replaceState(history.state, "", location.pathname + search);
  }

  window.dash_clientside = Object.assign({}, window.dash_clientside);
  window.dash_clientside.fw = Object.assign({}, window.dash_clientside.fw, { drawSeries: drawSeries, writeSeries: writeSeries });
})();
