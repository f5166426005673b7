"""What charts look like. Six colours that people with any colour vision can tell apart, besides six shapes of mark."""

from __future__ import annotations

N_COLOURS = 6

CHART_STYLE = """
:root { --c0: #0072b2; --c1: #c24e00; --c2: #00805c; --c3: #a3447e; --c4: #8a6a00; --c5: #5b4bb5; --ood: #b3001b; }
@media (prefers-color-scheme: dark) {
  :root { --c0: #56b4e9; --c1: #ff8a4c; --c2: #2fcfa0; --c3: #e39ac4; --c4: #f0d048; --c5: #b9a6ff; --ood: #ff6b7d; }
}
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); gap: 0 2rem; }
figure.chart { margin: 1.25rem 0 .5rem; max-width: 34rem; min-width: 0; }
figure.wide { max-width: 52rem; }
figure.chart > svg { display: block; width: 100%; height: auto; overflow: visible; }
figure.chart .title { margin: 0 0 .3rem; font-weight: 600; font-size: .875rem; }
svg text { font: 12px system-ui, sans-serif; fill: var(--ink); }
svg text.faint, svg text.tick { fill: var(--faint); }
svg .grid { stroke: var(--line); stroke-width: 1; }
svg .frame { stroke: var(--faint); stroke-width: 1; fill: none; }
svg .limit { stroke: var(--ood); stroke-width: 1.75; stroke-dasharray: 4 3; fill: none; }
svg .limit-back { stroke: var(--paper); stroke-width: 4.5; }
svg .halo { paint-order: stroke; stroke: var(--paper); stroke-width: 3px; stroke-linejoin: round; }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1.1rem; margin: .4rem 0; padding: 0; list-style: none;
  font-size: .875rem; }
.legend li { display: flex; align-items: center; gap: .35rem; }
.legend svg { width: 22px; height: 14px; flex: none; }
@media (max-width: 36rem) { svg text { font-size: 13.5px; } svg.map text { font-size: 20px; } }
@media print { figure.chart, tr { break-inside: avoid; } h2 { break-after: avoid; } .scroll { overflow: visible; } }
"""


def colour(number: int) -> str:
    """The colour of the class with this number; after six they come round again, with other marks."""
    return f"var(--c{number % N_COLOURS})"
