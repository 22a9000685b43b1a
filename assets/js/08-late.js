// Components of a large script that few pages use: it is fetched when the first of them is drawn, not with every page.
// Each has a stand-in under its own name, which draws the real one once that is there. The index page says where the
// scripts are (#late-scripts).
(function () {
  "use strict";
  var LATE = { dash_ag_grid: ["AgGrid"] };

  function fetched(namespace) {
    return new Promise(function (resolve, reject) {
      var tag = document.createElement("script");
      tag.src = document.getElementById("late-scripts").dataset[namespace];
      tag.onload = function () { resolve(window[namespace]); };
      tag.onerror = function () { tag.remove(); reject(new Error(namespace + " cannot be loaded")); };
      document.head.append(tag);
    });
  }

  function standIn(name, load, loaded) {
    function Late(props) {
      var seen = React.useState(Boolean(loaded()));
      React.useEffect(function () {
        var stays = true;
        if (!loaded()) load().then(function () { if (stays) seen[1](true); }, function (error) { console.error(error); });
        return function () { stays = false; };
      }, []);
      return loaded() ? React.createElement(loaded()[name], props) : null;
    }
    Late.dashRenderType = true;
    // Dash holds callbacks of components back while this is a promise; a script that does not come holds up no other.
    Object.defineProperty(Late, "_dashprivate_isLazyComponentReady", {
      get: function () { return loaded() ? true : load().then(function () { return true; }, function () { return true; }); }
    });
    return Late;
  }

  Object.keys(LATE).forEach(function (namespace) {
    var real = null, coming = null, standIns = {};
    function load() {
      coming = coming || fetched(namespace).then(function (found) {
        real = found;
        LATE[namespace].forEach(function (name) { standIns[name].dashPersistence = found[name].dashPersistence; });
        window[namespace] = Object.assign({}, found, standIns);  // the same component before and after: nothing is drawn anew
      });
      coming.catch(function () { coming = null; });  // the next page asks again
      return coming;
    }
    LATE[namespace].forEach(function (name) { standIns[name] = standIn(name, load, function () { return real; }); });
    window[namespace] = standIns;
  });
})();
