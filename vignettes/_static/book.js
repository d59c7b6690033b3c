/*
Summaries of search results are plain text with separate cells, items and lines, and do not begin with the links above
the title of a page. Single letters, such as the M of Box's M, are not highlighted within other words.
*/
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  if (typeof Search === "undefined") return;
  const textOf = Search.htmlToText;
  const parse = Search._parseQuery;
  const links = /<div class="bd-header-article[^]*?(?=<article)/g;
  const ends = /<\/(td|th|tr|li|dt|dd|p|pre|div|summary|caption|h[1-6])>|<br\s*\/?>/g;
  Search.htmlToText = (html, anchor) =>
    textOf(html.replace(links, "").replace(ends, " $&"), anchor).replace(/\s+/g, " ").trim();
  Search._parseQuery = (query) => {
    const parsed = parse(query);
    const highlighted = parsed[3];
    highlighted.forEach((term) => term.length > 1 || highlighted.delete(term));
    localStorage.setItem("sphinx_highlight_terms", [...highlighted].join(" "));
    return parsed;
  };
});
