// The assistant's page in Open OnDemand: where it lives, and how its links go. Its own scripts stand before this one.
(function () {
  "use strict";
  var base = document.body.dataset.base;
  window.fwPrefix = function () { return base; };
  window.fwStay = function (href) { return href; };
  window.fwGo = function (href) { location.assign(href); };
  window.fwChatPanel.show(document.getElementById("chat"), "page", false);
})();
