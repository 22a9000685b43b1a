// The frame: theme, folding, keys, and polling that rests while nobody looks.
(function () {
  "use strict";
  var root = document.documentElement;
  var keep = function (key, value) { try { localStorage.setItem(key, value); } catch (e) { return; } };

  function switchTheme() {
    var theme = root.getAttribute("data-bs-theme") === "dark" ? "light" : "dark";
    root.setAttribute("data-bs-theme", theme);
    root.setAttribute("data-ag-theme-mode", theme);
    keep("fw-theme", theme);
  }

  function fold() {
    var folded = root.getAttribute("data-nav") === "folded" ||
      (root.getAttribute("data-nav") !== "open" && (matchMedia("(max-width: 1199.98px)").matches || document.querySelector(".fw-metrics") !== null));
    root.setAttribute("data-nav", folded ? "open" : "folded");
    keep("fw-nav", folded ? "open" : "folded");
    label();
  }

  // A tick of its own; where the page could not be drawn at all, there is nothing to refresh and it loads anew.
  function tryNow() {
    if (!window.fwTick({ n_intervals: Date.now() })) location.reload();
  }

  function label() {
    var button = document.getElementById("fold");
    if (!button) return;
    button.setAttribute("aria-expanded", root.getAttribute("data-nav") === "folded" ? "false" : "true");
  }

  function shortcuts() {
    var dialog = document.getElementById("shortcuts");
    if (!dialog || dialog.open) return;
    dialog.showModal();
  }

  function more(open) {
    var button = document.getElementById("nav-more");
    if (button) button.setAttribute("aria-expanded", open ? "true" : "false");
  }

  document.addEventListener("click", function (event) {
    var opener = event.target.closest("#nav-more");
    more(opener && opener.getAttribute("aria-expanded") !== "true");
    var dialog = event.target.closest("dialog");
    if (dialog && (event.target === dialog || event.target.closest("[data-close]"))) { dialog.close(); return; }
    var target = event.target.closest("button, a");
    if (!target) return;
    if (target.id === "theme") switchTheme();
    if (target.id === "fold") fold();
    if (target.id === "keys") shortcuts();
    if (target.hasAttribute("data-try-now")) tryNow();
    if (target.classList.contains("fw-skip")) {
      event.preventDefault();
      var page = document.getElementById("page");
      if (page) page.focus();
    }
  });

  var KEYS = {
    "/": function () { window.fwSearch.focus(); },
    "?": shortcuts,
    a: function () { window.fwChat.open(); },
    t: function () { window.fwTimeTravel.toggle(); },
    "[": function () { window.fwTimeTravel.step(-1); },
    "]": function () { window.fwTimeTravel.step(1); }
  };
  document.addEventListener("keydown", function (event) {
    if (event.key === "Escape") more(false);
    var busy = event.target.closest && event.target.closest("input:not([type=range]), textarea, select, [contenteditable], dialog[open]");
    if (busy || event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key] || !document.getElementById("time-bar")) return;
    event.preventDefault();
    KEYS[event.key]();
  });

  // On paper: light colors, and everything that is folded away.
  var printed = null, unfolded = [];
  function onPaper(isPrinting) {
    if (isPrinting && printed === null) {
      printed = root.getAttribute("data-bs-theme");
      root.setAttribute("data-bs-theme", "light");
      unfolded = Array.from(document.querySelectorAll("#react-entry-point details:not([open]):not(.fw-menu-box)"));
      unfolded.forEach(function (box) { box.open = true; });
    } else if (!isPrinting && printed !== null) {
      root.setAttribute("data-bs-theme", printed);
      unfolded.forEach(function (box) { box.open = false; });
      printed = null;
    }
  }
  matchMedia("print").addEventListener("change", function (query) { onPaper(query.matches); });

  document.addEventListener("visibilitychange", function () {
    window.fwTick({ disabled: document.hidden || root.hasAttribute("data-past") });
    if (!document.hidden && window.fwTime) window.fwTime.refresh();
  });
})();

// What a page hands to the frame goes into it as it is: components in, components out. A number of low jobs stays while
// pages that do not know one follow, and for a quarter of an hour.
window.dash_clientside = Object.assign({}, window.dash_clientside);
window.dash_clientside.fw = Object.assign({}, window.dash_clientside.fw, {
  fillFrame: function (frame) {
    var same = window.dash_clientside.no_update;
    if (!frame) return [same, same, same, same];
    window.fwTimeTravel.show(frame);
    if (frame.low) window.fwLowAt = performance.now();
    var isOld = performance.now() - (window.fwLowAt || 0) > 15 * 60 * 1000;
    return [frame.as_of, frame.sources, frame.cluster, frame.low || (frame.at || isOld ? [] : same)];
  },
  markPage: function (pathname) {
    document.querySelectorAll("#react-entry-point a.fw-nav-link").forEach(function (link) {
      var path = new URL(link.href).pathname;
      if (path === pathname || (path.slice(-1) !== "/" && pathname.indexOf(path + "/") === 0)) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    });
  }
});
