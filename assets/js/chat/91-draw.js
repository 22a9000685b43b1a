// Draws ready components: elements from the JSON that Dash itself would draw. Text goes in as text, never as HTML.
(function () {
  "use strict";
  var NAMES = { className: "class", htmlFor: "for", tabIndex: "tabindex", dateTime: "datetime", maxLength: "maxlength", colSpan: "colspan" };
  var PLAIN = ["id", "href", "title", "role", "type", "rows", "placeholder", "scope", "start", "target", "rel", "lang"];
  var FLAGS = ["hidden", "open", "disabled"];
  var TAGS = { Link: "a" };

  function attribute(element, name, value) {
    if (value === null || value === undefined || name === "children") return;
    if (FLAGS.indexOf(name) >= 0) { if (value) element.setAttribute(name, ""); return; }
    if (name === "style") { Object.keys(value).forEach(function (key) { style(element, key, value[key]); }); return; }
    if (NAMES[name]) element.setAttribute(NAMES[name], value);
    else if (PLAIN.indexOf(name) >= 0 || /^(aria|data)-/.test(name)) element.setAttribute(name, value);
  }
  function style(element, key, value) {
    element.style.setProperty(key.indexOf("--") === 0 ? key : key.replace(/[A-Z]/g, function (letter) { return "-" + letter.toLowerCase(); }), value);
  }

  // One component, a list of them, or text: as a node.
  function draw(part) {
    if (part === null || part === undefined) return document.createTextNode("");
    if (Array.isArray(part)) { var all = document.createDocumentFragment(); all.append.apply(all, part.map(draw)); return all; }
    if (typeof part !== "object") return document.createTextNode(String(part));
    var element = document.createElement(TAGS[part.type] || part.type.toLowerCase());
    Object.keys(part.props).forEach(function (name) { attribute(element, name, part.props[name]); });
    element.append(draw(part.props.children));
    return element;
  }

  window.fwChatDraw = draw;
})();
