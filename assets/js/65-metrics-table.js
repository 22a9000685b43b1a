// The detailed table: rows with bars, sorted here, blanks last; a row unfolds to its diagnosis. All text goes in as text.
(function () {
  "use strict";
  var NOT = "\u2013", ENOUGH = 80, NARROW = matchMedia("(max-width: 767.98px)"), make = window.fwMake.html;

  function add(parent) {
    for (var i = 1; i < arguments.length; i++) if (arguments[i]) parent.appendChild(arguments[i]);
    return parent;
  }
  function icon(name, tone, label) {
    var made = make("span", "fw-icon fw-icon-" + name + (tone ? " fw-" + tone : ""));
    if (label) { made.setAttribute("role", "img"); made.setAttribute("aria-label", label); made.title = label; } else made.setAttribute("aria-hidden", "true");
    return made;
  }
  function number(value, decimals) {
    if (value === null || value === undefined) return NOT;
    var text = window.fwMake.thousands(Math.abs(value).toFixed(decimals));
    return (value < 0 && Number(value.toFixed(decimals)) !== 0 ? "\u2212" : "") + text;
  }
  // One decimal under 10, none above; a share above 0 never reads 0.
  function ratio(value) {
    if (value === null || value === undefined) return NOT;
    if (value > 0 && value < 0.05) return "<0.1";
    return number(value, Math.abs(value) < 9.95 && Math.abs(value - Math.round(value)) > 1e-9 ? 1 : 0);
  }
  function hours(value) { return number(value, value > 0 && value < 99.95 ? 1 : 0); }
  function shown(column, value) {
    if (value === null || value === undefined) return NOT;
    if (column.kind !== "amount") return ratio(value);
    return number(value, column.unit === "W" || value === 0 || value >= 99.95 ? 0 : value < 0.095 ? 2 : 1);
  }

  // On a phone a row is a card: a few first, then all of them.
  function first() { return NARROW.matches ? 20 : 100; }
  function further() { return NARROW.matches ? Infinity : 100; }

  // What a row is sorted by; null comes last both ways.
  function sortKey(data, name) {
    var place = data.columns.findIndex(function (column) { return column.name === name; });
    if (place >= 0) return function (row) { return row.values[place]; };
    if (name === "name") return function (row) { return row.name.toLowerCase(); };
    if (name === "coverage") return function (row) { return row.coverage; };
    if (name === "jobs") return function (row) { return row.jobs; };
    if (name === "finding") return function (row) { return row.findings.length ? row.findings[0][1] : null; };
    return function (row) { return row.hours; };
  }
  function sorted(data, rows, sort) {
    var down = sort.charAt(0) === "-", key = sortKey(data, sort.replace(/^-/, ""));
    return rows.slice().sort(function (a, b) {
      var x = key(a), y = key(b);
      if (x === null || y === null) return x === y ? b.hours - a.hours : x === null ? 1 : -1;
      var order = typeof x === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
      return (down ? -order : order) || b.hours - a.hours || (a.key < b.key ? -1 : 1);
    });
  }

  function headCell(label, unit, help, key, sort, isNumber, off) {
    var cell = make("th", (isNumber ? "fw-number" : "") + (off ? " fw-off" : ""));
    cell.scope = "col";
    var button = make("button", "fw-sort"), is = sort.replace(/^-/, "") === key, down = sort.charAt(0) === "-";
    button.type = "button";
    button.title = help;
    button.setAttribute("data-metrics-sort", is ? (down ? key : "-" + key) : (isNumber ? "-" + key : key));
    add(button, make("span", "", label), is ? icon(down ? "down" : "up") : null);
    if (is) cell.setAttribute("aria-sort", down ? "descending" : "ascending");
    return add(cell, button, make("span", "fw-unit", off ? "not exported" : unit));
  }
  function head(data, sort, period) {
    var line = make("tr"), hasJobs = data.group !== "job";
    add(line, headCell(data.title, data.under, "Name", "name", sort, false));
    if (hasJobs) add(line, headCell("Jobs", "", "Jobs that held a GPU in this range", "jobs", sort, true));
    add(line, headCell("GPU-h", period, "GPU-hours held: devices times hours, slices by their share of a GPU", "gpu_hours", sort, true));
    data.columns.forEach(function (column) { add(line, headCell(column.label, column.unit, column.help, column.name, sort, true, column.off)); });
    add(line, headCell("Coverage", "%", "Share of the GPU-hours that was measured", "coverage", sort, true));
    add(line, headCell("Finding", "unfold for advice", "Sorts by the GPU-hours of the largest finding", "finding", sort, false));
    return add(make("thead"), line);
  }

  function bar(column, value, over) {
    var line = make("div", "fw-cellbar"), fill = make("i", over ? "fw-over" : column.kind === "ratio" ? "" : "fw-amount");
    fill.style.width = Math.max(0, Math.min(100, column.most > 0 ? value / column.most * 100 : 0)) + "%";
    return add(line, fill);
  }
  function isEmptyBusy(data, row) {
    var value = function (name) { return row.values[data.columns.findIndex(function (one) { return one.name === name; })]; };
    return value("utilization") >= data.region[0] && value("sm_activity") < data.region[1];
  }
  function valueCell(data, row, column, place) {
    var value = row.values[place], share = row.shares[place], cell = make("td", "fw-number fw-at-metric");
    cell.setAttribute("data-label", column.label);
    if (column.off) { cell.className += " fw-off"; cell.title = column.label + " is not exported at this site"; return add(cell, make("span", "fw-not-measured", "\u00b7")); }
    if (value === null) { cell.title = column.label + ": not measured"; return add(cell, make("span", "fw-not-measured", NOT)); }
    var over = column.kind === "gap" && isEmptyBusy(data, row), text = make("span", "fw-num");
    if (share !== null && share < ENOUGH) add(text, icon("partial", "none", "measured for " + ratio(share) + " % of the GPU-hours"));
    if (column.name === "utilization" && row.metric) add(text, graphics(row.metric));
    if (over) add(text, icon("waste", "waste", "busy and mostly empty"));
    add(text, make("span", "", shown(column, value)));
    return add(cell, text, bar(column, value, over));
  }
  function graphics(word) {
    var mark = make("span", word === "GR" ? "fw-gr" : "fw-gr fw-part", "GR");
    mark.title = word === "GR" ? "GR: MIG slices have no UTIL" : "GR for the hours on MIG slices, UTIL for the rest";
    return mark;
  }
  function nameCell(row, isOpen) {
    var cell = make("th", "fw-at-main"), box = make("div", "fw-metrics-name");
    cell.scope = "row";
    var toggle = make("button", "fw-unfold");
    toggle.type = "button";
    toggle.setAttribute("aria-expanded", isOpen ? "true" : "false");
    toggle.setAttribute("aria-label", (isOpen ? "Fold " : "Unfold ") + row.name + " " + row.id);
    add(toggle, icon("chevron"));
    var two = make("div", "fw-two"), title = make(row.href ? "a" : "span", "fw-go", row.name || "(no name)");
    if (row.href) title.href = row.href;
    title.title = row.name;
    add(two, title, make("span", "fw-sub", [row.id, row.under].filter(Boolean).join(", ")));
    return add(cell, add(box, toggle, two));
  }
  function chips(data, row) {
    var cell = make("td", "fw-at-findings"), box = make("div", "fw-chips");
    row.chips.slice(0, 3).forEach(function (id) { add(box, make("span", "fw-chip", (data.advice[id] || [id])[0])); });
    if (row.chips.length > 3) add(box, make("span", "fw-chip", "+" + (row.chips.length - 3)));
    if (!row.chips.length) add(box, make("span", "fw-not-measured", row.coverage ? NOT : "not measured"));
    return add(cell, box);
  }
  function line(data, row, isOpen, isTotal) {
    var made = make("tr", (isTotal ? "fw-total" : "fw-row") + (isOpen ? " fw-is-open" : ""));
    if (!isTotal) made.setAttribute("data-key", row.key);
    if (isTotal) {
      var name = make("th", "fw-at-main", "All " + number(data.count, 0) + " " + data.noun);
      name.scope = "row";
      add(made, name);
    } else add(made, nameCell(row, isOpen));
    if (data.group !== "job") add(made, labeled("Jobs", number(row.jobs, 0), "fw-number fw-at-minor"));
    add(made, labeled("GPU-h", hours(row.hours), "fw-number fw-at-value"));
    data.columns.forEach(function (column, place) { add(made, valueCell(data, row, column, place)); });
    var cover = labeled("Coverage", "", "fw-number fw-at-minor fw-cover"), low = row.coverage !== null && row.coverage < ENOUGH;
    if (low) add(cover, icon("partial", "none", "measured in part"));
    add(cover, make("span", low ? "" : "fw-quiet-number", row.coverage === null ? NOT : number(Math.min(100, row.coverage), 0)));
    return add(made, cover, isTotal ? make("td", "fw-at-findings") : chips(data, row));
  }
  function labeled(label, text, className) {
    var cell = make("td", className, text || null);
    cell.setAttribute("data-label", label);
    return cell;
  }

  // The diagnosis of a row, with what to do; then what else should be known of its numbers.
  function unfolded(data, row, span) {
    var made = make("tr", "fw-advice-row"), cell = make("td"), box = make("div", "fw-advice-box");
    cell.colSpan = span;
    row.findings.forEach(function (use) {
      var words = data.advice[use[0]] || [use[0], "", ""], part = make("div", "fw-advice-item"), title = make("h3");
      add(title, make("span", "fw-chip", words[0]), make("span", "fw-note", hours(use[1]) + " of " + hours(row.hours) + " GPU-h" + (data.group === "job" ? "" : ", " + use[2] + (use[2] === 1 ? " job" : " jobs"))));
      add(box, add(part, title, make("p", "fw-quiet-text", words[1]), make("p", "", words[2])));
    });
    if (!row.findings.length) add(box, make("p", "fw-quiet-text", row.coverage ? "Nothing stands out by this site\u2019s limits. Runs of a few minutes, shared GPUs and thin data are not judged." : "Nothing was measured, so there is no diagnosis."));
    add(cell, box, facts(data, row));
    return add(made, cell);
  }
  function facts(data, row) {
    var list = make("ul", "fw-advice-facts");
    var parts = row.parts[0] === null ? "none measured" : hours(row.parts[0]) + " used, " + hours(row.parts[1]) + " partly used, " + (row.parts[2] === null ? "idle not known" : hours(row.parts[2]) + " idle");
    add(list, make("li", "", hours(row.hours) + " GPU-h held: " + parts + "."));
    if (row.models.length > 1) add(list, make("li", "", "By model: " + row.models.map(function (one) { return one[0] + " " + hours(one[1]); }).join(", ") + " GPU-h."));
    row.notes.forEach(function (text) { add(list, make("li", "", text)); });
    if (row.inside) {
      var link = make("a", "fw-go", "Show its " + (row.jobs === 1 ? "job" : number(row.jobs, 0) + " jobs"));
      link.href = row.inside;
      add(list, add(make("li"), link));
    } else if (row.href) {
      var job = make("a", "fw-go", "Open the job: series, and the lines to change");
      job.href = row.href;
      add(list, add(make("li"), job));
    }
    return list;
  }

  // Draws the table; `view` is {rows, sort, open, most, period}.
  function draw(data, view) {
    var box = document.getElementById("metrics-table");
    if (!box) return;
    var table = make("table", "fw-metrics-grid"), body = make("tbody"), span = data.columns.length + (data.group === "job" ? 4 : 5);
    add(table, make("caption", "fw-sr", "Detailed metrics by " + data.title.toLowerCase()), head(data, view.sort, view.period));
    if (data.total && data.rows.length > 1) add(body, line(data, data.total, false, true));
    view.rows.slice(0, view.most).forEach(function (row) {
      var isOpen = row.key === view.open;
      add(body, line(data, row, isOpen, false));
      if (isOpen) add(body, unfolded(data, row, span));
    });
    add(table, body);
    var parts = [table];
    if (!view.rows.length) parts.push(make("p", "fw-quiet", "No row has this finding or lies in the selection."));
    if (view.rows.length > view.most) {
      var left = view.rows.length - view.most, words = further() < left ? "Show " + further() + " more" : "Show all " + number(view.rows.length, 0);
      var more = make("button", "fw-button fw-small-button fw-metrics-more", words);
      more.type = "button";
      more.setAttribute("data-metrics-more", "1");
      parts.push(more);
    }
    var across = box.scrollLeft, focus = document.activeElement && box.contains(document.activeElement) ? where(document.activeElement) : null;
    box.replaceChildren.apply(box, parts);
    box.scrollLeft = across;
    if (focus) refocus(box, focus);
  }
  function where(element) {
    var row = element.closest("tr[data-key]"), sort = element.getAttribute("data-metrics-sort");
    return { key: row ? row.getAttribute("data-key") : null, unfold: element.classList.contains("fw-unfold"), sort: sort ? sort.replace(/^-/, "") : null };
  }
  function refocus(box, focus) {
    var found = null;
    box.querySelectorAll("tr[data-key], [data-metrics-sort]").forEach(function (one) {
      if (focus.key !== null && one.getAttribute("data-key") === focus.key) found = one.querySelector(focus.unfold ? ".fw-unfold" : "a, .fw-unfold");
      if (focus.sort && (one.getAttribute("data-metrics-sort") || "").replace(/^-/, "") === focus.sort) found = one;
    });
    if (found) found.focus({ preventScroll: true });
  }

  window.fwMetricsTable = { draw: draw, sorted: sorted, add: add, icon: icon, number: number, hours: hours, ratio: ratio, first: first, further: further };
})();
