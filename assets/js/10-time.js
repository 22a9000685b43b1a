// Clock times in the viewer's zone and ages that count on, so that data age is true between two refreshes.
// On a page of the past, what had begun by then is as old as it was then; only answers that came later count from now.
(function () {
  "use strict";
  var two = function (n) { return (n < 10 ? "0" : "") + n; };

  // Number and unit stay on one line.
  function part(number, unit) { return number + "\u00a0" + unit; }

  function pair(large, unit, small, smallUnit) { return part(large, unit) + (small ? "\u00a0" + part(small, smallUnit) : ""); }

  function age(seconds) {
    var s = Math.max(0, Math.round(seconds));
    if (s < 60) return part(s, "s");
    var minutes = Math.floor(s / 60), hours = Math.floor(minutes / 60);
    if (minutes < 60) return part(minutes, "min");
    if (hours < 24) return pair(hours, "h", minutes % 60, "min");
    return pair(Math.floor(hours / 24), "d", hours % 24, "h");
  }

  function day(date, now) {
    var month = date.toLocaleDateString("en-US", { month: "short" });
    return date.getDate() + "\u00a0" + month + (date.getFullYear() === now.getFullYear() ? "" : " " + date.getFullYear());
  }

  function clock(date, withSeconds, now) {
    var time = two(date.getHours()) + ":" + two(date.getMinutes()) + (withSeconds ? ":" + two(date.getSeconds()) : "");
    if (date.toDateString() === now.toDateString()) return time;
    return day(date, now) + " " + time;
  }

  function setText(element, text) { if (element.textContent !== text) element.textContent = text; }

  function refresh() {
    var now = new Date(), then = window.fwTimeTravel && window.fwTimeTravel.moment();
    document.querySelectorAll("time.fw-time[datetime]").forEach(function (element) {
      var date = new Date(element.getAttribute("datetime"));
      if (isNaN(date)) return;
      setText(element, clock(date, element.hasAttribute("data-seconds"), now));
      element.title = date.toString();
    });
    document.querySelectorAll("[data-until]").forEach(function (element) {
      var left = Number(element.getAttribute("data-until")) - now / 1000;
      setText(element, left < 0.5 ? "a moment" : age(left));
    });
    document.querySelectorAll("[data-since]").forEach(function (element) {
      var since = Number(element.getAttribute("data-since"));
      if (!since) return;
      setText(element, age((then && since * 1000 <= then ? then : now) / 1000 - since));
      var limit = Number(element.getAttribute("data-old-after")), holder = element.closest(".fw-asof");
      if (limit && holder) holder.classList.toggle("fw-is-stale", now / 1000 - since > limit);
    });
  }

  var waiting = false;
  function soon() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(function () { waiting = false; refresh(); });
  }
  new MutationObserver(soon).observe(document.documentElement, { childList: true, subtree: true, attributes: true, attributeFilter: ["datetime", "data-since", "data-until"] });
  setInterval(function () { if (!document.hidden) refresh(); }, 1000);
  window.fwTime = { age: age, clock: clock, day: day, refresh: refresh };
})();
