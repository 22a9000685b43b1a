// The detailed metrics' state: what is sorted, chosen, selected and unfolded; all of it but the selection in the address.
(function () {
  "use strict";
  var ANY = "*", DEFAULTS = { group: "job", period: "1h", sort: "-gpu_hours" };
  var NAMES = ["group", "split", "period", "user", "account", "partition", "model", "q", "application", "sort", "finding", "row"];
  var IN_STORES = ["application", "sort", "finding", "row", "since", "until"];
  var now = { data: null, sort: DEFAULTS.sort, finding: "", row: "", picked: null, most: 0, twin: false };

  var make = window.fwMake.html;

  function id(name) { return document.getElementById("metrics-" + name); }
  function set(name, value) { dash_clientside.set_props("metrics-" + name, IN_STORES.indexOf(name) < 0 ? { value: value } : { data: value }); }

  function visible() {
    return now.data.rows.filter(function (row) {
      return (!now.finding || row.findings.some(function (use) { return use[0] === now.finding; })) && (!now.picked || now.picked.indexOf(row.key) >= 0);
    });
  }
  function period() {
    var select = id("period"), chosen = select && select.options && select.options[select.selectedIndex];
    return chosen && select.value !== "custom" ? chosen.textContent : "";
  }

  function redraw() {
    var table = window.fwMetricsTable, data = now.data, panel = id("panel");
    if (!panel) return;
    panel.setAttribute("data-empty", data ? "0" : "1");
    if (id("top")) id("top").hidden = !data;
    if (!data) { id("table").replaceChildren(); id("count").textContent = ""; id("set").replaceChildren(); return; }
    var rows = table.sorted(data, visible(), now.sort), place = rows.findIndex(function (row) { return row.key === now.row; });
    now.most = Math.max(now.most || table.first(), place + 1);
    table.draw(data, { rows: rows, sort: now.sort, open: now.row, most: now.most, period: period() });
    var base = now.finding ? data.rows.filter(function (row) { return row.findings.some(function (use) { return use[0] === now.finding; }); }) : data.rows;
    window.fwMetricsScatter.draw(data, base, now.row);
    twin(base);
    words(rows);
    pressed();
  }
  function words(rows) {
    var t = window.fwMetricsTable, data = now.data, total = 0;
    rows.forEach(function (row) { total += row.hours; });
    var all = data.count > data.rows.length ? ", the " + t.number(data.rows.length, 0) + " with most GPU-hours are here, all are in the CSV" : "";
    id("title").textContent = "By " + data.title.replace(/^[A-Z](?![A-Z])/, function (c) { return c.toLowerCase(); });
    id("count").textContent = (rows.length < data.rows.length ? t.number(rows.length, 0) + " of " : "") + t.number(data.count, 0) + " " + data.noun + ", " + t.hours(total) + " GPU-h" + all;
    var chips = [];
    if (now.finding) chips.push(["finding " + (data.advice[now.finding] || [now.finding])[0], "data-metrics-finding", ""]);
    if (now.picked) chips.push([t.number(now.picked.length, 0) + " selected", "data-metrics-unpick", "1"]);
    id("set").replaceChildren.apply(id("set"), chips.map(function (chip) {
      var button = make("button", "fw-chip fw-chip-button", chip[0]);
      button.type = "button";
      button.setAttribute(chip[1], chip[2]);
      button.title = "Take it back";
      return t.add(button, t.icon("close"));
    }));
  }
  function pressed() {
    document.querySelectorAll("#metrics-findings [data-metrics-finding]").forEach(function (button) {
      button.setAttribute("aria-pressed", button.getAttribute("data-metrics-finding") === now.finding ? "true" : "false");
    });
    var word = id("application-word"), application = new URLSearchParams(location.search).get("application");
    if (word) { word.hidden = !application; word.textContent = application ? "Application " + application + " \u00d7" : ""; }
    ["csv", "parquet"].forEach(function (form) {
      var link = id(form);
      if (!link || link.tagName !== "A" || !link.getAttribute("href")) return;
      var to = new URL(link.href), extra = { sort: now.sort, finding: now.finding };
      Object.keys(extra).forEach(function (key) { if (extra[key]) to.searchParams.set(key, extra[key]); else to.searchParams.delete(key); });
      link.href = to.href;
    });
  }

  // The same dots as a small table.
  function twin(rows) {
    var t = window.fwMetricsTable, box = id("twin");
    if (!box) return;
    box.hidden = !now.twin;
    id("scatter").hidden = now.twin;
    if (!now.twin) { box.replaceChildren(); return; }
    var table = make("table", "fw-plain-table fw-ruled"), head = make("tr"), body = make("tbody");
    [now.data.title, "UTIL, %", "SM, %", "TENSOR, %", "GPU-h"].forEach(function (text, place) { var cell = make("th", place ? "fw-number" : "", text); cell.scope = "col"; head.appendChild(cell); });
    window.fwMetricsScatter.dots(now.data, rows).slice(0, 500).forEach(function (dot) {
      var line = make("tr"), name = make("th", "", dot.row.name + (dot.row.id ? " (" + dot.row.id + ")" : ""));
      name.scope = "row";
      line.appendChild(name);
      [t.ratio(dot.util), t.ratio(dot.sm), t.ratio(dot.tensor), t.hours(dot.row.hours)].forEach(function (text) { line.appendChild(make("td", "fw-number", text)); });
      body.appendChild(line);
    });
    t.add(table, make("caption", "fw-sr", "UTIL against SM"), t.add(make("thead"), head), body);
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", "UTIL against SM as a table");
    box.replaceChildren(table);
  }

  function drawMetrics(data, sort, finding, row) {
    // Newer numbers of the same question take away neither what is selected nor what has been unrolled.
    if (!data || !now.data || data.question !== now.data.question) { now.most = 0; now.picked = null; }
    now.data = data || null;
    now.sort = sort || DEFAULTS.sort;
    now.finding = finding || "";
    now.row = row || "";
    var panel = id("panel");
    if (panel) panel.fwPath = location.pathname;
    redraw();
    return Date.now();
  }

  // One click may set several parts: the address is written once, when all are set.
  var writing = null;
  function writeMetrics() {
    var given = Array.prototype.slice.call(arguments);
    clearTimeout(writing);
    writing = setTimeout(function () { write(given); }, 30);
  }
  function write(given) {
    var panel = id("panel");
    if (!panel || (panel.fwPath && panel.fwPath !== location.pathname)) return;
    var params = new URLSearchParams(location.search);
    NAMES.forEach(function (name, place) {
      var value = given[place] === true ? "1" : given[place];
      if (value && value !== ANY && value !== DEFAULTS[name]) params.set(name, value); else params.delete(name);
    });
    if (params.get("period") === "custom") params.delete("period"); else { params.delete("since"); params.delete("until"); }
    document.querySelectorAll(".fw-metrics .fw-filters .fw-filter").forEach(function (box) {
      var field = box.querySelector("select, input");
      if (field && field.id !== "metrics-period") box.classList.toggle("fw-is-set", Boolean(field.value) && field.value !== ANY);
    });
    var search = params.toString() ? "?" + params.toString() : "";
    if (search === location.search) return;
    var before = new URLSearchParams(location.search);
    before.delete("row");
    params.delete("row");
    var small = before.toString() === params.toString(); // unfolding a row is no step for Back
    history[small ? "replaceState" : "pushState"](history.state, "", location.pathname + search + location.hash);
  }

  window.addEventListener("popstate", function (event) {
    var panel = id("panel");
    if (!panel || panel.fwPath !== location.pathname) return;
    event.stopImmediatePropagation();
    var params = new URLSearchParams(location.search);
    NAMES.forEach(function (name) {
      var select = ["user", "account", "partition", "model"].indexOf(name) >= 0;
      var value = params.get(name) || DEFAULTS[name] || (select ? ANY : "");
      set(name, name === "split" ? value === "1" : name === "period" && params.get("since") ? "custom" : value);
    });
    ["since", "until"].forEach(function (name) { set(name, params.get(name) || ""); });
  });

  function open(key, scroll) {
    set("row", now.row === key && !scroll ? "" : key);
    if (!scroll) return;
    setTimeout(function () {
      var row = Array.prototype.find.call(document.querySelectorAll("#metrics-table tr[data-key]"), function (one) { return one.getAttribute("data-key") === key; });
      if (!row) return;
      row.scrollIntoView({ block: "center", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
      row.querySelector(".fw-unfold").focus({ preventScroll: true });
    }, 120);
  }
  function hover(key) {
    document.querySelectorAll("#metrics-table tr[data-key]").forEach(function (row) { row.classList.toggle("fw-is-marked", key !== null && row.getAttribute("data-key") === key); });
  }
  function select(keys) { now.picked = keys.length ? keys : null; now.most = 0; redraw(); }

  function clear() {
    ["user", "account", "partition", "model"].forEach(function (name) { set(name, ANY); });
    ["q", "application", "finding"].forEach(function (name) { set(name, ""); });
  }

  document.addEventListener("click", function (event) {
    if (!id("panel")) return;
    var target = event.target, button = target.closest("button");
    var row = target.closest("#metrics-table tr[data-key]");
    if (row && !target.closest("a") && (!button || button.classList.contains("fw-unfold")) && !String(getSelection())) { open(row.getAttribute("data-key"), false); return; }
    if (!button) return;
    if (button.hasAttribute("data-metrics-sort")) set("sort", button.getAttribute("data-metrics-sort"));
    if (button.hasAttribute("data-metrics-finding")) { var f = button.getAttribute("data-metrics-finding"); set("finding", now.finding === f ? "" : f); }
    if (button.hasAttribute("data-metrics-period")) set("period", button.getAttribute("data-metrics-period"));
    if (button.hasAttribute("data-metrics-application")) set("application", "");
    if (button.hasAttribute("data-metrics-unpick")) select([]);
    if (button.hasAttribute("data-metrics-clear")) clear();
    if (button.hasAttribute("data-metrics-more")) { now.most += window.fwMetricsTable.further(); redraw(); }
    if (button.hasAttribute("data-metrics-twin")) { now.twin = !now.twin; button.setAttribute("aria-pressed", now.twin ? "true" : "false"); button.textContent = now.twin ? "Show as chart" : "Show as table"; redraw(); }
  });
  document.addEventListener("pointerover", function (event) {
    var row = event.target.closest && event.target.closest("#metrics-table tr[data-key]");
    if (row && window.fwMetricsScatter) window.fwMetricsScatter.markKey(row.getAttribute("data-key"));
  });
  document.addEventListener("keydown", function (event) {
    if (event.key === "Escape" && id("panel") && now.picked) select([]);
  });

  // How long the metrics have been asked, second by second.
  setInterval(function () {
    var box = id("asking"), text = id("seconds");
    if (!box || !text) return;
    if (box.hidden) { box.fwSince = 0; text.textContent = ""; return; }
    box.fwSince = box.fwSince || Date.now();
    text.textContent = ", " + Math.round((Date.now() - box.fwSince) / 1000) + " s";
  }, 1000);

  window.fwMetrics = { open: open, hover: hover, select: select };
  window.dash_clientside = Object.assign({}, window.dash_clientside);
  window.dash_clientside.fw = Object.assign({}, window.dash_clientside.fw, { drawMetrics: drawMetrics, writeMetrics: writeMetrics });
})();
