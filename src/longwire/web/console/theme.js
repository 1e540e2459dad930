// Before the first paint: a classic script in the head, so that no page flashes in the wrong theme.
(function () {
  var chosen = null;
  try {
    chosen = localStorage.getItem("longwire.theme");
  } catch (error) {
    // Storage may be denied; the system's theme is used.
  }
  var dark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
