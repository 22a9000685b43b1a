// Copy buttons, parts that are asked for when unfolded, and the address of a job's page: metric and "all" live in the query string.
(function () {
  "use strict";

  // Without https there is no clipboard API: then the old way, through a hidden field.
  function oldWay(text) {
    var field = document.createElement("textarea");
    field.value = text;
    field.setAttribute("readonly", "");
    field.className = "fw-sr";
    document.body.appendChild(field);
    field.select();
    var done = document.execCommand("copy");
    field.remove();
    return done ? Promise.resolve() : Promise.reject(new Error("not copied"));
  }
  function copy(text) {
    if (!navigator.clipboard) return oldWay(text);
    return navigator.clipboard.writeText(text).catch(function () { return oldWay(text); });
  }
  function say(button, word) {
    var label = button.querySelector("span:not(.fw-icon)");
    if (!label.fwText) label.fwText = label.textContent;
    label.textContent = word;
    label.setAttribute("role", "status");
    clearTimeout(label.fwTimer);
    label.fwTimer = setTimeout(function () { label.textContent = label.fwText; }, 2000);
  }

  document.addEventListener("click", function (event) {
    var button = event.target.closest("[data-copy], [data-copy-link]");
    if (!button) return;
    var text = button.hasAttribute("data-copy") ? button.getAttribute("data-copy") : location.href;
    copy(text).then(function () { say(button, "Copied"); }, function () { say(button, "Select and copy"); });
  });

  // What is asked for only when it is unfolded; the page keeps what was unfolded before, so that a click is no sign.
  document.addEventListener("toggle", function (event) {
    var store = event.target.open && event.target.getAttribute("data-asks");
    if (store) window.dash_clientside.set_props(store, { data: Date.now() });
  }, true);

  function writeJobUrl(metric, all) {
    var params = new URLSearchParams(location.search);
    if (metric && metric !== "gpu_utilization") params.set("metric", metric); else params.delete("metric");
    if (all) params.set("all", all); else params.delete("all");
    var search = params.toString() ? "?" + params.toString() : "";
    if (search !== location.search) history.replaceState(history.state, "", location.pathname + search + location.hash);
  }

  window.dash_clientside = Object.assign({}, window.dash_clientside);
  window.dash_clientside.fw = Object.assign({}, window.dash_clientside.fw, { writeJobUrl: writeJobUrl });
})();
