// Draws the GPU map and, on a refresh, touches only the cells that changed. All text goes in as text, never as HTML.
(function () {
  "use strict";
  var COMPACT = 120, DENSE = 600;
  var MARKS = { down: "bad", drained: "drained", silent: "none" };
  var MARK_WORDS = { down: "down", drained: "drained", silent: "not measured" };
  var element = window.fwMake.html, drawn = { shape: null, cells: [], data: null, metric: null };

  function shapeOf(data, by, mode) { return [by, mode, window.fwMap.shape(data, by)].join("|"); }

  function cell(index, span) {
    var made = element("div", "fw-cell");
    made.fwIndex = index;
    if (span > 1) made.style.setProperty("--span", span);
    drawn.cells.push(made);
    return made;
  }

  // A cut GPU is two rows of 4 + 3 slots; the largest slices take their places first, each as wide as its slots.
  function slices(data, members, span) {
    var box = element("div", "fw-mig-gpu");
    if (span > 1) box.style.setProperty("--span", span);
    var free = [4, 3], start = [1, 1];
    members.slice().sort(function (a, b) { return data.gpus.slots[b] - data.gpus.slots[a]; }).forEach(function (i) {
      var slots = Math.min(data.gpus.slots[i], 7), made = cell(i, 1);
      var row = slots > 4 ? 0 : free.findIndex(function (left) { return left >= slots; });
      if (slots > 4) { made.style.gridArea = "1 / 1 / 3 / 5"; free = [0, 0]; }
      else if (row >= 0) {
        made.style.gridArea = (row + 1) + " / " + start[row] + " / auto / span " + slots;
        free[row] -= slots; start[row] += slots;
      }
      box.append(made);
    });
    return box;
  }

  function strip(data, node) {
    var box = element("div", "fw-strip"), parents = new Map();
    node.gpus.forEach(function (i) {
      var parent = data.gpus.parent[i];
      if (!parents.has(parent)) parents.set(parent, []);
      parents.get(parent).push(i);
    });
    var cards = data.nodes.cards[node.n], columns = Math.max(8, cards), span = Math.floor(columns / cards);
    box.style.setProperty("--cols", columns);
    parents.forEach(function (members) {
      if (data.gpus.slots[members[0]]) box.append(slices(data, members, span));
      else members.forEach(function (i) { box.append(cell(i, span)); });
    });
    return box;
  }

  function nodeBox(data, node, mode) {
    var box = element("div", "fw-node"), name = data.nodes.name[node.n], mark = data.nodes.mark[node.n];
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", name + ", " + node.gpus.length + " GPUs or slices" + (mark ? ", " + MARK_WORDS[mark] : ""));
    if (mode !== "dense") {
      var title = element("div", "fw-node-name");
      title.append(element("span", "", name));
      if (mark) { var icon = element("span", "fw-icon fw-icon-" + MARKS[mark] + " fw-" + (mark === "down" ? "bad" : "none")); icon.setAttribute("aria-hidden", "true"); title.append(icon); }
      if (data.gpus.slots[node.gpus[0]]) title.append(element("span", "fw-mig", "MIG"));
      title.title = name;
      box.append(title, strip(data, node));
      return box;
    }
    var whole = element("div", "fw-strip"), made = cell(node.gpus[0], 1);
    made.fwGpus = node.gpus;
    whole.append(made);
    box.append(whole);
    return box;
  }

  function build(map, data, by, mode) {
    var focused = document.activeElement && map.contains(document.activeElement) ? document.activeElement.fwIndex : undefined;
    drawn.cells = [];
    map.className = "fw-map" + (mode === "full" ? "" : " fw-" + mode);
    map.setAttribute("data-group", by);
    var boxes = window.fwMap.groups(data, by).map(function (group) {
      var box = element("div", "fw-group");
      if (by !== "node") box.append(element("div", "fw-group-name", group.name));
      var nodes = element("div", "fw-nodes");
      group.nodes.forEach(function (node) { nodes.append(nodeBox(data, node, mode)); });
      box.append(nodes);
      return box;
    });
    map.replaceChildren.apply(map, boxes);
    var chosen = drawn.cells.find(function (made) { return made.fwIndex === focused; }) || drawn.cells[0];
    if (chosen) chosen.tabIndex = 0;
    if (chosen && focused !== undefined) chosen.focus();
  }

  function paint(data, metric) {
    drawn.cells.forEach(function (made) {
      var wanted = made.fwGpus ? window.fwMap.nodeLook(data, made.fwGpus, metric) : window.fwMap.look(data, made.fwIndex, metric);
      if (made.className !== wanted) made.className = wanted;
      if (made.tabIndex === 0) { made.setAttribute("role", "button"); made.setAttribute("aria-label", window.fwMap.cellSentence(data, made)); }
    });
  }

  function scale(data, metric) {
    var row = data.metrics[metric], box = document.getElementById("map-scale"), key = document.getElementById("map-verdicts");
    if (key) key.hidden = metric !== "policy" || !data.nodes.name.length;
    if (!box) return;
    box.hidden = !row || !data.nodes.name.length;
    if (!row) return;
    var isShare = row.unit === "%" || row.unit === "points";
    box.querySelector("[data-low]").textContent = isShare ? "0" : row.low;
    box.querySelector("[data-high]").textContent = (isShare ? "100" : row.high) + " " + row.unit;
    box.title = row.label + ": " + row.help;
  }

  // Verdicts that are still being made are asked for again soon, not only with the next picture.
  var askedFor = null;
  function soonAgain(data) {
    if (!data.judging || askedFor === data.version) return;
    askedFor = data.version;
    [2000, 5000, 12000].forEach(function (pause) {
      setTimeout(function () { if (drawn.data && drawn.data.judging) window.fwTick({ n_intervals: Date.now() }); }, pause);
    });
  }

  function drawMap(data, metric, by) {
    var map = document.getElementById("gpu-map");
    if (!map || !data) return window.dash_clientside.no_update;
    if (metric !== "allocation" && metric !== "policy" && !data.metrics[metric]) metric = "gpu_utilization";
    soonAgain(data);
    var count = data.nodes.name.length, mode = count > DENSE ? "dense" : count > COMPACT ? "compact" : "full";
    var shape = shapeOf(data, by, mode);
    if (shape !== drawn.shape || !map.firstChild) { build(map, data, by, mode); drawn.shape = shape; }
    var ramp = data.metrics[metric] && data.metrics[metric].ramp === "mag" ? "mag" : "seq";
    map.closest(".fw-panel").setAttribute("data-ramp", ramp);
    map.classList.toggle("fw-stale", Boolean(data.stale));
    drawn.data = data; drawn.metric = metric;
    paint(data, metric);
    scale(data, metric);
    if (window.fwMapCard) window.fwMapCard.attach(map);
    return data.version;
  }

  window.fwMapDrawn = drawn;
  window.dash_clientside = Object.assign({}, window.dash_clientside);
  window.dash_clientside.fw = Object.assign({}, window.dash_clientside.fw, { drawMap: drawMap });
})();
