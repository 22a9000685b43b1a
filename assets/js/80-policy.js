// The Policy page: a filter changes the address, and the page follows in place, as its links do by themselves.
(function () {
  "use strict";
  var ANY = "*", PICK = "policy-pick-", typed = null, isTyping = false;

  function isShown() { return document.getElementById("policy-page"); }
  function go(changes) { window.fwHistory.go(window.fwHistory.changed(Object.assign({ limit: "" }, changes))); }

  document.addEventListener("change", function (event) {
    var id = event.target.id || "";
    if (!isShown() || id.indexOf(PICK) !== 0) return;
    var pick = {};
    pick[id.slice(PICK.length)] = event.target.value === ANY ? "" : event.target.value;
    go(pick);
  });

  // Names are looked for while they are typed; the field of the next answer gets the keyboard back.
  document.addEventListener("focusin", function (event) { isTyping = event.target.id === "policy-q"; });
  document.addEventListener("pointerdown", function (event) { isTyping = event.target.id === "policy-q"; });
  document.addEventListener("input", function (event) {
    if (event.target.id !== "policy-q") return;
    clearTimeout(typed);
    typed = setTimeout(function () { if (isShown()) go({ q: event.target.value.trim() }); }, 400);
  });
  function policyArrived(words) {
    var field = document.getElementById("policy-q"), nobody = document.activeElement === document.body;
    if (isTyping && field && nobody) { field.focus(); field.setSelectionRange(field.value.length, field.value.length); }
    return words;
  }

  window.dash_clientside = Object.assign({}, window.dash_clientside);
  window.dash_clientside.fw = Object.assign({}, window.dash_clientside.fw, { policyArrived: policyArrived });
})();
