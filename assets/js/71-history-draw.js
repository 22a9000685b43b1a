// Figures of history as SVG, in the size that they have on the screen. Colors come from the style sheet, so that the
// theme changes them. Each mark has the row of the table twin: the card, the keyboard and the twin say the same.
(function () {
  "use strict";
  var KINDS = ["used", "wasted", "idle", "none"];
  var svg = window.fwMake.svg, html = window.fwMake.html, shown = {}, tip = null, watcher = null;

  function rem() { return parseFloat(getComputedStyle(document.documentElement).fontSize) / 16; }
  function words(value) { return window.fwMake.thousands(Math.round(value).toString()); }
  function place(name) { return document.getElementById("plot-" + name); }

  // Three to five ticks at 1, 2 or 5 times a power of ten.
  function ticks(most) {
    if (!(most > 0)) return [0, 1];
    var rough = most / 4, power = Math.pow(10, Math.floor(Math.log10(rough))), step = power * 10;
    [5, 2, 1].forEach(function (times) { if (times * power >= rough) step = times * power; });
    var found = [];
    for (var at = 0; at < Math.ceil(most / step - 1e-9) + 0.5; at++) found.push(at * step);
    return found;
  }
  function tickWords(value, step) { return step < 1 ? value.toFixed(1) : words(value); }

  function frame(target, margins) {
    var scale = rem(), width = Math.max(120, target.clientWidth), height = Math.max(60, target.clientHeight);
    var picture = svg("svg", { width: width, height: height, viewBox: "0 0 " + width + " " + height, "aria-hidden": "true" });
    target.replaceChildren(picture);
    var m = margins.map(function (one) { return one * scale; });
    return { picture: picture, scale: scale, x: m[3], y: m[0], w: width - m[1] - m[3], h: height - m[0] - m[2], width: width, height: height, marks: [] };
  }
  function label(box, x, y, text, anchor) { return svg("text", { x: x, y: y, "text-anchor": anchor || "middle", class: "fw-tick-text" }, box.picture, text); }

  function amounts(box, most, unit) {
    var steps = ticks(most), top = steps[steps.length - 1];
    steps.forEach(function (value) {
      var y = Math.round(box.y + box.h - value / top * box.h) + 0.5;
      svg("path", { d: "M" + box.x + " " + y + "h" + box.w, class: "fw-grid-line" }, box.picture);
      label(box, box.x - 6 * box.scale, y + 3.5 * box.scale, tickWords(value, steps[1]), "end");
    });
    label(box, 0, 11 * box.scale, unit, "start");
    return top;
  }
  // As many names below the axis as have room, the first one always.
  function names(box, texts, step, every) {
    var room = Math.max(1, Math.ceil(every * box.scale / step));
    texts.forEach(function (text, at) {
      if (at % room === 0 && box.x + step * at + every * box.scale * 0.6 <= box.width) label(box, box.x + step * (at + 0.5), box.height - 6 * box.scale, text);
    });
  }

  function drawStack(target, figure) {
    var box = frame(target, [22, 8, 24, 48]);
    var totals = figure.marks.map(function (mark) { return mark.v.reduce(function (a, b) { return a + b; }, 0); });
    var top = amounts(box, Math.max.apply(null, totals.concat(0)), "GPU-h"), step = box.w / Math.max(1, figure.marks.length), gap = Math.min(step * 0.25, 4 * box.scale);
    figure.marks.forEach(function (mark, at) {
      var x = box.x + step * at, y = box.y + box.h, group = svg("g", { class: "fw-mark" }, box.picture);
      mark.v.forEach(function (value, part) {
        var high = value / top * box.h;
        if (high < 0.05) return;
        y -= high;
        svg("rect", { x: x + gap / 2, y: y, width: Math.max(1, step - gap), height: Math.max(0.5, high - (high > 3 ? 1 : 0)), class: "fw-fill-" + KINDS[part] }, group);
      });
      box.marks.push({ x: x, y: box.y, w: step, h: box.h, top: y, element: group, href: mark.href });
    });
    names(box, figure.marks.map(function (mark) { return mark.x; }), step, 52);
    return box;
  }

  function drawBins(target, figure) {
    var box = frame(target, [22, 8, 38, 48]);
    var top = amounts(box, Math.max.apply(null, figure.marks.map(function (mark) { return mark.v; }).concat(0)), "GPU-h");
    var step = box.w / (figure.marks.length + 0.5), gap = Math.min(step * 0.2, 4 * box.scale);
    figure.marks.forEach(function (mark, at) {
      var x = box.x + step * (at + (mark.none ? 0.5 : 0)), high = mark.v / top * box.h, y = box.y + box.h - high;
      var bar = svg("rect", { x: x + gap / 2, y: y, width: step - gap, height: Math.max(mark.v ? 1 : 0, high), class: "fw-mark " + (mark.none ? "fw-fill-none" : "fw-fill-used") }, box.picture);
      if (mark.none) label(box, x + step / 2, box.height - 21 * box.scale, "?");
      else if (at % 2 === 0 || step > 34 * box.scale) label(box, x, box.height - 21 * box.scale, mark.x);
      box.marks.push({ x: x, y: box.y, w: step, h: box.h, top: y, element: bar, href: mark.href });
    });
    var bars = figure.marks.filter(function (mark) { return !mark.none; }).length;
    label(box, box.x + step * bars, box.height - 21 * box.scale, "100");
    label(box, box.x + step * bars + 4 * box.scale, box.height - 5 * box.scale, "UTIL, %", "end");
    return box;
  }

  // A cell for each column and row, columns first; the lowest row is at the bottom or, for the week, at the top.
  function cells(box, across, up, steps, fromTop) {
    var w = box.w / across, h = box.h / up;
    for (var at = 0; at < across * up; at++) {
      var column = Math.floor(at / up), row = at % up, x = box.x + column * w, y = fromTop ? box.y + row * h : box.y + box.h - (row + 1) * h;
      var step = steps[at], name = step === null ? "fw-fill-unknown" : step === 0 ? "fw-fill-nothing" : "fw-fill-step fw-s" + step;
      var cell = svg("rect", { x: x + 0.5, y: y + 0.5, width: Math.max(1, w - 1), height: Math.max(1, h - 1), class: "fw-mark " + name }, box.picture);
      box.marks.push({ x: x, y: y, w: w, h: h, top: y, element: cell });
    }
    box.across = across; box.up = up; box.fromTop = fromTop;
    box.at = function (column, row) { return column * up + row; };
  }

  function drawHeat(target, figure) {
    var box = frame(target, [24, 12, 38, 40]), across = figure.xs.length, up = figure.ys.length;
    target.setAttribute("data-ramp", "mag");
    cells(box, across, up, figure.steps, false);
    label(box, 0, 11 * box.scale, "GPU MEM, GiB", "start");
    var tall = Math.ceil(16 * box.scale / (box.h / up)), wide = Math.ceil(26 * box.scale / (box.w / across));
    figure.ys.forEach(function (text, at) { if (at % tall === 0) label(box, box.x - 6 * box.scale, box.y + box.h - box.h / up * at + 3 * box.scale, text, "end"); });
    figure.xs.forEach(function (text, at) { if (at % wide === 0) label(box, box.x + box.w / across * at, box.height - 21 * box.scale, text); });
    label(box, box.x + box.w, box.height - 21 * box.scale, "100");
    label(box, box.x + box.w + 4 * box.scale, box.height - 5 * box.scale, "UTIL, %", "end");
    box.halo = svg("rect", { class: "fw-hist-brush-halo", visibility: "hidden" }, box.picture);
    box.brush = svg("rect", { class: "fw-hist-brush", visibility: "hidden" }, box.picture);
    return box;
  }

  var week = "allocated";
  function drawWeek(target, figure) {
    var box = frame(target, [8, 8, 24, 40]), view = figure.views[week], turned = [];
    target.setAttribute("data-ramp", view.ramp);
    for (var hour = 0; hour < 24; hour++) for (var day = 0; day < 7; day++) turned.push(view.steps[day * 24 + hour]);
    cells(box, 24, 7, turned, true);
    box.row = function (mark) { return (mark % 7) * 24 + Math.floor(mark / 7); };
    figure.days.forEach(function (text, at) { label(box, box.x - 6 * box.scale, box.y + box.h / 7 * (at + 0.5) + 4 * box.scale, text, "end"); });
    for (var at = 0; at < 24; at += 3) label(box, box.x + box.w / 24 * (at + 0.5), box.height - 6 * box.scale, (at < 10 ? "0" : "") + at);
    return box;
  }
  document.addEventListener("click", function (event) {
    var button = event.target.closest && event.target.closest("[data-week]");
    if (!button) return;
    week = button.getAttribute("data-week");
    markWeek();
    draw("week");
  });
  function markWeek() {
    document.querySelectorAll("[data-week]").forEach(function (one) { one.setAttribute("aria-pressed", one.getAttribute("data-week") === week ? "true" : "false"); });
  }

  var DRAW = { stack: drawStack, bins: drawBins, heat: drawHeat, week: drawWeek };
  function draw(name) {
    var target = place(name), figure = shown[name];
    if (!target || !figure || !target.clientWidth) return;
    hide();
    var box = DRAW[figure.kind](target, figure);
    target.fwBox = box;
    target.fwFigure = figure;
    target.fwAt = null;
    target.tabIndex = 0;
    if (!target.querySelector(".fw-sr")) html("span", "fw-sr", undefined, target).setAttribute("aria-live", "polite");
    if (figure.kind === "heat" && window.fwBrush) window.fwBrush.show(target);
  }

  function drawHistory(figures) {
    shown = figures || {};
    if (watcher) watcher.disconnect();
    watcher = new ResizeObserver(function (entries) { entries.forEach(function (entry) { redraw(entry.target); }); });
    Object.keys(shown).forEach(function (name) {
      if (!place(name)) return;
      twin(name, false);
      draw(name);
      watcher.observe(place(name));
    });
    markWeek();
    if (window.fwHistory) window.fwHistory.arrived();
    return Date.now();
  }
  function redraw(target) {
    var box = target.fwBox;
    if (box && target.clientWidth && (Math.abs(box.width - target.clientWidth) > 1 || Math.abs(box.height - target.clientHeight) > 1)) draw(target.getAttribute("data-figure"));
  }

  // Card under the pointer or at the mark that the keys are on.
  function card() {
    if (!tip || !tip.isConnected) { tip = html("div", "fw-hist-tip", undefined, document.body); tip.setAttribute("aria-hidden", "true"); }
    return tip;
  }
  function hide() { if (tip) tip.hidden = true; document.querySelectorAll(".fw-mark.fw-is-at").forEach(function (one) { one.classList.remove("fw-is-at"); }); }
  function row(target, at) {
    var box = target.fwBox;
    return target.fwFigure.table.rows[box.row ? box.row(at) : at];
  }
  function lead(figure) { return figure.kind === "heat" ? 2 : 1; }
  function show(target, at) {
    var figure = target.fwFigure, mark = target.fwBox.marks[at], texts = row(target, at), first = lead(figure), box = card();
    hide();
    box.replaceChildren();
    html("b", "", texts.slice(0, first).map(function (text, place) { return first > 1 ? figure.table.head[place][0] + " " + text : text; }).join(", "), box);
    var list = html("dl", "", undefined, box);
    texts.slice(first).forEach(function (text, place) {
      var head = figure.table.head[place + first];
      html("dt", "", head[0], list);
      html("dd", "", text + (head[1] && text !== "–" ? "\u00a0" + head[1] : ""), list);
    });
    if (mark.href) html("span", "fw-unit", figure.kind === "stack" ? "Click to see only this time" : "Click for the jobs behind it", box);
    box.hidden = false;
    mark.element.classList.add("fw-is-at");
    var frame = target.getBoundingClientRect(), wide = box.offsetWidth, left = frame.left + mark.x + mark.w + 8;
    if (left + wide > innerWidth - 8) left = frame.left + mark.x - wide - 8;
    box.style.left = Math.max(8, left) + "px";
    box.style.top = Math.max(8, Math.min(innerHeight - box.offsetHeight - 8, frame.top + Math.min(mark.top, mark.y + mark.h / 2))) + "px";
  }
  function sentence(target, at) {
    var figure = target.fwFigure;
    return row(target, at).map(function (text, place) { var head = figure.table.head[place]; return (place ? head[0] + " " : "") + text + (head[1] ? " " + head[1] : ""); }).join(", ");
  }
  function under(target, event) {
    var frame = target.getBoundingClientRect(), x = event.clientX - frame.left, y = event.clientY - frame.top, box = target.fwBox;
    for (var at = 0; box && at < box.marks.length; at++) {
      var mark = box.marks[at];
      if (x >= mark.x && x < mark.x + mark.w && y >= mark.y && y < mark.y + mark.h) return at;
    }
    return -1;
  }
  function plotOf(event) { return event.target.closest && event.target.closest(".fw-hist-plot[data-figure]"); }

  document.addEventListener("pointermove", function (event) {
    var target = plotOf(event);
    if (!target || !target.fwBox || event.buttons) { if (!target) hide(); return; }
    var at = under(target, event);
    if (at < 0) hide(); else show(target, at);
  });
  document.addEventListener("scroll", hide, true);
  document.addEventListener("click", function (event) {
    var target = plotOf(event), at = target && target.fwBox ? under(target, event) : -1;
    if (at >= 0 && target.fwBox.marks[at].href) window.fwHistory.go(target.fwBox.marks[at].href);
  });
  document.addEventListener("focusout", function (event) { if (plotOf(event)) hide(); });
  document.addEventListener("keydown", function (event) {
    var target = event.target.matches && event.target.matches(".fw-hist-plot[data-figure]") ? event.target : null;
    if (!target || !target.fwBox || event.ctrlKey || event.metaKey || event.altKey) return;
    var box = target.fwBox, last = box.marks.length - 1, at = target.fwAt, up = box.up || 1, vertical = box.fromTop ? 1 : -1;
    var moves = { ArrowRight: up, ArrowLeft: -up, Home: -last - 1, End: last + 1 };
    if (box.up) { moves.ArrowDown = vertical; moves.ArrowUp = -vertical; }
    if (event.key === "Enter" && at !== null && box.marks[at].href) { window.fwHistory.go(box.marks[at].href); return; }
    if (event.key === "Escape") { hide(); return; }
    if (!(event.key in moves) || event.shiftKey) return;
    event.preventDefault();
    var next = at === null ? (moves[event.key] < 0 ? last : 0) : Math.min(last, Math.max(0, at + moves[event.key]));
    target.fwAt = next;
    show(target, next);
    target.querySelector(".fw-sr").textContent = sentence(target, next);
  });

  // The same numbers as a table, in the place of the figure.
  function twin(name, wanted) {
    var box = document.getElementById("twin-" + name), button = document.querySelector('[data-twin="' + name + '"]'), figure = shown[name];
    if (!box || !figure) return;
    box.hidden = !wanted;
    place(name).hidden = wanted;
    if (button) { button.setAttribute("aria-pressed", wanted ? "true" : "false"); button.title = wanted ? "Show as figure" : "Show as table"; }
    if (wanted) fill(box, figure);
    else { box.replaceChildren(); draw(name); }
  }
  function fill(box, figure) {
    var table = html("table", "fw-table"), head = html("tr", "", undefined, html("thead", "", undefined, table)), body = html("tbody", "", undefined, table), first = lead(figure);
    html("caption", "fw-sr", figure.name, table);
    figure.table.head.forEach(function (one, at) {
      var cell = html("th", at < first ? "" : "fw-number", one[0], head);
      cell.scope = "col";
      if (one[1]) html("span", "fw-unit", one[1], cell);
    });
    figure.table.rows.forEach(function (texts, at) {
      if (figure.table.skip && figure.table.skip.indexOf(at) >= 0) return;
      var line = html("tr", "", undefined, body);
      texts.forEach(function (text, column) {
        var cell = html("td", column < first ? "fw-at-main" : column === first ? "fw-number fw-at-value" : "fw-number fw-at-minor", text, line);
        cell.setAttribute("data-label", figure.table.head[column][0]);
      });
    });
    box.replaceChildren(table);
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", figure.name);
  }
  document.addEventListener("click", function (event) {
    var button = event.target.closest && event.target.closest("[data-twin]");
    if (button) twin(button.getAttribute("data-twin"), button.getAttribute("aria-pressed") !== "true");
  });

  window.fwFigures = { under: under, hide: hide, words: words };
  window.dash_clientside = Object.assign({}, window.dash_clientside);
  window.dash_clientside.fw = Object.assign({}, window.dash_clientside.fw, { drawHistory: drawHistory });
})();
