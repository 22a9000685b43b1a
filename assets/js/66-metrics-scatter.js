// UTIL against SM, one dot a row, TENSOR as its area. Dragging selects rows, a dot opens its row, arrows walk the dots.
(function () {
  "use strict";
  var HEIGHT = 276, LEFT = 34, RIGHT = 14, TOP = 24, BOTTOM = 34, MOST = 500, LABELS = 4;
  var svg = window.fwMake.svg, state = null;

  function x(value) { return LEFT + Math.max(0, Math.min(100, value)) / 100 * (state.width - LEFT - RIGHT); }
  function y(value) { return HEIGHT - BOTTOM - Math.max(0, Math.min(100, value)) / 100 * (HEIGHT - TOP - BOTTOM); }
  function radius(tensor) { return tensor === null ? 4 : Math.sqrt(6 + 1.5 * Math.max(0, Math.min(100, tensor))); }

  function places(data) {
    var found = {};
    data.columns.forEach(function (column, place) { found[column.name] = place; });
    return found;
  }
  function dots(data, rows) {
    var at = places(data);
    return rows.filter(function (row) { return row.values[at.utilization] !== null && row.values[at.sm_activity] !== null; })
      .map(function (row) { return { row: row, util: row.values[at.utilization], sm: row.values[at.sm_activity], tensor: row.values[at.tensor_activity] }; })
      .sort(function (a, b) { return b.row.hours - a.row.hours; });
  }

  function frame(root, data) {
    [0, 25, 50, 75, 100].forEach(function (tick) {
      svg("line", { x1: x(0), x2: x(100), y1: y(tick), y2: y(tick), class: "fw-grid-line" }, root);
      svg("line", { x1: x(tick), x2: x(tick), y1: y(0), y2: y(100), class: "fw-grid-line" }, root);
      svg("text", { x: LEFT - 8, y: y(tick) + 4, "text-anchor": "end" }, root, tick);
      svg("text", { x: x(tick), y: y(0) + 15, "text-anchor": tick === 100 ? "end" : "middle" }, root, tick);
    });
    svg("text", { x: LEFT, y: 12 }, root, "SM, %");
    svg("text", { x: x(100), y: HEIGHT - 3, "text-anchor": "end" }, root, "UTIL, %");
    var busy = data.region[0], low = data.region[1];
    svg("rect", { x: x(busy), y: y(low), width: x(100) - x(busy), height: y(0) - y(low), class: "fw-region" }, root);
    svg("text", { x: (x(busy) + x(100)) / 2, y: y(0) - 6, "text-anchor": "middle", class: "fw-region-word" }, root, "small kernels");
    svg("line", { x1: x(0), y1: y(0), x2: x(100), y2: y(100), class: "fw-diagonal" }, root);
    legend(root);
  }
  function legend(root) {
    var at = LEFT + 12;
    svg("text", { x: at, y: TOP + 18 }, root, "TENSOR, %");
    at += 78;
    [0, 25, 75].forEach(function (share) {
      svg("circle", { cx: at, cy: TOP + 14, r: radius(share), class: "fw-dot" }, root);
      svg("text", { x: at + radius(share) + 4, y: TOP + 18 }, root, share);
      at += 2 * radius(share) + 24;
    });
  }

  function inside(box) {
    var style = getComputedStyle(box);
    return box.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  }

  function draw(data, rows, open) {
    var box = document.getElementById("metrics-scatter");
    if (!box) return;
    var shown = dots(data, rows), drawn = shown.slice(0, MOST), sm = data.columns.find(function (c) { return c.name === "sm_activity"; });
    note(data, rows, shown, drawn, sm);
    if (!box.clientWidth) return;
    state = { data: data, rows: rows, open: open, width: inside(box), dots: drawn, at: -1 };
    var root = svg("svg", { viewBox: "0 0 " + state.width + " " + HEIGHT, width: state.width, height: HEIGHT, tabindex: "0", role: "img", "aria-label": "UTIL against SM, one dot a " + data.title.toLowerCase() + ". Arrow keys walk the dots, Enter opens the row; the table below has the same numbers." });
    frame(root, data);
    var layer = svg("g", {}, root);
    drawn.forEach(function (dot, place) {
      var circle = svg("circle", { cx: x(dot.util), cy: y(dot.sm), r: radius(dot.tensor), class: "fw-dot" + (dot.tensor === null ? " fw-no-tensor" : "") + (dot.row.metric ? " fw-of-gr" : "") + (dot.row.key === open ? " fw-is-open" : ""), "data-dot": place }, layer);
      svg("title", {}, circle, sentence(dot));
    });
    labels(root, drawn, open);
    svg("circle", { r: 0, class: "fw-ring", "data-ring": "1" }, root);
    svg("rect", { width: 0, height: 0, class: "fw-brush", "data-brush": "1" }, root);
    if (!drawn.length) svg("text", { x: state.width / 2, y: HEIGHT / 2, "text-anchor": "middle" }, root, sm && sm.off ? "SM is not exported at this site" : "Nothing to draw: UTIL and SM were not measured");
    var had = box.contains(document.activeElement);
    box.replaceChildren(root);
    if (had) root.focus({ preventScroll: true });
  }
  function labels(root, drawn, open) {
    var taken = [];
    drawn.filter(function (dot, place) { return dot.row.key === open || place < 24; })
      .sort(function (a, b) { return (b.row.key === open) - (a.row.key === open); })
      .forEach(function (dot) {
        var text = dot.row.name.slice(0, 18), width = text.length * 6.3, right = x(dot.util) + radius(dot.tensor) + 4, flip = right + width > state.width - RIGHT;
        var from = flip ? x(dot.util) - radius(dot.tensor) - 4 - width : right, top = y(dot.sm);
        var free = taken.length < LABELS && taken.every(function (one) { return Math.abs(one[1] - top) > 13 || one[0] > from + width || one[0] + one[2] < from; });
        if (!free || from < LEFT || state.width < 480) return;
        taken.push([from, top, width]);
        svg("text", { x: from, y: top + 4, class: "fw-dot-word" }, root, text);
      });
  }
  function note(data, rows, shown, drawn, sm) {
    var element = document.getElementById("metrics-scatter-note");
    if (!element) return;
    var left = rows.length - shown.length, text = "one dot a " + data.title.replace(/^[A-Z](?![A-Z])/, function (c) { return c.toLowerCase(); }) + ", area TENSOR";
    if (left && !(sm && sm.off)) text += ", " + left + " without SM or UTIL";
    if (drawn.length < shown.length) text += ", the " + MOST + " with most GPU-hours";
    element.textContent = text;
  }
  function sentence(dot) {
    var t = window.fwMetricsTable;
    return dot.row.name + (dot.row.id ? " (" + dot.row.id + ")" : "") + ": " + (dot.row.metric || "UTIL") + " " + t.ratio(dot.util) + " %, SM " + t.ratio(dot.sm) + " %, TENSOR " + (dot.tensor === null ? "not measured" : t.ratio(dot.tensor) + " %") + ", " + t.hours(dot.row.hours) + " GPU-h";
  }

  // The dot of a row under the pointer, also from the table; -1 takes the mark away.
  function mark(place) {
    var ring = document.querySelector("#metrics-scatter [data-ring]"), dot = state && state.dots[place];
    if (!ring) return;
    ring.setAttribute("r", dot ? radius(dot.tensor) + 3 : 0);
    if (dot) { ring.setAttribute("cx", x(dot.util)); ring.setAttribute("cy", y(dot.sm)); }
  }
  function markKey(key) {
    mark(state ? state.dots.findIndex(function (dot) { return dot.row.key === key; }) : -1);
  }
  function say(text) { var element = document.getElementById("metrics-said"); if (element) element.textContent = text; }

  document.addEventListener("keydown", function (event) {
    if (!state || !event.target.closest || !event.target.closest("#metrics-scatter svg")) return;
    var step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (step) {
      var order = state.dots.map(function (dot, place) { return place; }).sort(function (a, b) { return state.dots[a].util - state.dots[b].util; });
      var now = order.indexOf(state.at);
      state.at = order[now < 0 ? (step > 0 ? 0 : order.length - 1) : Math.max(0, Math.min(order.length - 1, now + step))];
      mark(state.at);
      if (state.dots[state.at]) say(sentence(state.dots[state.at]));
      event.preventDefault();
    } else if (event.key === "Enter" && state.dots[state.at]) window.fwMetrics.open(state.dots[state.at].row.key, true);
  });

  // Dragging: a frame in ink; what lies within is selected.
  var drag = null;
  function point(event) {
    var box = document.querySelector("#metrics-scatter svg").getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }
  document.addEventListener("pointerdown", function (event) {
    if (event.button !== 0 || event.pointerType === "touch" || !state || !event.target.closest || !event.target.closest("#metrics-scatter svg")) return;
    drag = { from: point(event), moved: false };
  });
  document.addEventListener("pointermove", function (event) {
    if (!state) return;
    if (drag) {
      var to = point(event);
      drag.moved = drag.moved || Math.hypot(to[0] - drag.from[0], to[1] - drag.from[1]) > 6;
      drag.box = [Math.min(drag.from[0], to[0]), Math.min(drag.from[1], to[1]), Math.abs(drag.from[0] - to[0]), Math.abs(drag.from[1] - to[1])];
      var brush = document.querySelector("#metrics-scatter [data-brush]");
      if (brush && drag.moved) ["x", "y", "width", "height"].forEach(function (name, place) { brush.setAttribute(name, drag.box[place]); });
      if (drag.moved) event.preventDefault();
      return;
    }
    var dot = event.target.getAttribute && event.target.getAttribute("data-dot");
    if (dot !== null && dot !== undefined) { mark(Number(dot)); window.fwMetrics.hover(state.dots[Number(dot)].row.key); }
    else if (event.target.closest && event.target.closest("#metrics-scatter")) { mark(-1); window.fwMetrics.hover(null); }
  });
  document.addEventListener("pointerup", function (event) {
    if (!drag) return;
    var done = drag;
    drag = null;
    if (done.moved) {
      var b = done.box, inside = state.dots.filter(function (dot) { return x(dot.util) >= b[0] && x(dot.util) <= b[0] + b[2] && y(dot.sm) >= b[1] && y(dot.sm) <= b[1] + b[3]; });
      window.fwMetrics.select(inside.map(function (dot) { return dot.row.key; }));
    } else {
      var dot = event.target.getAttribute && event.target.getAttribute("data-dot");
      if (dot !== null && dot !== undefined && state.dots[Number(dot)]) window.fwMetrics.open(state.dots[Number(dot)].row.key, true);
    }
  });

  var wait = null;
  window.addEventListener("resize", function () {
    clearTimeout(wait);
    wait = setTimeout(function () { if (state && document.getElementById("metrics-scatter")) draw(state.data, state.rows, state.open); }, 150);
  });
  window.fwMetricsScatter = { draw: draw, markKey: markKey, dots: dots };
})();
