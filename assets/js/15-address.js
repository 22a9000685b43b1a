// Where the app lives, and going somewhere in it without loading it anew.
(function () {
  "use strict";
  var prefix = null;

  window.fwPrefix = function () {
    if (prefix === null) prefix = JSON.parse(document.getElementById("_dash-config").textContent).requests_pathname_prefix || "/";
    return prefix;
  };

  // The moment that the page shows, as text for an address; "" = now.
  window.fwMoment = function () { return new URLSearchParams(location.search).get("at") || ""; };

  // An address of the app that keeps the moment.
  window.fwHref = function (path) {
    var at = window.fwMoment();
    return window.fwPrefix() + path + (at ? (path.indexOf("?") < 0 ? "?" : "&") + "at=" + encodeURIComponent(at) : "");
  };

  // The same way that Dash's own links go.
  window.fwGo = function (href) {
    history.pushState({}, "", href);
    window.dispatchEvent(new CustomEvent("_dashprivate_pushstate"));
    window.scrollTo(0, 0);
  };
})();
