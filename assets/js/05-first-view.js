// Takes the first view away as soon as the app shows the same page: from then on everything answers.
(function () {
  "use strict";
  function isDrawn(entry) {
    if (!entry.querySelector("#page h1")) return false;
    var map = entry.querySelector("#gpu-map");
    return !map || map.firstChild || entry.querySelector("#map-instead").firstChild;
  }

  function watch() {
    var first = document.getElementById("first-view"), entry = document.getElementById("react-entry-point");
    if (!first || !entry) return;
    var observer = new MutationObserver(function () {
      if (!isDrawn(entry)) return;
      observer.disconnect();
      first.remove();
      performance.mark("fw-ready");
    });
    observer.observe(entry, { childList: true, subtree: true });
    setTimeout(function () { observer.disconnect(); first.remove(); }, 15000);  // a page without a title must not stay covered
  }
  watch();
})();
