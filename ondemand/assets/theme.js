// Before the first paint: the theme that the page asks for, else the viewer's own, else the system's.
(function () {
  "use strict";
  var root = document.documentElement, kept = null;
  try { kept = localStorage.getItem("fw-theme"); } catch (e) { /* not kept */ }
  var dark = window.matchMedia && matchMedia("(prefers-color-scheme: dark)").matches;
  root.setAttribute("data-bs-theme", root.getAttribute("data-theme") || kept || (dark ? "dark" : "light"));
})();
