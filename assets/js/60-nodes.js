// The nodes: cells of the table, tiles, filters in the address, CSV. All text goes in as text, never as HTML.
(function () {
  "use strict";
  var ANY = "*", FILTERS = ["partition", "state", "model"];
  var NOT = "–", part = window.fwMake.html, thousands = window.fwMake.thousands;

  function shown(value, decimals) { return value === null || value === undefined ? NOT : thousands(value.toFixed(decimals || 0)); }
  function share(value) { return value === null || value === undefined ? NOT : value > 0 && value < 10 && value % 1 ? value.toFixed(1) : String(Math.round(value)); }
  function cells(row) { return row.cells ? row.cells.split(" ") : []; }
  function base() { var panel = document.getElementById("nodes-panel"); return panel ? panel.getAttribute("data-base") : ""; }
  function href(row) { return row.name ? base() + encodeURIComponent(row.name) : null; }

  var WORDS = { idle: "held and idle", free: "free", drained: "drained", down: "down", unmeasured: "not measured" };
  function sentence(row) {
    var counts = {};
    cells(row).forEach(function (name) { var word = WORDS[name] || "busy"; counts[word] = (counts[word] || 0) + 1; });
    var parts = Object.keys(counts).map(function (word) { return counts[word] + " " + word; });
    return parts.length ? "GPUs: " + parts.join(", ") : "no GPUs";
  }

  // React for the table
  var make = function () { return React.createElement.apply(React, arguments); };
  function markOf(row) {
    return row.mark ? make("span", { className: "fw-icon fw-icon-" + row.mark + " fw-" + row.tone, "aria-hidden": "true" }) : null;
  }
  function number(text, className) { return make("span", { className: className || "fw-num" }, text); }
  function fade(row, cell) { return row.faded ? make("div", { className: "fw-faded fw-bar-cell" }, cell) : cell; }
  function bar(value, tone) {
    if (value === null || value === undefined) return number(NOT, "fw-num fw-quiet-number");
    return make("div", { className: "fw-bar-cell" }, number(share(value)),
      make("div", { className: "fw-cellbar" }, make("i", { className: tone || "", style: { width: Math.max(0, Math.min(100, value)) + "%" } })));
  }

  window.dashAgGridComponentFunctions = Object.assign(window.dashAgGridComponentFunctions || {}, {
    FwNode: function (props) {
      var row = props.data, sub = [row.models, row.partitions].filter(Boolean).join(", "), to = href(row);
      return make("div", { className: "fw-two" },
        make(to ? "a" : "span", { href: to || undefined, className: "fw-go", title: row.name }, row.name || "(no name)"),
        make("span", { className: "fw-sub", title: sub }, sub || "no GPU"));
    },
    FwState: function (props) {
      var row = props.data;
      return make("div", { className: "fw-two" }, make("span", { className: "fw-state-word" }, markOf(row), row.state),
        row.reason ? make("span", { className: "fw-sub" }, row.reason) : null);
    },
    FwCells: function (props) {
      var list = cells(props.data);
      if (!list.length) return make("span", { className: "fw-quiet-number" }, NOT);
      return make("div", { className: props.data.faded ? "fw-mini fw-faded" : "fw-mini", role: "img", "aria-label": sentence(props.data), title: sentence(props.data) },
        list.map(function (name, i) { return make("i", { key: i, className: "fw-cell fw-" + name }); }));
    },
    FwNumber: function (props) {
      var none = props.value === null || props.value === undefined;
      var faded = !none && props.data.faded && props.column.getColId() === "watts" ? " fw-faded" : "";
      return number(shown(props.value, props.decimals), (none ? "fw-num fw-quiet-number" : "fw-num") + faded);
    },
    FwIdle: function (props) {
      if (!props.value) return number(shown(props.value), "fw-num" + (props.value === 0 ? "" : " fw-quiet-number"));
      return make("span", { className: "fw-num fw-idle-number" }, make("span", { className: "fw-icon fw-icon-waste fw-waste", "aria-hidden": "true" }), shown(props.value));
    },
    FwShare: function (props) { return bar(props.value, "fw-amount"); },
    FwUtil: function (props) {
      var row = props.data;
      if (props.value === null || props.value === undefined || !row.held || row.measured / row.held >= 0.8) return fade(row, bar(props.value));
      return make("div", { className: row.faded ? "fw-bar-cell fw-faded" : "fw-bar-cell", title: row.measured + " of " + row.held + " held GPUs measured" },
        make("span", { className: "fw-num" }, make("span", { className: "fw-icon fw-icon-partial fw-none", role: "img", "aria-label": "partial" }), share(props.value)),
        make("div", { className: "fw-cellbar" }, make("i", { style: { width: Math.min(100, props.value) + "%" } })));
    }
  });

  window.dashAgGridFunctions = Object.assign(window.dashAgGridFunctions || {}, {
    fwBlanksLast: function (a, b, nodeA, nodeB, descending) {
      var noA = a === null || a === undefined || a === "", noB = b === null || b === undefined || b === "";
      if (noA || noB) return noA && noB ? 0 : (noA ? 1 : -1) * (descending ? -1 : 1);
      return typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
    },
    fwByPlace: function (a, b, nodeA, nodeB) { return nodeA.data.order - nodeB.data.order; }
  });

  // Tiles, for phones and paper and for a quick look
  function tile(row) {
    var item = part("li", "fw-tile"), head = part("div", "fw-tile-head"), to = href(row);
    var name = part(to ? "a" : "span", "fw-go fw-title", row.name || "(no name)");
    if (to) name.href = to;
    var state = part("span", "fw-tile-state");
    if (row.mark) state.append(part("span", "fw-icon fw-icon-" + row.mark + " fw-" + row.tone));
    state.append(row.state);
    head.append(name, state);
    var strip = part("div", row.faded ? "fw-mini fw-faded" : "fw-mini");
    strip.setAttribute("role", "img");
    strip.setAttribute("aria-label", sentence(row));
    cells(row).forEach(function (cell) { strip.append(part("i", "fw-cell fw-" + cell)); });
    var facts = [row.utilization !== null ? "UTIL " + share(row.utilization) + "\u00a0%" : row.held === 0 ? "none held" : "UTIL not measured"];
    if (row.gpus === null) facts = ["no GPU"];
    if (row.idle) facts.push(row.idle + " held, idle");
    if (row.free) facts.push(row.free + " free");
    item.append(head);
    if (row.cells) item.append(strip);
    item.append(part("div", "fw-context", facts.join(", ")));
    if (row.reason) item.append(part("div", "fw-context fw-clip", row.reason));
    return item;
  }

  // The table's script may not have arrived yet: then there is no table to act on.
  function withTable(id, act) {
    var grid = window.dash_ag_grid;
    if (grid && grid.getApiAsync) grid.getApiAsync(id).then(act);
  }

  function fit(rows) {
    var box = document.querySelector(".fw-nodes-table");
    if (box) box.style.setProperty("--rows", rows.length);
    if (innerWidth < 768) withTable("nodes-table", function (api) { api.setColumnsVisible(["state", "free", "cpu", "load", "memory", "watts", "jobs"], false); });
  }

  function drawNodes(rows, view) {
    var panel = document.getElementById("nodes-panel"), list = document.getElementById("nodes-tiles");
    if (!panel || !list || !rows) return window.dash_clientside.no_update;
    if (!panel.fwSeen) {
      panel.fwSeen = true;
      if (innerWidth < 768 && view === "table" && !/[?&]view=/.test(location.search)) {
        dash_clientside.set_props("nodes-view", { value: "tiles" });
        view = "tiles";
      }
    }
    panel.setAttribute("data-view", rows.length ? view : "none");
    list.replaceChildren.apply(list, view === "tiles" ? rows.map(tile) : []);
    fit(rows);
    return rows.length;
  }

  // Filters in the address; Back takes the last choice back.
  function writeNodes(partition, state, model, feature, q, view) {
    var params = new URLSearchParams(location.search), values = { partition: partition, state: state, model: model, feature: feature, q: q, view: view === "table" && innerWidth >= 768 ? "" : view };
    Object.keys(values).forEach(function (key) {
      var value = values[key];
      if (value && value !== ANY && !(key === "view" && innerWidth < 768 && value === "tiles")) params.set(key, value); else params.delete(key);
    });
    var text = params.toString(), search = text ? "?" + text : "";
    document.querySelectorAll(".fw-filters .fw-filter").forEach(function (box) {
      var field = box.querySelector("select, input");
      if (field && /^nodes-/.test(field.id)) box.classList.toggle("fw-is-set", Boolean(field.value) && field.value !== ANY);
    });
    var panel = document.getElementById("nodes-panel");
    if (panel) panel.fwPath = location.pathname;
    if (search !== location.search) history.pushState(history.state, "", location.pathname + search);
  }

  window.addEventListener("popstate", function (event) {
    var panel = document.getElementById("nodes-panel");
    if (!panel || panel.fwPath !== location.pathname) return;
    event.stopImmediatePropagation();
    var params = new URLSearchParams(location.search);
    FILTERS.forEach(function (key) { dash_clientside.set_props("nodes-" + key, { value: params.get(key) || ANY }); });
    dash_clientside.set_props("nodes-feature", { data: params.get("feature") || "" });
    dash_clientside.set_props("nodes-q", { value: params.get("q") || "" });
    dash_clientside.set_props("nodes-view", { value: params.get("view") || (innerWidth < 768 ? "tiles" : "table") });
  });

  // A cell that begins like a formula is written as text: spreadsheets would run it.
  function safe(value) { return typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? "'" + value : value; }

  function csv(id) {
    withTable(id, function (api) {
      api.exportDataAsCsv({
        allColumns: true, fileName: id.replace(/-table$/, "") + ".csv",
        processHeaderCallback: function (params) { return params.column.getColDef().headerName.replace("\n", ", "); },
        processCellCallback: function (params) { return safe(params.value === null || params.value === undefined ? "" : params.value); }
      });
    });
  }

  document.addEventListener("click", function (event) {
    var link = event.target.closest("a.fw-go[href]");
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0) { event.preventDefault(); window.fwGo(link.href); return; }
    var button = event.target.closest("button[data-csv], button[data-clear-nodes]");
    if (!button) return;
    if (button.hasAttribute("data-csv")) csv(button.getAttribute("data-csv"));
    if (button.hasAttribute("data-clear-nodes")) {
      FILTERS.forEach(function (key) { dash_clientside.set_props("nodes-" + key, { value: ANY }); });
      dash_clientside.set_props("nodes-feature", { data: "" });
      dash_clientside.set_props("nodes-q", { value: "" });
    }
  });

  window.dash_clientside = Object.assign({}, window.dash_clientside);
  window.dash_clientside.fw = Object.assign({}, window.dash_clientside.fw, { drawNodes: drawNodes, writeNodes: writeNodes });
})();
