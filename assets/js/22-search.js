// The search field: suggestions from the server, a list for the keyboard, and straight to what was meant.
(function () {
  "use strict";
  var KINDS = { job: "Job", node: "Node", user: "User", account: "Account", page: "Page", filter: "Map" };
  var part = window.fwMake.html, items = [], chosen = -1, asked = null, timer = null, goWhenHere = false;

  function field() { return document.getElementById("search"); }
  function list() { return document.getElementById("search-list"); }
  function prefix() { return window.fwPrefix(); }

  function row(item, place) {
    var made = part("li", "fw-found", "");
    made.id = "search-" + place;
    made.setAttribute("role", "option");
    made.append(part("span", "fw-found-kind", KINDS[item.kind] || ""), part("b", "", item.name), part("span", "fw-note", item.text));
    made.addEventListener("mousedown", function (event) { event.preventDefault(); });  // the field keeps the focus
    made.addEventListener("click", function () { go(item); });
    return made;
  }

  function mark(place) {
    chosen = place;
    list().querySelectorAll("[role=option]").forEach(function (option, at) { option.setAttribute("aria-selected", at === place ? "true" : "false"); });
    if (place >= 0) field().setAttribute("aria-activedescendant", "search-" + place);
    else field().removeAttribute("aria-activedescendant");
    var option = document.getElementById("search-" + place);
    if (option) option.scrollIntoView({ block: "nearest" });
  }

  // On the Overview a text can also narrow the map.
  function narrowing(text) {
    return text && document.getElementById("filter-text") !== undefined && document.getElementById("overview-kpis")
      ? [{ kind: "filter", name: "nodes with “" + text + "”", text: "dim all others", filter: text }] : [];
  }

  function draw(found, text) {
    items = found.concat(narrowing(text));
    list().replaceChildren.apply(list(), items.length ? items.map(row) : [part("li", "fw-found-none", "Nothing by that name that you may see.")]);
    list().hidden = false;
    field().setAttribute("aria-expanded", "true");
    mark(items.length && text ? 0 : -1);
    if (goWhenHere && items.length) go(items[0]);
    goWhenHere = false;
  }

  function close() {
    clearTimeout(timer);
    if (asked) asked.abort();
    asked = null; items = []; goWhenHere = false;
    if (!list()) return;
    list().hidden = true;
    mark(-1);
    field().setAttribute("aria-expanded", "false");
  }

  function ask() {
    var text = field().value.trim();
    if (asked) asked.abort();
    var mine = asked = new AbortController();
    fetch(prefix() + "_search?q=" + encodeURIComponent(text), { signal: mine.signal, credentials: "same-origin" })
      .then(function (answer) { return answer.ok ? answer.json() : []; })
      .then(function (found) { if (asked === mine) { asked = null; draw(found, text); } })
      .catch(function () { if (asked === mine) { asked = null; draw([], text); } });
  }

  function soon() {
    items = []; chosen = -1;
    if (asked) asked.abort();
    asked = null;
    clearTimeout(timer);
    timer = setTimeout(ask, 120);
  }

  function go(item) {
    close();
    field().value = "";
    field().blur();
    document.documentElement.removeAttribute("data-searching");
    if (item.filter) window.dash_clientside.set_props("filter-text", { data: item.filter });
    else window.fwGo(window.fwStay(item.href));
  }

  function enter() {
    if (items.length) go(items[Math.max(0, chosen)]);
    else if (field().value.trim()) { goWhenHere = true; clearTimeout(timer); if (!asked) ask(); }
  }

  function keys(event) {
    var last = items.length - 1;
    if (event.key === "Escape") { close(); field().value = ""; field().blur(); document.documentElement.removeAttribute("data-searching"); }
    else if (event.key === "Enter") { event.preventDefault(); enter(); }
    else if (event.key === "ArrowDown" && last >= 0) { event.preventDefault(); mark(chosen >= last ? 0 : chosen + 1); }
    else if (event.key === "ArrowUp" && last >= 0) { event.preventDefault(); mark(chosen <= 0 ? last : chosen - 1); }
  }

  var ATTRIBUTES = { role: "combobox", "aria-controls": "search-list", "aria-expanded": "false", "aria-autocomplete": "list", "aria-label": "Search job, node, user, account or page", enterkeyhint: "go" };
  function attach() {
    var input = field();
    if (!input || input.fwAttached || input.closest("#first-view")) return;
    input.fwAttached = true;
    Object.keys(ATTRIBUTES).forEach(function (name) { input.setAttribute(name, ATTRIBUTES[name]); });
    input.addEventListener("keydown", keys);
    input.addEventListener("input", soon);
    input.addEventListener("focus", soon);
    input.addEventListener("blur", function () { setTimeout(close, 100); });
  }

  document.addEventListener("focusin", attach);
  document.addEventListener("click", function (event) {
    if (!event.target.closest("#search-open")) return;
    document.documentElement.setAttribute("data-searching", "1");
    if (field()) field().focus();
  });
  window.fwSearch = { focus: function () { if (!field()) return; document.documentElement.setAttribute("data-searching", "1"); field().focus(); field().select(); } };
})();
