// Runs before the page is drawn, to prevent a flash of the other colours.
"use strict";
try {
  const theme = localStorage.getItem("linchpin-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch { /* no storage: the colours of the system are used */ }
