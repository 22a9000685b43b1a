// The filter of node features: a menu of buttons whose choice is a text such as a+b (both) or a|b (one of them).
(function () {
  "use strict";
  function sets(text) {
    return (text || "").split(/[|,]/).map(function (part) { return part.split(/[+&\s]+/).filter(Boolean); }).filter(function (names) { return names.length; });
  }

  function names(text) {
    var found = [];
    sets(text).forEach(function (set) { set.forEach(function (name) { if (found.indexOf(name) < 0) found.push(name); }); });
    return found;
  }

  function isPlain(text) { return sets(text).every(function (set) { return set.length === 1; }); }

  function words(text) {
    return sets(text).map(function (set) { return set.join(" and "); }).join(isPlain(text) ? " or " : ", or ") || "any";
  }

  // Only an address can hold both kinds at once: then neither is pressed.
  function mode(text, last) {
    var all = sets(text);
    if (names(text).length < 2) return last || "all";
    return all.length === 1 ? "all" : isPlain(text) ? "any" : "";
  }

  function press(button, isPressed) { button.setAttribute("aria-pressed", isPressed ? "true" : "false"); }

  function mark(box, text) {
    var chosen = names(text), joined = mode(text, box.fwMode);
    box.fwText = text || "";
    if (joined) box.fwMode = joined;
    box.querySelector("summary").classList.toggle("fw-is-set", chosen.length > 0);
    box.querySelectorAll("[data-feature]").forEach(function (button) {
      var name = button.getAttribute("data-feature");
      press(button, chosen.indexOf(name) >= 0 || name === text);
    });
    box.querySelectorAll("[data-feature-mode]").forEach(function (button) { press(button, button.getAttribute("data-feature-mode") === joined); });
  }

  function boxes() { return document.querySelectorAll("#react-entry-point [data-features]"); }

  function showFeatures(text) {
    boxes().forEach(function (box) { mark(box, text); });
    return words(text);
  }

  function choose(box, chosen, joined) {
    box.fwMode = joined;
    var text = chosen.join(joined === "any" ? "|" : "+");
    if (text === box.fwText) mark(box, text);
    else window.dash_clientside.set_props(box.getAttribute("data-features"), { data: text });
  }

  function act(box, button) {
    var chosen = names(box.fwText), joined = mode(box.fwText, box.fwMode) || "any";
    if (button.hasAttribute("data-feature-clear")) choose(box, [], joined);
    else if (button.hasAttribute("data-feature-mode")) choose(box, chosen, button.getAttribute("data-feature-mode"));
    else {
      var name = button.getAttribute("data-feature"), at = chosen.indexOf(name);
      choose(box, at < 0 ? chosen.concat(name) : chosen.filter(function (other) { return other !== name; }), joined);
    }
  }

  document.addEventListener("click", function (event) {
    var inside = event.target.closest("[data-features]");
    boxes().forEach(function (box) { if (box !== inside) box.open = false; });
    var button = inside && event.target.closest("[data-feature], [data-feature-mode], [data-feature-clear]");
    if (button) act(inside, button);
  });
  document.addEventListener("keydown", function (event) {
    if (event.key !== "Escape") return;
    boxes().forEach(function (box) {
      if (!box.open) return;
      box.open = false;
      box.querySelector("summary").focus();
    });
  });

  window.dash_clientside = Object.assign({}, window.dash_clientside);
  window.dash_clientside.fw = Object.assign({}, window.dash_clientside.fw, { showFeatures: showFeatures });
})();
