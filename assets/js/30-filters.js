// Filters live in the query string: a view can be sent to a colleague, and Back takes the last choice back.
(function () {
  "use strict";
  var CONTROLS = { partition: "filter-partition", state: "filter-state", model: "filter-model", feature: "filter-feature", q: "filter-text", at: "overview-at", compare: "overview-compare", metric: "map-metric", group: "map-group" };
  var ANY = "*", SELECTS = ["partition", "state", "model"];
  var DEFAULTS = { partition: ANY, state: ANY, model: ANY, metric: "gpu_utilization", group: "rack" };

  function query(values) {
    var params = new URLSearchParams(location.search);
    Object.keys(values).forEach(function (key) {
      var value = values[key];
      if (value && value !== DEFAULTS[key]) params.set(key, value); else params.delete(key);
    });
    var text = params.toString();
    return text ? "?" + text : "";
  }

  function withoutText(search) {
    var params = new URLSearchParams(search);
    params.delete("q");
    return params.toString();
  }

  function here() {
    var page = document.getElementById("overview-kpis");
    if (page) page.fwPath = location.pathname;
  }

  function mark() {
    document.querySelectorAll(".fw-filters select").forEach(function (select) {
      select.closest(".fw-filter").classList.toggle("fw-is-set", select.value !== ANY);
    });
    var state = document.getElementById("filter-state");
    document.querySelectorAll(".fw-legend button[data-state]").forEach(function (button) {
      button.setAttribute("aria-pressed", state && state.value === button.getAttribute("data-state") ? "true" : "false");
    });
  }

  function writeUrl(partition, state, model, feature, q, metric, group) {
    var search = query({ partition: partition, state: state, model: model, feature: feature, q: q, metric: metric, group: group });
    setTimeout(mark, 0);
    here();
    if (search === location.search) return;
    var typing = withoutText(search) === withoutText(location.search);
    var method = typing ? "replaceState" : "pushState";
    history[method](history.state, "", location.pathname + search + location.hash);
  }

  // Back within the page sets the controls; Dash, which listens later, would draw the whole page anew.
  window.addEventListener("popstate", function (event) {
    var page = document.getElementById("overview-kpis");
    if (!page || page.fwPath !== location.pathname) return;
    event.stopImmediatePropagation();
    var params = new URLSearchParams(location.search);
    Object.keys(CONTROLS).forEach(function (key) {
      put(key, params.get(key) || DEFAULTS[key] || "");
    });
    window.fwTick({ disabled: Boolean(params.get("at")) });
  });

  var STORES = ["feature", "q", "at", "compare"];
  function put(key, value) { dash_clientside.set_props(CONTROLS[key], STORES.indexOf(key) < 0 ? { value: value } : { data: value }); }

  // What the map is colored by is a switch on wide screens and a list on narrow ones: one follows the other.
  function oneColor(wide, narrow) {
    var one = dash_clientside.callback_context.triggered[0], none = dash_clientside.no_update;
    if (!one || wide === narrow) return [none, none];
    return one.prop_id.indexOf("map-metric-narrow") === 0 ? [narrow, none] : [none, wide];
  }

  // The part of a node's name that the map is narrowed to stands among the filters, where a click takes it back.
  function showText(text) {
    here();
    return text ? "Name " + text + " \u00d7" : "";
  }

  document.addEventListener("click", function (event) {
    var button = event.target.closest("[data-state], [data-clear-filters], [data-clear-name]");
    if (!button || button.tagName !== "BUTTON") return;
    if (button.hasAttribute("data-clear-name")) { put("q", ""); return; }
    if (button.hasAttribute("data-clear-filters")) {
      SELECTS.forEach(function (key) { put(key, ANY); });
      put("feature", "");
      put("q", "");
      return;
    }
    var chosen = button.getAttribute("data-state");
    var current = document.getElementById("filter-state");
    dash_clientside.set_props("filter-state", { value: current && current.value === chosen ? ANY : chosen });
  });

  window.dash_clientside = Object.assign({}, window.dash_clientside);
  window.dash_clientside.fw = Object.assign({}, window.dash_clientside.fw, { oneColor: oneColor, writeUrl: writeUrl, showText: showText });
})();
