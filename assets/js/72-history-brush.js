// A selection on the heat map: drag, or Shift and arrows, and Enter. Its sum is said while it grows; then it is an address.
(function () {
  "use strict";
  var drag = null;

  function cell(box, mark) { return [Math.floor(mark / box.up), mark % box.up]; }
  function sides(from, to) {
    return [Math.min(from[0], to[0]), Math.min(from[1], to[1]), Math.max(from[0], to[0]), Math.max(from[1], to[1])];
  }
  function put(target, range) {
    var box = target.fwBox, place = range && { x: box.marks[box.at(range[0], range[3])].x, y: box.marks[box.at(range[0], range[3])].y };
    [box.halo, box.brush].forEach(function (one) {
      one.setAttribute("visibility", range ? "visible" : "hidden");
      if (!range) return;
      one.setAttribute("x", place.x); one.setAttribute("y", place.y);
      one.setAttribute("width", box.w / box.across * (range[2] - range[0] + 1));
      one.setAttribute("height", box.h / box.up * (range[3] - range[1] + 1));
    });
  }
  // The map may be drawn anew while somebody drags, when another panel's answer comes: the drag goes on over it.
  function show(target) {
    var range = drag ? sides(drag.from, drag.to) : null;
    put(target, range || target.fwFigure.chosen);
    say(target, range);
  }
  function map() { var target = document.getElementById("plot-heat"); return target && target.fwBox ? target : null; }

  function span(starts, from, to, open) { return starts[from] + "-" + (to + 1 < starts.length ? starts[to + 1] : open); }
  function say(target, range) {
    var live = document.getElementById("heat-live"), figure = target.fwFigure, hours = 0, jobs = 0;
    if (!live) return;
    live.closest(".fw-selected").classList.toggle("fw-is-dragging", Boolean(range));
    if (!range) { live.textContent = ""; return; }
    for (var x = range[0]; x <= range[2]; x++) for (var y = range[1]; y <= range[3]; y++) {
      var at = target.fwBox.at(x, y);
      hours += figure.hours[at]; jobs += figure.jobs[at];
    }
    var share = figure.total ? (100 * hours / figure.total).toFixed(hours / figure.total < 0.1 ? 1 : 0) : "0";
    live.textContent = share + " % of all: " + window.fwFigures.words(hours) + " GPU-h in " + window.fwFigures.words(jobs) + " jobs, UTIL " + span(figure.xs, range[0], range[2], "100") + " %, GPU MEM " + span(figure.ys, range[1], range[3], "") + " GiB";
  }
  function choose(target, range) {
    var figure = target.fwFigure, address = new URL(figure.href, location.href);
    address.searchParams.set("util", span(figure.xs, range[0], range[2], ""));
    address.searchParams.set("memory", span(figure.ys, range[1], range[3], ""));
    window.fwHistory.go(address.pathname + address.search);
  }
  function clear() {
    var link = document.getElementById("heat-clear");
    if (link) link.click();
  }

  function heatOf(event) { var target = event.target.closest && event.target.closest("#plot-heat"); return target && target.fwBox ? target : null; }
  document.addEventListener("pointerdown", function (event) {
    var target = heatOf(event), at = target ? window.fwFigures.under(target, event) : -1;
    if (at < 0 || event.button !== 0 || event.pointerType === "touch") return;
    event.preventDefault();
    target.focus({ preventScroll: true });
    window.fwFigures.hide();
    drag = { from: cell(target.fwBox, at), to: cell(target.fwBox, at) };
    show(target);
  });
  document.addEventListener("pointermove", function (event) {
    var target = drag && map();
    if (!target) return;
    var box = target.fwBox, frame = target.getBoundingClientRect();
    var x = Math.floor((event.clientX - frame.left - box.x) / box.w * box.across), y = Math.floor((box.y + box.h - (event.clientY - frame.top)) / box.h * box.up);
    drag.to = [Math.min(box.across - 1, Math.max(0, x)), Math.min(box.up - 1, Math.max(0, y))];
    show(target);
  });
  document.addEventListener("pointerup", function () {
    var done = drag, target = drag && map();
    drag = null;
    if (target) choose(target, sides(done.from, done.to));
  });
  document.addEventListener("pointercancel", function () { drag = null; if (map()) show(map()); });

  // A tap has no drag: it chooses the one cell.
  document.addEventListener("click", function (event) {
    var target = heatOf(event), at = target && event.pointerType === "touch" ? window.fwFigures.under(target, event) : -1;
    if (at >= 0) choose(target, sides(cell(target.fwBox, at), cell(target.fwBox, at)));
  });

  document.addEventListener("keydown", function (event) {
    var target = event.target.id === "plot-heat" && event.target.fwBox ? event.target : null;
    if (!target) return;
    var moves = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }, box = target.fwBox;
    if (event.key === "Escape") {
      if (drag || target.fwRange) { drag = target.fwRange = null; show(target); } else clear();
      return;
    }
    if (event.key === "Enter" && target.fwAt !== null) {
      choose(target, target.fwRange || sides(cell(box, target.fwAt), cell(box, target.fwAt)));
      target.fwRange = null;
      return;
    }
    if (!moves[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!event.shiftKey) { target.fwRange = target.fwFrom = null; return; }
    event.preventDefault();
    if (target.fwAt === null) target.fwAt = 0;
    var to = cell(box, target.fwAt);
    target.fwFrom = target.fwFrom || to;
    to = [Math.min(box.across - 1, Math.max(0, to[0] + moves[event.key][0])), Math.min(box.up - 1, Math.max(0, to[1] + moves[event.key][1]))];
    target.fwAt = box.at(to[0], to[1]);
    target.fwRange = sides(target.fwFrom, to);
    window.fwFigures.hide();
    put(target, target.fwRange);
    say(target, target.fwRange);
  });

  window.fwBrush = { show: show };
})();
