"""Write prediction_sets.json: conformal prediction sets by MAPIE (1.6.0) for scikit-learn's classifiers.

    python tests/golden/write_prediction_sets.py

Of the complete penguins, every third row is used to fit, the next to calibrate, and the last to predict
sets. The classes of each set are written as their first letters. (MAPIE's "aps" randomizes its calibration,
so that it has no golden sets.)
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
from mapie.classification import SplitConformalClassifier
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

ROOT = Path(__file__).resolve().parent.parent.parent
COLUMNS = ["bill_depth_mm", "body_mass_g"]
LEVELS = [0.5, 0.7, 0.8, 0.9, 0.95, 0.99]

table = pd.read_csv(ROOT / "discrim" / "datasets" / "penguins.csv").dropna(subset=[*COLUMNS, "species"])
x, y = table[COLUMNS].to_numpy(float), table["species"].to_numpy(str)
sets_by_case = {}
for name, model in (("lda", LinearDiscriminantAnalysis()), ("qda", QuadraticDiscriminantAnalysis())):
    model.fit(x[::3], y[::3])
    sets = SplitConformalClassifier(model, LEVELS, "lac", prefit=True)
    sets.conformalize(x[1::3], y[1::3])
    _, inside = sets.predict_set(x[2::3])
    for i, level in enumerate(LEVELS):
        letters = [
            [c[0] for c, held in zip(model.classes_, row, strict=True) if held] for row in inside[:, :, i]
        ]
        sets_by_case[f"{name}, {level}"] = ["".join(row) for row in letters]
path = Path(__file__).with_name("prediction_sets.json")
path.write_text(json.dumps(sets_by_case) + "\n")
