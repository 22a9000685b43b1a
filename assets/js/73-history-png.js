// A figure as a PNG picture, drawn from its SVG with the colors that it has on the screen. Nothing leaves the browser.
(function () {
  "use strict";
  var KEPT = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "font-family", "font-size", "font-weight", "visibility", "opacity"], SCALE = 2;

  function still(picture) {
    var copy = picture.cloneNode(true), from = picture.querySelectorAll("*"), to = copy.querySelectorAll("*");
    from.forEach(function (one, at) {
      var style = getComputedStyle(one);
      to[at].removeAttribute("class");
      KEPT.forEach(function (name) { to[at].style.setProperty(name, style.getPropertyValue(name)); });
    });
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    return copy;
  }

  function legend(context, panel, wide) {
    var x = 16;
    context.textBaseline = "middle";
    panel.querySelectorAll(".fw-part-legend > span").forEach(function (one) {
      context.fillStyle = getComputedStyle(one.querySelector(".fw-hours-swatch")).backgroundColor;
      context.fillRect(x, wide, 10, 10);
      context.fillStyle = getComputedStyle(one).color;
      context.fillText(one.textContent, x + 15, wide + 6);
      x += context.measureText(one.textContent).width + 32;
    });
    return x > 16;
  }

  function save(name) {
    var plot = document.getElementById("plot-" + name), panel = plot && plot.closest(".fw-panel"), picture = plot && plot.querySelector("svg");
    if (!picture) return;
    var width = picture.width.baseVal.value + 32, head = 64, height = picture.height.baseVal.value + head + 16, image = new Image();
    image.onload = function () {
      var canvas = document.createElement("canvas"), context = canvas.getContext("2d"), style = getComputedStyle(panel);
      canvas.width = width * SCALE; canvas.height = height * SCALE;
      context.scale(SCALE, SCALE);
      context.fillStyle = style.backgroundColor;
      context.fillRect(0, 0, width, height);
      context.fillStyle = style.color;
      context.font = "600 15px " + style.fontFamily;
      var title = panel.querySelector("h2").textContent, said = document.querySelector(".fw-head .fw-note");
      context.fillText(title, 16, 26);
      var wide = context.measureText(title).width;
      context.font = "12px " + style.fontFamily;
      if (said) context.fillText(said.textContent, 26 + wide, 26);
      legend(context, panel, 42);
      context.drawImage(image, 16, head);
      canvas.toBlob(function (blob) { offer(blob, name); }, "image/png");
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(new XMLSerializer().serializeToString(still(picture)));
  }
  function offer(blob, name) {
    var link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = "fullwarp-" + name + ".png";
    link.click();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 1000);
  }

  document.addEventListener("click", function (event) {
    var button = event.target.closest && event.target.closest("[data-png]");
    if (button) save(button.getAttribute("data-png"));
  });
})();
