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

  // The same address at the moment that the page shows: from page to page the moment stays, and "Back to now" leaves it.
  var WITH_MOMENT = ["", "nodes", "jobs", "users", "me", "metrics", "efficiency", "policy", "health"];
  window.fwStay = function (href) {
    var url = new URL(href, location.href), inside = url.pathname.slice(window.fwPrefix().length).split("/")[0];
    if (!document.documentElement.hasAttribute("data-past") || !window.fwMoment() || url.searchParams.has("at")) return href;
    if (url.origin !== location.origin || url.pathname.indexOf(window.fwPrefix()) || WITH_MOMENT.indexOf(inside) < 0) return href;
    url.searchParams.set("at", window.fwMoment());
    return url.pathname + url.search + url.hash;
  };

  // The page's own clock; false where no page ticks. Each page has one of its own name: Dash complains of callbacks
  // that share an input and whose other inputs stand on another page.
  window.fwTick = function (changes) {
    var page = document.querySelector("#react-entry-point [data-tick]");
    if (!page || !window.dash_clientside || !window.dash_clientside.set_props) return false;
    window.dash_clientside.set_props(page.getAttribute("data-tick"), changes);
    return true;
  };

  // The same way that Dash's own links go; `stays` = the reader stays where they are on the page.
  window.fwGo = function (href, stays) {
    history.pushState({}, "", href);
    window.dispatchEvent(new CustomEvent("_dashprivate_pushstate"));
    if (!stays) window.scrollTo(0, 0);
  };
})();
