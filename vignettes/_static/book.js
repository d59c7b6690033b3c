/* Cells of a table, items and lines stand apart in the search's summaries, too. */
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  if (typeof Search === "undefined") return;
  const textOf = Search.htmlToText;
  const ends = /<\/(td|th|tr|li|dt|dd|p|pre|div|summary|caption|h[1-6])>|<br\s*\/?>/g;
  Search.htmlToText = (html, anchor) => textOf(html.replace(ends, " $&"), anchor);
});
