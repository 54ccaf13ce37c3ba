// Runs before the page is drawn, so that it is never drawn in other colours first.
"use strict";
try {
  const theme = localStorage.getItem("linchpin-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch { /* without storage the system's colours are used */ }
