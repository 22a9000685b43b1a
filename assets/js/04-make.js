// Elements from their parts, for all that is drawn here. Text goes in as text, never as HTML.
(function () {
  "use strict";
  var NS = "http://www.w3.org/2000/svg";

  function filled(made, text, parent) {
    if (text !== undefined && text !== null) made.textContent = text;
    if (parent) parent.appendChild(made);
    return made;
  }
  function html(tag, className, text, parent) {
    var made = document.createElement(tag);
    if (className) made.className = className;
    return filled(made, text, parent);
  }
  function svg(tag, attributes, parent, text) {
    var made = document.createElementNS(NS, tag);
    Object.keys(attributes).forEach(function (name) { made.setAttribute(name, attributes[name]); });
    return filled(made, text, parent);
  }

  // Digits in threes, for a number of at most two decimals.
  function thousands(text) { return text.replace(/\B(?=(\d{3})+(?!\d))/g, "\u2009"); }

  window.fwMake = { html: html, svg: svg, thousands: thousands };
})();
