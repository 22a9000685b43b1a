// A page's refresh hands its frame over through a Store of its own. A callback that would write the shared Store itself
// would be called on every other page too, where its inputs do not exist.
(function () {
  "use strict";
  window.dash_clientside = Object.assign({}, window.dash_clientside);
  window.dash_clientside.fw = Object.assign({}, window.dash_clientside.fw, {
    handFrame: function (frame) { if (frame) dash_clientside.set_props("frame", { data: frame }); }
  });
})();
