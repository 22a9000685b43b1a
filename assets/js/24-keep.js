// A refresh puts new elements in the place of old ones. Who stands on one with the keyboard stays on its successor,
// and what was unfolded stays unfolded.
(function () {
  "use strict";
  var held = null, folds = {};

  // The nearest part with a name; the frame around the pages is none of them.
  function partOf(element) {
    var part = element.parentElement && element.parentElement.closest("[id]");
    return part && part.closest("#page") && part.id !== "page" && part.id !== "_pages_content" ? part : null;
  }
  function words(element) { return element.textContent.replace(/\d+/g, ""); }

  // What makes an element the same as an earlier one: where it leads or what it sets, else what it says.
  function mark(element) {
    var data = Object.keys(element.dataset).map(function (key) { return key + "=" + element.dataset[key]; }).join();
    return [element.tagName, element.getAttribute("href") || data || words(element)].join("|");
  }

  document.addEventListener("focusin", function (event) {
    var part = partOf(event.target);
    held = part ? { element: event.target, part: part.id, path: location.pathname, mark: mark(event.target) } : null;
  });

  function refocus() {
    if (!held || held.element.isConnected || document.activeElement !== document.body) return;
    var was = held, part = was.path === location.pathname ? document.getElementById(was.part) : null;
    held = null;
    if (!part) return;
    var next = Array.from(part.querySelectorAll(was.element.tagName)).find(function (one) { return mark(one) === was.mark; });
    if (next) next.focus({ preventScroll: true });
  }

  function foldKey(box) {
    var part = partOf(box), summary = box.querySelector("summary");
    return part && summary ? [location.pathname, part.id, words(summary)].join("|") : "";
  }
  document.addEventListener("toggle", function (event) {
    var key = event.target.tagName === "DETAILS" && event.target.isConnected ? foldKey(event.target) : "";
    if (key) folds[key] = event.target.open;
  }, true);
  function refold(added) {
    if (!added.querySelectorAll) return;
    (added.tagName === "DETAILS" ? [added] : Array.from(added.querySelectorAll("details"))).forEach(function (box) {
      var open = folds[foldKey(box)];
      if (open !== undefined && box.isConnected) box.open = open;
    });
  }

  new MutationObserver(function (changes) {
    changes.forEach(function (change) { change.addedNodes.forEach(refold); });
    refocus();
  }).observe(document.documentElement, { childList: true, subtree: true });
})();
