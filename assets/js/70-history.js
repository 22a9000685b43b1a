// The page of history: every choice is an address. A link or a filter changes it, and the page follows in place.
(function () {
  "use strict";
  var ANY = "*", CUSTOM = "custom", DAY = 86400000;
  var PICKS = { "eff-partition": "partition", "eff-model": "model" };
  var waiting = null;

  function isShown() { return document.getElementById("eff-page"); }

  // The reader stays where they are; what is shown stays until the answer is here.
  function go(href) {
    if (href === location.pathname + location.search) return;
    window.fwGo(href, href.split("?")[0] === location.pathname);
    busy();
  }
  function busy() {
    clearTimeout(waiting);
    waiting = setTimeout(function () {
      var page = isShown(), said = document.getElementById("eff-busy");
      if (page) page.setAttribute("aria-busy", "true");
      if (said) said.hidden = false;
    }, 300);
  }
  function arrived() {
    clearTimeout(waiting);
    var page = isShown(), said = document.getElementById("eff-busy");
    if (page) page.removeAttribute("aria-busy");
    if (said) said.hidden = true;
    var field = document.getElementById("eff-q"), nobody = document.activeElement === document.body;
    if (isTyping && field && nobody) { field.focus(); field.setSelectionRange(field.value.length, field.value.length); }
  }

  function changed(changes) {
    var params = new URLSearchParams(location.search);
    Object.keys(changes).forEach(function (key) {
      params.delete(key);
      if (changes[key]) params.set(key, changes[key]);
    });
    var text = params.toString();
    return location.pathname + (text ? "?" + text : "");
  }

  // The address names the first moment after the last day.
  function after(day) { return new Date(Date.parse(day + "T00:00:00Z") + DAY).toISOString().slice(0, 10); }
  function dates() {
    var from = document.getElementById("eff-from").value, to = document.getElementById("eff-to").value;
    if (!from || !to) return;
    var first = from < to ? from : to, last = from < to ? to : from;
    go(changed({ since: first, until: after(last), limit: "" }));
  }

  document.addEventListener("change", function (event) {
    if (!isShown()) return;
    var id = event.target.id, value = event.target.value;
    if (PICKS[id]) {
      var pick = {};
      pick[PICKS[id]] = value === ANY ? "" : value;
      pick.limit = "";
      go(changed(pick));
    } else if (id === "eff-since") {
      if (value === CUSTOM) { document.getElementById("eff-dates").hidden = false; document.getElementById("eff-from").focus(); }
      else go(changed({ since: value === "30d" ? "" : value, until: "" }));
    } else if (id === "eff-from" || id === "eff-to") dates();
  });

  // Names are looked for while they are typed; the field of the next answer gets the keyboard back.
  var typed = null, isTyping = false;
  document.addEventListener("focusin", function (event) { isTyping = event.target.id === "eff-q"; });
  document.addEventListener("pointerdown", function (event) { isTyping = event.target.id === "eff-q"; });
  // A letter between the field that goes and the one that comes belongs to it, and is no shortcut.
  document.addEventListener("keydown", function (event) {
    var field = isTyping && isShown() && document.activeElement === document.body && document.getElementById("eff-q");
    if (!field || event.key.length !== 1 || event.ctrlKey || event.metaKey || event.altKey) return;
    event.stopPropagation();
    field.focus();
    field.setSelectionRange(field.value.length, field.value.length);
  }, true);
  document.addEventListener("input", function (event) {
    if (event.target.id !== "eff-q") return;
    clearTimeout(typed);
    typed = setTimeout(function () { if (isShown()) go(changed({ q: event.target.value.trim(), limit: "" })); }, 400);
  });

  document.addEventListener("click", function (event) {
    var menu = document.querySelector("#eff-export details[open]");
    if (menu && (!menu.contains(event.target) || event.target.closest("a"))) menu.open = false;
    var link = event.target.closest && event.target.closest("a[data-go]");
    if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(link.getAttribute("href"));
  });
  document.addEventListener("keydown", function (event) {
    var menu = event.key === "Escape" && document.querySelector("#eff-export details[open]");
    if (menu) { menu.open = false; menu.querySelector("summary").focus(); }
  });
  window.addEventListener("popstate", function () { if (isShown()) busy(); });

  // What is missing is asked for once the last answer is shown.
  function addUpOn(missing) {
    if (missing && missing.left) setTimeout(function () { if (isShown()) dash_clientside.set_props("eff-step", { data: missing }); }, 50);
    return Date.now();
  }

  // A further answer, if the page still asks what it is of: one on its way outlives a step down or Back.
  function answered(answer, words) {
    var isOurs = answer && answer.of.query === words.query && answer.of.now === words.now;
    return isOurs ? answer.body : dash_clientside.no_update;
  }

  window.dash_clientside = Object.assign({}, window.dash_clientside);
  window.dash_clientside.fw = Object.assign({}, window.dash_clientside.fw, { addUpOn: addUpOn, answered: answered });
  window.fwHistory = { go: go, changed: changed, arrived: arrived };
})();
