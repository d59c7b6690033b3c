"""How a page looks: on a screen of any width, by day and by night, and in print."""

from __future__ import annotations

from discrim.report.colours import DARK, LIGHT, Colours

__all__ = ["STYLE"]


def _variables(colours: Colours) -> str:
    return " ".join(f"--{name}: {value};" for name, value in colours._asdict().items())


STYLE = f"""
:root {{ color-scheme: light dark; {_variables(LIGHT)} }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ {_variables(DARK)} }} }}
* {{ box-sizing: border-box; }}
html {{ -webkit-text-size-adjust: 100%; }}
body {{ margin: 0 auto; max-width: 70rem; padding: 1rem 1.25rem 4rem;
  background: var(--paper); color: var(--ink); overflow-wrap: anywhere;
  font: 1rem/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }}
a {{ color: var(--link); }}
h1 {{ font-size: 1.75rem; line-height: 1.2; margin: 1rem 0 0.25rem; }}
h2 {{ font-size: 1.3rem; margin: 2.5rem 0 0.75rem; padding-bottom: 0.25rem;
  border-bottom: 1px solid var(--line); }}
h3, h4 {{ font-size: 1rem; margin: 1.5rem 0 0.5rem; }}
nav ul {{ display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; list-style: none; margin: 1rem 0;
  padding: 0; }}
code, pre {{ font-size: 0.9rem;
  font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }}
pre {{ background: var(--panel); padding: 0.75rem 1rem; overflow-x: auto; overflow-wrap: normal; }}
table {{ border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }}
caption {{ text-align: left; font-weight: 600; padding: 0.25rem 0; }}
th, td {{ padding: 0.15rem 0.6rem; vertical-align: top; }}
table, thead, tbody, tr, th, td {{ border-color: var(--line); }}
.scroll {{ overflow-x: auto; margin: 0.75rem 0; }}
.scroll .discrim-title {{ display: none; }}
.pairs {{ width: 100%; }}
.pairs th {{ text-align: left; font-weight: 600; width: 14rem; }}
.pairs td {{ text-align: left; }}
.pairs tr {{ border-bottom: 1px solid var(--line); }}
.note, small {{ color: var(--faint); }}
.figures {{ display: grid; gap: 1.5rem;
  grid-template-columns: repeat(auto-fit, minmax(min(28rem, 100%), 1fr)); }}
figure {{ margin: 0; }}
figure img {{ max-width: 100%; height: auto; }}
.day {{ display: block; }}
.night {{ display: none; }}
@media screen and (prefers-color-scheme: dark) {{ .day {{ display: none; }} .night {{ display: block; }} }}
figcaption {{ color: var(--faint); font-size: 0.9rem; margin-top: 0.25rem; }}
footer {{ margin-top: 3rem; border-top: 1px solid var(--line); color: var(--faint); font-size: 0.9rem; }}
@media (max-width: 40rem) {{
  body {{ padding: 0.5rem 0.75rem 3rem; }}
  .pairs th, .pairs td {{ display: block; width: auto; }}
  .pairs td {{ padding-top: 0; }}
}}
@media print {{
  body {{ max-width: none; padding: 0; font-size: 10pt; }}
  nav {{ display: none; }}
  h2, h3, h4, caption {{ break-after: avoid; }}
  .figures {{ grid-template-columns: 1fr 1fr; }}
  figure, tr {{ break-inside: avoid; }}
  pre {{ white-space: pre-wrap; overflow-wrap: anywhere; }}
  .scroll, .scroll .discrim-summary, .scroll .discrim-summary details {{ overflow: visible !important; }}
  .scroll details::details-content {{ content-visibility: visible; }}
  table {{ font-size: 7.5pt !important; max-width: 100%; }}
  .scroll .discrim-summary table tr > th,
  .scroll .discrim-summary table tr > td {{ padding: 0.1rem 0.3rem !important; }}
  .scroll .discrim-summary table thead tr > th {{ white-space: normal !important; overflow-wrap: anywhere; }}
}}
"""
