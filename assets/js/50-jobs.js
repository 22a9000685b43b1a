// Lists of jobs: clicks set Stores, the Stores make the address, and Back sets them from it.
(function () {
  "use strict";
  var ANY = "*", PICKS = ["state", "user", "account", "partition"];
  var KEYS = ["show", "sort", "offset", "state", "user", "account", "partition", "days", "q"];
  var DEFAULTS = { show: "running", days: "1", offset: "0" };

  function set(id, value) { dash_clientside.set_props(id, { data: value }); }

  // One click may set several Stores: the address is written once, when all are set.
  var writing = null;
  function writeJobsUrl() {
    var given = Array.prototype.slice.call(arguments);
    clearTimeout(writing);
    writing = setTimeout(function () { write(given); }, 30);
  }
  function write(given) {
    var table = document.getElementById("jobs-table");
    if (!table || (table.fwPath && table.fwPath !== location.pathname)) return;
    var params = new URLSearchParams(location.search);
    KEYS.forEach(function (key, place) {
      var value = given[place] === null || given[place] === undefined ? "" : String(given[place]);
      if (value && value !== DEFAULTS[key]) params.set(key, value); else params.delete(key);
    });
    if (params.get("show") !== "finished") params.delete("days");
    var search = params.toString() ? "?" + params.toString() : "";
    if (search === location.search) return;
    history.pushState(history.state, "", location.pathname + search + location.hash);
  }

  // Back within the list sets the Stores; Dash, which listens later, knows nothing of the addresses written here.
  window.addEventListener("popstate", function (event) {
    var table = document.getElementById("jobs-table");
    if (!table || table.fwPath !== location.pathname) return;
    event.stopImmediatePropagation();
    var params = new URLSearchParams(location.search);
    KEYS.forEach(function (key) {
      var value = params.get(key) || DEFAULTS[key] || "";
      if (key === "days" || key === "q") dash_clientside.set_props(key === "q" ? "jobs-text" : "jobs-days", { value: value });
      else set("jobs-" + key, value);
    });
  });

  // Another list or filter begins at its first row.
  function changed(id, value) {
    if (id !== "jobs-offset") set("jobs-offset", "0");
    if (id === "jobs-show") { set("jobs-sort", ""); set("jobs-state", ""); }
    set(id, value);
  }

  document.addEventListener("click", function (event) {
    var button = event.target.closest("[data-set]");
    if (button) changed(button.getAttribute("data-set"), button.getAttribute("data-value"));
    if (!event.target.closest("[data-clear-jobs]")) return;
    PICKS.forEach(function (key) { set("jobs-" + key, ""); });
    set("jobs-offset", "0");
    dash_clientside.set_props("jobs-text", { value: "" });
  });

  document.addEventListener("change", function (event) {
    var id = event.target.id || "", key = id.replace("jobs-pick-", "");
    if (id.indexOf("jobs-pick-") !== 0) return;
    changed("jobs-" + key, event.target.value === ANY ? "" : event.target.value);
  });

  // The next part is asked for when the last one is shown: a call that overtakes another would take its answer away.
  // A call that read nothing more would be asked again at once, for ever: then only every half minute.
  var leftBefore = {};
  function readOn(step, left) {
    var pause = leftBefore[step] === left ? 30000 : 100;
    leftBefore[step] = left;
    if (left > 0) setTimeout(function () { if (document.querySelector(".fw-jobs")) set(step, Date.now()); }, pause);
    return dash_clientside.no_update;
  }
  function readOnJobs(left) {
    var table = document.getElementById("jobs-table");
    if (table) table.fwPath = location.pathname;
    return readOn("jobs-step", left);
  }
  function readOnUser(left) { return readOn("user-step", left); }

  window.dash_clientside = Object.assign({}, window.dash_clientside);
  window.dash_clientside.fw = Object.assign({}, window.dash_clientside.fw, { writeJobsUrl: writeJobsUrl, readOnJobs: readOnJobs, readOnUser: readOnUser });
})();
