/* Scores of search results. Index entries (topics.py) have up to 100; pages precede sections and members of classes. */
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  score: ([page, title, anchor, , score, , kind]) => {
    if (kind === "index") return score;
    if (kind === "title") return score + (anchor ? 0 : 10);
    if (kind === "object") return score - (/^discrim(\.[a-z]+)?\.\w+$/.test(title) ? 0 : 8);
    return score - (page === "index" || page.startsWith("reference/") ? 4 : 0);
  },
};
