"""Redraw learning curves beside cards of the zoo: `python scripts/redraw_zoo_curves.py`.

For models whose runs were not kept: their values are in `docs/results/curves/zoo`.
"""

from pathlib import Path

from jostle.reports.learning_curves import redraw_learning_curves

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Draw every curve that is stored."""
    for data in sorted((ROOT / "docs/results/curves/zoo").glob("*.json")):
        target = ROOT / "src/jostle/zoo/weights" / f"{data.stem}.png"
        print(redraw_learning_curves(data, target).relative_to(ROOT))


if __name__ == "__main__":
    main()
