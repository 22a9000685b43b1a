// Opens and closes the assistant's panel. What the panel is made of is fetched when it is first opened
// (#late-scripts names the address), so that no page is slower for it.
(function () {
  "use strict";
  var root = document.documentElement, OPEN = "fw-chat-open", coming = null, shown = null, waiting = false;

  function keep(isOpen) { try { if (isOpen) sessionStorage.setItem(OPEN, "1"); else sessionStorage.removeItem(OPEN); } catch (e) { return; } }
  function isKept() { try { return sessionStorage.getItem(OPEN) === "1"; } catch (e) { return root.getAttribute("data-chat") === "open"; } }

  function load() {
    coming = coming || new Promise(function (resolve, reject) {
      var tag = document.createElement("script");
      tag.src = document.getElementById("late-scripts").dataset.chat;
      tag.onload = function () { resolve(window.fwChatPanel); };
      tag.onerror = function () { tag.remove(); coming = null; reject(new Error("The assistant cannot be loaded now")); };
      document.head.append(tag);
    });
    return coming;
  }

  // In the top bar, and on a phone in the bar below: one of them is on screen.
  function buttons() { return Array.from(document.querySelectorAll("#react-entry-point :is(#ask, #nav-ask)")); }

  // On its own page the panel is the page's larger part; elsewhere it stands beside the page while it is open.
  function place() { return document.querySelector("#react-entry-point #chat-page") ? "page" : isKept() ? "open" : ""; }

  function show(focuses) {
    var where = place();
    if (where) root.setAttribute("data-chat", where); else root.removeAttribute("data-chat");
    buttons().forEach(function (button) { button.setAttribute("aria-expanded", where ? "true" : "false"); });
    var panel = document.querySelector("#react-entry-point #chat");
    if (!where || !panel || (shown === where && !focuses)) { if (!where) leave(); return; }
    shown = where;
    load().then(function (chat) { chat.show(panel, where, focuses); }, function (error) {
      panel.replaceChildren(window.fwMake.html("p", "fw-quiet", error.message + ". Open it again to try again."));
    });
  }

  function leave() {
    if (shown && window.fwChatPanel) window.fwChatPanel.hide();
    shown = null;
  }

  function open() { keep(true); show(true); }
  function close() {
    keep(false);
    show(false);
    var button = buttons().find(function (one) { return one.offsetParent !== null; });
    if (button) button.focus();
  }
  function toggle() { if (root.hasAttribute("data-chat") && place() !== "page") close(); else open(); }

  document.addEventListener("click", function (event) { if (event.target.closest("#ask, #nav-ask")) toggle(); });
  new MutationObserver(function () {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(function () { waiting = false; if (document.querySelector("#react-entry-point #chat")) show(false); });
  }).observe(document.documentElement, { childList: true, subtree: true });

  window.fwChat = { open: open, close: close, toggle: toggle };
})();
