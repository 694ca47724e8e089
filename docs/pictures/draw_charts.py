"""`python docs/pictures/draw_charts.py`: draw the pictures of docs/charts.md, of frames that are made up."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from kadmin_nb.charts.showing import write  # noqa: E402
from tests.charts.charted_frames import CHARTS  # noqa: E402

ROWS = 24

if __name__ == "__main__":
    (HERE / "charts").mkdir(exist_ok=True)
    for name, (draw, frame) in CHARTS.items():
        if name == "usage":
            continue  # usage and limits has it, too
        write(draw(frame(ROWS)), HERE / "charts" / f"{name.replace(' ', '-')}.svg")
