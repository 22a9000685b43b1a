// Draws one turn while it is told: text at most every 60 ms, cards as they come, and what was said for screen readers.
(function () {
  "use strict";
  var FLUSH_MS = 60, draw = window.fwChatDraw, part = window.fwMake.html;

  // Marks of Markdown are not shown while a block is not whole.
  function plain(text) { return text.replace(/\*\*|__|`+/g, "").replace(/(^|\n)#+ /g, "$1"); }

  // `panel` has said(text) for screen readers and follow(act), which keeps the end in view.
  window.fwChatTurn = function (panel) {
    var box = null, tail = null, text = "", waiting = null, unsaid = "", over = false;

    function place(name) { return box.querySelector("[data-part=" + name + "]"); }

    function flush() {
      clearTimeout(waiting); waiting = null;
      panel.follow(function () { if (tail) tail.firstChild.data = plain(text); });
      sayWhole();
    }
    function soon() { if (!waiting) { if (!tail.firstChild.data) flush(); else waiting = setTimeout(flush, FLUSH_MS); } }

    // Whole sentences, once each.
    function sayWhole() {
      var end = Math.max(unsaid.lastIndexOf(". "), unsaid.lastIndexOf("? "), unsaid.lastIndexOf("! "), unsaid.lastIndexOf("\n"));
      if (end < 0) return;
      panel.said(plain(unsaid.slice(0, end + 1)));
      unsaid = unsaid.slice(end + 1);
    }

    function beginTail() {
      tail = part("p", "fw-chat-tail");
      tail.append(document.createTextNode(""), part("span", "fw-caret"));
      place("text").append(tail);
    }

    var TOLD = {
      begun: function (event) {
        box = draw(event.part);
        beginTail();
        panel.begun(event, box);
      },
      delta: function (event) { text += event.text; unsaid += event.text; soon(); },
      blocks: function (event) {
        unsaid += event.text;
        panel.follow(function () { tail.before(draw(event.parts)); text = event.tail; });
        flush();
      },
      call: function (event) {
        var made = draw(event.part);
        made.setAttribute("data-call", event.call);
        panel.follow(function () { place("cards").append(made); });
      },
      card: function (event) {
        var made = draw(event.part), before = Array.from(place("cards").querySelectorAll("[data-call]")).find(function (one) { return one.getAttribute("data-call") === event.call; });
        panel.follow(function () { if (before) before.replaceWith(made); else place("cards").append(made); });
        panel.said(made.querySelector(".fw-tool-name").textContent + (made.classList.contains("fw-tool-failed") ? " failed" : " has answered"));
      },
      ended: function (event) {
        over = true;
        clearTimeout(waiting); waiting = null; tail = null;
        panel.follow(function () { place("text").replaceChildren(draw(event.text)); place("end").replaceChildren(draw(event.end)); });
        var marked = box.querySelectorAll(".fw-not-traced").length;
        panel.said(plain(unsaid) + (event.failure || "") + (marked ? " " + marked + " marked as not traced." : ""));
        panel.ended(event);
      }
    };

    return {
      tell: function (event) { TOLD[event.kind](event); },
      isBegun: function () { return box !== null; },
      isOver: function () { return over; },
      // Where the stream broke off or was stopped: the text stays, and what stands below it is drawn from `end`.
      breakOff: function (end) {
        if (tail) { flush(); tail.lastChild.remove(); if (!text) tail.remove(); }
        place("cards").querySelectorAll(".fw-tool-runs").forEach(function (one) { one.remove(); });
        place("end").replaceChildren(end);
        var copy = place("end").querySelector("[data-copy]");
        if (copy) copy.setAttribute("data-copy", place("text").textContent);
        return place("text").textContent;
      }
    };
  };
})();
