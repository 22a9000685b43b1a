// The hover card and the keyboard path of the GPU map: one tab stop, arrows, Home and End, Enter keeps, Esc closes.
(function () {
  "use strict";
  var ICONS = { busy: "", idle: "waste", unmeasured: "none", unknown: "none", free: "", drained: "drained", down: "bad" };
  var NAMES = { power_watts: "Power", temperature_celsius: "Temperature" };
  var TEXT = { idle: "waste", down: "bad", drained: "none", unmeasured: "none", unknown: "none" };
  var part = window.fwMake.html, timer = null, pinned = false;

  function card() { return document.getElementById("map-card"); }

  function fact(list, label, text) { list.append(part("dt", "", label), part("dd", "", text)); }

  function link(text, path) {
    var made = part("a", "", text);
    made.href = window.fwHref(path);
    made.addEventListener("click", function (event) {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      open(path);
    });
    return made;
  }

  function open(path) { hide(); window.fwGo(window.fwHref(path)); }
  function nodePath(data, n) { return "nodes/" + encodeURIComponent(data.nodes.name[n]); }

  // The jobs of a device that the viewer may see, each with its page.
  function jobPaths(data, i) {
    return data.gpus.job[i].split(", ").filter(Boolean).map(function (id) { return [id, "jobs/" + encodeURIComponent(id)]; });
  }

  function jobFact(list, data, i) {
    var jobs = jobPaths(data, i), shown = part("dd", "", "");
    if (!jobs.length) return;
    jobs.forEach(function (pair, at) { shown.append(at ? ", " : "", link(pair[0], pair[1])); });
    if (data.gpus.user[i]) shown.append(", " + data.gpus.user[i]);
    list.append(part("dt", "", jobs.length > 1 ? "Jobs" : "Job"), shown);
  }

  function head(data, i) {
    var state = data.states[data.gpus.state[i]], box = part("div", "fw-card-head", "");
    var name = part("b", "", "");
    name.append(link(window.fwMap.name(data, i), nodePath(data, data.gpus.node[i])));
    box.append(name);
    box.append(part("span", "fw-note", data.gpus.slice[i] || data.models[data.gpus.model[i]]));
    var label = part("span", "fw-card-state" + (TEXT[state] ? " fw-text-" + TEXT[state] : ""), "");
    if (ICONS[state]) { var icon = part("span", "fw-icon fw-icon-" + ICONS[state], ""); icon.setAttribute("aria-hidden", "true"); label.append(icon); }
    label.append(window.fwMap.WORDS[state]);
    box.append(label);
    return box;
  }

  function fill(data, i) {
    var list = part("dl", "", ""), slice = Boolean(data.gpus.slots[i]);
    fact(list, slice ? "GR" : "UTIL", window.fwMap.shown(data, i, "gpu_utilization"));
    ["sm_activity", "utilization_gap", "gpu_memory_used_bytes", "power_watts", "temperature_celsius"].forEach(function (key) {
      fact(list, NAMES[key] || data.metrics[key].label, window.fwMap.shown(data, i, key));
    });
    jobFact(list, data, i);
    if (data.gpus.verdict[i] >= 0) fact(list, "Verdict", window.fwMap.VERDICTS[window.fwMap.verdict(data, i)]);
    var notes = data.gpus.note[i] >= 0 ? [part("p", "", data.notes[data.gpus.note[i]])] : [];
    var node = data.nodes.reason[data.gpus.node[i]];
    if (node) notes.push(part("p", "", node));
    var line = part("div", "fw-card-line", "");
    line.append(part("span", "fw-note", "Last 60 min …"));
    card().replaceChildren.apply(card(), [head(data, i), list].concat(notes, [line]));
    window.fwMapLine(line, data, i);
  }

  // A cell that stands for a whole node says what is on it, and which GPU does least.
  function fillNode(data, gpus) {
    var list = part("dl", "", ""), head = part("div", "fw-card-head", ""), n = data.gpus.node[gpus[0]];
    var name = part("b", "", "");
    name.append(link(data.nodes.name[n], nodePath(data, n)));
    head.append(name, part("span", "fw-note", data.nodes.model[n]));
    window.fwMap.nodeCounts(data, gpus).forEach(function (pair) { fact(list, pair[0], String(pair[1])); });
    var least = window.fwMap.lowest(data, gpus);
    if (least !== undefined) fact(list, "Lowest UTIL", window.fwMap.shown(data, least, "gpu_utilization") + ", GPU " + data.gpus.label[least]);
    var reason = data.nodes.reason[n] ? [part("p", "", data.nodes.reason[n])] : [];
    card().replaceChildren.apply(card(), [head, list].concat(reason));
  }

  function show(cell) {
    var data = window.fwMapDrawn.data, box = card();
    if (!box || !data || !cell.isConnected) return;
    if (cell.fwGpus) fillNode(data, cell.fwGpus); else fill(data, cell.fwIndex);
    box.hidden = false;
    var at = cell.getBoundingClientRect(), size = box.getBoundingClientRect();
    var left = Math.min(Math.max(8, at.left), innerWidth - size.width - 8);
    var below = at.bottom + 8 + size.height <= innerHeight;
    box.style.left = left + "px";
    box.style.top = Math.max(8, below ? at.bottom + 8 : at.top - size.height - 8) + "px";
  }

  function hide() { clearTimeout(timer); pinned = false; if (card()) card().hidden = true; }

  function choose(cell, focus) {
    window.fwMapDrawn.cells.forEach(function (other) {
      if (other.tabIndex === 0 && other !== cell) { other.removeAttribute("tabindex"); other.removeAttribute("role"); other.removeAttribute("aria-label"); }
    });
    cell.tabIndex = 0;
    cell.setAttribute("role", "button");
    cell.setAttribute("aria-label", window.fwMap.cellSentence(window.fwMapDrawn.data, cell));
    if (focus) cell.focus();
  }

  // The nearest cell in the next row of cells above or below.
  function vertical(cell, down) {
    var from = cell.getBoundingClientRect(), best = null, score = Infinity;
    window.fwMapDrawn.cells.forEach(function (other) {
      var to = other.getBoundingClientRect();
      var dy = down ? to.top - from.bottom : from.top - to.bottom;
      if (dy < -1) return;
      var distance = dy * 1000 + Math.abs(to.left - from.left);
      if (distance < score) { score = distance; best = other; }
    });
    return best;
  }

  function target(cell, key) {
    var cells = window.fwMapDrawn.cells, at = cells.indexOf(cell);
    var node = Array.from(cell.closest(".fw-node").querySelectorAll(".fw-cell"));
    if (key === "ArrowRight") return cells[at + 1];
    if (key === "ArrowLeft") return cells[at - 1];
    if (key === "Home") return node[0];
    if (key === "End") return node[node.length - 1];
    if (key === "ArrowDown" || key === "ArrowUp") return vertical(cell, key === "ArrowDown");
    return undefined;
  }

  function keys(event) {
    var cell = event.target.closest(".fw-cell");
    if (!cell) return;
    var data = window.fwMapDrawn.data, i = cell.fwGpus ? cell.fwGpus[0] : cell.fwIndex;
    if (event.key === "Enter") { event.preventDefault(); open(nodePath(data, data.gpus.node[i])); return; }
    if (event.key === " ") { event.preventDefault(); pinned = true; show(cell); return; }
    if (/^j$/i.test(event.key) && !cell.fwGpus && jobPaths(data, i).length) { event.preventDefault(); open(jobPaths(data, i)[0][1]); return; }
    if (!/^(Arrow(Left|Right|Up|Down)|Home|End)$/.test(event.key)) return;
    event.preventDefault();
    var next = target(cell, event.key);
    if (next) choose(next, true);
  }

  function attach(map) {
    if (map.fwAttached) return;
    map.fwAttached = true;
    map.addEventListener("keydown", keys);
    map.addEventListener("focusin", function (event) { if (event.target.fwIndex !== undefined) show(event.target); });
    map.addEventListener("focusout", function (event) { if (!pinned && !card().contains(event.relatedTarget)) hide(); });
    card().addEventListener("focusout", function (event) { if (!pinned && !card().contains(event.relatedTarget) && !map.contains(event.relatedTarget)) hide(); });
    map.addEventListener("mouseover", function (event) {
      var cell = event.target.closest(".fw-cell");
      if (!cell || pinned) return;
      clearTimeout(timer);
      timer = setTimeout(show, 120, cell);
    });
    map.addEventListener("mouseleave", function () { clearTimeout(timer); if (!pinned) timer = setTimeout(function () { if (!card().matches(":hover")) hide(); }, 150); });
    card().addEventListener("mouseleave", function () { if (!pinned && (document.activeElement || {}).fwIndex === undefined) hide(); });
    map.addEventListener("click", function (event) {
      var cell = event.target.closest(".fw-cell");
      if (!cell) return;
      // A finger cannot hover: the first tap shows the card with its links, a second one on the same cell opens the node.
      var again = pinned === cell || event.pointerType !== "touch";
      choose(cell, true);
      if (again) { var data = window.fwMapDrawn.data; open(nodePath(data, data.gpus.node[cell.fwGpus ? cell.fwGpus[0] : cell.fwIndex])); return; }
      pinned = cell;
      show(cell);
    });
  }

  document.addEventListener("keydown", function (event) { if (event.key === "Escape") hide(); });
  document.addEventListener("click", function (event) { if (pinned && !event.target.closest(".fw-cell, .fw-card")) hide(); });
  // A card that a focused or kept cell opened goes with its cell; one that only the pointer opened closes.
  window.addEventListener("scroll", function () {
    var cell = document.activeElement;
    if (!card() || card().hidden) return;
    if (cell && cell.fwIndex !== undefined) show(cell); else hide();
  }, { passive: true });
  window.fwMapCard = { attach: attach };
})();
