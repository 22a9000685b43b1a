// Runs before the first paint: theme and navigation as the viewer left them, so that nothing flashes or jumps.
(function () {
  var root = document.documentElement;
  var kept = function (key) { try { return localStorage.getItem(key); } catch (e) { return null; } };
  var dark = window.matchMedia && matchMedia("(prefers-color-scheme: dark)").matches;
  var theme = kept("fw-theme") || (dark ? "dark" : "light");
  root.setAttribute("data-bs-theme", theme);
  root.setAttribute("data-ag-theme-mode", theme);
  if (kept("fw-nav")) root.setAttribute("data-nav", kept("fw-nav"));
  try { if (sessionStorage.getItem("fw-chat-open")) root.setAttribute("data-chat", "open"); } catch (e) { /* not kept */ }
  if (/[?&]wall=1(&|$)/.test(location.search)) root.setAttribute("data-wall", "1");
})();
